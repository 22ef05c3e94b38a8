"""Suggests a known name for a mistyped model or command."""

from __future__ import annotations

import difflib
from pathlib import Path

from .._hub import OURS
from ..errors import SottoError, Status

_CUTOFF = 0.75  # difflib ratio; "house" for "home" is 0.67


def explain(error: SottoError, model: str | None) -> str:
    """Returns the error's text, with a suggestion if the model was not found and a known id is close."""
    if model is None or error.status != Status.NOT_FOUND:
        return str(error)
    found = closest(model, [*OURS, *_cached_ids()])
    return str(error) if found is None else f"{error}; did you mean '{found}'?"


def closest(model: str, known: list[str]) -> str | None:
    """Returns the id in `known` that is closest to `model`, by the whole id or by its last part, or None.

    Ignores case and the extension .gguf.
    """
    if model in known:
        return None
    aliases: dict[str, str] = {}
    for one in known:
        for alias in (one, one.rsplit("/", 1)[-1]):
            aliases.setdefault(alias.casefold(), one)
    wanted = model.casefold().removesuffix(".gguf")
    matches = difflib.get_close_matches(wanted, aliases, n=1, cutoff=_CUTOFF)
    return aliases[matches[0]] if matches else None


def _cached_ids() -> list[str]:
    """Returns the ids of the repositories in Hugging Face's cache."""
    from huggingface_hub import constants

    folders = sorted(Path(constants.HF_HUB_CACHE).glob("models--*--*"))
    return [folder.name.removeprefix("models--").replace("--", "/", 1) for folder in folders]
