"""`engine.quantize()`, blocking and with asyncio, and `sotto models quantize`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sotto
from conftest import ENVIRONMENT
from results import check
from sotto import cli
from sotto.commands import progress
from tiny_wide import wide

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model in F32 whose rows fit every type."""
    path = tmp_path_factory.mktemp("source") / "tiny.gguf"
    wide(1).write(path)
    return path


def test_a_quantized_file_answers_and_has_the_sizes_that_are_told(
    adaptable: sotto.Engine, source: Path, tmp_path: Path
) -> None:
    to = tmp_path / "q8.gguf"
    to.write_bytes(b"earlier")
    told: list[float] = []
    made = adaptable.quantize(source, to, type="q8_0", threads=1, progress=told.append)
    assert made == (str(to), "q8_0", to.stat().st_size, source.stat().st_size)
    assert made.bytes < made.source_bytes / 2
    assert told == sorted(told) and told[-1] == 1
    adaptable.load_model("quantized", path=to)
    try:
        assert adaptable.model_info("quantized")["details"]["quantization"] == "Q8_0"
        body = {"model": "quantized", "prompt": "the king", "max_tokens": 4, "temperature": 0}
        assert json.loads(adaptable.llm_text_completion(body))["usage"]["completion_tokens"] == 4
    finally:
        adaptable.unload_model("quantized")
    body = {"path": str(source), "to_path": str(tmp_path / "again.gguf"), "type": "Q8_0"}
    check("quantize", adaptable._ask("quantize", body, {}).finish().json)
    assert (tmp_path / "again.gguf").read_bytes() == to.read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["again.gguf", "q8.gguf"]


def test_the_error_names_the_parameter(adaptable: sotto.Engine, source: Path, tmp_path: Path) -> None:
    to = tmp_path / "to.gguf"
    with pytest.raises(sotto.ArgumentError, match=r"invalid type 'Q4': expected F32, F16, .* or Q1_0"):
        adaptable.quantize(source, to, type="Q4")
    with pytest.raises(sotto.ArgumentError, match=r"invalid type 'IQ1_S': .* set imatrix"):
        adaptable.quantize(source, to, type="IQ1_S")
    with pytest.raises(sotto.ArgumentError, match=r"invalid to_path .* expected another file than path"):
        adaptable.quantize(source, source, type="Q8_0")
    with pytest.raises(sotto.ArgumentError, match="invalid threads '513'"):
        adaptable.quantize(source, to, type="Q8_0", threads=513)
    with pytest.raises(TypeError, match="invalid type"):
        adaptable.quantize(source, to, type=8)  # type: ignore[arg-type]
    with pytest.raises(sotto.SottoError) as missing:
        adaptable.quantize(tmp_path / "none.gguf", to, type="Q8_0")
    assert missing.value.status is sotto.Status.NOT_FOUND
    with pytest.raises(sotto.SottoError, match="invalid imatrix"):
        adaptable.quantize(source, to, type="Q4_K_M", imatrix=source)
    with pytest.raises(sotto.SottoError, match="No such file or directory"):
        adaptable.quantize(source, tmp_path / "none" / "to.gguf", type="Q8_0")
    adaptable.quantize(source, tmp_path / "small.gguf", type="Q8_0")
    with pytest.raises(sotto.ArgumentError, match="the model is quantized already"):
        adaptable.quantize(tmp_path / "small.gguf", to, type="Q4_K_M")
    assert [file.name for file in tmp_path.iterdir()] == ["small.gguf"]


def test_an_exception_in_progress_cancels(adaptable: sotto.Engine, source: Path, tmp_path: Path) -> None:
    def stop(done: float) -> None:
        raise KeyboardInterrupt

    text = tmp_path / "text.txt"  # so long that the work takes seconds
    text.write_text("the king of the hill went to the market and bought an apple " * 500)
    with pytest.raises(KeyboardInterrupt):
        adaptable.quantize(source, tmp_path / "to.gguf", type="Q4_K_M", imatrix=text, progress=stop)
    adaptable.quantize(source, tmp_path / "next.gguf", type="F16")  # starts once the first has ended
    assert sorted(file.name for file in tmp_path.iterdir()) == ["next.gguf", "text.txt"]


def test_other_threads_run_meanwhile(adaptable: sotto.Engine, source: Path, tmp_path: Path) -> None:
    counted = 0
    over = threading.Event()

    def count() -> None:
        nonlocal counted
        while not over.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    begin = time.monotonic()
    adaptable.quantize(source, tmp_path / "to.gguf", type="Q4_K_M", threads=1)
    took = time.monotonic() - begin
    over.set()
    thread.join()
    assert counted > took * 100


def test_asyncio_has_the_same(source: Path, tmp_path: Path) -> None:
    async def run() -> None:
        async with sotto.aio.Engine("cpu") as engine:
            told: list[float] = []
            made = await engine.quantize(source, tmp_path / "a.gguf", type="Q4_0", progress=told.append)
            assert made.bytes == (tmp_path / "a.gguf").stat().st_size
            assert told and told[-1] <= 1
            with pytest.raises(sotto.ArgumentError, match="invalid type 'Q4'"):
                await engine.quantize(source, tmp_path / "b.gguf", type="Q4")
            both = [engine.quantize(source, tmp_path / f"{n}.gguf", type="Q8_0") for n in range(2)]
            assert len({one.bytes for one in await asyncio.gather(*both)}) == 1

    asyncio.run(run())


def test_the_command_quantizes(source: Path, tmp_path: Path) -> None:
    to = tmp_path / "to.gguf"

    def command(*arguments: object) -> subprocess.CompletedProcess[str]:
        whole = [sys.executable, "-m", "sotto.cli", "models", "quantize", *map(str, arguments)]
        return subprocess.run(whole, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)

    done = command(source, to, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "path": str(to),
        "type": "Q4_K_M",
        "bytes": to.stat().st_size,
        "source_bytes": source.stat().st_size,
    }
    done = command(source, to, "--type", "Q8_0", "--threads", 1)
    assert done.returncode == 0 and "Q8_0" in done.stdout and str(to) in done.stdout
    refused = command(source, to, "--type", "Q4")
    assert refused.returncode == 2 and "invalid type 'Q4'" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("complete", "said"), [(False, "nothing was written"), (True, "to.gguf was complete")]
)
def test_a_stopped_command_says_whether_the_file_is_complete(
    complete: bool,
    said: str,
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    to = tmp_path / "to.gguf"

    @contextlib.contextmanager
    def fractions(name: str) -> Iterator[Callable[[str, float], None]]:
        def report(part: str, done: float) -> None:
            if done == 1 and complete:
                patience = time.monotonic() + 30  # 1 is reported before the file has its name
                while not to.exists() and time.monotonic() < patience:
                    time.sleep(0.001)
            if done == 1 or not complete:
                raise KeyboardInterrupt

        yield report

    monkeypatch.setattr(progress, "fractions", fractions)
    assert cli.main(["models", "quantize", str(source), str(to)]) == 130
    assert said in capsys.readouterr().err
    assert to.exists() == complete
