"""`Replica`: one process of a workload on a Ray node: the server's application with the engine inside."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette

from ... import aio
from ...server import application
from ...server.service import Service
from ...server.serving import Model, load_model
from ...server.settings import Settings
from ..control.placement import Deployment
from ..dataplane import Endpoint
from . import settings

MAX_REQUESTS = 512  # that a replica answers or queues at once


class Replica:
    """Serves one model. Ray Serve calls all methods on the event loop that the engine belongs to.

    The gateway asks through Ray Serve's proxy, and has checked the key. Where the node knows a store of
    PostgreSQL, clients ask the replica directly as well, through an ingress; it checks their keys itself.
    """

    async def __init__(  # type: ignore[misc]  # Ray Serve awaits it
        self, deployment: Deployment, engine: Mapping[str, Any], drain: float
    ) -> None:
        """Loads the model; the event loop goes on meanwhile."""
        self._endpoint: Endpoint | None = None
        self._drain = drain
        self._engine = aio.Engine(max_requests=MAX_REQUESTS, **engine)
        self._service = Service(self._engine, Settings(hosts=("*",), max_requests=MAX_REQUESTS))
        options = deployment.config.get("options") or {}
        await load_model(self._engine, Model(deployment.model, deployment.model, options))
        database = os.environ.get(settings.DATABASE)
        if database is not None:
            await self._serve_directly(deployment, database)

    def __serve_build_asgi_app__(self) -> Starlette:
        """Returns the application; Ray Serve calls it after the constructor."""
        return application.make(self._service, application.ROUTES)

    async def check_health(self) -> None:
        """Raises `RuntimeError` if the model is no longer there; Ray Serve then replaces the replica."""
        if not self._service.models():
            raise RuntimeError("the engine has no model")

    async def __del__(self) -> None:
        """Ends the replica's own address after its running answers; Ray Serve awaits it, once."""
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            await endpoint.stop(self._drain)

    async def _serve_directly(self, deployment: Deployment, database: str) -> None:
        import ray

        context = ray.get_runtime_context()
        node = context.get_node_labels()[settings.NODE]
        self._endpoint = Endpoint(self.__serve_build_asgi_app__(), deployment)
        await self._endpoint.start(database, node, ray.util.get_node_ip_address())
