"""Images of a tiny diffusion model on the device: compared, counted, cancelled, and after a loss."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from artist import files, opened
from tiny_diffusion import Parts, lora, tiny

import sotto
from conftest import DEVICE, LAYER, Counted

SIDE = 64
MB = 1 << 20


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    """The files of a tiny model."""
    return tiny(tmp_path_factory.mktemp("model"))


def load(engine: sotto.Engine, parts: Parts, **options: Any) -> dict[str, Any]:
    """Loads the model. Returns its entry in the list of models."""
    own = {"threads": 1, "size": f"{SIDE}x{SIDE}"}
    engine.load_model("m", path=parts.diffusion, backend="diffusion", options=parts.options | own | options)
    (entry,) = json.loads(engine.model_list())
    assert isinstance(entry, dict)
    return entry


@pytest.fixture(scope="module")
def artist(parts: Parts) -> Iterator[sotto.Engine]:
    """An engine on the device, with the model."""
    with sotto.Engine(DEVICE, mode="prioritize_compute") as made:
        load(made, parts)
        yield made


def psnr(one: bytes, other: bytes) -> float:
    """Peak signal-to-noise ratio of two image files, in dB."""
    pixels = [np.asarray(opened(data)).astype(float) for data in (one, other)]
    error = float(np.square(pixels[0] - pixels[1]).mean())
    return float(10 * np.log10(255**2 / max(error, 1e-9)))


def test_the_model_is_on_the_device(artist: sotto.Engine) -> None:
    (entry,) = json.loads(artist.model_list())
    assert entry["backend"] == "diffusion_vulkan" and entry["details"]["device"] != "cpu"
    assert entry["bytes"]["weights"] > 10 * MB and entry["bytes"]["host"] > MB
    backends = {backend["name"]: backend["details"] for backend in artist.describe()["backends"]}
    assert backends["diffusion_vulkan"]["devices"][DEVICE]["name"] == entry["details"]["device"]


def test_images_are_those_of_the_processor(artist: sotto.Engine, parts: Parts, tmp_path: Path) -> None:
    adapter = lora(tmp_path / "ink.safetensors", gain=4)
    requests: tuple[dict[str, Any], ...] = (
        {"seed": 1},
        {"seed": 2, "guidance_scale": 5},
        {"seed": 1, "lora": [{"name": "ink", "scale": 1.0}]},
    )
    artist.lora_load("m", adapter, name="ink")
    with sotto.Engine("cpu", mode="prioritize_compute") as processor:
        load(processor, parts)
        processor.lora_load("m", adapter, name="ink")
        for request in requests:
            (ours,), (theirs,) = (files(one, "m", steps=2, **request) for one in (artist, processor))
            print(f"{request}: {psnr(ours, theirs):.1f} dB")
            assert psnr(ours, theirs) > 35
    artist.lora_unload("m", name="ink")


def test_the_same_seed_gives_the_same_bytes(artist: sotto.Engine) -> None:
    assert files(artist, "m", seed=3, steps=2) == files(artist, "m", seed=3, steps=2)


def test_the_ledger_has_what_was_allocated(parts: Parts, counted: Counted) -> None:
    with sotto.Engine(DEVICE, mode="prioritize_compute") as engine:
        before = counted.bytes()
        entry = load(engine, parts)
        loaded = counted.bytes() - before
        counted.peak()
        assert files(engine, "m", seed=1, steps=2)
        peak = counted.peak() - before
        told = engine.memory()["used"]
        print(f"{loaded} bytes once loaded, {peak} at most for an image; told {told}, {entry['bytes']}")
        assert loaded <= told and peak <= told + MB  # staging buffers of ggml are not told
        engine.unload_model("m")
        gc.collect()
        assert engine.memory()["used"] == 0 and counted.bytes() - before <= MB


def test_a_cancelled_image_leaves_the_model_as_it_was(artist: sotto.Engine) -> None:
    expected = files(artist, "m", seed=4, steps=2)
    request = artist.submit("image_generate", {"model": "m", "prompt": "a fox", "steps": 500})
    seen = 0
    while seen < 2:
        assert artist.wait(60)
        seen += sum(event.kind == "progress" for event in artist.events())
    artist.cancel(request)
    assert files(artist, "m", seed=4, steps=2) == expected


def test_a_backend_without_a_module_for_the_device_is_on_the_processor(artist: sotto.Engine) -> None:
    del artist
    with sotto.Engine(DEVICE, mode="prioritize_compute") as engine:
        engine.load_model("sotto/matting")
        (entry,) = json.loads(engine.model_list())
        assert entry["backend"] == "onnx"
        assert engine.memory()["used"] == sum(entry["bytes"].values())  # one budget, wherever models are


SCRIPT = """
import ctypes, json, sys
import sotto

layer = ctypes.CDLL(sys.argv[1])
path, options, more = sys.argv[2], json.loads(sys.argv[3]), int(sys.argv[4])
told = {}
with sotto.Engine("vulkan0", mode="prioritize_compute") as engine:
    if more < 0:
        layer.sotto_count_lose(ctypes.c_uint64(0), 0)
    engine.load_model("m", path=path, backend="diffusion", options=options)
    if more >= 0:
        layer.sotto_count_lose(ctypes.c_uint64(more), 0)
        try:
            engine.generate_images("a fox", model="m", steps=20)
        except sotto.SottoError as error:
            told["why"] = str(error)
    told["after"] = len(engine.generate_images("a fox", model="m", steps=2).images)
    told["lost"] = engine.describe()["device_lost"]
    told["model"] = json.loads(engine.model_list())[0]
print(json.dumps(told))
"""


@pytest.mark.parametrize("more", [-1, 0, 30])
def test_images_go_on_when_a_device_is_lost(more: int, parts: Parts) -> None:
    options = json.dumps(parts.options | {"threads": 1, "size": f"{SIDE}x{SIDE}"})
    layer = str(LAYER / "sotto_vulkan_count.so")
    command = [sys.executable, "-c", SCRIPT, layer, str(parts.diffusion), options, str(more)]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert "lost" in told["lost"].lower() and told["after"] == 1
    assert told["model"]["backend"] == "diffusion" and told["model"]["details"]["device"] == "cpu"
    assert (more < 0) == ("why" not in told)
    if more >= 0:
        assert told["why"].startswith("the device was lost: submit the request again (")
