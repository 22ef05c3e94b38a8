"""Measures the matting model on the test pictures; writes the figures into its card, and a sheet."""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.random import Generator
from PIL import Image

import glyphs
import held_things
from composing import Bytes, Composed, Source, composed, held_pictures
from scoring import MODEL, Matting, score, scores
from things import thing

CELL = 170  # pixels of a picture on the sheet


def sets(packages: Path | None) -> dict[str, list[Composed]]:
    """Returns the sets of test pictures; those of glyphs and photographs need the folder of `glyphs.py`."""
    found = {"things": list(held_pictures())}
    if packages:
        front = glyphs.HeldGlyphs(packages)
        found["emoji"] = list(held_pictures(foreground=front))
        found["photographs"] = list(over_photographs(front, packages))
    return found


def over_photographs(emoji: Source, packages: Path, count: int = 100, size: int = 512) -> Iterator[Composed]:
    """Yields held things and held emoji, in turn, over photographs of held places."""
    photos = glyphs.photographs(packages, held=True)

    def held(rng: Generator) -> Image.Image:
        return thing(held_things.HELD, rng)

    for k in range(count):
        rng = np.random.default_rng((1, k))
        yield composed((held, emoji)[k % 2], lambda rng: glyphs.view(photos, rng, size), rng, size)


def figures(model: Matting, pictures: list[Composed]) -> dict[str, object]:
    """Returns the mean figures of a set, and its worst five pictures as pairs of number and IoU."""
    found = scores(model, pictures)
    ious = np.asarray([one.iou for one in found])
    worst = [(int(k), round(float(ious[k]), 3)) for k in np.argsort(ious)[:5]]
    return {
        "iou": round(float(ious.mean()), 4),
        "iou_median": round(float(np.median(ious)), 4),
        "share_over_0.9": round(float((ious >= 0.9).mean()), 2),
        "mae": round(float(np.mean([one.error for one in found])), 4),
        "worst": worst,
    }


def milliseconds(model: Matting, count: int = 20) -> float:
    """Returns the median time of a run, in ms, without resizing."""
    pixels, times = np.zeros((1, 3, model.size, model.size), np.float32), []
    for _ in range(count):
        began = time.perf_counter()
        model.run(pixels)
        times.append(time.perf_counter() - began)
    return float(1000 * np.median(times))


def table(found: dict[str, dict], ms: float) -> str:
    """Returns the figures as a table of the card."""
    lines = [
        "| 100 test pictures of | mean IoU | median IoU | IoU >= 0.9 | MAE | worst five (picture: IoU) |"
    ]
    lines.append("|---|--:|--:|--:|--:|---|")
    for name, row in found.items():
        worst = ", ".join(f"{k}: {iou}" for k, iou in row["worst"])
        share = f"{100 * row['share_over_0.9']:.0f} %"
        lines.append(f"| {name} | {row['iou']} | {row['iou_median']} | {share} | {row['mae']} | {worst} |")
    return "\n".join(
        [*lines, "", f"{ms:.0f} ms a picture without resizing, ONNX Runtime on one thread (2-core AMD EPYC)."]
    )


def chequered(size: int) -> Bytes:
    """Returns a chequerboard of two greys, of shape (size, size, 3)."""
    x, y = np.meshgrid(np.arange(size) // 10, np.arange(size) // 10)
    return np.repeat((200 + 35 * ((x + y) % 2)).astype(np.uint8)[..., None], 3, 2)


def sheet(model: Matting, pictures: list[Composed]) -> Image.Image:
    """Returns twelve pictures, each beside what the model cuts out of it, over a chequerboard."""
    made = Image.new("RGB", (6 * CELL, 4 * CELL), "white")
    for k, one in enumerate(pictures[:12]):
        alpha = model.alpha(one.rgb)
        both = (one.rgb, one.rgb * alpha[..., None] + chequered(len(alpha)) * (1 - alpha[..., None]))
        print(f"sheet {k}: IoU {score(alpha, one.alpha).iou:.3f}")
        for j, pixels in enumerate(both):
            small = Image.fromarray(pixels.astype(np.uint8)).resize(
                (CELL - 2, CELL - 2), Image.Resampling.LANCZOS
            )
            place = 2 * k + j
            made.paste(small, (place % 6 * CELL + 1, place // 6 * CELL + 1))
    return made


def main() -> None:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path, default=MODEL)
    parser.add_argument("--packages", type=Path, help="folder of glyphs.py: adds emoji and photographs")
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--card", type=Path, help="write the figures into this file")
    parser.add_argument("--sheet", type=Path, help="write a picture of twelve results")
    args = parser.parse_args()
    model, pictures = Matting(args.file), sets(args.packages)
    found, ms = {name: figures(model, of_set) for name, of_set in pictures.items()}, milliseconds(model)
    print(json.dumps(found | {"ms": round(ms, 1)}) if args.json else table(found, ms))
    if args.card:
        fresh = f"<!-- figures -->\n{table(found, ms)}\n<!-- end -->"
        text = args.card.read_text(encoding="utf-8")
        args.card.write_text(
            re.sub("<!-- figures -->.*<!-- end -->", lambda _: fresh, text, flags=re.S), "utf-8"
        )
    if args.sheet:
        mixed = [one for group in zip(*pictures.values(), strict=True) for one in group]
        sheet(model, mixed).quantize(256).save(args.sheet, optimize=True)


if __name__ == "__main__":
    main()
