"""With `temperature` and `top_p` alone, tokens are drawn as OpenAI's API draws them: no other field cuts."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest

import sotto
from tiny_vocabulary import vocabulary

pytestmark = pytest.mark.real

PROMPT = "the king"
TOKENS = len(vocabulary())
DRAWS = 128 * 24
LIKELY = 12  # draws of a token that may be expected, if it is to be seen at all


def completion(engine: sotto.Engine, **fields: Any) -> list[dict[str, Any]]:
    """The log probabilities of the first token of each answer."""
    messages = [{"role": "user", "content": PROMPT}]
    body = {"model": "tiny", "messages": messages, "max_tokens": 1, "logprobs": True, **fields}
    choices = json.loads(engine.llm_chat_completion(body))["choices"]
    told = [choice.get("logprobs", {}).get("content", []) for choice in choices]
    return [content[0] for content in told if content]


@pytest.fixture(scope="module")
def softmax(tiny: sotto.Engine) -> np.ndarray:
    """The probability of each token of the model, which a bias that chooses it does not change."""
    found = np.zeros(TOKENS)
    for token in range(TOKENS):
        for one in completion(tiny, temperature=0, logit_bias={str(token): 100}):
            found[one["id"]] = np.exp(one["logprob"])
    assert 0.95 < found.sum() <= 1.001  # of tokens that end an answer nothing is told
    return found


def drawn(engine: sotto.Engine, **fields: Any) -> Counter[int]:
    """How often each token was drawn."""
    counts: Counter[int] = Counter()
    for seed in range(DRAWS // 128):
        counts.update(one["id"] for one in completion(engine, n=128, seed=1000 * seed, **fields))
    return counts


def nucleus(softmax: np.ndarray, top_p: float) -> np.ndarray:
    """Nucleus sampling: the likeliest tokens whose probabilities add up to `top_p`, at least."""
    order = np.argsort(-softmax, kind="stable")
    kept = int(np.searchsorted(np.cumsum(softmax[order]), top_p)) + 1
    return order[:kept]


@pytest.mark.row("A-067", "A-068", "A-087")
@pytest.mark.parametrize("top_p", [0.3, 0.5, 0.9, 1.0])
def test_tokens_are_drawn_from_the_nucleus_and_from_all_of_it(
    tiny: sotto.Engine, softmax: np.ndarray, top_p: float
) -> None:
    counts = drawn(tiny, temperature=1.0, top_p=top_p)
    ends = 1 - softmax.sum()  # the nucleus holds these too, if they are likely enough
    allowed = nucleus(softmax, top_p)
    least = softmax[allowed].min() * 0.999  # batches of another shape round otherwise
    assert all(softmax[token] >= least for token in counts)
    kept = nucleus(softmax, top_p - ends)
    chance = softmax[kept] / softmax[kept].sum()
    expected = chance * sum(counts.values())
    likely = expected >= LIKELY
    assert likely.sum() > 5
    assert all(counts[int(token)] for token in kept[likely])
    # chi-squared over the likely tokens: its mean is their number, its deviation the root of twice that
    seen = np.array([counts[int(token)] for token in kept[likely]])
    chi_squared = float(((seen - expected[likely]) ** 2 / expected[likely]).sum())
    assert chi_squared < likely.sum() + 6 * np.sqrt(2 * likely.sum())


@pytest.mark.row("A-067", "A-087")
def test_without_sampling_fields_nothing_is_cut(tiny: sotto.Engine, softmax: np.ndarray) -> None:
    counts = drawn(tiny)
    assert len(counts) > 100  # 40 with a top_k of 40
    unlikely = sum(counts[int(token)] for token in np.flatnonzero(softmax < 0.05 * softmax.max()))
    share = softmax[softmax < 0.05 * softmax.max()].sum()
    assert abs(unlikely / sum(counts.values()) - share) < 0.05
