"""Reads the routes of an ingress from a JSON file."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from .configuration import Replica, Route

_LOOK = 0.25  # seconds between two looks at the file
_log = logging.getLogger("sotto.fleet")


async def follow_file(path: Path) -> AsyncGenerator[list[Route], None]:
    """Yields the routes of a file, at once and whenever it changes.

    A file that changes to something invalid is logged; nothing is yielded then.

    Args:
        path: File of `read_routes()`; to be replaced by renaming, so that it is never read in part.

    Raises:
        OSError: the file cannot be read at first.
        ValueError: the file is invalid at first.
    """
    text = path.read_bytes()
    yield read_routes(path)
    while True:
        await asyncio.sleep(_LOOK)
        try:
            now = path.read_bytes()
            if now != text:
                text = now
                yield read_routes(path)
        except OSError as error:
            _log.error("ingress: cannot read %s: %s", path, error)
        except ValueError as error:
            _log.error("ingress: %s; the routes before stay", error)


def read_routes(path: Path) -> list[Route]:
    """Returns the workloads that a file names.

    The file holds `{"routes": [{"prefix": "/endpoint/acme/smith", "replicas": [{"name": "node-1",
    "address": "10.0.0.7", "port": 8081}]}]}`.

    Raises:
        OSError: the file cannot be read.
        ValueError: it has another form; the message names the place.
    """
    try:
        told = json.loads(path.read_text())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"invalid routes '{path}': expected JSON ({error})") from None
    top = _fields(told, "", {"routes"})
    return [
        Route(
            _fields(route, f"routes[{number}]", {"prefix", "replicas"})["prefix"],
            tuple(
                Replica(**_fields(one, f"routes[{number}].replicas[{place}]", {"name", "address", "port"}))
                for place, one in enumerate(_list(route["replicas"], f"routes[{number}].replicas"))
            ),
        )
        for number, route in enumerate(_list(top["routes"], "routes"))
    ]


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"invalid {where} '{value!s:.100}': expected an array")
    return value


def _fields(value: Any, where: str, names: set[str]) -> dict[str, Any]:
    if not isinstance(value, dict) or set(value) != names:
        raise ValueError(
            f"invalid {where or 'routes file'} '{value!s:.100}': "
            f"expected an object with {', '.join(sorted(names))}"
        )
    return value
