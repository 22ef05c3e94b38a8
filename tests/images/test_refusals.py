"""What a pipeline refuses: fields, load options, and folders that are damaged or unsafe."""

from __future__ import annotations

import json
import pickle
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from artist import base64_of, events_of, files, opened, paint, refused
from PIL import Image
from safetensors.torch import load_file, save_file

import sotto
from sotto.backends.diffusers import Diffusers

WEIGHTS = "transformer/diffusion_pytorch_model.safetensors"


def load(engine: sotto.Engine, folder: Path, **options: Any) -> None:
    """Loads a pipeline as "m"."""
    engine.load_model("m", path=folder, backend="diffusers", options=options)


def edit(file: Path, change: Callable[[Any], Any]) -> None:
    """Rewrites a JSON file."""
    file.write_text(json.dumps(change(json.loads(file.read_text()))))


def test_packages_that_are_missing_or_of_another_version_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "accelerate", None)
        with pytest.raises(
            sotto.ArgumentError, match=r"needs accelerate: pip install 'sotto-runtime\[diffusers"
        ):
            Diffusers()
    monkeypatch.setattr("sotto.backends.diffusers.version", lambda name: "0.30.0")
    with pytest.raises(sotto.ArgumentError, match=r"diffusers is 0\.30\.0: expected 0\.42; pip install"):
        Diffusers()


@pytest.mark.row("A-116", "A-117", "A-118", "A-119", "A-123")
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"prompt": ""}, "invalid prompt"),
        ({"prompt": "a" * (1 << 20)}, "invalid prompt"),
        ({"prompt": None}, "missing prompt"),
        ({"size": "33x32"}, "invalid size '33x32': expected multiples of 8 for this pipeline; use 32x32"),
        ({"size": "0x0"}, "0x0"),
        ({"size": "abc"}, "expected width x height"),
        ({"size": "10000x10000"}, "10000x10000"),
        (
            {"size": "512x512"},
            "at most 2,048 pixels for this pipeline, whose own size is 32x32; set size, or raise",
        ),
        ({"steps": 0}, "invalid steps '0'"),
        ({"steps": 10_000}, "invalid steps '10000'"),
        ({"n": 0}, "invalid n '0'"),
        ({"response_format": "url"}, "invalid response_format 'url'"),
        ({"image": "???"}, "invalid image '???': expected a PNG, JPEG or WebP file in base64"),
        ({"image": "aGVsbG8="}, "its first bytes are of none of these"),
    ],
)
def test_fields_are_refused_by_name(painter: sotto.Engine, fields: dict[str, Any], said: str) -> None:
    for model in ("pixart", "sd"):
        last = refused(painter, model, **fields)
        assert last.status == sotto.Status.ARGUMENT and said in last.error, last.error


@pytest.mark.parametrize("value", ["NaN", "Infinity", '"NaN"', "-1", "101"])
def test_guidance_that_is_no_number_of_the_range_is_refused(painter: sotto.Engine, value: str) -> None:
    text = f'{{"model": "sd", "prompt": "a fox", "guidance_scale": {value}}}'
    last = events_of(painter, painter.submit("image_generate", text))[-1]
    assert last.status == sotto.Status.ARGUMENT and last.error


def test_a_mask_of_another_size_is_refused(painter: sotto.Engine) -> None:
    image, mask = (base64_of(Image.new("RGB", size)) for size in ((32, 32), (32, 16)))
    said = "invalid mask of 32x16 pixels: expected 32x32, the size of image"
    assert said in refused(painter, "sd", image=image, mask=mask).error


