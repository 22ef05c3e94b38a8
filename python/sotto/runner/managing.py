"""Part of `Runner`: its models and its sessions."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from .._handle import Unique
from .._values import string
from .errors import RunnerError, translated
from .loading import Loader
from .models import Which
from .registry import Entry, Registry
from .responses import File
from .sessions import Sessions
from .source import check, name_of

Result = TypeVar("Result")


class Manages(Unique):
    """Part of `Runner`: its models and its sessions."""

    _loader: Loader
    _registry: Registry
    _sessions: Sessions
    _end: weakref.finalize[..., Any]

    # Models

    @translated()
    def add_model(self, which: Which, alias: str | None = None) -> str:
        """Adds a model and loads it, with the arguments of the runner. Sotto's own.

        Args:
            which: The model. With an engine of the host, one whose id it has loaded is used as it is.
            alias: Id of the model; None: that of `which`.

        Returns:
            The id.

        Raises:
            RunnerError: The id is taken, or the model cannot be loaded.
        """
        check(which)
        name = name_of(which) if alias is None else string("alias", alias)
        adopted = not self._loader.own and self._loader.engine.model_is_loaded(name)
        self._registry.add(Entry(name, None if adopted else which))
        return name

    def list_models(self) -> list[str]:
        """Returns the ids of all models, also of unloaded ones."""
        return self._registry.ids()

    def list_models_with_status(self) -> list[tuple[str, str]]:
        """Returns id and status of all models: "loaded", "unloaded" or "reloading"."""
        return self._registry.statuses()

    def list_unloaded_models(self) -> list[str]:
        """Returns the ids of unloaded models."""
        return [name for name, status in self._registry.statuses() if status == "unloaded"]

    @translated()
    def get_model_status(self, model_id: str) -> str | None:
        """Returns the status of a model; None: the id is unknown."""
        return self._registry.status(model_id)

    @translated()
    def is_model_loaded(self, model_id: str) -> bool:
        """Returns True if a model is loaded; False if the id is unknown."""
        return self._registry.status(model_id) == "loaded"

    def get_default_model_id(self) -> str | None:
        """Returns the id of the default model."""
        return self._registry.default

    @translated()
    def set_default_model_id(self, model_id: str) -> None:
        """Sets the default model. Raises `RunnerError` unless it is loaded."""
        self._registry.set_default(model_id)

    @translated()
    def unload_model(self, model_id: str) -> None:
        """Unloads a model; running requests of it fail. The next request loads it again.

        If it is the default model, another loaded one becomes the default.

        Raises:
            RunnerError: The id is unknown, or the model is not loaded.
        """
        self._registry.unload(string("model_id", model_id))

    @translated()
    def reload_model(self, model_id: str) -> None:
        """Loads a model that was unloaded. Raises `RunnerError` if the id is unknown."""
        self._registry.reload(string("model_id", model_id))

    @translated()
    def remove_model(self, model_id: str) -> None:
        """Removes a model and its sessions. Raises `RunnerError` if it is the only one, or unknown."""
        self._registry.remove(string("model_id", model_id))
        self._sessions.forget(model_id)

    # Sessions

    @translated()
    def export_session(self, session_id: str, model_id: str | None = None) -> str | None:
        """Returns a session with its calls and files as JSON; None: the id is unknown."""
        return self._sessions.export(self._pick(model_id).id, session_id)

    @translated()
    def import_session(self, session_id: str, session_json: str, model_id: str | None = None) -> None:
        """Imports a session, which replaces one with the same id.

        Raises:
            RunnerError: `session_json` is not what `export_session()` of this version returned.
        """
        self._sessions.take(self._pick(model_id).id, session_id, session_json)

    @translated()
    def delete_session(self, session_id: str, model_id: str | None = None) -> bool:
        """Deletes a session. Returns False if the id is unknown."""
        return self._sessions.delete(self._pick(model_id).id, session_id)

    @translated()
    def list_session_ids(self, model_id: str | None = None) -> list[str]:
        """Returns the ids of a model's sessions: at most 128 of all models, used in the last 30 minutes."""
        return self._sessions.ids(self._pick(model_id).id)

    @translated()
    def find_file(self, file_id: str) -> File | None:
        """Returns a file that a tool of a session produced; None: the id is unknown."""
        return self._sessions.find_file(file_id)

    # Internal

    def _pick(self, model_id: str | None, wanted: str | None = None) -> Entry:
        if not self._end.alive:
            raise RunnerError("this Runner is closed; create another one")
        return self._registry.pick(model_id, wanted)

    def _run(self, entry: Entry, call: Callable[[Entry], Result]) -> Result:
        return self._registry.run(entry, call)
