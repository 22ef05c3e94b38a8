"""The Unity package, unpacked in an empty folder: its layout, its .meta files, and a chat on two runtimes."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.godot.stage import SHIPPED

from conftest import ROOT, VERSION, check_image_modules, run
from csharp.sources import OBSOLETE_ON_CORE
from dotnet.toolchain import Runtime, compile_cs, core_command

NATIVES = "Plugins/Linux/x86_64"
DEFINES = ("UNITY_5_3_OR_NEWER", "UNITY_2021_3_OR_NEWER", "UNITY_STANDALONE", "UNITY_STANDALONE_LINUX")


@pytest.fixture(scope="module")
def package(unpacked: Callable[[str], Path]) -> Path:
    (folder,) = unpacked("com.sotto.runtime-*").iterdir()
    assert folder.name == "package"  # as npm has it
    return folder


def test_it_has_the_sources_and_the_libraries(package: Path) -> None:
    manifest = json.loads((package / "package.json").read_text())
    assert (manifest["name"], manifest["version"]) == ("com.sotto.runtime", VERSION)
    names = {path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file()}
    natives = {name.removeprefix(f"{NATIVES}/") for name in names if name.startswith(f"{NATIVES}/")}
    assert {name for name in natives if not name.endswith(".meta")} == set(SHIPPED)
    sources = {
        path.relative_to(ROOT / "unity").as_posix()
        for folder in ("Runtime", "Editor", "Samples~", "Documentation~", "Tests")
        for path in (ROOT / "unity" / folder).rglob("*")
        if path.is_file()
    }
    assert sources <= names
    assert not [name for name in names if name.startswith(("Native~", "Tools~"))]


def test_samples_that_it_names_are_in_it(package: Path) -> None:
    for sample in json.loads((package / "package.json").read_text()).get("samples", []):
        assert any((package / sample["path"]).iterdir()), sample


def test_every_file_has_its_meta(package: Path) -> None:
    tools = ROOT / "unity" / "Tools~"
    run([sys.executable, tools / "metas.py", "--check", package], package)
    run([sys.executable, tools / "lint.py", package], package)
    (package / NATIVES / "libsotto.so.meta").rename(package / "aside")
    try:
        with pytest.raises(AssertionError, match=r"libsotto\.so"):
            run([sys.executable, tools / "metas.py", "--check", package], package)
    finally:
        (package / "aside").rename(package / NATIVES / "libsotto.so.meta")


@pytest.mark.parametrize(("pattern", "platform"), [("*.so", "Linux64"), ("*.dll", "Win64")])
def test_each_library_is_for_one_platform(pattern: str, platform: str, package: Path) -> None:
    libraries = list((package / "Plugins").rglob(pattern))
    assert libraries
    for library in libraries:
        text = library.with_name(library.name + ".meta").read_text()
        enabled = re.findall(r"^      \w*: ?(\w+)\n    second:\n      enabled: 1", text, re.M)
        assert sorted(enabled) == ["Editor", platform], library.name


def test_committed_guids_are_kept(package: Path) -> None:
    committed = [path for path in (ROOT / "unity").rglob("*.meta") if "Plugins" not in path.parts]
    assert len(committed) >= 20
    for meta in committed:
        assert (package / meta.relative_to(ROOT / "unity")).read_bytes() == meta.read_bytes(), meta


@pytest.mark.parametrize("runtime", ["mono", "core"])
def test_it_chats(runtime: Runtime, package: Path, tmp_path: Path) -> None:
    program = tmp_path / ("Chat.exe" if runtime == "mono" else "Chat.dll")
    sources = [
        *(package / "Runtime").rglob("*.cs"),
        *(ROOT / "tests/csharp/doubles").glob("*.cs"),
        ROOT / "tests/packages/Chat.cs",
    ]
    options = [OBSOLETE_ON_CORE] if runtime == "core" else []
    compile_cs(program, sources, defines=DEFINES, runtime=runtime, options=options)
    command = ["mono", program] if runtime == "mono" else core_command(program)
    answer = run(command, tmp_path, LD_LIBRARY_PATH=str(package / NATIVES), LC_ALL="C.UTF-8")
    assert "3 copper" in json.loads(answer)["choices"][0]["message"]["content"]
    with pytest.raises(AssertionError, match="library 'sotto' could not be loaded"):
        run(command, tmp_path, LD_LIBRARY_PATH=os.fspath(tmp_path), LC_ALL="C.UTF-8")


def test_its_libraries_open_models_of_images(package: Path, tmp_path: Path) -> None:
    check_image_modules(package / NATIVES, tmp_path)
