"""`sotto models convert`: untrusted and damaged folders, and what is left of a failure."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from conversion import HOUSE
from gguf_sources import converted, refused

from sotto.commands import confined
from sotto.commands.models import convert


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda at: (at / "config.json").unlink(), "the folder has no config.json"),
        (lambda at: (at / "config.json").write_text("{"), "config.json' is damaged"),
        (lambda at: (at / "config.json").write_text("[]"), "config.json' is damaged: it is no JSON object"),
        (lambda at: (at / "config.json").write_text("{}"), "unsupported architecture 'None'"),
        (
            lambda at: (at / "config.json").write_text('{"architectures": ["BrennaForCausalLM"]}'),
            "unsupported architecture 'BrennaForCausalLM' in config.json; llama.cpp's converter knows",
        ),
        (lambda at: (at / "model.safetensors").unlink(), "the folder has no *.safetensors"),
        (
            lambda at: (at / "model.safetensors").rename(at / "weights.safetensors"),
            "expected a folder with model*",
        ),
        (
            lambda at: (at / "model.safetensors").write_bytes(b"\x80\x02" + b"x" * 99),
            "a pickle or a zip file",
        ),
        (lambda at: os.truncate(at / "model.safetensors", 100_000), "model.safetensors' is damaged"),
        (lambda at: os.mkfifo(at / "merges.txt"), "merges.txt is a broken link, a FIFO"),
        (lambda at: (at / "tokenizer.json").unlink(), "cannot be converted"),
        (lambda at: (at / "tokenizer.json").write_text("{"), "cannot be converted"),
        (
            lambda at: shard(at, "model-00002-of-00002.safetensors"),
            "it lists model-00002-of-00002.safetensors",
        ),
        (
            lambda at: shard(at, "../../secret.safetensors"),
            "it lists ../../secret.safetensors, which is missing",
        ),
        (lambda at: edit(at, num_hidden_layers=3), "the converted model cannot be used"),
    ],
)
def test_a_damaged_folder_is_refused(folder: Path, out: Path, capsys: Any, damage: Any, reason: str) -> None:
    damage(folder)
    assert reason in refused(folder, out, capsys)


def shard(folder: Path, other: str) -> None:
    weights = {"model.norm.weight": "model.safetensors", "lm_head.weight": other}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weights}))


def edit(folder: Path, **values: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | values))


def test_what_is_no_model_is_refused(tmp_path: Path, out: Path, capsys: Any) -> None:
    assert "invalid DIR" in refused(tmp_path / "none", out, capsys)
    assert "the path is a file" in refused(HOUSE / "house.gguf", out, capsys)
    (tmp_path / "lora").mkdir()
    (tmp_path / "lora" / "adapter_config.json").write_text("{}")
    assert "engine.lora_load() reads as it is" in refused(tmp_path / "lora", out, capsys)


def test_an_unknown_type_is_refused_before_the_conversion(
    tiny_source: Path, out: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confined, "call", lambda *_: pytest.fail("it was converted"))
    told = refused(tiny_source, out, capsys, "--quantize", "Q4")
    assert "invalid --quantize 'Q4': expected F32, F16, " in told


class Trap:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> Any:
        return open, (self.path, "w")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt"])
def test_a_pickle_is_never_read(folder: Path, out: Path, capsys: Any, name: str) -> None:
    marker = folder.parent / "unpickled"
    (folder / name).write_bytes(pickle.dumps(Trap(marker)))
    assert converted(folder, out / "made.gguf") == 0  # from the safetensors
    (out / "made.gguf").unlink()
    (folder / "model.safetensors").unlink()
    told = refused(folder, out, capsys)
    assert f"{name} may be a pickle, which can run code" in told and not marker.exists()
    (folder / name).rename(folder / "model.safetensors")
    assert "it is a pickle or a zip file" in refused(folder, out, capsys)
    assert not marker.exists()


@pytest.mark.parametrize("kind", ["tokenizer", "config", "modules"])
def test_code_of_the_folder_is_never_run(
    folder: Path, out: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    marker = folder.parent / "run"
    code = f"open({str(marker)!r}, 'w').close()\nclass Mine: pass\n"
    if kind == "modules":  # that Python would import from the working directory
        for name in ("torch", "transformers", "conversion", "gguf", "json", "sotto"):
            (folder / f"{name}.py").write_text(code)
        monkeypatch.chdir(folder)
        assert converted(Path("."), out / "made.gguf") == 0
    else:
        (folder / "mine.py").write_text(code)
        if kind == "config":
            edit(folder, model_type="mine", auto_map={"AutoConfig": "mine.Mine"})
            assert converted(folder, out / "made.gguf") == 0  # by the architecture in config.json
        else:
            file = folder / "tokenizer_config.json"
            config = json.loads(file.read_text())
            config |= {"tokenizer_class": "Mine", "auto_map": {"AutoTokenizer": ["mine.Mine", None]}}
            file.write_text(json.dumps(config))
            status = converted(folder, out / "made.gguf")
            assert status == 0 or "which is never run" in capsys.readouterr().err
    assert not marker.exists()


def test_the_child_process_reaches_no_network_and_no_program(folder: Path, tmp_path: Path) -> None:
    attempt = (
        "import json, sys; from sotto.commands.convert import llama_cpp_child as child\n"
        "import torch, transformers; from pathlib import Path\n"
        "child._confine(torch, transformers, Path(sys.argv[1]))\n"
        "import os, pickle, socket, subprocess\n"
        "class Call:\n    def __reduce__(self): return len, ('x',)\n"
        "def told(what):\n"
        "    try: what()\n"
        "    except Exception as error: return f'{type(error).__name__}: {error}'\n"
        "    return 'went on'\n"
        "inside = compile('1', str(Path(sys.argv[1]).resolve() / 'mine.py'), 'exec')\n"
        "print(json.dumps([told(one) for one in (\n"
        "    lambda: socket.create_connection(('127.0.0.1', 9)),\n"
        "    lambda: socket.getaddrinfo('localhost', 80),\n"
        "    lambda: subprocess.run(['true']), lambda: os.system('true'), lambda: torch.load('x.bin'),\n"
        "    lambda: pickle.loads(pickle.dumps(Call())), lambda: exec(inside), lambda: exec('1'))]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", attempt, str(folder)], capture_output=True, text=True, timeout=120, check=True
    )
    *refusals, harmless = json.loads(done.stdout.splitlines()[-1])
    assert harmless == "went on" and len(refusals) == 7
    for told in refusals:
        assert "is not allowed" in told or "may be a pickle" in told or "never run" in told


def test_a_killed_conversion_leaves_no_file_and_the_next_one_clears_up(house_source: Path, out: Path) -> None:
    command = [sys.executable, "-m", "sotto.cli", "models", "convert", str(house_source)]
    process = subprocess.Popen([*command, "--to", str(out / "made.gguf")])
    part = out / ".made.gguf.converting" / "converted.gguf"
    until = time.monotonic() + 120
    while not (part.exists() and part.stat().st_size) and time.monotonic() < until:
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert not (out / "made.gguf").exists() and part.exists()
    settled = -1
    while settled != part.stat().st_size:  # until the child process has ended too
        settled = part.stat().st_size
        time.sleep(0.5)
    assert converted(house_source, out / "made.gguf", "--quantize", "Q8_0") == 0
    assert [file.name for file in out.iterdir()] == ["made.gguf"]


def test_one_process_at_a_time_writes_a_file(folder: Path, out: Path, capsys: Any) -> None:
    from filelock import FileLock

    (out / ".made.gguf.converting").mkdir()
    with FileLock(out / ".made.gguf.converting" / "lock"):
        told: list[int] = []
        thread = threading.Thread(target=lambda: told.append(converted(folder, out / "made.gguf")))
        thread.start()
        thread.join()
        assert told == [1] and "another process is writing" in capsys.readouterr().err


@pytest.mark.parametrize("room", [1 << 16, 1 << 21])
def test_a_full_disk_leaves_nothing(folder: Path, out: Path, room: int) -> None:
    limited = (
        "import resource, signal, sys; from sotto import cli; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room})); sys.exit(cli.main(sys.argv[1:]))"
    )
    more = ("--quantize", "F32") if room == 1 << 21 else ("--quantize", "Q4_K_M")
    command = [sys.executable, "-c", limited, "models", "convert", folder, "--to", out / "made.gguf", *more]
    done = subprocess.run(command, timeout=120, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "has no room for the model: " in done.stderr
    assert "choose another --to" in done.stderr and not list(out.iterdir())


def test_a_full_disk_is_seen_before_the_conversion(
    folder: Path, out: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(out)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1 << 20))
    assert "has no room for the model: it needs" in refused(folder, out, capsys)


def test_a_missing_package_or_converter_is_named(
    folder: Path, out: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(convert, "_PACKAGES", ("torch", "no_such_package"))
        told = refused(folder, out, capsys)
        assert "sotto models convert needs no_such_package: pip install 'sotto-runtime[convert]'" in told
    monkeypatch.setattr(convert, "library_folder", lambda: out)
    assert "has no converter: install the wheel" in refused(folder, out, capsys)
