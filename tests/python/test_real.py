"""The whole road, on the llama module and the house model."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import sotto
import sotto.aio
from conftest import ENVIRONMENT, ROOT
from sotto._lib import library_folder
from sotto.demo.personas import personas
from talk import CHAT, CHUNK, TEXT, content, spoken

pytestmark = pytest.mark.real

HOUSE = "sotto/house"
PERSONAS = [{"system": one.system, "questions": one.questions} for one in personas()]


def ask(number: int = 0, question: str | None = None, **fields: Any) -> str:
    """A question to one of the house model's characters."""
    persona = PERSONAS[number % len(PERSONAS)]
    messages = [
        {"role": "system", "content": persona["system"]},
        {"role": "user", "content": question or persona["questions"][0]},
    ]
    return json.dumps({"model": HOUSE, "messages": messages, "max_tokens": 48, "temperature": 0, **fields})


def tell(text: str = "The innkeeper said", **fields: Any) -> str:
    """A text to go on with."""
    return json.dumps({"model": HOUSE, "prompt": text, "max_tokens": 12, "temperature": 0, **fields})


@pytest.mark.row("A-008", "A-051", "A-052", "A-059", "A-061")
def test_the_house_model_is_loaded(real_engine: sotto.Engine) -> None:
    (model,) = json.loads(real_engine.model_list())
    assert (model["id"], model["owned_by"], model["backend"]) == (HOUSE, "sotto", "llama")
    assert model["context"] > 0 and model["bytes"]["weights"] > 1 << 20
    assert real_engine.describe()["device"] == "cpu"


@pytest.mark.row("A-063", "A-080")
def test_chat(real_engine: sotto.Engine) -> None:
    response = json.loads(real_engine.llm_chat_completion(ask()))
    jsonschema.validate(response, CHAT)
    assert response["choices"][0]["message"]["content"].strip()
    assert response["choices"][0]["finish_reason"] == "stop"


@pytest.mark.row("A-083", "A-097")
def test_text(real_engine: sotto.Engine) -> None:
    response = json.loads(real_engine.llm_text_completion(tell()))
    jsonschema.validate(response, TEXT)
    assert response["choices"][0]["text"] and response["usage"]["completion_tokens"] <= 12


@pytest.mark.row("A-083")
def test_text_has_no_template_and_chat_has_one(real_engine: sotto.Engine) -> None:
    prompt = {"model": HOUSE, "prompt": "hello", "max_tokens": 1}
    chat = {"model": HOUSE, "messages": [{"role": "user", "content": "hello"}], "max_tokens": 1}
    bare = json.loads(real_engine.llm_text_completion(prompt))["usage"]["prompt_tokens"]
    dressed = json.loads(real_engine.llm_chat_completion(chat))["usage"]["prompt_tokens"]
    assert bare < dressed


@pytest.mark.row("A-029", "A-034")
@pytest.mark.parametrize("number", range(4))
def test_a_stream_says_what_a_blocking_call_says(real_engine: sotto.Engine, number: int) -> None:
    chunks = list(real_engine.llm_chat_completion_stream(ask(number, stream_options={"include_usage": True})))
    for chunk in chunks[:-1]:
        jsonschema.validate(json.loads(chunk), CHUNK)
    response = real_engine.llm_chat_completion(ask(number))
    assert spoken(chunks) == content(response)
    streamed, whole = json.loads(chunks[-1])["usage"], json.loads(response)["usage"]
    for key in ("prompt_tokens", "completion_tokens", "total_tokens"):
        assert streamed[key] == whole[key]


@pytest.mark.row("A-066", "A-075", "A-076", "A-077", "A-094")
def test_usage_counts(real_engine: sotto.Engine) -> None:
    for limit in (1, 3, 7):
        asked = tell("Once upon a time", max_tokens=limit, ignore_eos=True)
        response = json.loads(real_engine.llm_text_completion(asked))
        usage = response["usage"]
        assert usage["completion_tokens"] == limit and response["choices"][0]["finish_reason"] == "length"
        assert usage["prompt_tokens"] + limit == usage["total_tokens"]
    short, long = ("word", "word " * 50)
    counts = [
        json.loads(real_engine.llm_text_completion(tell(text)))["usage"]["prompt_tokens"]
        for text in (short, long)
    ]
    assert counts[0] < 10 < counts[1]


