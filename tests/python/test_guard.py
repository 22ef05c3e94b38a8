"""`Guard`, its streams, and the guardrails of an engine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sotto
from conftest import SCRIPTED

CONFIG: dict[str, Any] = {
    "input": [
        {"type": "phrases", "phrases": ["red wizard"], "category": "spoiler"},
        {"type": "regex", "name": "numbers", "patterns": [r"\d{4,}"], "action": "rewrite", "mask": "#"},
    ],
    "output": [{"type": "phrases", "name": "secrets", "phrases": ["trapdoor"], "reason": "secret"}],
    "image_prompt": [{"type": "phrases", "phrases": ["gore"], "category": "violence"}],
}


@pytest.fixture
def engine() -> Iterator[sotto.Engine]:
    with sotto.Engine(module_dir=SCRIPTED, guardrails=CONFIG) as made:
        yield made


@pytest.mark.row("A-146", "A-149", "A-150", "A-152", "A-153")
def test_input(engine: sotto.Engine) -> None:
    verdict = json.loads(engine.guardrail_check_input("Who is the r3d  W.I.Z.A.R.D?"))
    assert verdict["action"] == {"Block": {"reason": "spoiler detected"}}
    assert verdict["checker_name"] == "keyword" and 0.0 <= verdict["score"] <= 1.0
    clean = json.loads(engine.guardrail_check_input("Tell me a joke"))
    assert {key: clean[key] for key in ("action", "checker_name", "score")} == {
        "action": "Allow",
        "checker_name": "numbers",
        "score": None,
    }


def test_a_prompt_of_content_parts_is_checked() -> None:
    with sotto.Engine(module_dir=SCRIPTED, guardrails=CONFIG) as engine:
        engine.load_model("npc", options={"tokens": ["Hm."]})
        for prompt in ("the red wizard", [{"type": "text", "text": "the red wizard"}]):
            with pytest.raises(sotto.SottoError, match="blocked by guardrail"):
                engine.complete(prompt, model="npc")
        assert engine.complete([{"type": "text", "text": "the wizard"}], model="npc").text == "Hm."


@pytest.mark.row("A-147", "A-148", "A-154")
def test_stages_differ(engine: sotto.Engine) -> None:
    told = {
        check.__name__.removeprefix("guardrail_check_"): [
            json.loads(check(text))["allowed"] for text in texts
        ]
        for texts in [("red wizard", "a trapdoor", "gore")]
        for check in (
            engine.guardrail_check_input,
            engine.guardrail_check_output,
            engine.guardrail_check_image_prompt,
        )
    }
    assert told == {
        "input": [False, True, True],
        "output": [True, False, True],
        "image_prompt": [True, True, False],
    }
    verdict = json.loads(engine.guardrail_check_image_prompt("g0re"))
    assert verdict["category"] == "violence"
    assert json.loads(engine.guardrail_check_output("trapdoor"))["category"] is None


@pytest.mark.row("A-151")
def test_rewrite(engine: sotto.Engine) -> None:
    verdict = json.loads(engine.guardrail_check_input("call 12345"))
    rewrite = verdict["action"]["Rewrite"]
    assert rewrite == {"original": "call 12345", "rewritten": "call #####", "reason": "blocked text detected"}
    assert (verdict["checker_name"], verdict["allowed"]) == ("numbers", True)


@pytest.mark.row("A-155")
def test_not_configured() -> None:
    with sotto.Engine(module_dir=SCRIPTED) as engine:
        for check in (
            engine.guardrail_check_input,
            engine.guardrail_check_output,
            engine.guardrail_check_image_prompt,
        ):
            with pytest.raises(sotto.AtelicoError, match="guardrails are not configured") as raised:
                check("text")
            assert type(raised.value) is sotto.AtelicoError and raised.value.status == sotto.Status.STATE


@pytest.mark.row("A-149", "A-157")
def test_documented_examples() -> None:
    rules = [{"type": "phrases", "phrases": ["badword"], "category": "profanity"}]
    config = {"input": rules, "output": rules, "image_prompt": rules}
    with sotto.Engine(module_dir=SCRIPTED, guardrails=config) as engine:
        verdict = json.loads(engine.guardrail_check_input("Tell me a joke"))
        told = []
        if verdict["action"] != "Allow":
            told.append(f"Blocked by {verdict['checker_name']}")
        assert told == [] and verdict["checker_name"] == "keyword"
        for check in (engine.guardrail_check_output, engine.guardrail_check_image_prompt):
            verdict = json.loads(check("a BADWORD"))
            if not verdict["allowed"]:
                told.append(f"Blocked: {verdict['category']}")
        assert told == ["Blocked: profanity"] * 2


@pytest.mark.row("A-156")
def test_configurations(tmp_path: Path) -> None:
    file = tmp_path / "guard.json"
    file.write_text(json.dumps(CONFIG), encoding="utf-8")
    for config in (CONFIG, json.dumps(CONFIG), file):
        assert not sotto.Guard(config).check("red wizard").allowed
    for wrong, error, text in (
        ({"input": [{"type": "regex", "patterns": ["("]}]}, ValueError, r"input\[0\].patterns\[0\]"),
        ({"inputs": []}, ValueError, "only the fields input, output, image_prompt"),
        ({"input": {1, 2}}, ValueError, "guardrails: expected what JSON can hold"),
        (tmp_path / "none.json", ValueError, "expected the path of a file"),
        (tmp_path, ValueError, "expected the path of a file"),
        (7, TypeError, "guardrails"),
        ("{", ValueError, "expected JSON"),
    ):
        with pytest.raises(error, match=text):
            sotto.Guard(wrong)  # type: ignore[arg-type]
        with pytest.raises(error, match=text):
            sotto.Engine(module_dir=SCRIPTED, guardrails=wrong)  # type: ignore[arg-type]


def test_verdicts() -> None:
    guard = sotto.Guard(CONFIG)
    verdict = guard.check("the red wizard")
    assert (verdict.action, verdict.allowed, verdict.category) == ("block", False, "spoiler")
    assert (verdict.reason, verdict.rewritten, verdict.score) == ("spoiler detected", None, 1.0)
    assert guard.check("12345").rewritten == "#####"
    assert guard.check("a trapdoor", stage="output").reason == "secret"
    assert guard.check("").action == "allow" and guard.check("x" * 1_000_000).allowed
    for wrong, error in (("\ud800", ValueError), (7, TypeError), ("x" * ((16 << 20) + 1), ValueError)):
        with pytest.raises(error, match="text"):
            guard.check(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="stage"):
        guard.check("x", stage="both")  # type: ignore[arg-type]


def test_stream() -> None:
    guard = sotto.Guard(CONFIG)
    stream = guard.stream()
    shown = [stream.feed(piece) for piece in ("Under the ta", "ble is a tr", "ap", "do", "or. Quick", "!")]
    assert shown == ["Under the ta", "ble is a ", "", "", "", ""]
    assert stream.blocked and stream.finish() == "" and stream.verdict().checker_name == "secrets"
    with pytest.raises(sotto.SottoError, match="finished"):
        stream.feed("more")
    open_stream = guard.stream("input")
    guard.close()
    assert open_stream.feed("call 123") == "call " and open_stream.feed("45 now") == "##### now"
    assert open_stream.finish() == "" and open_stream.verdict().rewritten == "call ##### now"
    open_stream.close()
    with pytest.raises(ValueError, match="never created, or already destroyed"):
        open_stream.verdict()
    with pytest.raises(ValueError, match="never created, or already destroyed"):
        guard.check("text")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork()")
def test_fork() -> None:
    guard = sotto.Guard(CONFIG)
    child = os.fork()
    if child == 0:
        try:
            guard.check("text")
        except ValueError as error:
            fresh = sotto.Guard(CONFIG).check("red wizard")
            os._exit(0 if "parent process" in str(error) and not fresh.allowed else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not guard.check("red wizard").allowed


def body(text: str, **fields: Any) -> str:
    return json.dumps({"model": "npc", "messages": [{"role": "user", "content": text}], **fields})


RULES = {
    "input": [
        {"type": "phrases", "phrases": ["trapdoor"]},
        {"type": "regex", "patterns": [r"\d{4}"], "action": "rewrite"},
    ],
    "output": [
        {"type": "phrases", "name": "spoilers", "phrases": ["red wizard", "cat's paw"]},
        {"type": "phrases", "phrases": ["damn"], "action": "rewrite", "replacement": "darn"},
    ],
}


@pytest.fixture
def speaker() -> Iterator[sotto.Engine]:
    """An engine whose model repeats what it hears, token by token."""
    with sotto.Engine("cpu", module_dir=SCRIPTED, guardrails=RULES) as made:
        made.load_model("npc", options={"logprobs": True})
        yield made


def test_blocked_answers(speaker: sotto.Engine) -> None:
    for said, kept in (
        ("meet the red wizard now", "meet the "),
        ("the r e d w1zard", "the "),
        ("red", "red"),
        ("a red  wizard", "a "),
        ("the red house", "the red house"),
    ):
        whole = json.loads(speaker.llm_chat_completion(body(said, n=2, seed=1)))
        reason = "stop" if kept == said else "content_filter"
        assert [(c["message"]["content"], c["finish_reason"]) for c in whole["choices"]] == [
            (kept, reason)
        ] * 2
        chunks = [json.loads(c)["choices"][0] for c in speaker.llm_chat_completion_stream(body(said))]
        assert "".join(c["delta"].get("content", "") for c in chunks) == kept
        assert chunks[-1]["finish_reason"] == reason
        assert speaker.chat(said, model="npc").finish_reason == reason


def test_escapes_of_json_hide_nothing(speaker: sotto.Engine) -> None:
    for said, kept in (
        (r'{"say": "the \u0072\u0065d wizard"}', '{"say": "the '),
        (r'{"say": "the red\nwizard"}', '{"say": "the '),
        (r'{"say": "the \u0072ed house"}', r'{"say": "the \u0072ed house"}'),
    ):
        assert speaker.chat(said, model="npc").text == kept
        chunks = [json.loads(c)["choices"][0] for c in speaker.llm_chat_completion_stream(body(said))]
        assert "".join(c["delta"].get("content", "") for c in chunks) == kept
    assert not sotto.Guard(RULES).check(r'"the \u0072ed w\u0069zard"', stage="output").allowed
    with pytest.raises(sotto.InferenceError, match="blocked by guardrail 'keyword'"):
        speaker.chat(r"the tr\u0061pdoor", model="npc")


def said_in(*parts: str | None) -> str:
    """The body of a chat whose message has these texts as parts; None: an image."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}
    content = [image if part is None else {"type": "text", "text": part} for part in parts]
    return json.dumps({"model": "npc", "messages": [{"role": "user", "content": content}]})


