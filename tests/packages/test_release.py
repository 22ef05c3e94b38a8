"""What a run of the command leaves: the same bytes each time, sums that fit, and nothing of this machine."""

from __future__ import annotations

import hashlib
import re
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from tests.godot.stage import SHIPPED

from conftest import GODOT, ROOT, VERSION, Packages, run

EXPECTED = {
    "SHA256SUMS",
    "SIZES.md",
    f"com.sotto.runtime-{VERSION}.tgz",
    f"sotto-{VERSION}.cdx.json",
    f"sotto-{VERSION}-notices.md",
    f"sotto-sdk-{VERSION}-linux-x86_64.tar.gz",
    f"sotto-sdk-{VERSION}-windows-x86_64.zip",
    f"sotto-symbols-{VERSION}-linux-x86_64.tar.gz",
    f"sotto-unreal-{VERSION}.zip",
    *([f"sotto-godot-{VERSION}.zip"] if GODOT else []),
}
HOSTS = [
    "sotto-sdk-*-linux-*",
    "com.sotto.runtime-*",
    "sotto-unreal-*",
    *(["sotto-godot-*"] if GODOT else []),
]


def members(package: Path) -> dict[str, bytes]:
    """Name and content of each file in an archive; empty for other files."""
    if package.suffix in (".zip", ".whl"):
        archive = zipfile.ZipFile(package)
        return {name: archive.read(name) for name in archive.namelist()}
    if package.suffix in (".gz", ".tgz"):
        with tarfile.open(package) as tar:
            files = [member for member in tar if member.isfile()]
            return {member.name: tar.extractfile(member).read() for member in files}  # type: ignore[union-attr]
    return {}


def test_one_command_makes_every_package(packages: Packages) -> None:
    names = {path.name for path in packages.folder.iterdir()}
    wheels = {name for name in names if name.endswith(".whl")}
    assert len(wheels) == 1
    assert names - wheels == EXPECTED


def test_two_runs_write_identical_bytes(packages: Packages, second: Packages) -> None:
    sums = [
        {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in one.folder.iterdir()}
        for one in (packages, second)
    ]
    assert sums[0] == sums[1]


def test_sums_are_those_of_the_files(packages: Packages) -> None:
    said = run(["sha256sum", "--check", "SHA256SUMS"], packages.folder)
    names = {line.removesuffix(": OK") for line in said.splitlines()}
    assert names == {path.name for path in packages.folder.iterdir()} - {"SHA256SUMS"}


def test_sizes_are_those_of_the_files(packages: Packages) -> None:
    rows = re.findall(r"^\| `([^`]+)` \| ([\d.]+) \|", (packages.folder / "SIZES.md").read_text(), re.M)
    for name, size in rows:
        assert abs(float(size) - (packages.folder / name).stat().st_size / 2**20) <= 0.005, name
    assert {name for name, _ in rows} == {path.name for path in packages.folder.iterdir()} - {
        "SHA256SUMS",
        "SIZES.md",
    }


def test_missing_platforms_are_reported(packages: Packages) -> None:
    for text in (packages.printed, (packages.folder / "SIZES.md").read_text()):
        assert "not packaged: android-arm64: no --android" in text
        assert "not for release: linux-x86_64: SOTTO_TIERS is native" in text
        assert "not packaged: symbols of windows-x86_64: its libraries have none" in text


def test_nothing_names_this_machine(packages: Packages, build: Path) -> None:
    places = [str(place).encode() for place in {ROOT, Path.home(), build.resolve(), Path(sys.prefix)}]
    found = [
        (package.name, name, place)
        for package in packages.folder.iterdir()
        for name, content in (members(package) or {package.name: package.read_bytes()}).items()
        for place in places
        if re.search(re.escape(place) + rb"[/\s\"']", content)
    ]
    assert found == []


def test_archives_have_no_owner_and_one_time(packages: Packages) -> None:
    for package in (*packages.folder.glob("*.tar.gz"), *packages.folder.glob("*.tgz")):
        with tarfile.open(package) as archive:
            for member in archive:
                assert (member.uid, member.gid, member.uname, member.gname) == (0, 0, "", ""), member.name
            assert len({member.mtime for member in archive}) == 1


def test_packaged_libraries_are_hardened_without_build_paths(unpacked: Callable[[str], Path]) -> None:
    for package in HOSTS:
        folder = unpacked(package)
        run([sys.executable, ROOT / "tests/abi/hardening.py", folder], folder)


def test_every_host_has_the_same_libraries(unpacked: Callable[[str], Path]) -> None:
    for name in SHIPPED:
        found = [path.read_bytes() for package in HOSTS for path in unpacked(package).rglob(name)]
        assert len(found) >= len(HOSTS) and len(set(found)) == 1, name
