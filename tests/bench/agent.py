"""Measures tool calls of the house model through `sotto.agent`: the right tool, or none where none fits.

    python tests/bench/agent.py --json

Requests are those of the corpus with names, lines and seeds that were never trained. A call is right if it is
the only one, of the tool that the corpus calls, and its arguments pass their schema.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "samples" / "house_model"))

import sotto  # noqa: E402
from cases import intent_case  # noqa: E402
from errands import tool_talk  # noqa: E402
from sotto.agent import Agent, Answer, Tool  # noqa: E402
from sotto.npc.sampling import CHARACTER_SAMPLING  # noqa: E402
from split import written  # noqa: E402

FIELDS = {**CHARACTER_SAMPLING, "max_tokens": 64}


def errands(count: int, seed: int) -> Iterator[tuple[list[dict[str, Any]], list[dict[str, Any]], str, str]]:
    """Yields messages, tools, the tool that fits, and its result."""
    some = Random(seed)
    for _ in range(count):
        talk = tool_talk(some)
        call = talk["messages"][2]["tool_calls"][0]["function"]
        yield talk["messages"][:2], talk["tools"], call["name"], talk["messages"][3]["content"]


def small_talk(count: int, seed: int) -> Iterator[tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    """Yields messages, and tools of which none fits."""
    some = Random(seed)
    intents = sorted(written("gruff", held=True))
    while count:
        if (case := intent_case(some, some.choice(intents))) is not None:
            count -= 1
            yield case.messages, tool_talk(some)["tools"]


def ask(
    engine: sotto.Engine,
    messages: list[dict[str, Any]],
    tools: list[dict[str, Any]],
    result: str,
    **rules: Any,
) -> Answer:
    """Returns the answer of a turn in a session of its own."""
    made = [Tool.from_schema(one, lambda arguments: result) for one in tools]
    with engine.session(None, messages[:-1], model="sotto/house") as session:
        return Agent(session, made, **rules).say(messages[-1:], FIELDS)


def measure(engine: sotto.Engine, count: int, seed: int, **rules: Any) -> dict[str, Any]:
    """Returns the counts of right answers, of `count` each."""
    right, times = 0, []
    for messages, tools, name, result in errands(count, seed):
        began = time.perf_counter()
        calls = ask(engine, messages, tools, result, **rules).calls
        times.append(time.perf_counter() - began)
        right += [(one.tool, one.status) for one in calls] == [(name, "done")]
    none = speech = 0
    for messages, tools in small_talk(count, seed):
        answer = ask(engine, messages, tools, "it is not here", **rules)
        none += not answer.calls
        speech += "{" not in answer.text
    return {
        "right_tool": right,
        "no_tool": none,
        "speech": speech,
        "of": count,
        "turn_median_s": round(statistics.median(times), 3),
    }


def main() -> None:
    """Prints the counts with the agent's defaults, and with the model's answers taken as they are."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--count", type=int, default=100, help="requests of each kind")
    parser.add_argument("--seed", type=int, default=11)
    given = parser.parse_args()
    with sotto.Engine(mode="prioritize_compute", threads=1) as engine:
        engine.load_model("sotto/house")
        found = {
            "default": measure(engine, given.count, given.seed),
            "as_it_is": measure(engine, given.count, given.seed, min_call_probability=0),
        }
    if given.json:
        print(json.dumps(found))
        return
    for name, one in found.items():
        print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in one.items()))


if __name__ == "__main__":
    main()
