"""Runs a server: opens its socket, loads its models, and drains it after SIGTERM."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import socket
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from starlette.applications import Starlette

from .. import aio
from ..backends._named import backend_named, backend_of
from .listening import Listener, configuration, open_port, open_unix
from .service import Service
from .settings import Settings
from .sleeping import sleep_when_idle

if sys.platform != "win32":
    import uvloop

log = logging.getLogger("sotto.server")
Make = Callable[[Service], Starlette]


@dataclass(frozen=True)
class Model:
    """A model that a server loads.

    Attributes:
        id: What clients call it.
        source: A GGUF file, a Hugging Face id, or the folder of a model for `sotto.backends.ctranslate2` or
            `sotto.backends.diffusers`.
        options: Options of the load, as for `Engine.load_model()`; folders ignore them.
    """

    id: str
    source: str
    options: Mapping[str, Any] = field(default_factory=dict)


Load = Callable[[aio.Engine, Model], Awaitable[None]]


@dataclass(frozen=True)
class Address:
    """Where a server listens. `uds`: path of a unix socket, instead of host and port."""

    host: str = "127.0.0.1"
    port: int = 8080
    uds: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None

    def text(self, port: int) -> str:
        """Returns the address as clients write it."""
        if self.uds is not None:
            return f"unix:{self.uds}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls_cert else 'http'}://{host}:{port}"


def run(serving: Coroutine[Any, Any, None]) -> None:
    """Runs a server to its end: on uvloop, which needs less CPU; on Windows on asyncio."""
    if sys.platform == "win32":
        asyncio.run(serving)
    else:
        uvloop.run(serving)


async def serve(
    addresses: Address | Sequence[Address],
    models: Sequence[Model],
    engine_options: Mapping[str, Any],
    settings: Settings,
    *,
    make: Make,
    drain: float,
    ready: Callable[[str], None],
    load: Load | None = None,
) -> None:
    """Serves until SIGINT or SIGTERM; then lets running answers end for `drain` seconds.

    While the models load, `/health` answers with status 503, as llama-server does.

    Args:
        addresses: Where to listen: one, or several with the same certificate.
        models: What to load.
        engine_options: Arguments of `aio.Engine`.
        settings: Keys and limits.
        make: Returns the application for the service.
        drain: Seconds in which running answers may end.
        ready: Is called with the first address once the models are loaded.
        load: Loads one model; None: as `Engine.load_model()` does.

    Raises:
        SottoError: the socket cannot be opened, or a model cannot be loaded.
    """
    places = [addresses] if isinstance(addresses, Address) else list(addresses)
    with contextlib.ExitStack() as opened:
        listening = [opened.enter_context(_open(address, opened)) for address in places]
        where = places[0].text(0 if places[0].uds else listening[0].getsockname()[1])
        async with aio.Engine(**engine_options) as engine:
            service = Service(engine, settings)
            service.loading = True
            application = make(service)
            place, limits = places[0], service.settings
            certificate = None if place.tls_cert is None else (place.tls_cert, place.tls_key)
            config = configuration(application, min(limits.timeout, limits.write_timeout), certificate)
            listener = Listener(config, lambda: _drain(service, drain))
            serving = asyncio.ensure_future(listener.serve(sockets=listening))
            resting = asyncio.ensure_future(_rest(service))
            try:
                await _load(service, models, serving, load or load_model)
                if not serving.done():
                    ready(where)
                await serving
            finally:
                listener.should_exit = True
                resting.cancel()
                await asyncio.wait([serving, resting])


def _open(address: Address, opened: contextlib.ExitStack) -> socket.socket:
    """Returns a listening socket; one with a path is removed when `opened` is closed."""
    if address.uds is None:
        return open_port(address.host, address.port)
    made = open_unix(address.uds)
    opened.callback(address.uds.unlink, missing_ok=True)
    return made


async def _load(service: Service, models: Sequence[Model], serving: asyncio.Future[None], load: Load) -> None:
    """Loads the models; stops if the server ends meanwhile."""
    loading = asyncio.ensure_future(_load_all(service, models, load))
    await asyncio.wait([loading, serving], return_when=asyncio.FIRST_COMPLETED)
    if not loading.done():
        loading.cancel()
        await asyncio.wait([loading])
        return
    await loading
    service.loading = False


async def _load_all(service: Service, models: Sequence[Model], load: Load) -> None:
    for name in dict.fromkeys(backend_of(model.source) for model in models):
        if name is not None and (backend := backend_named(name)) is not None:
            service.engine.add_backend(backend)
    for model in models:
        service.known[model.id] = functools.partial(load, service.engine, model)
        await service.known[model.id]()
        log.info("loaded %s", model.id)


async def load_model(engine: aio.Engine, model: Model) -> None:
    """Loads a model."""
    if (backend := backend_of(model.source)) is not None:
        await engine.load_model(model.id, path=model.source, backend=backend)
        return
    path = None if model.id == model.source else model.source
    await engine.load_model(model.id, path=path, options=dict(model.options) or None)


async def _rest(service: Service) -> None:
    if service.settings.sleep_idle:
        await sleep_when_idle(service, service.settings.sleep_idle)


async def _drain(service: Service, seconds: float) -> None:
    """Refuses requests until the running answers have ended; ends them after `seconds`."""
    service.drain()
    with anyio.move_on_after(seconds):
        while service.live:
            await asyncio.sleep(0.02)
    service.end_all()
