"""Looks at the folder of a pipeline before diffusers does: its parts, and whether they are safe and whole."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from ...errors import ModelLoadError

_MOST_HEADER = 100 << 20  # bytes; the limit of safetensors itself
_MOST_JSON = 64 << 20
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".msgpack", ".h5")
_VOCABULARIES: tuple[str, ...] = (
    "tokenizer.json",
    "spiece.model",
    "tokenizer.model",
    "sentencepiece.bpe.model",
    "merges.txt",
)
_VOCABULARIES += ("vocab.txt",)  # without one of these files, transformers makes an empty tokenizer
_WIDTHS = {
    "BOOL": 8,
    "U8": 8,
    "I8": 8,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "F8_E4M3": 8,
    "F8_E5M2": 8,
}
_WIDTHS |= {"I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_AGAIN = "save the pipeline again with save_pretrained()"


class Part(NamedTuple):
    """A part of a pipeline, as `model_index.json` names it.

    Attributes:
        name: Name of the part and of its folder, such as "vae".
        library: "diffusers", "transformers", or a module of `diffusers.pipelines`.
        kind: Name of the class.
        values: Values in the part's safetensors files; 0: the part has no weights.
        floats: How many of them are floating-point numbers, which are converted to `dtype`.
        other_bytes: Bytes of the other values.
    """

    name: str
    library: str
    kind: str
    values: int = 0
    floats: int = 0
    other_bytes: int = 0


class Pipeline(NamedTuple):
    """What the folder of a pipeline holds: the name of its class, and its parts."""

    kind: str
    parts: tuple[Part, ...]
    missing: tuple[str, ...]  # parts that the pipeline lacks on purpose

    def bytes_as(self, width: int) -> int:
        """Returns the bytes of the weights with floating-point values of `width` bytes."""
        return sum(part.floats * width + part.other_bytes for part in self.parts)


def pipeline_in(folder: Path, variant: str = "") -> Pipeline:
    """Reads the list of a pipeline's parts, and the header of each weight file.

    Raises:
        ModelLoadError: The folder holds no pipeline, a part of it is missing or damaged, or the pipeline
            would execute code: Python files of its own, or pickled weights.
    """
    if not folder.is_dir():
        raise ModelLoadError(f"'{folder}' is no folder: expected one of a diffusers pipeline")
    if not (folder / "model_index.json").is_file():
        raise ModelLoadError(f"'{folder}' has no model_index.json: expected a folder of a diffusers pipeline")
    index = read_object(folder / "model_index.json")
    kind = index.get("_class_name")
    if not isinstance(kind, str) or not _NAME.fullmatch(kind):
        raise _code(folder / "model_index.json", "_class_name", kind)
    parts, missing = [], []
    for name, value in index.items():
        if name.startswith("_") or not isinstance(value, list):
            continue
        if value[:2] == [None, None]:
            missing.append(name)
        else:
            parts.append(_part(folder, name, value, variant))
    if not any(part.values for part in parts):
        raise ModelLoadError(f"'{folder / 'model_index.json'}' names no part with weights: {_AGAIN}")
    return Pipeline(kind, tuple(parts), tuple(missing))


def read_object(file: Path) -> dict[str, Any]:
    """Returns the JSON object of a file. Raises `ModelLoadError` if it is damaged, or something else."""
    if file.stat().st_size > _MOST_JSON:
        raise ModelLoadError(f"'{file}' is larger than {_MOST_JSON >> 20} MiB: {_AGAIN}")
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelLoadError(f"'{file}' is damaged: {error}; {_AGAIN}") from None
    if not isinstance(found, dict):
        raise ModelLoadError(f"'{file}' is damaged: expected a JSON object; {_AGAIN}")
    return found


def _part(folder: Path, name: str, value: list[Any], variant: str) -> Part:
    index = folder / "model_index.json"
    names = [name, *value]
    if len(value) != 2 or not all(isinstance(one, str) and _NAME.fullmatch(one) for one in names):
        raise _code(index, name, value)
    inside = folder / name
    if not inside.is_dir():
        raise ModelLoadError(
            f"'{folder}' has no folder {name}, which model_index.json names: copy the whole pipeline"
        )
    if found := next(inside.glob("*.py"), None):
        raise ModelLoadError(f"'{found}' is code of its own: expected a pipeline of diffusers' own classes")
    library, kind = value
    config = inside / "config.json"
    if "Tokenizer" in kind and not any((inside / file).is_file() for file in _VOCABULARIES):
        raise ModelLoadError(f"'{inside}' has none of {', '.join(_VOCABULARIES)}: copy the whole pipeline")
    if not config.is_file():  # a scheduler, a tokenizer or an image processor
        return Part(name, library, kind)
    if "auto_map" in read_object(config):
        raise _code(config, "auto_map", "...")
    return Part(name, library, kind, *_sizes(inside, variant))


def _code(file: Path, field: str, value: object) -> ModelLoadError:
    return ModelLoadError(
        f"'{file}': {field} is {json.dumps(value)[:80]}: expected a class of diffusers or transformers; "
        "code of a pipeline's own is not executed"
    )


def _sizes(folder: Path, variant: str) -> tuple[int, int, int]:
    values = floats = others = 0
    for file in _weight_files(folder, variant):
        for kind, count in tensors_in(file):
            values += count
            if kind.startswith(("F", "BF")):
                floats += count
            else:
                others += count * _WIDTHS[kind] // 8
    return values, floats, others


def _weight_files(folder: Path, variant: str) -> list[Path]:
    """The safetensors files that diffusers and transformers load from a part's folder."""
    dotted = f".{variant}" if variant else ""
    for stem in ("diffusion_pytorch_model", "model"):
        whole = folder / f"{stem}{dotted}.safetensors"
        index = folder / f"{stem}.safetensors.index{dotted}.json"
        if whole.is_file():
            return [whole]
        if index.is_file():
            return _shards(index)
    if other := next((file for file in sorted(folder.glob("*.safetensors")) if file.is_file()), None):
        raise ModelLoadError(f"'{folder}' has '{other.name}' alone: set the load option variant")
    if found := next((file for file in sorted(folder.iterdir()) if file.suffix in _PICKLES), None):
        raise ModelLoadError(
            f"'{found}' may execute code when it is loaded: expected safetensors; "
            "save the pipeline again with save_pretrained(safe_serialization=True)"
        )
    raise ModelLoadError(f"'{folder}' has no safetensors file: copy the whole pipeline")


