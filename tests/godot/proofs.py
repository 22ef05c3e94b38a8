"""The proofs: each runs Godot, asserts what it did, and returns a phrase with its figures."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks.cross import screen

from .stage import ROOT, SHIPPED, Broken, Run, expect, make_project, run_godot

PRESET = """[preset.0]

name="Linux"
platform="Linux"
runnable=true
export_filter="all_resources"
include_filter="models/*.gguf"
exclude_filter=""
export_path=""

[preset.0.options]

custom_template/debug="{templates}/template_debug"
custom_template/release="{templates}/template_release"
binary_format/embed_pck=false
binary_format/architecture="x86_64"
"""
ARGUMENT, BUSY, MISSED, LONG_FRAME_MS = -1, -11, 0.02, 20.0
SETTINGS = {"sotto/device", "sotto/memory_budget_mib", "sotto/mode", "sotto/guardrails"}


@dataclass
class Ground:
    """What the proofs stand on."""

    folder: Path  # for projects and results
    programs: Path  # godot, template_release, template_debug
    addon: Path  # addons/sotto, with the CPU module
    libraries: Path  # of the release build

    def play(self, project: Path, scene: str, *options: str, timeout: float = 60, **variables: str) -> Run:
        """Runs a scene of a project in Godot."""
        godot = self.programs / "godot"
        return run_godot(
            godot, "--path", project, *options, f"res://{scene}.tscn", timeout=timeout, **variables
        )

    def edit(self, project: Path, drive: str, rounds: int) -> Run:
        """Runs the headless editor, driven by the probe plugin."""
        options = ("--headless", "--editor", "--path", project)
        variables = {"DRIVE": drive, "ROUNDS": str(rounds)}
        return run_godot(self.programs / "godot", *options, timeout=150, **variables)


def prove_frames(ground: Ground) -> str:
    """Four characters talk for 20 s at 60 FPS; of frames, at most 2 % more are late than in a bare run."""
    project = make_project(ground.folder / "frames", ground.addon)
    options = ("--headless", "--max-fps", "60")
    tried = []
    for _ in range(2):  # other processes may take both cores for seconds
        bare = ground.play(project, "frames", *options, TALK="0", SECONDS="5").report()
        found = ground.play(project, "frames", *options, TALK="1", SECONDS="20").report()
        missed, alone = found["late"] / found["frames"], bare["late"] / bare["frames"]
        expect(
            found["answers"] >= 8 and not found["errors"], f"{found['answers']} answers, {found['errors']}"
        )
        expect(found["tokens_per_s"] > 0 and found["memory_mib"] > 5, f"the monitors show {found}")
        expect(0 < found["slack_ms"] < 16.7, f"the monitor of the slack shows {found['slack_ms']}")
        figures = f"{found['frames']} frames, {missed:.1%} late ({alone:.1%} bare)"
        if missed <= MISSED + alone and found["frames"] > 1000:
            return f"{figures}, {found['answers']} answers, slack {found['slack_ms']:.1f} ms"
        tried.append(figures)
    raise Broken(f"frames were late: {'; '.join(tried)}")


def prove_handlers(ground: Ground) -> str:
    """Scripts await, cancel, free nodes in handlers, and ask again on errors; no frame takes over 20 ms."""
    project = make_project(ground.folder / "handlers", ground.addon)
    worst = []
    for _ in range(3):  # a long frame may be of another process
        run = ground.play(project, "handlers", "--headless", "--max-fps", "500")
        check_handlers(run)
        found = run.report()
        worst.append(found["worst_ms"])
        if worst[-1] <= LONG_FRAME_MS:
            return f"{len(found) - 3} habits of handlers, worst frame {worst[-1]:.1f} ms"
    raise Broken(f"the worst frames of three runs took {worst} ms")


def check_handlers(run: Run) -> None:
    """Raises Broken unless each entry of the report of probes/handlers.gd is as it should be."""
    found = run.report()
    found.pop("worst_ms")
    asked, refused = found.pop("asked_in_a_frame"), found.pop("refused_pace")
    wrong = [name for name, truth in found.items() if truth is not True]
    expect(not wrong, f"not so: {', '.join(wrong)}")
    expect(1 <= asked <= 61, f"{asked} questions of handlers in a frame, of 60 that failed")
    expect("target_tps" in refused, f"pace -1: {refused!r}")
    limit = "invalid max_tokens '4294967296': expected 0 to 4294967295"
    expect(limit in run.output, f"2**32 tokens: {run.output}")


def prove_threads(ground: Ground) -> str:
    """Other threads may make, change and free characters, and get an error from one that answers."""
    project = make_project(ground.folder / "threads", ground.addon)
    check_threads(ground.play(project, "threads", "--headless", "--max-fps", "60"))
    return "other threads are refused"


def check_threads(run: Run) -> None:
    """Raises Broken unless the report of probes/threads.gd and the log are as they should be."""
    wrong = [name for name, truth in run.report().items() if truth is not True]
    expect(not wrong, f"not so: {', '.join(wrong)}\n{run.output[-3000:]}")
    for call in ("ask", "cancel", "forget", "set", "SottoAnswer.get"):
        expect(f"{call}() was called outside the main thread" in run.output, f"{call}: {run.output[-3000:]}")


def sanitize(ground: Ground, name: str, *, broken: bool = False) -> tuple[Path, dict[str, str]]:
    """Makes a project whose addon has the address and undefined-behaviour sanitizers.

    Returns the project, and the variables that Godot needs to run it. `broken`: the addon reads freed memory.
    """
    project = make_project(ground.folder / name, ground.addon)
    library = project / "addons" / "sotto" / "bin" / "libsotto_godot.so"
    library.unlink()
    here, sources = Path(__file__).parent, ROOT / "samples" / "godot" / "src"
    shim = project / "shallow_bind.so"
    command(["cc", "-shared", "-fPIC", here / "shallow_bind.c", "-o", shim])
    runtime = Path(command(["cc", "-print-file-name=libasan.so"]).strip()).resolve()
    options = {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0", "LD_PRELOAD": f"{shim} {runtime}"}
    interface = next(ground.addon.parents[1].glob("interface"))
    flags = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-std=c11"]
    flags += ["-D_GNU_SOURCE", "-fPIC", "-fvisibility=hidden", f"-I{ROOT / 'include'}", f"-I{interface}"]
    objects = project / "objects"
    objects.mkdir()
    control = [here / "control.c"] if broken else []
    command(["cc", *flags, "-c", *control, *sorted(sources.glob("*.c"))], objects)
    linked = ["cc", *flags, "-shared", f"-L{ground.addon / 'bin'}", "-Wl,-rpath,$ORIGIN", "-o", library]
    command([*linked, *objects.glob("*.o"), "-lsotto"])
    return project, options


def expect_clean(run: Run) -> None:
    """Raises Broken if a sanitizer has reported an error."""
    clean = "Sanitizer" not in run.output and "runtime error" not in run.output
    expect(run.status == 0 and clean, run.output)


def prove_sanitized(ground: Ground) -> str:
    """The addon under the address and undefined-behaviour sanitizers: 0 findings in two scenes."""
    project, options = sanitize(ground, "control", broken=True)
    control = ground.play(project, "speak", "--headless", "--quit-after", "2", MODEL="sotto/house", **options)
    expect("heap-use-after-free" in control.output, f"the control was not reported: {control.output}")
    project, options = sanitize(ground, "sanitized")
    for scene, check in (("handlers", check_handlers), ("threads", check_threads)):
        run = ground.play(project, scene, "--headless", "--max-fps", "500", **options)
        expect_clean(run)
        check(run)
    return "0 findings under ASan and UBSan"


def command(words: Sequence[str | Path], folder: Path = ROOT) -> str:
    """Runs a compiler in a folder. Returns what it printed."""
    called = [*map(str, words)]
    done = subprocess.run(called, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    expect(done.returncode == 0, f"{done.stdout}{done.stderr}")
    return done.stdout


def prove_guide(ground: Ground) -> str:
    """The first script of the guide works as it stands there, and the others compile."""
    guide = (ROOT / "docs" / "pages" / "guide" / "godot.md").read_text()
    script, *others = re.findall(r"```gdscript\n(.+?)```", guide, re.S)
    project = make_project(ground.folder / "guide", ground.addon)
    (project / "frames.gd").write_text(script)
    run = ground.play(project, "frames", "--headless", "--max-fps", "60", "--quit-after", "180")
    expect("Marta said: " in run.output and "4 copper" in run.output, run.output[-2000:])
    for other in [*others, "func broken() -> void:\n\tSotto.no_such_method()\n"]:
        (project / "other.gd").write_text(other if "extends" in other else f"extends Node\n\n\n{other}")
        options = ("--headless", "--path", project, "--check-only", "--script", "res://other.gd")
        checked = run_godot(ground.programs / "godot", *options, timeout=30)
        expect((checked.status != 0) == ("no_such" in other), f"{other}\n{checked.output[-2000:]}")
    return f"the guide's script speaks, {len(others)} others compile"


def prove_quit(ground: Ground) -> str:
    """A game that quits while its model loads ends at once, without an error."""
    project = make_project(ground.folder / "quit", ground.addon)
    run = ground.play(project, "speak", "--headless", MODEL="sotto/house", QUIT_AT_ONCE="1", timeout=20)
    expect(run.status == 0, f"exit status {run.status}:\n{run.output}")
    expect("ERROR" not in run.output, run.output)
    return f"quits in {run.seconds:.1f} s while a model loads"


def prove_reload(ground: Ground, rounds: int) -> str:
    """Hot reload in the editor, mid-answer and mid-load: no reload leaves a thread; memory within 10 MB."""
    project = make_project(ground.folder / "reload", ground.addon, editor=True)
    run = ground.edit(project, "reload", rounds)
    found = run.report()
    before, after = found["before"], found["after"]
    grown = (after["rss_kb"] - before["rss_kb"]) / 1024
    expect(run.status == 0, f"exit status {run.status}:\n{run.output[-3000:]}")
    expect(found["kept"] == found["reloads"], f"properties survived {found['kept']} of {found['reloads']}")
    expect(found["streams"] >= rounds // 4, f"only {found['streams']} answers streamed")
    threads = f"threads {before['threads']}, then {after['threads']}"
    expect(after["threads"] - before["threads"] <= rounds // 10, threads)  # an engine that lives has fewer
    expect(grown <= 10, f"resident memory grew by {grown:.1f} MB")
    return f"{rounds} reloads, worst {found['worst_ms']:.0f} ms, {grown:+.1f} MB, {threads}"


def prove_play(ground: Ground, rounds: int) -> str:
    """The editor plays the scene until characters speak, and stops it; no process stays behind."""
    project = make_project(ground.folder / "play", ground.addon, main="mark", editor=True)
    run = ground.edit(project, "play", rounds)
    found = run.report()
    left = processes_of(project)
    expect(found["spoke"] == rounds, f"characters spoke in {found['spoke']} of {rounds} plays\n{run.output}")
    expect(found["stuck"] == 0 and not left, f"{found['stuck']} plays did not stop; left: {left}")
    expect("ERROR" not in run.output, run.output[-3000:])
    return f"{rounds} x play and stop, worst stop {found['worst_stop_ms']:.0f} ms"


def processes_of(project: Path) -> list[int]:
    """Processes whose command line names the project."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if str(project) in (folder / "cmdline").read_bytes().decode(errors="replace"):
                found.append(int(folder.name))
        except OSError:
            continue  # it ended meanwhile
    return found


