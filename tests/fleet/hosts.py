"""Machines for tests: Linux namespaces with an address each, joined by a bridge.

Each host has a network, process ids, /run, /dev/shm and a host name of its own, and shares the other files
with this machine. Its processes, mounts and links belong to its namespaces, so the kernel removes them when
the host's first process ends, which happens at the latest when the test's process does, by SIGKILL too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

INIT = Path(__file__).with_name("hosts_init.py")
PROGRAMS = {"ip": "iproute2", "unshare": "util-linux", "nsenter": "util-linux", "mount": "mount"}
NETWORK = "10.77.0"  # of namespaces alone: routes of this machine do not matter
NAMESPACES = ("--net", "--pid", "--mount", "--uts", "--ipc")
FOLDER = "/run/host"  # temporary files of a host, in its memory
TRIAL = """
mount -t tmpfs none /run
ip link add trial type bridge
ip link add one type veth peer name other
ip link set one master trial
"""


class HostError(Exception):
    """A host cannot be made, or a command of a test in it ended with an error."""


def missing() -> str | None:
    """Returns why this machine cannot make hosts; None if it can."""
    if sys.platform != "linux":
        return "hosts are Linux namespaces; this is another system"
    absent = sorted({PROGRAMS[name] for name in PROGRAMS if shutil.which(name) is None})
    if absent:
        return f"missing programs: apt-get install {' '.join(absent)}"
    trial = ["unshare", *NAMESPACES, "--mount-proc", "--fork", "sh", "-ec", TRIAL]
    made = subprocess.run(trial, capture_output=True, text=True)
    if made.returncode != 0:
        return f"namespaces with networks need root, and a kernel that has them: {made.stderr.strip()}"
    return None


class Process:
    """A program in a host.

    Attributes:
        log: The file that it prints to, as this machine sees it; it goes with the host.
    """

    def __init__(self, entering: subprocess.Popen[bytes], log: Path) -> None:
        self._entering, self.log = entering, log

    @property
    def pid(self) -> int:
        """The program's id on this machine.

        Raises:
            HostError: it has ended.
        """
        end = time.monotonic() + 5
        while time.monotonic() < end and self._entering.poll() is None:
            if found := _children(self._entering.pid):
                return found[0]
            time.sleep(0.005)
        raise HostError(f"the program has ended: {self.log.read_text()[-2000:]}")

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return self._entering.poll() is None

    def signal(self, number: int) -> None:
        """Sends it a signal."""
        os.kill(self.pid, number)

    def wait(self, timeout: float = 60) -> int:
        """Waits for its end. Returns its status; 128 and more: the number of a signal, plus 128."""
        status = self._entering.wait(timeout)
        return status if status >= 0 else 128 - status


class Host:
    """A machine of a test. `Hosts` makes it."""

    def __init__(self, name: str, address: str) -> None:
        self.name, self.address = name, address
        self._processes: list[Process] = []
        self._init = subprocess.Popen(
            [
                "unshare",
                *NAMESPACES,
                "--mount-proc",
                "--fork",
                "--kill-child",
                sys.executable,
                "-I",
                str(INIT),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C in a terminal ends the test alone, which then ends the host
        )
        assert self._init.stdout is not None
        if self._init.stdout.readline() != "ready\n":
            raise HostError(f"cannot make the host {name}; status {self._init.wait()}")
        self.pid = _children(self._init.pid)[0]
        script = (
            f"mount -t tmpfs none /run && mount -t tmpfs none /dev/shm && mkdir -m 1777 {FOLDER}"
            f" && hostname {name} && ip link set lo up"
        )
        self.run("sh", "-c", script)

    def run(
        self, *command: str | Path, env: Mapping[str, str] | None = None, timeout: float = 60, text: str = ""
    ) -> str:
        """Runs a program to its end. Returns what it prints.

        Args:
            command: The program and its arguments.
            env: Variables beside those of this process and those of `environment()`.
            timeout: Seconds until the program is killed.
            text: Its input.

        Raises:
            HostError: its status is not 0.
        """
        made = subprocess.run(
            self._enter(command),
            input=text,
            env=self.environment(env),
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        if made.returncode != 0:
            words = " ".join(map(str, command))
            raise HostError(f"{self.name}: {words}: status {made.returncode}\n{made.stdout}{made.stderr}")
        return made.stdout

    def start(self, *command: str | Path, env: Mapping[str, str] | None = None, log: str = "") -> Process:
        """Starts a program, which prints to the file `log` (by default named as the program) of the host."""
        path = self.file(f"{log or Path(command[0]).name}.log")
        with path.open("ab") as printed:
            entering = subprocess.Popen(
                self._enter(command),
                env=self.environment(env),
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                start_new_session=True,
            )
        made = Process(entering, path)
        self._processes.append(made)
        return made

    def kill(self) -> None:
        """Sends SIGKILL to all processes of the host at once. Its network stays: peers get a reset."""
        self._command("kill")
        for process in self._processes:
            process.wait()
        self._processes.clear()

    def file(self, name: str) -> Path:
        """Returns the path of a file of `FOLDER`, as this machine sees it."""
        return Path(f"/proc/{self.pid}/root{FOLDER}/{name}")

    def write(self, name: str, text: str) -> str:
        """Writes a file of `FOLDER`. Returns its path in the host."""
        self.file(name).write_text(text)
        return f"{FOLDER}/{name}"

    def processes(self) -> list[int]:
        """Returns the ids, on this machine, of all processes of the host but its first."""
        mine = os.readlink(f"/proc/{self.pid}/ns/pid")
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.readlink(entry / "ns" / "pid") == mine:
                    found.append(int(entry.name))
            except OSError:  # it ended
                continue
        return [one for one in found if one != self.pid]

    def close(self) -> None:
        """Ends the host with all that is in it."""
        assert self._init.stdin is not None and self._init.stdout is not None
        self._init.stdin.close()
        self._init.wait(30)
        self._init.stdout.close()
        for process in self._processes:
            process.wait()

    def environment(self, env: Mapping[str, str] | None = None) -> dict[str, str]:
        """Returns the variables of programs in the host: temporary files are the host's own."""
        return {**os.environ, "TMPDIR": FOLDER, "PYTHONUNBUFFERED": "1", **(env or {})}

    def _enter(self, command: Sequence[str | Path]) -> list[str]:
        return ["nsenter", "-t", str(self.pid), *NAMESPACES, "--", *map(str, command)]

    def _command(self, word: str) -> None:
        stdin: IO[Any] | None = self._init.stdin
        assert stdin is not None and self._init.stdout is not None
        stdin.write(f"{word}\n")
        stdin.flush()
        if self._init.stdout.readline() != "done\n":
            raise HostError(f"{self.name}: the first process has ended")


