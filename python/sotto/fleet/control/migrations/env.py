"""Runs migrations on the connection of `sotto.fleet.control.store`."""

from __future__ import annotations

from alembic import context

from sotto.fleet.control.tables import Base

connection = context.config.attributes["connection"]
context.configure(
    connection=connection, target_metadata=Base.metadata, render_as_batch=connection.dialect.name == "sqlite"
)
context.run_migrations()
