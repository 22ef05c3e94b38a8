"""tests/gpu/run.sh, which measures on a graphics card: without one it ends and says what is missing."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import BUILD, ROOT

RUN = ROOT / "tests" / "gpu" / "run.sh"
NOTHING = 3  # its exit status then


def has(library: str) -> bool:
    """Whether this machine's driver brought it."""
    done = subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL({library!r})"], check=False)
    return done.returncode == 0


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    found = {**os.environ, **environment}
    return subprocess.run([str(RUN), *words], env=found, capture_output=True, text=True, check=False)


@pytest.mark.skipif(has("libcuda.so.1"), reason="there is a CUDA driver, and it would run for an hour")
def test_without_a_driver_it_says_so() -> None:
    done = run()
    report = json.loads(done.stdout)
    assert done.returncode == NOTHING and (report["ran"], report["ok"]) == (False, False)
    assert "libcuda.so.1 cannot be opened" in report["missing"] and "brings it" in report["missing"]
    assert report["date"] and "gpu" not in report


@pytest.mark.skipif(has("libnvidia-ml.so.1"), reason="this machine has what is to be missing")
def test_half_a_driver_is_none() -> None:
    done = run(LD_LIBRARY_PATH=str(BUILD / "cuda_whole"))
    assert done.returncode == NOTHING
    assert "libnvidia-ml.so.1 lacks nvmlDeviceGetHandleByUUID" in json.loads(done.stdout)["missing"]


def test_a_driver_without_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(RUN.parent))
    from machine_card import CIG_VULKAN, Driver, Missing

    driver = Driver(str(BUILD / "cuda_whole" / "libcuda.so.1"))
    driver.library.sotto_double_set(b"reset", ctypes.c_long(1))
    driver.call("cuInit", 0)
    assert [driver.attribute(CIG_VULKAN, card) for card in range(driver.count)] == [0, 1]
    driver.library.sotto_double_set(b"cards", ctypes.c_long(0))
    with pytest.raises(Missing, match="the CUDA driver has no card"):
        Driver(str(BUILD / "cuda_whole" / "libcuda.so.1"))
    driver.library.sotto_double_set(b"reset", ctypes.c_long(1))


def test_nothing_of_a_rehearsal_is_kept() -> None:
    assert "--rehearse" in run("--help").stdout
    done = run("--rehearse", "abacus")
    assert done.returncode == 2 and "invalid choice: 'abacus'" in done.stderr
    for kept in (Path(RUN.parent) / "results").glob("*.json"):
        report = json.loads(kept.read_text())
        assert report["ran"] and report["gpu"] and report["driver"] and "rehearsal" not in report
