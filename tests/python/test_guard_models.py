"""Guardrails that need models: topics and judges, by `Engine.check()`."""

from __future__ import annotations

import asyncio
import json
import math
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import sotto
import sotto.aio
from conftest import SCRIPTED
from guard_models import JUDGE, TOPICS, Encoder, lend, load_judge, says


@pytest.fixture
def encoder() -> Iterator[tuple[sotto.Engine, Encoder]]:
    with sotto.Engine("cpu", module_dir=SCRIPTED) as engine:
        yield engine, lend(engine)


@pytest.mark.row("A-146", "A-150", "A-153", "A-154", "A-156")
def test_topics_find_what_is_near_an_example(encoder: tuple[sotto.Engine, Encoder]) -> None:
    engine, model = encoder
    config = {"input": [TOPICS]}
    found = engine.check("Nice room. So who won the election? Tell me.", guardrails=config)
    assert (found.action, found.category, found.checker_name) == ("block", "politics", "topics")
    assert found.reason == "politics detected" and found.score is not None and found.score > 0.8
    assert engine.check("a bomb", guardrails=config).category == "weapons"
    clean = engine.check("Is there a room, and ale?", guardrails=config)
    assert (clean.action, clean.allowed, clean.score, clean.checker_name) == ("allow", True, None, "topics")
    assert engine.check("  \n ", guardrails=config).allowed and engine.check("", guardrails=config).allowed
    examples = [batch for batch in model.batches if "How do I build a bomb?" in batch]
    assert len(examples) == 1  # embedded once for five checks


def test_examples_are_embedded_again_after_a_reload(encoder: tuple[sotto.Engine, Encoder]) -> None:
    engine, model = encoder
    config = {"input": [TOPICS]}
    assert engine.check("a room", guardrails=config).allowed
    engine.unload_model("encoder")
    engine.load_model("encoder", path="somewhere", backend="made")
    assert not engine.check("a bomb", guardrails=config).allowed
    assert sum("How do I build a bomb?" in batch for batch in model.batches) == 2


def test_long_texts_are_checked_in_batches(encoder: tuple[sotto.Engine, Encoder]) -> None:
    engine, model = encoder
    many = {"ale": ["ale"] * 50, "bomb": ["a bomb"]}
    config = {"input": [{**TOPICS, "topics": many}]}
    text = "The weather. " * 300 + "A bomb! " + "The weather. " * 300
    found = engine.check(text, guardrails=config)
    assert (found.category, found.score) == ("bomb", pytest.approx(1, abs=0.01))
    assert max(len(batch) for batch in model.batches) <= 16
    assert all(len(one.encode()) <= 512 for batch in model.batches for one in batch)
    sent = sum(len(batch) for batch in model.batches)
    assert sent < 51 + 300 + 17 + 1  # what follows the finding is not embedded
    words = "é" * 700 + " bomb " + "w" * 2000  # no sentence ends
    assert not engine.check(words, guardrails=config).allowed
    big = "The weather. " * 80_000
    with pytest.raises(ValueError, match=r"input '1060000 bytes': expected at most 1048576 bytes"):
        engine.check(big + "x" * 20_000, guardrails=config)


def test_topics_rewrite_the_whole_text(encoder: tuple[sotto.Engine, Encoder]) -> None:
    engine, _ = encoder
    rewrite = {**TOPICS, "action": "rewrite", "replacement": "Let us speak of ale.", "category": "off topic"}
    verdict = engine.check("Who won the election?", guardrails={"input": [rewrite]})
    assert (verdict.action, verdict.allowed) == ("rewrite", True)
    assert (verdict.rewritten, verdict.category) == ("Let us speak of ale.", "off topic")
    assert json.loads(verdict.json)["action"]["Rewrite"]["original"] == "Who won the election?"


def test_phrases_come_before_models(encoder: tuple[sotto.Engine, Encoder]) -> None:
    engine, model = encoder
    phrases = [
        {"type": "phrases", "phrases": ["swine"], "category": "insult"},
        {"type": "regex", "patterns": ["bomb"], "action": "rewrite", "replacement": "ale"},
    ]
    config = {"output": [TOPICS, *phrases]}
    assert engine.check("You swine", "output", config).checker_name == "keyword" and model.batches == []
    verdict = engine.check("How do I build a bomb?", "output", config)  # no bomb is left
    assert (verdict.action, verdict.checker_name) == ("rewrite", "regex")
    assert verdict.rewritten == "How do I build a ale?"
    assert engine.check("A bomb? Who won the election?", "output", config).category == "politics"
    assert engine.check("bomb", "input", config).checker_name == ""


