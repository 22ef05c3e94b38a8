"""Checks the model that is to be converted, before a library reads it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from ..._values import invalid
from ...errors import ArgumentError, ModelLoadError, Status

_FOLDER = "a Hugging Face model folder (config.json, *.safetensors)"
_OR_GGUF = " or a GGUF file"
_ABSENT = "there is no such file or folder; download the model first"
_PICKLE_MAGIC = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"PK")  # of torch.save() too
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt")
_INDEX = "model.safetensors.index.json"
_FLOAT32 = 4  # bytes of a value
_SIZES: dict[str | None, int] = {  # bytes of a weight, by quantization
    **{"int8": 1, "int8_float32": 1, "bfloat16": 2, "float16": 2, "float32": _FLOAT32}
}
_SPARE = 64 << 20  # bytes of all files but the weights


def check(source: Path) -> None:
    """Raises `ArgumentError` if `source` is no model, `ModelLoadError` if its files are damaged."""
    if source.is_dir():
        check_folder(source, "SOURCE")
    elif source.is_file():
        with source.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise _refused("SOURCE", source, "the file is not GGUF", _OR_GGUF)
    else:
        raise _refused("SOURCE", source, _ABSENT, _OR_GGUF)


def check_folder(folder: Path, parameter: str) -> None:
    """Raises `ArgumentError` if `folder` is no model folder, `ModelLoadError` if its files are damaged.

    `parameter`: name of the argument that `folder` came from.
    """
    if not folder.is_dir():
        raise _refused(parameter, folder, "the path is a file" if folder.exists() else _ABSENT)
    for file in folder.iterdir():
        if not file.is_file() and not file.is_dir():  # to open a FIFO would block
            raise _refused(parameter, folder, f"{file.name} is a broken link, a FIFO, a socket or a device")
    _check_config(folder, parameter)
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        pickled = next((file.name for form in _PICKLED for file in folder.glob(form)), None)
        if pickled is None:
            raise _refused(parameter, folder, "the folder has no *.safetensors")
        raise _refused(
            parameter,
            folder,
            f"{pickled} may be a pickle, which can run code when it is read; save the model with "
            "save_pretrained(), which writes safetensors",
        )
    _check_weights(folder, weights)


def bytes_to_write(source: Path, quantization: str | None) -> int:
    """Returns the bytes that a conversion writes: the model and, of a GGUF file, its copy in float32.

    Raises `ModelLoadError` if a file is damaged.
    """
    if is_gguf(source):
        parameters = _parameters_of_gguf(source)
        return parameters * (_FLOAT32 + _SIZES.get(quantization, _FLOAT32)) + _SPARE
    files = sorted(source.glob("*.safetensors"))
    if quantization is None:
        return sum(file.stat().st_size for file in files) + _SPARE
    return sum(map(_parameters_of_safetensors, files)) * _SIZES[quantization] + _SPARE


def is_gguf(source: Path) -> bool:
    """Returns true for a GGUF file, false for a folder."""
    return source.is_file()


def read_json(file: Path) -> Any:
    """Returns the value of a JSON file. Raises `ModelLoadError` if it is damaged."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise damaged(file, error) from None


def damaged(file: Path, error: object) -> ModelLoadError:
    """Returns the error for a file that cannot be read."""
    why = " ".join(str(error).split())
    return ModelLoadError(f"'{file}' is damaged: {why}; download it again", Status.MODEL)


def cannot_convert(source: Path, error: Exception, doubt: str) -> ModelLoadError:
    """Returns the error for an exception of a converter. `doubt`: what may be the cause."""
    why = " ".join(str(error).split()) or type(error).__name__
    if "trust_remote_code" in why:
        doubt, why = (
            "it needs code from its own folder, which is never run",
            "choose a model without such code",
        )
    return ModelLoadError(f"'{source}' cannot be converted: {doubt}; {why}", Status.UNSUPPORTED)


def _check_config(folder: Path, parameter: str) -> None:
    config = folder / "config.json"
    if (folder / "adapter_config.json").is_file() and not config.is_file():
        raise _refused(
            parameter,
            folder,
            "the folder has an adapter, which engine.lora_load() reads as it is; merge it "
            "into its model to convert both",
        )
    if not config.is_file():
        raise _refused(parameter, folder, "the folder has no config.json")
    if not isinstance(read_json(config), dict):
        raise damaged(config, "it is no JSON object")


def _check_weights(folder: Path, weights: list[Path]) -> None:
    from safetensors import SafetensorError, safe_open

    for file in weights:
        try:
            with safe_open(file, framework="np"):
                pass
        except (SafetensorError, OSError) as error:
            with file.open("rb") as opened:
                pickled = opened.read(2) in _PICKLE_MAGIC
            raise damaged(file, "it is a pickle or a zip file" if pickled else error) from None
    index = folder / _INDEX
    if index.is_file():
        content = read_json(index)
        listed = content.get("weight_map") if isinstance(content, dict) else None
        if not isinstance(listed, dict):
            raise damaged(index, "it is no JSON object with a weight_map")
        for name in sorted(set(map(str, listed.values())) - {file.name for file in weights}):
            raise damaged(index, f"it lists {name}, which is missing")


def _parameters_of_gguf(file: Path) -> int:
    from gguf import GGUFReader

    try:
        return sum(int(tensor.n_elements) for tensor in GGUFReader(file).tensors)
    except Exception as error:  # of any class, where the file ends early
        raise damaged(file, error) from None


def _parameters_of_safetensors(file: Path) -> int:
    from safetensors import safe_open

    with safe_open(file, framework="np") as opened:
        names: list[str] = opened.keys()
        return sum(math.prod(opened.get_slice(name).get_shape()) for name in names)


def _refused(parameter: str, source: Path, why: str, more: str = "") -> ArgumentError:
    return ArgumentError(f"{invalid(parameter, str(source), _FOLDER + more)}; {why}")
