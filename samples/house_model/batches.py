"""Makes batches of conversations of like length."""

from collections.abc import Iterator
from random import Random

import torch
from tokenizers import Tokenizer
from torch import Tensor

import prompt

KEY_WEIGHT, AROUND_WEIGHT = 2.0, 0.4
Row = tuple[list[int], list[float]]
Batch = tuple[Tensor, Tensor, Tensor]


def rows(
    tokenizer: Tokenizer, source: Iterator[dict], weights: dict[str, float], limit: int
) -> Iterator[Row]:
    """Conversations as tokens and their weights, those of at most `limit` tokens."""
    for made in source:
        ids, counts = prompt.encode(tokenizer, made, weights, KEY_WEIGHT, AROUND_WEIGHT)
        if len(ids) <= limit + 1 and any(counts):
            yield ids, counts


def batch_of(group: list[Row], pad: int) -> Batch:
    """Ids, the ids to predict, and what each counts: [rows, length]."""
    length = max(len(ids) for ids, _ in group) - 1
    whole, weight = torch.full((len(group), length + 1), pad), torch.zeros(len(group), length)
    for row, (ids, counts) in enumerate(group):
        whole[row, : len(ids)] = torch.tensor(ids)
        weight[row, : len(ids) - 1] = torch.tensor(counts[1:])
    return whole[:, :-1], whole[:, 1:], weight


def batches(made: Iterator[Row], budget: int, pad: int, seed: str) -> Iterator[Batch]:
    """Batches of at most `budget` tokens with their padding, drawn from pools that are sorted by length."""
    dice = Random(seed)
    while True:
        groups: list[list[Row]] = [[]]
        for row in sorted((next(made) for _ in range(max(96, budget // 40))), key=lambda one: len(one[0])):
            if groups[-1] and len(row[0]) * (len(groups[-1]) + 1) > budget:
                groups.append([])
            groups[-1].append(row)
        dice.shuffle(groups)
        for group in groups:
            yield batch_of(group, pad)
