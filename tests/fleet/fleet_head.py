"""A Ray cluster whose head keeps its state in Redis, for tests: the head is killed and started again."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2

from fleet_process import Served, descendants, serving
from fleet_ray import HEAD, RayFleet, Studio
from fleet_redis import PASSWORD, redis_server

_FOLDER = re.compile(r"/tmp/sotto-ray-\w+")  # of a head


class HeadFleet(RayFleet):
    """Node `a` with the head, node `b`, and Redis with a password.

    Attributes:
        said: Lines that `sotto fleet join` has printed since it joined.
    """

    def __init__(self, folder: Path, database: str) -> None:
        super().__init__(folder, database)
        self.said: list[str] = []
        self._here = contextlib.ExitStack()
        self._after = contextlib.ExitStack()  # what is left to do once no process of the cluster runs
        self._head_words: list[str] = []

    def __enter__(self) -> HeadFleet:
        with contextlib.ExitStack() as left:
            secret = self._folder / "password"
            secret.touch(0o600)
            secret.write_text(PASSWORD)
            redis = left.enter_context(redis_server(self._folder))
            self._head_words = ["--redis", redis, "--redis-password-file", str(secret)]
            left.enter_context(self._after)
            left.callback(lambda: self._here.close())
            self.start_head()
            self.node_b = left.enter_context(self._joined())
            thread = threading.Thread(target=self._listen)
            thread.start()
            left.callback(thread.join)
            left.push(lambda *_: self.node_b.terminate())  # ends the thread's pipe
            self._left = left.pop_all()
        return self

    def _listen(self) -> None:
        assert self.node_b.stdout is not None
        for line in self.node_b.stdout:
            self.said.append(line.strip())

    def start_head(self) -> Studio:
        """Runs `sotto fleet up`. Returns clients of its control plane."""
        words = ["--name", "a", "--address", HEAD, "--cores", "2", "--node-memory", "1000", "--drain", "5"]
        words += ["--head-port", self.head.rpartition(":")[2], *self._token, *self._head_words]
        words += self._ingress(0)
        made = serving(self._folder, *words, name="up", database=self._database)
        self.served = self._here.enter_context(made)
        return Studio(self.served)

    def kill_head(self) -> None:
        """Kills all processes of the head and of its node, and the control plane, at once."""
        if self._process is not None:  # it is connected to the node
            self._process.kill()
            self._process.communicate()
            self._process = None
        folders = {found[0] for _, line in self.processes() if (found := _FOLDER.search(line))}
        for pid in tree(self.served.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.served.process.wait()
        self._here.close()
        for folder in folders:  # also of node `b`, which is on this machine: it goes at the end
            self._after.callback(shutil.rmtree, folder, ignore_errors=True)

    def further(self, folder: Path) -> contextlib.AbstractContextManager[Served]:
        """Runs `sotto fleet serve` on the cluster, with a store of its own."""
        return serving(folder, *self.words())

    @contextlib.contextmanager
    def asked(self, slug: str, key: str) -> Iterator[list[str]]:
        """Asks a workload at the ingress of node `b`, four times a second. Yields `ok` or the errors."""
        said: list[str] = []
        ended = threading.Event()
        url = f"{self.ingresses[1]}/endpoint/acme/{slug}/v1/chat/completions"
        body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}

        def ask() -> None:
            headers = {"Authorization": f"Bearer {key}"}
            with httpx2.Client(trust_env=False, timeout=30, headers=headers) as http:
                while not ended.wait(0.25):
                    try:
                        answer = http.post(url, json=body)
                        said.append("ok" if answer.status_code == 200 else answer.text[:300])
                    except httpx2.TransportError as error:
                        said.append(f"{type(error).__name__}: {error}")

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            yield said
        finally:
            ended.set()
            thread.join()

    def processes(self) -> list[tuple[int, str]]:
        """Returns all processes of the cluster, which know its token, with their command lines."""
        found = []
        for folder in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if folder.name.isdecimal() and self._token[1].encode() in (folder / "environ").read_bytes():
                    line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    found.append((int(folder.name), line))
        return found


def tree(pid: int) -> list[int]:
    """Returns a process and all that descend from it."""
    return [pid, *(one for child in descendants(pid) for one in tree(child))]
