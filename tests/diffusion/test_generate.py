"""Images of a tiny model: from text, from images, with a mask, and in all forms of files."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from artist import PROMPT, base64_of, body, events_of, files, opened, paint, refused
from PIL import Image
from tiny_diffusion import Parts, tiny, whole
from tiny_flux import flux

import sotto
from conftest import SIDE, load


def pixels(data: bytes) -> Any:
    """An image file as an array of whole numbers."""
    return np.asarray(opened(data)).astype(int)


def apart(one: bytes, other: bytes) -> float:
    """The mean difference of two image files."""
    return float(np.abs(pixels(one) - pixels(other)).mean())


@pytest.fixture(scope="module")
def portrait(painter: sotto.Engine) -> Image.Image:
    """An image to start from."""
    return opened(files(painter, "m", seed=1)[0])


def test_a_response_has_the_image_its_seed_and_its_prompt(painter: sotto.Engine) -> None:
    response = paint(painter, "m")
    assert abs(response["created"] - time.time()) < 5
    assert response["size"] == f"{SIDE}x{SIDE}" and response["output_format"] == "png"
    (one,) = response["data"]
    assert one["seed"] == 7 and one["revised_prompt"] == PROMPT
    data = base64.b64decode(one["b64_json"])
    assert data.startswith(b"\x89PNG") and opened(data).size == (SIDE, SIDE)
    assert pixels(data).std() > 5


def test_the_bytes_depend_on_seed_prompt_and_steps_alone(painter: sotto.Engine) -> None:
    plain = {"embed_metadata": False}
    (first,) = files(painter, "m", **plain)
    assert files(painter, "m", **plain) == [first]
    changes: list[dict[str, Any]] = [{"seed": 8}, {"prompt": "a map of the tavern"}, {"steps": 4}]
    others = [files(painter, "m", **plain, **change)[0] for change in changes]
    assert len({first, *others}) == 1 + len(changes)
    assert all(apart(first, other) > 0.5 for other in others)


def test_guidance_and_a_negative_prompt_change_the_image(painter: sotto.Engine) -> None:
    asked: list[dict[str, Any]] = [
        {"guidance_scale": 1},
        {"guidance_scale": 4},
        {"guidance_scale": 4, "negative_prompt": "a zebra"},
    ]
    made = [files(painter, "m", embed_metadata=False, **fields)[0] for fields in asked]
    assert len(set(made)) == 3
    without = {"guidance_scale": 1, "negative_prompt": "a zebra", "embed_metadata": False}
    assert files(painter, "m", **without) == made[:1]


def test_image_i_has_the_seed_plus_i_whatever_n(painter: sotto.Engine) -> None:
    together = paint(painter, "m", n=3)["data"]
    assert [one["seed"] for one in together] == [7, 8, 9]
    for one in together:
        assert paint(painter, "m", seed=one["seed"])["data"] == [one]


def test_seeds_wrap_at_32_bits_and_are_random_without_one(painter: sotto.Engine) -> None:
    assert [one["seed"] for one in paint(painter, "m", seed=2**32 - 1, n=2)["data"]] == [2**32 - 1, 0]
    (first,), (second,) = (paint(painter, "m", seed=-1)["data"] for _ in range(2))
    assert first["seed"] != second["seed"]
    assert paint(painter, "m", seed=first["seed"])["data"] == [first]


@pytest.mark.parametrize("size", ["16x48", "64x32", "40x72", "160x160"])
def test_sizes(painter: sotto.Engine, size: str) -> None:
    (made,) = files(painter, "m", size=size)
    assert "x".join(map(str, opened(made).size)) == size
    assert pixels(made).std() > 5


def test_threads_change_no_byte(engine: sotto.Engine, painter: sotto.Engine, parts: Parts) -> None:
    load(engine, parts, threads=2)
    assert files(engine, "m", n=2) == files(painter, "m", n=2)


@pytest.mark.parametrize("n", [1, 2])
def test_progress_grows_with_each_denoise_step(painter: sotto.Engine, n: int) -> None:
    request = painter.submit("image_generate", body("m", steps=6, n=n))
    told = [event.progress for event in events_of(painter, request) if event.kind == "progress"]
    assert told == sorted(told) and told[-1] == 1
    assert len({*told} - {0.0}) >= 7 * n


def test_quality_chooses_the_number_of_steps(painter: sotto.Engine) -> None:
    own = json.loads(painter.model_list())[0]["details"]["steps"]
    for fields, steps in (({}, own), ({"quality": "low"}, own // 2), ({"quality": "hd"}, own + own // 2)):
        (made,) = files(painter, "m", steps=None, **fields)
        assert opened(made).text["steps"] == str(steps)  # type: ignore[attr-defined]


def test_images_arrive_as_data_where_the_request_says_so(painter: sotto.Engine) -> None:
    request = painter.submit("image_generate", body("m", n=2, response_format="data"))
    events = events_of(painter, request)
    told = [(json.loads(event.json), event.data) for event in events if event.kind == "data"]
    assert [info["index"] for info, _ in told] == [0, 1]
    assert told[1][0] == {"index": 1, "seed": 8, "width": SIDE, "height": SIDE, "format": "png"}
    assert [data for _, data in told] == files(painter, "m", n=2)
    assert [set(one) for one in json.loads(events[-1].json)["data"]] == [{"seed", "revised_prompt"}] * 2


def test_previews_come_nearer_to_the_image(painter: sotto.Engine) -> None:
    plain = {"steps": 20, "embed_metadata": False}
    events = events_of(painter, painter.submit("image_generate", body("m", partial_images=3, **plain)))
    told = [json.loads(event.json) for event in events if event.kind == "data"]
    assert [one["step"] for one in told] == [5, 10, 15] and all(one["partial"] for one in told)
    assert [one["partial_image_index"] for one in told] == [0, 1, 2]
    (image,) = files(painter, "m", **plain)
    assert base64.b64decode(json.loads(events[-1].json)["data"][0]["b64_json"]) == image
    wide = opened(image)
    previews = [opened(event.data).resize(wide.size) for event in events if event.kind == "data"]
    away = [np.abs(np.asarray(one).astype(int) - pixels(image)).mean() for one in previews]
    assert away == sorted(away, reverse=True) and away[0] > away[-1]


def test_the_files_say_how_they_were_made(painter: sotto.Engine) -> None:
    prompt = 'a "red" fox & \u96ea <1>'
    wanted = {"model": "m", "prompt": prompt, "seed": "7", "steps": "3", "guidance_scale": "2.5"}
    asked = {"prompt": prompt, "guidance_scale": 2.5}
    assert opened(files(painter, "m", **asked)[0]).text.items() >= wanted.items()  # type: ignore[attr-defined]
    for form in ("png", "webp"):
        plain = opened(files(painter, "m", embed_metadata=False, output_format=form, **asked)[0])
        assert not getattr(plain, "text", {}) and "xmp" not in plain.info


def test_raw_pixels_and_lossless_files_are_equal(painter: sotto.Engine) -> None:
    (png,), (webp,), (raw,) = (files(painter, "m", output_format=form) for form in ("png", "webp", "raw"))
    assert np.array_equal(pixels(png), pixels(webp))
    assert raw == opened(png).convert("RGBA").tobytes()


def test_generation_starts_from_an_image(painter: sotto.Engine, portrait: Image.Image) -> None:
    plain = {"image": base64_of(portrait), "steps": 20, "embed_metadata": False}
    same, near, middle, far = (
        files(painter, "m", strength=strength, **plain)[0] for strength in (0, 0.01, 0.4, 0.95)
    )
    assert np.array_equal(pixels(same), np.asarray(portrait))
    assert 0 < apart(near, middle) < apart(near, far)  # an autoencoder of random weights gives no image back
    red = base64_of(Image.new("RGB", portrait.size, "red"))
    assert apart(files(painter, "m", **{**plain, "image": red}, strength=0.4)[0], middle) > 0.3


def test_an_image_of_another_size_is_scaled(painter: sotto.Engine, portrait: Image.Image) -> None:
    wide = base64_of(portrait.resize((70, 31)))
    assert opened(files(painter, "m", image=wide)[0]).size == (64, 24)
    assert opened(files(painter, "m", image=wide, size="32x48")[0]).size == (32, 48)


def test_fewer_steps_are_computed_from_an_image(painter: sotto.Engine, portrait: Image.Image) -> None:
    image = base64_of(portrait)
    counts = []
    for strength in (0, 0.3, 1):
        request = painter.submit("image_generate", body("m", image=image, strength=strength, steps=10))
        told = {event.progress for event in events_of(painter, request) if event.kind == "progress"}
        counts.append(len(told - {0.0}))
    assert counts[0] == 1 and counts[0] < counts[1] < counts[2]


def test_a_mask_changes_what_is_transparent_or_else_white(
    painter: sotto.Engine, portrait: Image.Image
) -> None:
    black = Image.new("L", portrait.size, 0)
    black.paste(255, (SIDE // 2, 0, SIDE, SIDE))
    transparent = Image.new("RGBA", portrait.size, (255, 255, 255, 255))
    transparent.paste((255, 255, 255, 0), (SIDE // 2, 0, SIDE, SIDE))
    made = [
        files(painter, "m", image=base64_of(portrait), mask=base64_of(mask), strength=0.9)[0]
        for mask in (black, transparent)
    ]
    assert made[0] == made[1]
    away = np.abs(pixels(made[0]) - np.asarray(portrait).astype(int)).mean(axis=2)
    assert not away[:, : SIDE // 2].any() and away[:, SIDE // 2 :].mean() > 1


def test_the_same_model_in_other_files_gives_the_same_image(
    engine: sotto.Engine, painter: sotto.Engine, tmp_path: Path
) -> None:
    load(engine, tiny(tmp_path / "gguf", gguf=True), "gguf")
    load(engine, whole(tmp_path / "whole"), "whole")
    plain = {"embed_metadata": False}
    wanted = files(painter, "m", **plain)
    assert [files(engine, name, **plain) for name in ("gguf", "whole")] == [wanted, wanted]


def test_a_model_that_is_distilled_for_its_guidance(engine: sotto.Engine, tmp_path: Path) -> None:
    load(engine, flux(tmp_path))
    assert json.loads(engine.model_list())[0]["details"]["architecture"] == "Flux"
    asked: list[dict[str, Any]] = [{}, {"guidance_scale": 1}, {"prompt": "a map of the tavern"}, {"seed": 8}]
    made = [files(engine, "m", embed_metadata=False, **fields)[0] for fields in asked]
    assert len(set(made)) == len(made)
    said = refused(engine, "m", negative_prompt="a zebra").error
    assert "invalid negative_prompt" in said and "Flux" in said


def test_paths_are_relative_to_the_models_folder(
    engine: sotto.Engine, painter: sotto.Engine, parts: Parts
) -> None:
    near = {name: Path(path).name for name, path in parts.options.items()}
    load(engine, parts._replace(options=near))
    assert files(engine, "m") == files(painter, "m")


def test_a_type_quantizes_the_weights(engine: sotto.Engine, painter: sotto.Engine, parts: Parts) -> None:
    load(engine, parts, type="q8_0")
    weights = [json.loads(one.model_list())[0]["bytes"]["weights"] for one in (engine, painter)]
    assert weights[0] < 0.8 * weights[1]
    plain = {"embed_metadata": False}
    assert 0 < apart(files(engine, "m", **plain)[0], files(painter, "m", **plain)[0]) < 8


@pytest.mark.parametrize("option", [{"flash_attention": True}, {"tiling": True}])
def test_options_of_speed_and_memory_keep_the_image(
    engine: sotto.Engine, painter: sotto.Engine, parts: Parts, option: dict[str, bool]
) -> None:
    load(engine, parts, **option)
    plain = {"embed_metadata": False}
    assert apart(files(engine, "m", **plain)[0], files(painter, "m", **plain)[0]) < 4


def test_the_description_has_the_models_own_numbers(painter: sotto.Engine) -> None:
    (listed,) = json.loads(painter.model_list())
    assert listed["operations"] == ["image_generate"] and listed["backend"] == "diffusion"
    details = listed["details"]
    assert details["architecture"] == "Ovis Image"
    assert (details["size"], details["max_pixels"]) == (f"{SIDE}x{SIDE}", 160 * 160)
    assert details["size_multiple"] in (8, 16)


def test_the_typed_interface_gets_images_and_previews(painter: sotto.Engine) -> None:
    shown: list[sotto.Image] = []
    told: list[float] = []
    made = painter.generate_images(
        PROMPT,
        model="m",
        n=2,
        size=(32, 48),
        seed=7,
        steps=8,
        on_progress=told.append,
        on_preview=shown.append,
    )
    assert [image.seed for image in made.images] == [7, 8]
    assert [image.png for image in made.images] == files(painter, "m", n=2, size="32x48", steps=8)
    assert all(image.array().shape == (48, 32, 3) for image in made.images)
    assert len(shown) >= 2 and told[-1] == 1
    assert all(image.array().shape == (image.height, image.width, 3) for image in shown)
