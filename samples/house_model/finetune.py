"""Trains a LoRA adapter for a model that exists, on the corpus or on a game's own lines; resumable."""

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from random import Random

import gguf
import numpy as np
import torch
import torch.nn.functional as F
from gguf import GGUFReader, GGUFWriter
from torch import Tensor, nn

from batches import Batch, batches, rows
from corpus import conversation
from export import opened, paired, weights_of
from model import House, Layer
from own import Own, own_lines
from training import Training, options
from vocabulary import tokenizer_of

PARTS = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")


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


def composed(seed: str, own: Own | None, share: float) -> Iterator[dict]:
    """Conversations without end: a `share` of them of a game's own lines, the others of the corpus."""
    rng = Random(seed)
    while True:
        if own and rng.random() < share:
            yield own.conversation(rng)
        else:
            yield conversation(rng, size=1.0 if rng.random() < 0.95 else 2.0)


def begin_with(house: House, path: Path) -> None:
    """Takes the matrices of an adapter's GGUF, which may be of a smaller rank."""
    held = weights_of(path, house.shape)
    for at, layer in enumerate(house.blk):
        for part in PARTS:
            adapted, name = getattr(layer, part), f"blk.{at}.{part}.weight"
            for parameter, value in (
                (adapted.a, held[f"{name}.lora_a"]),
                (adapted.b, held[f"{name}.lora_b"]),
            ):
                if any(own < other for own, other in zip(parameter.shape, value.shape, strict=True)):
                    raise ValueError(
                        f"{path}: {name} has matrices of rank {min(value.shape)}; run it with --rank of that"
                    )
                parameter.data[: value.shape[0], : value.shape[1]] = value


def export_adapter(house: House, out: Path, alpha: float, name: str) -> None:
    """Writes the adapter as the GGUF that llama.cpp loads."""
    writer = GGUFWriter(out, "llama")
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, alpha)
    writer.add_name(name)
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
        a, b = adapted.a.detach().cpu().numpy(), adapted.b.detach().cpu().numpy()
        if part in ("attn_q", "attn_k"):  # its rows turn as those of the matrix that it adds to
            b = paired(b, heads if part == "attn_q" else kv_heads)
        for side, matrix in (("a", a), ("b", b)):
            add_matrix(writer, f"{name}.{part}.weight.lora_{side}", matrix)


def add_matrix(writer: GGUFWriter, name: str, matrix: np.ndarray) -> None:
    """One matrix: in Q8_0 where its rows are whole blocks of 32, else in halves."""
    if matrix.shape[-1] % 32:
        writer.add_tensor(name, np.ascontiguousarray(matrix, np.float16))
    else:
        kind = gguf.GGMLQuantizationType.Q8_0
        writer.add_tensor(name, gguf.quants.quantize(np.ascontiguousarray(matrix), kind), raw_dtype=kind)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    options(parser, rate=1e-3, budget=2048)
    parser.add_argument("--base", type=Path, required=True, help="the GGUF that the adapter is for")
    parser.add_argument("--begin", type=Path, help="an adapter's GGUF to go on from")
    parser.add_argument("--lines", type=Path, help="a YAML file of a game's own lines")
    parser.add_argument(
        "--share", type=float, default=0.5, help="of the conversations that are of the own lines"
    )
    parser.add_argument("--name", default="Sotto adapter", help="as the file has it")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--alpha", type=float, default=32.0)
    return parser.parse_args()


def main() -> None:
    """Runs from the command line."""
    args = arguments()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    house, tokenizer = opened(args.base), tokenizer_of(GGUFReader(args.base))
    parameters = adapt(house, args.rank, args.alpha)
    try:
        own = own_lines(args.lines) if args.lines else None
        if args.begin:
            begin_with(house, args.begin)
    except (OSError, ValueError) as error:
        raise SystemExit(str(error)) from None
    house.to(args.device)
    args.out.mkdir(parents=True, exist_ok=True)

    def made(seed: str) -> Iterator[Batch]:
        talks = (
            one
            for one in composed(seed, own, args.share)
            if not one["tools"] and one["messages"][0]["role"] == "system"
        )
        return batches(rows(tokenizer, talks, {"assistant": 1.0}, args.limit), args.budget, 2, seed)

    Training(args, parameters, (0.9, 0.98)).run(house, made)
    export_adapter(house, args.out / "adapter.gguf", args.alpha, args.name)


if __name__ == "__main__":
    main()
