"""The SDK, unpacked in an empty folder: CMake, pkg-config and Conan build a game on it, which speaks."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.godot.stage import SHIPPED

from conftest import ROOT, VERSION, build_load, check_image_modules, run

GAME = ROOT / "samples" / "c" / "find_package"
SPOKEN = "3 copper"
VERSION_PROGRAM = """
#include <stdio.h>
#include <sotto/sotto.h>
int main(void) { return printf("%.*s", (int)sotto_version().size, sotto_version().data) < 0; }
"""


@pytest.fixture(scope="module")
def prefix(unpacked: Callable[[str], Path]) -> Path:
    (folder,) = unpacked("sotto-sdk-*-linux-*").iterdir()
    return folder


def test_layout(prefix: Path) -> None:
    names = {path.relative_to(prefix).as_posix() for path in prefix.rglob("*") if path.is_file()}
    assert names >= {
        "include/sotto/sotto.h",
        "include/sotto/sotto.hpp",
        *(f"lib/{name}" for name in SHIPPED),
        "lib/cmake/sotto/sottoConfig.cmake",
        "lib/cmake/sotto/sottoRuntime.cmake",
        "lib/pkgconfig/sotto.pc",
        "share/doc/sotto/LICENSE",
        "share/doc/sotto/THIRD_PARTY.md",
    }
    headers = {path.name for path in (prefix / "include/sotto").iterdir()}
    assert headers == {
        path.name for path in (ROOT / "include/sotto").iterdir() if path.suffix in (".h", ".hpp")
    }


def test_cmake_finds_it(prefix: Path, tmp_path: Path) -> None:
    generate = ["cmake", "-S", GAME, "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}"]
    run(generate, tmp_path)
    run(["cmake", "--build", tmp_path], tmp_path)
    for program in ("game", "game_cpp"):
        assert SPOKEN in run([tmp_path / program], tmp_path)


LEAVES_OUT = """cmake_minimum_required(VERSION 3.16)
project(game LANGUAGES C)
find_package(sotto REQUIRED)
add_executable(game "{game}")
target_link_libraries(game PRIVATE sotto::sotto)
sotto_copy_runtime(game LEAVE_OUT {names})
"""


def test_a_game_copies_what_it_ships(prefix: Path, tmp_path: Path) -> None:
    check_image_modules(prefix / "lib", tmp_path)
    for names, left_out in (("", set()), ("onnx diffusion", set(SHIPPED[2:4]) | {"matting.onnx"})):
        folder = tmp_path / (names or "all")
        folder.mkdir()
        text = LEAVES_OUT.format(game=GAME / "game.c", names=names)
        (folder / "CMakeLists.txt").write_text(text)
        out = folder / "out"
        run(["cmake", "-S", folder, "-B", out, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}"], folder)
        run(["cmake", "--build", out], folder)
        assert {path.name for path in out.iterdir()} & set(SHIPPED) == set(SHIPPED) - left_out
        assert SPOKEN in run([out / "game"], folder)
    said = run([build_load(out, folder), "sotto/matting"], folder)
    assert said.startswith(f"no backend 'onnx' was found in {out}"), said


def test_pkg_config_finds_it(prefix: Path, tmp_path: Path) -> None:
    env = {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    assert run(["pkg-config", "--modversion", "sotto"], tmp_path, **env).strip() == VERSION
    flags = run(["pkg-config", "--cflags", "--libs", "sotto"], tmp_path, **env).split()
    run(["cc", GAME / "game.c", *flags, f"-Wl,-rpath,{prefix / 'lib'}", "-o", "game"], tmp_path)
    assert SPOKEN in run([tmp_path / "game"], tmp_path)


def test_a_windows_program_links_the_import_library(unpacked: Callable[[str], Path], tmp_path: Path) -> None:
    (sdk,) = unpacked("sotto-sdk-*-windows-*").iterdir()
    targets = (sdk / "lib/cmake/sotto/sottoTargets-release.cmake").read_text()
    for name in ("lib/sotto.lib", "bin/sotto.dll"):
        assert f"${{_IMPORT_PREFIX}}/{name}" in targets and (sdk / name).is_file()
    (tmp_path / "version.c").write_text(VERSION_PROGRAM)
    target = [os.environ["SOTTO_ZIG"], "cc", "-target", "x86_64-windows-gnu", f"-I{sdk / 'include'}"]
    run([*target, "version.c", sdk / "lib" / "sotto.lib", "-o", "version.exe"], tmp_path, 300)
    env = {"WINEDEBUG": "-all", "WINEPATH": "Z:" + str(sdk / "bin").replace("/", "\\")}
    assert run([os.environ["SOTTO_WINE"], tmp_path / "version.exe"], tmp_path, **env).strip() == VERSION


def conan(home: Path, *words: str | Path) -> str:
    """Runs Conan with a home of its own, without a network."""
    program = Path(sys.executable).with_name("conan")
    env = {"CONAN_HOME": str(home), "CMAKE_GENERATOR": "Ninja"}
    return run([program, *words], home.parent, errors=True, **env)


@pytest.fixture(scope="session")
def conan_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("conan") / "home"
    conan(home, "profile", "detect")
    return home


def test_conan_packages_it(prefix: Path, conan_home: Path) -> None:
    said = conan(conan_home, "create", prefix / "conan", "--no-remote")
    assert SPOKEN in said
    listed = conan(conan_home, "list", "sotto/*:*", "--format=compact")
    assert f"sotto/{VERSION}" in listed


def test_conan_refuses_a_profile_of_another_system(prefix: Path, conan_home: Path) -> None:
    with pytest.raises(AssertionError, match="this SDK is for another system"):
        conan(conan_home, "create", prefix / "conan", "--no-remote", "-tf=", "-s", "os=Windows")


def test_conan_refuses_a_recipe_outside_an_sdk(conan_home: Path) -> None:
    with pytest.raises(AssertionError, match="expected it inside an unpacked SDK"):
        conan(conan_home, "create", ROOT / "native" / "packaging" / "conan", "--no-remote")


def test_vcpkg_port_has_the_version(prefix: Path) -> None:
    port = json.loads((prefix / "vcpkg" / "sotto" / "vcpkg.json").read_text())
    assert (port["name"], port["version"]) == ("sotto", VERSION)
