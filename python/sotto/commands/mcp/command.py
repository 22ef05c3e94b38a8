"""Entry point of `sotto mcp`: parses the arguments, loads the models, and serves."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
from contextlib import ExitStack
from pathlib import Path

from ..._hub import default_model
from ...engine import Engine
from ...errors import ArgumentError
from ...npc.character import MINILM
from ...store import Store
from .. import arguments as types
from .. import screen
from .sheets import read_sheets, tavern_sheets

_NEEDS = "sotto mcp needs the extra 'agent': pip install sotto-runtime[agent]"
_VARIABLE = "SOTTO_MCP_TOKEN"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto mcp` to `parser`."""
    parser.add_argument(
        "model",
        nargs="?",
        help="a GGUF file or a Hugging Face id (sotto/tavern if it is on this machine, else sotto/house)",
    )
    parser.add_argument(
        "--character", action="append", default=[], type=Path, metavar="FILE",
        help="JSON: a sheet, or an array of them; repeatable (the characters of the demo)",
    )  # fmt: skip
    parser.add_argument(
        "--store", metavar="STORE", help="name of the store of memories, or its .db file (none: no memories)"
    )
    parser.add_argument(
        "--write", action="store_true", help="conversations and the tool remember add memories to the store"
    )
    parser.add_argument(
        "--embedder", default=MINILM, metavar="MODEL", help="the model that embeds memories (%(default)s)"
    )
    parser.add_argument(
        "--http", type=types.count(0, 65535), metavar="PORT",
        help="serve over HTTP at this port of 127.0.0.1, 0: any free one (standard input and output)",
    )  # fmt: skip
    parser.add_argument(
        "--token-file", type=Path, metavar="FILE", help=f"token of HTTP clients (${_VARIABLE})"
    )
    parser.add_argument(
        "--max-tokens",
        type=types.count(1, 2**31 - 1),
        default=64,
        metavar="N",
        help="longest answer (%(default)s)",
    )
    parser.add_argument(
        "--timeout", type=types.seconds, default=120.0, metavar="S", help="longest answer (%(default)g)"
    )
    parser.add_argument("--options", metavar="JSON", help='how to load the model, like {"context": 4096}')
    types.add_engine_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serves until the input ends, or until SIGINT or SIGTERM. Returns the exit status."""
    try:
        from .http import serve_http
        from .stdio import serve_stdio
        from .tools import make_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "sotto":
            raise
        raise ArgumentError(f"{_NEEDS} ({error.name} is missing)") from None
    if arguments.write and arguments.store is None:
        raise ArgumentError("missing --store: --write adds memories to one")
    token = None if arguments.http is None else _token(arguments.token_file)
    sheets = read_sheets(arguments.character) if arguments.character else tavern_sheets()
    model = arguments.model or default_model()
    options = None if arguments.options is None else types.json_object("--options", arguments.options)

    async def serve(engine: Engine, store: Store | None) -> None:
        from .cast import Cast

        cast = Cast(
            engine,
            sheets,
            model=model,
            embedder=arguments.embedder,
            store=store,
            write=arguments.write,
            time_limit=arguments.timeout,
            request={"max_tokens": arguments.max_tokens},
        )
        try:
            server = make_server(cast, recalls=store is not None, writes=arguments.write)
            if token is None:
                await serve_stdio(server)
            else:
                await serve_http(server, arguments.http, token, _say_ready)
        finally:
            cast.close()

    with ExitStack() as stack:
        engine = stack.enter_context(Engine(**types.engine_options(arguments), mode="prioritize_compute"))
        engine.load_model(model, options=options)
        store = None
        if arguments.store is not None:
            if arguments.embedder != model:
                engine.load_model(arguments.embedder)
            store = stack.enter_context(_opened(engine, arguments))
        asyncio.run(serve(engine, store))
    return 0


def _say_ready(where: str) -> None:
    screen.say(f"sotto mcp: ready at {where}", flush=True)


def _opened(engine: Engine, arguments: argparse.Namespace) -> Store:
    """Opens the store; creates it if memories may be added."""
    if not arguments.write:
        return Store.open(arguments.store, create=False, read_only=True)
    (vector,) = engine.embeddings(["size"], model=arguments.embedder).vectors
    return Store.open(arguments.store, dim=len(vector))


def _token(file: Path | None) -> str:
    """Returns the token of HTTP clients. Errors do not show it."""
    if file is None:
        token = os.environ.get(_VARIABLE, "").strip()
        where = f"${_VARIABLE}"
        if not token:
            raise ArgumentError(f"missing token: --http expects --token-file FILE, or a token in {where}")
    else:
        if not file.is_file():
            raise ArgumentError(f"invalid --token-file '{file}': expected a regular file that exists")
        token, where = file.read_text(encoding="utf-8", errors="replace").strip(), f"--token-file '{file}'"
    if not re.fullmatch(r"[!-~]{16,1024}", token):
        raise ArgumentError(
            f"invalid {where}: expected a token of 16 to 1024 ASCII characters without spaces"
        )
    return token
