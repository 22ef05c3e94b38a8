"""The routes for images, asked by OpenAI's client: whole answers, streams, forms and what is refused."""

from __future__ import annotations

import base64
import io
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import openai
import pytest

import serving
from image_double import SIZE, file_of, foreground, noise, picture, pixels_in
from image_server import painting

EDGE = "edge7"
PICTURE = file_of(picture())


@pytest.fixture(scope="module")
def server() -> Iterator[serving.Served]:
    with painting(easel={}, broken={"fail": "out of paint"}, slow={"step_ms": 20}) as running:
        yield running


@pytest.fixture
def client(server: serving.Served) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key="unused", base_url=f"{server.url}/v1", max_retries=0) as made:
        yield made


def pixels(b64_json: str | None) -> Any:
    assert b64_json is not None
    return pixels_in(base64.b64decode(b64_json, validate=True))


def form(*fields: tuple[str, str], **files: bytes) -> bytes:
    """A multipart body."""
    head = f"--{EDGE}\r\nContent-Disposition: form-data; name="
    parts = [f'{head}"{one}"\r\n\r\n{text}\r\n'.encode() for one, text in fields]
    parts += [
        f'{head}"{one}"; filename="a.png"\r\n\r\n'.encode() + data + b"\r\n" for one, data in files.items()
    ]
    return b"".join(parts) + f"--{EDGE}--\r\n".encode()


def send(server: serving.Served, path: str, body: bytes) -> tuple[int, dict[str, str], Any]:
    return server.ask(f"/v1/images/{path}", body, content_type=f"multipart/form-data; boundary={EDGE}")


def test_images_are_generated(client: openai.OpenAI) -> None:
    made = client.images.generate(
        model="easel",
        prompt="a fox",
        n=2,
        size="64x48",
        extra_body={"seed": 3},  # type: ignore[call-overload]
    )
    assert abs(made.created - time.time()) < 5 and len(made.data) == 2
    for at, one in enumerate(made.data):
        assert one.revised_prompt == "a fox"
        assert (pixels(one.b64_json) == noise(3 + at, "a fox", 64, 48)).all()
    plain = client.images.generate(model="easel", prompt="x", response_format="b64_json")
    assert plain.data is not None and pixels(plain.data[0].b64_json).shape == (SIZE[1], SIZE[0], 3)


def test_a_stream_has_previews_and_then_the_image(client: openai.OpenAI) -> None:
    events = list(
        client.images.generate(
            model="easel", prompt="a fox", stream=True, partial_images=2, n=2, extra_body={"seed": 4}
        )
    )
    part, whole = "image_generation.partial_image", "image_generation.completed"
    assert [event.type for event in events] == [part, part, whole] * 2
    assert [event.partial_image_index for event in events if event.type == part] == [0, 1, 0, 1]
    last: Any = events[-1]
    assert (pixels(last.b64_json) == noise(5, "a fox", *SIZE)).all()
    assert (last.size, last.output_format, last.seed, last.image_index) == ("48x32", "png", 5, 1)


def test_an_image_is_edited_where_the_mask_allows_it(client: openai.OpenAI) -> None:
    mask = np.zeros((*picture().shape[:2], 4), np.uint8)
    mask[:, :12, 3] = 255  # the image changes where the mask is transparent
    asked: Any = {"model": "easel", "prompt": "x", "extra_body": {"seed": 3, "strength": 1}}
    made = client.images.edit(image=io.BytesIO(PICTURE), mask=io.BytesIO(file_of(mask)), **asked)
    assert made.data is not None
    edited = pixels(made.data[0].b64_json)
    assert (edited[:, :12] == picture()[:, :12]).all()
    assert (edited[:, 12:] == noise(3, "x", 24, 16)[:, 12:]).all()
    events = list(client.images.edit(image=[io.BytesIO(PICTURE)], stream=True, partial_images=1, **asked))
    assert [event.type for event in events] == ["image_edit.partial_image", "image_edit.completed"]


def test_a_background_is_removed_from_a_form_or_from_json(server: serving.Served) -> None:
    body = {"model": "easel", "image": base64.b64encode(PICTURE).decode()}
    of_form = send(server, "background", form(("model", "easel"), image=PICTURE))
    of_json = server.ask("/v1/images/background", body, content_type="application/json")
    for status, _, told in (of_form, of_json):
        assert status == 200
        assert (pixels(told["data"][0]["b64_json"])[:, :, 3] == foreground(picture())).all()
    _, _, told = send(server, "background", form(("model", "easel"), ("mask_only", "true"), image=PICTURE))
    assert (pixels(told["data"][0]["b64_json"]) == foreground(picture())).all()


