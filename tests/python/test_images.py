"""Images by the reference's interface A: requests and responses in JSON, and what is refused."""

from __future__ import annotations

import base64
import inspect
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sotto
from image_double import SIZE, Easel, file_of, foreground, noise, picture, pixels_in

PAINTER, MATTER = "PixArt-alpha/PixArt-Sigma-XL-2-512-MS", "briaai/RMBG-1.4"
SIGNATURE = b"\x89PNG\r\n\x1a\n"
GOOD = {"model": PAINTER, "prompt": "a fox"}
PICTURE = base64.b64encode(file_of(picture())).decode()


@pytest.fixture
def engine() -> Iterator[sotto.Engine]:
    with sotto.Engine("cpu", mode="prioritize_compute") as made:
        made.add_backend(Easel())
        for name in (PAINTER, MATTER):
            made.load_model(name, path="-", backend="easel")
        made.load_model("broken", path="-", backend="easel", options={"fail": "out of paint"})
        yield made


def generate(engine: sotto.Engine, **fields: Any) -> Any:
    return json.loads(engine.image_generate(json.dumps({**GOOD, **fields})))


def pixels(one: Any) -> Any:
    """The pixels of an object of `data`."""
    data = base64.b64decode(one["b64_json"], validate=True)
    assert data.startswith(SIGNATURE)
    return pixels_in(data)


@pytest.mark.row("A-114", "A-127")
def test_the_methods_take_and_return_json() -> None:
    for method in (sotto.Engine.image_generate, sotto.Engine.image_remove_background):
        first, *more = list(inspect.signature(method).parameters.values())[1:]
        assert first.name == "request_json" and first.default is inspect.Parameter.empty
        assert [one.kind for one in more] == [inspect.Parameter.VAR_KEYWORD]
        assert inspect.signature(method).return_annotation == "str"


@pytest.mark.row("A-125", "A-118", "A-119", "A-121")
def test_the_references_example_of_generation_runs(engine: sotto.Engine) -> None:
    request = json.dumps({
        "model": "PixArt-alpha/PixArt-Sigma-XL-2-512-MS",
        "prompt": "A sunset over mountains",
        "size": "512x512",
    })  # fmt: skip
    response = json.loads(engine.image_generate(request))
    b64_image = response["data"][0]["b64_json"]
    assert b64_image.startswith("iVBORw0KGgo")
    assert pixels(response["data"][0]).shape == (512, 512, 3)


@pytest.mark.row("A-115", "A-116", "A-117", "A-118", "A-119", "A-120", "A-121", "A-122")
def test_a_response_has_openais_format(engine: sotto.Engine) -> None:
    request = {
        "model": PAINTER, "prompt": "A sunset over mountains", "n": 3, "size": "64x48", "seed": 7,
        "response_format": "b64_json",
    }  # fmt: skip
    response = json.loads(engine.image_generate(json.dumps(request)))
    assert abs(time.time() - response["created"]) < 5
    assert [one["seed"] for one in response["data"]] == [7, 8, 9]
    for one in response["data"]:
        assert one["revised_prompt"] == "A sunset over mountains"
        assert (pixels(one) == noise(one["seed"], "A sunset over mountains", 64, 48)).all()
    (single,) = generate(engine)["data"]
    assert pixels(single).shape == (SIZE[1], SIZE[0], 3)
    assert engine.image_generate(request)  # a mapping, too


@pytest.mark.row("A-126")
def test_a_seed_decides_the_image(engine: sotto.Engine) -> None:
    first, again, other = (generate(engine, seed=seed)["data"][0]["b64_json"] for seed in (1, 1, 2))
    assert first == again != other
    by_chance = {generate(engine)["data"][0]["b64_json"] for _ in range(3)}
    assert len(by_chance) == 3


@pytest.mark.row("A-115", "A-116", "A-117", "A-118", "A-119", "A-123")
@pytest.mark.parametrize(
    ("request_json", "what"),
    [
        ("{", "request"),
        ("[]", "request"),
        ("", "request"),
        ({"prompt": "a fox"}, "missing model"),
        ({"model": PAINTER}, "missing prompt"),
        ({**GOOD, "prompt": ""}, "invalid prompt"),
        ({**GOOD, "prompt": "x" * (1 << 20)}, "at most 65,536 bytes"),
        ({**GOOD, "n": 0}, "invalid n '0'"),
        ({**GOOD, "n": 17}, "invalid n '17'"),
        ({**GOOD, "size": "abc"}, "invalid size 'abc': expected width x height"),
        ({**GOOD, "size": "1024x1024"}, "invalid size '1024x1024'"),  # of the model
        ({**GOOD, "steps": 0}, "invalid steps"),
        ({**GOOD, "response_format": "url"}, "invalid response_format 'url': expected \"b64_json\""),
        ({**GOOD, "response_format": "data"}, "invalid response_format 'data'.*events of submit"),
        ({**GOOD, "image": "garbage!"}, "invalid image 'garbage!': expected a PNG, JPEG or WebP file"),
        ({**GOOD, "image": PICTURE, "mask": "AAAA"}, "invalid mask 'AAAA'"),
        ({**GOOD, "path": "fox.png"}, "invalid path 'fox.png'"),
        ({**GOOD, "guidence_scale": 4}, "did you mean"),
    ],
)
def test_invalid_requests_for_images_are_value_errors(
    engine: sotto.Engine, request_json: Any, what: str
) -> None:
    given = request_json if isinstance(request_json, str) else json.dumps(request_json)
    with pytest.raises(ValueError, match=what):
        engine.image_generate(given)


