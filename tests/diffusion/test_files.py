"""Files that are damaged, truncated, missing, or no diffusion models."""

from __future__ import annotations

import json
import os
import pickle
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from artist import body, events_of, files
from random_weights import Tensor, Weights
from tiny_diffusion import Parts, autoencoder, text_encoder, tiny, transformer, whole

import sotto
from conftest import SIDE, load

MUTANTS = int(os.environ.get("SOTTO_TEST_MUTANTS", 150)) // 5  # each takes most of a second
PARTS = ("diffusion_model", "llm", "taesd")


def loaded(engine: sotto.Engine, path: Path, **options: Any) -> str:
    """Returns the error of a model that must not load."""
    own = {"threads": 1, "size": f"{SIDE}x{SIDE}"}
    with pytest.raises(sotto.ModelLoadError) as refusal:
        engine.load_model("m", path=path, backend="diffusion", options={**own, **options})
    assert engine.memory()["used"] == 0
    return str(refusal.value)


def with_part(engine: sotto.Engine, parts: Parts, part: str, file: Path) -> str:
    """Returns the error of a model of which one part is another file."""
    path = file if part == "diffusion_model" else parts.diffusion
    return loaded(engine, path, **parts.options | {part: str(file)})


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "zeros": lambda data: bytes(4096),
    "text": lambda data: b"hello, this is no model\n" * 20,
    "image": lambda data: b"\x89PNG\r\n\x1a\n" + bytes(200),
    "half of it": lambda data: data[: len(data) // 2],
    "its first bytes": lambda data: data[:100],
}


@pytest.mark.parametrize("gguf", [False, True])
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_part_that_is_damaged_is_named(
    engine: sotto.Engine, parts: Parts, tmp_path: Path, gguf: bool, part: str, damage: str
) -> None:
    model = tiny(tmp_path, gguf=True) if gguf else parts
    whole_file = Path(model.options[part])
    bad = tmp_path / f"bad{whole_file.suffix}"
    bad.write_bytes(DAMAGE[damage](whole_file.read_bytes()))
    assert str(bad) in with_part(engine, model, part, bad)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_missing_is_named(
    engine: sotto.Engine, parts: Parts, tmp_path: Path, part: str
) -> None:
    missing = tmp_path / "none.safetensors"
    assert str(missing) in with_part(engine, parts, part, missing)
    folder = tmp_path / "folder.safetensors"
    folder.mkdir()
    assert str(folder) in with_part(engine, parts, part, folder)


@pytest.mark.parametrize(("part", "other"), [("llm", "taesd"), ("taesd", "llm"), ("diffusion_model", "llm")])
def test_a_part_in_place_of_another_is_refused(
    engine: sotto.Engine, parts: Parts, part: str, other: str
) -> None:
    assert with_part(engine, parts, part, Path(parts.options[other]))


def test_a_model_without_text_encoder_or_autoencoder_is_refused(engine: sotto.Engine, parts: Parts) -> None:
    for part, said in (("llm", "has no text encoder"), ("taesd", "has no autoencoder")):
        options = {name: path for name, path in parts.options.items() if name != part}
        assert said in loaded(engine, parts.diffusion, **options)


def test_a_language_model_is_no_diffusion_model(engine: sotto.Engine, parts: Parts) -> None:
    assert loaded(engine, Path(parts.options["llm"]))
    load(engine, parts)
    assert files(engine, "m")


CHANGES: dict[str, Callable[[dict[str, Tensor]], object]] = {
    "a tensor is missing": lambda tensors: tensors.pop("double_blocks.0.img_attn.proj.weight"),
    "a tensor is narrower": lambda tensors: reshape(tensors, "final_layer.linear.weight", (64, 64)),
    "a tensor is wider": lambda tensors: reshape(tensors, "img_in.weight", (256, 64)),
    "a tensor has more dimensions": lambda tensors: reshape(tensors, "img_in.weight", (128, 64, 1, 1)),
    "no token has a width": lambda tensors: reshape(tensors, "txt_in.weight", (0, 32)),
    "a head is wider than a token": lambda tensors: reshape(
        tensors, "double_blocks.0.txt_attn.norm.key_norm.scale", (256,)
    ),
    "a block is far away": lambda tensors: tensors.update(
        {
            "double_blocks.90000.img_attn.norm.key_norm.scale": tensors[
                "double_blocks.0.img_attn.norm.key_norm.scale"
            ]
        }
    ),
}


def reshape(tensors: dict[str, Tensor], name: str, shape: tuple[int, ...]) -> None:
    """Gives a tensor another shape, and as many numbers."""
    other = Weights(0)
    other.normal(name, *shape, spread=0.1, kind=tensors[name].kind)
    tensors.update(other.tensors)