@pytest.mark.parametrize(
    ("fields", "status", "named"),
    [
        ({"prompt": ""}, 400, "invalid prompt"),
        ({"prompt": 7}, 400, "invalid prompt"),
        ({"size": "abc"}, 400, "invalid size 'abc'"),
        ({"n": 0}, 400, "invalid n '0'"),
        ({"response_format": "url"}, 400, "expected b64_json"),
        ({"response_format": "file", "path": "/tmp/x.png"}, 400, "no file is written"),
        ({"response_format": "data"}, 400, "response_format"),
        ({"image": "/etc/passwd"}, 400, "in base64, or as a data URL"),
        ({"image": "https://example.com/a.png"}, 400, "in base64, or as a data URL"),
        ({"stream": "yes"}, 400, "invalid stream"),
        ({"model": "other"}, 404, "model 'other' is not loaded"),
        ({"prompt": "blood"}, 400, "blocked by guardrail"),
        ({"model": "broken"}, 500, "out of paint"),
        ({"model": "broken", "stream": True}, 500, "out of paint"),
        ({"prompt": "x" * (1 << 20)}, 413, "1,048,576 bytes"),
    ],
)
def test_what_is_invalid_is_named(
    server: serving.Served, fields: dict[str, Any], status: int, named: str
) -> None:
    body = {"model": "easel", "prompt": "a fox", **fields}
    got, _, told = server.ask("/v1/images/generations", body, content_type="application/json")
    assert (got, named in told["error"]["message"]) == (status, True), told


@pytest.mark.parametrize("path", ["edits", "background"])
@pytest.mark.parametrize(
    ("body", "status", "named"),
    [
        (form(("model", "easel"), ("prompt", "x")), 400, "missing image"),
        (form(("image", "text"), ("prompt", "x")), 400, "missing image"),
        (form(("prompt", "x"), image=b"a text"), 400, "invalid image of 6 bytes: expected a PNG, JPEG"),
        (form(("prompt", "x"), image=PICTURE, other=PICTURE, third=PICTURE), 400, "Too many files"),
        (form(("model", "easel"), ("stream", "perhaps"), image=PICTURE), 400, "stream"),
        (form(("model", "other"), ("prompt", "x"), image=PICTURE), 404, "'other' is not loaded"),
        (form(("prompt", "x"), image=PICTURE), 400, "missing model"),
        (form(("prompt", "x"), image=bytes(1 << 20)), 413, "1,048,576 bytes"),
        (form(("model", "easel"), ("prompt", "x"), image=PICTURE[:60]), 400, "expected an image file"),
        (form(("response_format", "url"), ("model", "easel"), image=PICTURE), 400, "response_format"),
        (form(("priority", "urgent"), ("model", "easel"), image=PICTURE), 400, "priority"),
        (form(image=PICTURE)[:-20], 400, ""),
        (b"", 400, ""),
    ],
)
def test_forms_that_are_invalid(
    server: serving.Served, path: str, body: bytes, status: int, named: str
) -> None:
    got, _, told = send(server, path, body)
    assert (got, named in told["error"]["message"]) == (status, True), told


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ((), "missing prompt"),
        ((("prompt", "x"), ("seed", "many")), "invalid seed 'many'"),
        ((("prompt", "x"), ("steps", "0")), "invalid steps"),
        ((("prompt", "x"), ("strength", "1.5")), "invalid strength"),
        ((("prompt", "x"), ("n", "1.5")), "invalid n"),
    ],
)
def test_fields_of_an_edit_that_are_invalid(
    server: serving.Served, fields: tuple[tuple[str, str], ...], named: str
) -> None:
    status, _, told = send(server, "edits", form(("model", "easel"), *fields, image=PICTURE))
    assert (status, named in told["error"]["message"]) == (400, True), told


def test_other_content_types_are_refused(server: serving.Served) -> None:
    for path, kind in (("generations", "multipart/form-data"), ("edits", "application/json")):
        assert server.ask(f"/v1/images/{path}", b"{}", content_type=kind)[0] == 415
    status, _, told = server.ask("/v1/images/background", b"{", content_type="application/json")
    assert status == 400 and "invalid body" in told["error"]["message"]
    body = {"model": "easel", "image": base64.b64encode(PICTURE).decode(), "stream": True}
    assert server.ask("/v1/images/background", body, content_type="application/json")[0] == 400


def test_an_error_amid_a_stream_is_an_event(server: serving.Served) -> None:
    told = server.events("/v1/images/generations", {"model": "easel", "prompt": "x", "n": 2})
    assert [json.loads(one)["type"] for one in told] == ["image_generation.completed"] * 2


def test_a_client_that_leaves_cancels_its_image(server: serving.Served, client: openai.OpenAI) -> None:
    with client.images.generate(
        model="slow", prompt="x", stream=True, partial_images=1, extra_body={"steps": 1000}
    ) as stream:
        assert next(iter(stream)).type == "image_generation.partial_image"
    end = time.monotonic() + 10
    while server.ask("/health")[2].get("slots_processing", 0) and time.monotonic() < end:
        time.sleep(0.05)
    assert client.images.generate(model="slow", prompt="x", extra_body={"steps": 1}).data
    assert time.monotonic() < end