def test_images_of_many_kinds_are_taken(painter: sotto.Engine) -> None:
    plain = {"strength": 0, "size": "32x32", "embed_metadata": False}
    ramp = np.tile(np.arange(32, dtype=np.uint16) * 2048, (32, 1))
    deep = base64_of(Image.fromarray(ramp))
    (made,) = files(painter, "sd", image=deep, **plain)
    assert np.array_equal(np.asarray(opened(made))[:, :, 0], (ramp >> 8).astype(np.uint8))
    frames = [Image.new("RGB", (32, 32), color) for color in ("red", "blue")]
    moving = base64_of(frames[0], save_all=True, append_images=frames[1:])
    (made,) = files(painter, "sd", image=f"data:image/png;base64,{moving}", **plain)
    assert opened(made).getpixel((0, 0)) == (255, 0, 0)
    clear = base64_of(Image.new("RGBA", (32, 32), (0, 0, 0, 0)))
    (made,) = files(painter, "sd", image=clear, **plain)
    assert opened(made).getpixel((0, 0)) == (255, 255, 255)


@pytest.mark.parametrize(
    "text", ["\x00\x01", "\U0001f409" * 50, "\u05e9\u05dc\u05d5\u05dd", "word " * 10_000, "{}<|endoftext|>"]
)
def test_odd_prompts_are_drawn(painter: sotto.Engine, text: str) -> None:
    for model in ("pixart", "sd"):
        assert paint(painter, model, prompt=text, negative_prompt=text)["data"][0]["revised_prompt"] == text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dtyp": "float32"}, "unknown option 'dtyp': did you mean 'dtype'?"),
        ({"device": "cuda"}, "unknown option 'device': expected one of dtype"),
        ({"dtype": "int8"}, "invalid dtype 'int8': expected one of float32, bfloat16, float16"),
        ({"dtype": ["float32"]}, "invalid dtype"),
        ({"threads": 0}, "invalid threads '0': expected a whole number from 1 to 256"),
        ({"threads": True}, "invalid threads 'True'"),
        ({"steps": 1001}, "invalid steps '1001'"),
        ({"tiling": 1}, "invalid tiling '1': expected true or false"),
        ({"max_pixels": 1 << 30}, "invalid max_pixels '1073741824'"),
        ({"variant": "../x"}, "invalid variant '../x'"),
        ({"variant": "fp16"}, "has 'diffusion_pytorch_model.safetensors' alone: set the load option variant"),
        ({"custom_pipeline": "x"}, "unknown option 'custom_pipeline'"),
        ({"trust_remote_code": True}, "unknown option 'trust_remote_code'"),
    ],
)
def test_load_options_are_checked(
    engine: sotto.Engine, pixart: Path, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(sotto.SottoError) as refusal:
        load(engine, pixart, **options)
    assert said in str(refusal.value) or (said.startswith("has '") and "alone" in str(refusal.value))


def test_options_change_what_they_name(engine: sotto.Engine, pixart: Path) -> None:
    load(engine, pixart, steps=2, max_pixels=64 * 64, threads=2)
    assert opened(files(engine, "m", steps=None, size="64x64")[0]).text["steps"] == "2"  # type: ignore[attr-defined]


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (
        shutil.rmtree(folder / name) if (folder / name).is_dir() else (folder / name).unlink()
    )


def cut(folder: Path) -> None:
    data = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(data[: len(data) // 2])


def overwrite(at: int, data: bytes) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        whole = bytearray((folder / WEIGHTS).read_bytes())
        whole[at : at + len(data)] = data
        (folder / WEIGHTS).write_bytes(whole)

    return change


def index(change: dict[str, Any]) -> Callable[[Path], None]:
    return lambda folder: edit(folder / "model_index.json", lambda found: found | change)


def without_a_tensor(folder: Path) -> None:
    tensors = load_file(folder / WEIGHTS)
    tensors.pop("proj_out.weight")
    save_file(tensors, folder / WEIGHTS)


def with_a_tensor_of_another_shape(folder: Path) -> None:
    tensors = load_file(folder / WEIGHTS)
    save_file(tensors | {"proj_out.weight": torch.zeros(3, 3)}, folder / WEIGHTS)


def pickled(folder: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (folder / "exploded",))

    (folder / WEIGHTS).unlink()
    (folder / WEIGHTS).with_suffix(".bin").write_bytes(pickle.dumps(Bomb()))


def shards_elsewhere(folder: Path) -> None:
    (folder / WEIGHTS).rename(folder / "outside.safetensors")
    listed = {"weight_map": {"proj_out.weight": "../outside.safetensors"}}
    (folder / "transformer/diffusion_pytorch_model.safetensors.index.json").write_text(json.dumps(listed))


def own_code(folder: Path) -> None:
    (folder / "transformer" / "mine.py").write_text("raise SystemExit")


def auto_map(folder: Path) -> None:
    edit(folder / "text_encoder/config.json", lambda found: found | {"auto_map": {"AutoModel": "mine.Model"}})


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (remove("text_encoder"), "has no folder text_encoder, which model_index.json names"),
        (remove("tokenizer"), "has no folder tokenizer"),
        (remove("model_index.json"), "has no model_index.json"),
        (remove(WEIGHTS), "has no safetensors file: copy the whole pipeline"),
        (remove("tokenizer/spiece.model"), "has none of tokenizer.json, spiece.model"),
        (remove("vae/config.json"), "config.json"),
        (index({"text_encoder": [None, None]}), "has no text_encoder"),
        (index({"_class_name": ["mine", "Pipeline"]}), "code of a pipeline's own is not executed"),
        (index({"_class_name": "NoSuchPipeline"}), "has no such pipeline"),
        (index({"_class_name": "StableDiffusionImg2ImgPipeline"}), "generates images from text alone"),
        (index({"_class_name": "TextToVideoSDPipeline"}), "generates images from text alone"),
        (index({"transformer": ["mine", "Model"]}), "transformer is a mine.Model"),
        (index({"transformer": ["../mine", "Model"]}), "code of a pipeline's own is not executed"),
        (index({"transformer": ["diffusers", "DDPMScheduler"]}), "transformer is a diffusers.DDPMScheduler"),
        (index({"transformer": ["diffusers", "UNet2DConditionModel"]}), "transformer'"),
        (cut, "is damaged: it has"),
        (overwrite(0, b"\xff" * 8), "is damaged: the length of its header is wrong"),
        (overwrite(8, b"[]["), "is damaged: its header is no list of tensors"),
        (without_a_tensor, "is damaged: missing keys proj_out.weight"),
        (with_a_tensor_of_another_shape, "transformer'"),
        (pickled, "may execute code when it is loaded: expected safetensors"),
        (shards_elsewhere, "names the file '../outside.safetensors': expected one beside it"),
        (own_code, "is code of its own"),
        (auto_map, "auto_map"),
    ],
)
@pytest.mark.row("A-124")
def test_folders_that_are_damaged_or_unsafe_are_refused(
    engine: sotto.Engine, folder: Path, damage: Callable[[Path], None], said: str
) -> None:
    damage(folder)
    with pytest.raises(sotto.ModelLoadError) as refusal:
        load(engine, folder)
    assert said in str(refusal.value)
    assert not (folder / "exploded").exists()
    assert engine.memory()["used"] == 0


@pytest.mark.row("A-124")
@pytest.mark.parametrize("value", ["nan", "inf"])
def test_weights_that_are_no_numbers_fail_the_request(engine: sotto.Engine, folder: Path, value: str) -> None:
    tensors = load_file(folder / WEIGHTS)
    tensors["proj_out.bias"] = torch.full_like(tensors["proj_out.bias"], float(value))
    save_file(tensors, folder / WEIGHTS, {"format": "pt"})
    load(engine, folder)
    last = refused(engine, "m")
    assert last.status == sotto.Status.INFERENCE
    assert "the latents after step 1 of 3 have NaN or infinite values; check the weights" in last.error


def test_an_autoencoder_that_is_damaged_fails_the_request(engine: sotto.Engine, folder: Path) -> None:
    file = folder / "vae/diffusion_pytorch_model.safetensors"
    tensors = load_file(file)
    tensors["decoder.conv_out.bias"] = torch.full((3,), float("nan"))
    save_file(tensors, file, {"format": "pt"})
    load(engine, folder)
    assert "the decoded image has NaN or infinite values" in refused(engine, "m").error
