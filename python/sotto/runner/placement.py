"""Where the KV cache of a model goes and how large it is: load options from the arguments of `Runner`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .._values import invalid, truth, typed, whole, wrong_type
from .errors import RunnerError
from .models import PagedCacheType, TextAutoMapParams
from .refusals import refuse

CONTEXT = 4096  # tokens of a sequence, unless `auto_map_params` says otherwise
_MIN_CONTEXT = 16
_MAX_SEQS = 64  # slots of a model
_MAX_DRAFT = 15  # draft tokens of a step
_MOST = 2**31 - 1
_CUDA_SHARE = 0.9  # of the card's memory, if nothing else is said
_LAYERS = re.compile(r"(?:(\d{1,5}):)?(\d{1,5})")


class Memory(NamedTuple):
    """The memory that a device has, and the bytes of the model's file."""

    device: int
    file: int
    cuda: bool = False


class Placement:
    """The arguments of `Runner` about devices and the KV cache, checked.

    Raises:
        RunnerError: A value is out of range, or is refused.
        TypeError: A value has the wrong type.
    """

    def __init__(
        self,
        max_seqs: int,
        num_device_layers: Sequence[str] | None,
        pa_gpu_mem: int | None,
        pa_gpu_mem_usage: float | None,
        pa_ctxt_len: int | None,
        pa_blk_size: int | None,
        pa_cache_type: PagedCacheType | None,
        no_paged_attn: bool,
        paged_attn: bool,
    ) -> None:
        self.max_seqs = _within("max_seqs", max_seqs, 1, _MAX_SEQS)
        self.gpu_layers = gpu_layers(num_device_layers)
        self.pa_gpu_mem = None if pa_gpu_mem is None else _within("pa_gpu_mem", pa_gpu_mem, 1, _MOST)
        self.pa_gpu_mem_usage = None if pa_gpu_mem_usage is None else _share(pa_gpu_mem_usage)
        self.pa_ctxt_len = (
            None if pa_ctxt_len is None else _within("pa_ctxt_len", pa_ctxt_len, _MIN_CONTEXT, _MOST)
        )
        if truth("no_paged_attn", no_paged_attn) and paged_attn:
            raise RunnerError("invalid paged_attn 'True' with no_paged_attn=True: expected one of them")
        if truth("paged_attn", paged_attn):
            refuse("paged_attn")
        if pa_blk_size is not None:
            refuse("pa_blk_size")
        if pa_cache_type is not None:
            typed("pa_cache_type", pa_cache_type, PagedCacheType)
            if pa_cache_type is PagedCacheType.F8E4M3:
                refuse("pa_cache_type=F8E4M3")

    def options(self, hints: TextAutoMapParams | None, trained: int | None) -> dict[str, Any]:
        """Returns the load options of a model.

        Args:
            hints: Size of its sequences.
            trained: Context that it was trained for, in tokens; None: unknown.
        """
        context = CONTEXT if hints is None else _within("max_seq_len", hints.max_seq_len, _MIN_CONTEXT, _MOST)
        if trained is not None:
            context = min(context, trained)
        slots = self.max_seqs
        if hints is not None:
            slots = max(slots, _within("max_batch_size", hints.max_batch_size, 1, _MAX_SEQS))
        if self.pa_ctxt_len is not None:
            context = min(context, self.pa_ctxt_len)
            slots = max(1, min(slots, self.pa_ctxt_len // context))
        found: dict[str, Any] = {"context": context, "parallel": slots, "batch": max(512, slots)}
        if self.gpu_layers is not None:
            found["gpu_layers"] = self.gpu_layers
        return found

    def budget(self, memory: Memory) -> int:
        """Returns the memory budget in bytes; 0: no limit.

        The first of `pa_ctxt_len`, `pa_gpu_mem_usage` and `pa_gpu_mem` that is set counts; on a CUDA card
        without any, 0.9 of its memory.
        """
        if self.pa_ctxt_len is not None:
            return 0
        share = self.pa_gpu_mem_usage
        if share is None and self.pa_gpu_mem is not None:
            return memory.file + (self.pa_gpu_mem << 20)
        if share is None and memory.cuda:
            share = _CUDA_SHARE
        return 0 if share is None else int(memory.device * share)


def draft_options(path: str, gamma: int) -> dict[str, Any]:
    """Returns the load options for a draft model. A step has at most 15 draft tokens."""
    return {"draft": path, "draft_max": min(gamma, _MAX_DRAFT)}


def merged(options: Mapping[str, Any], further: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns load options with those of the argument `options`, which win."""
    return {**options, **(further or {})}


def gpu_layers(given: Sequence[str] | None) -> int | None:
    """Returns the layers on the device, from `num_device_layers`; None: all.

    Raises:
        RunnerError: An element is malformed, names a device twice, or another device than 0.
    """
    if given is None:
        return None
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise wrong_type("num_device_layers", given, 'a list of texts such as "0:24", or None')
    layers: dict[int, int] = {}
    for at, one in enumerate(given):
        name = f"num_device_layers[{at}]"
        if not isinstance(one, str):
            raise wrong_type(name, one, 'a text such as "0:24"')
        found = _LAYERS.fullmatch(one)
        if not found:
            raise RunnerError(invalid(name, one, '"ORDINAL:LAYERS", such as "0:24"'))
        device = int(found[1] or 0)
        if device in layers:
            raise RunnerError(invalid(name, one, f"one element for device {device}"))
        layers[device] = int(found[2])
    if not layers:
        raise RunnerError("invalid num_device_layers '[]': expected at least one element, such as \"0:24\"")
    if len(layers) > 1 or 0 not in layers:
        refuse("num_device_layers on several devices")
    return layers[0]


def _within(name: str, value: object, least: int, most: int) -> int:
    found = whole(name, value, max(most, _MOST))
    if not least <= found <= most:
        raise RunnerError(invalid(name, value, f"an integer from {least} to {most}"))
    return found


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong_type("pa_gpu_mem_usage", value, "a number")
    if not 0 < value <= 1:
        raise RunnerError(invalid("pa_gpu_mem_usage", value, "a number above 0, up to 1"))
    return float(value)
