"""Trains the matting network on composed pictures; resumable.

The pictures are made while it trains, by other processes: procedural things, rendered and drawn
emoji of the trained subjects, over procedural backgrounds and photographs of the trained places.
Writes `checkpoint.pt` and `log.jsonl` into a folder.
"""

from __future__ import annotations

import argparse
import copy
import io
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.random import Generator
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

import glyphs
import scenery
from composing import composed
from network import SIZE, MattingNetwork, matting_loss, normalised
from things import TRAINED, thing

Batch = tuple[Tensor, Tensor]


class Pictures(IterableDataset):
    """Batches of composed pictures without end: RGB (N, H, W, 3) and alpha (N, H, W), as bytes.

    Args:
        folder: Where the packages of `glyphs` are kept.
        seed: Seed; with the number of the worker process it decides every picture.
        size: Side of the pictures, in pixels.
        batch: Pictures of a batch.
    """

    def __init__(self, folder: Path, seed: int, size: int, batch: int) -> None:
        super().__init__()
        self.seed, self.size, self.batch = seed, size, batch
        self.rendered = list(glyphs.fluent(folder, held=False))
        self.drawn = list(glyphs.noto(folder))
        self.photos = glyphs.photographs(folder, held=False)

    def __iter__(self) -> Iterator[Batch]:
        """Yields batches."""
        worker = get_worker_info()
        rng = np.random.default_rng((self.seed, self.size, worker.id if worker else 0))
        while True:
            made = [composed(self.front, self.back, rng, self.size) for _ in range(self.batch)]
            yield (
                torch.from_numpy(np.stack([one.rgb for one in made])),
                torch.from_numpy(np.stack([one.alpha for one in made])),
            )

    def front(self, rng: Generator) -> Image.Image:
        """Returns a random foreground: RGBA."""
        kind, side = rng.random(), self.size * 5 // 4
        if kind < 0.45:
            return thing(TRAINED, rng, side)
        if kind < 0.8:
            file = self.rendered[int(rng.integers(len(self.rendered)))]
            glyph = Image.open(io.BytesIO(file)).convert("RGBA")
        else:
            glyph = self.drawn[int(rng.integers(len(self.drawn)))]
        return glyph.resize((side, side), Image.Resampling.BILINEAR) if side < glyph.width else glyph

    def back(self, rng: Generator) -> Image.Image:
        """Returns a random background: RGB."""
        if rng.random() < 0.3:
            return glyphs.view(self.photos, rng, self.size)
        return scenery.backdrop(scenery.TRAINED, rng, self.size)


class Replay:
    """Adds as many earlier pictures to every batch: making one costs half of what training on it does.

    Args:
        rng: Source of the choices.
        capacity: Pictures that are kept.
    """

    def __init__(self, rng: Generator, capacity: int = 1024) -> None:
        self.rng, self.capacity = rng, capacity
        self.kept: list[tuple[Tensor, Tensor]] = []

    def mixed(self, batch: Batch) -> Batch:
        """Returns the new pictures and as many earlier ones, half of all mirrored."""
        new = list(zip(*batch, strict=True))
        chosen = self.rng.integers(max(1, len(self.kept)), size=len(new))
        pairs = [*new, *(self.kept[k] for k in chosen if self.kept)]
        for pair in new:
            if len(self.kept) < self.capacity:
                self.kept.append(pair)
            else:
                self.kept[int(self.rng.integers(self.capacity))] = pair
        turned = self.rng.random(len(pairs)) < 0.5
        both = [
            (a.flip(1), b.flip(1)) if turn else (a, b) for turn, (a, b) in zip(turned, pairs, strict=True)
        ]
        return torch.stack([rgb for rgb, _ in both]), torch.stack([alpha for _, alpha in both])


class Training:
    """A run: the network, its averaged copy, and how far it is."""

    def __init__(self, args: argparse.Namespace) -> None:
        """Resumes where the folder holds a checkpoint."""
        self.args, self.file = args, args.out / "checkpoint.pt"
        torch.manual_seed(args.seed)
        self.network = MattingNetwork().to(memory_format=torch.channels_last)
        self.averaged = copy.deepcopy(self.network).eval()
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=args.rate, weight_decay=1e-3)
        self.step, self.seconds = 0, 0.0
        if self.file.exists():
            state = torch.load(self.file, weights_only=True)
            self.network.load_state_dict(state["network"])
            self.averaged.load_state_dict(state["averaged"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.step, self.seconds = state["step"], state["seconds"]

    def save(self) -> None:
        """Replaces the checkpoint at once."""
        state = {"network": self.network.state_dict(), "averaged": self.averaged.state_dict()}
        state |= {"optimizer": self.optimizer.state_dict(), "step": self.step, "seconds": self.seconds}
        torch.save(state, self.file.with_suffix(".new"))
        self.file.with_suffix(".new").rename(self.file)

    def run(self, pictures: Pictures, until: float) -> None:
        """Trains on the pictures until a share `until` of the run's minutes is over."""
        replay = Replay(np.random.default_rng((self.args.seed, self.step)))
        source = iter(DataLoader(pictures, batch_size=None, num_workers=self.args.workers, prefetch_factor=6))
        began, before, losses = time.monotonic(), self.seconds, []
        while (share := self.seconds / (60 * self.args.minutes)) < until:
            losses.append(self.one_step(replay.mixed(next(source)), share))
            self.seconds = before + time.monotonic() - began
            if self.step % 20 == 0:
                self.log(pictures.size, float(np.mean(losses)))
                losses = []
            if self.step % 200 == 0:
                self.save()
        self.save()

    def one_step(self, batch: Batch, share: float) -> float:
        """Does one step at a share of the run, and returns its loss."""
        rate = self.args.rate * min(1.0, (self.step + 1) / 60) * (0.01 + 0.99 * (1 - share))
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        alpha = batch[1][:, None].float() / 255
        with torch.autocast("cpu", torch.bfloat16):
            full, coarse = self.network.logits(normalised(batch[0]))
        loss = matting_loss(full.float(), coarse.float(), alpha)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 2.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        keep = min(0.995, self.step / (self.step + 10))
        with torch.no_grad():
            for mean, value in zip(
                self.averaged.state_dict().values(), self.network.state_dict().values(), strict=True
            ):
                mean.lerp_(value, 1 - keep) if mean.is_floating_point() else mean.copy_(value)
        return loss.item()

    def log(self, size: int, loss: float) -> None:
        """Prints a line, and adds it to log.jsonl."""
        line = {"step": self.step, "size": size, "loss": round(loss, 4), "seconds": round(self.seconds)}
        print(json.dumps(line), flush=True)
        with (self.args.out / "log.jsonl").open("a") as log:
            log.write(json.dumps(line) + "\n")


def main() -> None:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of checkpoint.pt and log.jsonl")
    parser.add_argument("--packages", type=Path, required=True, help="folder of the packages of glyphs.py")
    parser.add_argument(
        "--minutes", type=float, default=40, help="length of the whole run, resumed parts included"
    )
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument(
        "--batch", type=int, default=10, help="new pictures of a step; as many earlier ones are added"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1, help="processes that make pictures")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(args.threads)
    training = Training(args)
    pictures = Pictures(args.packages, args.seed + training.step, SIZE, args.batch)
    for size, until in ((SIZE // 2, 0.4), (SIZE * 3 // 4, 0.7), (SIZE, 1.0)):  # small ones cost least
        pictures.size = size
        training.run(pictures, until)


if __name__ == "__main__":
    main()
