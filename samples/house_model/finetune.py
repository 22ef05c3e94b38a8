"""Trains a LoRA adapter for a model that exists, on the corpus or on a game's own lines; resumable."""

import argparse
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import gguf
import numpy as np
import torch
import torch.nn.functional as F
import yaml
from gguf import GGUFReader, GGUFWriter
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor, nn

import prompt
from corpus import conversation
from export import load_gguf, paired, shape_of
from model import House, Layer, weighted_loss
from train import Average, save

PARTS = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
KEY_WEIGHT, AROUND_WEIGHT = 2.0, 0.5
START, END = "<|im_start|>", "<|im_end|>"


class Adapted(nn.Module):
    """A frozen matrix, and a product of two small ones that is trained (Hu et al. 2021, LoRA)."""

    def __init__(self, base: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(base.weight.detach().bfloat16(), requires_grad=False)
        outputs, inputs = base.weight.shape
        self.a = nn.Parameter(torch.randn(rank, inputs) / math.sqrt(inputs))
        self.b = nn.Parameter(torch.zeros(outputs, rank))
        self.scale = alpha / rank

    def forward(self, x: Tensor) -> Tensor:
        """Runs one pass."""
        return F.linear(x, self.weight) + F.linear(F.linear(x, self.a), self.b) * self.scale


def adapt(house: House, rank: int, alpha: float) -> list[nn.Parameter]:
    """Puts adapters on all projections, and gives what is to be trained."""
    for parameter in house.parameters():
        parameter.requires_grad_(False)
    made: list[nn.Parameter] = []
    for layer in house.blk:
        for part in PARTS:
            adapted = Adapted(getattr(layer, part), rank, alpha)
            setattr(layer, part, adapted)
            made += [adapted.a, adapted.b]
    house.token_embd.weight.data = house.token_embd.weight.data.bfloat16()
    return made


def tokenizer_of(reader: GGUFReader) -> Tokenizer:
    """The tokenizer that a GGUF of SmolLM2 holds: byte-level BPE whose digits stand alone."""

    def listed(key: str) -> list:
        return reader.fields[f"tokenizer.ggml.{key}"].contents()

    tokens, kinds = listed("tokens"), listed("token_type")
    merges = [tuple(pair.split(" ", 1)) for pair in listed("merges")]
    tokenizer = Tokenizer(models.BPE({token: at for at, token in enumerate(tokens)}, merges))
    digits = pre_tokenizers.Digits(individual_digits=True)
    split = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, split])
    tokenizer.decoder = decoders.ByteLevel()
    control = [token for token, kind in zip(tokens, kinds, strict=True) if kind == gguf.TokenType.CONTROL]
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in control])
    return tokenizer


def encode(tokenizer: Tokenizer, messages: list[dict]) -> tuple[list[int], list[float]]:
    """Token ids as the model's chat template writes them, and how much predicting each counts."""
    ids: list[int] = []
    counts: list[float] = []
    for message in messages:
        body = str(message["content"]).strip()
        head = tokenizer.encode(f"{START}{message['role']}\n").ids
        part, tail = tokenizer.encode(body + END), tokenizer.encode("\n").ids
        weight = 1.0 if message["role"] == "assistant" else 0.0
        weights = prompt.weighed(message, body, part.offsets, weight, KEY_WEIGHT, AROUND_WEIGHT)
        ids += [*head, *part.ids, *tail]
        counts += [0.0] * len(head) + weights + [0.0] * len(tail)
    return ids, counts


def examples(
    tokenizer: Tokenizer, source: Iterator[dict], limit: int
) -> Iterator[tuple[list[int], list[float]]]:
    """Conversations with a system message and without tools, of at most `limit` tokens."""
    for made in source:
        if made["tools"] or made["messages"][0]["role"] != "system":
            continue
        ids, counts = encode(tokenizer, made["messages"])
        if len(ids) <= limit + 1 and any(counts):
            yield ids, counts


