"""The loop that trains: resumable, its rate falls by steps or by minutes."""

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from batches import Batch
from model import House, weighted_loss


class Average:
    """A mean that forgets."""

    def __init__(self, keep: float) -> None:
        self.keep, self.value = keep, math.nan

    def add(self, value: float) -> None:
        """Takes one more value; none where it is not a number."""
        if not math.isnan(value):
            self.value = value if math.isnan(self.value) else self.keep * self.value + (1 - self.keep) * value


def loss_of(house: House, batch: Batch) -> tuple[Tensor, float]:
    """Returns the weighted loss, and the share of the answers' tokens that are predicted right."""
    device = house.rates.device
    ids, targets, weight = (part.to(device) for part in batch)
    positions = torch.arange(ids.shape[1], device=device).expand(ids.shape)
    with torch.autocast(device.type, torch.bfloat16):
        hidden = house(ids, positions)
        chosen = weight > 0
        scores = house.logits(hidden[chosen]).float()
    weight, targets = weight[chosen], targets[chosen]
    loss, hits = weighted_loss(scores, targets, weight)
    answers = hits[weight >= 0.3]
    return loss, answers.mean().item() if len(answers) else math.nan


class Stream(IterableDataset):
    """Batches that a worker process makes, with a seed of its own."""

    def __init__(self, make: Callable[[str], Iterator[Batch]], seed: str) -> None:
        super().__init__()
        self.make, self.seed = make, seed

    def __iter__(self) -> Iterator[Batch]:
        """Batches without end."""
        worker = get_worker_info()
        return self.make(f"{self.seed}/{worker.id}" if worker else self.seed)


def options(parser: argparse.ArgumentParser, *, rate: float, budget: int) -> None:
    """The options that both trainers have."""
    parser.add_argument("--out", type=Path, required=True, help="folder of checkpoint.pt")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--steps", type=int, default=4000, help="at which the rate has fallen to its end")
    parser.add_argument(
        "--minutes", type=float, default=0, help="end sooner; the rate falls to its end by then"
    )
    parser.add_argument("--budget", type=int, default=budget, help="tokens a step")
    parser.add_argument(
        "--limit", type=int, default=1024, help="tokens of a conversation; longer ones are left"
    )
    parser.add_argument("--rate", type=float, default=rate)
    parser.add_argument("--save-every", type=int, default=50)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu", help="of PyTorch: cpu or cuda")
    parser.add_argument("--workers", type=int, default=0, help="processes that make batches; 0: this one")
    parser.add_argument("--compile", action="store_true", help="let PyTorch compile the layers")


class Training:
    """A run: what is trained, by what, and how far it is."""

    def __init__(self, args: argparse.Namespace, parameters: list[nn.Parameter], betas: tuple[float, float]):
        """Resumes where the folder holds a checkpoint."""
        self.args, self.parameters = args, parameters
        self.optimizer = torch.optim.AdamW(
            parameters, lr=args.rate, betas=betas, weight_decay=0.0, fused=True
        )
        self.step, self.tokens, self.saved = 0, 0, args.out / "checkpoint.pt"
        self.began = time.monotonic()
        if self.saved.exists():
            state = torch.load(self.saved, weights_only=True, map_location=args.device)
            for parameter, value in zip(parameters, state["parameters"], strict=True):
                parameter.data.copy_(value)
            self.optimizer.load_state_dict(state["optimizer"])
            self.step, self.tokens = state["step"], state["tokens"]
        self.first = self.step

    def save(self) -> None:
        """Replaces the checkpoint at once."""
        state = {
            "parameters": [parameter.data for parameter in self.parameters],
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "tokens": self.tokens,
        }
        torch.save(state, self.saved.with_suffix(".new"))
        self.saved.with_suffix(".new").rename(self.saved)

    def progress(self) -> float:
        """How much of the run is over: by steps, or by minutes where those end it sooner."""
        share, minutes = self.step / self.args.steps, self.args.minutes
        return max(share, (time.monotonic() - self.began) / (60 * minutes)) if minutes else share

    def rate(self, done: float) -> float:
        """A short rise, also of a run that is resumed, then a fall along a line."""
        return self.args.rate * min(1.0, (self.step - self.first + 1) / 40) * (0.03 + 0.97 * (1 - done))

    def run(self, house: House, make: Callable[[str], Iterator[Batch]]) -> None:
        """Runs the steps on the batches that `make` gives for a seed, and logs and saves."""
        mean, right = Average(0.97), Average(0.97)
        if self.args.compile:
            for layer in house.blk:
                layer.compile(dynamic=True)
        made = Stream(make, f"{self.args.seed}/{self.step}")
        source = iter(DataLoader(made, batch_size=None, num_workers=self.args.workers))
        while (done := self.progress()) < 1:
            for group in self.optimizer.param_groups:
                group["lr"] = self.rate(done)
            batch = next(source)
            loss, hit = loss_of(house, batch)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            self.step, self.tokens = self.step + 1, self.tokens + batch[0].numel()
            mean.add(loss.item())
            right.add(hit)
            if self.step % 10 == 0:
                self.log(mean.value, right.value, self.rate(done))
            if self.step % self.args.save_every == 0:
                self.save()
        self.save()

    def log(self, loss: float, right: float, rate: float) -> None:
        """Prints a line, and adds it to log.jsonl."""
        seconds = time.monotonic() - self.began
        line = {"loss": loss, "right": right, "seconds": seconds, "rate": rate}
        line = {"step": self.step, "tokens": self.tokens} | {key: round(v, 6) for key, v in line.items()}
        print(json.dumps(line), flush=True)
        with (self.args.out / "log.jsonl").open("a") as log:
            log.write(json.dumps(line) + "\n")
