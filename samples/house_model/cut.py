"""Cuts a small model out of SmolLM2: fewer tokens, fewer layers, and narrower feed-forward networks.

Layers are dropped one by one, each time the one without which the loss on the corpus is lowest (as Men
et al. 2024, ShortGPT, by loss in place of similarity). Of a layer that is left, the neurons stay that
add most to its output; its last matrix is fitted by least squares, so that the next layer gets what it
got in the whole model. What is left has to be trained (`train.py`).
"""

import argparse
import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import torch
from gguf import GGMLQuantizationType, GGUFReader
from tokenizers import Tokenizer
from torch import Tensor, nn

import prompt
from batches import batch_of, rows
from corpus import conversations
from export import export, opened, weights_of
from finetune import PARTS
from model import House, Layer, Shape, weighted_loss
from vocabulary import reduced, tokenizer_of

CONTEXT = 2048
TRIED = 8  # layers a round: those without which the loss was lowest when they were last left out


def merge(house: House, path: Path, strength: float = 1.0) -> None:
    """Adds an adapter's matrices, times `strength`, to those that it is for."""
    held, fields = weights_of(path, house.shape), GGUFReader(path).fields
    for at, layer in enumerate(house.blk):
        for part in PARTS:
            a, b = (held[f"blk.{at}.{part}.weight.lora_{letter}"] for letter in "ab")
            scale = strength * fields["adapter.lora.alpha"].contents() / len(a)
            getattr(layer, part).weight.data += scale * (b @ a)


def turns_of(house: House, ids: Tensor) -> tuple[Tensor, Tensor]:
    """The cosines and sines by which RoPE turns each position."""
    angles = torch.arange(ids.shape[1])[None, None, :, None].float() * house.rates
    return angles.cos().bfloat16(), angles.sin().bfloat16()


def through(house: House, x: Tensor, turns: tuple[Tensor, Tensor], layers: Iterable[int]) -> list[Tensor]:
    """What goes into each of the layers, and what comes out of the last."""
    states = [x]
    for at in layers:
        states.append(house.blk[at](states[-1], *turns))
    return states


class Cutting:
    """The layers that are left, and the loss on some conversations."""

    def __init__(self, house: House, batch: tuple[Tensor, Tensor, Tensor]) -> None:
        self.house, (self.ids, self.targets, self.weight) = house, batch
        self.turns = turns_of(house, self.ids)
        self.left = list(range(len(house.blk)))
        self.without: dict[int, float] = {}  # the loss without a layer, when it was last tried

    def states(self) -> list[Tensor]:
        """What goes into each layer that is left, and what comes out of the last."""
        return through(self.house, self.house.token_embd(self.ids).bfloat16(), self.turns, self.left)

    def loss(self, x: Tensor) -> float:
        """The loss of the answers."""
        chosen = self.weight > 0
        scores = self.house.logits(self.house.output_norm(x)[chosen]).float()
        return weighted_loss(scores, self.targets[chosen], self.weight[chosen])[0].item()

    def whole(self) -> float:
        """The loss of all layers that are left."""
        return self.loss(self.states()[-1])

    def drop(self) -> float:
        """Drops one layer. Returns the loss without it."""
        states = self.states()
        tried = sorted(self.without, key=self.without.__getitem__)[:TRIED] or list(self.left)
        for layer in tried:
            at = self.left.index(layer)
            self.without[layer] = self.loss(
                through(self.house, states[at], self.turns, self.left[at + 1 :])[-1]
            )
        least = min(tried, key=self.without.__getitem__)
        self.left.remove(least)
        return self.without.pop(least)


