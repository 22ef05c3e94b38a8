"""Generated images with a transparent background: typed calls, JSON, asyncio, the server, refusals."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import serving
import sotto
import sotto.aio
from image_double import SIZE, Easel, file_of, foreground, noise, picture, pixels_in
from image_server import painting

ASKED = {"model": "m", "prompt": "a fox", "seed": 3, "background": "transparent"}


@pytest.fixture
def easel() -> Easel:
    return Easel()


@pytest.fixture
def engine(easel: Easel) -> Iterator[sotto.Engine]:
    with sotto.Engine("cpu", mode="prioritize_compute") as made:
        made.add_backend(easel)
        made.load_model("m", path="-", backend="easel")
        yield made


def expected(seed: int, size: tuple[int, int] = SIZE) -> Any:
    """The picture of a seed without its background: height x width x 4."""
    pixels = noise(seed, "a fox", *size)
    return np.dstack([pixels, foreground(pixels)])


def test_the_background_of_each_image_becomes_transparent(engine: sotto.Engine, tmp_path: Path) -> None:
    seen: list[sotto.Image] = []
    made = engine.generate_images(
        "a fox", n=2, seed=3, size=(40, 24), background="transparent", on_preview=seen.append
    )
    for number, one in enumerate(made.images):
        assert (one.array() == expected(3 + number, (40, 24))).all()
        assert (one.seed, one.number, one.format) == (3 + number, number, "png")
        assert (one.width, one.height) == (40, 24)
    assert (made.raw["background"], made.raw["output_format"], made.prompt) == ("transparent", "png", "a fox")
    assert len(seen) == 6 and seen[0].array().shape == (24, 40, 3)  # previews keep their background
    assert len(made.save(tmp_path / "fox.png")) == 2
    plain = engine.generate_images("a fox", seed=3, background="opaque")
    assert (plain.array() == noise(3, "a fox", *SIZE)).all() and "background" not in plain.raw
    assert engine.generate_images("a fox", seed=3, background="auto").png == plain.png


def test_raw_pixels_are_transparent_too(engine: sotto.Engine) -> None:
    made = engine.generate_images("a fox", seed=3, background="transparent", output_format="raw")
    assert made.images[0].format == "raw" and (made.array() == expected(3)).all()


def test_a_response_in_json_is_transparent(engine: sotto.Engine, tmp_path: Path) -> None:
    response = json.loads(engine.image_generate(json.dumps({**ASKED, "n": 2})))
    assert (response["background"], response["output_format"]) == ("transparent", "png")
    for number, one in enumerate(response["data"]):
        assert (pixels_in(base64.b64decode(one.pop("b64_json"))) == expected(3 + number)).all()
        assert one == {"seed": 3 + number, "revised_prompt": "a fox"}
    path = tmp_path / "art" / "fox.png"
    told = json.loads(engine.image_generate({**ASKED, "response_format": "file", "path": str(path)}))
    assert told["background"] == "transparent" and told["data"][0]["path"] == str(path)
    assert (pixels_in(path.read_bytes()) == expected(3)).all()


def test_an_image_keeps_its_texts(engine: sotto.Engine) -> None:
    made = engine.generate_images("a fox", seed=3, background="transparent", embed_metadata=True)
    with Image.open(io.BytesIO(made.png)) as image:
        image.load()
        assert image.mode == "RGBA" and image.text == {"prompt": "a fox"}  # type: ignore[attr-defined]


def test_the_model_that_removes_the_background_is_chosen(engine: sotto.Engine, easel: Easel) -> None:
    engine.load_model("cutter", path="-", backend="easel")
    painter, cutter = easel.models
    with pytest.raises(ValueError, match="missing background_model: expected one of 'm', 'cutter'"):
        engine.generate_images("a fox", model="m", background="transparent")
    assert painter.computed == 0
    engine.generate_images("a fox", model="m", background="transparent", background_model="cutter", steps=2)
    assert (painter.computed, cutter.computed) == (2, 1)


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"background_model": "none"}, "invalid background_model 'none': expected a loaded model.*'m'"),
        ({"background": "opaque", "background_model": "m"}, '"background": "transparent" beside it'),
        ({"background": None, "background_model": "m"}, '"background": "transparent" beside it'),
        ({"output_format": "jpeg"}, "invalid output_format 'jpeg'.*which have alpha; or set background"),
        ({"output_compression": 101}, "invalid output_compression"),
        ({"background": "blue"}, "invalid background 'blue': expected"),
        ({"background": 7}, "invalid background '7': expected"),
        ({"response_format": "url"}, "invalid response_format 'url'"),
    ],
)
def test_what_is_invalid_is_refused_before_a_step(
    engine: sotto.Engine, easel: Easel, fields: dict[str, Any], what: str
) -> None:
    with pytest.raises(ValueError, match=what):
        engine.image_generate(json.dumps({**ASKED, **fields}))
    assert easel.models[0].computed == 0


@pytest.mark.real
def test_without_a_model_that_removes_backgrounds(real_engine: sotto.Engine) -> None:
    with pytest.raises(
        ValueError, match="expected a loaded model that removes backgrounds; load sotto/matting"
    ):
        real_engine.image_generate({**ASKED, "model": "sotto/house"})


def test_a_submitted_request_names_the_way_out(engine: sotto.Engine) -> None:
    engine.submit("image_generate", ASKED)
    assert engine.wait(20)
    (done,) = engine.events()
    assert done.status == sotto.Status.ARGUMENT
    assert "invalid background 'transparent'" in done.error and "operation image_matte" in done.error


def test_a_model_that_fails_ends_the_call(engine: sotto.Engine) -> None:
    engine.load_model("broken", path="-", backend="easel", options={"fail": "out of thinner"})
    with pytest.raises(sotto.InferenceError, match="out of thinner"):
        engine.image_generate({**ASKED, "background_model": "broken"})
    assert engine.generate_images("a fox", model="m", background="transparent", background_model="m").png


def test_asyncio_has_the_same() -> None:
    async def test() -> None:
        async with sotto.aio.Engine("cpu", mode="prioritize_compute") as engine:
            engine.add_backend(Easel())
            await engine.load_model("m", path="-", backend="easel")
            made = await engine.generate_images("a fox", seed=3, background="transparent")
            assert (made.array() == expected(3)).all() and made.raw["background"] == "transparent"
            response = json.loads(await engine.image_generate(json.dumps(ASKED)))
            assert base64.b64decode(response["data"][0]["b64_json"]) == made.png
            with pytest.raises(ValueError, match="background_model"):
                await engine.image_generate({**ASKED, "background_model": "none"})

    asyncio.run(asyncio.wait_for(test(), 60))


@pytest.fixture(scope="module")
def server() -> Iterator[serving.Served]:
    with painting(easel={}, broken={"fail": "out of thinner"}) as running:
        yield running


SERVED = {**ASKED, "model": "easel", "background_model": "easel"}


def test_the_server_answers_with_transparent_images(server: serving.Served) -> None:
    asked = {**SERVED, "n": 2}
    status, _, told = server.ask("/v1/images/generations", asked, content_type="application/json")
    assert status == 200 and (told["background"], told["output_format"]) == ("transparent", "png")
    for number, one in enumerate(told["data"]):
        assert (pixels_in(base64.b64decode(one["b64_json"])) == expected(3 + number)).all()


def test_a_stream_ends_with_the_transparent_image(server: serving.Served) -> None:
    asked = {**SERVED, "stream": True, "partial_images": 1, "n": 2}
    told = [json.loads(one) for one in server.events("/v1/images/generations", asked)]
    assert [one["type"].rpartition(".")[2] for one in told] == ["partial_image", "completed"] * 2
    assert [one["background"] for one in told] == ["auto", "transparent"] * 2
    shapes = [pixels_in(base64.b64decode(one["b64_json"])) for one in told]
    assert [one.shape[2] for one in shapes] == [3, 4, 3, 4] and (shapes[3] == expected(4)).all()


def test_an_edit_may_be_transparent(server: serving.Served) -> None:
    start = base64.b64encode(file_of(picture())).decode()
    asked = {**SERVED, "image": start, "strength": 0}
    _, _, told = server.ask("/v1/images/generations", asked, content_type="application/json")
    made = pixels_in(base64.b64decode(told["data"][0]["b64_json"]))
    assert (made[:, :, 3] == foreground(picture())).all()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("fields", "status", "named"),
    [
        ({"output_format": "jpeg"}, 400, "which have alpha"),
        ({"background_model": "none"}, 400, "invalid background_model 'none'"),
        ({"background_model": None}, 400, "missing background_model"),
    ],
)
def test_the_server_names_what_is_invalid(
    server: serving.Served, fields: dict[str, Any], status: int, named: str, stream: bool
) -> None:
    body = {**SERVED, **fields, "stream": stream}
    got, _, told = server.ask("/v1/images/generations", body, content_type="application/json")
    assert (got, named in told["error"]["message"]) == (status, True), told


def test_a_failed_removal_is_an_error_of_the_answer(server: serving.Served) -> None:
    body = {**SERVED, "background_model": "broken"}
    for stream in (False, True):
        asked = {**body, "stream": stream}
        status, _, told = server.ask("/v1/images/generations", asked, content_type="application/json")
        assert status == 500 and "out of thinner" in told["error"]["message"]
