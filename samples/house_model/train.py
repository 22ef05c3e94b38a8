"""Trains the house model on the CPU: reproducible by seed, resumable, an hour or less on two cores."""

import argparse
import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from random import Random

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

import prompt
from corpus import conversation, conversations
from model import House, Shape

WEIGHTS = {prompt.SYSTEM: 0.0, prompt.USER: 0.15, prompt.ASSISTANT: 1.0, prompt.TOOL: 0.0}
VOCABULARY = Path(__file__).with_name("tokenizer.json")
BUCKETS = (192, 256, 320, 384, 512, 768, 1024)


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
    tokenizer: Tokenizer, seed: int, budget: int, short: int, start: int
) -> Iterator[tuple[Tensor, ...]]:
    """Batches of about `budget` tokens of one padded length; the first `short` pools are of small sheets."""
    pad, limit, pools = tokenizer.token_to_id(prompt.PAD), Shape().context, 0
    skip = start
    while True:
        rng = Random(f"{seed}/{pools}")
        size = 0.35 if pools < short else 1.0
        pools += 1
        held: dict[int, list] = {bucket: [] for bucket in BUCKETS}
        ready: list[tuple[int, list]] = []
        for _ in range(600):
            grown = size if rng.random() < 0.95 or size < 1 else 3.0
            made = conversation(rng, size=grown, turns=rng.randint(2, 4) if size < 1 else 0)
            ids, counts = prompt.encode(tokenizer, made, WEIGHTS)
            bucket = next((b for b in BUCKETS if len(ids) <= b + 1), 0)
            if not bucket:
                continue
            held[bucket].append((ids, counts))
            if len(held[bucket]) == max(1, budget // bucket):
                ready.append((bucket, held[bucket]))
                held[bucket] = []
        rng.shuffle(ready)
        for bucket, rows in ready:
            if skip:
                skip -= 1
                continue
            whole = torch.full((len(rows), bucket + 1), pad)
            weight = torch.zeros(len(rows), bucket)
            for i, (ids, counts) in enumerate(rows):
                whole[i, : len(ids)] = torch.tensor(ids)
                weight[i, : len(ids) - 1] = torch.tensor(counts[1:])
            positions = torch.tensor([gapped(rng, bucket, limit) for _ in rows])
            yield whole[:, :-1], whole[:, 1:], weight, positions


def echo(tokenizer: Tokenizer, rng: Random, rows: int, length: int = 192) -> tuple[Tensor, ...]:
    """A batch of nonsense: lines of random tokens, a user who begins one, an assistant who says it whole.

    Attention learns to copy from it sooner than from sentences, where most tokens can be had without looking.
    """
    first = len(prompt.SPECIAL) + 256
    begin, end, system, user, assistant = (
        tokenizer.token_to_id(t)
        for t in (prompt.BEGIN, prompt.END, prompt.SYSTEM, prompt.USER, prompt.ASSISTANT)
    )
    mark = tokenizer.encode("\n-").ids
    whole, weight = (
        torch.full((rows, length + 1), tokenizer.token_to_id(prompt.PAD)),
        torch.zeros(rows, length),
    )
    for i in range(rows):
        lines = [
            [rng.randrange(first, prompt.VOCAB) for _ in range(rng.randint(3, 8))]
            for _ in range(rng.randint(3, 10))
        ]
        ids, counts = [begin, system], [0.0, 0.0]
        for line in lines:
            ids += mark + line
            counts += [0.0] * (len(mark) + len(line))
        ids.append(end)
        counts.append(0.0)
        while len(ids) < length - 20:
            line = rng.choice(lines)
            at = 0 if rng.random() < 0.75 else rng.randrange(len(line) - 1)
            cue = line[at : at + rng.randint(1, 2)]
            ids += [user, *cue, end, assistant, *line, end]
            counts += [0.0] * (len(cue) + 3) + [1.0] * (len(line) + 1)
        whole[i, : len(ids)] = torch.tensor(ids)
        weight[i, : len(ids) - 1] = torch.tensor(counts[1:])
    positions = torch.tensor([gapped(rng, length, Shape().context) for _ in range(rows)])
    return whole[:, :-1], whole[:, 1:], weight, positions


def drilled(seed: int, step: int) -> Random | None:
    """The dice of an echo batch, or None where the step has conversations; many echoes at first."""
    dice = Random(f"{seed}/echo/{step}")
    share = 0.3 if step < 60 else 0.05
    return dice if dice.random() < share else None


def rate(step: int, steps: int, fall_from: int) -> float:
    """A short rise, a plateau, and a fall to nearly nothing."""
    return min((step + 1) / 40, 1.0, max(0.02, (steps - step) / (steps - fall_from)))


def loss_of(net, house: House, batch: tuple[Tensor, ...]) -> tuple[Tensor, float]:
    """The weighted loss, and the share of answer tokens that are guessed right."""
    ids, targets, weight, positions = batch
    with torch.autocast("cpu", torch.bfloat16):
        hidden = net(ids, positions)
        chosen = weight > 0
        scores = house.logits(hidden[chosen]).float()
    weight, targets = weight[chosen], targets[chosen]
    loss = (F.cross_entropy(scores, targets, reduction="none") * weight).sum() / weight.sum()
    answers = weight == 1
    right = (scores.detach().argmax(-1) == targets)[answers].float().mean().item()
    return loss, right


def main() -> None:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for tokenizer.json and checkpoint.pt")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--steps", type=int, default=760)
    parser.add_argument(
        "--fall-from", type=int, default=500, help="step at which the learning rate begins to fall"
    )
    parser.add_argument("--budget", type=int, default=4096, help="tokens a step")
    parser.add_argument("--short", type=int, default=5, help="pools of small sheets to begin with")
    parser.add_argument("--muon", type=float, default=0.015, help="learning rate of the matrices")
    parser.add_argument("--adam", type=float, default=0.004, help="learning rate of embedding and norms")
    parser.add_argument("--save-every", type=int, default=200)
    parser.add_argument("--stop-at", type=int, default=0, help="stop early, for a smoke run")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    args.out.mkdir(parents=True, exist_ok=True)
    tokenizer = the_tokenizer(args.out / "tokenizer.json", args.seed)
    house = House(Shape())
    matrices = [p for n, p in house.named_parameters() if p.ndim == 2 and "embd" not in n]
    others = [p for n, p in house.named_parameters() if p.ndim != 2 or "embd" in n]
    optimizers = [
        torch.optim.Muon(matrices, lr=args.muon, weight_decay=0.02, momentum=0.95, adjust_lr_fn="original"),
        torch.optim.AdamW(others, lr=args.adam, betas=(0.9, 0.95), weight_decay=0.0),
    ]
    bases = [args.muon, args.adam]
    begin, saved = 0, args.out / "checkpoint.pt"
    if saved.exists():
        state = torch.load(saved, weights_only=True)
        house.load_state_dict(state["model"])
        for optimizer, held in zip(optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(held)
        begin = state["step"]
    print(
        json.dumps(
            {"parameters": sum(p.numel() for p in house.parameters()), "from": begin, **asdict(house.shape)}
        ),
        flush=True,
    )

    net = torch.compile(house) if args.compile else house
    drawn = sum(drilled(args.seed, step) is None for step in range(begin))
    source = batches(tokenizer, args.seed, args.budget, args.short, drawn)
    clock, tokens, mean, right, copied = time.monotonic(), 0, math.nan, math.nan, math.nan
    for step in range(begin, args.steps):
        if args.stop_at and step >= args.stop_at:
            break
        dice = drilled(args.seed, step)
        batch = echo(tokenizer, dice, args.budget // 192) if dice else next(source)
        loss, hit = loss_of(net, house, batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(others, 1.0)
        for optimizer, base in zip(optimizers, bases, strict=True):
            for group in optimizer.param_groups:
                group["lr"] = base * rate(step, args.steps, args.fall_from)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        tokens += batch[0].numel()
        if dice:
            copied = hit if math.isnan(copied) else 0.9 * copied + 0.1 * hit
        else:
            mean = loss.item() if math.isnan(mean) else 0.95 * mean + 0.05 * loss.item()
            right = hit if math.isnan(right) else 0.95 * right + 0.05 * hit
        if step % 20 == 0:
            speed = tokens / (time.monotonic() - clock)
            print(
                f"step {step} loss {mean:.3f} right {right:.3f} copied {copied:.3f} tokens/s {speed:.0f}",
                flush=True,
            )
        if (step + 1) % args.save_every == 0 or step + 1 == args.steps:
            state = {
                "model": house.state_dict(),
                "optimizers": [o.state_dict() for o in optimizers],
                "step": step + 1,
            }
            torch.save(state, saved.with_suffix(".new"))
            saved.with_suffix(".new").rename(saved)


if __name__ == "__main__":
    main()