def _shards(index: Path) -> list[Path]:
    listed = read_object(index).get("weight_map")
    if not isinstance(listed, Mapping) or not listed:
        raise ModelLoadError(f"'{index}' is damaged: expected weight_map, an object; {_AGAIN}")
    names = sorted({str(name) for name in listed.values()})
    for name in names:
        if PurePosixPath(name).name != name or "\\" in name or not name.endswith(".safetensors"):
            raise ModelLoadError(f"'{index}' names the file '{name[:80]}': expected one beside it")
        if not (index.parent / name).is_file():
            raise ModelLoadError(f"'{index.parent}' has no {name}: copy the whole pipeline")
    return [index.parent / name for name in names]


def tensors_in(file: Path) -> Iterator[tuple[str, int]]:
    """Yields type and number of values of each tensor of a safetensors file.

    Raises `ModelLoadError` unless the tensors cover the file exactly: see the format's description,
    https://github.com/huggingface/safetensors#format.
    """
    size = file.stat().st_size
    with file.open("rb") as opened:
        head = opened.read(8)
        length = struct.unpack("<Q", head)[0] if len(head) == 8 else 0
        if not 2 <= length <= min(_MOST_HEADER, size - 8):
            raise _damaged(file, "the length of its header is wrong, or the file is truncated")
        header = opened.read(length)
    try:
        found = json.loads(header)
        found.pop("__metadata__", None)
        spans = sorted(
            (*tensor["data_offsets"], tensor["dtype"], tensor["shape"]) for tensor in found.values()
        )
        at = 0
        for begin, end, kind, shape in spans:
            count = math.prod(shape)
            if begin != at or min(shape, default=0) < 0 or (end - begin) * 8 != count * _WIDTHS[kind]:
                raise _damaged(file, f"a tensor of type {kind} and shape {shape} has {end - begin} bytes")
            at = end
            yield kind, count
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise _damaged(file, "its header is no list of tensors") from None
    if 8 + length + at != size:
        raise _damaged(file, f"it has {size:,} bytes, but its tensors need {8 + length + at:,}")


def _damaged(file: Path, reason: str) -> ModelLoadError:
    return ModelLoadError(f"'{file}' is damaged: {reason}; copy or download it again")
