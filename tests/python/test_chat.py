"""`sotto chat`: at the prompt, and once."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import sotto
from conftest import ENVIRONMENT, SCRIPTED
from sotto.commands.chat.talk import CHARACTER_DEFAULTS, Talk
from sotto.commands.chat.view import View
from terminal import Terminal

PROMPT = r"> $"
Once = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., list[str]]:
    """Writes a model of the scripted backend; returns the words that name it."""

    def write(**values: Any) -> list[str]:
        path = tmp_path / f"model{len(list(tmp_path.glob('model*')))}.json"
        path.write_text(json.dumps(values))
        return [str(path), "--module-dir", str(SCRIPTED), "--threads", "1"]

    return write


@pytest.fixture
def once() -> Once:
    """Runs `sotto chat` with a pipe; returns what came of it."""

    def run(*words: str, input: str | None = None) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "sotto.cli", "chat", *words]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=False, input=input, env=ENVIRONMENT
        )

    return run


@contextmanager
def talk(tmp_path: Path, *words: str) -> Iterator[Terminal]:
    """A chat in a terminal, at its prompt."""
    with Terminal("chat", *words, XDG_STATE_HOME=str(tmp_path / "state")) as terminal:
        terminal.expect(PROMPT)
        yield terminal


# Once


def test_a_pipe_is_answered(once: Once, script: Callable[..., list[str]]) -> None:
    done = once(*script(), input="who guards\nthe gate\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "who guards the gate\n", "")


def test_a_prompt_is_answered_without_colours(once: Once, script: Callable[..., list[str]]) -> None:
    done = once(*script(), "--prompt", "hello")
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", "")


def test_json_is_an_openai_chat_completion(once: Once, script: Callable[..., list[str]]) -> None:
    response = json.loads(once(*script(), "--json", "--max-tokens", "2", input="one two three").stdout)
    assert response["object"] == "chat.completion"
    assert response["choices"][0]["message"]["content"] == "one two"
    assert response["choices"][0]["finish_reason"] == "length"


def test_what_is_cut_is_said(once: Once, script: Callable[..., list[str]]) -> None:
    assert "(cut" in once(*script(), "--prompt", "one two three", "--max-tokens", "2").stdout


def test_whoever_reads_may_leave(script: Callable[..., list[str]]) -> None:
    words = script(tokens=["again and again\n"] * 20000)
    command = [sys.executable, "-m", "sotto.cli", "chat", *words, "--prompt", "x"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as child:
        assert child.stdout is not None and child.stderr is not None
        assert child.stdout.readline() == "again and again\n"
        child.stdout.close()
        assert child.stderr.read() == ""
    assert child.returncode == 1


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--prompt", " "), "the question is empty"),
        (("--prompt", "x", "--temperature", "200"), "invalid temperature '200"),
        (("--prompt", "x", "--temperature", "-1"), "invalid temperature '-1"),
        (("--prompt", "x", "--temperature", "nan"), "--temperature"),
        (("--prompt", "x", "--max-tokens", "0"), "--max-tokens"),
        (("--prompt", "x", "--seed", "-1"), "--seed"),
        (("--prompt", "x", "--target-tps", "-3"), "--target-tps"),
        (("--prompt", "x", "--threads", "many"), "--threads"),
        (("--prompt", "x", "--options", "{"), "invalid --options: expected JSON"),
        (("--prompt", "x", "--options", "[]"), "invalid --options '[]': expected a JSON object"),
        (("--prompt", "x", "--as", "Zorro"), "Brenna Oakhollow"),
        (("--prompt", "x", "--as", "Pip", "--system", "y"), "--system"),
    ],
)
def test_bad_words_are_named(once: Once, words: tuple[str, ...], named: str) -> None:
    done = once(*words)
    assert done.returncode == 2 and named in done.stderr
    assert done.stdout == "" and "Traceback" not in done.stderr


def test_a_failing_model_is_one_line_on_stderr(once: Once, script: Callable[..., list[str]]) -> None:
    for words in (script(fail_at=1, tokens=["a", "b"]), script(fail_load="worn out"), ["/nowhere.gguf"]):
        done = once(*words, "--prompt", "x")
        assert done.returncode == 1 and done.stderr.startswith("sotto: ")
        assert len(done.stderr.splitlines()) == 1


def test_bytes_that_are_no_text_are_refused(script: Callable[..., list[str]]) -> None:
    command = [sys.executable, "-m", "sotto.cli", "chat", *script()]
    done = subprocess.run(command, input=b"\xff\xfe", capture_output=True, env=ENVIRONMENT, check=False)
    assert done.returncode == 2 and b"expected UTF-8" in done.stderr


@pytest.mark.real
def test_the_house_model_plays_a_default_character_and_says_which(once: Once) -> None:
    done = once("--threads", "1", "--prompt", "Who are you?")
    assert done.returncode == 0 and "Brenna Oakhollow" in done.stdout
    assert done.stderr.startswith("sotto: Default character: Brenna Oakhollow") and "--as" in done.stderr
    response = once("--json", "--threads", "1", "--prompt", "Who are you?")
    assert json.loads(response.stdout)["usage"]["prompt_tokens"] > 50  # the sheet is in it
    for words in (("--as", "Pip"), ("--system", "Name: Pip"), ("--system", "")):
        assert once(*words, "--threads", "1", "--prompt", "Hello!").stderr == ""


@pytest.mark.real
def test_at_the_prompt_the_default_character_is_named(tmp_path: Path) -> None:
    with Terminal("chat", XDG_STATE_HOME=str(tmp_path)) as terminal:
        terminal.expect(r"Default character: Brenna Oakhollow[\s\S]*How much is a bed[\s\S]*\n> $")
        terminal.type("/set\r")
        assert re.search(r"repeat_penalty +1.5 ", terminal.expect(PROMPT))
        terminal.type("/model house\r")
        terminal.expect(r"did you mean 'sotto/house'\?[\s\S]*\n> $")


@pytest.mark.real
def test_the_house_model_does_not_loop(once: Once) -> None:
    for character, question in (("Brenna", "Two ales, please."), ("Garrick", "how much for a bed?")):
        words = ("--as", character, "--threads", "1", "--json", "--prompt", question)
        (choice,) = json.loads(once(*words).stdout)["choices"]
        said = choice["message"]["content"]
        assert choice["finish_reason"] == "stop" and not re.search(r"(.{2,40}?)\1{3}", said), said


def test_the_defaults_of_the_house_model_are_its_own(npc: sotto.Engine) -> None:
    talk = Talk(npc, None, View())
    assert talk.settings.fields == {}
    talk.settings.defaults = dict(CHARACTER_DEFAULTS)
    talk.settings.set("temperature", 0.5)
    assert talk.settings.fields == {**CHARACTER_DEFAULTS, "temperature": 0.5}
    talk.settings.unset("temperature")
    assert talk.request() == {"model": "", "messages": [], **CHARACTER_DEFAULTS}


@pytest.mark.real
def test_a_character_answers(once: Once) -> None:
    words = ("--as", "pip", "--json", "--temperature", "0", "--prompt", "How many horses are there?")
    response = json.loads(once(*words).stdout)
    assert response["usage"]["prompt_tokens"] > 50  # the sheet is in it
    assert response["choices"][0]["message"]["content"]


# At the prompt


def test_talking_and_leaving(tmp_path: Path, script: Callable[..., list[str]]) -> None:
    with talk(tmp_path, *script()) as terminal:
        terminal.type("hello there\r")
        assert terminal.expect(r"\nhello there\r\n> $")
        terminal.type("/stats\r")
        assert "2 tokens" in terminal.expect(PROMPT)
        terminal.type("\x04")
        assert terminal.leave() == 0


def test_ctrl_c_stops_the_answer_and_not_the_program(
    tmp_path: Path, script: Callable[..., list[str]]
) -> None:
    with talk(tmp_path, *script(tokens=[" on"], loop=True, token_ms=5)) as terminal:
        terminal.type("go\r")
        terminal.expect(r"on on on")
        terminal.type("\x03")
        terminal.expect(r"\(stopped\)\r\n> $")
        terminal.type("again\r")
        terminal.expect(r"on on on")
        terminal.type("\x03")
        terminal.expect(r"\(stopped\)\r\n> $")
        terminal.type("\x03")
        terminal.expect(r"Ctrl-C once more.*\r\n> $")
        terminal.type("\x03")
        assert terminal.leave() == 0


def test_loading_shows_a_bar_on_a_terminal(tmp_path: Path, script: Callable[..., list[str]]) -> None:
    with Terminal("chat", *script(load_ms=500), XDG_STATE_HOME=str(tmp_path)) as terminal:
        terminal.expect(r"loading model0.json .*%")
        terminal.expect(PROMPT)


def test_ctrl_c_ends_what_is_asked_once(tmp_path: Path, script: Callable[..., list[str]]) -> None:
    words = script(tokens=[" on"], loop=True, token_ms=5)
    with Terminal("chat", *words, "--prompt", "go") as terminal:
        terminal.expect("on on on")
        terminal.type("\x03")
        assert terminal.leave() == 130


def test_the_pace_can_be_set(tmp_path: Path, script: Callable[..., list[str]]) -> None:
    with talk(tmp_path, *script(tokens=["a "] * 11)) as terminal:
        terminal.type("/tps 20\r")
        terminal.expect(r"\(20 tokens a second\)\r\n> $")
        terminal.type("go\r")
        terminal.expect(r"a \r\n> $")
        terminal.type("/stats\r")
        found = re.search(r"11 tokens, ([\d.]+) a second", terminal.expect(PROMPT))
        assert found is not None and float(found[1]) == pytest.approx(20, rel=0.15)


def test_one_ctrl_c_at_the_prompt_is_forgiven(tmp_path: Path, script: Callable[..., list[str]]) -> None:
    with talk(tmp_path, *script()) as terminal:
        for _ in range(3):
            terminal.type("half a line\x03")
            terminal.expect(r"Ctrl-C once more.*\r\n> $")
            terminal.type("hello\r")
            terminal.expect(r"\nhello\r\n> $")
        terminal.type("/exit\r")
        assert terminal.leave() == 0


def test_history_lasts_and_is_private(tmp_path: Path, script: Callable[..., list[str]]) -> None:
    words = script()
    with talk(tmp_path, *words) as terminal:
        terminal.type("a memorable line\r")
        terminal.expect(r"\na memorable line\r\n> $")
        terminal.type("/exit\r")
        assert terminal.leave() == 0
    history = tmp_path / "state" / "sotto" / "chat_history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    with talk(tmp_path, *words) as terminal:
        terminal.type("\x10\x10\r")  # Ctrl-P, as the arrow up; past "/exit"
        terminal.expect(r"\na memorable line\r\n> $")


def test_tab_completes_commands(tmp_path: Path, script: Callable[..., list[str]]) -> None:
    with talk(tmp_path, *script()) as terminal:
        terminal.type("hello there\r")
        terminal.expect(r"\nhello there\r\n> $")
        terminal.type("/sta\t\r")
        assert "2 tokens" in terminal.expect(PROMPT)
        terminal.type("/s\t")
        terminal.expect(r"/system[\s\S]*/set|/set[\s\S]*/system")  # several fit
        terminal.type("\x15/exit\r")  # Ctrl-U drops the line
        assert terminal.leave() == 0


def test_typed_lines_are_answered_into_a_file(tmp_path: Path, script: Callable[..., list[str]]) -> None:
    out = tmp_path / "out"
    with Terminal("chat", *script(), stdout=out) as terminal:
        terminal.type("hello there\n\x04")
        assert terminal.leave() == 0
    assert "hello there\n" in out.read_text() and "\x1b" not in out.read_text()


def test_commands_change_the_conversation(tmp_path: Path, script: Callable[..., list[str]]) -> None:
    file = tmp_path / "talk.json"

    def saved(terminal: Terminal) -> list[tuple[str, str]]:
        terminal.type(f"/save {file}\r")
        terminal.expect(r"written to.*\r\n> $")
        return [(message["role"], message["content"]) for message in json.loads(file.read_text())]

    def do(terminal: Terminal, line: str, shows: str) -> None:
        terminal.type(line + "\r")
        terminal.expect(shows + r".*\r\n> $")

    with talk(tmp_path, *script()) as terminal:
        do(terminal, "/regen", "no question was asked")
        do(terminal, "/system You are a guard.", "system message set")
        do(terminal, "one", "\none")
        do(terminal, "two", "\ntwo")
        said = [("system", "You are a guard."), ("user", "one"), ("assistant", "one")]
        assert saved(terminal) == [*said, ("user", "two"), ("assistant", "two")]
        do(terminal, "/regen", "\ntwo")
        assert saved(terminal) == [*said, ("user", "two"), ("assistant", "two")]
        do(terminal, "/undo", "taken back: two")
        assert saved(terminal) == said
        do(terminal, "/reset", "everything forgotten")
        assert saved(terminal) == said[:1]
        file.write_text(json.dumps([{"role": "user", "content": "x"}]))
        do(terminal, f"/load {file}", "1 message read")
        assert saved(terminal) == [("user", "x")]
        do(terminal, "//slash", "\n/slash")
        do(terminal, "/as Garrick", "Garrick Stonefield listens")
        assert saved(terminal)[0][1].startswith("Name: Garrick Stonefield")


def test_bad_commands_say_what_is_allowed(tmp_path: Path, script: Callable[..., list[str]]) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('[{"role": "wizard", "content": ""}]')
    with talk(tmp_path, *script()) as terminal:
        for line, shows in (
            ("/foo", "/help lists"),
            ("/set temperature 900", r"from 0(\.0)? to 100"),
            ("/set temperature warm", "invalid temperature 'warm'"),
            ("/set colour red", "expected one of temperature"),
            ("/set top_p", "missing value of /set top_p"),
            ("/tps -3", "expected a positive number"),
            ("/tps fast", "invalid pace .fast."),
            ("/save", "missing argument of /save: expected FILE"),
            ("/save /nowhere/at/all", "cannot be written"),
            ("/load /nowhere/at/all", "cannot be read"),
            (f"/load {broken}", "invalid role of message 0"),
            ("/model /nowhere.gguf", "file '/nowhere.gguf' does not exist"),
            ("/help me", "invalid argument 'me' of /help: expected none"),
            ("/as Zorro", "Brenna"),
        ):
            terminal.type(line + "\r")
            shown = terminal.expect(shows + r"[\s\S]*\r\n> $")
            assert "Traceback" not in shown
        terminal.type("still here\r")
        terminal.expect(r"\nstill here\r\n> $")


def test_several_lines(tmp_path: Path, script: Callable[..., list[str]]) -> None:
    with talk(tmp_path, *script()) as terminal:
        terminal.type("/multi\r")
        terminal.expect(r"\. $")
        terminal.type("one\r")
        terminal.expect(r"\. $")
        terminal.type("two\r")
        terminal.expect(r"\. $")
        terminal.type("/end\r")
        terminal.expect(r"\none two\r\n> $")
        terminal.type("/multi\r")
        terminal.expect(r"\. $")
        terminal.type("dropped\x03")
        terminal.expect(r"> $")


def test_a_failed_answer_is_forgotten_and_the_talk_goes_on(
    tmp_path: Path, script: Callable[..., list[str]]
) -> None:
    file = tmp_path / "talk.json"
    with talk(tmp_path, *script(fail_at=1, tokens=["a", "b"])) as terminal:
        terminal.type("x\r")
        terminal.expect(r"the script fails.*\r\n> $")
        terminal.type(f"/save {file}\r")
        terminal.expect(r"0 messages written.*\r\n> $")


def test_another_model_goes_on(tmp_path: Path, script: Callable[..., list[str]]) -> None:
    other = script(tokens=["other"])[0]
    with talk(tmp_path, *script()) as terminal:
        terminal.type(f"/model {other}\r")
        terminal.expect(r"\(.*\)\r\n> $")
        terminal.type("x\r")
        terminal.expect(r"\nother\r\n> $")


def test_a_model_does_not_steer_the_terminal(tmp_path: Path, script: Callable[..., list[str]]) -> None:
    with talk(tmp_path, *script(tokens=["a\x1b]0;owned\x07", "\x9b31mb"])) as terminal:
        terminal.type("x\r")
        terminal.expect("mb\r\n> $")
        assert "\x1b]0;" not in terminal.raw and "\x9b" not in terminal.raw
