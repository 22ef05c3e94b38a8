"""`Registry`: the models of a runner, their statuses, and the default one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from .._values import invalid, string
from ..errors import SottoError, Status
from .errors import RunnerError
from .models import Which

ModelStatus = Literal["loaded", "unloaded", "reloading"]
Result = TypeVar("Result")
DEFAULT = "default"  # stands for the default model in requests
_TRIES = 5  # of a request whose model is unloaded while it is submitted


@dataclass(eq=False)
class Entry:
    """A model of the runner. `which` None: the host has loaded it into the engine."""

    id: str
    which: Which | None
    status: ModelStatus = "unloaded"
    active: tuple[str, ...] = ()  # adapters that requests use by themselves
    lock: threading.Lock = field(default_factory=threading.Lock)  # held while it is loaded or unloaded


class Registry:
    """Models by id. Thread-safe.

    Args:
        load: Loads the model of an entry into the engine, and sets its adapters.
        unload: Unloads it.
    """

    def __init__(self, load: Callable[[Entry], None], unload: Callable[[Entry], None]) -> None:
        self._load = load
        self._unload = unload
        self._lock = threading.Lock()  # guards the fields below, and the statuses
        self._entries: dict[str, Entry] = {}
        self._default: str | None = None

    def add(self, entry: Entry) -> None:
        """Adds a model and loads it. The first one is the default.

        Raises:
            RunnerError: The id is taken, or the model cannot be loaded.
        """
        string("alias", entry.id)
        with self._lock:
            if entry.id in self._entries or entry.id == DEFAULT:
                raise RunnerError(invalid("alias", entry.id, "an id that no other model has"))
            self._entries[entry.id] = entry
        try:
            self._bring(entry)
        except BaseException:
            with self._lock:
                del self._entries[entry.id]
            raise
        with self._lock:
            self._default = self._default or entry.id

    def ids(self) -> list[str]:
        """Returns the ids of all models."""
        with self._lock:
            return list(self._entries)

    def statuses(self) -> list[tuple[str, str]]:
        """Returns id and status of all models."""
        with self._lock:
            return [(one.id, one.status) for one in self._entries.values()]

    def status(self, model_id: str) -> ModelStatus | None:
        """Returns the status of a model; None: the id is unknown."""
        with self._lock:
            found = self._entries.get(string("model_id", model_id))
            return None if found is None else found.status

    @property
    def default(self) -> str | None:
        """Id of the default model."""
        with self._lock:
            return self._default

    def set_default(self, model_id: str) -> None:
        """Sets the default model. Raises `RunnerError` unless it is loaded."""
        if self.status(model_id) != "loaded":
            known = ", ".join(f"'{name}'" for name, status in self.statuses() if status == "loaded")
            raise RunnerError(invalid("model_id", model_id, f"the id of a loaded model ({known or 'none'})"))
        with self._lock:
            self._default = model_id

    def pick(self, model_id: str | None, wanted: str | None = None) -> Entry:
        """Returns the model of a request.

        Args:
            model_id: Argument of the call, which wins.
            wanted: The request's field.

        Raises:
            RunnerError: The id is unknown, or there is no default model.
        """
        name = wanted if model_id is None else string("model_id", model_id)
        with self._lock:
            if name is None or name == DEFAULT:
                name = self._default
            if name in self._entries:
                return self._entries[name]
            known = ", ".join(f"'{one}'" for one in self._entries)
        parameter = "model" if model_id is None else "model_id"
        raise RunnerError(
            invalid(parameter, name, f"the id of one of the models ({known})"), Status.NOT_FOUND
        )

    def unload(self, model_id: str) -> None:
        """Unloads a model, and keeps what is needed to load it again."""
        entry = self.pick(model_id)
        with entry.lock:
            if entry.status == "unloaded":
                raise RunnerError(f"model '{entry.id}' is not loaded", Status.STATE)
            self._require_own(entry)
            self._unload(entry)
            with self._lock:
                entry.status = "unloaded"
                if self._default == entry.id:
                    self._default = self._loaded() or entry.id

    def reload(self, model_id: str) -> None:
        """Loads a model that was unloaded. Does nothing if it is loaded."""
        self._bring(self.pick(model_id))

    def remove(self, model_id: str) -> None:
        """Removes a model. Raises `RunnerError` if it is the only one."""
        entry = self.pick(model_id)
        with entry.lock:
            with self._lock:
                if len(self._entries) == 1:
                    raise RunnerError(
                        f"model '{entry.id}' is the only one: close the runner instead", Status.STATE
                    )
                if self._entries.pop(entry.id, None) is None:
                    raise RunnerError(f"model '{entry.id}' was removed", Status.NOT_FOUND)
                if self._default == entry.id:
                    self._default = self._loaded() or next(iter(self._entries))
            if entry.status == "loaded" and entry.which is not None:
                self._unload(entry)
            entry.status = "unloaded"

    def run(self, entry: Entry, call: Callable[[Entry], Result]) -> Result:
        """Returns the result of a call with a loaded model. Loads the model if it was unloaded."""
        for _ in range(_TRIES):
            self._bring(entry)
            try:
                return call(entry)
            except SottoError as error:
                if error.status != Status.NOT_FOUND or entry.status == "loaded":
                    raise
        return call(entry)

    def close(self) -> None:
        """Unloads the models that the runner has loaded."""
        with self._lock:
            entries = list(self._entries.values())
        for entry in entries:
            with entry.lock:
                if entry.status == "loaded" and entry.which is not None:
                    self._unload(entry)
                    entry.status = "unloaded"

    def _bring(self, entry: Entry) -> None:
        """Loads a model unless it is loaded. Threads that ask for the same model wait for one load."""
        if entry.status == "loaded":
            return
        with entry.lock:
            if self.status(entry.id) == "loaded":
                return
            if self.status(entry.id) is None:
                raise RunnerError(f"model '{entry.id}' was removed", Status.NOT_FOUND)
            entry.status = "reloading"
            try:
                self._load(entry)
            except BaseException:
                entry.status = "unloaded"
                raise
            entry.status = "loaded"

    def _loaded(self) -> str | None:
        return next((one.id for one in self._entries.values() if one.status == "loaded"), None)

    @staticmethod
    def _require_own(entry: Entry) -> None:
        if entry.which is None:
            raise RunnerError(
                f"model '{entry.id}' was loaded by the host: unload it with Engine.unload_model()",
                Status.STATE,
            )
