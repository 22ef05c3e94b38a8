"""Whisper tiny.en, real weights: it hears what espeak-ng says, and refuses what is no sound."""

from __future__ import annotations

import array
import base64
import math
import os
import random
import re
import shutil
import subprocess
import sys
import time
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faster_whisper import WhisperModel

import sotto
from conftest import MODEL, OPTIONS
from sotto import cli
from sotto.backends import check
from sotto.backends._cases import CASES, Target
from words import LINES, error_rate, errors, words

FEW = LINES[:8]
ROOT = Path(__file__).parents[2]
Speak = Callable[[str], Path]


def write(path: Path, values: np.ndarray[Any, Any], rate: int, width: int, channels: int) -> Path:
    """Writes float values as a WAV file of another form."""
    spread = np.repeat(values[:, None], channels, axis=1)
    if width == 1:
        data = (spread * 127 + 128).clip(0, 255).astype(np.uint8)
    else:
        data = (spread * 32767).clip(-32768, 32767).astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(data.tobytes())
    return path


def values_of(path: Path, rate: int) -> np.ndarray[Any, Any]:
    """The values of a WAV file of 16 bits, at another rate."""
    with wave.open(str(path), "rb") as file:
        given, count = file.getframerate(), file.getnframes()
        values = np.frombuffer(file.readframes(count), "<i2").astype(np.float32) / 32768
    at = np.arange(0, count, given / rate)
    return np.interp(at, np.arange(count), values).astype(np.float32)


def end_of(engine: sotto.Engine, request: dict[str, Any]) -> sotto.Event:
    """Submits a transcription, and returns its last event."""
    engine.submit("transcribe", request)
    while True:
        assert engine.wait(20)
        for event in engine.events():
            if event.kind == "request_done":
                return event


def test_lines_are_heard_as_the_library_itself_hears_them(ears: sotto.Engine, spoken: Speak) -> None:
    stock = WhisperModel(str(MODEL), device="cpu", compute_type="int8", cpu_threads=1)
    pairs, ours_s, theirs_s = [], 0.0, 0.0
    for line in FEW:
        file = spoken(line)
        began = time.perf_counter()
        heard = ears.transcribe(file).text
        middle = time.perf_counter()
        segments, _ = stock.transcribe(str(file), language="en", vad_filter=True)
        theirs = "".join(segment.text for segment in segments).strip()
        ours_s, theirs_s = ours_s + middle - began, theirs_s + time.perf_counter() - middle
        assert heard == theirs
        pairs.append((line, heard))
    wrong = error_rate(pairs)
    print(
        f"\nspeech: {len(FEW)} texts equal, word error rate {wrong:.3f}, {ours_s / len(FEW):.2f} s a line, "
        f"{ours_s / theirs_s:.2f} x faster-whisper's own"
    )
    assert wrong <= 0.1


def test_words_have_times_in_order(ears: sotto.Engine, spoken: Speak) -> None:
    heard = ears.transcribe(spoken(LINES[2]), words=True)
    assert [words(word.text)[0] for word in heard.words] == words(heard.text)
    times = [time for word in heard.words for time in (word.start, word.end)]
    assert times == sorted(times) and times[-1] <= heard.raw["duration"] + 0.5
    assert heard.language == "en" and heard.segments[0].text.strip() == heard.text
    assert ears.transcribe(spoken(LINES[2])).words == ()


def test_segments_arrive_as_text_before_the_end(ears: sotto.Engine, spoken: Speak) -> None:
    pause = np.zeros(16_000, np.float32)
    sound = np.concatenate([part for line in FEW for part in (values_of(spoken(line), 16_000), pause)])
    body = {"model": "ears", "input_audio": sotto.data.sound_of(sound, 16_000)["input_audio"]}
    ears.submit("transcribe", body)
    kinds: list[str] = []
    while not kinds or kinds[-1] != "request_done":
        assert ears.wait(60)
        kinds += [event.kind for event in ears.events()]
    assert kinds.count("text") >= 3


@pytest.mark.parametrize(
    ("rate", "width", "channels"), [(22050, 1, 1), (48000, 2, 2), (192000, 2, 1), (44100, 2, 8)]
)
def test_other_forms_of_sound_are_heard(
    ears: sotto.Engine, spoken: Speak, tmp_path: Path, rate: int, width: int, channels: int
) -> None:
    file = write(tmp_path / "line.wav", values_of(spoken(LINES[2]), rate), rate, width, channels)
    assert errors(words(LINES[2]), words(ears.transcribe(file).text)) <= 2
    assert errors(words(LINES[2]), words(ears.transcribe(file.read_bytes()).text)) <= 2


