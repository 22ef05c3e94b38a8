"""Rewinds, edits and states of models whose KV cache cannot be cut: sliding window, recurrent, hybrid."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

import sotto
from conftest import ROOT

MODELS = ["window", "recurrent", "hybrid"]
STATEFUL = ["recurrent", "hybrid"]  # have a state of all earlier tokens
ANSWER = {"temperature": 0, "ignore_eos": True, "max_tokens": 6}
pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = tmp_path_factory.mktemp("models")
    subprocess.run([sys.executable, str(ROOT / "tests" / "data" / "make_tiny.py"), str(made)], check=True)
    return str(made)


def load(folder: str, deterministic: bool) -> sotto.Engine:
    engine = sotto.Engine(mode="prioritize_compute", threads=1, deterministic=deterministic)
    for name in MODELS:
        engine.load_model(name, path=f"{folder}/tiny-{name}.gguf", options={"parallel": 2})
    return engine


@pytest.fixture(scope="module")
def exact(folder: str) -> Iterator[sotto.Engine]:
    with load(folder, True) as engine:
        yield engine


@pytest.fixture(scope="module")
def plain(folder: str) -> Iterator[sotto.Engine]:
    with load(folder, False) as engine:
        yield engine


def fresh(engine: sotto.Engine, model: str, tokens: list[int]) -> tuple[int, ...]:
    """Returns the answer to tokens that no KV cache has."""
    body = {"prompt": tokens, "cache_prompt": False, "return_tokens": True, **ANSWER}
    return engine.complete(tokens, model=model, **{key: body[key] for key in body if key != "prompt"}).tokens


def prompt(random: Random, count: int = 12) -> list[int]:
    return [random.randint(10, 250) for _ in range(count)]


@pytest.mark.parametrize("model", MODELS)
def test_random_edits_equal_fresh_runs(exact: sotto.Engine, model: str) -> None:
    random = Random(11)
    for _ in range(3):
        with exact.token_session(model=model) as raw:
            held: list[int] = []
            for _ in range(8):
                kind = random.choice(["add", "add", "end", "middle"]) if held else "add"
                at = random.randint(1, len(held)) if held else 0
                if kind == "add":
                    more = prompt(random)
                    expected = fresh(exact, model, held + more)
                    answer = raw.complete(more, ANSWER)
                    assert answer.tokens == expected
                    held += [*more, *answer.tokens]
                elif kind == "end":
                    raw.cut(at)
                    del held[at:]
                else:
                    raw.cut(at, min(at + 3, len(held)))
                    if at + 3 < len(held):
                        raw.shift(-3, at + 3)
                    del held[at : at + 3]
                assert raw.tokens == held and raw.end == len(held) - 1
            copied = raw.copy(to=len(held) // 2 or None)
            assert copied.complete([77], ANSWER).tokens == fresh(exact, model, [*copied.tokens[:-7], 77])
            copied.close()


@pytest.mark.parametrize("model", MODELS)
def test_rewinds_equal_conversations_from_scratch(exact: sotto.Engine, model: str) -> None:
    talk: list[dict[str, str]] = []
    with exact.session(model=model) as mara:
        for text in ("one two", "three", "four five six"):
            said = mara.say(text, ANSWER)
            talk += [{"role": "user", "content": text}, {"role": "assistant", "content": said}]
        mara.rewind(2)
        del talk[2:]
        talk.append({"role": "user", "content": "seven"})
        alone = exact.chat(talk, model=model, cache_prompt=False, **ANSWER)
        assert mara.say("seven", ANSWER) == alone.text
        mara.rewind()
        assert mara.say("seven", ANSWER) == alone.text


def cached(told: sotto.Completion) -> int:
    return int(told.raw["timings"]["cache_n"])


@pytest.mark.parametrize("model", MODELS)
def test_what_follows_a_cut_is_prefilled_from_the_start(plain: sotto.Engine, model: str) -> None:
    random = Random(3)
    with plain.token_session(model=model) as raw:
        raw.complete(prompt(random, 60), ANSWER)
        assert cached(raw.complete(prompt(random), ANSWER)) >= 60  # goes on
        raw.cut(30)
        told = raw.complete(prompt(random), ANSWER)
        if model in STATEFUL:
            assert cached(told) == 0
        assert told.usage.prompt_tokens == 30 + 12
        assert cached(raw.complete(prompt(random), ANSWER)) >= 42


@pytest.mark.parametrize("model", MODELS)
def test_states_restore_in_another_engine(plain: sotto.Engine, folder: str, model: str) -> None:
    random = Random(5)
    with plain.token_session(tokens=prompt(random, 40), model=model) as raw:
        raw.complete([], ANSWER)
        tokens, state = raw.tokens, raw.state()
        expected = raw.complete([99], ANSWER).tokens
    with load(folder, False) as second, second.token_session(tokens=tokens, model=model, state=state) as raw:
        told = raw.complete([99], ANSWER)
        assert told.tokens == expected
        assert cached(told) == len(tokens)
        with pytest.raises(sotto.SottoError, match="the state has "):
            second.restore_state({"model": MODELS[MODELS.index(model) - 1]}, state)


def test_a_chat_s_state_ends_with_its_last_message(plain: sotto.Engine, folder: str) -> None:
    """A state that cannot be cut is of use only if the next prompt begins with all of its tokens."""
    with plain.session(messages="be kind", model="recurrent") as mara:
        mara.say("hello", ANSWER)
        messages, state = mara.messages, mara.state()
    told: Any
    with load(folder, False) as second:
        mara = second.session(messages=messages, model="recurrent", state=state)
        told = json.loads(
            second.llm_chat_completion(
                {"session": mara.id, "messages": [{"role": "user", "content": "hi"}], **ANSWER}
            )
        )
    assert told["timings"]["cache_n"] > 0
