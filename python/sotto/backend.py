"""Backend configurations, backends in Python, and model ids with a backend name as prefix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ._desc import Json, json_text
from ._handle import Handle
from ._json import load
from ._onnxruntime import BACKEND as ONNX
from ._onnxruntime import MATTING, with_library
from ._values import invalid, string, wrong_type
from .backends.base import Backend as PythonBackend
from .errors import ArgumentError

_SUPPORTED = ("in_memory", "proxy")
REMOTE = "proxy"  # name of the native backend


class Backend:
    """Creates the JSON strings that `Engine(backends=[...])` takes.

    >>> Engine(backends=[Backend.in_memory(name="local")])
    """

    @staticmethod
    def in_memory(name: str = "local") -> str:
        """Returns the configuration of a backend that runs models inside this process."""
        import json

        return json.dumps({"name": string("name", name), "backend_type": "in_memory"})

    @staticmethod
    def proxy(
        name: str = "openai",
        base_url: str = "https://api.openai.com/v1",
        api_key: str | None = None,
        *,
        options: Mapping[str, Any] | None = None,
    ) -> str:
        """Returns the configuration of a backend that forwards requests to an OpenAI-compatible server.

        A request for the model `<name>::<model>` is then answered by `<model>` at the server. The model is
        loaded at its first request, which takes no memory and does not contact the server.

        Args:
            name: Prefix of the model ids of this backend.
            base_url: Address of the server's API, with its version: `http://127.0.0.1:8080/v1`.
            api_key: Key that the server asks for; None: none is sent.
            options: More load options of the backend, such as `{"read_timeout_ms": 5000}`.

        Raises:
            ArgumentError: A text is empty.

        >>> Engine(backends=[Backend.in_memory(), Backend.proxy("studio", "http://10.0.0.7:8080/v1")])
        """
        import json

        made: dict[str, Any] = {
            "name": string("name", name),
            "backend_type": "proxy",
            "base_url": string("base_url", base_url),
            "api_key": None if api_key is None else string("api_key", api_key),
        }
        return json.dumps(made if options is None else {**made, "options": dict(options)})


class UnknownBackend(ArgumentError):
    """The prefix of a model id names a backend that the engine does not have."""


class BackendNames:
    """Names of an engine's backends. `local::some/model` means `some/model` on the backend `local`."""

    def __init__(self, configurations: Iterable[str] | None) -> None:
        self.names = ["local"] if configurations is None else []
        self._remote: dict[str, dict[str, Any]] = {}  # load options, by name
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
            raise ArgumentError(invalid(f"{where}.backend_type", kind, '"in_memory" or "proxy"'))
        if not isinstance(name, str) or not name or "::" in name:
            raise ArgumentError(invalid(f"{where}.name", name, 'text without "::"'))
        if name in self.names:
            raise ArgumentError(invalid(f"{where}.name", name, "a unique name"))
        if kind == "proxy":
            if not isinstance(found.get("base_url"), str):
                raise ArgumentError(f"invalid {where}.base_url: expected the address of a server's API")
            more = found.get("options") or {}
            if not isinstance(more, dict):
                raise ArgumentError(f"invalid {where}.options: expected an object of load options")
            self._remote[name] = {"base_url": found.get("base_url"), "api_key": found.get("api_key"), **more}
        return name

    def remote(self, model_id: str) -> dict[str, Any] | None:
        """Returns the load options of a model on a server; None: the id names no such model."""
        backend, separator, rest = model_id.partition("::")
        options = self._remote.get(backend) if separator else None
        return None if options is None else {**options, "model": rest}

    def settings(
        self, model_id: str, backend: str | None, options: Json | None, path: str
    ) -> tuple[Any, Any]:
        """Returns backend and load options of a model: those given, or those of its file or its server."""
        is_onnx = model_id == MATTING if not path else path.lower().endswith(".onnx")
        if backend == ONNX or (backend is None and is_onnx):
            return ONNX, with_library(options)
        remote = self.remote(model_id)
        if remote is None:
            return backend, options
        given = None if options is None else load(json_text("options", options))
        if given is not None and not isinstance(given, dict):
            raise wrong_type("options", options, "a JSON object")
        return REMOTE if backend is None else backend, {**remote, **(given or {})}

    def model(self, name: str, model_id: str) -> str:
        """Returns the id without its backend prefix. Raises `UnknownBackend` for an unknown prefix."""
        backend, separator, rest = model_id.partition("::")
        if not separator or "/" in backend or "\\" in backend:
            return model_id
        if backend not in self.names:
            known = ", ".join(f'"{one}"' for one in self.names) or "none"
            raise UnknownBackend(invalid(name, model_id, f"a backend of this engine before '::', {known}"))
        return model_id if backend in self._remote else rest

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
