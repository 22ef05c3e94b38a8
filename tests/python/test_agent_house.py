"""`sotto.agent` on the house model: it calls the tool that fits, speaks where none does, and keeps a gate."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any, Literal

import pytest

import sotto
from conftest import ENVIRONMENT, ROOT
from sotto.agent import AuditLog, Call, Permissions, tool
from sotto.npc import Character, Sheet

sys.path += [str(ROOT / "tests" / "bench"), str(ROOT / "samples" / "house_model")]

pytestmark = pytest.mark.real
BRENNA = Sheet("Brenna", role="innkeeper", manner="cheerful")


@tool
def open_door(door: str) -> str:
    """Opens a door."""
    return "done"


def test_the_tool_that_fits_or_none(real_engine: sotto.Engine) -> None:
    """`tests/bench/agent.py` measures 100 of each. These are the first of them."""
    import agent as bench

    found = bench.measure(real_engine, 20, 11)
    assert found["right_tool"] >= 18 and found["no_tool"] >= 19 and found["speech"] == 20, found


def test_arguments_are_constrained_while_decoding(real_engine: sotto.Engine) -> None:
    """At a high temperature, too: the engine lets no other argument through."""
    doors: list[str] = []

    @tool(name="open_door")
    def door_of(door: Literal["the cellar door", "the attic door"]) -> str:
        doors.append(door)
        return "done"

    for seed in range(10):
        with real_engine.session(None, BRENNA.render(), model="sotto/house") as session:
            agent = sotto.agent.Agent(session, [door_of], max_tool_rounds=1)
            fields = {"tool_choice": "required", "temperature": 1.5, "seed": seed, "max_tokens": 64}
            assert {one.status for one in agent.say("Open the green window, please.", fields).calls} == {
                "done"
            }
    assert len(doors) >= 10


def test_a_character_acts_and_then_speaks(real_engine: sotto.Engine) -> None:
    audit = AuditLog()
    with Character(real_engine, BRENNA, id="acts", tools=[open_door], audit=audit) as brenna:
        saying = brenna.stream("Please open the cellar door.")
        text = "".join(saying)
        (made,) = saying.calls
        assert (made.tool, made.arguments, made.status) == ("open_door", {"door": "the cellar door"}, "done")
        assert text.strip() == saying.text and "{" not in text and "cellar door" in text
        assert [(one.event, one.character) for one in audit] == [("started", "acts"), ("done", "acts")]
        roles = [one["role"] for one in brenna._talk.messages]
        assert roles == ["user", "assistant", "tool", "assistant"]
        assert brenna.say("Who are you?") and len(audit) == 2
    with Character(
        real_engine, BRENNA, id="asks", tools=[open_door], permissions=Permissions("deny")
    ) as brenna:
        saying = brenna.stream("Please open the cellar door.")
        assert list(saying) and [one.status for one in saying.calls] == ["denied"]


def test_a_character_without_tools_loads_no_agent() -> None:
    code = (
        "import sys, sotto\n"
        "from sotto.npc import Character, Sheet\n"
        "with sotto.Engine() as engine:\n"
        "    engine.load_model('sotto/house')\n"
        "    Character(engine, Sheet('Mara')).say('Hello!')\n"
        "assert 'sotto.agent' not in sys.modules and 'asyncio' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, check=True)


def test_what_a_character_says_between_calls() -> None:
    from sotto.npc import Saying

    def call(status: Any) -> Call:
        return Call("c0", "open_door", {}, "{}", 1, status)

    class Stream:
        def __iter__(self) -> Any:
            delta = sotto.Delta
            yield from (
                delta("Let me "),
                delta("see."),
                call("running"),
                call("done"),
                delta("It is"),
                delta(" open."),
            )
            yield delta("", replacement="Yes.")

        def close(self) -> None: ...

    heard: list[str] = []
    saying = Saying(Stream(), heard.append)  # type: ignore[arg-type]
    assert list(saying) == ["Let me ", "see.", " It is", " open."]
    assert heard == ["Let me see. Yes."]
    assert [one.status for one in saying.calls] == ["done"]


def test_the_probability_of_a_call_leaves_out_names_of_fields() -> None:
    from sotto.agent.hearing import CallProbability

    def delta(*tokens: tuple[str, float]) -> sotto.Delta:
        content = [{"token": text, "logprob": math.log(one)} for text, one in tokens]
        choice = {"delta": {"tool_calls": [{}]}, "logprobs": {"content": content}}
        return sotto.Delta("", raw={"choices": [choice]})

    call = CallProbability()
    assert call.after(delta(("<tool_call>", 0.5), ('{"', 1.0), ("name", 1.0))) == pytest.approx(0.5)
    assert call.after(delta(('": "', 1.0), ("take", 0.5), ('", "arguments": {"', 1.0))) == pytest.approx(0.25)
    assert call.after(delta(("b", 0.1), ("ribe", 0.1))) == pytest.approx(0.25)
    assert call.after(delta(('":', 1.0), (' "', 1.0), ("gold", 0.8))) == pytest.approx(0.25)
    assert call.after(delta(('"}}', 1.0))) == pytest.approx(0.2)
    assert call.after(sotto.Delta("Hello")) == 0


def test_the_gatekeeper_is_paid_and_keeps_the_key() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "samples" / "python" / "gatekeeper.py")],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    opened = [line.strip() for line in said if line.strip().startswith("open_gate")]
    assert opened == [f'open_gate {{"gate": "the north gate"}}: {how}' for how in ("denied", "done")]
    assert said[-2] == "Brenna remembers: Ilse paid you with the silver bribe."
    assert "[the gate is open, the key is at her belt]" in said[-3] and "{" not in said[2]
    assert "give_key started" not in said[-1] and said[-1].endswith("give_key denied")
