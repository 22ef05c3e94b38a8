"""The Unreal zip, unpacked in an empty folder: its layout, its C++ and C#, and a program on its libraries."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.godot.stage import SHIPPED

from checks.ground import PYTHON
from checks.unreal import FLAGS
from conftest import ROOT, VERSION, Packages, check_image_modules, run

GAME = ROOT / "samples" / "c" / "find_package" / "game.c"
BUILT = {"Binaries", "Intermediate", "Saved"}
UNREAL = ROOT / "tests" / "unreal"
DOUBLE = UNREAL / "double"
MODULES = ("SottoPreInit", "SottoRuntime", "SottoEditor")


@pytest.fixture(scope="session")
def plugin(unpacked: Callable[[str], Path]) -> Path:
    (folder,) = unpacked("sotto-unreal-*").iterdir()
    assert folder.name == "Sotto"
    return folder


def test_it_has_the_modules_that_it_names(plugin: Path) -> None:
    descriptor = json.loads((plugin / "Sotto.uplugin").read_text())
    assert descriptor["VersionName"] == VERSION
    modules = [module["Name"] for module in descriptor["Modules"]]
    assert sorted(modules) == sorted(MODULES)
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
    assert libraries == set(SHIPPED)
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


def test_its_libraries_open_models_of_images(plugin: Path, tmp_path: Path) -> None:
    check_image_modules(plugin / "Source" / "SottoSDK" / "lib" / "Linux", tmp_path)


@pytest.fixture(scope="session", autouse=True)
def commands(
    plugin: Path, packages: Packages, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[str]]]:
    """Runs the compiler, the lint of the headers and the check of Build.cs beside other tests."""
    folder = tmp_path_factory.mktemp("unreal")
    run([sys.executable, DOUBLE / "generate.py", folder / "generated", plugin / "Source"], folder)
    words = {module: compiler(module, plugin, folder) for module in MODULES}
    words["lint"] = [PYTHON, UNREAL / "header_check", "--plugin", plugin]
    archive = packages.file("sotto-unreal-*")
    words["rules"] = [PYTHON, UNREAL / "build_rules", "--check", "--plugin", plugin, "--zip", archive]
    with ThreadPoolExecutor(1) as pool:
        yield {name: pool.submit(run, one, folder) for name, one in words.items()}


@pytest.fixture
def results(commands: dict[str, Future[str]]) -> dict[str, Future[str]]:
    """What the commands print. Tests that take it run last."""
    return commands


def compiler(module: str, plugin: Path, folder: Path) -> list[str | Path]:
    """The command that compiles a module's sources together, on the double of Unreal, without output."""
    source = plugin / "Source"
    unit = folder / f"{module}.cpp"
    files = sorted((source / module / "Private").rglob("*.cpp"))
    unit.write_text("".join(f'#include "{file}"\n' for file in files))
    runtime = source / "SottoRuntime"
    places = [folder / "generated", DOUBLE / "include", runtime / "Public", runtime / "Private"]
    places += [source / module / "Private", source / "SottoSDK" / "include"]
    return ["g++", *FLAGS, "-fsyntax-only", *(f"-I{place}" for place in places), unit]


@pytest.mark.parametrize("module", MODULES)
def test_its_sources_compile(module: str, results: dict[str, Future[str]]) -> None:
    results[module].result()


def test_its_headers_pass_the_lint(results: dict[str, Future[str]]) -> None:
    assert f"header_check: {len(MODULES)} modules, " in results["lint"].result()


def test_its_build_rules_name_its_files(results: dict[str, Future[str]]) -> None:
    assert "(Android: empty stand-ins)" in results["rules"].result()  # no build for Android
