"""Headless Chromium, driven through its debugging pipe."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
          "--disable-background-networking", "--remote-debugging-pipe", "about:blank")  # fmt: skip


def chromium() -> str | None:
    """Where Chromium is; None: not on this machine."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Page:
    """A page of the browser. `complaints`: what its console said of errors, and what its policy refused."""

    def __init__(self, writing: int, reading: int) -> None:
        self._writing, self._reading = writing, reading
        self._number, self._text = 0, b""
        self.complaints: list[str] = []
        self._session = ""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def open(self, url: str, wide: int, high: int, dark: bool = False) -> None:
        """Opens a page in a window of this size."""
        size = {"width": wide, "height": high, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        told = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in told:
            raise AssertionError(told["exceptionDetails"])
        return told["result"].get("value")

    def until(self, script: str, seconds: float = 30) -> None:
        """Waits until an expression is true."""
        end = time.monotonic() + seconds
        while not self.run(script):
            if time.monotonic() > end:
                raise AssertionError(f"never became true: {script}")
            time.sleep(0.05)

    def picture(self, file: Path) -> None:
        """Saves what the window shows as PNG."""
        file.write_bytes(base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"]))

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        while (told := self._read()).get("id") != self._number:
            self._note(told)
        if "error" in told:
            raise AssertionError(f"{method}: {told['error']}")
        return dict(told["result"])

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._text:
            if not select.select([self._reading], [], [], 60)[0]:
                raise AssertionError("the browser does not answer")
            part = os.read(self._reading, 1 << 20)
            if not part:
                raise AssertionError("the browser ended")
            self._text += part
        message, _, self._text = self._text.partition(b"\0")
        return dict(json.loads(message))

    def _note(self, told: dict[str, Any]) -> None:
        params = told.get("params", {})
        if told.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.complaints.append(params["entry"]["text"])
        elif told.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"])[:500])


@contextmanager
def browser() -> Iterator[Page]:
    """Starts Chromium with an empty page."""
    program = chromium()
    assert program is not None
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (*os.pipe(), *os.pipe())]
    theirs_in, ours_out, ours_in, theirs_out = ends

    def prepare() -> None:
        os.dup2(theirs_in, 3)
        os.dup2(theirs_out, 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [program, f"--user-data-dir={profile}", *_FLAGS]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, preexec_fn=prepare, pass_fds=(3, 4), **quiet) as process:  # type: ignore[call-overload]
            os.close(theirs_in)
            os.close(theirs_out)
            try:
                yield Page(ours_out, ours_in)
            finally:
                process.kill()
                os.close(ours_out)
                os.close(ours_in)
