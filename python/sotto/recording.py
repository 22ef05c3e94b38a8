"""Replays the scheduling decisions of a recording."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from ._call import check, new, text, utf8
from ._lib import lib
from ._values import string


class Replay(NamedTuple):
    """Result of replaying a recording.

    A decision is the kind, size and thread count of a slice, a rest of the models, or a duty cycle.
    """

    file: str
    version: str  # of the Sotto library that wrote the recording
    decisions: int  # number of decisions replayed
    same: int  # number of decisions with an equal result
    first_difference: dict[str, Any] | None  # `line`, `what`, `recorded` and `replayed`; None: all equal
    streams: int  # answers in the recording
    models: int
    frames: int  # frames that the game reported
    seconds: float  # from the first decision to the last
    cut: bool  # True: the last line is incomplete, as after a crash, and was ignored


def replay(path: str | os.PathLike[str]) -> Replay:
    """Replays the scheduling decisions of a recording made with `Engine(record_path=)`. Needs no model.

    Args:
        path: Path of the recording.

    Returns:
        The number of decisions, and the first that differs.

    Raises:
        ArgumentError: The file is not regular, or not a recording; the message names the line.
        SottoError: The file does not exist.
    """
    import json

    out, name = new("sotto_str *"), utf8("path", string("path", os.path.expanduser(os.fspath(path))))
    check(lib.sotto_replay(name[0], out))
    return Replay(**json.loads(text(out[0])))
