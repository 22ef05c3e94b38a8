"""Finds a model's file on this machine, or downloads it from Hugging Face.

Hugging Face ids are `org/name`, `org/name:QUANT` or `org/name/file.gguf`. A cached file is used without
network access. Otherwise, the repository is listed and one file is downloaded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from . import _minilm, _tavern
from ._asking import Progress
from ._lib import library_folder
from ._onnxruntime import MATTING
from ._values import invalid
from .errors import ArgumentError, ModelLoadError, SottoError, Status

Transferred = Callable[[int, int], None]  # called with the bytes present and the size of the file

HOUSE = "sotto/house"
_BUILT_IN = {HOUSE: "house.gguf", MATTING: "matting.onnx"}  # beside the library
OURS = (HOUSE, _tavern.TAVERN)  # models of characters, with settings of their own
_OTHERS = (_tavern.TAVERN, _minilm.MINILM)  # which are not in the package
PREFERENCE = (
    *("Q4_K_M", "Q4_K_S", "Q4_0", "Q5_K_M", "Q5_K_S", "Q5_0", "Q8_0", "Q6_K", "IQ4_NL", "IQ4_XS", "Q3_K_M"),
    *("Q3_K_L", "Q3_K_S", "Q2_K", "F16", "BF16", "F32"),
)
_NAMED = 30  # maximum number of files in an error message
_NAME = r"[A-Za-z0-9][\w.-]*"
_ID = re.compile(rf"(?P<repo>{_NAME}/{_NAME})(?::(?P<quant>[\w.-]+)|/(?P<file>.+\.gguf))?")
_SPLIT = re.compile(r"-\d{5}-of-(\d{5})\.gguf$", re.IGNORECASE)
_NOT_WEIGHTS = re.compile(r"(^|/)(mmproj|imatrix)|imatrix\.gguf$", re.IGNORECASE)


def locate(model_id: str, progress: Progress | None = None) -> str | None:
    """Returns the path of a model's file; downloads it if missing. None: the library resolves the id."""
    if model_id in _OTHERS:
        told = None if progress is None else _parts(progress)
        return _tavern.pull(told) if model_id == _tavern.TAVERN else _minilm.pull(told)
    wanted = _wanted(model_id)
    if not isinstance(wanted, Wanted):
        return wanted
    with _reasons(f"model '{model_id}' is not a local file and cannot be downloaded from Hugging Face"):
        return _here(wanted) or _download(wanted, None if progress is None else _parts(progress))


def find(model_id: str) -> str | None:
    """Returns the path of a model's file without network access. None: the library resolves the id.

    Raises `ModelLoadError` if the file is not on this machine.
    """
    if model_id in _OTHERS:
        return _tavern.find() if model_id == _tavern.TAVERN else _minilm.find()
    wanted = _wanted(model_id)
    if not isinstance(wanted, Wanted):
        return wanted
    with _reasons(f"model '{model_id}' is not a local file, and Hugging Face's cache cannot be read"):
        path = _here(wanted)
    if path is None:
        raise ModelLoadError(
            f"model '{model_id}' is neither a local file nor in Hugging Face's cache; "
            f"download it with `sotto models pull {model_id}`",
            Status.NOT_FOUND,
        )
    return path


def built_in(model_id: str) -> Path | None:
    """Returns the file of a model that comes with the library; None: `model_id` is none of them."""
    name = _BUILT_IN.get(model_id)
    return None if name is None else library_folder() / name


def default_model() -> str:
    """Returns the model of the commands that speak: sotto/tavern if it is on this machine."""
    return HOUSE if _tavern.base() is None else _tavern.TAVERN


def _wanted(model_id: str) -> Wanted | str | None:
    """Returns the path if `model_id` is a file that exists, else the parsed Hugging Face id.

    None for a model that comes with the library and for any other text: the native library finds it, or
    reports the error.
    Raises `ModelLoadError` for an unknown id that begins with `sotto/`.
    """
    path = os.path.expanduser(model_id)
    if model_id in _BUILT_IN:
        return None
    if os.path.exists(path):
        return path
    if model_id.startswith("sotto/"):  # reserved for Sotto's own models: fails without a network request
        raise ModelLoadError(
            f"model '{model_id}' does not exist: those of Sotto are "
            + ", ".join(f"'{name}'" for name in (*_BUILT_IN, *_OTHERS)),
            Status.NOT_FOUND,
        )
    return parse(model_id)  # None: a path to a file that does not exist


