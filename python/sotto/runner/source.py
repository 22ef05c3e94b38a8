"""Finds the files that a `Which` names."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from .._hub import built_in, locate
from .._tavern import ADAPTER, TAVERN
from .._values import invalid, typed
from .._web import using_token
from .errors import RunnerError, translated
from .models import (
    GGUF,
    Embedding,
    IsqOrganization,
    Lora,
    LoraGGUF,
    ModelDType,
    Plain,
    TextAutoMapParams,
    Which,
)
from .refusals import refuse
from .tokens import CACHE

_ABSENT = (  # fields that are refused if they are set
    *("topology", "write_uqff", "from_uqff", "hf_cache_path", "tokenizer_json", "tok_model_id"),
    *("matformer_config_path", "matformer_slice_name"),
)
Converter = Callable[["Which"], str]  # returns the GGUF file of a model in safetensors


class Source(NamedTuple):
    """The files of a model.

    Attributes:
        path: The GGUF file.
        adapters: Files and folders of LoRA adapters, by name.
        active: Names of the adapters that requests use by themselves.
        projector: GGUF file of the multimodal projector.
        hints: Size of its sequences.
        embeds: The model embeds texts.
    """

    path: str
    adapters: dict[str, str]
    active: tuple[str, ...] = ()
    projector: str | None = None
    hints: TextAutoMapParams | None = None
    embeds: bool = False


def name_of(which: Which) -> str:
    """Returns the id of a model that has no alias. Raises `RunnerError` if the model id is empty."""
    typed("which", which, Which)
    if type(which) is Which:
        raise RunnerError("invalid which 'Which()': expected one of its attributes, such as Which.GGUF(...)")
    field = "quantized_model_id" if isinstance(which, GGUF | LoraGGUF) else "model_id"
    name = getattr(which, field)
    if not name or "\0" in name or "::" in name:
        raise RunnerError(invalid(field, name, "a folder, or a Hugging Face id"))
    return str(name)


def check(which: Which) -> None:
    """Raises `RunnerError` if a field of `which` is refused."""
    name_of(which)
    for name in _ABSENT:
        if getattr(which, name, None) is not None:
            refuse(name)
    if getattr(which, "organization", None) is IsqOrganization.MoQE:
        refuse("organization=MoQE")
    if isinstance(which, GGUF | LoraGGUF):
        if which.dtype is not ModelDType.Auto:
            refuse("dtype of a GGUF file")
        _one(which.quantized_filename)


def resolve(which: Which, token: str | None, converter: Converter) -> Source:
    """Returns the files of a model. Downloads and converts what is missing.

    Args:
        which: The model.
        token: Token for Hugging Face; "cache": the one that its client finds; None: none.
        converter: Converts a model in safetensors.

    Raises:
        RunnerError: A file is missing, or cannot be downloaded or converted.
    """
    with translated(), using_token(token, implicit=token == CACHE):
        if isinstance(which, GGUF):
            path = gguf(which.quantized_model_id, _one(which.quantized_filename))
            projector = which.mmproj_filename
            seen = None if projector is None else gguf(which.quantized_model_id, _one(projector))
            named = {one.alias: _adapter(one.source) for one in which.adapters or ()}
            if which.quantized_model_id == TAVERN:
                return Source(
                    path, {"tavern": str(ADAPTER), **named}, ("tavern",), seen, which.auto_map_params
                )
            return Source(path, named, (), seen, which.auto_map_params)
        if isinstance(which, LoraGGUF):
            path = gguf(which.quantized_model_id, _one(which.quantized_filename))
            named = ordered(which.adapters_model_id, which.order)
            return Source(path, named, tuple(named), None, which.auto_map_params)
        if isinstance(which, Lora):
            named = {_base(one): _adapter(one) for one in which.adapter_model_ids}
            return Source(converter(which), named, tuple(named), None, which.auto_map_params)
        if isinstance(which, Embedding):
            return Source(converter(which), {}, embeds=True)
        assert isinstance(which, Plain)
        return Source(converter(which), {}, hints=which.auto_map_params)


def gguf(model_id: str, filename: str) -> str:
    """Returns the path of a GGUF file in a folder or a repository. Downloads it if it is missing."""
    if (file := built_in(model_id)) is not None:
        return str(file)
    if model_id.startswith("sotto/"):
        return str(locate(model_id))
    folder = Path(os.path.expanduser(model_id))
    if folder.is_dir():
        found = folder / filename
        if not found.is_file():
            known = ", ".join(sorted(one.name for one in folder.glob("*.gguf"))) or "none"
            raise RunnerError(
                invalid("quantized_filename", filename, f"a file in '{folder}'; GGUF files: {known}")
            )
        return str(found)
    found_path = locate(f"{model_id}/{filename}")
    if found_path is None:
        raise RunnerError(
            invalid("quantized_model_id", model_id, "a folder that exists, or a Hugging Face id")
        )
    return found_path


def ordered(folder: str, order: str) -> dict[str, str]:
    """Returns the adapters in a folder, in the order of an ordering file; "": the folder is the adapter."""
    if not order:
        return {_base(folder): _adapter(folder)}
    try:
        names = json.loads(Path(order).read_text(encoding="utf-8"))["order"]
        if not names or not all(isinstance(one, str) and one for one in names):
            raise ValueError("no list of names in its field 'order'")
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = "no field 'order'" if isinstance(error, KeyError) else error
        raise RunnerError(
            invalid("order", order, f"a JSON file with the names of adapters: {reason}")
        ) from None
    inside = Path(folder)
    return {one: _adapter(str(inside / one)) for one in names}


def _adapter(path: str) -> str:
    if not os.path.exists(path):
        raise RunnerError(invalid("adapter", path, "a GGUF file, or the folder of a PEFT adapter"))
    return path


def _base(path: str) -> str:
    return Path(path).name or "adapter"


def _one(filename: str | list[str]) -> str:
    names = [filename] if isinstance(filename, str) else list(filename)
    if len(names) != 1 or not names[0] or "\0" in names[0]:
        merge = "one file; merge parts with llama-gguf-split --merge"
        raise RunnerError(invalid("quantized_filename", filename, merge))
    return names[0]
