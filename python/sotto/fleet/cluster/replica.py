"""`Replica`: one process of a workload on a Ray node: the server's application with the engine inside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette

from ... import aio
from ...server import application
from ...server.service import Service
from ...server.serving import Model, load_model
from ...server.settings import Settings

MAX_REQUESTS = 512  # that a replica answers or queues at once


class Replica:
    """Serves one model. Ray Serve calls all methods on the event loop that the engine belongs to.

    The proxy alone reaches a replica, and the gateway before it has checked the key.
    """

    async def __init__(  # type: ignore[misc]  # Ray Serve awaits it
        self, model: str, options: Mapping[str, Any], engine: Mapping[str, Any]
    ) -> None:
        """Loads the model; the event loop goes on meanwhile."""
        self._engine = aio.Engine(max_requests=MAX_REQUESTS, **engine)
        self._service = Service(self._engine, Settings(hosts=("*",), max_requests=MAX_REQUESTS))
        await load_model(self._engine, Model(model, model, options))

    def __serve_build_asgi_app__(self) -> Starlette:
        """Returns the application; Ray Serve calls it after the constructor."""
        return application.make(self._service, application.ROUTES)

    async def check_health(self) -> None:
        """Raises `RuntimeError` if the model is no longer there; Ray Serve then replaces the replica."""
        if not self._service.models():
            raise RuntimeError("the engine has no model")
