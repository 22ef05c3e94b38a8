"""Builds that cannot be packaged, a full disk, a stopped command: the message, and nothing half written."""

from __future__ import annotations

import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from build_folder import PLATFORMS, BuildFolder
from release import PackagingError

from conftest import PACKAGING, VERSION, command

LINUX, WINDOWS, ANDROID = PLATFORMS
SDK = ("--partial", "--modules", "sotto_llama-*", "--only", "sdk,symbols,sbom")


def package(out: Path, *options: str | Path, limit: int | None = None) -> tuple[int, str]:
    """Runs the command; returns exit status and errors. `limit`: largest file that it may write, in bytes."""

    def restrict() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))  # type: ignore[arg-type]

    done = subprocess.run(
        command(out, *options),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=restrict if limit else None,
    )
    return done.returncode, done.stderr


@pytest.fixture
def copy(build: Path, tmp_path: Path) -> Path:
    """A copy of what packaging reads of a build folder, to be broken; its large files are links."""
    folder = tmp_path / "build"
    (folder / "out").mkdir(parents=True)
    for name in ("CMakeCache.txt", "cmake_install.cmake"):
        shutil.copy(build / name, folder)
    (place,) = build.glob("CMakeFiles/*/CMakeSystem.cmake")
    detected = folder / "CMakeFiles" / place.parent.name
    detected.mkdir(parents=True)
    shutil.copy(place, detected)
    shutil.copy(build / "out" / LINUX.core, folder / "out")
    return folder


@pytest.fixture
def core(copy: Path) -> Path:
    """A build of the core alone, which is packaged in a second."""
    edit(copy / "CMakeCache.txt", "^(SOTTO_LLAMA:BOOL=).*", r"\1OFF")
    edit(copy / "cmake_install.cmake", r'^.*include\(".*/backends/llama/cmake_install.cmake"\)$', "")
    return copy


def edit(file: Path, pattern: str, replacement: str) -> None:
    text = file.read_text()
    changed = re.sub(pattern, replacement, text, flags=re.M)
    assert changed != text
    file.write_text(changed)


def test_the_copy_is_a_good_build(copy: Path) -> None:
    BuildFolder(LINUX, copy, VERSION)


def test_no_build_is_named(tmp_path: Path) -> None:
    status, errors = package(tmp_path / "dist")
    assert status == 1
    assert errors == (
        "packaging: no build folder: expected at least one of --linux, --windows, --android; see --help\n"
    )


def refused(platform_index: int, folder: Path) -> str:
    with pytest.raises(PackagingError) as caught:
        BuildFolder(PLATFORMS[platform_index], folder, VERSION)
    return str(caught.value)


def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    assert refused(0, tmp_path / "none") == (
        f"invalid --linux '{tmp_path}/none': no such folder; "
        f"cmake -S native -B {tmp_path}/none -G Ninja makes one"
    )


def test_a_folder_that_was_never_configured(tmp_path: Path) -> None:
    assert "expected a build folder, found no CMakeCache.txt; cmake -S native -B" in refused(0, tmp_path)


def test_a_build_of_another_project(copy: Path) -> None:
    edit(copy / "CMakeCache.txt", "^(CMAKE_PROJECT_NAME:STATIC=)sotto", r"\1other")
    assert "expected a build of native/, found project 'other'" in refused(0, copy)


def test_a_build_of_another_version(copy: Path) -> None:
    edit(copy / "CMakeCache.txt", "^(CMAKE_PROJECT_VERSION:STATIC=).*", r"\g<1>0.0.9")
    message = refused(0, copy)
    assert (
        f"expected version {VERSION}, found 0.0.9; cmake -S native -B {copy} && cmake --build {copy}"
        in message
    )


def test_a_library_of_another_version(copy: Path) -> None:
    library = copy / "out" / LINUX.core
    content = library.read_bytes()
    library.write_bytes(content.replace(VERSION.encode() + b"\0", b"9.9.9\0"))
    assert f"expected out/libsotto.so of version {VERSION}, found another" in refused(0, copy)


