"""The store: SQLite on one machine, PostgreSQL for several control planes. Migrated when it is opened."""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.util.exc import CommandError
from sqlalchemy import Connection, event, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError as UrlError
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase

from ...errors import ArgumentError

log = logging.getLogger("sotto.fleet")
_BUSY = 10_000  # milliseconds for which SQLite waits for another writer
_MIGRATION_LOCK = 0x50770  # key of PostgreSQL's advisory lock
PATIENCE: dict[str, Any] = {  # how long a server that does not answer is waited for
    "connect_timeout": 3,  # seconds
    "keepalives_idle": 5,  # seconds
    "keepalives_interval": 2,  # seconds
    "keepalives_count": 2,
    "tcp_user_timeout": 5000,  # milliseconds
}
MIGRATIONS = Path(__file__).parent / "migrations"


def parse_url(database: str) -> URL:
    """Returns the address of a database with its asynchronous driver.

    Args:
        database: A path of an SQLite file, `sqlite:///PATH`, or `postgresql://...`.

    Raises:
        ArgumentError: The address is neither.
    """
    expected = "expected the path of a file, or postgresql://USER:PASSWORD@HOST/NAME"
    if "://" not in database:
        return URL.create("sqlite+aiosqlite", database=str(Path(database).expanduser()))
    try:
        url = make_url(database)
    except UrlError:
        raise ArgumentError(f"invalid --database: {expected}") from None
    kind = url.get_backend_name()
    if kind not in ("sqlite", "postgresql"):
        raise ArgumentError(f"invalid --database of kind '{kind}': {expected}")
    return url.set(drivername="sqlite+aiosqlite" if kind == "sqlite" else "postgresql+psycopg")


def why(error: BaseException) -> str:
    """Returns the reason of an error of a database in one line, without its statement."""
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


class Store:
    """Sessions of one database. `open()` makes it."""

    def __init__(self, url: URL, engine: AsyncEngine) -> None:
        self.url = url
        self.engine = engine
        self.is_sqlite = url.get_backend_name() == "sqlite"

    @classmethod
    async def open(cls, database: str, connections: int = 20) -> Store:
        """Opens a database, creates its file and brings its tables up to date.

        Args:
            database: As for `parse_url()`.
            connections: Connections to PostgreSQL that are kept; at most twice as many are used.

        Raises:
            ArgumentError: The database cannot be opened or migrated.
        """
        url = parse_url(database)
        if url.get_backend_name() == "sqlite":
            _prepare_file(url)
            engine = create_async_engine(url, connect_args={"timeout": _BUSY / 1000})
            event.listen(engine.sync_engine, "connect", _set_up_sqlite)
            event.listen(engine.sync_engine, "begin", _begin_sqlite)
        else:
            engine = create_async_engine(
                url,
                pool_size=connections,
                max_overflow=connections,
                pool_pre_ping=True,
                connect_args=dict(PATIENCE),
            )
        store = cls(url, engine)
        try:
            async with engine.connect() as connection:
                await connection.execution_options(sotto_write=True)
                await connection.run_sync(_migrate)
                await connection.commit()
        except (SQLAlchemyError, CommandError, OSError) as error:
            await engine.dispose()
            raise ArgumentError(f"cannot open --database '{url.render_as_string()}': {why(error)}") from None
        return store

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncSession]:
        """A session that changes nothing."""
        async with AsyncSession(self.engine, expire_on_commit=False) as session:
            yield session

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncSession]:
        """A session in a transaction, committed at its end. On SQLite, one at a time."""
        async with AsyncSession(self.engine, expire_on_commit=False) as session:
            await session.connection(execution_options={"sotto_write": True})
            yield session
            await session.commit()

    def insert(self, table: type[DeclarativeBase]) -> Any:
        """Returns an INSERT that has `on_conflict_do_update()`."""
        return sqlite.insert(table) if self.is_sqlite else postgresql.insert(table)

    async def close(self) -> None:
        """Closes all connections."""
        await self.engine.dispose()


def _prepare_file(url: URL) -> None:
    """Creates the file of an SQLite database, which this user alone may read."""
    if not url.database or url.database == ":memory:":
        raise ArgumentError("invalid --database ':memory:': expected the path of a file")
    path = Path(url.database)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        _use_wal(path)
    except OSError as error:
        raise ArgumentError(f"cannot open --database '{path}': {error.strerror or error}") from None
    except sqlite3.Error as error:
        raise ArgumentError(f"cannot open --database '{path}': {error}") from None


def _use_wal(path: Path) -> None:
    """Turns write-ahead logging on, for good. SQLite does not wait by itself for others that do the same."""
    end = time.monotonic() + _BUSY / 1000
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        while True:
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > end:
                    raise
            time.sleep(0.02)


def _set_up_sqlite(connection: Any, record: object) -> None:
    connection.isolation_level = None  # `_begin_sqlite` starts transactions
    cursor = connection.cursor()
    for pragma in ("synchronous=NORMAL", f"busy_timeout={_BUSY}", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    """Takes the lock of writers at once, because a reader cannot become one while another writes."""
    writes = connection.get_execution_options().get("sotto_write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _migrate(connection: Connection) -> None:
    """Brings the tables up to date, in one transaction that begins before alembic reads the revision.

    Else alembic commits each migration by itself, and a process that read the revision before would run it
    again.
    """
    is_sqlite = connection.dialect.name == "sqlite"  # whose transaction takes the lock of writers
    connection.execute(text("SELECT 1" if is_sqlite else f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})"))
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
