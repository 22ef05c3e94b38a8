"""`sotto image`, run as users run it, on the test double of a backend."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import ENVIRONMENT
from image_double import SIZE, Easel, file_of, foreground, noise, picture, pixels_in
from sotto.backends._named import backend_named, backend_of
from terminal import Terminal

HERE = str(Path(__file__).parent)
PYTHONPATH = os.pathsep.join(filter(None, (HERE, ENVIRONMENT.get("PYTHONPATH", ""))))
CLEAR = ("--background", "transparent")
MODEL = ("--model", "-", "--backend", "image_double:Easel")


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "sotto.cli", "image", *words]


def image(*words: str, cwd: Path, rc: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs `sotto image`, which must end with the status `rc`."""
    done = subprocess.run(
        command(*words), capture_output=True, text=True, timeout=60, check=False, cwd=cwd,
        env={**ENVIRONMENT, "PYTHONPATH": PYTHONPATH},
    )  # fmt: skip
    assert done.returncode == rc, done.stderr
    return done


def pixels(path: Path) -> Any:
    return pixels_in(path.read_bytes())


def test_images_are_written_and_named(tmp_path: Path) -> None:
    done = image("generate", "a fox", *MODEL, "-n", "2", "--seed", "7", "--size", "64x48", cwd=tmp_path)
    assert done.stdout.splitlines() == ["image.png: 64x48, seed 7", "image-2.png: 64x48, seed 8"]
    assert done.stderr == ""
    for name, seed in (("image.png", 7), ("image-2.png", 8)):
        assert (pixels(tmp_path / name) == noise(seed, "a fox", 64, 48)).all()
    assert len(list(tmp_path.iterdir())) == 2


def test_json_names_the_files_with_their_seeds(tmp_path: Path) -> None:
    words = ("--json", "--steps", "2", "--negative", "dogs", "--guidance", "4", "--output", "art/fox.png")
    told = json.loads(image("generate", "a fox", *MODEL, *words, cwd=tmp_path).stdout)
    (one,) = told["images"]
    assert (one["path"], one["width"], one["height"]) == ("art/fox.png", *SIZE)
    assert told["prompt"] == "a fox" and told["seconds"] >= 0
    assert (pixels(tmp_path / one["path"]) == noise(one["seed"], "a fox", *SIZE)).all()


def test_an_image_to_start_from(tmp_path: Path) -> None:
    (tmp_path / "start.png").write_bytes(file_of(picture()))
    image("generate", "x", *MODEL, "--image", "start.png", "--strength", "0", cwd=tmp_path)
    assert (pixels(tmp_path / "image.png") == picture()).all()


def test_a_background_is_removed(tmp_path: Path) -> None:
    (tmp_path / "in.png").write_bytes(file_of(picture()))
    assert image("matte", "in.png", "out.png", *MODEL, cwd=tmp_path).stdout == "out.png: 24x16\n"
    assert (pixels(tmp_path / "out.png")[:, :, 3] == foreground(picture())).all()
    told = json.loads(image("matte", "in.png", "mask.png", "--mask", "--json", *MODEL, cwd=tmp_path).stdout)
    assert told == {"path": "mask.png", "width": 24, "height": 16}
    assert (pixels(tmp_path / "mask.png") == foreground(picture())).all()


def test_a_file_that_exists_is_kept_without_force(tmp_path: Path) -> None:
    (tmp_path / "image-2.png").write_bytes(b"mine")
    for words in (("generate", "x", "-n", "2"), ("matte", "image-2.png", "image-2.png")):
        said = image(*words, *MODEL, cwd=tmp_path, rc=2).stderr
        assert said == "sotto: image-2.png exists; --force replaces it, or choose another name\n"
    assert (tmp_path / "image-2.png").read_bytes() == b"mine" and len(list(tmp_path.iterdir())) == 1
    image("generate", "x", "-n", "2", "--force", *MODEL, cwd=tmp_path)
    assert pixels(tmp_path / "image-2.png").shape == (SIZE[1], SIZE[0], 3)