@pytest.mark.parametrize(
    "parts",
    [("open the trap", "door"), ("hello", "open the t", "r4p", "door, friend"), ("the trapdoor", "hi")],
)
def test_a_phrase_that_is_split_over_parts_is_blocked(speaker: sotto.Engine, parts: tuple[str, ...]) -> None:
    with pytest.raises(sotto.InferenceError, match=r"messages\[0\].content\[0\].text: blocked by guardrail"):
        speaker.llm_chat_completion(said_in(*parts))


def test_parts_that_are_rewritten_become_one(speaker: sotto.Engine) -> None:
    def answer(*parts: str) -> str:
        return json.loads(speaker.llm_chat_completion(said_in(*parts)))["choices"][0]["message"]["content"]

    assert answer("my code is 12", "34") == "my code is ****"
    assert "there" in answer("hello", "there")


def test_rewritten_texts(speaker: sotto.Engine) -> None:
    assert speaker.chat("damn it", model="npc").text == "darn it"
    assert speaker.chat("my code is 1234", model="npc").text == "my code is ****"


def test_log_probabilities_tell_nothing(speaker: sotto.Engine) -> None:
    def tokens(said: str) -> str:
        whole = json.loads(speaker.llm_chat_completion(body(said, logprobs=True)))
        return "".join(one["token"] for one in whole["choices"][0]["logprobs"]["content"])

    assert tokens("meet the green wizard") == "meet the green wizard"
    assert tokens("meet the red wizard") == "meet the"
    assert "damn" not in tokens("well damn it")


