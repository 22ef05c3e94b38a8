"""`sotto fleet quotas`: limits the requests and tokens of a project or of one key."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError
from .. import arguments as types
from .. import screen
from .opening import add_database, project_named, with_store

if TYPE_CHECKING:
    from ...fleet.control.changes import Changes
    from ...fleet.control.store import Store

_MOST = 2**31 - 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto fleet quotas` to `parser`."""
    commands = parser.add_subparsers(dest="quotas_command", metavar="COMMAND", required=True)
    made = commands.add_parser("set", help="set a limit; 0 removes it")
    made.add_argument("project", help="slug of the project")
    made.add_argument("metric", choices=("requests", "tokens"))
    made.add_argument("amount", type=types.count(0, _MOST), help="how many in each window; 0: no limit")
    made.add_argument(
        "--seconds",
        type=types.count(1, 31 * 86_400),
        default=60,
        metavar="S",
        help="the window (%(default)s)",
    )
    made.add_argument("--key", metavar="ID", help="the one key that is limited (the project as a whole)")
    made.set_defaults(run=_set)
    shown = commands.add_parser("list", help="the limits of a project")
    shown.add_argument("project", help="slug of the project")
    shown.set_defaults(run=_list)
    for command in (made, shown):
        add_database(command)


def run(arguments: argparse.Namespace) -> int:
    """Raises `AssertionError`. Never called: each subcommand sets its own `run`."""
    raise AssertionError(arguments.quotas_command)


def _set(arguments: argparse.Namespace) -> int:
    async def change(store: Store, changes: Changes) -> None:
        from sqlalchemy import delete

        from ...fleet.control.changes import QUOTAS
        from ...fleet.control.tables import Quota, Token

        project = await project_named(store, arguments.project)
        async with store.write() as session:
            if arguments.key is not None:
                token = await session.get(Token, arguments.key)
                if token is None or token.project_id != project.id:
                    raise ArgumentError(f"no key '{arguments.key}' in project '{arguments.project}'")
            mine: list[Any] = [Quota.project_id == project.id, Quota.metric == arguments.metric]
            mine += [Quota.seconds == arguments.seconds, Quota.token_id.is_not_distinct_from(arguments.key)]
            await session.execute(delete(Quota).where(*mine))
            if arguments.amount:
                session.add(
                    Quota(
                        project_id=project.id,
                        token_id=arguments.key,
                        metric=arguments.metric,
                        seconds=arguments.seconds,
                        amount=arguments.amount,
                    )
                )
            await changes.announce(session, QUOTAS)

    with_store(arguments, change)
    return 0


def _list(arguments: argparse.Namespace) -> int:
    async def listed(store: Store, changes: Changes) -> list[Any]:
        from sqlalchemy import select

        from ...fleet.control.tables import Quota

        project = await project_named(store, arguments.project)
        async with store.read() as session:
            return list((await session.scalars(select(Quota).where(Quota.project_id == project.id))).all())

    for one in with_store(arguments, listed):
        whose = f"key {one.token_id}" if one.token_id else "project"
        screen.say(f"{whose}: {one.amount:,} {one.metric} in {one.seconds} s")
    return 0