def batches(
    tokenizer: Tokenizer, source: Iterator[dict], rows: int, limit: int, pad: int
) -> Iterator[tuple[Tensor, ...]]:
    """Batches of conversations of like length."""
    made = examples(tokenizer, source, limit)
    while True:
        pool = sorted((next(made) for _ in range(rows * 16)), key=lambda one: len(one[0]))
        groups = [pool[at : at + rows] for at in range(0, len(pool), rows)]
        Random(len(pool[-1][0])).shuffle(groups)
        for group in groups:
            length = max(len(ids) for ids, _ in group) - 1
            whole, weight = torch.full((rows, length + 1), pad), torch.zeros(rows, length)
            for row, (ids, counts) in enumerate(group):
                whole[row, : len(ids)] = torch.tensor(ids)
                weight[row, : len(ids) - 1] = torch.tensor(counts[1:])
            yield whole[:, :-1], whole[:, 1:], weight


def loss_of(house: House, batch: tuple[Tensor, ...]) -> tuple[Tensor, float]:
    """Returns the weighted loss, and the share of the answers' tokens that are predicted right."""
    ids, targets, weight = batch
    positions = torch.arange(ids.shape[1]).expand(ids.shape)
    with torch.autocast("cpu", torch.bfloat16):
        hidden = house(ids, positions)
        chosen = weight > 0
        scores = house.logits(hidden[chosen]).float()
    weight, targets = weight[chosen], targets[chosen]
    loss, hits = weighted_loss(scores, targets, weight)
    return loss, hits.mean().item()


def composed(seed: str, own: list[dict]) -> Iterator[dict]:
    """Conversations of the corpus without end, every second one of a game's own where there are any."""
    rng = Random(seed)
    while True:
        if own and rng.random() < 0.5:
            yield rng.choice(own)
        else:
            yield conversation(rng, size=1.0 if rng.random() < 0.95 else 2.0)


def own_lines(path: Path) -> list[dict]:
    """A game's own conversations: a YAML list of `system`, the persona, and `turns` of [visitor, character].

    Raises `ValueError` that names the entry whose form is another.
    """
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:  # such as a line with a colon or a question mark that is not quoted
        raise ValueError(f"{path}: {' '.join(str(error).split())}; put texts between quotes") from None
    if not isinstance(entries, list) or not entries:
        raise ValueError(f"{path}: expected a list of conversations, each with `system` and `turns`")
    made = []
    for at, entry in enumerate(entries, 1):
        turns = entry.get("turns") if isinstance(entry, dict) else None
        pairs = isinstance(turns, list) and all(
            isinstance(turn, list) and len(turn) == 2 and all(isinstance(text, str) for text in turn)
            for turn in turns
        )
        if not (turns and pairs and isinstance(entry.get("system"), str)):
            raise ValueError(
                f"{path}: conversation {at}: expected `system`, a text, and `turns`, a list of "
                f"[visitor, character] pairs of texts; got {entry!r:.120}"
            )
        messages = [{"role": "system", "content": entry["system"]}]
        for visitor, character in turns:
            messages += [
                {"role": "user", "content": visitor},
                {"role": "assistant", "content": character},
            ]
        made.append({"messages": messages, "tools": []})
    return made


def state_of(parameters: list[nn.Parameter], optimizer, step: int, tokens: int) -> dict:
    """What a later call resumes from."""
    return {
        "parameters": [parameter.data for parameter in parameters],
        "optimizer": optimizer.state_dict(),
        "step": step,
        "tokens": tokens,
    }


