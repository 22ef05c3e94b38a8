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
        return f"{spoken}; a backend in C answers; {portraits(Path(folder))}"


def portraits(folder: Path) -> str:
    """The sample of portraits paints each character once, with previews; the save game has the files."""
    program = compile_sample("portraits")
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
    model, saves = folder / "painter.json", folder / 'Spielstände "1"'
    model.write_text(json.dumps(script))
    saves.mkdir()
    words: list[str | Path] = [program, model, saves, OUT / "scripted"]
    printed = run(words, timeout=60)
    frames = printed.count("%\n")
    painted = sorted(saves.glob("*.png"))
    if [one.read_bytes() for one in painted] != [image] * 4 or printed.count("a preview of") != 4:
        raise Failed(f"portraits differ from the model's image, or previews are missing:\n{printed}")
    if frames < 4 * steps or "earlier evening" in printed:
        raise Failed(f"progress is missing, or a portrait was there already:\n{printed}")
    for one in painted:
        one.unlink()
    again = run(words, timeout=60)
    if again.count("earlier evening") != 4 or sorted(saves.glob("*.png")) != painted:
        raise Failed(f"the save game does not bring the portraits back:\n{again}")
    return f"{len(painted)} portraits arrive after {frames} events of progress, and out of the save game"


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
