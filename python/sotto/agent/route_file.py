"""Writes and reads the JSON file of a `Router`."""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Mapping
from typing import Any, NamedTuple

from .._desc import StrPath, path_text
from .._jsonl import write_lines
from ..errors import ArgumentError

MAX_CANDIDATES = 64
_FORMAT, _VERSION = "sotto router", 1
_MAX_BYTES = 64 << 20
_MAX_DIM = 16_384
_MAX_WEIGHT = 1e6

Rows = list[list[float]]


class Trained(NamedTuple):
    """What a router has learnt.

    Attributes:
        embedder: Id of the embedding model.
        fields: Fields of the request for each candidate.
        default: Name of the default candidate; None: none.
        threshold: Minimum probability.
        min_similarity: Minimum cosine.
        weights: A row for each candidate, with its bias at the end.
        centroids: A row for each candidate.
        probe: Vector of a known text.
    """

    embedder: str
    fields: Mapping[str, Mapping[str, Any]]
    default: str | None
    threshold: float
    min_similarity: float
    weights: Rows
    centroids: Rows
    probe: list[float]


def write(path: StrPath, trained: Trained) -> None:
    """Writes a file, which appears under its name once it is complete."""
    body = {"format": _FORMAT, "version": _VERSION, **trained._asdict()}
    write_lines(path_text("path", path), [json.dumps(body)])


def read(path: StrPath) -> Trained:
    """Reads a file, and checks each of its values.

    Raises:
        ArgumentError: The file is not one of a router, or is damaged; the message names the field.
        OSError: The file cannot be read.
    """
    name = os.path.expanduser(path_text("path", path))
    content = _content(name)
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict) or body.get("format") != _FORMAT:
        raise ArgumentError(f"invalid path '{name}': expected a file of Router.save()")
    if body.get("version") != _VERSION:
        raise ArgumentError(f"invalid path '{name}': expected version {_VERSION}; update this package")
    fields = body.get("fields")
    if not isinstance(fields, dict) or not 2 <= len(fields) <= MAX_CANDIDATES:
        raise _damaged(name, "fields")
    if not all(isinstance(one, dict) for one in fields.values()):
        raise _damaged(name, "fields")
    if not isinstance(embedder := body.get("embedder"), str) or not embedder:
        raise _damaged(name, "embedder")
    default = body.get("default")
    if default is not None and not isinstance(default, str):
        raise _damaged(name, "default")
    probe = _numbers(name, "probe", body.get("probe"))
    if not 0 < len(probe) <= _MAX_DIM:
        raise _damaged(name, "probe")
    shares = [_numbers(name, one, [body.get(one)])[0] for one in ("threshold", "min_similarity")]
    if not all(0 <= one <= 1 for one in shares):
        raise _damaged(name, "threshold")
    rows = [
        _rows(name, field, body.get(field), len(fields), width)
        for field, width in (("weights", len(probe) + 1), ("centroids", len(probe)))
    ]
    return Trained(embedder, fields, default, shares[0], shares[1], rows[0], rows[1], probe)


def _content(name: str) -> bytes:
    with open(os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ArgumentError(f"invalid path '{name}': expected a regular file")
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ArgumentError(f"invalid path '{name}': expected at most {_MAX_BYTES} bytes")
    return data


def _rows(name: str, field: str, given: Any, count: int, width: int) -> Rows:
    if not isinstance(given, list) or len(given) != count:
        raise _damaged(name, field)
    rows = [_numbers(name, field, one) for one in given]
    if any(len(one) != width for one in rows):
        raise _damaged(name, field)
    return rows


def _numbers(name: str, field: str, given: Any) -> list[float]:
    if not isinstance(given, list):
        raise _damaged(name, field)
    for one in given:
        if isinstance(one, bool) or not isinstance(one, int | float):
            raise _damaged(name, field)
        if abs(one) > _MAX_WEIGHT or not math.isfinite(one):
            raise _damaged(name, field)
    return [float(one) for one in given]


def _damaged(name: str, field: str) -> ArgumentError:
    return ArgumentError(f"invalid path '{name}': the field '{field}' is damaged; train the router again")
