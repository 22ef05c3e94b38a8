"""The Godot zip: a game exported with it speaks; the extension file names what is in it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from build_folder import PLATFORMS, Installed
from release import PackagingError
from tests.godot.proofs import PRESET, run_game
from tests.godot.stage import PROBES, SCENE, SHIPPED, run_godot

from conftest import ROOT, Packages, check_image_modules, run, unpack
from godot import AddonBuild, entries

SYSTEM = "linux.x86_64"
GAME = ROOT / "samples" / "c" / "find_package" / "game.c"


@pytest.fixture(scope="module")
def addon(unpacked: Callable[[str], Path]) -> Path:
    folder = unpacked("sotto-godot-*")
    assert [path.name for path in folder.iterdir()] == ["addons"]
    return folder / "addons" / "sotto"


def named(text: str) -> set[str]:
    """The files that an extension file names, relative to the addon."""
    return set(re.findall(r'"res://addons/sotto/(bin/[^"]+)"', text))


def test_the_extension_file_names_every_binary(addon: Path) -> None:
    text = (addon / "sotto.gdextension").read_text()
    files = {path.relative_to(addon).as_posix() for path in (addon / "bin").rglob("*") if path.is_file()}
    assert named(text) == files
    assert {Path(name).name for name in files} >= set(SHIPPED)
    assert re.findall(r"^\[(\w+)\]$", text, re.M)[:1] == ["configuration"]
    assert 'entry_symbol = "' in text and "reloadable = true" in text


def test_the_addon_finds_the_core_beside_itself(addon: Path) -> None:
    (library,) = (addon / "bin" / SYSTEM).glob("*sotto_godot*")
    assert "[$ORIGIN]" in run(["readelf", "-d", library], addon)


def test_a_program_on_its_libraries_speaks(addon: Path, tmp_path: Path) -> None:
    libraries = addon / "bin" / SYSTEM
    flags = [f"-I{ROOT / 'include'}", f"-L{libraries}", "-lsotto", f"-Wl,-rpath,{libraries}"]
    run(["cc", GAME, *flags, "-o", "game"], tmp_path)
    assert "3 copper" in run([tmp_path / "game"], tmp_path)
    check_image_modules(libraries, tmp_path)


PROJECT = """config_version=5

[application]

run/main_scene="res://speak.tscn"
"""


def make_project(zip_path: Path, folder: Path, templates: Path) -> Path:
    """Makes a project with the addon and one scene, a character that is asked for a price."""
    project = unpack(zip_path, folder)
    (project / "project.godot").write_text(PROJECT)
    (project / "export_presets.cfg").write_text(PRESET.format(templates=templates))
    (project / "speak.tscn").write_text(SCENE.format(name="speak"))
    shutil.copy(PROBES / "speak.gd", project)
    # The editor writes this list. Without it a headless session exports too, then aborts: Godot #111048.
    (project / ".godot").mkdir()
    (project / ".godot" / "extension_list.cfg").write_text("res://addons/sotto/sotto.gdextension\n")
    return project


def test_an_exported_game_speaks(addon: Path, packages: Packages, tmp_path: Path) -> None:
    programs, game = Path(os.environ["SOTTO_GODOT"]), tmp_path / "game"
    project = make_project(packages.file("sotto-godot-*"), tmp_path / "project", programs)
    game.mkdir()
    options = ("--headless", "--path", project)
    export = ("--export-release", "Linux", game / "tavern.x86_64")
    exported = run_godot(programs / "godot", *options, *export, timeout=120)
    files = {path.name for path in game.iterdir()}
    assert exported.status == 0, exported.output
    assert files >= {path.name for path in (addon / "bin" / SYSTEM).iterdir()}, exported.output
    shutil.rmtree(project)
    said = run_game(game, "sotto/house").report()
    assert "3 copper" in said["text"], said


def change_files(project: Path, left_out: set[str], added: str) -> None:
    """Removes files from an addon and adds one, in its extension file too, as the guide says."""
    addon = project / "addons" / "sotto"
    file = addon / "sotto.gdextension"
    lines = file.read_text().splitlines(keepends=True)
    (addon / "bin" / SYSTEM / added).write_bytes(b"")
    at = next(number for number, line in enumerate(lines) if '/libsotto.so"' in line)
    lines.insert(at + 1, lines[at].replace("libsotto.so", added))
    for name in left_out:
        (addon / "bin" / SYSTEM / name).unlink()
        assert any(f'/{name}"' in line for line in lines), name
        lines = [line for line in lines if f'/{name}"' not in line]
    file.write_text("".join(lines))


def test_an_exported_game_has_files_that_are_listed(addon: Path, packages: Packages, tmp_path: Path) -> None:
    programs, game = Path(os.environ["SOTTO_GODOT"]), tmp_path / "game"
    project = make_project(packages.file("sotto-godot-*"), tmp_path / "project", programs)
    left_out = {"sotto_onnx.so", "sotto_diffusion-native.so", "matting.onnx"}
    change_files(project, left_out, "libonnxruntime.so.1")
    game.mkdir()
    options = ("--headless", "--path", project)
    export = ("--export-release", "Linux", game / "tavern.x86_64")
    exported = run_godot(programs / "godot", *options, *export, timeout=120)
    files = {path.name for path in game.iterdir()}
    assert exported.status == 0, exported.output
    assert files & set(SHIPPED) == set(SHIPPED) - left_out, exported.output
    assert "libonnxruntime.so.1" in files, exported.output
    assert "3 copper" in run_game(game, "sotto/house").report()["text"]


EXTENSION = """[configuration]
entry_symbol = "entry"

