"""Part of `Engine`: LoRA adapters, which change how a loaded model writes."""

from __future__ import annotations

import math
import os
from typing import Any, TypedDict

from ._asking import Asks
from ._call import struct, utf8
from ._desc import StrPath, path_text
from ._handle import Request
from ._json import load
from ._lib import lib
from ._values import invalid, string, wrong_type
from .errors import ArgumentError, ModelLoadError, Status

_MOST_SCALE = 1000


class Lora(TypedDict, total=False):
    """An element of the request field `lora`: the `name` of a loaded adapter, and its `scale`."""

    name: str
    scale: float


class Adapts(Asks):
    """Part of `Engine`: LoRA adapters.

    >>> engine.lora_load("sotto/house", "adapters/pirate")
    >>> engine.lora_set_scale("sotto/house", 0.8)
    >>> engine.lora_unload("sotto/house")
    """

    _converted: Any = None  # a temporary folder with the adapters that were converted to GGUF

    def lora_load(
        self, model_id: StrPath, adapter_path: StrPath, *, name: str | None = None, scale: float = 1.0
    ) -> None:
        """Loads a LoRA adapter for a loaded model and waits until it is ready.

        Without `name`, all later requests of the model use the adapter, except those with a field `lora`.
        With `name`, only requests that name it do: `"lora": [{"name": "pirate", "scale": 0.8}]`. An adapter
        that is loaded under a name in use replaces the earlier one. If loading fails, the model and its other
        adapters continue unchanged.

        Args:
            model_id: Id of the loaded model.
            adapter_path: GGUF file of the adapter, or the folder of a PEFT adapter with
                `adapter_config.json` and `adapter_model.safetensors`.
            name: Name in requests, 1 to 128 bytes; None: "default".
            scale: Strength, -1000 to 1000; 1: the full effect; 0: no effect.

        Raises:
            ModelLoadError: The model is not loaded, or the adapter is damaged or made for another model.
            ArgumentError: An argument is out of range.
        """
        model, strength = self._model_id(model_id), _scale(scale)
        named = "" if name is None else string("name", name)
        path = path_text("adapter_path", adapter_path)
        desc = struct(
            "sotto_adapter_desc",
            model=model,
            name=named,
            path=self._gguf_of(model, path),
            scale=strength,
            flags=lib.SOTTO_REQUEST_PRIVATE,
        )
        Request(self._handle, ModelLoadError, lib.sotto_engine_load_adapter, desc).finish()
        if strength == 0:  # which the description takes for the default
            self.lora_set_scale(model_id, 0.0, name=name)

    def lora_unload(self, model_id: StrPath, *, name: str | None = None) -> None:
        """Unloads an adapter: later requests do not use it. Running requests finish with it.

        The engine frees the adapter's memory soon after the last request that used it.

        Raises:
            ModelLoadError: The model or the adapter is not loaded.
        """
        model = utf8("model_id", self._model_id(model_id))
        named = utf8("name", "" if name is None else string("name", name))
        unload, private = lib.sotto_engine_unload_adapter, lib.SOTTO_REQUEST_PRIVATE
        Request(self._handle, ModelLoadError, unload, model[0], named[0], private).finish()

    def lora_set_scale(self, model_id: StrPath, scale: float, *, name: str | None = None) -> None:
        """Sets the strength of an adapter for later requests. Running requests keep theirs.

        1.0 is the full effect, 0.0 disables the adapter without unloading it. Values above 1 and below 0 are
        allowed.

        Raises:
            ModelLoadError: The model or the adapter is not loaded.
            ArgumentError: `scale` is not a number from -1000 to 1000.
        """
        model, strength = utf8("model_id", self._model_id(model_id)), _scale(scale)
        named = utf8("name", "" if name is None else string("name", name))
        set_scale, private = lib.sotto_engine_set_adapter_scale, lib.SOTTO_REQUEST_PRIVATE
        Request(self._handle, ModelLoadError, set_scale, model[0], named[0], strength, private).finish()

    def lora_list(self, model_id: StrPath) -> list[dict[str, Any]]:
        """Returns the adapters of a model, each with `name`, `path`, `scale` and `bytes`.

        Raises:
            ModelLoadError: The model is not loaded.
        """
        adapters: list[dict[str, Any]] = self._described(self._model_id(model_id))["adapters"]
        return adapters

    def _described(self, model: str) -> dict[str, Any]:
        for one in load(self._json(lib.sotto_engine_list_models)):
            if one["id"] == model:
                return dict(one)
        raise ModelLoadError(f"model '{model}' is not loaded: load it first", Status.NOT_FOUND)

    def _gguf_of(self, model: str, where: str) -> str:
        """Returns the path of an adapter as GGUF. Converts the folder of a PEFT adapter."""
        described = self._described(model)
        if not os.path.isdir(where):
            return where
        import tempfile  # lazy, as importing it takes long

        from ._peft import convert

        if self._converted is None:
            self._converted = tempfile.TemporaryDirectory(prefix="sotto-lora-", ignore_cleanup_errors=True)
        handle, made = tempfile.mkstemp(".gguf", dir=self._converted.name)
        os.close(handle)
        convert(where, made, described.get("details", {}))
        return made


def _scale(scale: object) -> float:
    if isinstance(scale, (str, bytes, bool)) or not hasattr(scale, "__float__"):
        raise wrong_type("scale", scale, "a number")
    found = float(scale)
    if not math.isfinite(found) or abs(found) > _MOST_SCALE:
        raise ArgumentError(invalid("scale", scale, f"a number from -{_MOST_SCALE} to {_MOST_SCALE}"))
    return found
