"""The Unreal zip, unpacked in an empty folder: its layout, and a program on its headers and libraries."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ROOT, VERSION, run

GAME = ROOT / "samples" / "c" / "find_package" / "game.c"
BUILT = {"Binaries", "Intermediate", "Saved"}


@pytest.fixture(scope="module")
def plugin(unpacked: Callable[[str], Path]) -> Path:
    (folder,) = unpacked("sotto-unreal-*").iterdir()
    assert folder.name == "Sotto"
    return folder


def test_it_has_the_modules_that_it_names(plugin: Path) -> None:
    descriptor = json.loads((plugin / "Sotto.uplugin").read_text())
    assert descriptor["VersionName"] == VERSION
    modules = [module["Name"] for module in descriptor["Modules"]]
    assert modules
    for module in [*modules, "SottoSDK"]:
        assert (plugin / "Source" / module / f"{module}.Build.cs").is_file(), module


def test_it_has_every_source(plugin: Path) -> None:
    source = ROOT / "unreal" / "Sotto"
    for path in source.rglob("*"):
        inside = path.relative_to(source)
        if path.is_file() and not BUILT & set(inside.parts) and not inside.name.startswith("."):
            assert (plugin / inside).read_bytes() == path.read_bytes(), inside


def test_it_has_the_headers_and_the_libraries(plugin: Path) -> None:
    sdk = plugin / "Source" / "SottoSDK"
    headers = {path.name for path in (sdk / "include" / "sotto").iterdir()}
    assert headers == {
        path.name for path in (ROOT / "include/sotto").iterdir() if path.suffix in (".h", ".hpp")
    }
    libraries = {path.name for path in (sdk / "lib" / "Linux").iterdir()}
    assert libraries == {"libsotto.so", "sotto_llama-native.so", "house.gguf"}
    windows = {path.name for path in (sdk / "lib" / "Win64").iterdir()}
    assert windows >= {"sotto.dll", "sotto.lib", "house.gguf"}
    assert {path.name for path in (sdk / "lib").iterdir()} == {"Linux", "Win64"}  # no build for Android
    assert {"LICENSE", "THIRD_PARTY.md"} <= {path.name for path in plugin.iterdir()}


def test_a_program_on_its_headers_and_libraries_speaks(plugin: Path, tmp_path: Path) -> None:
    sdk = plugin / "Source" / "SottoSDK"
    libraries = sdk / "lib" / "Linux"
    flags = [f"-I{sdk / 'include'}", f"-L{libraries}", "-lsotto", f"-Wl,-rpath,{libraries}"]
    run(["cc", GAME, *flags, "-o", "game"], tmp_path)
    assert "3 copper" in run([tmp_path / "game"], tmp_path)