[libraries]
{system} = "res://addons/sotto/bin/{library}"

[dependencies]
{system} = {{
}}

[icons]
SottoCharacter = "res://addons/sotto/icon.svg"
"""


def addon_build(folder: Path, system: str, library: str, header: bytes) -> AddonBuild:
    """A built folder of samples/godot, with a library that is only a header."""
    place = folder / system / "addons" / "sotto"
    (place / "bin").mkdir(parents=True)
    (place / "bin" / library).write_bytes(header)
    (place / "icon.svg").write_text("<svg/>")
    (place / "sotto.gdextension").write_text(EXTENSION.format(system=system, library=library))
    return AddonBuild(folder / system)


def installed(folder: Path, index: int) -> Installed:
    """An installed build that is nothing but file names."""
    platform = PLATFORMS[index]
    prefix = folder / platform.name
    prefix.mkdir()
    suffix = Path(platform.core).suffix
    for name in (
        platform.core,
        f"sotto_llama-x{suffix}",
        f"sotto_onnx{suffix}",
        "house.gguf",
        "matting.onnx",
    ):
        (prefix / name).write_bytes(name.encode())
    return Installed(platform, prefix, [], ("", ""))


ELF = b"\x7fELF" + b"\0" * 14 + b"\x3e\0"
PE = b"MZ" + b"\0" * 58 + (64).to_bytes(4, "little") + b"PE\0\0\x64\x86"


def test_two_platforms_share_one_extension_file(tmp_path: Path) -> None:
    builds = [installed(tmp_path, 0), installed(tmp_path, 1)]
    linux = addon_build(tmp_path / "addons", SYSTEM, "libsotto_godot.so", ELF)
    windows = addon_build(tmp_path / "addons", "windows.x86_64", "sotto_godot.dll", PE)
    files, without = entries(builds, [linux, windows])
    assert without == []
    found = {entry.name: entry.read() for entry in files}
    text = found["addons/sotto/sotto.gdextension"].decode()
    binaries = {name.removeprefix("addons/sotto/") for name in found if "/bin/" in name}
    assert named(text) == binaries and len(binaries) == 12
    assert re.findall(r"^\[(\w+)\]$", text, re.M) == ["configuration", "libraries", "dependencies", "icons"]
    assert 'windows.x86_64 = "res://addons/sotto/bin/windows.x86_64/sotto_godot.dll"' in text
    assert found["addons/sotto/icon.svg"] == b"<svg/>"


def test_a_platform_without_an_addon_is_left_out(tmp_path: Path) -> None:
    builds = [installed(tmp_path, 0), installed(tmp_path, 1)]
    linux = addon_build(tmp_path / "addons", SYSTEM, "libsotto_godot.so", ELF)
    files, without = entries(builds, [linux])
    assert without == ["windows-x86_64"]
    assert not [entry.name for entry in files if "windows" in entry.name]
    assert b"windows" not in next(entry for entry in files if entry.name.endswith("extension")).read()


def test_addons_for_other_platforms_only_are_refused(tmp_path: Path) -> None:
    windows = addon_build(tmp_path / "addons", "windows.x86_64", "sotto_godot.dll", PE)
    with pytest.raises(PackagingError, match=r"builds for windows\.x86_64, expected one for linux-x86_64"):
        entries([installed(tmp_path, 0)], [windows])


def test_an_addon_for_another_processor_is_refused(tmp_path: Path) -> None:
    linux = addon_build(tmp_path / "addons", SYSTEM, "libsotto_godot.so", PE)
    with pytest.raises(PackagingError, match="is for another processor than linux-x86_64"):
        entries([installed(tmp_path, 0)], [linux])


def test_a_folder_that_was_not_built_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        PackagingError, match=r"expected addons/sotto/sotto\.gdextension, which is missing; cmake"
    ):
        AddonBuild(tmp_path)
    addon_build(tmp_path, SYSTEM, "libsotto_godot.so", ELF)
    shutil.rmtree(tmp_path / SYSTEM / "addons/sotto/bin")
    with pytest.raises(
        PackagingError, match=r"expected addons/sotto/bin/libsotto_godot\.so, which is missing"
    ):
        AddonBuild(tmp_path / SYSTEM)
