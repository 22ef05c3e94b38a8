"""Asks an engine for images, and reads what arrives."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

from PIL import Image

import sotto

PROMPT = "a red fox beside an old lantern"


def body(model: str, **fields: Any) -> dict[str, Any]:
    """The body of a request: three steps, a seed."""
    return {"model": model, "prompt": PROMPT, "steps": 3, "seed": 7, **fields}


def events_of(engine: sotto.Engine, request: int) -> list[sotto.Event]:
    """All events of the only request that runs, up to its end."""
    found: list[sotto.Event] = []
    while not found or found[-1].kind != "request_done":
        assert engine.wait(60)
        found += [event for event in engine.events() if event.request == request]
    return found


def paint(engine: sotto.Engine, model: str, **fields: Any) -> dict[str, Any]:
    """The response of a request that must succeed."""
    last = events_of(engine, engine.submit("image_generate", body(model, **fields)))[-1]
    assert last.status == 0, last.error
    found = json.loads(last.json)
    assert isinstance(found, dict)
    return found


def files(engine: sotto.Engine, model: str, **fields: Any) -> list[bytes]:
    """The image files of a response."""
    return [base64.b64decode(one["b64_json"]) for one in paint(engine, model, **fields)["data"]]


def refused(engine: sotto.Engine, model: str, **fields: Any) -> sotto.Event:
    """The last event of a request that must fail."""
    last = events_of(engine, engine.submit("image_generate", body(model, **fields)))[-1]
    assert last.status < 0
    return last


def opened(data: bytes) -> Image.Image:
    """An image file, decoded."""
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def base64_of(image: Image.Image, form: str = "PNG", **options: Any) -> str:
    """An image as a file in base64."""
    file = io.BytesIO()
    image.save(file, form, **options)
    return base64.b64encode(file.getvalue()).decode()