def export_adapter(house: House, out: Path, alpha: float) -> None:
    """Writes the adapter as the GGUF that llama.cpp loads."""
    writer = GGUFWriter(out, "llama")
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, alpha)
    writer.add_name("Sotto tavern")
    writer.add_license("MIT")
    for at, layer in enumerate(house.blk):
        add_layer(writer, f"blk.{at}", layer, house.shape.heads, house.shape.kv_heads)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_layer(writer: GGUFWriter, name: str, layer: Layer, heads: int, kv_heads: int) -> None:
    """The fourteen matrices of one layer."""
    for part in PARTS:
        adapted = getattr(layer, part)
        a, b = adapted.a.detach().numpy(), adapted.b.detach().numpy()
        if part in ("attn_q", "attn_k"):  # its rows turn as those of the matrix that it adds to
            b = paired(b, heads if part == "attn_q" else kv_heads)
        writer.add_tensor(f"{name}.{part}.weight.lora_a", np.ascontiguousarray(a, np.float16))
        writer.add_tensor(f"{name}.{part}.weight.lora_b", np.ascontiguousarray(b, np.float16))


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="the GGUF that the adapter is for")
    parser.add_argument("--out", type=Path, required=True, help="folder for checkpoint.pt and adapter.gguf")
    parser.add_argument("--lines", type=Path, help="a game's own conversations, every second one of training")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--alpha", type=float, default=32.0)
    parser.add_argument("--steps", type=int, default=4000, help="at which the rate has fallen to its end")
    parser.add_argument(
        "--minutes", type=float, default=0, help="end sooner; the rate falls to its end by then"
    )
    parser.add_argument("--rows", type=int, default=4, help="conversations a step")
    parser.add_argument(
        "--limit", type=int, default=1024, help="tokens of a conversation; longer ones are left"
    )
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--save-every", type=int, default=50)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def main() -> None:
    """Runs from the command line."""
    args = arguments()
    try:
        own = own_lines(args.lines) if args.lines else []
    except (OSError, ValueError) as error:
        raise SystemExit(str(error)) from None
    args.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    reader = GGUFReader(args.base)
    tokenizer, house = tokenizer_of(reader), House(shape_of(reader), fresh=False)
    load_gguf(house, args.base)
    parameters = adapt(house, args.rank, args.alpha)
    optimizer = torch.optim.AdamW(parameters, lr=args.rate, betas=(0.9, 0.98), weight_decay=0.0)
    begin, tokens, saved = 0, 0, args.out / "checkpoint.pt"
    if saved.exists():
        state = torch.load(saved, weights_only=True)
        for parameter, value in zip(parameters, state["parameters"], strict=True):
            parameter.data.copy_(value)
        optimizer.load_state_dict(state["optimizer"])
        begin, tokens = state["step"], state["tokens"]
    source = batches(tokenizer, composed(f"{args.seed}/{begin}", own), args.rows, args.limit, 2)
    train(args, house, source, parameters, optimizer, begin, tokens)
    export_adapter(house, args.out / "adapter.gguf", args.alpha)


def progress(args: argparse.Namespace, step: int, began: float) -> float:
    """How much of the run is over: by steps, or by minutes where those end it sooner."""
    share = step / args.steps
    return max(share, (time.monotonic() - began) / (60 * args.minutes)) if args.minutes else share


def train(args, house: House, source: Iterator, parameters, optimizer, begin: int, tokens: int) -> None:
    """Runs the steps from `begin` on, and logs and saves."""
    began, mean, right, step = time.monotonic(), Average(0.97), Average(0.97), begin
    while (done := progress(args, step, began)) < 1:
        rate = args.rate * min(1.0, (step + 1) / 40) * (0.1 + 0.9 * (1 - done))
        for group in optimizer.param_groups:
            group["lr"] = rate
        batch = next(source)
        loss, hit = loss_of(house, batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step, tokens = step + 1, tokens + batch[0].numel()
        mean.add(loss.item())
        right.add(hit)
        if step % 10 == 0:
            seconds = time.monotonic() - began
            line = {
                "step": step,
                "loss": mean.value,
                "right": right.value,
                "tokens": tokens,
                "seconds": seconds,
                "rate": rate,
            }
            line = {key: round(value, 5) for key, value in line.items()}
            print(json.dumps(line), flush=True)
            with (args.out / "log.jsonl").open("a") as log:
                log.write(json.dumps(line) + "\n")
        if step % args.save_every == 0:
            save(args.out / "checkpoint.pt", state_of(parameters, optimizer, step, tokens))
    save(args.out / "checkpoint.pt", state_of(parameters, optimizer, step, tokens))


if __name__ == "__main__":
    main()
