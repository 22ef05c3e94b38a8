"""A pytest plugin for llama.cpp's server tests: local downloads, time limits, outcomes as lines of JSON."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

LIMIT = 120  # seconds of one test
REQUEST_LIMIT = 60  # seconds of one request
FILES = json.loads(Path(os.environ["LLAMA_SUITE"]).read_text(encoding="utf-8"))


def pytest_configure() -> None:
    """Replaces what reaches for the network."""
    import requests
    import utils
    import wget

    utils.ServerPreset.load_all = staticmethod(lambda: None)
    code = utils.ServerProcess.make_request
    code.__defaults__ = tuple(
        REQUEST_LIMIT if one == utils.DEFAULT_REQUEST_TIMEOUT else one for one in code.__defaults__
    )
    get = requests.get

    def local_get(url: str, *words: Any, **more: Any) -> Any:
        name = url.rsplit("/", 1)[-1]
        if not url.startswith("https://huggingface.co/") or name not in FILES["downloads"]:
            return get(url, *words, **more)
        response = requests.Response()
        response.status_code = 200
        response._content = Path(FILES["downloads"][name]).read_bytes()
        return response

    def download(url: str, out: str) -> str:
        Path(out).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(FILES["downloads"][url.rsplit("/", 1)[-1]], out)
        return out

    requests.get = local_get
    wget.download = download


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keeps the tests that LLAMA_SUITE_ONLY names, if it is set."""
    if named := os.environ["LLAMA_SUITE_ONLY"]:
        only = set(Path(named).read_text(encoding="utf-8").splitlines())
        items[:] = [item for item in items if item.nodeid.removeprefix("unit/") in only]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Ends a test that hangs."""

    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"{item.nodeid} took longer than {LIMIT} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Writes the outcome of a test."""
    if report.when != "call" and report.passed:
        return
    crash = getattr(report.longrepr, "reprcrash", None)
    reason = crash.message if crash is not None else str(report.longrepr or "")
    line = {"test": report.nodeid, "outcome": report.outcome, "reason": reason[:500]}
    with open(os.environ["LLAMA_SUITE_OUTCOMES"], "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
