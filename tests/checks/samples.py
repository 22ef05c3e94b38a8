"""The sample step: samples in C that need no graphics card."""

from __future__ import annotations

import json
import tempfile
import zlib
from pathlib import Path

from .cross import both_speak
from .ground import BUILD, Failed, run

OUT = BUILD / "release" / "out"


def check_sample() -> str:
    """The C samples build with the public headers alone, and their characters speak."""
    answers = run([compile_sample("backend")], timeout=120)
    if "three copper" not in answers or "Ask me about the inn." not in answers:
        raise Failed(answers)
    spoken = both_speak(run([compile_sample("frame_loop"), OUT / "house.gguf"], timeout=120))
    with tempfile.TemporaryDirectory() as folder:
        return f"{spoken}; a backend in C answers; {portrait(Path(folder))}"


def portrait(folder: Path) -> str:
    """The portrait sample writes the image that a scripted model gives, and shows previews and progress."""
    program = compile_sample("portrait")
    image, preview, steps = png(16), png(2), 8
    infos = [{"width": 2, "height": 2, "partial": True}, {"index": 0, "seed": 7, "width": 16, "height": 16}]
    script = {
        "response": {"data": []},
        "tokens": [],
        "prompt_tokens": steps,
        "prompt_token_ms": 5,
        "step_tokens": 1,
        "data": [preview.hex(), image.hex()],
        "data_info": infos,
    }
    model, written = folder / "painter.json", folder / "portrait.png"
    model.write_text(json.dumps(script))
    words: list[str | Path] = [program, model, written, 'an innkeeper, "Marta"', OUT / "scripted"]
    printed = run(words, timeout=60)
    frames = printed.count("%\n")
    if written.read_bytes() != image or "a preview of" not in printed or frames < steps:
        raise Failed(
            f"the portrait differs from the model's image, or previews or progress are missing:\n{printed}"
        )
    return f"a portrait arrives after {frames} events of progress"


def png(size: int) -> bytes:
    """A grey PNG of size x size pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        crc = zlib.crc32(kind + data).to_bytes(4, "big")
        return len(data).to_bytes(4, "big") + kind + data + crc

    header = size.to_bytes(4, "big") * 2 + bytes([8, 0, 0, 0, 0])
    rows = b"".join(bytes([0]) + bytes([row * 16 % 256]) * size for row in range(size))
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def compile_sample(name: str) -> Path:
    """Compiles a C sample as its first lines say. Returns the program."""
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Iinclude"]
    linked = [f"-L{OUT}", "-lsotto", f"-Wl,-rpath,{OUT}"]
    run(["cc", *flags, f"samples/c/{name}.c", *linked, "-o", BUILD / name])
    return BUILD / name