def export_game(ground: Ground) -> Path:
    """Exports a game that speaks, with a second copy of the model inside the .pck. Returns its folder."""
    project = make_project(ground.folder / "export", ground.addon, main="speak")
    (project / "models").mkdir()
    shutil.copy(ground.libraries / "house.gguf", project / "models" / "packed.gguf")
    (project / "export_presets.cfg").write_text(PRESET.format(templates=ground.programs))
    game = ground.folder / "Spiel Ünï 日本"
    shutil.rmtree(game, ignore_errors=True)
    game.mkdir()
    options = ("--headless", "--path", project, "--export-release", "Linux", game / "tavern.x86_64")
    run = run_godot(ground.programs / "godot", *options, timeout=120)
    files = sorted(path.name for path in game.iterdir())
    wanted = [*SHIPPED, "libsotto_godot.so", "tavern.pck"]
    expect(all(name in files for name in wanted), f"the export holds {files}:\n{run.output[-3000:]}")
    return game


def prove_export(ground: Ground) -> str:
    """The exported game speaks; models beside it and in its .pck; a missing library is named."""
    game = export_game(ground)
    for model in ("sotto/house", "res://models/packed.gguf"):
        said = run_game(game, model).report()
        expect("3 copper" in said["text"], f"the exported game with {model}: {said}")
    (game / "house.gguf").unlink()  # now only the .pck holds a model
    packed = run_game(game, "res://models/packed.gguf").report()
    expect("3 copper" in packed["text"], f"with the model in the .pck alone: {packed}")
    absent = run_game(game, "sotto/house").report()
    expect("house.gguf" in absent["error"], f"without house.gguf: {absent}")
    (game / "sotto_llama-native.so").unlink()
    module = run_game(game, "res://models/packed.gguf").report()
    expect(f"no backend was found in {game}" in module["error"], f"without the module: {module}")
    expect("sotto_llama" in module["error"], f"the file that is missing: {module}")
    (game / "libsotto.so").unlink()
    library = run_game(game, "sotto/house", "--quit-after", "60")
    expect("libsotto.so" in library.output, f"without libsotto.so: {library.output[-2000:]}")
    return "an exported game speaks in a folder named Ünï 日本, also from the .pck; missing files are named"


