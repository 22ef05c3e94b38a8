"""`sotto fleet usage`: what projects and keys used."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from .. import arguments as types
from .. import screen
from .opening import add_database, with_store

if TYPE_CHECKING:
    from ...fleet.control.changes import Changes
    from ...fleet.control.store import Store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto fleet usage` to `parser`."""
    parser.add_argument("project", nargs="?", help="slug of the project (all)")
    parser.add_argument(
        "--hours",
        type=types.count(1, 100_000),
        default=24,
        metavar="N",
        help="of the last N hours (%(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON array")
    add_database(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints sums by project, workload and key. Returns the exit status."""

    async def used(store: Store, changes: Changes) -> list[dict[str, Any]]:
        from ...fleet.control.usage import totals

        return await totals(store, arguments.project, time.time() - 3600 * (arguments.hours - 1))

    found = with_store(arguments, used)
    if arguments.json:
        screen.say(screen.dump(found))
        return 0
    for one in found:
        screen.say(
            f"{one['project']}  workload {one['workload_id'][:12]}  key {one['token_id']}  "
            f"{one['requests']:,} requests ({one['failures']:,} failed)  "
            f"{one['prompt_tokens']:,} + {one['completion_tokens']:,} tokens"
        )
    return 0
