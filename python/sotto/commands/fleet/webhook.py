"""`sotto fleet webhook`: where the results of a project's jobs are sent."""

from __future__ import annotations

import argparse
import secrets
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ...errors import ArgumentError
from .. import screen
from .opening import add_database, project_named, with_store

if TYPE_CHECKING:
    from ...fleet.control.changes import Changes
    from ...fleet.control.store import Store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto fleet webhook` to `parser`."""
    parser.add_argument("project", help="slug of the project")
    parser.add_argument("url", help="the address that receives results, or 'none'")
    add_database(parser)


def run(arguments: argparse.Namespace) -> int:
    """Sets the address and prints its new secret. Returns the exit status."""
    url = None if arguments.url == "none" else arguments.url
    if url is not None and (urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname):
        raise ArgumentError(f"invalid url '{url}': expected http://... or https://..., or none")
    secret = None if url is None else f"whsec_{secrets.token_hex(32)}"

    async def change(store: Store, changes: Changes) -> None:
        from ...fleet.control.tables import Project

        project = await project_named(store, arguments.project)
        async with store.write() as session:
            found = await session.get(Project, project.id)
            assert found is not None
            found.webhook_url, found.webhook_secret = url, secret

    with_store(arguments, change)
    if secret is not None:
        screen.say(secret)
    return 0
