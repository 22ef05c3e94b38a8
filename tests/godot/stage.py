"""Builds the addon, makes projects that use it, and runs Godot in them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "build" / "check" / "godot" / "home"  # of the games: holds `user://`
PROBES = Path(__file__).parent / "probes"
SHIPPED = (  # what a game has in one folder, with modules for this processor alone
    *("libsotto.so", "sotto_llama-native.so", "sotto_onnx.so", "sotto_diffusion-native.so"),
    *("house.gguf", "matting.onnx"),
)
SCENE = """[gd_scene load_steps=2 format=3]

[ext_resource type="Script" path="res://{name}.gd" id="1"]

[node name="Probe" type="Node"]
script = ExtResource("1")
"""
PLUGIN = '\n[editor_plugins]\n\nenabled=PackedStringArray("res://addons/probe/plugin.cfg")\n'
PLAY = '\n[editor]\n\nrun/main_run_args="--headless --audio-driver Dummy"\n'


class Broken(Exception):
    """Godot or the addon did not do what it should. The message says what."""


def expect(truth: bool, complaint: object) -> None:
    """Raises Broken with the complaint if `truth` is false."""
    if not truth:
        raise Broken(str(complaint))


@dataclass
class Run:
    """What a run of Godot printed and how it ended."""

    output: str
    status: int
    seconds: float

    def report(self) -> dict[str, Any]:
        """The JSON object that the probe printed."""
        for line in self.output.splitlines():
            if line.startswith("PROBE "):
                return dict(json.loads(line.removeprefix("PROBE ")))
        raise Broken(f"the probe printed no report (exit status {self.status}):\n{self.output[-3000:]}")


def build_addon(folder: Path, libraries: Path, godot: Path) -> Path:
    """Builds the addon with the CPU modules of `libraries`. Returns the folder addons/sotto."""
    chosen = folder / "libraries"
    chosen.mkdir(parents=True, exist_ok=True)
    for name in SHIPPED:
        (chosen / name).unlink(missing_ok=True)
        (chosen / name).symlink_to(libraries / name)
    source = ROOT / "samples" / "godot"
    options = [f"-DSOTTO_LIBRARIES={chosen}", f"-DGODOT={godot}", "-DCMAKE_C_FLAGS=-Werror"]
    configure = ["cmake", "-S", source, "-B", folder / "build", "-G", "Ninja", *options]
    for command in (configure, ["cmake", "--build", folder / "build"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        expect(done.returncode == 0, f"the addon was not built:\n{done.stdout}{done.stderr}")
    return folder / "build" / "addons" / "sotto"


def make_project(folder: Path, addon: Path, *, main: str = "", editor: bool = False) -> Path:
    """Makes the tavern project with the addon and the probes; `main` replaces the main scene."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "samples" / "godot" / "project", folder, ignore=shutil.ignore_patterns("addons"))
    shutil.copytree(addon, folder / "addons" / "sotto", copy_function=link)
    for probe in PROBES.glob("*.gd"):
        shutil.copy(probe, folder)
        (folder / f"{probe.stem}.tscn").write_text(SCENE.format(name=probe.stem))
    settings = folder / "project.godot"
    if main:
        settings.write_text(settings.read_text().replace("res://tavern.tscn", f"res://{main}.tscn"))
    if editor:
        shutil.copytree(PROBES / "editor", folder / "addons" / "probe")
        settings.write_text(settings.read_text() + PLUGIN + PLAY)
    # Godot finds the extension on its first start by this list; importing would find it only for the second.
    (folder / ".godot").mkdir()
    (folder / ".godot" / "extension_list.cfg").write_text("res://addons/sotto/sotto.gdextension\n")
    return folder


def link(source: str, target: str) -> None:
    """Links a library instead of copying it; Godot follows symbolic links."""
    if source.endswith(".gdextension"):
        shutil.copy(source, target)
    else:
        os.symlink(source, target)


def run_godot(
    program: Path, *options: str | Path, timeout: float = 60, cwd: Path | None = None, **variables: str
) -> Run:
    """Runs Godot or an exported game to its end. A run that does not end is killed and is an error."""
    HOME.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    environment = {**os.environ, "HOME": str(HOME), **variables}
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "LD_LIBRARY_PATH"):
        environment.pop(name, None)
    command = [str(program), "--audio-driver", "Dummy", *map(str, options)]
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        printed = late.stdout.decode(errors="replace") if isinstance(late.stdout, bytes) else late.stdout
        raise Broken(f"{' '.join(command[3:])} did not end within {timeout} s:\n{printed}") from late
    return Run(done.stdout, done.returncode, time.monotonic() - began)