def run_game(game: Path, model: str, *options: str) -> Run:
    """Runs the exported game without a window."""
    program = game / "tavern.x86_64"
    return run_godot(program, "--headless", *options, timeout=40, cwd=Path("/"), MODEL=model)


def with_double(ground: Ground, name: str) -> Path:
    """Makes a project whose libsotto is the double <name>.c."""
    project = make_project(ground.folder / name, ground.addon)
    library = project / "addons" / "sotto" / "bin" / "libsotto.so"
    library.unlink()
    source = Path(__file__).with_name(f"{name}.c")
    command(["cc", "-shared", "-fPIC", f"-I{ROOT / 'include'}", source, "-o", library])
    return project


def prove_other_version(ground: Ground) -> str:
    """A libsotto of another version is refused with a message; the game goes on."""
    project = with_double(ground, "other_version")
    run = ground.play(project, "speak", "--headless", MODEL="sotto/house")
    error = run.report()["error"]
    wanted = "invalid version '9.9.0' of the library libsotto"
    expect(error.startswith(wanted) and run.status == 0, f"{error!r}, exit status {run.status}")
    return "another version of libsotto is refused"


def prove_busy(ground: Ground) -> str:
    """A busy engine ends answers with its status and reason; the next question opens the session again."""
    run = ground.play(with_double(ground, "busy"), "busy", "--headless")
    ends = run.report()["ends"]
    wanted = [[BUSY, "busy", ""]] * 3 + [[0, "", "I am Mara."]]
    expect(ends == wanted, f"four questions ended with {ends}")
    logged = [line for line in run.output.splitlines() if "ää" in line]
    expect([len(line.encode()) > 4000 for line in logged] == [True, True], f"long lines: {logged}")
    expect(
        "\ufffd" not in run.output and "Unicode" not in run.output, f"cut: {[line[-9:] for line in logged]}"
    )
    return "a busy engine's status reaches scripts, long log lines stay UTF-8"