@pytest.mark.parametrize("change", CHANGES)
def test_tensors_that_are_missing_or_of_another_shape(
    engine: sotto.Engine, parts: Parts, tmp_path: Path, change: str
) -> None:
    weights = transformer()
    CHANGES[change](weights.tensors)
    for file in (weights.safetensors(tmp_path / "m.safetensors"), weights.gguf(tmp_path / "m.gguf")):
        assert with_part(engine, parts, "diffusion_model", file)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize(
    ("part", "make", "name"),
    [
        ("diffusion_model", transformer, "final_layer.linear.bias"),
        ("llm", text_encoder, "model.norm.weight"),
        ("taesd", autoencoder, "decoder.layers.18.bias"),
    ],
)
def test_weights_that_are_no_numbers_fail_the_request(
    engine: sotto.Engine,
    parts: Parts,
    tmp_path: Path,
    part: str,
    make: Callable[[], Weights],
    name: str,
    value: float,
) -> None:
    load(engine, parts, "good")
    before = files(engine, "good")
    weights = make()
    weights.full(name, *weights.tensors[name].shape, value=value)
    file = weights.safetensors(tmp_path / f"{part}.safetensors")
    diffusion = file if part == "diffusion_model" else parts.diffusion
    load(engine, Parts(diffusion, parts.options | {part: str(file)}))
    (last,) = (
        one
        for one in events_of(engine, engine.submit("image_generate", body("m")))
        if one.kind == "request_done"
    )
    assert last.status == sotto.Status.INFERENCE and "NaN" in last.error
    assert files(engine, "good") == before


@pytest.mark.parametrize("suffix", [".ckpt", ".pt", ".safetensors"])
def test_files_that_may_execute_code_are_refused(
    engine: sotto.Engine, parts: Parts, tmp_path: Path, suffix: str
) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "exploded",))

    file = tmp_path / f"bomb{suffix}"
    file.write_bytes(pickle.dumps({"model.diffusion_model.img_in.weight": Bomb()}))
    assert with_part(engine, parts, "diffusion_model", file)
    assert loaded(engine, file)
    assert not (tmp_path / "exploded").exists()


def mutant(data: bytes, chance: random.Random) -> bytes:
    """A file whose head differs in some bytes, in a length, or that is cut."""
    head = 8 + struct.unpack("<Q", data[:8])[0] if data[:4] != b"GGUF" else 4000
    kind = chance.randrange(4)
    if kind == 0:
        return data[: chance.randrange(len(data))]
    changed = bytearray(data)
    if kind == 1:
        at, value = chance.randrange(head), chance.choice((0, 1, 1 << 31, 1 << 62, (1 << 64) - 1))
        changed[at : at + 8] = struct.pack("<Q", value)
    for _ in range(chance.randint(1, 5)):
        changed[chance.randrange(4, head)] = chance.randrange(256)
    return bytes(changed)


def entry(data: bytes, chance: random.Random) -> bytes:
    """A safetensors file with one entry of its head changed."""
    size = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8 : 8 + size])
    one = head[chance.choice(list(head))]
    shapes: list[Any] = [[], [0], [-1, 3], [1 << 40, 1 << 40], [1] * 9, "x", [1.5], [1 << 63]]
    places: list[Any] = [[0, 0], [5, 2], [0, 1 << 62], [1 << 63, 1 << 63], [-4, 0], [1], "x", [None, None]]
    kinds: list[Any] = ["F32", "F64", "I64", "BF16", "F8_E4M3", "U8", "X", 7, ""]
    name, values = chance.choice((("shape", shapes), ("data_offsets", places), ("dtype", kinds)))
    one[name] = chance.choice(values)
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + size :]


def test_mutants_are_refused_or_work(engine: sotto.Engine, tmp_path: Path) -> None:
    models = [tiny(tmp_path / "safetensors"), tiny(tmp_path / "gguf", gguf=True)]
    chance = random.Random(31)
    for turn in range(MUTANTS):
        model = models[turn % 2]
        part = chance.choice(PARTS)
        file = Path(model.options[part])
        change = entry if turn % 4 == 0 else mutant
        bad = file.with_name(f"mutant{file.suffix}")
        bad.write_bytes(change(file.read_bytes(), chance))
        diffusion = bad if part == "diffusion_model" else model.diffusion
        try:
            load(engine, Parts(diffusion, model.options | {part: str(bad)}))
        except sotto.SottoError:
            assert engine.memory()["used"] == 0
            continue
        last = events_of(engine, engine.submit("image_generate", body("m", steps=1)))[-1]
        assert last.status in (0, sotto.Status.INFERENCE)
        engine.unload_model("m")
    load(engine, models[0])
    assert files(engine, "m")


def test_the_same_file_in_two_engines(parts: Parts, tmp_path: Path) -> None:
    model = whole(tmp_path / "whole")
    made = []
    for _ in range(2):
        with sotto.Engine("cpu", mode="prioritize_compute") as one, sotto.Engine("cpu") as two:
            for engine in (one, two):
                load(engine, model)
                made.append(files(engine, "m")[0])
    assert len(set(made)) == 1