@pytest.mark.parametrize("rate", [16000, 22050, 44100])
def test_a_buffer_of_floats_is_heard(ears: sotto.Engine, spoken: Speak, rate: int) -> None:
    values = values_of(spoken(LINES[0]), rate)
    assert errors(words(LINES[0]), words(ears.transcribe(values, sample_rate=rate).text)) <= 1


def test_no_speech_is_an_empty_text(ears: sotto.Engine) -> None:
    dice = np.random.default_rng(3)
    tone = np.sin(np.arange(3 * 16_000) * 2 * math.pi * 440 / 16_000)
    for sound in (np.zeros(0), np.zeros(48_000), dice.normal(0, 0.05, 48_000), 0.3 * tone):
        heard = ears.transcribe(sound.astype(np.float32))
        assert (heard.text, heard.segments) == ("", ())


def test_what_is_no_sound_is_refused_with_a_reason(ears: sotto.Engine, tmp_path: Path) -> None:
    empty, text = tmp_path / "empty.wav", tmp_path / "text.wav"
    empty.write_bytes(b"")
    text.write_text("this is no sound at all\n" * 50)
    for wrong in (empty, text, tmp_path / "none.wav", tmp_path):
        with pytest.raises(sotto.ArgumentError, match="expected sound in a WAV, FLAC, OGG or MP3 file"):
            ears.transcribe(wrong)
    with pytest.raises(sotto.ArgumentError, match="finite"):
        ears.transcribe(array.array("f", [0.0, math.nan, math.inf]))
    for data in ("%%%", "AAA="):
        request = {"model": "ears", "input_audio": {"data": data, "format": "f32"}}
        assert "input_audio.data" in end_of(ears, request).error
    assert ears.transcribe(np.zeros(100, np.float32)).text == ""


def test_no_url_playlist_or_pipe_is_opened(ears: sotto.Engine, tmp_path: Path, spoken: Speak) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    playlist = f"#EXTM3U\n#EXTINF:1,\n{spoken(LINES[0])}\n".encode()
    for request in (
        {"file": "http://127.0.0.1:9/line.wav"},
        {"file": f"concat:{spoken(LINES[0])}"},
        {"file": str(pipe)},
        {"input_audio": {"data": base64.b64encode(playlist).decode(), "format": "wav"}},
    ):
        assert "expected sound in a WAV" in end_of(ears, {"model": "ears", **request}).error


def test_a_language_that_the_model_lacks_is_refused(ears: sotto.Engine, spoken: Speak) -> None:
    with pytest.raises(sotto.ArgumentError, match="invalid language 'de': expected en, the only language"):
        ears.transcribe(spoken(LINES[0]), language="de")
    assert ears.transcribe(spoken(LINES[0]), language="en").language == "en"


def test_long_sound_is_refused_before_it_is_decoded(engine: sotto.Engine, spoken: Speak) -> None:
    engine.load_model("ears", path=MODEL, backend="ctranslate2", options={**OPTIONS, "max_seconds": 1})
    with pytest.raises(sotto.ArgumentError, match="expected at most 1 seconds of sound"):
        engine.transcribe(np.zeros(3 * 16_000, np.float32))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"compute_typ": "int8"}, "did you mean 'compute_type'"),
        ({"compute_type": "int3"}, "invalid compute_type 'int3'"),
        ({"threads": 0}, "invalid threads '0'"),
        ({"vad": 1}, "invalid vad '1'"),
        ({"max_seconds": "long"}, "invalid max_seconds"),
    ],
)
def test_options_are_checked(engine: sotto.Engine, options: dict[str, Any], said: str) -> None:
    with pytest.raises(sotto.SottoError, match=said):
        engine.load_model("ears", path=MODEL, backend="ctranslate2", options=options)


