"""Loads the parts of a pipeline from its folder, without network, code of its own and pickled weights."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import diffusers
import torch
import transformers

from ...errors import ModelLoadError, Status
from .files import Part, Pipeline
from .options import Options

_NEEDED = {"prompt", "num_inference_steps", "generator", "output_type", "height", "width"}
_CALLBACKS = ("callback_on_step_end", "callback")
_WITHOUT = ("text_encoder", "tokenizer")  # a prompt needs them


def load(folder: Path, pipeline: Pipeline, options: Options, report: Callable[[float], None]) -> Any:
    """Returns the pipeline, a `diffusers.DiffusionPipeline` in inference mode.

    Raises:
        ModelLoadError: The class is unknown or no text-to-image pipeline, or a part cannot be loaded.
    """
    weighted = [part for part in pipeline.parts if part.values]
    total, done, loaded = sum(part.values for part in weighted), 0, {}
    with _quiet():
        kind = class_of(folder, pipeline)
        for part in weighted:
            report(done / total)
            loaded[part.name] = _module(folder, part, options)
            done += part.values
        try:
            made = kind.from_pretrained(
                folder, **loaded, dtype=getattr(torch, options.dtype), local_files_only=True
            )
        except Exception as error:  # of tokenizers and schedulers: many types
            raise ModelLoadError(f"'{folder}' cannot be loaded: {_told(error)}") from None
    for name in _WITHOUT:
        if getattr(made, name, None) is None:
            raise ModelLoadError(f"'{folder}' has no {name}: copy the whole pipeline; a prompt needs it")
    made.set_progress_bar_config(disable=True)
    if options.tiling and hasattr(made.vae, "enable_tiling"):
        made.vae.enable_tiling()
    return made


def class_of(folder: Path, pipeline: Pipeline) -> Any:
    """Returns the class of a pipeline. Raises `ModelLoadError` if it generates no images from text."""
    from diffusers.pipelines import auto_pipeline  # imports every pipeline, so that no request has to

    found = getattr(diffusers, pipeline.kind, None)
    if not inspect.isclass(found) or not issubclass(found, diffusers.DiffusionPipeline):
        raise ModelLoadError(
            f"'{folder}' is a {pipeline.kind}: diffusers {diffusers.__version__} has no such pipeline",
            Status.UNSUPPORTED,
        )
    fields = inspect.signature(found.__call__).parameters
    made_for = fields.keys() >= _NEEDED and "num_frames" not in fields and callback_of(fields)
    from_text = found in auto_pipeline.AUTO_TEXT2IMAGE_PIPELINES_MAPPING.values()
    if not made_for or ("image" in fields and not from_text):
        raise ModelLoadError(
            f"'{folder}' is a {pipeline.kind}: expected a pipeline that generates images from text alone",
            Status.UNSUPPORTED,
        )
    return found


def callback_of(fields: Mapping[str, object]) -> str:
    """Returns the name of the argument that takes a function to call after each step; "" if none does."""
    return next((name for name in _CALLBACKS if name in fields), "")


def _module(folder: Path, part: Part, options: Options) -> Any:
    kind, where = _class(folder, part), f"'{folder / part.name}'"
    try:
        made, told = kind.from_pretrained(
            folder / part.name,
            dtype=getattr(torch, options.dtype),
            variant=options.variant or None,
            use_safetensors=True,
            local_files_only=True,
            output_loading_info=True,
        )
    except Exception as error:  # the libraries raise errors of many types for damaged files
        raise ModelLoadError(f"{where} cannot be loaded as {part.kind}: {_told(error)}") from None
    for problem in ("missing_keys", "mismatched_keys", "error_msgs"):
        if wrong := sorted(map(str, told.get(problem, ()))):
            raise ModelLoadError(
                f"{where} is damaged: {problem.replace('_', ' ')} {', '.join(wrong[:3])[:200]}; "
                "copy or download it again"
            )
    return made.eval()


def _class(folder: Path, part: Part) -> Any:
    if part.library in ("diffusers", "transformers"):
        library: Any = {"diffusers": diffusers, "transformers": transformers}[part.library]
    else:
        library = getattr(importlib.import_module("diffusers.pipelines"), part.library, None)
    found = getattr(library, part.kind, None)
    if not inspect.isclass(found) or not issubclass(found, torch.nn.Module):
        raise ModelLoadError(
            f"'{folder}': {part.name} is a {part.library}.{part.kind}, which diffusers "
            f"{diffusers.__version__} and transformers {transformers.__version__} do not have",
            Status.UNSUPPORTED,
        )
    return found


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps progress bars and advice of the libraries off the terminal."""
    libraries = (transformers.utils.logging, diffusers.utils.logging)
    before = [(one, one.get_verbosity(), one.is_progress_bar_enabled()) for one in libraries]
    for one in libraries:
        one.set_verbosity_error()
        one.disable_progress_bar()
    try:
        yield
    finally:
        for one, verbosity, had_bars in before:
            one.set_verbosity(verbosity)
            if had_bars:
                one.enable_progress_bar()
