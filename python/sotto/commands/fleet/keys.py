"""`sotto fleet keys`: makes, lists and revokes tokens."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError
from .. import arguments as types
from .. import screen
from .opening import add_database, with_store

if TYPE_CHECKING:
    from ...fleet.control.changes import Changes
    from ...fleet.control.store import Store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto fleet keys` to `parser`."""
    commands = parser.add_subparsers(dest="keys_command", metavar="COMMAND", required=True)
    create = commands.add_parser("create", help="make a token and print it, once")
    create.add_argument("project", help="slug of the project")
    create.add_argument(
        "--kind", choices=("sdk", "live"), default="live",
        help="sdk: provisions workloads; live: calls them (%(default)s)",
    )  # fmt: skip
    create.add_argument("--workload", metavar="SLUG", help="the one workload that a live key may call (all)")
    create.add_argument(
        "--scope", action="append", metavar="SCOPE",
        help="workloads:read, workloads:write or workloads:delete; repeatable (all)",
    )  # fmt: skip
    create.add_argument(
        "--priority", choices=("foreground", "normal", "background"),
        help="the highest that requests of a live key have (any)",
    )  # fmt: skip
    create.add_argument(
        "--target-tps", type=types.pace, metavar="N",
        help="the highest pace of answers for a live key, in tokens per second (any)",
    )  # fmt: skip
    create.add_argument("--name", default="", help="a note for the list")
    create.add_argument("--new-project", action="store_true", help="make the project if there is none")
    create.set_defaults(run=_create)
    shown = commands.add_parser("list", help="tokens, without their secrets")
    shown.add_argument("project", nargs="?", help="slug of the project (all)")
    shown.add_argument("--json", action="store_true", help="print one JSON array")
    shown.set_defaults(run=_list)
    revoke = commands.add_parser("revoke", help="refuse a token from now on")
    revoke.add_argument("id", help="the 8 digits after ik_sdk_ or ik_live_")
    revoke.set_defaults(run=_revoke)
    for command in (create, shown, revoke):
        add_database(command)


def run(arguments: argparse.Namespace) -> int:
    """Raises `AssertionError`. Never called: each subcommand sets its own `run`."""
    raise AssertionError(arguments.keys_command)


def _create(arguments: argparse.Namespace) -> int:
    async def create(store: Store, changes: Changes) -> str:
        from ...fleet.control.tokens import Tokens

        if arguments.new_project:
            await _make_project(store, arguments.project)
        return await Tokens(store, changes).create(
            arguments.project,
            arguments.kind,
            workload=arguments.workload,
            scopes=arguments.scope,
            name=arguments.name,
            priority=arguments.priority,
            target_tps=arguments.target_tps or None,
        )

    screen.say(with_store(arguments, create))
    return 0


async def _make_project(store: Store, slug: str) -> None:
    from ...fleet import _slug
    from ...fleet.control.tables import Project

    if _slug.problem(slug) is not None or _slug.canonical(slug) != slug:
        raise ArgumentError(
            f"invalid project '{slug}': expected lowercase letters, digits and single hyphens"
        )
    async with store.write() as session:
        row = store.insert(Project).values(slug=slug, created_at=time.time())
        await session.execute(row.on_conflict_do_nothing(index_elements=["slug"]))


def _list(arguments: argparse.Namespace) -> int:
    async def listed(store: Store, changes: Changes) -> list[dict[str, Any]]:
        from ...fleet.control.tokens import PREFIXES, Tokens

        return [
            {
                "token": f"{PREFIXES[token.kind]}{token.id}",
                "project": project,
                "workload": token.workload_slug,
                "scopes": token.scopes,
                "priority": token.priority,
                "target_tps": token.target_tps,
                "name": token.name,
                "created": _date(token.created_at),
                "revoked": None if token.revoked_at is None else _date(token.revoked_at),
            }
            for token, project in await Tokens(store, changes).all(arguments.project)
        ]

    found = with_store(arguments, listed)
    if arguments.json:
        screen.say(screen.dump(found))
        return 0
    for one in found:
        limits = [one["priority"]] if one["priority"] else []
        limits += [f"{one['target_tps']:g} tokens/s"] if one["target_tps"] else []
        state = f"revoked {one['revoked']}" if one["revoked"] else ", ".join([*one["scopes"], *limits])
        screen.say(
            f"{one['token']}  {one['project']}/{one['workload'] or '*'}  {state}  {one['name']}".rstrip()
        )
    return 0


def _revoke(arguments: argparse.Namespace) -> int:
    async def revoke(store: Store, changes: Changes) -> bool:
        from ...fleet.control.tokens import Tokens

        return await Tokens(store, changes).revoke(arguments.id)

    if not with_store(arguments, revoke):
        raise ArgumentError(
            f"no token with id '{arguments.id}' that is not revoked; see `sotto fleet keys list`"
        )
    screen.say(f"revoked {arguments.id}")
    return 0


def _date(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(at))
