"""What a device computes is what the processor computes."""

from __future__ import annotations

import json

import sotto
from conftest import HOUSE
from sotto.demo.personas import personas

POSITIONS = 200
LEAST = 0.98  # of them


def texts() -> list[str]:
    """What the house model knows how to go on with: its characters' sheets."""
    return [one.system for one in personas()]


def likeliest(engine: sotto.Engine, prompt: str) -> str:
    """The token that the model holds most likely next."""
    body = {"model": HOUSE, "prompt": prompt, "max_tokens": 1, "temperature": 0}
    return str(json.loads(engine.llm_text_completion(body))["choices"][0]["text"])


def test_the_same_tokens_come_first(house: sotto.Engine) -> None:
    prompts: list[str] = []
    for text in texts():
        words = text.split(" ")
        prompts += [" ".join(words[: 1 + at]) for at in range(len(words) - 1)]
    step = max(1, len(prompts) // POSITIONS)
    prompts = prompts[::step][:POSITIONS]
    assert len(prompts) == POSITIONS
    with sotto.Engine("cpu", mode="prioritize_compute") as processor:
        processor.load_model(HOUSE)
        same = [likeliest(processor, prompt) == likeliest(house, prompt) for prompt in prompts]
    share = sum(same) / len(same)
    print(f"the likeliest token is the same at {sum(same)} of {len(same)} places, {100 * share:.1f} %")
    assert share >= LEAST


def test_what_was_said_is_remembered(house: sotto.Engine) -> None:
    with house.session("mara", texts()[0], model=HOUSE) as session:
        for question in ("Who are you?", "What is this place?"):
            assert session.say(question, {"max_tokens": 6, "temperature": 0}).strip()
        assert len(session.messages) == 5
