"""Clients, doubles and control planes for the tests of the fleet. Tests talk to this machine only."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "python"))  # client_mock.py
sys.path.append(str(ROOT / "tests" / "data"))  # tiny_encoder.py
for name in [name for name in os.environ if name.startswith("INFERENCEKEY_")]:
    del os.environ[name]

import fleet_postgres  # noqa: E402  # needs the path above
from fleet_control import Control, FakePlacement  # noqa: E402
from fleet_faces import FACES, Face  # noqa: E402
from fleet_mock import FakePlane  # noqa: E402
from fleet_postgres import Postgres  # noqa: E402


def _loopback_alone(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect" and isinstance(address := arguments[1], tuple):
        local = address[0] in ("::1", "localhost") or address[0].startswith("127.")
        assert local, f"a test connects to {address}"


sys.addaudithook(_loopback_alone)


@pytest.fixture
def plane() -> Iterator[FakePlane]:
    """A double of a control plane, which records requests."""
    with FakePlane() as made:
        yield made


@pytest.fixture(params=sorted(FACES))
def face(request: pytest.FixtureRequest) -> Iterator[Face]:
    """The blocking clients, and those for asyncio."""
    with FACES[request.param]() as made:
        yield made


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server."""
    with fleet_postgres.running() as made:
        yield made


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store, of both kinds."""
    if request.param == "sqlite":
        return str(tmp_path / "fleet.db")
    made: str = request.getfixturevalue("postgres").database()
    return made


@pytest.fixture
def control(database: str) -> Iterator[Control]:
    """A control plane whose placement the test drives."""
    with Control(database, FakePlacement()) as made:
        yield made


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Control]:
    """The same on SQLite alone."""
    with Control(tmp_path / "fleet.db", FakePlacement()) as made:
        yield made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Control]:
    """One control plane on SQLite for all tests of a module."""
    with Control(tmp_path_factory.mktemp("shared") / "fleet.db", FakePlacement()) as made:
        yield made