@pytest.mark.row("A-070")
def test_stop_sequences(real_engine: sotto.Engine) -> None:
    whole = content(real_engine.llm_chat_completion(ask()))
    stop = whole[len(whole) // 2 :][:3]
    response = json.loads(real_engine.llm_chat_completion(ask(stop=[stop])))
    assert response["choices"][0]["message"]["content"] == whole[: whole.index(stop)]
    assert response["choices"][0]["finish_reason"] == "stop"
    assert spoken(real_engine.llm_chat_completion_stream(ask(stop=stop))) == whole[: whole.index(stop)]


@pytest.mark.row("A-067", "A-070", "A-087")
def test_seeds(real_engine: sotto.Engine) -> None:
    def said(seed: int) -> str:
        return content(real_engine.llm_chat_completion(ask(temperature=2.0, seed=seed)))

    assert said(7) == said(7)
    assert len({said(seed) for seed in range(6)}) > 1


@pytest.mark.row("A-067", "A-068")
def test_temperature_0_and_a_tiny_nucleus_choose_the_likeliest(real_engine: sotto.Engine) -> None:
    greedy = content(real_engine.llm_chat_completion(ask(1)))
    assert content(real_engine.llm_chat_completion(ask(1))) == greedy
    assert content(real_engine.llm_chat_completion(ask(1, temperature=1.0, top_p=1e-6, seed=3))) == greedy
    assert content(real_engine.llm_chat_completion(ask(1, temperature=1.0, top_k=1, seed=4))) == greedy


@pytest.mark.row("A-069")
def test_the_references_request(real_engine: sotto.Engine) -> None:
    request = ask(temperature=0.7, top_p=0.9, response_format=None, max_tokens=128)
    assert json.loads(real_engine.llm_chat_completion(request))["usage"]["completion_tokens"] <= 128


@pytest.mark.row("A-041")
def test_characters_speak_at_once(real_engine: sotto.Engine) -> None:
    said: dict[int, str] = {}

    def speak(number: int) -> None:
        said[number] = spoken(real_engine.llm_chat_completion_stream(ask(number)))

    threads = [threading.Thread(target=speak, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(said) == 6 and all(said.values())


def test_engines_that_speak_at_the_same_time_know_their_facts() -> None:
    """Each with as many threads as it takes by itself; one of them is asyncio's."""
    persona = "Name: Pip\nRole: groom\nFacts:\n- There are three horses in the stable."
    messages = [{"role": "system", "content": persona}]
    messages += [{"role": "user", "content": "How many horses are there?"}]
    body = {"model": HOUSE, "messages": messages, "temperature": 0, "max_tokens": 20}
    said: list[str] = []

    def speak() -> None:
        with sotto.Engine() as engine:
            engine.load_model(HOUSE)
            said.extend(content(engine.llm_chat_completion(body)) for _ in range(20))

    async def speak_on_a_loop() -> None:
        async with sotto.aio.Engine() as engine:
            await engine.load_model(HOUSE)
            said.extend([content(await engine.llm_chat_completion(body)) for _ in range(20)])

    threads = [threading.Thread(target=speak) for _ in range(2)]
    threads += [threading.Thread(target=lambda: asyncio.run(speak_on_a_loop()))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(said) == 60 and all("three" in text.lower() for text in said), said


@pytest.mark.row("A-079", "A-096")
def test_a_prompt_longer_than_the_context(real_engine: sotto.Engine) -> None:
    for call in (
        lambda: real_engine.llm_chat_completion(ask(question="word " * 20_000)),
        lambda: real_engine.llm_text_completion(tell("word " * 20_000)),
        lambda: list(real_engine.llm_chat_completion_stream(ask(question="word " * 20_000))),
    ):
        with pytest.raises(sotto.InferenceError, match="context holds"):
            call()
    assert content(real_engine.llm_chat_completion(ask()))


@pytest.mark.row("A-035")
def test_a_stream_cut_short_leaves_the_engine_well(real_engine: sotto.Engine) -> None:
    before = content(real_engine.llm_chat_completion(ask(2)))
    for _ in range(8):
        next(real_engine.llm_chat_completion_stream(ask(3)))
    assert content(real_engine.llm_chat_completion(ask(2))) == before


@pytest.mark.row("A-049", "A-053")
@pytest.mark.parametrize("name", ["with space.gguf", "Zoë 狼 🐺.gguf"])
def test_any_path(tmp_path: Path, name: str) -> None:
    copy = tmp_path / name
    shutil.copy(library_folder() / "house.gguf", copy)
    with sotto.Engine(mode="prioritize_compute", threads=1) as engine:
        engine.load_model(str(copy))
        request = json.loads(tell()) | {"model": str(copy)}
        assert json.loads(engine.llm_text_completion(request))["choices"][0]["text"]


@pytest.mark.row("A-053")
@pytest.mark.parametrize(
    ("kept", "status"), [(None, -7), (0, -8), (3, -8), (30, -8), (5000, -8), (300_000, -8)]
)
def test_files_that_are_no_model(tmp_path: Path, kept: int | None, status: int) -> None:
    path = tmp_path / "cut.gguf"
    if kept is not None:
        path.write_bytes((library_folder() / "house.gguf").read_bytes()[:kept])
    with sotto.Engine() as engine:
        with pytest.raises(sotto.ModelLoadError) as caught:
            engine.load_model(str(path))
        assert caught.value.status == status and "\n" not in str(caught.value)
        path.write_text("this is no GGUF file, whatever its name says")
        with pytest.raises(sotto.ModelLoadError, match="GGUF"):
            engine.load_model(str(path))
        assert engine.model_list() == "[]"


@pytest.mark.row("A-044", "A-054")
def test_loading_again_and_closing_gives_memory_back() -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def round_() -> int:
        with sotto.Engine(mode="prioritize_compute", threads=1) as engine:
            engine.load_model(HOUSE)
            held = engine.describe()["bytes_in_use"]
            engine.load_model(HOUSE)
            assert engine.describe()["bytes_in_use"] == held > 0
            engine.llm_text_completion(tell())
        return resident()

    first = [round_() for _ in range(3)][-1]
    last = [round_() for _ in range(5)][-1]
    assert last - first < 16 << 20


def test_the_sample_speaks() -> None:
    sample = ROOT / "samples" / "python" / "chat.py"
    done = subprocess.run(
        [sys.executable, str(sample)],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert len(done.stdout.split()) >= 2 and done.stderr == ""
