"""The model behind a `Llama`: loaded into an engine of its own, or shared with other instances on one."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .._gguf import read_values
from .._json import dump
from ..engine import Engine
from ..errors import ArgumentError, SottoError, Status
from .errors import ModelLoadError, ValidationError, translated

if TYPE_CHECKING:
    from .config import LlamaConfig

_CONTEXT = "*.context_length"
_lock = threading.Lock()  # held while a shared model is loaded or unloaded
_shared: weakref.WeakKeyDictionary[Engine, dict[tuple[str, str], Shared]] = weakref.WeakKeyDictionary()


class Shared:
    """A model that instances on one engine share."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.users = 0


class Opened:
    """A loaded model: `engine`, and `model`, its id there."""

    def __init__(self, config: LlamaConfig, engine: Engine | None) -> None:
        from .config import POOLINGS

        if config.split_mode != 0:
            raise ValidationError(
                f"invalid split_mode '{config.split_mode}': expected 0; Sotto runs a model on one device"
            )
        self.path = config.model_path
        self._pooling = POOLINGS.get(config.pooling_type)
        self._key: tuple[str, str] | None = None
        self._embedder: str | None = None
        self._own = engine is None
        self.engine = own_engine(config) if engine is None else engine
        try:
            with translated(ModelLoadError):
                self.model = self._load(config)
                self.card: Mapping[str, Any] = self.engine.model_info(self.model)
        except BaseException:
            self.close()
            raise

    @property
    def shared(self) -> bool:
        """True if other instances, or the host, may use the model."""
        return not self._own

    @property
    def details(self) -> Mapping[str, Any]:
        """The model's card, see `Engine.model_info()`."""
        found: Mapping[str, Any] = self.card.get("details", {})
        return found

    def _load(self, config: LlamaConfig) -> str:
        """Loads the model and returns its id. Takes a model of that id which the host has loaded."""
        from .config import load_options

        if not self._own and not self._owned() and self.engine.model_is_loaded(self.path):
            return self.path
        where = self._where()
        trained = read_values(where, (_CONTEXT,)).get(_CONTEXT) if where else None
        options = load_options(
            config, shared=not self._own, trained=trained if isinstance(trained, int) else None
        )
        if self._own:
            self._load_as(self.path, options)
            return self.path
        return self._share(options)

    def _where(self) -> str | None:
        """Returns the path of the model's file. Downloads a model of a hub."""
        if self.path.endswith(".gguf"):
            return self.path
        from .._hub import built_in, locate

        file = built_in(self.path)
        return locate(self.path) if file is None else str(file)

    def _load_as(self, name: str, options: Mapping[str, Any]) -> None:
        path = self.path if self.path.endswith(".gguf") else None
        if path is None and name != self.path:
            path = self._where()
        self.engine.load_model(name, path=path, options=options)

    def _owned(self) -> bool:
        """Returns True if `sotto.llama` has loaded a model of that id into the engine."""
        return any(one.model == self.path for one in _shared.get(self.engine, {}).values())

    def _share(self, options: Mapping[str, Any]) -> str:
        """Joins the instances with the same file and options, or loads the model under an id of its own."""
        key = (self.path, dump("options", options))
        with _lock:
            models = _shared.setdefault(self.engine, {})
            if key not in models:
                taken = {one.model for one in models.values()}
                names = (self.path if n == 1 else f"{self.path}#{n}" for n in range(1, len(taken) + 2))
                name = next(one for one in names if one not in taken)
                self._load_as(name, options)
                models[key] = Shared(name)
            models[key].users += 1
            self._key = key
            return models[key].model

    def embedder(self) -> str:
        """Returns the id of the model that embeds: this one, or a second context that is loaded now."""
        as_loaded = self._pooling is None and self.details.get("capabilities", {}).get("embed")
        if as_loaded or not self.details.get("embedding_length"):
            return self.model
        if self._embedder is None:
            name = f"{self.model}#embeddings{id(self)}"
            self._load_as(
                name, {"pooling": self._pooling or "mean", "context": self.card["context"], "parallel": 1}
            )
            self._embedder = name
        return self._embedder

    def close(self) -> None:
        """Releases the model, and the engine if it belongs to this instance. A second call does nothing."""
        if self._own:
            self.engine.close()
            return
        embedder, self._embedder = self._embedder, None
        if embedder is not None:
            self._unload(embedder)
        key, self._key = self._key, None
        if key is None:
            return
        with _lock:
            models = _shared.get(self.engine, {})
            models[key].users -= 1
            if models[key].users == 0:
                self._unload(models.pop(key).model)

    def _unload(self, model: str) -> None:
        try:
            self.engine.unload_model(model)
        except SottoError as error:
            if error.status not in (Status.NOT_FOUND, Status.STATE, Status.CANCELLED):
                raise  # else the host has unloaded the model, or closed the engine


def own_engine(config: LlamaConfig) -> Engine:
    """Returns the engine of one instance: no frames to keep, and the device of the configuration."""
    cores = os.cpu_count() or 1
    threads = 0 if config.n_threads in (None, cores) else config.n_threads
    devices = (
        ["auto"] if config.main_gpu == 0 else [f"{kind}{config.main_gpu}" for kind in ("cuda", "vulkan")]
    )
    if config.n_gpu_layers == 0:
        devices = ["cpu"]
    reason = ""
    for device in devices:
        try:
            return Engine(device, mode="prioritize_compute", threads=threads or 0)
        except ArgumentError as error:
            reason = str(error)
    raise ModelLoadError(f"invalid main_gpu '{config.main_gpu}': {reason}")