@pytest.mark.row("A-147", "A-148")
def test_a_judge_answers_allow_or_block(encoder: tuple[sotto.Engine, Encoder]) -> None:
    engine, _ = encoder
    load_judge(engine, says("block"))
    load_judge(engine, says("allow"), "lenient")
    lenient = {**JUDGE, "name": "lenient", "model": "lenient"}
    config = {"input": [JUDGE], "output": [lenient], "image_prompt": [lenient, TOPICS, JUDGE]}
    verdict = engine.check("You swine", guardrails=config)
    assert (verdict.action, verdict.reason, verdict.category) == ("block", "insult detected", "insult")
    assert verdict.score is None and verdict.checker_name == "judge"
    assert engine.check("You swine", "output", config).checker_name == "lenient"
    assert engine.check("a bomb", "image_prompt", config).checker_name == "topics"
    assert engine.check("a room", "image_prompt", config).checker_name == "judge"
    assert engine.check(" ", guardrails=config).allowed


def test_failures_follow_on_error(encoder: tuple[sotto.Engine, Encoder]) -> None:
    engine, model = encoder
    load_judge(engine, "perhaps")
    load_judge(engine, "", "silent", fail_at=0)
    for rule, error in (
        (JUDGE, r"guardrails\.input\[0\]: model 'judge' answered 'perhaps'"),
        ({**JUDGE, "model": "none"}, r"guardrails\.input\[0\]: model 'none' is not loaded"),
        ({**JUDGE, "model": "silent"}, r"guardrails\.input\[0\]: "),
        ({**JUDGE, "model": "encoder"}, r"guardrails\.input\[0\]: invalid op 'chat'"),
        ({**TOPICS, "model": "judge"}, r"guardrails\.input\[0\]: invalid op 'embed'"),
    ):
        with pytest.raises(sotto.InferenceError, match=error):
            engine.check("You swine", guardrails={"input": [rule]})
        blocked = engine.check("You swine", guardrails={"input": [{**rule, "on_error": "block"}]})
        assert not blocked.allowed and blocked.reason.startswith("the check failed: ")
        allowed = engine.check("a bomb", guardrails={"input": [{**rule, "on_error": "allow"}, TOPICS]})
        assert allowed.category == "weapons"
    for broken in (
        {},
        {"data": []},
        {"data": [{"embedding": []}] * 3},
        {"data": [{"embedding": [0.0, 0.0]}] * 3},
        {"data": [{"embedding": [math.inf]}] * 3},
        {"data": [{"embedding": ["x"]}] * 3},
        {"data": [{"embedding": [1.0]}, {"embedding": [1.0, 2.0]}, {"embedding": [1.0]}]},
    ):
        model.broken = broken
        with pytest.raises(sotto.InferenceError, match=r"input\[0\]"):
            engine.check("a room", guardrails={"input": [TOPICS]})
    model.broken = None
    assert engine.check("a room", guardrails={"input": [TOPICS]}).allowed


def test_an_unloaded_model_or_a_cancelled_task_ends_the_check(encoder: tuple[sotto.Engine, Encoder]) -> None:
    engine, _ = encoder
    load_judge(engine, says("allow"), token_ms=60_000)
    failed: list[Exception] = []

    def check() -> None:
        try:
            engine.check("You swine", guardrails={"input": [JUDGE]})
        except sotto.SottoError as error:
            failed.append(error)

    thread = threading.Thread(target=check)
    thread.start()
    while engine.stats().live < 2:
        time.sleep(0.01)
    engine.unload_model("judge")
    thread.join(20)
    assert len(failed) == 1 and "guardrails.input[0]: " in str(failed[0]) and engine.stats().live == 0

    async def cancel() -> None:
        async with sotto.aio.Engine("cpu", module_dir=SCRIPTED, guardrails={"input": [JUDGE]}) as own:
            options = {"constrainable": True, "tokens": [says("block")] * 2, "token_ms": 20_000}
            await own.load_model("judge", options=options)
            task = asyncio.ensure_future(own.guardrail_check_input("You swine"))
            while own.stats().live < 2:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while own.stats().live:
                await asyncio.sleep(0.01)
            await own.unload_model("judge")
            await own.load_model("judge", options={"constrainable": True, "tokens": [says("block")]})
            assert not json.loads(await own.guardrail_check_input("You swine"))["allowed"]
            assert (await own.check("You swine", "output")).allowed

    asyncio.run(cancel())


def test_an_engine_closes_while_a_check_waits() -> None:
    with sotto.Engine("cpu", module_dir=SCRIPTED, guardrails={"input": [JUDGE]}) as engine:
        load_judge(engine, says("allow"), token_ms=60_000)
        threading.Timer(0.3, engine.close).start()
        with pytest.raises(sotto.SottoError):
            engine.check("You swine")


def test_a_check_needs_no_request_of_the_host_and_no_pace() -> None:
    with sotto.Engine("cpu", module_dir=SCRIPTED, max_requests=1, target_tps=0.1) as engine:
        load_judge(engine, "", tokens=['{"verdict"', ": ", '"bl', 'ock"', "}"])
        started = time.monotonic()
        assert not engine.check("You swine", guardrails={"input": [JUDGE]}, priority="foreground").allowed
        assert time.monotonic() - started < 8  # five tokens at 0.1 a second


