"""How a translation ends: cancelled, held by its gate, cut by the model's limit."""

from __future__ import annotations

import json
import random
import threading
import time
from pathlib import Path
from typing import Any

import ctranslate2
import pytest
from made_translator import Speaker

import sotto
from conftest import FLOATS
from sotto.backends.base import Request
from sotto.backends.ctranslate2.translator import Translator

LINES = [source for source, _ in Speaker(11).lines(200)]


@pytest.mark.parametrize("beams", [1, 2])
def test_a_cancelled_translation_ends_soon(interpreter: sotto.Engine, beams: int) -> None:
    dice, longest, text = random.Random(5), 0.0, [line for line in LINES for _ in range(5)]
    for _ in range(10):
        request = interpreter.submit("translate", {"model": "words", "input": text, "beam_size": beams})
        time.sleep(dice.random() * 0.1)
        began = time.perf_counter()
        interpreter.cancel(request)
        kinds: list[str] = []
        while "request_done" not in kinds:
            assert interpreter.wait(20)
            kinds += [event.kind for event in interpreter.events() if event.request == request]
        longest = max(longest, time.perf_counter() - began)
    print(f"\nspeech: a cancelled translation of beam {beams} ends within {1000 * longest:.0f} ms")
    assert longest < 0.1


def test_a_batch_ends_at_the_next_token_when_its_request_is_cancelled(translation_model: Path) -> None:
    model = Translator(translation_model, {**FLOATS, "batch_size": 256})
    request = Request("translate", json.dumps({"input": LINES * 5, "beam_size": 1}))
    model.units(request)
    whole = time.perf_counter()
    steps = model.translate(request)
    next(steps)
    whole = time.perf_counter() - whole
    request._ends = lambda: True
    began = time.perf_counter()
    with pytest.raises(StopIteration):
        next(steps)
    ended = time.perf_counter() - began
    print(f"\nspeech: a batch of {1000 * whole:.0f} ms ends {1000 * ended:.0f} ms after its cancellation")
    assert ended < 0.1 and ended < whole
    model.close()


def test_no_token_is_computed_while_the_gate_blocks(translation_model: Path) -> None:
    model = Translator(translation_model, FLOATS)
    request = Request("translate", json.dumps({"input": LINES[0], "beam_size": 1}))
    model.units(request)
    tokens, moved = 0, []

    class Result:
        hypotheses = ((),)

        def __init__(self, thread: threading.Thread) -> None:
            self._thread = thread

        def done(self) -> bool:
            return not self._thread.is_alive()

        def result(self) -> Result:
            return self

    class Library:
        def translate_batch(
            self, given: Any, prefixes: Any, *, callback: Any, **options: Any
        ) -> list[Result]:
            def work() -> None:
                nonlocal tokens
                while not callback(None):
                    tokens += 1
                    time.sleep(0.001)

            thread = threading.Thread(target=work)
            thread.start()
            return [Result(thread)]

    def gate() -> bool:
        time.sleep(0.005)  # the token that is being computed ends
        before = tokens
        time.sleep(0.05)
        moved.append(tokens - before)
        return len(moved) >= 5

    model._translator = Library()
    request._ends = gate
    next(model.translate(request), None)
    assert set(moved) == {0} and len(moved) >= 5 and tokens >= 4


def endless(library: Any) -> Any:
    """A `translate_batch()` that never ends a translation by itself."""
    real = library.translate_batch

    def translate_batch(self: Any, *given: Any, **options: Any) -> Any:
        return real(self, *given, **{**options, "min_decoding_length": options["max_decoding_length"]})

    return translate_batch


def test_a_translation_that_the_limit_cuts_is_named(
    interpreter: sotto.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert interpreter.translate(LINES[:3]).raw["truncated"] == []
    monkeypatch.setattr(ctranslate2.Translator, "translate_batch", endless(ctranslate2.Translator))
    made = interpreter.translate(LINES[:3])
    assert made.raw["truncated"] == [0, 1, 2]