def test_a_library_that_was_not_built(copy: Path) -> None:
    (copy / "out" / LINUX.core).unlink()
    assert f"expected out/libsotto.so, which is missing; cmake -S native -B {copy}" in refused(0, copy)


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"MZ", b"<html>not a library</html>"])
def test_a_file_that_is_no_library(content: bytes, copy: Path) -> None:
    (copy / "out" / LINUX.core).write_bytes(content)
    assert "expected out/libsotto.so for linux-x86_64, found another processor" in refused(0, copy)


def test_a_library_for_another_processor(copy: Path) -> None:
    library = copy / "out" / LINUX.core
    content = bytearray(library.read_bytes())
    content[18:20] = b"\xb7\0"  # 64-bit ARM
    library.write_bytes(bytes(content))
    assert "expected out/libsotto.so for linux-x86_64, found another processor" in refused(0, copy)


@pytest.mark.parametrize("index", [1, 2])
def test_a_build_for_another_system(index: int, copy: Path) -> None:
    message = refused(index, copy)
    assert f"invalid --{PLATFORMS[index].option} '{copy}': expected a build for" in message
    assert message.endswith("found Linux; name another folder")


def test_a_build_with_sanitizers(copy: Path) -> None:
    edit(copy / "CMakeCache.txt", "^(SOTTO_SANITIZE:STRING=).*", r"\1address")
    assert "expected a release build, found SOTTO_SANITIZE=address; configure without it" in refused(0, copy)


def test_a_module_that_was_not_built(copy: Path, build: Path, tmp_path: Path) -> None:
    llama = tmp_path / "llama_install.cmake"
    text = (build / "backends/llama/cmake_install.cmake").read_text()
    llama.write_text(text.replace(str(build / "out"), str(copy / "out")))
    edit(
        copy / "cmake_install.cmake",
        r'include\(".*/backends/llama/cmake_install.cmake"\)',
        f'include("{llama}")',
    )
    status, errors = package(tmp_path / "dist", "--linux", copy, *SDK)
    assert status == 1
    assert re.match(
        rf"packaging: invalid --linux '{copy}': cmake --install: cannot find .*sotto_llama", errors
    ), errors
    assert f"; cmake -S native -B {copy} && cmake --build {copy}\n" in errors
    assert not (tmp_path / "dist").exists()


def test_the_tier_of_this_machine_is_refused(build: Path, tmp_path: Path) -> None:
    status, errors = package(tmp_path / "dist", "--linux", build)
    assert status == 1
    assert "SOTTO_TIERS is native" in errors and "add --partial" in errors
    assert not (tmp_path / "dist").exists()


def test_a_core_without_a_module_is_refused(copy: Path, tmp_path: Path) -> None:
    edit(copy / "CMakeCache.txt", "^(SOTTO_TIERS:STRING=).*", r"\1x86-64-v2")
    edit(copy / "CMakeCache.txt", "^(SOTTO_LLAMA:BOOL=).*", r"\1OFF")
    status, errors = package(tmp_path / "dist", "--linux", copy)
    assert (status, "SOTTO_LLAMA is OFF: no module, so no model loads" in errors) == (1, True)


def test_a_pattern_that_leaves_no_module(build: Path, tmp_path: Path) -> None:
    status, errors = package(tmp_path / "dist", "--linux", build, "--partial", "--modules", "other-*")
    assert status == 1
    excluded = "sotto_diffusion-native.so, sotto_llama-native.so"
    assert f"no module is left for linux-x86_64: --modules excludes {excluded}" in errors
    assert not (tmp_path / "dist").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--only", "sdk,disk"],
            "invalid --only 'disk': expected wheel, unity, unreal, godot, sdk, symbols, sbom",
        ),
        (["--only", "wheel", "--wheel", "/none.whl"], "invalid --wheel '/none.whl': no such file"),
        (
            ["--godot", "/none"],
            "invalid --godot '/none': expected addons/sotto/sotto.gdextension, which is missing",
        ),
        (["--only", "symbols", "--readelf", "no-readelf"], "program 'no-readelf' not found"),
        (["--only", "symbols", "--objcopy", "false"], "cannot split debug information"),
    ],
)
def test_options(options: list[str], message: str, core: Path, tmp_path: Path) -> None:
    status, errors = package(tmp_path / "dist", "--linux", core, "--partial", *options)
    assert (status, message in errors) == (1, True), errors
    assert not (tmp_path / "dist").exists()


