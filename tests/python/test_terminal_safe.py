"""What commands print, and what they do where a standard stream is closed or full, or Ctrl-C comes early."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sotto
from conftest import ENVIRONMENT, PACKAGE
from sotto._lib import library_folder
from sotto.commands import screen
from sotto.commands.chat.view import View
from terminal import Terminal

STEERS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202etxt.exe\u2066\u061c\x7f\r\b\ud800"


@given(st.text(alphabet=st.characters()))
def test_nothing_printable_steers_a_terminal(text: str) -> None:
    shown = screen.printable(text)
    assert not STEERS.search(shown) and len(shown) == len(text)
    assert [one for one in text if one in "\t\n"] == [one for one in shown if one in "\t\n"]


def test_letters_of_every_script_stay() -> None:
    text = "Zoë 狼 🐺 ไทย שלום مرحبا e\u0301 \u200d\tend\n"
    assert screen.printable(text) == text


def test_every_way_to_print_replaces_what_steers_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.table import Table

    screen.say(EVIL)
    screen.complain(EVIL)
    screen.say(screen.dump({EVIL: [EVIL]}))
    table = Table(title=EVIL)
    table.add_column(EVIL)
    table.add_row(EVIL.replace("[", "("))
    screen.console().print(table)
    screen.console(stderr=True).print(EVIL, style="bold", markup=False)
    view = View(io.StringIO())
    view.line(EVIL)
    view.wrong(EVIL)
    told = capsys.readouterr()
    assert "owned" in told.out and "owned" in told.err and "owned" in view.out.getvalue()  # type: ignore[attr-defined]
    for text in (told.out, told.err, view.out.getvalue()):  # type: ignore[attr-defined]
        assert not STEERS.search(text), repr(text)


def test_json_loses_nothing() -> None:
    value = {EVIL[:-1]: [EVIL[:-1], "Zoë \u2028"]}
    assert json.loads(screen.dump(value)) == value


PRINTS = {
    "sotto/commands/screen.py",
    "sotto/agent/sandbox/guest.py",  # to the pipe of a sandbox
    "sotto/agent/sandbox/process.py",  # to it, too
    "sotto/commands/confined.py",  # JSON, to a pipe
    "sotto/agent/audit.py",  # JSON, to a file
}


def test_commands_print_in_one_place() -> None:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE.parent).as_posix()
        if name in PRINTS or path.is_relative_to(PACKAGE / "_bin"):  # llama.cpp's converter lies there
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            assert called not in ("print", "Console", "console.Console", "rich.print"), (
                f"{name}:{node.lineno}"
            )
            assert not re.fullmatch(r"(sys\.(stdout|stderr)(\.buffer)?\.write(lines)?)", called), name
            if called == "os.write":
                raise AssertionError(f"{name}:{node.lineno}")


def _evil_model(path: Path) -> None:
    """The house model, whose name steers a terminal."""
    house = (library_folder() / "house.gguf").read_bytes()
    path.write_bytes(house.replace(b"Sotto house", b"Sot\x1b[31mbad", 1))


def _evil_recording(path: Path, engine: sotto.Engine) -> None:
    """What an engine recorded, by a version that steers a terminal."""
    with engine:
        engine.load_model("npc", options={})
    first, *more = path.read_text(encoding="utf-8").splitlines()
    begin = {**json.loads(first), "version": EVIL[:-1]}
    path.write_text("\n".join([json.dumps(begin), *more, ""]), encoding="utf-8")


def _shown(*words: str, **variables: str) -> bytes:
    """All that a command prints, to a pipe."""
    done = subprocess.run(
        [sys.executable, "-m", "sotto.cli", *words],
        env={**ENVIRONMENT, **variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
    )  # fmt: skip
    return done.stdout


def test_what_files_say_does_not_steer_a_terminal(
    open_engine: Callable[..., sotto.Engine], tmp_path: Path
) -> None:
    cache = tmp_path / "hub"
    folder = cache / "models--org--name" / "snapshots" / ("a" * 40)
    folder.mkdir(parents=True)
    model = folder / "x\x1b[31m.gguf"
    _evil_model(model)
    named = os.fsencode(tmp_path) + b"/\xff\x1b[31m.gguf"
    Path(os.fsdecode(named)).write_bytes(b"no model")
    recording = tmp_path / "run.jsonl"
    _evil_recording(recording, open_engine(record_path=recording))
    for words, told in (
        (("models", "list"), ".gguf"),
        (("models", "check", os.fsdecode(named), str(model)), "refused"),
        (("models", "check", "--json", os.fsdecode(named)), "refused"),
        (("models", "info", str(model)), "bad"),
        (("replay", str(recording)), "owned"),
        (("chat", "no\x1b[31msuch.gguf", "--prompt", "hi"), "such.gguf"),
        (("dance\x1b[31m",), "dance"),
    ):
        shown = _shown(*words, HF_HUB_CACHE=str(cache)).decode()
        assert told in shown and not STEERS.search(shown), (words, shown)
        assert "Traceback" not in shown


def test_nothing_steers_a_terminal_that_is_one(tmp_path: Path) -> None:
    evil = tmp_path / "x\x1b]0;owned\x07.gguf"
    evil.write_bytes(b"no model")
    with Terminal("models", "check", str(evil)) as terminal:
        terminal.expect("refused")
        assert terminal.leave() == 1
    assert "\x1b]0;" not in terminal.raw


# Standard streams

COMMANDS = [["--help"], ["--version"], ["models", "list"], ["doctor", "--json"], ["plan"], ["dance"]]


def _ends(words: list[str], redirected: str) -> tuple[int, str]:
    """The exit status, and what stderr says, of a command in a shell."""
    line = f'"$0" -m sotto.cli "$@" {redirected}'
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line, sys.executable, *words],
        env=ENVIRONMENT, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("redirected", [">&-", ">/dev/full", "2>&-", "2>/dev/full", "<&-", "<&- >&- 2>&-"])
def test_closed_and_full_streams_end_a_command_in_order(words: list[str], redirected: str) -> None:
    status, said = _ends(words, redirected)
    assert "Traceback" not in said and "Exception ignored" not in said, said
    if words == ["dance"]:
        assert status == 2
    elif ">&-" in redirected.replace("2>&-", "") or redirected == ">/dev/full":
        assert status == 1
        assert "2>&-" in redirected or re.search("^sotto: .*(Bad file|No space)", said), said
    else:
        assert status == 0


@pytest.mark.parametrize("words", COMMANDS[:-1], ids=" ".join)
def test_a_reader_that_has_gone_ends_a_command_in_order(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "sotto.cli", *words],
        env=ENVIRONMENT, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=120,
    )  # fmt: skip
    os.close(writing)
    assert done.returncode == 1 and done.stderr == ""


def test_a_question_from_a_closed_stream_is_empty() -> None:
    status, said = _ends(["chat"], "<&-")
    assert status == 2 and "the question is empty" in said


def test_text_that_a_terminal_cannot_show_is_escaped(tmp_path: Path) -> None:
    path = tmp_path / "Zoë 狼.gguf"
    path.write_bytes(b"no model")
    narrow = {"PYTHONIOENCODING": "ascii"}
    shown = _shown("models", "check", str(path), **narrow).decode("ascii")
    assert r"Zo\xeb \u72fc.gguf: refused" in shown
    (verdict,) = json.loads(_shown("models", "check", "--json", str(path), **narrow))
    assert verdict["path"] == str(path)


INTERRUPTED = """
import os, signal, sys
sys.argv = ["/somewhere/bin/sotto", "models", "list"]
signal.signal(signal.SIGINT, signal.default_int_handler)
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):
                pass
