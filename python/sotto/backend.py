"""Backend configurations, backends in Python, and model ids with a backend name as prefix."""

from __future__ import annotations

from collections.abc import Iterable

from ._handle import Handle
from ._json import load
from ._values import invalid, string, wrong_type
from .backends.base import Backend as PythonBackend
from .errors import ArgumentError

_SUPPORTED = ("in_memory",)


class Backend:
    """Creates the JSON strings that `Engine(backends=[...])` takes.

    >>> Engine(backends=[Backend.in_memory(name="local")])
    """

    @staticmethod
    def in_memory(name: str = "local") -> str:
        """Returns the configuration of a backend that runs models inside this process."""
        import json

        return json.dumps({"name": string("name", name), "backend_type": "in_memory"})


class UnknownBackend(ArgumentError):
    """The prefix of a model id names a backend that the engine does not have."""


class BackendNames:
    """Names of an engine's backends. `local::some/model` means `some/model` on the backend `local`."""

    def __init__(self, configurations: Iterable[str] | None) -> None:
        self.names = ["local"] if configurations is None else []
        if isinstance(configurations, str) or not isinstance(configurations, (Iterable, type(None))):
            raise wrong_type("backends", configurations, "a list of such strings")
        for number, configuration in enumerate(configurations or ()):
            self.names.append(self._read(f"backends[{number}]", configuration))

    def _read(self, where: str, configuration: object) -> str:
        import json

        if not isinstance(configuration, str):
            raise wrong_type(where, configuration, "a str of JSON")
        try:
            found = json.loads(configuration)
        except (ValueError, RecursionError) as error:
            raise ArgumentError(f"invalid {where}: expected JSON; {error}") from None
        if not isinstance(found, dict):
            raise ArgumentError(invalid(where, configuration, "a JSON object"))
        kind, name = found.get("backend_type"), found.get("name")
        if kind not in _SUPPORTED:
            raise ArgumentError(
                invalid(f"{where}.backend_type", kind, '"in_memory", the only type of this version')
            )
        if not isinstance(name, str) or not name or "::" in name:
            raise ArgumentError(invalid(f"{where}.name", name, 'text without "::"'))
        if name in self.names:
            raise ArgumentError(invalid(f"{where}.name", name, "a unique name"))
        return name

    def model(self, name: str, model_id: str) -> str:
        """Returns the id without its backend prefix. Raises `UnknownBackend` for an unknown prefix."""
        backend, separator, rest = model_id.partition("::")
        if not separator or "/" in backend or "\\" in backend:
            return model_id
        if backend not in self.names:
            known = ", ".join(f'"{one}"' for one in self.names) or "none"
            raise UnknownBackend(invalid(name, model_id, f"a backend of this engine before '::', {known}"))
        return rest

    def request(self, text: str) -> str:
        """Returns a request's JSON, with the backend prefix of `model` removed."""
        if "::" not in text:
            return text
        import json

        asked = load(text)  # None if invalid: the native library reports the error
        if not isinstance(asked, dict) or not isinstance(model := asked.get("model"), str):
            return text
        known = self.model("model", model)
        return text if known == model else json.dumps({**asked, "model": known})


class AddsBackends:
    """The method of an engine that adds backends written in Python."""

    _handle: Handle

    def add_backend(self, backend: PythonBackend) -> None:
        """Adds a backend written in Python, whose models `load_model(..., backend=backend.name)` loads.

        Models that name no backend are opened by the engine's modules, as before.

        Args:
            backend: An instance of a subclass of `sotto.backends.Backend`.

        Raises:
            TypeError: It is no such instance.
            ArgumentError: It has no name.
            SottoError: The engine has a backend of that name.
        """
        from .backends import _table

        _table.add(self._handle, backend)
