"""`sotto models pull`: downloads a model's file."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ... import _minilm, _tavern
from ..._hub import pull
from .. import progress, screen
from ..text import size

_INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto models pull` to `parser`."""
    parser.add_argument("id", help="org/name, org/name:QUANT or org/name/file.gguf; tavern, minilm")
    parser.add_argument("--file", metavar="F", help="this file of the repository")
    parser.add_argument("--revision", metavar="R", help="a branch, a tag or a commit (main)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Downloads the file. Returns the exit status; 130 if Ctrl-C stopped the download."""
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # `progress.download` draws its own bar
    try:
        with progress.download(arguments.file or arguments.id) as told:
            if arguments.id in ("tavern", _tavern.TAVERN):
                path = _tavern.pull(told)
            elif arguments.id in ("minilm", _minilm.MINILM):
                path = _minilm.pull(told)
            else:
                path = pull(arguments.id, arguments.file, arguments.revision, told)
    except KeyboardInterrupt:
        screen.complain("sotto: stopped; the same command goes on from there")
        return _INTERRUPTED
    bytes_ = Path(path).stat().st_size
    if arguments.json:
        screen.say(screen.dump({"id": arguments.id, "path": path, "bytes": bytes_}))
    else:
        screen.say(f"{path} ({size(bytes_)})")
    return 0