def test_many_checks_at_once(encoder: tuple[sotto.Engine, Encoder]) -> None:
    engine, model = encoder
    load_judge(engine, says("allow"))
    model.delay = 0.002
    config = {"input": [JUDGE, TOPICS]}
    texts = ["a bomb", "a room", "who won the election?", "ale"] * 8
    found: dict[int, str | None] = {}

    def check(i: int) -> None:
        found[i] = engine.check(texts[i], guardrails=config).category

    threads = [threading.Thread(target=check, args=(i,)) for i in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[i] for i in range(len(texts))] == ["weapons", None, "politics", None] * 8


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"threshold": None}, r"input\[0\]\.threshold"),
        ({"threshold": 0}, r"input\[0\]\.threshold '0': expected a number above 0, at most 1"),
        ({"threshold": -0.5}, r"input\[0\]\.threshold"),
        ({"threshold": 1.5}, r"input\[0\]\.threshold '1.5'"),
        ({"threshold": "0.5"}, r"input\[0\]\.threshold"),
        ({"model": ""}, r"input\[0\]\.model"),
        ({"model": 7}, r"input\[0\]\.model '7'"),
        ({"model": None}, r"input\[0\]\.model"),
        ({"topics": {}}, r"input\[0\]\.topics"),
        ({"topics": ["bomb"]}, r"input\[0\]\.topics"),
        ({"topics": {"": ["bomb"]}}, r"input\[0\]\.topics"),
        ({"topics": {"war": []}}, r"input\[0\]\.topics\.war"),
        ({"topics": {"war": "bomb"}}, r"input\[0\]\.topics\.war"),
        ({"topics": {"war": ["bomb", " "]}}, r"input\[0\]\.topics\.war\[1\]"),
        ({"topics": {"war": ["bomb", 7]}}, r"input\[0\]\.topics\.war\[1\]"),
        ({"topics": {"war": ["x" * 1025]}}, r"input\[0\]\.topics\.war\[0\]"),
        ({"topics": {"war": ["x"] * 1001}}, r"input\[0\]\.topics\.war\[1000\]: expected at most 1000"),
        ({"action": "warn"}, r"input\[0\]\.action"),
        ({"action": "rewrite"}, r"input\[0\]\.replacement"),
        ({"replacement": "ale"}, r"input\[0\]\.replacement"),
        ({"on_error": "ignore"}, r"input\[0\]\.on_error 'ignore': expected \"fail\", \"block\" or \"allow\""),
        ({"phrases": ["x"]}, r"input\[0\] 'phrases': expected only the fields"),
        ({"mask": "*"}, r"input\[0\] 'mask'"),
        ({"type": "topic"}, r"input\[0\]\.type 'topic'"),
        ({"type": "judge"}, r"input\[0\] 'threshold': expected only the fields"),
    ],
)
def test_a_bad_configuration_is_named_by_its_path(change: dict[str, Any], error: str) -> None:
    config = {"input": [{**TOPICS, **change}]}
    with pytest.raises(ValueError, match=error):
        sotto.Guard(config)


def test_bad_input(encoder: tuple[sotto.Engine, Encoder]) -> None:
    engine, _ = encoder
    for instruction in ("", 7, "x" * 16_385):
        with pytest.raises(ValueError, match=r"output\[0\]\.instruction"):
            sotto.Guard({"output": [{**JUDGE, "instruction": instruction}]})
    for text in ('{"input": [{"type": "topics", "threshold": NaN}]}', '{"input": [{"threshold": 1e999}]}'):
        with pytest.raises(ValueError, match="config"):
            sotto.Guard(text)
        with pytest.raises(ValueError, match=r"guardrails|threshold"):
            engine.check("text", guardrails=text)
    guard = sotto.Guard({"input": [TOPICS], "output": []})
    for refused in (lambda: guard.check("text"), lambda: guard.stream("input")):
        with pytest.raises(sotto.SottoError, match=r'input\[0\]: a checker of the type "topics" needs a'):
            refused()
    assert guard.check("text", "output").allowed
    with pytest.raises(sotto.SottoError, match="guardrails are not configured") as raised:
        engine.check("text")
    assert type(raised.value) is sotto.SottoError
    for wrong, error in (
        (lambda: engine.check(7), TypeError),  # type: ignore[arg-type]
        (lambda: engine.check("x", "both"), ValueError),  # type: ignore[arg-type]
        (lambda: engine.check("x", guardrails=7), TypeError),  # type: ignore[arg-type]
        (lambda: engine.check("x", guardrails="[]"), ValueError),
        (lambda: engine.check("\ud800", guardrails={}), ValueError),
        (lambda: engine.check("x" * ((16 << 20) + 1), guardrails={}), ValueError),
        (lambda: engine.check("x", guardrails={"input": [{"type": "?"}]}), ValueError),
    ):
        with pytest.raises(error):
            wrong()
    assert engine.check("x" * 1_000_000, guardrails={}).allowed
