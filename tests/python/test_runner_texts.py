"""Text completions and tokens of a `Runner`, on the house model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from runner_house import HOUSE, OPTIONS, write
from sotto.runner import (
    Runner,
    RunnerError,
)

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(HOUSE, options=OPTIONS) as made:
        yield made


@pytest.mark.row("E-142", "E-145", "E-150", "E-489", "E-498", "E-501", "E-502")
def test_a_text(runner: Runner) -> None:
    answer = write(runner)
    assert answer.object == "text_completion" and answer.model == "sotto/house"
    (one,) = answer.choices
    assert (one.index, one.finish_reason, one.logprobs) == (0, "length", None) and one.text
    echoed = write(runner, echo_prompt=True).choices[0].text
    assert echoed == "The smith said:" + one.text
    assert answer.usage.prompt_tokens == len(runner.tokenize_text("The smith said:", True, None))


@pytest.mark.row("E-144")
def test_the_best_of_several_texts(runner: Runner) -> None:
    best = write(runner, best_of=6, temperature=1.5, n_choices=2)
    assert [one.index for one in best.choices] == [0, 1]
    means = []
    for one in best.choices:
        assert one.logprobs is not None and one.logprobs.content
        means.append(sum(each.logprob for each in one.logprobs.content) / len(one.logprobs.content))
    assert means[0] >= means[1]
    with pytest.raises(RunnerError, match="best_of"):
        write(runner, best_of=0)


@pytest.mark.row("E-155")
def test_a_suffix_needs_a_model_for_infill(runner: Runner) -> None:
    with pytest.raises(RunnerError, match="infill"):
        write(runner, suffix="the end")


@pytest.mark.row("E-160", "E-161")
def test_a_text_has_no_tools(runner: Runner) -> None:
    with pytest.raises(RunnerError, match=r"tool_schemas\[0\]"):
        write(runner, tool_schemas=["["])
    with pytest.raises(RunnerError, match="send a chat"):
        write(runner, tool_schemas=['{"type": "function", "function": {"name": "a"}}'])


# Tokens


@pytest.mark.row("E-041", "E-042", "E-043", "E-045", "E-046", "E-047")
def test_tokens(runner: Runner) -> None:
    for text in ("Hello there", "", "é 日本 \U0001f600", "a\0b"):
        tokens = runner.tokenize_text(text, False, None)
        assert tokens == runner.tokenize_text(text, False, True) == runner.tokenize_text(text, False, False)
        assert runner.detokenize_text(tokens, True) == text
    special = runner.tokenize_text("<|im_end|>", False, None)
    assert len(special) == 1
    assert (runner.detokenize_text(special, False), runner.detokenize_text(special, True)) == (
        "<|im_end|>",
        "",
    )
    details = runner._loader.engine.model_info("sotto/house")["details"]
    begins = len(runner.tokenize_text("x", True, None)) - len(runner.tokenize_text("x", False, None))
    assert begins == int(details["adds_bos"]) + int(details["adds_eos"])
    wrongs: list[Any] = [(3, False, None), ("x", 1, None), ("x", False, "yes")]
    for wrong in wrongs:
        with pytest.raises(TypeError):
            runner.tokenize_text(*wrong)
    with pytest.raises(TypeError, match="tokens"):
        runner.detokenize_text("12", True)  # type: ignore[arg-type]
    for tokens in ([-1], [2**31], [10**6]):
        with pytest.raises(RunnerError, match="tokens"):
            runner.detokenize_text(tokens, True)


@pytest.mark.row("E-049")
def test_the_longest_sequence(runner: Runner) -> None:
    assert runner.max_sequence_length() == runner.max_sequence_length("sotto/house") == 512
