"""Models in the form of Anthropic's API, for requests with its header."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request

HEADER = "anthropic-version"


def is_asked(request: Request) -> bool:
    """Returns True if a client of Anthropic's API asks, which shares its paths with OpenAI's."""
    return HEADER in request.headers


def listed(models: Sequence[Mapping[str, Any]], started: int) -> dict[str, Any]:
    """Returns the list of models. `started`: seconds since 1970."""
    data = [described(model, started) for model in models]
    ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]} if data else {}
    return {"data": data, "has_more": False, "first_id": None, "last_id": None, **ends}


def described(model: Mapping[str, Any], started: int) -> dict[str, Any]:
    """Returns one model. `started`: seconds since 1970."""
    created = datetime.datetime.fromtimestamp(started, datetime.timezone.utc)
    return {
        "type": "model",
        "id": model["id"],
        "display_name": model.get("details", {}).get("name") or model["id"],
        "created_at": created.isoformat().replace("+00:00", "Z"),
        "lifecycle": "active",
        "max_input_tokens": model.get("context") or None,
    }