def test_blocked_requests(speaker: sotto.Engine) -> None:
    parts = {"role": "user", "content": [{"type": "text", "text": "open the tr4pdoor"}]}
    for request, path in (
        (body("open the trapdoor"), r"messages\[0\].content"),
        (json.dumps({"model": "npc", "messages": [parts]}), r"messages\[0\].content\[0\].text"),
        (body("trapdoor " + "x " * 50_000), r"messages\[0\].content"),
    ):
        with pytest.raises(sotto.InferenceError, match=path + ": blocked by guardrail 'keyword'") as raised:
            speaker.llm_chat_completion(request)
        assert raised.value.status == sotto.Status.BLOCKED
    with pytest.raises(sotto.InferenceError, match="prompt: blocked"):
        speaker.llm_text_completion(json.dumps({"model": "npc", "prompt": "the trapdoor"}))
    system = {"role": "system", "content": "The trapdoor is secret."}  # the host's own words
    both = [system, {"role": "user", "content": "hello"}]
    assert json.loads(speaker.llm_chat_completion(json.dumps({"model": "npc", "messages": both})))["choices"]


def test_expressions_that_are_too_large_together() -> None:
    patterns = [rf"(?:\pL{{20}}{at})" for at in range(100)]
    with pytest.raises(
        ValueError, match=r"patterns\[\d+\].*too large together with the expressions before it"
    ):
        sotto.Guard({"input": [{"type": "regex", "patterns": patterns}]})


def test_a_text_that_grows_without_limit() -> None:
    tenfold = {"type": "regex", "patterns": ["a"], "action": "rewrite", "replacement": "a" * 10}
    guard = sotto.Guard({"input": [tenfold] * 8})
    with pytest.raises(ValueError, match="rewrites a text to more than 16777216 bytes"):
        guard.check("a" * 100, "input")
    assert guard.check("b", "input").allowed
