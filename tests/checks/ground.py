"""The ground the checks stand on: folders, tools, the virtual environment, and how a step is run."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "check"
LOGS = BUILD / "logs"
VENV = BUILD / "venv"
PYTHON = VENV / "bin" / "python"
JOBS = str(os.cpu_count() or 2)

# Tool or file -> the Debian package that brings it.
SYSTEM = {
    "g++": "g++",
    "cmake": "cmake",
    "ninja": "ninja-build",
    "ccache": "ccache",
    "git": "git",
    "mcs": "mono-mcs",
    "mono": "mono-runtime",
    "/usr/include/doctest/doctest.h": "doctest-dev",
    "glslc": "glslc",
    "/usr/lib/wine/wine64": "wine64",
    "Xvfb": "xvfb",
    "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json": "mesa-vulkan-drivers",
    "qemu-aarch64": "qemu-user",
    "qemu-x86_64": "qemu-user",
    "/usr/aarch64-linux-gnu/lib/libc.so.6": "libc6-arm64-cross",
    "npm": "npm",
    "as": "binutils",
    "ld": "binutils",
    "objcopy": "binutils",
    "clang++-14": "clang-14",
    "pkg-config": "pkg-config",
    "fc-list": "fontconfig",
    "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf": "fonts-dejavu-core",
    "espeak-ng": "espeak-ng",
    "bwrap": "bubblewrap",
    "postgres": "postgresql",
    "haproxy": "haproxy",
    "redis-server": "redis-server",
    "ip": "iproute2",
}
OPTIONAL = {"ccache"}  # only makes things faster


@dataclass
class Step:
    """One check: `run` raises or returns normally; what it returns is shown beside its name."""

    name: str
    what: str
    run: Callable[[], str | None]
    needs: Sequence[str] = field(default=())  # tools of SYSTEM
    after: Sequence[str] = field(default=())  # steps without which it makes no sense
    full: bool = False  # whether it runs with --full only, or where --only names it


RUNGS: dict[str, bool] = {}  # lines of tests about the rungs they took; whether they were printed


class Failed(Exception):
    """A command of a step failed; its output is the message."""


class NotRun(Exception):
    """A step cannot run on this machine; the message is the reason."""


def present(tool: str) -> bool:
    """Whether a tool of SYSTEM is here. Debian keeps the programs of PostgreSQL outside of PATH."""
    if tool == "postgres" and any(Path("/usr/lib/postgresql").glob("*/bin/postgres")):
        return True
    return Path(tool).exists() if tool.startswith("/") else shutil.which(tool) is not None


def set_up() -> set[str]:
    """Installs what can be installed. Returns the tools that are still missing."""
    LOGS.mkdir(parents=True, exist_ok=True)
    install_system_packages()
    make_venv()
    missing = {tool for tool in SYSTEM if not present(tool)} - OPTIONAL
    if missing:
        packages = " ".join(sorted({SYSTEM[tool] for tool in missing}))
        print(
            f"Missing, and not to be installed from here: {packages}\n  sudo apt-get install {packages}",
            flush=True,
        )
    return missing


def install_system_packages() -> None:
    """With apt, where there is one and this user may use it."""
    wanted = sorted({package for tool, package in SYSTEM.items() if not present(tool)})
    if not wanted or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    print(f"installing {' '.join(wanted)}", flush=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with (LOGS / "apt.log").open("w") as log:
        for command in (["update"], ["install", "-y", "--no-install-recommends", *wanted]):
            subprocess.run(["apt-get", *command], stdout=log, stderr=log, env=quiet, check=False)


def make_venv() -> None:
    """The virtual environment of the checks, with the tools that pyproject.toml pins."""
    pins = (ROOT / "pyproject.toml").read_bytes()
    stamp, mark = VENV / "made-from", hashlib.sha256(pins + sys.version.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == mark:
        return
    print("setting up a virtual environment", flush=True)
    shutil.rmtree(VENV, ignore_errors=True)
    run([sys.executable, "-m", "venv", str(VENV)])
    wanted = requirements("dev", "server", "agent", "fleet", "fleet-ray")
    run([str(PYTHON), "-m", "pip", "install", "-q", *wanted])
    stamp.write_text(mark)


def requirements(*extras: str) -> list[str]:
    """The package's dependencies and those of some extras, as pyproject.toml pins them."""
    if sys.version_info >= (3, 11):
        import tomllib

        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    else:
        from pip._vendor import tomli

        project = tomli.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    return wanted


