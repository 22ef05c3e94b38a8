"""Measures prefill and decode throughput. Each figure is the median of several runs."""

from __future__ import annotations

import itertools
import json
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

from ..._handle import raise_failure
from ...engine import Engine

LENGTHS = (32, 128, 512, 1024)  # approximate prompt tokens
ENOUGH = 128  # tokens generated per run
_WORDS = ("river", "stone", "lantern", "bridge", "winter", "copper", "meadow", "kettle", "shadow")
_TRIES = 32  # maximum answers per run, because a model may stop early


def prefill(engine: Engine, model: str, context: int, runs: int, done: Callable[[float], None]) -> list[Any]:
    """Measures the prefill throughput in tokens per second, by prompt length.

    The prompts share no prefix, so the prefix cache does not help. Skips lengths that do not fit into
    `context` tokens. Calls `done` with the progress, from 0 to 1.
    """
    chance = random.Random(1)
    _read(engine, model, 16, chance)  # warm-up: the first request is slow
    few, many = (_read(engine, model, words, chance)["prompt_n"] for words in (18, 90))
    per_word = max(1.0, (many - few) / 72)
    lengths = [length for length in LENGTHS if length * 1.1 < context]
    rows = []
    for place, length in enumerate(lengths):
        words = max(1, 18 + round((length - few) / per_word))
        seen, rates = 0, []
        for run in range(runs):
            timings = _read(engine, model, words, chance)
            seen = timings["prompt_n"]
            rates.append(_rate(seen, timings["prompt_ms"]))
            done((place + (run + 1) / runs) / len(lengths))
        rows.append({"prompt_tokens": seen, **median(rates)})
    return rows


def _read(engine: Engine, model: str, words: int, chance: random.Random) -> dict[str, Any]:
    prompt = f"{chance.random()} " + " ".join(itertools.islice(itertools.cycle(_WORDS), words))
    request = {"model": model, "prompt": prompt, "max_tokens": 1, "temperature": 0}
    timings: dict[str, Any] = json.loads(engine.llm_text_completion(request))["timings"]
    return timings


def decode_one(engine: Engine, model: str, runs: int, done: Callable[[float], None]) -> dict[str, Any]:
    """Measures one stream's decode throughput in tokens per second, from each answer's first token on."""
    rates = []
    for run in range(runs):
        tokens, ms = 0, 0.0
        for number in range(_TRIES):
            timings = json.loads(engine.llm_text_completion(story(model, number)))["timings"]
            tokens += max(0, timings["predicted_n"] - 1)
            ms += timings["predicted_ms"]
            if tokens >= ENOUGH:
                break
        rates.append(_rate(tokens, ms))
        done((run + 1) / runs)
    return {"streams": 1, **median(rates)}


def decode_many(
    engine: Engine, model: str, streams: int, runs: int, seconds: float, done: Callable[[float], None]
) -> dict[str, Any]:
    """Measures the total decode throughput of several concurrent streams in tokens per second.

    Submits a new request when a stream ends. Each run lasts `seconds`, from the time when all streams have
    generated a token.
    """
    rates = []
    for run in range(runs):
        rates.append(_together(engine, model, streams, seconds))
        done((run + 1) / runs)
    return {"streams": streams, **median(rates)}


def _together(engine: Engine, model: str, streams: int, seconds: float) -> float:
    asked = streams
    tokens = {engine.submit("completion", story(model, number)): 0 for number in range(streams)}
    counted, began, now = 0, 0.0, 0.0
    while not began or now < began + seconds:
        engine.wait(1.0)
        now = time.perf_counter()
        for event in engine.events():
            if event.request not in tokens:
                continue
            if began:
                counted += max(0, event.tokens - tokens[event.request])
            tokens[event.request] = max(tokens[event.request], event.tokens)
            if event.kind == "request_done":
                raise_failure(event, refused=False)
                del tokens[event.request]
                tokens[engine.submit("completion", story(model, asked))] = 0
                asked += 1
        if not began and all(tokens.values()):
            began = now
    silence(engine, list(tokens))
    return counted / (now - began)


def silence(engine: Engine, requests: list[int]) -> None:
    """Cancels requests and waits until they have ended, or until no event arrives for 10 s."""
    for request in requests:
        engine.cancel(request)
    left = set(requests)
    while left and engine.wait(10.0):
        left -= {event.request for event in engine.events() if event.kind == "request_done"}


def story(model: str, number: int) -> dict[str, Any]:
    """Returns a completion request for 128 tokens. Each `number` gives another prompt and seed."""
    return {
        "model": model,
        "prompt": f"Story {number}. Once upon a time",
        "max_tokens": ENOUGH,
        "temperature": 0.8,
        "top_k": 40,
        "top_p": 0.95,
        "seed": number,
        "ignore_eos": True,
    }


def _rate(tokens: int, ms: float) -> float:
    return tokens / ms * 1000 if ms else 0.0


def median(rates: list[float]) -> dict[str, Any]:
    """Returns the median of the runs ("tps"), and every run ("runs"), in tokens per second."""
    return {"tps": round(statistics.median(rates), 1), "runs": [round(rate, 1) for rate in rates]}
