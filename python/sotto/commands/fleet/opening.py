"""The store of a control plane, as the subcommands of `sotto fleet` open it."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from ..._places import data_folder
from ...errors import ArgumentError

if TYPE_CHECKING:
    from ...fleet.control.changes import Changes
    from ...fleet.control.store import Store
    from ...fleet.control.tables import Project

T = TypeVar("T")
VARIABLE = "SOTTO_FLEET_DATABASE"
_NEEDS = "sotto fleet needs the extra 'fleet', and Python 3.11 or later: pip install sotto-runtime[fleet]"


def add_database(parser: argparse.ArgumentParser) -> None:
    """Adds the argument `--database`."""
    parser.add_argument(
        "--database",
        metavar="URL",
        help="the store: a file, or postgresql://USER:PASSWORD@HOST/NAME "
        f"({VARIABLE}, else fleet.db among this user's data)",
    )


def database(arguments: argparse.Namespace) -> str:
    """Returns the address of the store."""
    return arguments.database or os.environ.get(VARIABLE) or os.path.join(data_folder(), "fleet.db")


def needs_extra(error: ModuleNotFoundError) -> ArgumentError:
    """Returns the error of a missing package; raises `error` if the package is ours."""
    if (error.name or "").partition(".")[0] == "sotto":
        raise error
    return ArgumentError(f"{_NEEDS} ({error.name} is missing)")


def with_store(arguments: argparse.Namespace, use: Callable[[Store, Changes], Awaitable[T]]) -> T:
    """Opens the store, runs `use` and returns its result."""
    try:
        from ...fleet.control.changes import Changes
        from ...fleet.control.store import Store
    except ModuleNotFoundError as error:
        raise needs_extra(error) from None

    async def run() -> T:
        store = await Store.open(database(arguments))
        try:
            return await use(store, Changes(store))
        finally:
            await store.close()

    made: Coroutine[Any, Any, T] = run()
    return asyncio.run(made)


async def project_named(store: Store, slug: str) -> Project:
    """Returns a project. Raises `ArgumentError` if it does not exist."""
    from sqlalchemy import select

    from ...fleet.control.tables import Project

    async with store.read() as session:
        found = (await session.scalars(select(Project).where(Project.slug == slug))).first()
    if found is None:
        raise ArgumentError(f"no project '{slug}'; `sotto fleet keys create {slug} --new-project` makes it")
    return found
