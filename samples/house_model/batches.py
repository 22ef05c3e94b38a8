"""Makes batches of conversations, and of nonsense to be looked up and repeated."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import torch
from tokenizers import Tokenizer
from torch import Tensor

import prompt
from corpus import conversation, conversations
from model import Shape

WEIGHTS = {prompt.SYSTEM: 0.0, prompt.USER: 0.15, prompt.ASSISTANT: 1.0, prompt.TOOL: 0.0}
KEY_WEIGHT, AROUND_WEIGHT = 2.0, 0.3
VOCABULARY = Path(__file__).with_name("tokenizer.json")
BUCKETS = (192, 256, 320, 384, 448, 512, 640, 768, 1024)


def the_tokenizer(path: Path, seed: int) -> Tokenizer:
    """Opens the run's tokenizer: the committed one, or one made of the corpus where that is gone."""
    if not path.exists() and VOCABULARY.exists():
        Tokenizer.from_file(str(VOCABULARY)).save(str(path))
    if not path.exists():
        source = conversations(seed)
        texts = (body for _ in range(30000) for _, body in prompt.segments(**next(source)))
        prompt.train_tokenizer(texts).save(str(path))
    return Tokenizer.from_file(str(path))


def gapped(rng: Random, length: int, limit: int) -> list[int]:
    """Positions with jumps, so that short conversations teach distances up to `limit`."""
    if rng.random() < 0.7:
        return list(range(length))
    free = limit - length
    jumps = sorted((rng.randrange(1, length), rng.randint(0, free // 3)) for _ in range(3))
    out, at, add = [], 0, 0
    for i in range(length):
        while at < len(jumps) and jumps[at][0] <= i:
            add += jumps[at][1]
            at += 1
        out.append(i + add)
    return out


def batches(
    tokenizer: Tokenizer, seed: str, budget: int, short: int, start: int
) -> Iterator[tuple[Tensor, ...]]:
    """Batches of about `budget` tokens of one padded length; the first `short` pools are of small sheets.

    A run that is resumed goes on with the pools from number `start` on.
    """
    pad, limit, pools = tokenizer.token_to_id(prompt.PAD), Shape().context, start
    while True:
        rng = Random(f"{seed}/{pools}")
        size = 0.35 if pools < short else 1.0
        pools += 1
        held: dict[int, list] = {bucket: [] for bucket in BUCKETS}
        ready: list[tuple[int, list]] = []
        for _ in range(600):
            grown = size if rng.random() < 0.95 or size < 1 else 3.0
            made = conversation(rng, size=grown, turns=rng.randint(3, 6) if size < 1 else 0)
            ids, counts = prompt.encode(tokenizer, made, WEIGHTS, KEY_WEIGHT, AROUND_WEIGHT)
            bucket = next((b for b in BUCKETS if len(ids) <= b + 1), 0)
            if not bucket:
                continue
            held[bucket].append((ids, counts))
            if len(held[bucket]) == max(1, budget // bucket):
                ready.append((bucket, held[bucket]))
                held[bucket] = []
        rng.shuffle(ready)
        for bucket, rows in ready:
            whole = torch.full((len(rows), bucket + 1), pad)
            weight = torch.zeros(len(rows), bucket)
            for i, (ids, counts) in enumerate(rows):
                whole[i, : len(ids)] = torch.tensor(ids)
                weight[i, : len(ids) - 1] = torch.tensor(counts[1:])
            positions = torch.tensor([gapped(rng, bucket, limit) for _ in rows])
            yield whole[:, :-1], whole[:, 1:], weight, positions


def drill(rng: Random, none: list[int]) -> tuple[list[list[int]], Callable[[], tuple[list[int], list[int]]]]:
    """Lines of random tokens, and what draws a cue and the answer to it: the line with the cue, or `none`.

    Most lines are of few tokens, so that one token is not enough to tell where in them it stands.
    """
    first = len(prompt.SPECIAL) + 256
    few = rng.choice((12, 20, 40, 1000))
    pool = [rng.randrange(first, prompt.VOCAB) for _ in range(few)]
    lines = [[rng.choice(pool) for _ in range(rng.randint(3, 8))] for _ in range(rng.randint(3, 10))]

    def begins(line: list[int], cue: list[int]) -> bool:
        return any(line[at : at + len(cue)] == cue for at in range(len(line)))

    def draw() -> tuple[list[int], list[int]]:
        while True:
            line = rng.choice(lines)
            at = 0 if rng.random() < 0.5 else rng.randrange(len(line) - 1)
            cue = line[at : at + rng.randint(1, 3)]
            if rng.random() < 0.2:
                cue = [rng.choice(pool) for _ in range(rng.randint(2, 3))]
            found = [line for line in lines if begins(line, cue)]
            if len(found) < 2:
                return cue, found[0] if found else none

    return lines, draw


def echo(tokenizer: Tokenizer, rng: Random, rows: int, length: int = 192) -> tuple[Tensor, ...]:
    """A batch of nonsense: lines of random tokens, a user who begins one, an assistant who says it whole.

    Attention learns to copy from it sooner than from sentences, where most tokens can be had without looking.
    """
    begin, end, system, user, assistant = (
        tokenizer.token_to_id(t)
        for t in (prompt.BEGIN, prompt.END, prompt.SYSTEM, prompt.USER, prompt.ASSISTANT)
    )
    mark, none = tokenizer.encode("\n-").ids, tokenizer.encode("I have not heard").ids
    whole = torch.full((rows, length + 1), tokenizer.token_to_id(prompt.PAD))
    weight = torch.zeros(rows, length)
    for i in range(rows):
        lines, draw = drill(rng, none)
        ids = [begin, system, *(token for line in lines for token in (*mark, *line)), end]
        counts = [0.0] * len(ids)
        while len(ids) < length - 20:
            cue, answer = draw()
            ids += [user, *cue, end, assistant, *answer, end]
            counts += [0.0] * (len(cue) + 3) + [1.0] * (len(answer) + 1)
        whole[i, : len(ids)] = torch.tensor(ids)
        weight[i, : len(ids) - 1] = torch.tensor(counts[1:])
    positions = torch.tensor([gapped(rng, length, Shape().context) for _ in range(rows)])
    return whole[:, :-1], whole[:, 1:], weight, positions


def drilled(seed: int, step: int) -> Random | None:
    """The dice of an echo batch, or None where the step has conversations; many echoes at first."""
    dice = Random(f"{seed}/echo/{step}")
    share = 0.3 if step < 60 else 0.12
    return dice if dice.random() < share else None
