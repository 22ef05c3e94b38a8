"""`sotto serve --as llama-server`: runs a server that answers as llama-server does."""

from __future__ import annotations

import dataclasses
import logging
import re
from collections.abc import Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware

from ... import aio
from ...errors import SottoError
from .. import anthropic, application, health, serving
from ..logs import prepare
from ..routing import Route
from ..service import Service
from ..serving import Model, load_model
from . import chat, completions, fields, predict, props, responses, web_proxy
from . import routes as native_routes
from .config import Adapter, Config, config
from .cors import Cors
from .flags import parse
from .media import refusing_media

log = logging.getLogger("sotto.server")
_CONTEXT = re.compile(r"invalid options\.context '\d+': expected an integer from \d+ to (\d+)")


def run(arguments: Sequence[str], say: Callable[[str], None]) -> int:
    """Serves until SIGINT or SIGTERM. Returns the exit status.

    Args:
        arguments: Flags of llama-server.
        say: Is called with a line once the server is ready.
    """
    given = parse(arguments)
    using = config(given)
    prepare("json" if using.log_json else "text")
    if given.get("tools"):
        log.warning("--tools has no effect but on CORS: this server runs no tools; call them in the client")
    serving.run(
        serving.serve(
            using.addresses,
            using.models,
            using.engine,
            using.settings,
            make=lambda service: _application(service, using),
            drain=2.0,
            ready=lambda where: say(f"sotto serve: ready at {where}"),
            load=lambda engine, model: load(engine, model, using.adapters),
        )
    )
    return 0


def routes(using: Config) -> tuple[Route, ...]:
    """Returns the routes of a server that answers as llama-server does."""
    setup = using.setup
    own = (
        *chat.routes(setup),
        *completions.routes(setup),
        *props.model_routes(setup),
        *predict.routes(setup),
        *web_proxy.routes(using.web_proxy),
        *responses.ROUTES,
        *anthropic.ROUTES,
    )
    own = tuple(map(refusing_media, own))
    shared = (route for route in application.ROUTES if setup.page or route.paths != ("/",))
    return (*health.ROUTES, *native_routes(setup), *own, *shared)


def _application(service: Service, using: Config) -> Starlette:
    service.prepare = lambda op, text: fields.with_defaults(op, text, using.setup)
    made = application.make(service, routes(using))
    made.user_middleware.insert(0, Middleware(Cors, **using.cors))
    return made


async def load(engine: aio.Engine, model: Model, adapters: Sequence[Adapter]) -> None:
    """Loads a model, with a shorter context if it was trained with a shorter one, and its adapters."""
    options: dict[str, Any] = dict(model.options)
    try:
        await _load(engine, model, options)
    except SottoError as error:
        if not (found := _CONTEXT.search(str(error))):
            raise
        await _load(engine, model, {**options, "context": int(found[1])})
    for number, adapter in enumerate(adapters):
        await engine.lora_load(model.id, adapter.path, name=f"lora-{number}", scale=adapter.scale)


async def _load(engine: aio.Engine, model: Model, options: dict[str, Any]) -> None:
    await load_model(engine, dataclasses.replace(model, options=options))
