"""Whether an engine keeps to its budget with models of language and of images together.

Random operations on two language models and a diffusion model: chats, images, cancels, loads, unloads, and
budgets that are lowered while images are generated. An image that a lower budget ends says why. Prints one
JSON object: `violations`, `failed_streams`, `unclear_refusals` and `bytes_left` are to be 0.

    budget_images.py --build build/check/release --operations 500 --json
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import image
from budget_operations import Operations, Wanted
from machine import processor
from models import Model, model
from ours import package

LIMITS = ("violations", "failed_streams", "unclear_refusals", "bytes_left")


def main() -> int:
    """Runs the bench."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--operations", type=int, default=500)
    parser.add_argument("--seed", type=int, default=29)
    parser.add_argument("--json", action="store_true", help="the only form")
    arguments = parser.parse_args()
    house = model("house")
    image.FOLDER.mkdir(parents=True, exist_ok=True)
    painter = image.model("tiny")
    few = {"parallel": 2, "context": 512, "kv_type": "f16"}
    wanted = [
        Wanted("house", house, {}),
        Wanted("few", house, few),
        Wanted(
            "painter",
            Model("painter", Path(painter["path"]), house.words, ends=True),
            {**painter["parts"], "size": "128x128"},
            is_image=True,
        ),
    ]
    with tempfile.TemporaryDirectory() as folder:
        operations = Operations(package(arguments.build), wanted, arguments.seed, Path(folder))
        found = operations.run(arguments.operations)
    broken = [name for name in LIMITS if found[name]]
    print(json.dumps({"bench": "budget_images", "processor": processor(), **found, "broken": broken}))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
