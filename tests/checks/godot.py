"""The step that builds the Godot addon and proves it in a real Godot: editor, exporter and exported game."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from godot import proofs, proofs_of_memory
from godot.fetch import Unavailable, have_godot
from godot.stage import Broken, build_addon

from .ground import BUILD, Failed, NotRun

FOLDER = BUILD / "godot"
OUT = BUILD / "release" / "out"
RELOADS, PLAYS = 100, 20


def check_godot() -> str:
    """Everything of tests/godot."""
    try:
        programs = have_godot(FOLDER)
    except Unavailable as reason:
        raise NotRun(f"Godot cannot be had: {reason}") from reason
    folder = FOLDER / "run"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        addon = build_addon(FOLDER / "addon", OUT, programs / "godot")
        ground = proofs.Ground(folder, programs, addon, OUT)
        said = [
            proofs.prove_frames(ground),
            proofs.prove_handlers(ground),
        ]  # judge frames: nothing beside them
        with ThreadPoolExecutor(2) as pair:
            running = [
                pair.submit(proofs.prove_reload, ground, RELOADS),
                pair.submit(proofs.prove_play, ground, PLAYS),
                pair.submit(proofs.prove_windows, ground),
                pair.submit(proofs.prove_export, ground),
                pair.submit(proofs.prove_sanitized, ground),
                pair.submit(proofs.prove_threads, ground),
                pair.submit(proofs.prove_busy, ground),
                pair.submit(proofs.prove_settings, ground),
                pair.submit(proofs.prove_guide, ground),
                pair.submit(proofs.prove_quit, ground),
                pair.submit(proofs.prove_other_version, ground),
                pair.submit(proofs_of_memory.prove_memory, ground),
                pair.submit(proofs_of_memory.prove_memory_sanitized, ground),
                pair.submit(proofs_of_memory.prove_game, ground),
                pair.submit(proofs_of_memory.prove_guardrails, ground),
                pair.submit(proofs_of_memory.prove_tavern, ground),
            ]
            said += [proof.result() for proof in running]
    except Broken as reason:
        raise Failed(str(reason)) from reason
    return "; ".join(said)
