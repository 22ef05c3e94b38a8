"""Trains the house model on the CPU: reproducible by seed, resumable, an hour or less on two cores."""

import argparse
import json
import math
import os
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from random import Random

import torch
from tokenizers import Tokenizer
from torch import Tensor, distributed

from batches import KEY_WEIGHT, batches, drilled, echo, the_tokenizer
from export import load_gguf
from model import House, Shape, weighted_loss

STEPS, FALL_FROM = 3200, 400


def rate(step: int, steps: int, fall_from: int) -> float:
    """A short rise, a plateau, and a fall to nearly nothing."""
    return min((step + 1) / 40, 1.0, max(0.02, (steps - step) / (steps - fall_from)))


def loss_of(net, house: House, batch: tuple[Tensor, ...]) -> tuple[Tensor, float, float]:
    """The weighted loss, and the shares of answers' tokens and of keys' tokens that are guessed right."""
    ids, targets, weight, positions = batch
    with torch.autocast("cpu", torch.bfloat16):
        hidden = net(ids, positions)
        chosen = weight > 0
        scores = house.logits(hidden[chosen]).float()
    weight, targets = weight[chosen], targets[chosen]
    loss, hits = weighted_loss(scores, targets, weight)
    keys = hits[weight == KEY_WEIGHT]
    return loss, hits[weight >= 1].mean().item(), keys.mean().item() if len(keys) else math.nan


class Average:
    """A mean that forgets."""

    def __init__(self, keep: float) -> None:
        self.keep, self.value = keep, math.nan

    def add(self, value: float) -> None:
        """Takes one more value; none where it is not a number."""
        if not math.isnan(value):
            self.value = value if math.isnan(self.value) else self.keep * self.value + (1 - self.keep) * value


def gather(args: argparse.Namespace) -> None:
    """Starts the other workers and meets them. Each has a thread and every step a batch of its own."""
    meeting = args.out / "meeting"
    if args.rank == 0:
        meeting.unlink(missing_ok=True)
        for rank in range(1, args.workers):
            subprocess.Popen([sys.executable, *sys.argv, "--rank", str(rank)])
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    store = distributed.FileStore(str(meeting), args.workers)
    distributed.init_process_group(
        "gloo", store=store, rank=args.rank, world_size=args.workers, timeout=timedelta(hours=12)
    )


def shared(parameters: list[Tensor]) -> None:
    """Averages the workers' gradients."""
    every = torch.cat([p.grad.flatten() for p in parameters])
    distributed.all_reduce(every)
    every /= distributed.get_world_size()
    at = 0
    for p in parameters:
        p.grad.copy_(every[at : at + p.numel()].view_as(p))
        at += p.numel()


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for tokenizer.json and checkpoint.pt")
    parser.add_argument("--begin", type=Path, help="a GGUF of the same shape whose weights to begin with")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--steps", type=int, default=STEPS, help="lower it on resuming to end sooner")
    parser.add_argument(
        "--fall-from", type=int, default=FALL_FROM, help="step at which the rate begins to fall"
    )
    parser.add_argument("--budget", type=int, default=3072, help="tokens a step and worker")
    parser.add_argument("--short", type=int, default=3, help="pools of small sheets to begin with")
    parser.add_argument("--muon", type=float, default=0.012, help="learning rate of the matrices")
    parser.add_argument("--adam", type=float, default=0.003, help="learning rate of embedding and norms")
    parser.add_argument("--save-every", type=int, default=100)
    parser.add_argument("--stop-at", type=int, default=0, help="stop early, for a smoke run")
    parser.add_argument("--workers", type=int, default=1, help="processes of one thread each")
    parser.add_argument("--rank", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="without torch.compile")
    return parser.parse_args()


def save(path: Path, state: dict) -> None:
    """Replaces the checkpoint at once."""
    torch.save(state, path.with_suffix(".new"))
    path.with_suffix(".new").rename(path)


def main() -> None:
    """Runs from the command line."""
    args = arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    if args.workers > 1:
        gather(args)
    tokenizer = the_tokenizer(args.out / "tokenizer.json", args.seed)
    house = House(Shape())
    if args.begin:
        load_gguf(house, args.begin)
    matrices = [p for n, p in house.named_parameters() if p.ndim == 2 and "embd" not in n]
    others = [p for n, p in house.named_parameters() if p.ndim != 2 or "embd" in n]
    optimizers = [
        torch.optim.Muon(matrices, lr=args.muon, weight_decay=0.02, momentum=0.95, adjust_lr_fn="original"),
        torch.optim.AdamW(others, lr=args.adam, betas=(0.9, 0.95), weight_decay=0.0),
    ]
    begin, saved = 0, args.out / "checkpoint.pt"
    if saved.exists():
        state = torch.load(saved, weights_only=True)
        house.load_state_dict(state["model"])
        for optimizer, held in zip(optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(held)
        begin = state["step"]
    train(args, house, tokenizer, (matrices, others), optimizers, begin)


def train(args, house: House, tokenizer: Tokenizer, groups, optimizers, begin: int) -> None:
    """Runs the steps from `begin` on, and logs and saves as the first of the workers."""
    net = house if args.plain else torch.compile(house, dynamic=True)
    seed = f"{args.seed}" if args.rank == 0 else f"{args.seed}/{args.rank}"
    source = batches(tokenizer, seed, args.budget, args.short, begin)
    bases, clock, tokens = (args.muon, args.adam), time.monotonic(), 0
    loss_mean, right, keys, copied = Average(0.98), Average(0.98), Average(0.98), Average(0.9)
    for step in range(begin, min(args.steps, args.stop_at or args.steps)):
        echoes = drilled(args.seed, step) is not None
        dice = Random(f"{seed}/echo/{step}")
        batch = echo(tokenizer, dice, args.budget // 192) if echoes else next(source)
        loss, hit, key_hit = loss_of(net, house, batch)
        loss.backward()
        if args.workers > 1:
            shared([*groups[0], *groups[1]])
        torch.nn.utils.clip_grad_norm_(groups[1], 1.0)
        for optimizer, base in zip(optimizers, bases, strict=True):
            for group in optimizer.param_groups:
                group["lr"] = base * rate(step, args.steps, args.fall_from)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        tokens += batch[0].numel() * args.workers
        if echoes:
            copied.add(hit)
        else:
            loss_mean.add(loss.item())
            right.add(hit)
            keys.add(key_hit)
        if args.rank:
            continue
        if step % 20 == 0:
            line = {
                "step": step,
                "loss": round(loss_mean.value, 4),
                "right": round(right.value, 4),
                "keys": round(keys.value, 4),
                "copied": round(copied.value, 3),
                "tokens": tokens,
                "seconds": round(time.monotonic() - clock, 1),
            }
            print(json.dumps(line), flush=True)
            with (args.out / "log.jsonl").open("a") as log:
                log.write(json.dumps(line) + "\n")
        if (step + 1) % args.save_every == 0 or step + 1 == args.steps:
            states = [optimizer.state_dict() for optimizer in optimizers]
            state = {"model": house.state_dict(), "optimizers": states, "step": step + 1}
            save(args.out / "checkpoint.pt", state)


if __name__ == "__main__":
    main()
