"""`sotto models`: list, pull, check, info."""

from __future__ import annotations

import argparse
import errno
import hashlib
import json
import random
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import ENVIRONMENT, ROOT
from fakehub import COMMIT, FakeHub
from sotto._lib import library_folder
from sotto.commands import confined
from sotto.commands.models import check, sheet
from sotto.commands.models.gguf import architecture
from sotto.commands.models.memory import Kind, measure
from sotto.commands.text import amount, size
from terminal import Terminal

HOUSE = library_folder() / "house.gguf"
NAME = "GET /org/name/resolve/main/name-Q4_0.gguf"
Models = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    """A hub with one repository."""
    with FakeHub() as hub:
        hub.files["org/name"] = {"name-Q4_0.gguf": b"GGUF" + b"x" * 400_000, "name-Q8_0.gguf": b"GGUF8"}
        yield hub


@pytest.fixture
def variables(hub: FakeHub, tmp_path: Path) -> dict[str, str]:
    """What a command must know to use the hub, and an empty cache."""
    return {"HF_ENDPOINT": hub.endpoint, "HF_HOME": str(tmp_path / "hf"), "NO_PROXY": "127.0.0.1"}


@pytest.fixture
def models(variables: dict[str, str]) -> Models:
    """Runs `sotto models`; returns what came of it."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "sotto.cli", "models", *words]
        environment = {key: value for key, value in ENVIRONMENT.items() if not key.startswith("HF_")}
        return subprocess.run(
            command, capture_output=True, text=True, timeout=120, check=False,
            env={**environment, **variables},
        )  # fmt: skip

    return run


def gguf(*pairs: tuple[str, int, bytes]) -> bytes:
    """The beginning of a GGUF file with these values."""
    written = b"".join(
        struct.pack("<Q", len(key)) + key.encode() + struct.pack("<I", kind) + value
        for key, kind, value in pairs
    )
    return struct.pack("<4sIQQ", b"GGUF", 3, 0, len(pairs)) + written


LLAMA = ("general.architecture", 8, struct.pack("<Q", 5) + b"llama")


# list


def test_the_house_model_is_listed(models: Models) -> None:
    house, matting = json.loads(models("list", "--json").stdout)
    assert house == {
        "id": "sotto/house",
        "architecture": "llama",
        "bytes": HOUSE.stat().st_size,
        "path": str(HOUSE),
    }
    assert (matting["id"], matting["architecture"]) == ("sotto/matting", "segmentation")
    said = models("list").stdout
    assert "sotto/house" in said and "sotto models pull" in said


def test_what_was_pulled_is_listed(models: Models, hub: FakeHub) -> None:
    hub.files["org/name"] = {"a-Q4_0.gguf": gguf(LLAMA), "mmproj-a.gguf": gguf(LLAMA), "README.md": b"hi"}
    path = json.loads(models("pull", "org/name", "--json").stdout)["path"]
    for file in ("mmproj-a.gguf",):
        assert models("pull", "org/name", "--file", file).returncode == 0
    *_, pulled = json.loads(models("list", "--json").stdout)  # and no projector
    assert pulled == {
        "id": "org/name/a-Q4_0.gguf",
        "architecture": "llama",
        "bytes": len(gguf(LLAMA)),
        "path": path,
    }
    assert "org/name/a-Q4_0.gguf" in models("list").stdout


def test_an_architecture_is_read_or_not_known(tmp_path: Path) -> None:
    path = tmp_path / "some.gguf"
    array = ("tokens", 9, b"\0" * 12)
    for data, found in (
        (gguf(LLAMA), "llama"),
        (gguf(("a", 4, b"\0" * 4), ("b", 7, b"\1"), ("c", 10, b"\0" * 8), LLAMA), "llama"),
        (gguf(array, LLAMA), "llama"),
        (gguf(), None),
        (gguf(LLAMA)[:-2], None),
        (b"GGUF", None),
        (b"", None),
        (struct.pack("<4sIQQ", b"GGUF", 3, 0, 2**63) + struct.pack("<Q", 2**63), None),
    ):
        path.write_bytes(data)
        assert architecture(path) == found
    assert architecture(tmp_path / "none") is None


# pull


def test_pull_downloads_once(models: Models, hub: FakeHub) -> None:
    done = models("pull", "org/name")
    path = Path(done.stdout.split(" (")[0])
    assert done.returncode == 0 and path.read_bytes() == hub.files["org/name"]["name-Q4_0.gguf"]
    assert NAME in hub.gets()
    again = models("pull", "org/name")
    assert again.stdout == done.stdout and NAME not in hub.gets()


def test_pull_takes_a_file_a_quantisation_and_a_revision(models: Models, hub: FakeHub) -> None:
    for words in (("org/name:Q8_0",), ("org/name", "--file", "name-Q8_0.gguf"), ("org/name/name-Q8_0.gguf",)):
        assert json.loads(models("pull", *words, "--json").stdout)["path"].endswith("/name-Q8_0.gguf")
    assert models("pull", "org/name:Q8_0", "--revision", COMMIT).returncode == 0
    assert f"GET /api/models/org/name/tree/{COMMIT}" in hub.gets()


@pytest.mark.parametrize(
    ("words", "status", "named"),
    [
        (("pull", "/a/path.gguf"), 2, "invalid model_id '/a/path.gguf'"),
        (("pull", "org/name:Q4_0", "--file", "x.gguf"), 2, "invalid model_id 'org/name:Q4_0'"),
        (("pull", "org/nothing"), 1, "model 'org/nothing' cannot be downloaded"),
        (("pull", "org/name:Q3_K"), 1, "no GGUF file of Q3_K"),
        (("pull", "org/name", "--file", "x.gguf"), 1, "cannot be downloaded"),
        (("pull",), 2, "id"),
        (("check",), 2, "FILE"),
        (("check", "x", "--timeout", "0"), 2, "--timeout"),
        (("info", "/nowhere.gguf"), 1, "file '/nowhere.gguf' does not exist"),
        (("info", "--threads", "-1"), 2, "--threads"),
        (("paint",), 2, "paint"),
        ((), 2, "COMMAND"),
    ],
)
def test_bad_words_are_named(models: Models, words: tuple[str, ...], status: int, named: str) -> None:
    done = models(*words)
    assert done.returncode == status and named in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bar_shows_the_transfer_and_ctrl_c_leaves_a_part(
    hub: FakeHub, variables: dict[str, str], models: Models
) -> None:
    content = b"GGUF" + random.Random(1).randbytes(30_000_000)
    hub.files["org/name"] = {"name.gguf": content}
    hub.pause = 0.002
    with Terminal("models", "pull", "org/name", **variables) as terminal:
        terminal.expect(r"org/name .*\b1\d\.\d/30\.0 MB .*/s", timeout=60)
        terminal.type("\x03")
        terminal.expect("stopped; the same command goes on from there")
        assert terminal.leave() == 130
    hub.pause = 0
    assert len(json.loads(models("list", "--json").stdout)) == 2  # those of the package; a part is no model
    done = models("pull", "org/name", "--json")
    assert Path(json.loads(done.stdout)["path"]).read_bytes() == content
    assert hub.ranges and int(hub.ranges[-1].removeprefix("bytes=").rstrip("-")) >= 10_000_000


@pytest.mark.parametrize("kept", ["none of it", "too much", "all of it", "damaged"])
def test_a_part_is_used_if_it_is_one(models: Models, hub: FakeHub, tmp_path: Path, kept: str) -> None:
    content = hub.files["org/name"]["name-Q4_0.gguf"]
    blobs = tmp_path / "hf" / "hub" / "models--org--name" / "blobs"
    blobs.mkdir(parents=True)
    part = {"none of it": b"", "too much": content + b"x", "all of it": content, "damaged": b"x" * 1000}[kept]
    (blobs / f"{hashlib.sha256(content).hexdigest()}.part").write_bytes(part)
    done = models("pull", "org/name", "--json")
    if kept == "damaged":
        assert done.returncode == 1 and "arrived damaged" in done.stderr
        assert hub.ranges == ["bytes=1000-"]
        done = models("pull", "org/name", "--json")
    assert Path(json.loads(done.stdout)["path"]).read_bytes() == content
    assert (NAME in hub.gets()) == (kept != "all of it")
    assert not list(blobs.glob("*.part"))


# check


def test_a_sound_file_is_called_so(models: Models) -> None:
    done = models("check", str(HOUSE))
    assert done.returncode == 0 and done.stdout.startswith(f"{HOUSE}: sound: llama, ")


def test_every_file_gets_its_verdict(models: Models, tmp_path: Path) -> None:
    broken, cut = tmp_path / "broken.gguf", tmp_path / "cut.gguf"
    broken.write_bytes(b"no model at all")
    cut.write_bytes(HOUSE.read_bytes()[:-1000])
    done = models("check", "--json", str(broken), str(HOUSE), str(cut))
    verdicts = json.loads(done.stdout)
    assert done.returncode == 1
    assert [verdict["verdict"] for verdict in verdicts] == ["refused", "sound", "refused"]
    assert verdicts[0]["why"] == "the file is not a GGUF file" and verdicts[2]["why"]
    assert verdicts[1]["details"]["architecture"] == "llama"
    assert models("check", str(HOUSE), str(tmp_path / "nothing")).returncode == 2
    assert models("check", str(tmp_path)).returncode == 2


def test_a_file_that_may_not_be_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:  # as the system does, to all but root
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(check, "open", refuse, raising=False)
    asked = argparse.Namespace(files=[str(HOUSE)], timeout=1.0, memory=None, json=False)
    assert check.run(asked) == 2
    assert capsys.readouterr().out == f"{HOUSE}: unreadable: Permission denied\n"


def test_a_crash_is_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def child(body: str, timeout: float = 30) -> check.Verdict:
        monkeypatch.setattr(confined, "_command", lambda _: ["/bin/sh", "-c", body])
        return check.examine(str(HOUSE), timeout)

    crashed = child("echo 'GGML_ASSERT(n > 0) failed' >&2; kill -SEGV $$")
    assert (crashed.verdict, crashed.why) == ("crashed", "SIGSEGV; GGML_ASSERT(n > 0) failed")
    assert signal.SIGABRT.name in child("kill -ABRT $$").why
    assert child("exit 3").why == "exit status 3"
    slow = child("exec sleep 60", 0.5)
    assert (slow.verdict, slow.why) == ("timeout", "the file takes longer than 0.5 seconds; raise --timeout")


# info


@pytest.mark.real
def test_info_says_what_a_model_takes(models: Models) -> None:
    report = json.loads(models("info", "--json").stdout)
    assert report["architecture"] == "llama" and report["parameters"] > 1e6
    memory = report["memory"]
    kv = memory["kv"]["f16"]
    table = {(cell["context"], cell["streams"]): cell["bytes"] for cell in kv["table"]}
    default = memory["default"]
    assert default["kv"] == table[default["context"], default["streams"]]
    assert kv["fixed"] == 0 and table[2048, 1] == 2048 * kv["per_token"]
    assert memory["kv"]["q8_0"]["per_token"] == kv["per_token"] * 34 / 64
    said = models("info").stdout
    assert "weights" in said and "8 streams" in said and "a token" in said


@pytest.mark.real
def test_info_knows_other_kinds_of_memory(models: Models, tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "tests" / "data" / "make_tiny.py", tmp_path], check=True)
    recurrent = json.loads(models("info", "--json", str(tmp_path / "tiny-recurrent.gguf")).stdout)
    assert recurrent["memory"]["kv"]["f16"]["per_token"] == 0
    assert recurrent["memory"]["kv"]["f16"]["fixed"] > 0
    hybrid = json.loads(models("info", "--json", str(tmp_path / "tiny-hybrid.gguf")).stdout)
    assert hybrid["memory"]["kv"]["f16"]["per_token"] > 0 and hybrid["memory"]["kv"]["f16"]["fixed"] > 0


class _Meter:
    """Memory that grows as a function of the context."""

    def __init__(self, kv: Callable[[int], int]) -> None:
        self._kv = kv
        self.asked: list[int] = []

    def kv(self, context: int, kv_type: str) -> int:
        self.asked.append(context)
        return self._kv(-(-context // 256) * 256)


def _measure(kv: Callable[[int], int], trained: int, available: int = 1 << 40) -> tuple[Kind, list[int]]:
    meter: Any = _Meter(kv)
    return measure(meter, "f16", trained, available), meter.asked


def test_what_lies_on_a_line_is_not_loaded() -> None:
    kind, asked = _measure(lambda context: 100 + 7 * context, 6000)
    assert asked == [256, 512, 6000]
    assert (kind.per_token, kind.fixed) == (7, 100)
    assert kind.bytes == {row: 100 + 7 * row for row in (1024, 2048, 4096)} | {6000: 100 + 7 * 6144}
    assert {(cell["context"], cell["streams"]): cell["bytes"] for cell in kind.rows()}[1024, 8] == 8 * 7268


def test_what_does_not_is_loaded_row_by_row() -> None:
    def window(context: int) -> int:
        return 3 * context + 4 * min(context, 1024)

    kind, asked = _measure(window, 4096)
    assert kind.per_token is None and {1024, 2048, 4096} <= set(asked)
    assert kind.bytes == {row: window(row) for row in (1024, 2048, 4096)}


def test_no_more_is_loaded_than_there_is_memory_for() -> None:
    kind, asked = _measure(lambda context: 7 * context, 131072, available=7 * 5000)
    assert max(asked) == 4096 and max(kind.bytes) == 4096
    assert _measure(lambda context: 7 * context, 512, available=10)[0].bytes == {}


def test_a_sheet_says_what_could_not_be_measured(capsys: pytest.CaptureFixture[str]) -> None:
    cell = {"context": 1024, "streams": 1, "bytes": 102400}
    kv = {
        "f16": {"per_token": 100.0, "fixed": 2048, "table": [cell]},
        "q8_0": {"per_token": None, "fixed": 0, "table": [cell]},
        "q4_0": {"refused": "[no] way"},
    }
    default = {"context": 2048, "streams": 4, "weights": 1 << 20, "kv": 2 << 20, "compute": 3 << 20}
    facts = {"id": "[x]", "trained_context": 4096, "capabilities": {"tools": True}, "made_of": ["a", "b"]}
    sheet.show({**facts, "path": "/a", "file_bytes": 5, "memory": {"default": default, "kv": kv}})
    said = capsys.readouterr().out
    for words in (
        "[x]", "tools yes", "a, b", "6.0 MiB", "100 B a token, and 2.0 KiB a stream", "100.0 KiB",
        "more than 1024 was too much", "it does not grow evenly", "not for this model ([no] way)",
    ):  # fmt: skip
        assert words in said


def test_figures_are_readable() -> None:
    assert [size(count) for count in (0, 1023, 1024, 5 << 20, 3 << 30)] == [
        "0 B", "1023 B", "1.0 KiB", "5.0 MiB", "3.00 GiB",
    ]  # fmt: skip
    assert [amount(count) for count in (7, 409, 5_180_672, 350_600, 1_240_000_000)] == [
        "7", "409", "5.2 M", "351 K", "1.2 G",
    ]  # fmt: skip
