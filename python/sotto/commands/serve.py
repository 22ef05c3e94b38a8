"""`sotto serve`: a server for clients of OpenAI's API, and of llama.cpp's server."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import Any

from .._hub import default_model
from ..errors import ArgumentError
from . import arguments as types
from . import screen

_NEEDS = "sotto serve needs the extra 'server': pip install sotto-runtime[server]"
_MODES = ("balance", "prioritize_compute", "prioritize_graphics")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto serve` to `parser`."""
    parser.add_argument(
        "model",
        nargs="*",
        help="GGUF files, Hugging Face ids, or folders of models for sotto.backends.ctranslate2 (Whisper) or "
        "sotto.backends.diffusers (images); "
        "NAME=FILE gives a file a name for clients "
        "(sotto/tavern if it is on this machine, else sotto/house)",
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (%(default)s)")
    parser.add_argument(
        "--port", type=types.count(0, 65535), default=8080, metavar="N", help="0: any free one (%(default)s)"
    )
    parser.add_argument("--uds", type=Path, metavar="PATH", help="a unix socket instead of a port")
    parser.add_argument(
        "--api-key",
        action="append",
        default=[],
        metavar="KEY",
        help="a key that clients must send; repeatable",
    )
    parser.add_argument("--api-key-file", type=Path, metavar="FILE", help="keys, one in a line")
    parser.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME",
        help="a name by which clients may call this server (this machine's own; * for all)",
    )  # fmt: skip
    parser.add_argument(
        "--allow-origin", action="append", default=[], metavar="URL",
        help="a web page's origin that may read answers (none; * for all)",
    )  # fmt: skip
    parser.add_argument("--tls-cert", type=Path, metavar="FILE", help="a certificate chain, in PEM")
    parser.add_argument("--tls-key", type=Path, metavar="FILE", help="its private key, in PEM")
    parser.add_argument(
        "--mode", choices=_MODES, default="prioritize_compute", help="scheduling mode (%(default)s)"
    )
    parser.add_argument(
        "--target-tps",
        type=types.pace,
        default=0.0,
        metavar="N",
        help="pace of each answer; 0: all it can (0)",
    )
    parser.add_argument(
        "--budget", type=types.count(1, types.MOST_MB), metavar="MB", help="memory of all models together"
    )
    parser.add_argument(
        "--deterministic", action="store_true", help="an answer depends on its request alone; slower"
    )
    parser.add_argument("--options", metavar="JSON", help='how to load the models, like {"context": 4096}')
    parser.add_argument(
        "--max-requests", type=types.count(1, 100_000), default=512, metavar="N",
        help="requests that run or wait at once; more get status 429 (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--max-body", type=types.count(1, 64), default=64, metavar="MB", help="longest request (%(default)s)"
    )
    parser.add_argument(
        "--timeout", type=types.seconds, default=600.0, metavar="S", help="longest answer (%(default)g)"
    )
    parser.add_argument(
        "--sleep-idle-seconds", type=types.seconds, default=0.0, metavar="S",
        help="without a request for so long, models leave memory until the next one; 0: never (0)",
    )  # fmt: skip
    parser.add_argument(
        "--slot-save-path", type=Path, metavar="DIR",
        help="folder in which clients may save slots, and restore them (none: they cannot)",
    )  # fmt: skip
    parser.add_argument(
        "--drain", type=types.seconds, default=30.0, metavar="S",
        help="after SIGTERM, how long running answers may go on (%(default)g)",
    )  # fmt: skip
    parser.add_argument(
        "--log", choices=("text", "json"), default="text", help="form of the log (%(default)s)"
    )
    types.add_engine_arguments(parser)
    parser.add_argument(
        "--as", dest="mimic", nargs=argparse.REMAINDER, metavar="llama-server FLAG",
        help="answer as that server does; all that follows are its flags",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Serves until SIGINT or SIGTERM. Returns the exit status."""
    try:
        from ..server import application, serving
        from ..server.logs import prepare
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "sotto":
            raise
        raise ArgumentError(f"{_NEEDS} ({error.name} is missing)") from None
    if arguments.mimic is not None:
        return _mimic(arguments.mimic)
    prepare(arguments.log)
    address = serving.Address(
        arguments.host, arguments.port, arguments.uds, arguments.tls_cert, arguments.tls_key
    )
    if (address.tls_cert is None) != (address.tls_key is None):
        raise ArgumentError("--tls-cert and --tls-key go together: one of them is missing")
    settings = _settings(arguments)
    if arguments.uds is None and arguments.host not in _LOCAL and not settings.keys:
        logging.getLogger("sotto.server").warning(
            "anybody who reaches %s may use this server; --api-key restricts it", arguments.host
        )
    serving.run(
        serving.serve(
            address,
            _models(arguments),
            _engine(arguments),
            settings,
            make=lambda service: application.make(service, application.ROUTES),
            drain=arguments.drain,
            ready=lambda where: screen.say(f"sotto serve: ready at {where}", flush=True),
        )
    )
    return 0


def _mimic(given: list[str]) -> int:
    """Serves as another server does."""
    from ..server.llama import command

    if not given or given[0] != "llama-server":
        raise ArgumentError(f"invalid --as '{given[0] if given else ''}': expected llama-server")
    return command.run(given[1:], lambda line: screen.say(line, flush=True))


_LOCAL = ("127.0.0.1", "localhost", "::1")


def _settings(arguments: argparse.Namespace) -> Any:
    from ..server import Settings
    from ..server.gate import read_keys
    from ..server.settings import LOCAL_HOSTS

    keys = tuple(arguments.api_key)
    if arguments.api_key_file is not None:
        keys += read_keys(arguments.api_key_file.read_text(encoding="utf-8"))
        if not keys:
            raise ArgumentError(f"invalid --api-key-file '{arguments.api_key_file}': it holds no key")
    hosts = LOCAL_HOSTS + tuple(arguments.allow_host)
    if not arguments.allow_host and (arguments.uds or arguments.host not in _LOCAL):
        hosts = ("*",)
    slots = arguments.slot_save_path
    if slots is not None and not slots.is_dir():
        raise ArgumentError(f"invalid --slot-save-path '{slots}': expected a folder that exists")
    return Settings(
        keys=keys,
        hosts=hosts,
        origins=tuple(arguments.allow_origin),
        max_body_bytes=arguments.max_body << 20,
        max_requests=arguments.max_requests,
        timeout=arguments.timeout,
        sleep_idle=arguments.sleep_idle_seconds,
        slot_dir=None if slots is None else str(slots),
    )


def _models(arguments: argparse.Namespace) -> list[Any]:
    from ..server.serving import Model

    options = {} if arguments.options is None else types.json_object("--options", arguments.options)
    models = []
    for given in arguments.model or [default_model()]:
        name, equals, source = given.partition("=")
        if equals and (not name or not source):
            raise ArgumentError(f"invalid model '{given}': expected NAME=FILE")
        models.append(Model(name, source or name, options))
    return models


def _engine(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        **types.engine_options(arguments),
        "mode": arguments.mode,
        "target_tps": arguments.target_tps,
        "deterministic": arguments.deterministic,
        "vram_budget_mb": arguments.budget or 0,
        "max_requests": arguments.max_requests,
    }