class Hosts:
    """Hosts on a bridge, and a machine `outside` for clients and stores, which no test kills.

    >>> with hosts(4) as made:
    ...     made[0].start("haproxy", "-f", made[0].write("haproxy.cfg", text))
    ...     made.cut(made[1])
    """

    def __init__(self) -> None:
        self._switch = Host("switch", "")
        self._all: list[Host] = []
        self._links: dict[str, str] = {}
        self._switch.run("ip", "link", "add", "bridge", "type", "bridge")
        self._switch.run("ip", "link", "set", "bridge", "up")
        self.outside = self._add("outside", 254)

    def __getitem__(self, index: int) -> Host:
        return self._all[1:][index]

    def __iter__(self) -> Iterator[Host]:
        return iter(self._all[1:])

    def __len__(self) -> int:
        return len(self._all) - 1

    def add(self) -> Host:
        """Adds a host. Returns it."""
        number = len(self._all)
        return self._add(f"host-{number}", number)

    def cut(self, host: Host) -> None:
        """Cuts the network of a host: packets vanish, as behind a switch that fails; its link stays up."""
        self._switch.run("ip", "link", "set", self._links[host.name], "nomaster")

    def restore(self, host: Host) -> None:
        """Gives a host its network back."""
        self._switch.run("ip", "link", "set", self._links[host.name], "master", "bridge")

    def close(self) -> None:
        """Ends all hosts."""
        for host in [*self._all, self._switch]:
            host.close()

    def _add(self, name: str, number: int) -> Host:
        made = Host(name, f"{NETWORK}.{number}")
        self._all.append(made)
        link = self._links[name] = f"port-{number}"
        # The command runs with this machine's process ids: the PID namespace is not entered.
        peer = ["type", "veth", "peer", "name", "eth0", "netns", str(made.pid)]
        words = ["nsenter", "-t", str(self._switch.pid), "--net", "--", "ip", "link", "add", link, *peer]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            raise HostError(f"cannot connect {name}: {done.stderr}")
        made.run("ip", "address", "add", f"{made.address}/24", "dev", "eth0")
        made.run("ip", "link", "set", "eth0", "up")
        self._switch.run("ip", "link", "set", link, "master", "bridge", "up")
        return made


def _children(pid: int) -> list[int]:
    """Returns the ids of the children of a process."""
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


@contextmanager
def hosts(count: int) -> Iterator[Hosts]:
    """Makes hosts, and ends them with all their processes.

    Raises:
        HostError: this machine cannot make them.
    """
    if (reason := missing()) is not None:
        raise HostError(reason)
    made = Hosts()
    try:
        for _ in range(count):
            made.add()
        yield made
    finally:
        made.close()
