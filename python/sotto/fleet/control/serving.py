"""Runs a control plane until SIGINT or SIGTERM."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import anyio

from ...server.listening import Listener, configuration, open_port
from .application import app
from .placement import Placement
from .service import Service
from .settings import ControlSettings
from .store import Store


async def serve(
    host: str,
    port: int,
    database: str,
    placement: Placement,
    settings: ControlSettings,
    *,
    certificate: tuple[Path, Path] | None = None,
    drain: float = 10.0,
    ready: Callable[[str], None],
) -> None:
    """Serves until SIGINT or SIGTERM; then lets running answers end, and stops the workloads of this machine.

    Args:
        host: Address to listen at.
        port: Port; 0: any free one.
        database: The store, as for `Store.open()`.
        placement: What runs workloads.
        settings: Limits.
        certificate: Files of a certificate chain and its key, in PEM; None: no TLS.
        drain: Seconds in which running answers may end.
        ready: Is called with the address once the control plane answers.

    Raises:
        ArgumentError: The port is taken, the database cannot be opened, or the certificate cannot be read.
    """
    with open_port(host, port) as listening:
        service = Service(await Store.open(database), placement, settings)
        await service.start()
        try:
            config = configuration(app(service), settings.write_timeout, certificate)
            listener = Listener(config, lambda: _drain(service, drain))
            serving = asyncio.ensure_future(listener.serve(sockets=[listening]))
            name = f"[{host}]" if ":" in host else host
            ready(f"{'https' if certificate else 'http'}://{name}:{listening.getsockname()[1]}")
            await serving
        finally:
            await service.stop()


async def _drain(service: Service, seconds: float) -> None:
    """Waits for the end of running answers, at most for some seconds."""
    with anyio.move_on_after(seconds):
        while service.gateway.running:
            await asyncio.sleep(0.05)