def test_folders_that_hold_no_such_model_are_refused(engine: sotto.Engine, tmp_path: Path) -> None:
    def refused(folder: Path) -> str:
        with pytest.raises(sotto.ModelLoadError) as error:
            engine.load_model("ears", path=folder, backend="ctranslate2")
        return str(error.value)

    assert "is no folder" in refused(tmp_path / "none")
    assert "has no model.bin" in refused(tmp_path)
    folder = tmp_path / "cut"
    shutil.copytree(MODEL, folder)
    whole = (folder / "model.bin").read_bytes()
    for data, said in (
        (b"", "damaged"),
        (b"GGUF" + whole[4:], "damaged"),
        (whole[:6] + b"TransformerSpec\0" + whole[22:], "of kind Transformer"),
        (whole[: len(whole) // 2], "damaged"),
    ):
        (folder / "model.bin").write_bytes(data)
        assert said in refused(folder)


def test_the_budget_counts_the_model_and_makes_it_leave(engine: sotto.Engine, spoken: Speak) -> None:
    engine.load_model("ears", path=MODEL, backend="ctranslate2", options=OPTIONS)
    used = engine.memory()["used"]
    size = (MODEL / "model.bin").stat().st_size
    print(f"\nspeech: {used / 2**20:.0f} MB for a model of {size / 2**20:.0f} MB")
    assert size / 2 < used < 4 * size
    engine.set_vram_budget_mb(8)
    end = time.monotonic() + 20
    while engine.memory()["used"] > 8 << 20 and time.monotonic() < end:
        time.sleep(0.01)
    assert engine.memory()["used"] == 0  # it was idle
    engine.set_vram_budget_mb(0)
    assert words(engine.transcribe(spoken(LINES[0])).text) == words(LINES[0])  # it came back by itself


def test_a_model_over_the_budget_is_refused(engine: sotto.Engine) -> None:
    engine.set_vram_budget_mb(8)
    with pytest.raises(sotto.ModelLoadError, match="budget"):
        engine.load_model("ears", path=MODEL, backend="ctranslate2", options=OPTIONS)
    assert engine.memory()["used"] == 0


def test_cancelled_transcriptions_leave_nothing_behind(engine: sotto.Engine, spoken: Speak) -> None:
    engine.load_model("ears", path=MODEL, backend="ctranslate2", options=OPTIONS)
    dice, longest, file = random.Random(5), 0.0, str(spoken(LINES[0]))
    for _ in range(30):
        request = engine.submit("transcribe", {"model": "ears", "file": file})
        time.sleep(dice.random() * 0.3)
        began = time.perf_counter()
        engine.cancel(request)
        kinds: list[str] = []
        while "request_done" not in kinds:
            assert engine.wait(20)
            kinds += [event.kind for event in engine.events() if event.request == request]
        longest = max(longest, time.perf_counter() - began)
    print(f"\nspeech: a cancelled request ends within {1000 * longest:.0f} ms")
    assert longest < 0.1
    assert words(engine.transcribe(file).text) == words(LINES[0])
    assert engine.stats().live == 0


def test_the_command_writes_text_and_subtitles(spoken: Speak, tmp_path: Path, capsys: Any) -> None:
    files = [str(spoken(line)) for line in LINES[:2]]
    model = ["--model", str(MODEL)]
    assert cli.main(["transcribe", files[0], *model]) == 0
    assert words(capsys.readouterr().out) == words(LINES[0])
    assert cli.main(["transcribe", *files, *model, "--srt", "--out", str(tmp_path)]) == 0
    made = sorted(tmp_path.glob("*"))
    assert [path.suffix for path in made] == [".srt", ".srt"]
    text = made[0].read_text()
    assert re.match(r"1\n00:00:00,\d{3} --> 00:00:0\d,\d{3}\n", text) and "gate" in text
    made[0].write_text("mine")
    assert cli.main(["transcribe", *files, *model, "--srt", "--out", str(tmp_path)]) == 0
    assert made[0].read_text() == "mine"  # it resumes
    bad = tmp_path / "bad.wav"
    bad.write_text("no sound")
    assert cli.main(["transcribe", str(bad), files[1], *model, "--json", "--out", str(tmp_path)]) == 1
    assert "bad.wav: invalid file" in capsys.readouterr().err
    assert not (tmp_path / "bad.json").exists()
    assert (tmp_path / f"{Path(files[1]).stem}.json").exists()  # the others are done all the same


def test_the_command_writes_text_into_a_folder(spoken: Speak, tmp_path: Path, capsys: Any) -> None:
    file = spoken(LINES[0])
    assert cli.main(["transcribe", str(file), "--model", str(MODEL), "--out", str(tmp_path)]) == 0
    assert words((tmp_path / f"{file.stem}.txt").read_text()) == words(LINES[0])
    assert capsys.readouterr().out == ""


def test_the_command_refuses_equal_targets(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "sub").mkdir()
    files = [str(tmp_path / "a.wav"), str(tmp_path / "sub" / ".." / "a.mp3")]
    assert cli.main(["transcribe", *files, "--model", str(MODEL), "--srt"]) == 2
    assert f"two files would be written as {tmp_path / 'a.srt'}" in capsys.readouterr().err


def test_the_sample_hears_and_answers(spoken: Speak) -> None:
    files = [str(spoken(line)) for line in FEW[:2]]
    command = [sys.executable, str(ROOT / "samples" / "python" / "hearing.py"), *files, "--ears", str(MODEL)]
    said = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=120
    ).stdout.splitlines()
    assert [line.split(": ")[0] for line in said] == ["Player", "Brenna"] * 2
    assert errors(words(FEW[1]), words(said[2].removeprefix("Player: "))) <= 2
    assert all(len(line) > len("Brenna: ...") for line in said)


def test_the_backend_passes_the_suite() -> None:
    target = Target("sotto.backends.ctranslate2:CTranslate2", str(MODEL), None, OPTIONS)
    assert {name: check.outcome(target, name, 90) for name in CASES} == dict.fromkeys(CASES, "")
