"""Converts models in safetensors to GGUF files, and quantizes them, into the cache."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from pathlib import Path

from .._places import default_folder
from .._values import invalid
from ..engine import Engine
from .errors import RunnerError, translated
from .models import Embedding, Lora, ModelDType, Plain, Which

_TYPES = {ModelDType.F16: "F16", ModelDType.BF16: "BF16", ModelDType.F32: "F32"}
_SPECIAL = {"phi2": "phi", "phi35moe": "phimoe", "embeddinggemma": "gemma3text", "qwen3embedding": "qwen3"}
_FILES = ("*.safetensors", "*.json", "*.model", "*.jinja", "*.txt")  # what a converted model depends on
_lock = threading.Lock()  # one conversion of this process at a time


def converts(which: Which) -> bool:
    """Returns True if a model is in safetensors."""
    return isinstance(which, Plain | Lora | Embedding)


def gguf_of(which: Which, quant: str | None) -> str:
    """Returns the GGUF file of a model in safetensors, which is converted if the cache does not have it.

    Args:
        which: A `Which.Plain`, `Lora` or `Embedding`.
        quant: Type to quantize it to; None: `which.dtype`.

    Raises:
        RunnerError: The folder holds no model, or another one than `arch`, or it cannot be converted.
    """
    assert isinstance(which, Plain | Lora | Embedding)
    folder = Path(os.path.expanduser(str(which.model_id)))
    if not (folder / "config.json").is_file():
        expected = "a folder with config.json and model*.safetensors; download the model with `hf download`"
        raise RunnerError(invalid("model_id", which.model_id, expected))
    _check_architecture(which, folder)
    imatrix = getattr(which, "imatrix", None) or getattr(which, "calibration_file", None)
    if getattr(which, "imatrix", None) and getattr(which, "calibration_file", None):
        raise RunnerError("invalid imatrix with calibration_file: expected one of them")
    kind = quant or _TYPES.get(which.dtype)
    to = cache_folder() / f"{folder.resolve().name}-{_digest(folder, imatrix)}-{kind or 'auto'}.gguf"
    with _lock, translated():
        if not to.is_file():
            from ..commands.models.convert import convert

            to.parent.mkdir(parents=True, exist_ok=True)
            convert(folder.absolute(), to, kind, imatrix if quant else None)
    return str(to)


def quantized(engine: Engine, path: str, quant: str) -> str:
    """Returns the file of a GGUF model in another type, which is made if the cache does not have it."""
    source = Path(path)
    told = source.stat()
    key = hashlib.sha256(f"{source.resolve()}:{told.st_size}:{told.st_mtime_ns}".encode()).hexdigest()[:16]
    to = cache_folder() / f"{source.stem}-{key}-{quant}.gguf"
    with _lock, translated():
        if not to.is_file():
            to.parent.mkdir(parents=True, exist_ok=True)
            engine.quantize(source, to, type=quant)
    return str(to)


def cache_folder() -> Path:
    """Returns the folder of converted models: SOTTO_MODEL_DIR, or one in the user's data folder."""
    own = os.environ.get("SOTTO_MODEL_DIR")
    return Path(own) if own else Path(default_folder()).parent / "models"


def _check_architecture(which: Plain | Lora | Embedding, folder: Path) -> None:
    """Raises `RunnerError` if `arch` is another architecture than that of `config.json`."""
    if which.arch is None:
        return
    try:
        told = str(json.loads((folder / "config.json").read_text(encoding="utf-8")).get("model_type", ""))
    except (OSError, ValueError, AttributeError) as error:
        raise RunnerError(f"'{folder / 'config.json'}' cannot be read: {error}") from None
    wanted = _plain(which.arch.value)
    if _SPECIAL.get(wanted, wanted) != _plain(told):
        raise RunnerError(
            invalid("arch", which.arch.name, f"the architecture of config.json, '{told}', or None")
        )


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _digest(folder: Path, imatrix: str | None) -> str:
    """Returns a hash of the names, sizes and times of the files that a converted model is made of."""
    files = sorted({one for form in _FILES for one in folder.glob(form)})
    files += [Path(imatrix)] if imatrix and Path(imatrix).is_file() else []
    lines = [f"{one.resolve()}:{one.stat().st_size}:{one.stat().st_mtime_ns}" for one in files]
    return hashlib.sha256("\n".join([*lines, imatrix or ""]).encode()).hexdigest()[:16]
