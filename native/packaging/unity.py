"""The Unity package as npm's tarball: unity/ with the native libraries, each with a .meta file of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from archives import Entry, tree
from build_folder import LOADABLE, Installed
from release import ROOT, PackagingError
from shipped import MODELS

PACKAGE = ROOT / "unity"
TOOLS = PACKAGE / "Tools~"  # writes and checks .meta files
TOP = "package"  # npm's name for the folder of a package
MODEL_FILES = tuple({Path(model.file).suffix for model in MODELS})
SOURCES_ONLY = ("Native~", "Tools~")  # not packaged: users do not build
PLUGINS = {
    "linux-x86_64": "Plugins/Linux/x86_64",
    "windows-x86_64": "Plugins/Windows/x86_64",
    "android-arm64": "Plugins/Android/arm64-v8a",
}


def file_name(version: str) -> str:
    """Returns the name of the tarball, as npm names it."""
    return f"com.sotto.runtime-{version}.tgz"


def copy_sources(stage: Path) -> None:
    """Copies the package's own files, without libraries and models that a developer put into its folder."""

    def ignore(folder: str, names: list[str]) -> list[str]:
        return [
            name
            for name in names
            if name.startswith(".")
            or name in (*SOURCES_ONLY, "__pycache__")
            or Path(name.removesuffix(".meta")).suffix in (*LOADABLE, *MODEL_FILES)
        ]

    shutil.copytree(PACKAGE, stage, ignore=ignore)


def add_natives(stage: Path, builds: list[Installed]) -> None:
    """Puts libraries and embedded models into Plugins, where the package's build step looks for them."""
    for build in builds:
        folder = stage / PLUGINS[build.platform.name]
        folder.mkdir(parents=True, exist_ok=True)
        for file in (*build.shipped, *build.unity_plugins):
            os.link(file, folder / file.name)
    if not any(build.platform.model_beside for build in builds):
        for file in builds[0].models.values():  # the build step copies them into StreamingAssets
            os.link(file, stage / PLUGINS[builds[0].platform.name] / file.name)


def run_tool(name: str, *words: str | Path) -> None:
    """Runs a script of unity/Tools~ on the staged package.

    Raises:
        PackagingError: The script found a mistake.
    """
    command = [sys.executable, TOOLS / name, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != 0:
        told = (done.stdout + done.stderr).strip().splitlines() or [f"exit status {done.returncode}"]
        raise PackagingError(f"unity/Tools~/{name} refuses the package: {told[0]}; mend it and run again")


def entries(builds: list[Installed], version: str, work: Path) -> list[Entry]:
    """Returns the files of the tarball.

    Args:
        builds: The libraries.
        version: Version of the release.
        work: Folder for the staged package.

    Raises:
        PackagingError: package.json has another version, or a .meta file is wrong.
    """
    named = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))["version"]
    if named != version:
        raise PackagingError(
            f"unity/package.json: expected version {version}, found {named}; set it to the version"
        )
    stage = work / "unity"
    copy_sources(stage)
    add_natives(stage, builds)
    run_tool("metas.py", stage)
    run_tool("metas.py", "--check", stage)
    run_tool("lint.py", stage)
    return tree(stage, f"{TOP}/")
