"""Load options of a model, and the engine's thread limit, for the flags of llama-server."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ...errors import ArgumentError
from .files import read_text
from .templates import named

_BATCH = 512  # tokens of a step without -b
_MAX_BATCH = 4096
_MAX_THREADS = 512
_MAX_DRAFT = 15  # tokens
_LOAD_MODES: Mapping[str, Mapping[str, bool]] = {
    "auto": {},
    "none": {"mmap": False},
    "mmap": {},
    "mlock": {"mmap": False, "mlock": True},
    "mmap+mlock": {"mlock": True},
    "dio": {"mmap": False},
}


def load_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of the load.

    Raises:
        ArgumentError: A value is out of range; the message names the flag.
    """
    made = _sizes(given) | _threads(given) | _attention(given) | _memory(given) | _rope(given) | _draft(given)
    if given.get("projector") and not given.get("no_projector"):
        made["projector"] = given["projector"]
        made.pop("ubatch", None)  # an image is computed at once
    if "image_tokens" in given:
        made["image_tokens"] = min(max(given["image_tokens"], 64), 16384)
    if text := _template(given):
        made["chat_template"] = text
    pooling = given.get("pooling")
    if pooling is not None and (pooling != "none" or given.get("embeddings")):
        made["pooling"] = pooling
    elif given.get("reranking"):
        made["pooling"] = "rank"
    return made


def engine_threads(given: Mapping[str, Any]) -> int:
    """Returns the engine's thread limit: the larger of `-t` and `-tb`; 0: no limit."""
    decode, prefill = given.get("threads", 0), given.get("threads_batch", 0)
    return min(max(decode, prefill), _MAX_THREADS) if decode > 0 else 0


def _sizes(given: Mapping[str, Any]) -> dict[str, Any]:
    parallel = given.get("parallel", -1)
    made: dict[str, Any] = {} if parallel < 1 else {"parallel": parallel}
    if parallel > 64:
        raise ArgumentError(f"invalid --parallel '{parallel}': expected 1 to 64")
    if (context := given.get("context", 0)) > 0:
        shared = 1 if given.get("kv_unified", parallel < 1) else max(parallel, 1)
        made["context"] = max(context // shared, 16)
    if "batch" in given:
        made["batch"] = min(max(given["batch"], parallel, 16), _MAX_BATCH)
    embeds = given.get("embeddings") or given.get("reranking") or given.get("pooling")
    if (ubatch := min(given.get("ubatch", 0), _MAX_BATCH)) > 0 and not embeds:  # a text is computed at once
        if "batch" not in given and ubatch > _BATCH:
            made["batch"] = ubatch
        made["ubatch"] = min(ubatch, made.get("batch", _BATCH))
    layers = str(given.get("gpu_layers", "auto"))
    if layers not in ("auto", "all"):
        if not layers.lstrip("-").isdecimal():
            raise ArgumentError(f"invalid --gpu-layers '{layers}': expected a number, auto or all")
        if int(layers) >= 0:
            made["gpu_layers"] = int(layers)
    return made


def _threads(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns `threads` and `threads_batch` where `-tb` sets a limit of its own for prefill."""
    decode, prefill = given.get("threads", 0), given.get("threads_batch", 0)
    if prefill <= 0 or prefill == decode:
        return {}
    made = {"threads": min(decode, _MAX_THREADS)} if decode > 0 else {}
    return {**made, "threads_batch": min(prefill, _MAX_THREADS)}


def _attention(given: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    kinds = {given[name].lower() for name in ("kv_k", "kv_v") if name in given}
    if len({given.get("kv_k", "f16").lower(), given.get("kv_v", "f16").lower()}) > 1 or not kinds <= {
        "f16",
        "q8_0",
    }:
        raise ArgumentError(
            f"invalid -ctk and -ctv '{', '.join(sorted(kinds))}': expected f16 or q8_0, the same for both"
        )
    if kinds:
        made["kv_type"] = kinds.pop()
    flash = str(given.get("flash_attention", "auto")).lower()
    made_flash = {"1": "on", "0": "off", "true": "on", "false": "off", "-1": "auto"}.get(flash, flash)
    if made_flash not in ("on", "off", "auto"):
        raise ArgumentError(f"invalid --flash-attn '{flash}': expected on, off or auto")
    if made_flash != "auto":
        made["flash_attention"] = made_flash
    if not given.get("offload_kqv", True):
        made["offload_kqv"] = False
    return made


def _memory(given: Mapping[str, Any]) -> dict[str, Any]:
    mode = given.get("load_mode", "auto")
    if mode not in _LOAD_MODES:
        raise ArgumentError(f"invalid --load-mode '{mode}': expected {', '.join(_LOAD_MODES)}")
    made: dict[str, Any] = dict(_LOAD_MODES[mode])
    if not given.get("mmap", True):
        made["mmap"] = False
    for name in ("mlock", "check_tensors"):
        if given.get(name):
            made[name] = True
    return made


def _rope(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns RoPE options. 0 means "as the file says", as for llama-server."""
    made: dict[str, Any] = {}
    base = given.get("rope_freq_base", 0.0)
    if base != 0 and not 1 <= base <= 1e12:
        raise ArgumentError(f"invalid --rope-freq-base '{base:g}': expected 1 to 1e12, or 0 (as in the file)")
    if base != 0:
        made["rope_freq_base"] = base
    flag, scale = "--rope-freq-scale", given.get("rope_freq_scale", 0.0)
    if "rope_scale" in given:
        flag, expansion = "--rope-scale", given["rope_scale"]
        scale = 1 / expansion if expansion else math.inf
    if scale != 0 and not 1e-6 <= scale <= 1000:
        shown = given["rope_scale"] if flag == "--rope-scale" else scale
        expected = "0.001 to 1e6" if flag == "--rope-scale" else "1e-6 to 1000, or 0 (as in the file)"
        raise ArgumentError(f"invalid {flag} '{shown:g}': expected {expected}")
    if scale != 0:
        made["rope_freq_scale"] = scale
    return made


def _draft(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns options of speculative decoding; a limit of 0 draft tokens turns it off."""
    limit = given.get("draft_max", _MAX_DRAFT)
    made: dict[str, Any] = {}
    if given.get("draft"):
        made["draft"] = given["draft"]
    if any(kind.startswith("ngram") for kind in given.get("spec_type", "").split(",")):
        made["speculative"] = "lookup"
    if not made or limit < 1:
        return {}
    return {**made, **({"draft_max": min(limit, _MAX_DRAFT)} if "draft_max" in given else {})}


def _template(given: Mapping[str, Any]) -> str:
    if given.get("chat_template_file"):
        return read_text("--chat-template-file", given["chat_template_file"])
    return named(given.get("chat_template", ""))