sys.meta_path.insert(0, Finder())
from sotto.cli import main
sys.exit(main())
"""
MODULES = ["sotto._cdef", "sotto._lib", "sotto.engine", "sotto.cli", "argparse", "sotto.commands.standard"]
MODULES += ["sotto.commands.bench.games", "sotto.demo.command", "rich.console", "huggingface_hub"]


@pytest.mark.parametrize("module", MODULES)
def test_ctrl_c_while_modules_are_imported_ends_a_command_in_order(module: str) -> None:
    code = INTERRUPTED.format(module=module)
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode in (-signal.SIGINT, 130), done.stderr
    assert done.stderr == "" and done.stdout == ""


def test_ctrl_c_belongs_to_programs_that_are_not_this_command() -> None:
    code = "import signal; was = signal.getsignal(signal.SIGINT); "  # a background job of a shell ignores it
    code += "import sotto; print(signal.getsignal(signal.SIGINT) is was)"
    for before in ("", "import sys; sys.argv = ['game.py']; "):
        done = subprocess.run([sys.executable, "-c", before + code], env=ENVIRONMENT, capture_output=True)
        assert done.stdout == b"True\n"
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); import sys; sys.argv = ['sotto']; "
    code += "import sotto; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True)
    assert done.stdout == b"True\n"
