"""`Loader`: loads the models of a runner into its engine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from .._gguf import read_values
from .._values import truth, whole, wrong_type
from ..engine import Engine
from . import conversion
from .errors import RunnerError, translated
from .models import PagedCacheType, Which
from .placement import Memory, Placement, draft_options, merged
from .quants import quant_of
from .registry import Entry
from .source import Source, check, resolve
from .templates import Template
from .tokens import token_of

_TRAINED, _TEMPLATE = "*.context_length", "tokenizer.chat_template"


class Loader:
    """Loads models into an engine. Holds the arguments of `Runner` that say how.

    Args:
        engine: The engine; None: one is created, with the budget that the arguments describe.
        placement: Devices and KV cache.
        template: Chat template.
        token_source: Where the token for Hugging Face is.
        in_situ_quant: Type to quantize models to; None: as they are.
        options: Further load options, which win.
    """

    def __init__(
        self,
        engine: Engine | None,
        placement: Placement,
        template: Template,
        token_source: str,
        in_situ_quant: str | None,
        options: Mapping[str, Any] | None,
    ) -> None:
        if options is not None and not isinstance(options, Mapping):
            raise wrong_type("options", options, "a mapping of load options, or None")
        self.quant = None if in_situ_quant is None else quant_of("in_situ_quant", in_situ_quant)
        self._token = token_of(token_source)
        self._placement = placement
        self._template = template
        self._options = options
        self._draft: tuple[Which, int] | None = None
        self._quants: dict[str, str] = {}  # by model: type since `requantize()`
        self.own = engine is None
        self.engine = Engine() if engine is None else engine

    def close(self) -> None:
        """Closes the engine if it was created here."""
        if self.own:
            self.engine.close()

    def set_draft(self, which: Which, gamma: int) -> None:
        """Sets the draft model of all models."""
        check(which)
        self._draft = which, gamma

    def load(self, entry: Entry) -> None:
        """Loads the model of an entry, and its adapters.

        Raises:
            RunnerError: A file is missing, damaged or no model.
        """
        if entry.which is None:
            return
        check(entry.which)
        source = self._source(entry)
        with translated():
            if self.own:
                self._set_budget(source)
            self.engine.load_model(entry.id, path=source.path, options=self._load_options(source))
            try:
                for name, path in source.adapters.items():
                    self.engine.lora_load(entry.id, path, name=name)
            except BaseException:
                self.engine.unload_model(entry.id)
                raise
        entry.active = source.active

    def unload(self, entry: Entry) -> None:
        """Unloads the model of an entry."""
        with translated():
            if not self.engine._handle.closed and self.engine.model_is_loaded(entry.id):
                self.engine.unload_model(entry.id)

    def requantize(self, entry: Entry, dtype: str) -> bool:
        """Sets the type that a model is quantized to when it is loaded next. False: it is a GGUF file."""
        wanted = quant_of("dtype", dtype)
        if entry.which is None or not conversion.converts(entry.which):
            return False
        self._quants[entry.id] = wanted
        return True

    def _source(self, entry: Entry) -> Source:
        assert entry.which is not None
        quant = self._quants.get(entry.id, self.quant)
        source = resolve(entry.which, self._token, lambda which: conversion.gguf_of(which, quant))
        if quant is None or conversion.converts(entry.which):
            return source
        return source._replace(path=conversion.quantized(self.engine, source.path, quant))

    def _load_options(self, source: Source) -> dict[str, Any]:
        known = read_values(source.path, (_TRAINED, _TEMPLATE))
        trained = known.get(_TRAINED)
        options = self._placement.options(source.hints, trained if isinstance(trained, int) else None)
        if source.projector is not None:
            options["projector"] = source.projector
        pooled = read_values(source.path, ("*.pooling_type",)) != {}
        if source.embeds and not pooled:
            options["pooling"] = "last"
        if self._draft is not None and not (source.embeds or pooled):  # what embeds generates nothing
            which, gamma = self._draft
            found = resolve(which, self._token, lambda one: conversion.gguf_of(one, self.quant))
            options |= draft_options(found.path, gamma)
        template = self._template.text(source.path)
        if template is not None:
            options["chat_template"] = template
        return merged(options, self._options)

    def _set_budget(self, source: Source) -> None:
        """Sets the budget of the engine, which counts the files of the models that are loaded."""
        from ..commands.machine import memory_bytes

        loaded = sum(int(one["bytes"]["weights"]) for one in self.engine._loaded())
        file = loaded + os.path.getsize(source.path)
        cuda = str(self.engine.describe().get("device") or "").startswith("cuda")
        budget = self._placement.budget(Memory(memory_bytes(), file, cuda))
        if budget:
            self.engine.set_vram_budget_mb(budget >> 20)


def placement_of(
    max_seqs: int,
    num_device_layers: Sequence[str] | None,
    pa_gpu_mem: int | None,
    pa_gpu_mem_usage: float | None,
    pa_ctxt_len: int | None,
    pa_blk_size: int | None,
    pa_cache_type: PagedCacheType | None,
    no_paged_attn: bool,
    paged_attn: bool,
    engine: Engine | None,
) -> Placement:
    """Returns the checked arguments about devices and the KV cache."""
    if engine is not None and (pa_gpu_mem is not None or pa_gpu_mem_usage is not None):
        raise RunnerError(
            "invalid pa_gpu_mem with engine: expected none; set the budget of that engine instead"
        )
    return Placement(
        max_seqs,
        num_device_layers,
        pa_gpu_mem,
        pa_gpu_mem_usage,
        pa_ctxt_len,
        pa_blk_size,
        pa_cache_type,
        no_paged_attn,
        paged_attn,
    )


def keeps_prefixes(no_kv_cache: bool, prefix_cache_n: int) -> bool:
    """Returns True if requests may reuse the KV cache of earlier ones."""
    count = whole("prefix_cache_n", prefix_cache_n, 2**31 - 1)
    return not truth("no_kv_cache", no_kv_cache) and count > 0