@pytest.mark.parametrize(
    ("words", "status", "named"),
    [
        (("generate", "x"), 2, "--model"),
        (("generate", *MODEL), 2, "PROMPT"),
        (("generate", "x", *MODEL, "-n", "17"), 2, "1 to 16"),
        (("generate", "x", *MODEL, "--steps", "0"), 2, "1 to 1000"),
        (("generate", "x", *MODEL, "--seed", "-2"), 2, "0 to 4294967295"),
        (("generate", "x", *MODEL, "--guidance", "nan"), 2, "finite number"),
        (("generate", "x", *MODEL, "--guidance", "101"), 2, "guidance_scale"),
        (("generate", "x", *MODEL, "--size", "abc"), 2, "invalid size 'abc': expected width x height"),
        (("generate", "x", *MODEL, "--strength", "0.5"), 2, "invalid strength"),
        (("generate", "x", *MODEL, "-o", "x.jpg"), 2, "ends with .png or .webp"),
        (("generate", "x", *MODEL, "--background", "blue"), 2, "invalid choice: 'blue'"),
        (("generate", "x", *MODEL, "--background-model", "m"), 2, "--background transparent beside it"),
        (("generate", "x", *MODEL, *CLEAR, "--background-model", "none"), 1, "none"),
        (("generate", "x", *MODEL, "-o", "/proc/x.png"), 2, "cannot be written"),
        (("generate", "x", *MODEL, "--image", "none.png"), 2, "No such file"),
        (("generate", "x", *MODEL, "--options", "[]"), 2, "invalid --options"),
        (("generate", "x", *MODEL, "--options", '{"fail": "no paint"}'), 1, "RuntimeError: no paint"),
        (("generate", "x", "--model", "missing", "--backend", "image_double:Easel"), 1, "no such model"),
        (("generate", "x", "--model", "-", "--backend", "image_double:Painter"), 2, "a subclass"),
        (("generate", "x", "--model", "-", "--backend", "image_double:None"), 2, "invalid backend"),
        (("generate", "x", "--model", "-", "--backend", "no_such:Easel"), 2, "No module named 'no_such'"),
        (("matte", "none.png", "out.png", *MODEL), 2, "invalid image 'none.png'"),
        (("matte", "in.png"), 2, "OUT"),
        (("paint",), 2, "paint"),
        ((), 2, "COMMAND"),
    ],
)
def test_errors_are_one_line_and_leave_no_file(
    tmp_path: Path, words: tuple[str, ...], status: int, named: str
) -> None:
    done = image(*words, cwd=tmp_path, rc=status)
    last = done.stderr.splitlines()[-1]
    assert named in last and "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == [] and done.stdout == ""


def test_a_model_that_makes_no_images_says_so(tmp_path: Path) -> None:
    said = image("generate", "x", "--model", "sotto/house", cwd=tmp_path, rc=1).stderr
    assert "use another model" in said and list(tmp_path.iterdir()) == []


def test_a_folder_names_its_backend(tmp_path: Path) -> None:
    for file, name in (("model_index.json", "diffusers"), ("model.bin", "ctranslate2")):
        folder = tmp_path / name
        folder.mkdir()
        assert backend_of(str(folder)) is None
        (folder / file).write_text("{}")
        assert backend_of(str(folder)) == name
    assert backend_of("sotto/house") is None and backend_named("llama") is None
    assert isinstance(backend_named("image_double:Easel"), Easel)


def test_an_interrupt_writes_nothing(tmp_path: Path) -> None:
    words = ("generate", "x", *MODEL, "--steps", "1000", "--options", '{"step_ms": 20}')
    code = (
        "import os, signal, sys, threading\n"
        "from sotto import cli\n"
        "threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"sys.exit(cli.main({['image', *words]!r}))"
    )
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path,
        env={**ENVIRONMENT, "PYTHONPATH": PYTHONPATH},
    )  # fmt: skip
    assert done.returncode in (130, -signal.SIGINT) and "Traceback" not in done.stderr, done.stderr
    assert time.monotonic() - began < 15 and list(tmp_path.iterdir()) == []


def test_progress_is_a_bar_on_a_terminal(tmp_path: Path) -> None:
    words = ("generate", "x", *MODEL, "-o", str(tmp_path / "fox.png"), "--options", '{"step_ms": 60}')
    with Terminal("image", *words, "--steps", "20", PYTHONPATH=PYTHONPATH) as terminal:
        terminal.expect(r"generating fox\.png .*%")
        terminal.expect(r"fox\.png: 48x32, seed \d+")
        assert terminal.leave() == 0