@pytest.mark.parametrize("version", ["0.0.9", None])
def test_a_wheel_of_another_version(version: str | None, core: Path, tmp_path: Path) -> None:
    wheel = tmp_path / "other.whl"
    if version is None:
        wheel.write_bytes(b"not a wheel")
    else:
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(
                "sotto_runtime-0.0.9.dist-info/METADATA", f"Name: sotto-runtime\nVersion: {version}\n"
            )
    status, errors = package(
        tmp_path / "dist", "--linux", core, "--partial", "--only", "wheel", "--wheel", wheel
    )
    expected = (
        "expected a wheel; build it again" if version is None else f"expected version {VERSION}, found 0.0.9"
    )
    assert (status, expected in errors) == (1, True), errors


def test_a_place_that_is_a_file(core: Path, tmp_path: Path) -> None:
    (tmp_path / "dist").write_text("here already")
    status, errors = package(tmp_path / "dist", "--linux", core, *SDK)
    assert status == 1
    assert f"invalid --out '{tmp_path}/dist': File exists; name a folder that can be written" in errors
    assert (tmp_path / "dist").read_text() == "here already"


def test_a_time_that_is_none(core: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    status, errors = package(tmp_path / "dist", "--linux", core, *SDK)
    assert (status, "invalid SOURCE_DATE_EPOCH 'yesterday': expected seconds since 1970" in errors) == (
        1,
        True,
    )


# The command with a disk that is full from a step on: a file can grow to a limit only.
FULL = """
import resource, runpy, sys
sys.path.insert(0, sys.argv[1])
import build_folder, output, run, sdk
owner, name, limit = eval(sys.argv[2])
original = getattr(owner, name)
def late(*words):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return original(*words)
setattr(owner, name, late)
sys.argv[:3] = [sys.argv[1]]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("(build_folder.BuildFolder, 'install', 2**20)", "cmake --install: "),
        ("(sdk, 'split', 2**18)", "cannot split debug information"),
        ("(run.Run, 'write', 2**20)", "File too large; free space or name another --out"),
        ("(output.OutputFolder, 'publish', 100)", "File too large; free space or name another --out"),
    ],
)
def test_a_full_disk_leaves_nothing(step: str, message: str, core: Path, tmp_path: Path) -> None:
    place = tmp_path / "new" / "dist"
    words = [sys.executable, "-c", FULL, PACKAGING, step, "--out", place, "--linux", core, *SDK]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("packaging: ") and done.stderr.count("\n") == 1, done.stderr
    assert message in done.stderr
    assert not (tmp_path / "new").exists()


def test_a_full_disk_leaves_the_packages_of_an_earlier_run(core: Path, tmp_path: Path) -> None:
    place = tmp_path / "dist"
    assert package(place, "--linux", core, *SDK) == (0, "")
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    status, _ = package(place, "--linux", core, *SDK, limit=2**20)
    assert status == 1
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before


def test_a_command_that_is_stopped_leaves_nothing(core: Path, tmp_path: Path) -> None:
    place = tmp_path / "dist"
    process = subprocess.Popen(command(place, "--linux", core, *SDK), stderr=subprocess.PIPE, text=True)
    wait_for(lambda: any(place.glob(".packaging-*/linux-x86_64/lib/libsotto.so")))
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert errors == "packaging: stopped by signal 15; run it again\n"
    assert not place.exists()


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
