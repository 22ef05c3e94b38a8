"""`HaProxy`: a HAProxy process with the configuration of an ingress, reloaded without breaking streams."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .configuration import Route, configuration, ring_ids
from .settings import IngressSettings

_POLL = 0.02  # seconds
_WITHIN = 10.0  # seconds for a start or a reload
_LONGEST = 90  # bytes of a folder, so that sockets in it have valid names


class IngressError(Exception):
    """HAProxy is missing, refused a configuration, or runs another one than it was given."""


@dataclass(frozen=True)
class Server:
    """A replica as HAProxy sees it.

    Attributes:
        backend: Its workload, as `Route.backend`.
        name: Name of the replica.
        id: Its number on the hash ring.
        address: IP address and port.
        weight: As of `IngressSettings`.
        up: Whether it gets requests.
        draining: Whether it finishes what it has, and gets no new requests.
    """

    backend: str
    name: str
    id: int
    address: str
    weight: int
    up: bool
    draining: bool


class HaProxy:
    """An ingress. One at a time per folder.

    HAProxy goes on when this process ends; the next `start()` with the same folder takes it over.

    >>> ingress = HaProxy(Path("/run/sotto/ingress"), IngressSettings(address="10.0.0.5"))
    >>> await ingress.start([Route("/endpoint/acme/smith", (Replica("node-1", "10.0.0.7", 8081),))])
    """

    def __init__(self, folder: Path, settings: IngressSettings, *, program: str = "haproxy") -> None:
        """Sets up the ingress. Starts nothing.

        Args:
            folder: Folder for the configuration and sockets, of this user alone; made if it is absent.
            settings: Where it listens, and limits.
            program: HAProxy 2.6 or newer.

        Raises:
            ValueError: the folder's path is too long for sockets in it.
        """
        if len(os.fsencode(folder)) > _LONGEST:
            raise ValueError(f"invalid folder '{folder}': expected a path of at most {_LONGEST} bytes")
        self.folder, self.settings, self._program = folder, settings, program
        self._changing = asyncio.Lock()

    async def start(self, routes: Sequence[Route]) -> None:
        """Starts HAProxy, or takes over one that runs; returns when it listens.

        Raises:
            IngressError: HAProxy is missing, refuses the configuration, or cannot listen.
            ValueError: two workloads have one prefix.
        """
        if shutil.which(self._program) is None:
            raise IngressError(f"{self._program} is missing: install HAProxy 2.6 or newer")
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if await self._reloads() is not None:
            await self.reload(routes)
            return
        async with self._changing:
            text = await self._write(routes)
            # HAProxy belongs to init, so that it goes on when this process and its event loop end.
            launched = await _run(
                *("sh", "-c", 'log=$1; shift; "$@" > "$log" 2>&1 & echo $!', "sh"),
                *(str(self.folder / "haproxy.log"), self._program),
                *("-W", "-S", f"{self.folder}/master.sock,mode,600", "-f", str(self._file)),
            )
            master = int(launched.stdout)
            end = asyncio.get_running_loop().time() + _WITHIN
            while await self._worker() is None or await self._reloads() is None:
                if not _alive(master) or asyncio.get_running_loop().time() > end:
                    raise IngressError(f"HAProxy did not start: {self._tail()}")
                await asyncio.sleep(_POLL)
            try:
                await self._verify(routes, text)
            except BaseException:
                await self._end(master, 0.0)
                raise

    async def reload(self, routes: Sequence[Route]) -> None:
        """Changes the replicas. Running requests end on the configuration that they began with.

        Raises:
            IngressError: HAProxy does not run, or refuses the configuration; it goes on with the former one.
            ValueError: two workloads have one prefix.
        """
        async with self._changing:
            before = await self._reloads()
            if before is None:
                raise IngressError("HAProxy does not run; start() starts it")
            worker = await self._worker()
            text = await self._write(routes)
            await self._ask("master", "reload")
            end = asyncio.get_running_loop().time() + _WITHIN
            while True:
                now = await self._reloads()
                if now is not None and now[1] > before[1]:
                    raise IngressError(f"HAProxy refused a reload: {self._tail()}")
                if now is not None and now[0] > before[0] and await self._worker() not in (None, worker):
                    break
                if asyncio.get_running_loop().time() > end:
                    raise IngressError(f"HAProxy did not reload within {_WITHIN:g} s: {self._tail()}")
                await asyncio.sleep(_POLL)
            await self._verify(routes, text)

    async def servers(self) -> list[Server]:
        """Returns the replicas of the current configuration.

        Raises:
            IngressError: HAProxy does not run.
        """
        rows = (await self._admin("show servers state")).splitlines()
        names = next((row[2:].split() for row in rows if row.startswith("# ")), [])
        found = []
        for row in rows:
            cells = row.split()
            if len(cells) == len(names) and not row.startswith("#"):
                told = dict(zip(names, cells, strict=True))
                state, admin = int(told["srv_op_state"]), int(told["srv_admin_state"])
                found.append(
                    Server(
                        told["be_name"],
                        told["srv_name"],
                        int(told["srv_id"]),
                        f"{told['srv_addr']}:{told['srv_port']}",
                        int(told["srv_iweight"]),
                        up=state == _RUNNING and not admin,
                        draining=state == _STOPPING,
                    )
                )
        return found

    async def stop(self, drain: float = 10.0) -> None:
        """Ends HAProxy: takes no new connections, and gives running requests `drain` seconds."""
        async with self._changing:
            master = await self._master()
            if master is not None:
                await self._end(master, drain)

    async def _end(self, master: int, drain: float) -> None:
        for number, seconds in ((signal.SIGUSR1, drain), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(master, number)
            end = asyncio.get_running_loop().time() + seconds
            while asyncio.get_running_loop().time() < end:
                if not _alive(master):
                    return
                await asyncio.sleep(_POLL)

    @property
    def _file(self) -> Path:
        return self.folder / "haproxy.cfg"

    async def _write(self, routes: Sequence[Route]) -> str:
        """Checks a configuration and writes it. Returns it."""
        text = configuration(routes, self.settings, self.folder)
        fresh = self.folder / "haproxy.new.cfg"
        fresh.write_text(text)
        checked = await _run(self._program, "-c", "-f", str(fresh))
        if checked.returncode != 0:
            raise IngressError(f"HAProxy refuses the configuration: {checked.stdout.strip()[-2000:]}")
        fresh.replace(self._file)
        return text

    async def _verify(self, routes: Sequence[Route], text: str) -> None:
        """Raises `IngressError` unless HAProxy runs what was rendered."""
        if self._file.read_text() != text:
            raise IngressError(f"another program wrote {self._file}; give each ingress a folder of its own")
        expected = {
            (route.backend, one.name, ids[one.name], f"{one.address}:{one.port}", self.settings.weight)
            for route in routes
            for ids in [ring_ids(one.name for one in route.replicas)]
            for one in route.replicas
        }
        found = {(one.backend, one.name, one.id, one.address, one.weight) for one in await self.servers()}
        if {_normal(one) for one in found} != {_normal(one) for one in expected}:
            raise IngressError(f"HAProxy runs {sorted(found)}; expected {sorted(expected)}")
        rows = (await self._admin("show stat")).splitlines()
        names = rows[0].removeprefix("# ").split(",")
        balance = {
            told["pxname"]: told["algo"]
            for told in (dict(zip(names, row.split(","), strict=False)) for row in rows[1:] if row)
            if told["svname"] == "BACKEND"
        }
        for route in routes:
            if route.replicas and balance.get(route.backend) != "hdr":
                raise IngressError(
                    f"HAProxy balances {route.backend} by '{balance.get(route.backend)}'; expected 'hdr'"
                )

    async def _reloads(self) -> tuple[int, int] | None:
        """Returns the number of reloads and of failed ones; None if HAProxy does not answer."""
        found = re.search(
            r"^\d+ +master +(\d+) \[failed: (\d+)\]", await self._ask("master", "show proc"), re.M
        )
        return None if found is None else (int(found[1]), int(found[2]))

    async def _master(self) -> int | None:
        found = re.search(r"^(\d+) +master ", await self._ask("master", "show proc"), re.M)
        return None if found is None else int(found[1])

    async def _worker(self) -> int | None:
        """Returns the process id of the worker that takes connections; None if none answers."""
        found = re.search(r"^Pid: (\d+)", await self._ask("admin", "show info"), re.M)
        return None if found is None else int(found[1])

    async def _admin(self, command: str) -> str:
        said = await self._ask("admin", command)
        if not said:
            raise IngressError(f"HAProxy does not answer: {self._tail()}")
        return said

    async def _ask(self, which: str, command: str) -> str:
        """Sends a command to a socket. Returns the answer; "" if HAProxy does not answer."""
        return await asyncio.to_thread(_ask, str(self.folder / f"{which}.sock"), command)

    def _tail(self) -> str:
        with contextlib.suppress(OSError):
            return (self.folder / "haproxy.log").read_text(errors="replace").strip()[-2000:]
        return "no log"


_STOPPING, _RUNNING = 3, 2  # srv_op_state of `show servers state`


def _normal(one: tuple[str, str, int, str, int]) -> tuple[str, str, int, str, int]:
    backend, name, number, address, weight = one
    host, _, port = address.rpartition(":")
    return backend, name, number, f"{ipaddress.ip_address(host)}:{port}", weight


async def _run(*command: str) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end, on any event loop."""
    return await asyncio.to_thread(
        subprocess.run,
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        timeout=_WITHIN,
    )


def _ask(path: str, command: str) -> str:
    parts = []
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        connection.connect(path)
        connection.sendall(f"{command}\n".encode())
        connection.shutdown(socket.SHUT_WR)  # the master answers at the end of its input alone
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts).decode(errors="replace")


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "XZ"
