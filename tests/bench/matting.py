"""Removal of a background from 1080p, beside ONNX Runtime's own Python package on the same model.

Ours: a request with `refine_edges` false and `output_format` raw, from a PNG file to RGBA. Theirs: the file
decoded and resized with Pillow, `InferenceSession.run()`, alpha resized with Pillow and put into the picture.
The same threads, in turn. Prints one JSON object: `ratio`, the median of ours to theirs, `refined_ratio` with
our refinement of edges, which theirs has not, and the largest difference of alpha. Needs the extra [images].

    matting.py --build build/check/release --json
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from machine import Busy, processor
from ours import package
from peers import ROOT

MODEL = ROOT / "samples" / "matting_model" / "matting.onnx"
SIZE = (1920, 1080)
SIDE = 256
LIMIT = 1.1


def picture() -> Any:
    """A disc in front of a gradient, as a PIL image."""
    from PIL import Image, ImageDraw

    across = np.linspace(30, 200, SIZE[0])[None, :].repeat(SIZE[1], 0)
    down = np.linspace(60, 160, SIZE[1])[:, None].repeat(SIZE[0], 1)
    made = Image.fromarray(np.stack([across, down, across[:, ::-1]], -1).astype(np.uint8))
    ImageDraw.Draw(made).ellipse((640, 200, 1240, 880), fill=(220, 70, 40))
    return made


def theirs(threads: int, file: bytes) -> Callable[[], Any]:
    """Returns a call that makes RGBA with onnxruntime and Pillow."""
    import onnxruntime
    from PIL import Image

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(str(MODEL), options, providers=["CPUExecutionProvider"])
    (name,) = [one.name for one in session.get_inputs()]

    def run() -> Any:
        image = Image.open(io.BytesIO(file)).convert("RGB")
        small = image.resize((SIDE, SIDE), Image.Resampling.BILINEAR)
        planes = (np.asarray(small, np.float32) / 255 - 0.5).transpose(2, 0, 1)[None]
        alpha = session.run(None, {name: planes})[0][0, 0]
        wide = Image.fromarray(alpha.astype(np.float32), "F").resize(SIZE, Image.Resampling.BILINEAR)
        levels = np.clip(np.asarray(wide) * 255 + 0.5, 0, 255).astype(np.uint8)
        return np.dstack([np.asarray(image), levels])

    return run


def ours(engine: Any, file: str, *, refine: bool) -> Callable[[], Any]:
    """Returns a call that makes RGBA with the engine."""

    def run() -> Any:
        made = engine.remove_background(
            base64.b64decode(file), model="sotto/matting", refine_edges=refine, output_format="raw"
        )
        return np.frombuffer(made.data, np.uint8).reshape(SIZE[1], SIZE[0], 4)

    return run


def main() -> int:
    """Runs the bench."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--turns", type=int, default=11)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json", action="store_true", help="the only form")
    arguments = parser.parse_args()
    image, file = picture(), io.BytesIO()
    image.save(file, "PNG", compress_level=1)
    sotto = package(arguments.build)
    with sotto.Engine("cpu", mode="prioritize_compute", threads=arguments.threads) as engine:
        engine.load_model("sotto/matting", options={"threads": arguments.threads})
        encoded = base64.b64encode(file.getvalue()).decode()
        sides = {
            "theirs": theirs(arguments.threads, file.getvalue()),
            "ours": ours(engine, encoded, refine=False),
            "refined": ours(engine, encoded, refine=True),
        }
        report = measured(sides, arguments.turns)
    print(json.dumps({"bench": "matting", "processor": processor(), **report}))
    return 1 if report["broken"] else 0


def measured(sides: dict[str, Callable[[], Any]], turns: int) -> dict[str, Any]:
    """Returns the figures."""
    pixels = {who: side() for who, side in sides.items()}  # warms up
    busy, seconds = Busy(), {who: list[float]() for who in sides}
    for turn in range(turns):
        for who in random.Random(turn).sample(list(sides), len(sides)):
            began = time.perf_counter()
            sides[who]()
            seconds[who].append(time.perf_counter() - began)
    ratios = {
        who: statistics.median(a / b for a, b in zip(seconds[who], seconds["theirs"], strict=True))
        for who in ("ours", "refined")
    }
    apart = np.abs(pixels["ours"][..., 3].astype(int) - pixels["theirs"][..., 3].astype(int)).max()
    return {
        "ratio": round(ratios["ours"], 3),
        "refined_ratio": round(ratios["refined"], 3),
        "alpha_apart": int(apart),
        "ms": {who: round(1000 * statistics.median(all_), 1) for who, all_ in seconds.items()},
        "turns": turns,
        "others_pct": round(busy.others_pct(), 1),
        "limits": {"ratio": LIMIT},
        "broken": ["ratio"] if ratios["ours"] > LIMIT else [],
    }


if __name__ == "__main__":
    sys.exit(main())
