"""What an engine decided, taken again."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from ._call import check, new, text, utf8
from ._lib import lib
from ._values import string


class Replay(NamedTuple):
    """What came of taking a recording's decisions again.

    Of `decisions` (what each slice was for and how much it did, on how many threads, how long models rested,
    the share of the time they had) so many came out the `same`. `first_difference` is None, or the first that
    did not: its `line` in the recording, `what` it was, and what was `recorded` and `replayed`.

    The recording is of `streams` answers by `models` models, beside `frames` frames of a game, from its first
    decision to its last in `seconds`; `version` of Sotto wrote it. `cut`: its last line is not whole, as
    after a crash, and was left out.
    """

    file: str
    version: str
    decisions: int
    same: int
    first_difference: dict[str, Any] | None
    streams: int
    models: int
    frames: int
    seconds: float
    cut: bool


def replay(path: str | os.PathLike[str]) -> Replay:
    """Repeats the scheduling decisions of a recording made with `Engine(record_path=)`. Needs no model.

    Raises `ArgumentError` that names the line if it is not a recording, or if it is not a regular file,
    `SottoError` if there is no file.
    """
    import json

    out, name = new("sotto_str *"), utf8("path", string("path", os.path.expanduser(os.fspath(path))))
    check(lib.sotto_replay(name[0], out))
    return Replay(**json.loads(text(out[0])))
