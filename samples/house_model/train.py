"""Trains the house model, all its weights; resumable."""

import argparse
from collections.abc import Iterator

import torch
from gguf import GGUFReader

from batches import Batch, batches, rows
from corpus import conversations
from export import opened
from model import Embedding, House, Layer, Matrix
from training import Training, options
from vocabulary import tokenizer_of

WEIGHTS = {"user": 0.1, "assistant": 1.0}


def prepare(house: House, dropout: float) -> None:
    """Lets all matrices be what the file will hold, and sets the dropout."""
    for module in house.modules():
        if isinstance(module, Layer):
            module.dropout = dropout
        if isinstance(module, (Embedding, Matrix)):
            module.is_rounded = True


def main() -> None:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    options(parser, rate=6e-4, budget=4096)
    parser.add_argument("--dropout", type=float, default=0.1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    begin = args.out / "begin.gguf"  # of cut.py
    house, tokenizer = opened(begin).to(args.device), tokenizer_of(GGUFReader(begin))
    prepare(house, args.dropout)

    def made(seed: str) -> Iterator[Batch]:
        return batches(rows(tokenizer, conversations(seed), WEIGHTS, args.limit), args.budget, 0, seed)

    Training(args, list(house.parameters()), (0.9, 0.99)).run(house, made)


if __name__ == "__main__":
    main()