@pytest.mark.row("A-124", "A-132")
def test_a_backend_that_fails_is_an_inference_error(engine: sotto.Engine) -> None:
    with pytest.raises(sotto.InferenceError, match="RuntimeError: out of paint"):
        engine.image_generate({"model": "broken", "prompt": "a fox"})
    with pytest.raises(sotto.InferenceError, match="out of paint"):
        engine.image_remove_background({"model": "broken", "image": PICTURE})
    assert generate(engine)["data"]  # the others go on


@pytest.mark.row("A-124", "A-132")
@pytest.mark.real
def test_a_model_that_makes_no_images_is_an_inference_error(real_engine: sotto.Engine) -> None:
    for ask in (
        lambda: real_engine.image_generate({"model": "sotto/house", "prompt": "a fox"}),
        lambda: real_engine.image_remove_background({"model": "sotto/house", "image": PICTURE}),
        lambda: real_engine.generate_images("a fox", model="sotto/house"),
        lambda: real_engine.remove_background(picture(), model="sotto/house"),
    ):
        with pytest.raises(sotto.InferenceError, match="use another model") as caught:
            ask()
        assert caught.value.status == sotto.Status.UNSUPPORTED


@pytest.mark.row("A-133", "A-128", "A-129")
def test_the_references_example_of_background_removal_runs(engine: sotto.Engine) -> None:
    b64_image_str = PICTURE
    request = json.dumps({"model": "briaai/RMBG-1.4", "image": b64_image_str})
    response = json.loads(engine.image_remove_background(request))
    result_image = response["data"][0]["b64_json"]
    assert result_image.startswith("iVBORw0KGgo")


@pytest.mark.row("A-128", "A-130")
@pytest.mark.parametrize("prefix", ["", "data:image/png;base64,", "\n"])
def test_a_background_becomes_transparent_and_the_foreground_keeps_its_colours(
    engine: sotto.Engine, prefix: str
) -> None:
    response = json.loads(engine.image_remove_background({"model": MATTER, "image": prefix + PICTURE}))
    (one,) = response["data"]
    made, given = pixels(one), picture()
    assert made.shape == (*given.shape[:2], 4)
    alpha = made[:, :, 3]
    assert (alpha == foreground(given)).all() and set(np.unique(alpha)) == {0, 255}
    assert (made[alpha == 255][:, :3] == given[alpha == 255]).all()


@pytest.mark.row("A-129", "A-131")
@pytest.mark.parametrize(
    ("request_json", "what"),
    [
        ("{", "request"),
        ("7", "request"),
        ({"image": PICTURE}, "missing model"),
        ({"model": MATTER}, "missing image"),
        ({"model": MATTER, "image": 7}, "invalid image '7'"),
        ({"model": MATTER, "image": ""}, "invalid image"),
        ({"model": MATTER, "image": "not base64!"}, "in base64, or as a data URL"),
        ({"model": MATTER, "image": PICTURE[:-3]}, "in base64"),
        ({"model": MATTER, "image": base64.b64encode(b"a text").decode()}, "a PNG, JPEG or WebP file"),
        ({"model": MATTER, "image": f"data:image/png,{PICTURE}"}, "in base64"),
        (
            {"model": MATTER, "image": base64.b64encode(SIGNATURE + b"rest").decode()},
            "an image file",
        ),
        ({"model": MATTER, "image": PICTURE[:80]}, "an image file"),
        ({"model": MATTER, "image": PICTURE, "output_format": "gif"}, "output_format"),
        ({"model": MATTER, "image": PICTURE, "response_format": "url"}, "response_format 'url'"),
    ],
)
def test_invalid_requests_for_removal_are_value_errors(
    engine: sotto.Engine, request_json: Any, what: str
) -> None:
    given = request_json if isinstance(request_json, str) else json.dumps(request_json)
    with pytest.raises(ValueError, match=what):
        engine.image_remove_background(given)


def test_guardrails_check_a_prompt_before_a_step() -> None:
    rules = {
        "image_prompt": [
            {"type": "phrases", "phrases": ["blood"]},
            {"type": "phrases", "phrases": ["gun"], "action": "rewrite", "replacement": "flower"},
        ]
    }
    easel = Easel()
    with sotto.Engine("cpu", guardrails=rules) as engine:
        engine.add_backend(easel)
        engine.load_model("m", path="-", backend="easel")
        with pytest.raises(sotto.InferenceError, match="prompt: blocked by guardrail") as caught:
            engine.image_generate({"model": "m", "prompt": "a pool of blood"})
        assert caught.value.status == sotto.Status.BLOCKED and easel.models[0].computed == 0
        made = engine.generate_images("a gun", seed=1)
        assert made.prompt == "a flower" and (made.array() == noise(1, "a flower", *SIZE)).all()