class Fitting:
    """Fits the layers that are left to what the whole model computes on some conversations."""

    RIDGE = 0.02  # of the mean square of an input: how much the old weights are preferred

    def __init__(self, house: House, batches: list[tuple[Tensor, Tensor, Tensor]]) -> None:
        self.house = house
        self.turns = [turns_of(house, ids) for ids, _, _ in batches]
        every = range(len(house.blk))
        self.wanted = [  # what the whole model computes
            through(house, house.token_embd(ids).bfloat16(), turns, every)
            for (ids, _, _), turns in zip(batches, self.turns, strict=True)
        ]

    def fit(self, layers: list[int], hidden: int) -> None:
        """Changes the layers, first to last, so that each makes up for what those before it got wrong."""
        states = [wanted[0] for wanted in self.wanted]
        for at, follows in zip(layers, [*layers[1:], len(self.house.blk)], strict=True):
            layer = self.house.blk[at]
            states = [x + layer.attend(x, *turns) for x, turns in zip(states, self.turns, strict=True)]
            neurons = [layer.neurons(x) for x in states]
            missing = [wanted[follows] - x for wanted, x in zip(self.wanted, states, strict=True)]
            kept = self.narrow(
                layer,
                *(
                    torch.cat([one.flatten(0, 1) for one in many]).float()
                    for many in (neurons, missing, states)
                ),
                hidden,
            )
            states = [x + layer.ffn_down(made[..., kept]) for x, made in zip(states, neurons, strict=True)]

    def narrow(self, layer: Layer, neurons: Tensor, missing: Tensor, states: Tensor, hidden: int) -> Tensor:
        """Keeps `hidden` neurons and fits what they add to `missing`. Returns which they are."""
        down = layer.ffn_down.weight.data
        adds = neurons.square().mean(0).sqrt() * down.norm(dim=0)
        kept = adds.topk(hidden).indices.sort().values
        # a few tokens have states a hundred times as large, which must not rule the fit
        even = 1 / (missing.norm(dim=1, keepdim=True) + 0.1 * states.norm(dim=1, keepdim=True))
        inputs, old = neurons[:, kept] * even, down[:, kept]
        square = inputs.T @ inputs
        ridge = self.RIDGE * square.diagonal().mean()
        square.diagonal().add_(ridge)
        fitted = torch.linalg.solve(square, inputs.T @ (missing * even) + ridge * old.T)
        layer.ffn_gate.weight.data = layer.ffn_gate.weight.data[kept]
        layer.ffn_up.weight.data = layer.ffn_up.weight.data[kept]
        layer.ffn_down.weight.data = fitted.T.contiguous()
        return kept


def shrunk(house: House, layers: list[int], old: Tokenizer, new: Tokenizer) -> House:
    """The model of some layers and of the tokens of `new`."""
    given = house.shape
    shape = Shape(
        vocab=new.get_vocab_size(),
        width=given.width,
        layers=len(layers),
        heads=given.heads,
        kv_heads=given.kv_heads,
        hidden=len(house.blk[layers[0]].ffn_up.weight),
        context=CONTEXT,
        rope_base=given.rope_base,
        epsilon=given.epsilon,
    )
    made, vectors = House(shape), house.token_embd.weight.data
    made.blk = nn.ModuleList(house.blk[at] for at in layers)
    made.output_norm = house.output_norm
    known = old.get_vocab()
    for token, at in new.get_vocab().items():
        parts = [known[token]] if token in known else old.encode(token).ids
        made.token_embd.weight.data[at] = vectors[parts].mean(0) if parts else vectors.mean(0)
    return made


def main() -> None:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="the GGUF of SmolLM2-135M-Instruct")
    parser.add_argument("--adapter", type=Path, help="the GGUF of an adapter that is merged first")
    parser.add_argument("--out", type=Path, required=True, help="folder of begin.gguf")
    parser.add_argument("--layers", type=int, default=20)
    parser.add_argument("--kept", help="the layers to keep, such as 0,1,5: they are not searched for then")
    parser.add_argument("--hidden", type=int, default=576, help="neurons of a layer")
    parser.add_argument("--vocabulary", type=int, default=6144)
    parser.add_argument("--rows", type=int, default=6, help="conversations that the loss is measured on")
    parser.add_argument("--fitted", type=int, default=72, help="conversations that layers are fitted to")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    args.out.mkdir(parents=True, exist_ok=True)
    reader = GGUFReader(args.base)
    house, old = opened(args.base), tokenizer_of(reader)
    if args.adapter:
        merge(house, args.adapter)

    spoken = (made for made in conversations(f"{args.seed}/cut") if not made["tools"])
    made = rows(old, spoken, {"assistant": 1.0}, 640)
    measured = batch_of(list(islice(made, args.rows)), 2)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, cache_enabled=False):  # weights change
        cutting = Cutting(house, measured)
        if args.kept:
            cutting.left = [int(at) for at in args.kept.split(",")]
        while len(cutting.left) > args.layers:
            print(json.dumps({"loss": round(cutting.drop(), 3), "left": cutting.left}), flush=True)
        fitting = Fitting(house, [batch_of(list(islice(made, 6)), 2) for _ in range(args.fitted // 6)])
        fitting.fit(cutting.left, args.hidden)
        print(json.dumps({"loss": round(cutting.whole(), 3)}), flush=True)

    texts = (
        body
        for made in islice(conversations(args.seed), 6000)
        for _, body in prompt.segments(made["messages"], made["tools"])
    )
    new = reduced(reader, texts, args.vocabulary)
    full = GGMLQuantizationType.F32
    export(shrunk(house, cutting.left, old, new), new, args.out / "begin.gguf", full, full)


if __name__ == "__main__":
    main()
