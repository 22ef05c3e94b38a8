"""Recordings of what engines decide."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import sotto
from sotto import cli

Open = Callable[..., sotto.Engine]


def test_what_was_decided_comes_out_the_same(open_engine: Open, tmp_path: Path) -> None:
    path = tmp_path / "Aufzeichnung é.jsonl"
    with open_engine(record_path=path, mode="balance", target_tps=200) as engine:
        engine.load_model("npc", options={"streams": 2, "token_ms": 1})
        streams = [
            engine.llm_chat_completion_stream(
                {"model": "npc", "messages": [{"role": "user", "content": f"hello {i}"}]},
                priority=("background", "normal", "foreground")[i % 3],
            )
            for i in range(6)
        ]
        for _ in range(20):
            engine.frame_begin(period=1 / 60)
            engine.frame_end()
            time.sleep(0.001)
        for stream in streams:
            list(stream)
    done = sotto.replay(path)
    assert done.same == done.decisions > 20
    assert done.first_difference is None
    assert (done.streams, done.models, done.version) == (6, 1, sotto.__version__)
    assert done.seconds > 0
    told = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert any("hello 3" in line.get("body", "") for line in told)


def test_the_command_says_what_differs(
    open_engine: Open, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.jsonl"
    with open_engine(record_path=path) as engine:
        engine.load_model("npc", options={})
        engine.llm_chat_completion({"model": "npc", "messages": [{"role": "user", "content": "hi"}]})
    assert cli.main(["replay", str(path)]) == 0
    assert "come out the same, 0 otherwise" in capsys.readouterr().out
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    broken = next(
        index for index, line in enumerate(lines) if line["is"] == "next" and line["slice"]["does"] == "step"
    )
    lines[broken]["slice"]["shares"][0][1] += 1
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert cli.main(["replay", str(path)]) == 1
    said = capsys.readouterr().out
    assert f"the first in line {broken + 1}, slice:" in said and "recorded" in said and "replayed" in said
    assert cli.main(["replay", "--json", str(path)]) == 1
    assert json.loads(capsys.readouterr().out)["first_difference"]["line"] == broken + 1


def test_what_is_no_recording_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(sotto.SottoError, match="expected a file that can be read"):
        sotto.replay(tmp_path / "none")
    path = tmp_path / "notes.txt"
    path.write_text("dear diary")
    with pytest.raises(sotto.ArgumentError, match="invalid line 1: expected JSON"):
        sotto.replay(path)
    assert cli.main(["replay", str(path)]) == 2
    assert "invalid line 1: expected JSON" in capsys.readouterr().err
    with pytest.raises(TypeError):
        sotto.replay(3)  # type: ignore[arg-type]


def test_an_engine_does_not_open_where_its_recording_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(
        sotto.ArgumentError, match=r"invalid record '.*': expected a file that can be written"
    ):
        sotto.Engine(record_path=tmp_path / "nowhere" / "run.jsonl")


def test_a_restart_keeps_the_recording_of_a_crash(open_engine: Open, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with open_engine(record_path=path) as engine:
        engine.load_model("npc", options={})
        engine.llm_chat_completion({"model": "npc", "messages": [{"role": "user", "content": "hi"}]})
    whole = path.read_bytes()
    with pytest.raises(sotto.ArgumentError, match="expected a path without a file; use another path"):
        sotto.Engine(record_path=path)
    assert path.read_bytes() == whole and path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(whole[:-7])
    done = sotto.replay(path)
    assert done.cut and done.same == done.decisions


@pytest.mark.parametrize("kind", ["fifo", "folder", "device"])
def test_replay_of_what_is_no_file_returns_at_once(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = {"fifo": tmp_path / "pipe", "folder": tmp_path, "device": Path("/dev/zero")}[kind]
    if kind == "fifo":
        os.mkfifo(path)
    assert cli.main(["replay", str(path)]) == 2
    assert "expected a regular file" in capsys.readouterr().err
