"""Loads damaged models, each in a process of its own: none may end by a signal, take long or much memory.

`python tests/fuzz/model_mutants.py --count 5000` prints what was found; tests/python/test_model_mutants.py
runs a few hundred. SOTTO_LIBRARY and PYTHONPATH name what is tested, as for the Python tests.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import gguf_model
from mutations import mutate

import sotto

ROOT = Path(__file__).resolve().parents[2]
MAX_SECONDS, MAX_BYTES = 10.0, 1 << 30
FENCE = 6 << 30  # of address space, so that what goes wrong harms nobody else
TEXT = (
    "house.gguf",
    "tiny.gguf",
    "tiny-q4.gguf",
    "tiny-bytes.gguf",
    "tiny-window.gguf",
    "tiny-recurrent.gguf",
)
TEXT += ("tiny-hybrid.gguf", "tiny-rows.gguf")
PROJECTORS = {
    "eyes.gguf": "tiny.gguf",
    "eyes-window.gguf": "tiny-window.gguf",
    "eyes-rows.gguf": "tiny-rows.gguf",
}
PROJECTORS |= {"ears.gguf": "tiny.gguf"}


@dataclass
class Outcome:
    """What became of a process that loaded a damaged model."""

    base: str
    seed: int
    change: str
    status: int  # of wait()
    seconds: float
    bytes: int
    said: str

    @property
    def fault(self) -> str:
        """What must not be; empty: nothing."""
        if os.WIFSIGNALED(self.status):
            return signal.Signals(os.WTERMSIG(self.status)).name
        if self.seconds > MAX_SECONDS:
            return f"{self.seconds:.1f} s"
        if self.bytes > MAX_BYTES:
            return f"{self.bytes >> 20} MB"
        return "" if os.WEXITSTATUS(self.status) == 0 else f"exit status {os.WEXITSTATUS(self.status)}"


def make_models(folder: Path) -> None:
    """Writes the models that are damaged."""
    for maker in ("make_tiny.py", "tiny_media.py"):
        subprocess.run([sys.executable, str(ROOT / "tests/data" / maker), str(folder)], check=True)
    (folder / "house.gguf").symlink_to(ROOT / "samples/house_model/house.gguf")


def image() -> str:
    """A data URL of a small PNG."""
    rows = b"".join(b"\0" + bytes(range(84)) for _ in range(28))
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", 28, 28, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    png = b"\x89PNG\r\n\x1a\n"
    for kind, data in chunks:
        png += struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return "data:image/png;base64," + base64.b64encode(png).decode()


def sound() -> str:
    """A second of a WAV."""
    data = struct.pack("<8000h", *(i % 200 * 100 for i in range(8000)))
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8000, 16000, 2, 16)
    head = (
        struct.pack("<4sI4s", b"RIFF", 36 + len(data), b"WAVE")
        + form
        + struct.pack("<4sI", b"data", len(data))
    )
    return base64.b64encode(head + data).decode()


def load(path: Path, projector: Path | None) -> str:
    """Loads a model and has it say a few tokens. Returns `spoke`, or the error."""
    options = {"parallel": 1} if projector is None else {"parallel": 1, "projector": str(projector)}
    content: object = "who is the king"
    if projector is not None:
        content = [{"type": "text", "text": "what"}, {"type": "image_url", "image_url": {"url": image()}}]
        if projector.name.startswith("ears"):
            content[1] = {"type": "input_audio", "input_audio": {"data": sound(), "format": "wav"}}  # type: ignore[index]
    try:
        with sotto.Engine(threads=1, mode="prioritize_compute") as engine:
            engine.load_model("m", path=str(path), options=options)
            ask = {"model": "m", "messages": [{"role": "user", "content": content}], "max_tokens": 4}
            engine.llm_chat_completion(json.dumps(ask))
            engine.llm_text_completion(json.dumps({"model": "m", "prompt": "who is", "max_tokens": 4}))
    except (sotto.SottoError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return "spoke"


def in_child(act: Callable[[], str], out: Path) -> tuple[int, float, int, str]:
    """Forks, runs `act` there, waits. Returns status, seconds, peak resident bytes and what `act` gave."""
    out.unlink(missing_ok=True)
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (FENCE, FENCE))
        signal.alarm(int(3 * MAX_SECONDS))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            out.write_text(act())
            os._exit(0)
        except BaseException as error:
            out.write_text(f"exit: {error!r}")
            os._exit(3)
    _, status, used = os.wait4(child, 0)
    said = out.read_text() if out.exists() else ""
    return status, time.monotonic() - begun, used.ru_maxrss * 1024, said


def examine(folder: Path, models: dict[str, gguf_model.Model], seed: int) -> Outcome:
    """Damages a model as `seed` says, and loads it."""
    dice = random.Random(seed)
    base = dice.choice([*TEXT, *TEXT, *PROJECTORS])
    model = models[base].copy()
    change = mutate(model, dice)
    damaged = folder / ("ears-mutant.gguf" if base == "ears.gguf" else "mutant.gguf")
    model.write(damaged)
    text = folder / PROJECTORS[base] if base in PROJECTORS else damaged
    found = in_child(lambda: load(text, damaged if base in PROJECTORS else None), folder / "said")
    return Outcome(base, seed, change, *found)


def run(count: int, first: int = 0, keep: Path | None = None) -> list[Outcome]:
    """Examines `count` damaged models. With `keep`, a copy of each at fault is left in that folder."""
    outcomes = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        make_models(folder)
        models = {name: gguf_model.read(folder / name) for name in {*TEXT, *PROJECTORS}}
        for seed in range(first, first + count):
            outcomes.append(examine(folder, models, seed))
            if outcomes[-1].fault and keep is not None:
                mutant = next(folder.glob("*mutant.gguf"))
                mutant.replace(keep / f"{seed}-{outcomes[-1].base}")
            for mutant in folder.glob("*mutant.gguf"):
                mutant.unlink()
    return outcomes


def main() -> None:
    """Prints every fault and a summary; exits with 1 if there was one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--keep", type=Path, help="a folder for the models at fault")
    arguments = parser.parse_args()
    outcomes = run(arguments.count, arguments.first, arguments.keep)
    for outcome in outcomes:
        if outcome.fault:
            what = f"seed {outcome.seed}, {outcome.base}, {outcome.change}"
            print(f"{outcome.fault}: {what}: {outcome.said[:200]}")
    kinds = Counter("spoke" if outcome.said == "spoke" else "refused" for outcome in outcomes)
    faults = sum(bool(outcome.fault) for outcome in outcomes)
    slowest, largest = max(one.seconds for one in outcomes), max(one.bytes for one in outcomes)
    print(
        f"{len(outcomes)} models: {faults} faults, {dict(kinds)}, <= {slowest:.1f} s, <= {largest >> 20} MB"
    )
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
