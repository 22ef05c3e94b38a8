"""What a model refuses: fields of requests, and load options."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from artist import base64_of, events_of, files, opened, paint, refused
from PIL import Image
from tiny_diffusion import Parts

import sotto
from conftest import SIDE, load


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"prompt": ""}, "invalid prompt"),
        ({"prompt": None}, "missing prompt"),
        ({"prompt": "a" * (1 << 20)}, "invalid prompt"),
        ({"size": "33x32"}, "invalid size '33x32': expected multiples of"),
        ({"size": "0x0"}, "0x0"),
        ({"size": "abc"}, "expected width x height"),
        ({"size": "10000x10000"}, "10000x10000"),
        (
            {"size": "512x512"},
            "at most 25600 pixels for this model, whose own size is 64x64; set size, or raise",
        ),
        ({"steps": 0}, "invalid steps '0'"),
        ({"steps": 10_000}, "invalid steps '10000'"),
        ({"n": 0}, "invalid n '0'"),
        ({"n": 17}, "invalid n '17'"),
        ({"seed": -2}, "invalid seed '-2'"),
        ({"strength": 1.5}, "invalid strength"),
        ({"guidance_scale": 101}, "invalid guidance_scale"),
        ({"response_format": "url"}, "invalid response_format 'url'"),
        ({"output_format": "gif"}, "invalid output_format 'gif'"),
        ({"image": "???"}, "invalid image '???': expected base64 data"),
        ({"image": "aGVsbG8="}, "expected a PNG, JPEG or WebP file"),
    ],
)
def test_fields_are_refused_by_name(painter: sotto.Engine, fields: dict[str, Any], said: str) -> None:
    last = refused(painter, "m", **fields)
    assert last.status == sotto.Status.ARGUMENT and said in last.error, last.error


@pytest.mark.parametrize("value", ["NaN", "Infinity", '"NaN"', "-1"])
def test_guidance_that_is_no_number_of_the_range_is_refused(painter: sotto.Engine, value: str) -> None:
    text = f'{{"model": "m", "prompt": "a fox", "guidance_scale": {value}}}'
    last = events_of(painter, painter.submit("image_generate", text))[-1]
    assert last.status == sotto.Status.ARGUMENT and last.error


def test_a_mask_of_another_size_or_alone_is_refused(painter: sotto.Engine) -> None:
    image, mask = (base64_of(Image.new("RGB", size)) for size in ((32, 32), (32, 16)))
    said = refused(painter, "m", image=image, mask=mask).error
    assert "invalid mask" in said and "32x16 pixels" in said and "32x32, the size of image" in said
    assert "mask" in refused(painter, "m", mask=mask).error


def test_a_damaged_image_is_refused(painter: sotto.Engine) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (48, 48, 3), np.uint8)
    whole = base64_of(Image.fromarray(noise))
    for part in (0.2, 0.5, 0.9):
        cut = whole[: int(len(whole) * part) // 4 * 4]
        assert "invalid image" in refused(painter, "m", image=cut).error
    assert paint(painter, "m", image=whole)["data"]


def test_images_of_many_kinds_are_taken(painter: sotto.Engine) -> None:
    plain = {"strength": 0, "size": "32x32", "embed_metadata": False}
    ramp = np.tile(np.arange(32, dtype=np.uint16) * 2048, (32, 1))
    (made,) = files(painter, "m", image=base64_of(Image.fromarray(ramp)), **plain)
    assert np.array_equal(np.asarray(opened(made))[:, :, 0], (ramp >> 8).astype(np.uint8))
    frames = [Image.new("RGB", (32, 32), color) for color in ("red", "blue")]
    moving = base64_of(frames[0], save_all=True, append_images=frames[1:])
    (made,) = files(painter, "m", image=f"data:image/png;base64,{moving}", **plain)
    assert opened(made).getpixel((0, 0)) == (255, 0, 0)
    clear = base64_of(Image.new("RGBA", (32, 32), (0, 0, 0, 0)))
    (made,) = files(painter, "m", image=clear, **plain)
    assert opened(made).getpixel((0, 0)) == (255, 255, 255)
    jpeg = base64_of(Image.new("L", (32, 32), 128), "JPEG")
    (made,) = files(painter, "m", image=jpeg, **plain)
    assert opened(made).getpixel((0, 0)) == (128, 128, 128)


@pytest.mark.parametrize(
    "text",
    [
        "\x00\x01",
        "\U0001f409" * 50,
        "\u05e9\u05dc\u05d5\u05dd",
        "word " * 300,
        "<|im_end|>",
        "((a:1.5) [b] (c",
        "\\(",
    ],
)
def test_odd_prompts_are_drawn(painter: sotto.Engine, text: str) -> None:
    assert paint(painter, "m", prompt=text)["data"][0]["revised_prompt"] == text


def test_a_prompt_that_takes_too_much_memory_is_refused(painter: sotto.Engine) -> None:
    before = painter.memory()["used"]
    last = refused(painter, "m", prompt="word " * 819)
    assert last.status == sotto.Status.MEMORY
    assert "takes more memory than the model was opened with" in last.error
    assert painter.memory()["used"] == before and paint(painter, "m")["data"]


@pytest.mark.parametrize("field", ["prompt", "negative_prompt"])
def test_a_text_that_is_too_long_is_refused(painter: sotto.Engine, field: str) -> None:
    last = refused(painter, "m", **{"prompt": "a fox", field: "word " * 13_000})
    assert f"invalid {field} '65000 bytes': expected at most 4,096 bytes" in last.error


def test_a_model_without_from_image_takes_no_image(engine: sotto.Engine, parts: Parts) -> None:
    load(engine, parts, from_image=False)
    image = base64_of(Image.new("RGB", (SIDE, SIDE)))
    assert "option from_image" in refused(engine, "m", image=image).error
    assert paint(engine, "m")["data"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"thread": 1}, "unknown field options.thread"),
        ({"threads": 0}, "invalid options.threads '0': expected 1 to 256"),
        ({"threads": True}, "invalid options.threads 'true'"),
        ({"steps": 1001}, "invalid options.steps '1001'"),
        ({"guidance_scale": 101}, "invalid options.guidance_scale '101"),
        ({"guidance_scale": "4"}, "invalid options.guidance_scale"),
        ({"tiling": 1}, "invalid options.tiling '1': expected true or false"),
        ({"max_pixels": 1 << 30}, "invalid options.max_pixels '1073741824'"),
        ({"max_pixels": 16}, "invalid options.max_pixels '16'"),
        ({"size": "63x64"}, "invalid options.size '63x64'"),
        ({"size": "big"}, "invalid options.size"),
        ({"type": "q9_9"}, "invalid options.type"),
        ({"sampler": "magic"}, "invalid options.sampler"),
        ({"scheduler": "magic"}, "invalid options.scheduler"),
        ({"llm": 7}, "invalid options.llm '7': expected the path of a file"),
        ({"vae": "a\x00b"}, "invalid options.vae"),
    ],
)
def test_load_options_are_refused_by_name(
    engine: sotto.Engine, parts: Parts, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(sotto.SottoError) as refusal:
        load(engine, parts, **options)
    assert said in str(refusal.value)
    assert engine.memory()["used"] == 0


def test_options_change_what_they_name(engine: sotto.Engine, parts: Parts) -> None:
    load(engine, parts, steps=2, guidance_scale=3, size="32x48", sampler="heun", scheduler="karras")
    details = json.loads(engine.model_list())[0]["details"]
    assert (details["steps"], details["guidance_scale"], details["size"]) == (2, 3, "32x48")
    made = opened(files(engine, "m", steps=None)[0])
    assert made.size == (32, 48) and made.text["steps"] == "2"  # type: ignore[attr-defined]


def test_only_this_operation_is_performed(painter: sotto.Engine) -> None:
    with pytest.raises(sotto.SottoError, match="image_generate"):
        painter.llm_chat_completion(
            json.dumps({"model": "m", "messages": [{"role": "user", "content": "a"}]})
        )
