"""One side of image.py: generates the pictures that standard input asks for, and prints what they took.

`image_side.py ours|theirs THREADS`; `image_side.py forever THREADS MODEL SIZE` generates images with
stable-diffusion-cpp-python, one after another. Runs in the Python of either side.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import resource
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any


class Ours:
    """A model in an engine."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.engine = import_module("sotto").Engine("cpu", mode="prioritize_compute", threads=threads)

    def load(self, path: str, parts: dict[str, str], size: int) -> None:
        """Opens a model for pictures of `size` x `size`."""
        options = {**parts, "threads": self.threads, "size": f"{size}x{size}"}
        self.engine.load_model("m", path=path, backend="diffusion", options=options)

    def picture(self, fields: dict[str, Any]) -> bytes:
        """Returns the pixels: RGBA."""
        asked = {**fields, "size": (fields["size"], fields["size"]), "output_format": "raw"}
        made = self.engine.generate_images(**asked, model="m")
        return bytes(made.images[0].data)


class Theirs:
    """stable-diffusion-cpp-python."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.made: Any = None

    def load(self, path: str, parts: dict[str, str], size: int) -> None:
        """Opens a model. `size` is not needed."""
        made = import_module("stable_diffusion_cpp").StableDiffusion
        paths = {f"{name}_path": part for name, part in parts.items()}
        if "diffusion_model" not in parts:
            paths["model_path"] = path
        self.made = made(**paths, n_threads=self.threads, verbose=False)

    def picture(self, fields: dict[str, Any]) -> bytes:
        """Returns the pixels: RGBA."""
        (image,) = self.made.generate_image(
            prompt=fields["prompt"],
            negative_prompt=fields["negative_prompt"],
            width=fields["size"],
            height=fields["size"],
            cfg_scale=fields["guidance_scale"],
            sample_steps=fields["steps"],
            seed=fields["seed"],
            eta=math.inf,  # the sampler's own, as the C API has it
        )
        return bytes(image.convert("RGBA").tobytes())


class Side:
    """Answers what is asked for."""

    def __init__(self, side: Ours | Theirs) -> None:
        self.side = side

    def load(self, **model: Any) -> dict[str, float]:
        """Opens a model. Returns the seconds."""
        began = time.perf_counter()
        self.side.load(**model)
        return {"seconds": time.perf_counter() - began}

    def picture(self, pixels: str, **fields: Any) -> dict[str, float]:
        """Generates a picture into the file `pixels`. Returns its seconds."""
        began = time.perf_counter()
        data = self.side.picture(fields)
        seconds = time.perf_counter() - began
        Path(pixels).write_bytes(data)
        return {"seconds": seconds}

    def memory(self) -> dict[str, float]:
        """Returns the peak resident memory of this process, in MB."""
        return {"mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def forever(threads: int, model: dict[str, Any], size: int) -> None:
    """Generates images, and prints a line after each."""
    side = Theirs(threads)
    side.load(model["path"], model["parts"], size)
    fields = {"prompt": "a tavern", "negative_prompt": "", "size": size, "guidance_scale": 1.0, "steps": 20}
    for seed in itertools.count():
        side.picture({**fields, "seed": seed})
        print(seed, flush=True)


def main() -> None:
    """Answers until the input ends. Libraries may print: standard output is kept for answers."""
    if sys.argv[1] == "forever":
        forever(int(sys.argv[2]), json.loads(sys.argv[3]), int(sys.argv[4]))
    who, threads = sys.argv[1:]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    side = Side({"ours": Ours, "theirs": Theirs}[who](int(threads)))
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(getattr(side, asked.pop("do"))(**asked)), file=out, flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