def site(folder: Path, *installs: Sequence[str | Path]) -> str:
    """Installs packages in `folder`, beside the virtual environment of the checks, once; their folder.

    `installs`: arguments of one `pip install` each. A path is a file of requirements, as with -r.
    """
    made, stamp = folder / "site", folder / "made-from"
    texts = [arg.read_text() if isinstance(arg, Path) else arg for one in installs for arg in one]
    mark = hashlib.sha256(f"{texts} {sys.version}".encode()).hexdigest()
    if not stamp.exists() or stamp.read_text() != mark:
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
        for one in installs:
            args = [part for arg in one for part in (("-r", arg) if isinstance(arg, Path) else (arg,))]
            run([PYTHON, "-m", "pip", "install", "-q", "--target", made, *args])
        stamp.write_text(mark)
    return str(made)


def is_full() -> bool:
    """Whether what is slow and rarely breaks is tried too."""
    return os.environ.get("SOTTO_FULL") == "1"


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path = ROOT,
    env: dict[str, str] | None = None,
    timeout: float | None = None,
) -> str:
    """Runs a command. Returns what it printed; raises Failed with it."""
    longest = 6 * 3600 if is_full() else 3000
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=longest if timeout is None else timeout,
        check=False,
    )
    with (LOGS / "commands.log").open("a") as log:
        log.write(f"$ {' '.join(words)}\n{done.stdout}\n")
    if done.returncode != 0:
        raise Failed(f"$ {' '.join(words)}   (exit status {done.returncode})\n{done.stdout}")
    note_rungs(done.stdout)
    return done.stdout


def note_rungs(printed: str) -> None:
    """Keeps lines `rung: <test>: <rung>: <reason>`, which the step prints below its own; each once."""
    for line in re.findall(r"\brung: .+", printed):
        RUNGS.setdefault(line, False)


def ctest(folder: Path, *options: str, **env: str) -> str:
    """Runs a native build's tests. Returns how many passed."""
    command = ["ctest", "--test-dir", folder, "-j", JOBS, "--output-on-failure", "--no-tests=error"]
    printed = run([*command, *options], env=env)
    note_rungs((folder / "Testing" / "Temporary" / "LastTest.log").read_text(errors="replace"))
    return next(line for line in printed.splitlines() if "tests passed" in line)


def pytest_words(*more: str | Path) -> list[str | Path]:
    """The command that runs tests in as many processes as jobs, a file in one; with what tests print."""
    return [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", JOBS, "--dist", "loadfile", "-rP",
            *more]  # fmt: skip


def last_line(text: str) -> str:
    """The last line that is not empty."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def run_step(step: Step) -> bool | None:
    """Runs a step and prints one line; on failure, what went wrong too.

    Returns whether it passed; None if it cannot run here.
    """
    began = time.monotonic()
    try:
        said = step.run() or ""
    except NotRun as reason:
        print(f"  not run  {step.name:12} {reason}", flush=True)
        return None
    except (Failed, subprocess.TimeoutExpired, AssertionError, OSError, ValueError) as error:
        print(f"  FAILED   {step.name:12} {time.monotonic() - began:6.1f} s\n{error}\n", flush=True)
        return False
    print(f"  ok       {step.name:12} {time.monotonic() - began:6.1f} s  {said}", flush=True)
    for line, printed in RUNGS.items():
        if not printed:
            print(f"           {line}", flush=True)
            RUNGS[line] = True
    return True