def prove_settings(ground: Ground) -> str:
    """The dialog of the project settings lists those of Sotto; a budget out of range ends answers."""
    project = make_project(ground.folder / "settings", ground.addon)
    with (project / "project.godot").open("a") as settings:
        settings.write("memory_budget_mib=-1\n")
    found = ground.play(project, "settings", "--headless").report()
    expect(found["listed"].keys() == SETTINGS, f"listed: {found['listed']}")
    expect("cpu,auto,vulkan,cuda" in found["listed"]["sotto/device"], found["listed"])
    refused = "invalid sotto/memory_budget_mib '-1': expected 0 to 16777216"
    expect(found["status"] == ARGUMENT and refused in found["error"], f"budget -1: {found}")
    return "settings listed, budget -1 refused"


def prove_windows(ground: Ground) -> str:
    """The tavern draws in a window with OpenGL and with Vulkan; Godot's own Vulkan device is attached."""
    project = make_project(ground.folder / "windows", ground.addon)
    said = []
    with screen("640x360") as display:
        for driver, method in (("opengl3", "gl_compatibility"), ("vulkan", "mobile")):
            picture = ground.folder / f"{driver}.png"
            picture.unlink(missing_ok=True)
            options = ("--rendering-method", method, "--resolution", "640x360", "--max-fps", "30")
            variables = {"DISPLAY": display, "PICTURE": str(picture)}
            if driver == "vulkan":
                variables["ATTACH"] = "1"
            found = ground.play(project, "picture", *options, timeout=90, **variables).report()
            expect(found["driver"] == driver, f"{driver} was asked for, {found['driver']} draws")
            expect(found["all_speak"], f"{driver}: not every patron spoke")
            expect(picture.exists() and found["colours"] > 200, f"{driver}: {found['colours']} colours")
            said.append(f"{driver} {found['colours']} colours")
        expect(found["attached"], f"the device was not attached: {found['gpu']}")
        expect_rung(found["gpu"], "cpu", "no backend here computes with Vulkan")
        said.append("device attached, rung cpu")
        said.append(attach_with_vulkan(ground, display))
    return ", ".join(said)


