"""Finds a model's file: on this machine, else on Hugging Face.

Hugging Face ids are `org/name`, `org/name:QUANT` or `org/name/file.gguf`. What is in the cache is used
without asking the network; only then is the repository listed, and one file downloaded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .engine import Progress
from .errors import ModelLoadError, SottoError

HOUSE = "sotto/house"
NOT_FOUND = -7
PREFERENCE = (
    *("Q4_K_M", "Q4_K_S", "Q4_0", "Q5_K_M", "Q5_K_S", "Q5_0", "Q8_0", "Q6_K", "IQ4_NL", "IQ4_XS", "Q3_K_M"),
    *("Q3_K_L", "Q3_K_S", "Q2_K", "F16", "BF16", "F32"),
)
_NAME = r"[A-Za-z0-9][\w.-]*"
_ID = re.compile(rf"(?P<repo>{_NAME}/{_NAME})(?::(?P<quant>[\w.-]+)|/(?P<file>.+\.gguf))?")
_SPLIT = re.compile(r"-\d{5}-of-(\d{5})\.gguf$", re.IGNORECASE)
_NOT_WEIGHTS = re.compile(r"(^|/)(mmproj|imatrix)|imatrix\.gguf$", re.IGNORECASE)
_SHA256 = re.compile(r"[0-9a-f]{64}")


def locate(model_id: str, progress: Progress | None = None) -> str | None:
    """The path of a model's file, downloaded if need be. None: the library is to make sense of the id."""
    path = os.path.expanduser(model_id)
    if model_id == HOUSE or os.path.exists(path):
        return None if model_id == HOUSE else path
    found = _ID.fullmatch(model_id)
    if found is None or found["repo"].endswith(".gguf"):
        return None  # a path, with no file at it
    try:
        return _fetch(found["repo"], found["file"], found["quant"], progress)
    except SottoError:
        raise
    except Exception as error:
        why = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
        message = f"{model_id} is no file here, and cannot be had from Hugging Face: {why}"
        raise ModelLoadError(message, NOT_FOUND) from error


def choose(repo: str, files: Iterable[str], quant: str | None) -> str:
    """Which of a repository's files to load: the same one for the same files, whatever their order."""
    weights = sorted((file for file in files if _is_model(file)), key=lambda file: (len(file), file))
    whole = [file for file in weights if not _SPLIT.search(file)]
    for wanted in (quant,) if quant else PREFERENCE:
        named = re.compile(rf"(^|[-._/]){re.escape(wanted)}(?=[-._/])", re.IGNORECASE)
        for file in whole if whole and not quant else (*whole, *weights):
            if named.search(file):
                return _whole(repo, file)
    if not quant and len(whole or weights) == 1:
        return _whole(repo, (whole or weights)[0])
    if not weights:
        raise ModelLoadError(f"{repo} holds no GGUF file", NOT_FOUND)
    lacks = f"no GGUF file of {quant}" if quant else "several GGUF files, and none of a usual quantisation"
    raise ModelLoadError(f"{repo} holds {lacks}; name one of {', '.join(weights)}", NOT_FOUND)


def _is_model(file: str) -> bool:
    return file.lower().endswith(".gguf") and not _NOT_WEIGHTS.search(file)


def _whole(repo: str, file: str) -> str:
    if split := _SPLIT.search(file):
        raise ModelLoadError(
            f"{repo}/{file} is one of {int(split[1])} parts; split files are not supported. "
            "Choose another quantisation, or join the parts with llama-gguf-split --merge",
            NOT_FOUND,
        )
    return file


def _fetch(repo: str, file: str | None, quant: str | None, progress: Progress | None) -> str:
    file = _whole(repo, file) if file else None
    cached = _cached_files(repo)
    if cached is not None:
        try:
            chosen = file or choose(repo, _files_in(cached), quant)
        except ModelLoadError:
            chosen = None  # the repository may hold more than the cache
        if chosen is not None and (cached / chosen).is_file():
            return str(cached / chosen)
    return _download(repo, file, quant, progress)


def _cached_files(repo: str) -> Path | None:
    from huggingface_hub import constants

    home = Path(constants.HF_HUB_CACHE) / f"models--{repo.replace('/', '--')}"
    ref = home / "refs" / "main"
    return home / "snapshots" / ref.read_text().strip() if ref.is_file() else None


def _files_in(folder: Path) -> list[str]:
    return [found.relative_to(folder).as_posix() for found in folder.rglob("*") if found.is_file()]


def _download(repo: str, file: str | None, quant: str | None, progress: Progress | None) -> str:
    from huggingface_hub import HfApi, hf_hub_download

    endpoint = os.environ.get("HF_ENDPOINT") or None
    file = file or choose(repo, HfApi(endpoint=endpoint).list_repo_files(repo), quant)
    bar = None if progress is None else _bar(progress)
    path = hf_hub_download(repo, file, endpoint=endpoint, tqdm_class=bar)
    _check_hash(Path(path))
    return path


def _check_hash(path: Path) -> None:
    """The cache names a large file by its SHA-256, where it can; nobody else compares the two."""
    import hashlib

    blob = path.resolve()
    if not _SHA256.fullmatch(blob.name):
        return
    digest = hashlib.sha256()
    with blob.open("rb") as content:
        while piece := content.read(1 << 20):
            digest.update(piece)
    if digest.hexdigest() != blob.name:
        path.unlink()
        blob.unlink(missing_ok=True)
        raise ModelLoadError(f"{path.name} arrived damaged: its SHA-256 is {digest.hexdigest()}", NOT_FOUND)


def _bar(progress: Progress) -> Any:
    """A progress bar's class, as huggingface_hub wants one, that draws nothing and tells `progress`."""
    from tqdm import tqdm

    class Bar(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, name: str | None = None, **kwargs: Any) -> None:
            super().__init__(*args, **{**kwargs, "disable": True})
            self.whole, self.got = kwargs.get("total") or 0, kwargs.get("initial") or 0

        def update(self, n: float | None = 1) -> None:
            self.got += n or 0
            if self.whole:
                progress("download", min(1.0, self.got / self.whole))

    return Bar
