"""`sotto models list`: the models on this machine."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from pathlib import Path

from ... import _minilm, _tavern
from ..._hub import HOUSE, OURS, built_in, is_model
from ..._onnxruntime import MATTING
from .. import screen
from ..text import size
from .gguf import architecture


@dataclass(frozen=True)
class Found:
    """A model on this machine. `id`: the name that other commands accept."""

    id: str
    architecture: str | None
    bytes: int
    path: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto models list` to `parser`."""
    parser.add_argument("--json", action="store_true", help="print one JSON array")


def run(arguments: argparse.Namespace) -> int:
    """Prints the models on this machine. Returns the exit status."""
    ours = _ours()
    paths = {model.path for model in ours}
    others = [model for model in _cached() if model.path not in paths]
    found = [*ours, *sorted(others, key=lambda model: model.id)]
    if arguments.json:
        screen.say(screen.dump([asdict(model) for model in found]))
    else:
        _show(found)
    return 0


def _ours() -> list[Found]:
    paths = {
        HOUSE: built_in(HOUSE),
        MATTING: built_in(MATTING),
        _tavern.TAVERN: _tavern.base(),
        _minilm.MINILM: _minilm.base(),
    }
    return [_found(name, path) for name, path in paths.items() if path is not None and path.exists()]


def _cached() -> list[Found]:
    from huggingface_hub import CacheNotFound, scan_cache_dir

    try:
        repos = scan_cache_dir().repos
    except CacheNotFound:
        return []
    models: dict[str, Found] = {}
    for repo in repos:
        for revision in sorted(repo.revisions, key=lambda one: "main" in one.refs, reverse=True):
            for file in revision.files:
                name = file.file_path.relative_to(revision.snapshot_path).as_posix()
                if repo.repo_type != "model" or not is_model(name):
                    continue
                # Files of the revision `main` are listed by id, files of other revisions by path.
                known = f"{repo.repo_id}/{name}" if "main" in revision.refs else str(file.file_path)
                models.setdefault(known, _found(known, file.file_path))
    return list(models.values())


def _found(known: str, path: Path) -> Found:
    kind = "segmentation" if known == MATTING else architecture(path)
    return Found(known, kind, path.stat().st_size, str(path))


def _show(found: list[Found]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("model", "architecture"):
        table.add_column(column, overflow="fold")
    table.add_column("size", justify="right")
    table.add_column("path", style="dim", overflow="fold")
    for model in found:
        path = "" if model.id == model.path else model.path
        table.add_row(*map(escape, (model.id, model.architecture or "?", size(model.bytes), path)))
    screen.console().print(table)
    if not any(model.id not in (*OURS, MATTING) for model in found):
        screen.say("\nThere is none of Hugging Face's. `sotto models pull org/name` fetches one.")