def pull(
    model_id: str, file: str | None, revision: str | None, transferred: Transferred | None = None
) -> str:
    """Downloads the newest version of a model's file, or its missing part. Returns its path."""
    wanted = parse(model_id)
    if wanted is None or (file is not None and (wanted.file or wanted.quant)):
        forms = "org/name, org/name:QUANT or org/name/file.gguf"
        raise ArgumentError(invalid("model_id", model_id, f"{forms}, or org/name and a file"))
    wanted = wanted._replace(file=file or wanted.file, revision=revision)
    with _reasons(f"model '{model_id}' cannot be downloaded from Hugging Face"):
        return _download(wanted, transferred)


class Wanted(NamedTuple):
    """A parsed Hugging Face id."""

    repo: str
    file: str | None
    quant: str | None
    revision: str | None = None


def parse(model_id: str) -> Wanted | None:
    """Parses a Hugging Face id. Returns None if `model_id` has another form."""
    found = _ID.fullmatch(model_id)
    if found is None or found["repo"].endswith(".gguf"):
        return None
    return Wanted(found["repo"], found["file"], found["quant"])


@contextmanager
def _reasons(what: str) -> Iterator[None]:
    try:
        yield
    except SottoError:
        raise
    except Exception as error:
        why = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
        raise ModelLoadError(f"{what}: {why}", Status.NOT_FOUND) from error


def choose(repo: str, files: Iterable[str], quant: str | None) -> str:
    """Returns the file of a repository to load. The result does not depend on the order of `files`.

    Raises `ModelLoadError` if no file matches, several candidates are left, or the file is split.
    """
    weights = sorted((file for file in files if is_model(file)), key=lambda file: (len(file), file))
    whole = [file for file in weights if not _SPLIT.search(file)]
    for wanted in (quant,) if quant else PREFERENCE:
        named = re.compile(rf"(^|[-._/]){re.escape(wanted)}(?=[-._/])", re.IGNORECASE)
        for file in whole if whole and not quant else (*whole, *weights):
            if named.search(file):
                return _whole(repo, file)
    if not quant and len(whole or weights) == 1:
        return _whole(repo, (whole or weights)[0])
    if not weights:
        raise ModelLoadError(f"repository '{repo}' contains no GGUF file", Status.NOT_FOUND)
    lacks = f"no GGUF file of {quant}" if quant else "several GGUF files, none of a usual quantisation"
    more = ", ..." if len(weights) > _NAMED else ""
    raise ModelLoadError(
        f"repository '{repo}' contains {lacks}; choose one of {', '.join(weights[:_NAMED])}{more}",
        Status.NOT_FOUND,
    )


def is_model(file: str) -> bool:
    """Returns True if a repository's file holds a model's weights."""
    return file.lower().endswith(".gguf") and not _NOT_WEIGHTS.search(file)


def _whole(repo: str, file: str) -> str:
    if split := _SPLIT.search(file):
        raise ModelLoadError(
            f"'{repo}/{file}' is one of {int(split[1])} parts: split files are not supported; "
            "choose another quantisation, or merge the parts with llama-gguf-split --merge",
            Status.NOT_FOUND,
        )
    return file


def _here(wanted: Wanted) -> str | None:
    """Returns the path of a cached file; None if it is not cached."""
    file = _whole(wanted.repo, wanted.file) if wanted.file else None
    cached = _cached_files(wanted.repo)
    if cached is None:
        return None
    try:
        chosen = file or choose(wanted.repo, _files_in(cached), wanted.quant)
    except ModelLoadError:
        return None  # the repository may hold more than the cache
    return str(cached / chosen) if (cached / chosen).is_file() else None


def _cached_files(repo: str) -> Path | None:
    from ._cache import home

    ref = home(repo) / "refs" / "main"
    return home(repo) / "snapshots" / ref.read_text().strip() if ref.is_file() else None


def _files_in(folder: Path) -> list[str]:
    return [found.relative_to(folder).as_posix() for found in folder.rglob("*") if found.is_file()]


def _download(wanted: Wanted, transferred: Transferred | None) -> str:
    from huggingface_hub import constants

    from ._cache import bring
    from ._web import Hub, is_plain

    if constants.HF_HUB_OFFLINE:
        raise ModelLoadError(
            "offline mode is on: unset HF_HUB_OFFLINE, or load a local file", Status.NOT_FOUND
        )
    got = (0, 0)  # bytes present, and the size of the file

    def told(have: int, size: int) -> None:
        nonlocal got
        got = (have, size)
        alive()

    def alive() -> None:
        if transferred is not None:
            transferred(*got)

    endpoint = os.environ.get("HF_ENDPOINT") or constants.ENDPOINT
    hub = Hub(endpoint, wanted.repo, wanted.revision, alive)
    file = wanted.file or choose(wanted.repo, filter(is_plain, hub.files()), wanted.quant)
    return str(bring(hub, wanted.repo, _whole(wanted.repo, file), wanted.revision, told))


def _parts(progress: Progress) -> Transferred:
    return lambda got, whole: progress("download", min(1.0, got / whole) if whole else 0.0)