def attach_with_vulkan(ground: Ground, display: str) -> str:
    """With the Vulkan module beside the addon, models share the card of Godot's device."""
    module = ground.libraries / "sotto_llama_vulkan-native.so"
    if not module.exists():
        return "rung vulkan not run: the build has no Vulkan module"
    project = make_project(ground.folder / "vulkan", ground.addon)
    (project / "addons" / "sotto" / "bin" / module.name).symlink_to(module)
    options = ("--rendering-method", "mobile", "--resolution", "320x180")
    found = ground.play(project, "picture", *options, timeout=90, DISPLAY=display, ATTACH="1").report()
    expect(found["attached"], f"the device was not attached: {found['gpu']}")
    expect_rung(found["gpu"], "vulkan", "no backend here computes with CUDA")
    return "rung vulkan with that module"


def expect_rung(gpu: dict[str, Any], rung: str, reason: str) -> None:
    """Raises Broken unless a Vulkan renderer shares its card at a rung, with a reason for each closer one."""
    expect(gpu["with"] == "vulkan" and gpu["rung"] == rung, gpu)
    reasons = {taken["rung"]: taken["reason"] for taken in gpu["not_taken"]}
    expect("cig" in reasons and "cuda" in reasons, f"reasons for {sorted(reasons)} alone")
    expect(reason in reasons.values(), f"expected the reason {reason!r} in {reasons}")
