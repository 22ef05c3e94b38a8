"""2,000 random turns: each call is recorded as it went; none runs twice or after a denial, none is lost."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import sotto.aio
from agent_script import Deltas, call, play, says, split
from sotto.agent import Answer, ApprovalRequest, AuditLog, CallContext, Decision, Permissions, aio, tool

PLAYS = 2_000
AT_ONCE = 32
ENDS = {"done", "failed", "timed_out", "cancelled", "denied", "refused"}
# What a call asks for, and how it has to be recorded.
STATUS = {
    "works": "done",
    "raises": "failed",
    "hangs": "timed_out",
    "stalls": "timed_out",
    "approved": "done",
    "approved_raises": "failed",
    "refused": "denied",
    "refusal_raises": "denied",
    "odd_decision": "denied",
    "forbidden": "denied",
    "unknown": "failed",
    "no_object": "failed",
    "wrong_type": "failed",
    "quits": "cancelled",
}
ASKED = {"approved", "approved_raises", "refused", "refusal_raises", "odd_decision"}
RUNS = {"works", "raises", "hangs", "stalls", "approved", "approved_raises", "quits"}
TOOLS = {"hangs": "hang", "stalls": "stall", "forbidden": "never", "unknown": "nothing", "quits": "quit_turn"}


class World:
    """What tools did, by play and number of the call."""

    def __init__(self) -> None:
        self.runs: Counter[int] = Counter()
        self.asked: Counter[int] = Counter()
        self.tasks: dict[int, asyncio.Task[Any]] = {}
        self.tools = self._tools()

    def _tools(self) -> list[Any]:
        @tool
        def act(number: int, how: str) -> str:
            self.runs[number] += 1
            if how.endswith("raises"):
                raise ValueError(f"{number} broke")
            return f"did {number}"

        @tool
        async def act_async(number: int, how: str) -> dict[str, int]:
            self.runs[number] += 1
            await asyncio.sleep(0)
            if how.endswith("raises"):
                raise OSError(f"{number} broke")
            return {"did": number}

        @tool(permission="ask")
        def ask(number: int, how: str) -> str:
            return act(number, how)

        @tool(permission="ask")
        async def ask_async(number: int, how: str) -> dict[str, int]:
            return await act_async(number, how)

        @tool(time_limit=0.002)
        def hang(number: int, how: str, context: CallContext) -> None:
            self.runs[number] += 1
            context.wait(60)

        @tool(time_limit=0.002)
        async def stall(number: int, how: str) -> None:
            self.runs[number] += 1
            await asyncio.sleep(60)

        @tool(permission="deny")
        def never(number: int, how: str) -> None:
            self.runs[number] += 1

        @tool
        async def quit_turn(number: int, how: str) -> None:
            self.runs[number] += 1
            self.tasks[number // 100].cancel()
            await asyncio.sleep(60)

        return [act, act_async, ask, ask_async, hang, stall, never, quit_turn]

    def approve(self, request: ApprovalRequest) -> Any:
        number, how = request.arguments["number"], request.arguments["how"]
        self.asked[number] += 1
        assert self.runs[number] == 0
        if how == "refusal_raises":
            raise RuntimeError("no decision")
        if how == "odd_decision":
            return "yes"
        return how.startswith("approved") if number % 2 else Decision(how.startswith("approved"))


class Play:
    """One random turn, and what has to come of it."""

    def __init__(self, number: int) -> None:
        some = random.Random(number)
        self.number = number
        self.text = f"play {number}"
        self.concurrent = some.random() < 0.5
        kinds = [one for one in STATUS if one != "quits"]
        weights = [1 if one in ("hangs", "stalls") else 3 for one in kinds]
        sizes = [some.randint(1, 3) for _ in range(some.randint(0, 4))]
        self.rounds = [[some.choices(kinds, weights)[0] for _ in range(size)] for size in sizes]
        self.quits = bool(sizes) and some.random() < 0.15
        place = some.randrange(sizes[-1]) if self.quits else 0
        if self.quits:
            self.rounds[-1][place] = "quits"
        self.calls = [how for made in self.rounds for how in made]
        quit_at = sum(sizes[:-1]) + place if self.quits else len(self.calls)
        self.after = range(quit_at + 1, len(self.calls))  # calls that a cancelled turn has not begun
        beside = range(sum(sizes[:-1]), len(self.calls))
        self.beside = beside if self.quits and self.concurrent else range(0)  # those that it may have begun
        self.names = [self.tool(how, some) for how in self.calls]
        self.script = [*self.deltas(some), says(f"end {number}")]

    def tool(self, how: str, some: random.Random) -> str:
        names = ["ask", "ask_async"] if how in ASKED else ["act", "act_async"]
        return TOOLS.get(how) or some.choice(names)

    def deltas(self, some: random.Random) -> Iterator[Deltas]:
        at = 0
        for made in self.rounds:
            steps: Deltas = []
            for place, how in enumerate(made):
                one = call(self.names[at], self.arguments(at, how), place, self.id(at))
                steps += split(one) if some.random() < 0.2 else [[one]]
                at += 1
            yield [*steps, []]

    def arguments(self, at: int, how: str) -> Any:
        if how == "no_object":
            return "[1, 2]" if at % 2 else '{"number": '
        if how == "wrong_type":
            return {"number": "one", "how": how}
        return {"number": self.key(at), "how": how}

    def key(self, at: int) -> int:
        """The number of a call over all plays."""
        return self.number * 100 + at

    def id(self, at: int) -> str:
        return f"{self.number}-{at}"

    def statuses(self, at: int) -> set[str]:
        """How a call may be recorded."""
        if at in self.beside:
            return {STATUS[self.calls[at]], "cancelled"}
        return {"cancelled"} if at in self.after else {STATUS[self.calls[at]]}

    def times(self, at: int, those: set[str]) -> set[int]:
        """How often that may have happened which happens in calls of `those` kinds."""
        if self.calls[at] not in those:
            return {0}
        if at in self.beside and self.calls[at] != "quits":
            return {0, 1}
        return {0} if at in self.after else {1}


async def perform(engine: sotto.aio.Engine, one: Play, world: World) -> None:
    audit = AuditLog()
    permissions = Permissions(approve=world.approve)
    async with await engine.session(model="npc") as session:
        agent = aio.Agent(
            session,
            world.tools,
            permissions=permissions,
            audit=audit,
            concurrent=one.concurrent,
            time_limit=600,
        )
        stream = agent.stream(one.text)
        world.tasks[one.number] = stream._running.task  # closing the stream from a tool would wait for itself
        async for _ in stream:
            pass
        await stream.aclose()
        answer = stream.answer
        check_records(one, answer)
        check_world(one, world)
        check_log(one, audit, world)
        messages = await session.messages()
    if one.quits:
        assert messages == []
    else:
        assert answer.text == f"end {one.number}"
        check_session(one, messages, answer)


def check_records(one: Play, answer: Answer) -> None:
    """Each call is recorded once, in the model's order, as it went."""
    rounds = [number for number, made in enumerate(one.rounds, 1) for _ in made]
    expected = [(rounds[at], one.id(at), name) for at, name in enumerate(one.names)]
    assert [(call.round, call.id, call.tool) for call in answer.calls] == expected, one.number
    assert len(answer.rounds) == len(one.rounds) + (not one.quits)
    for at, (made, how) in enumerate(zip(answer.calls, one.calls, strict=True)):
        assert made.status in one.statuses(at), (one.number, at, made)
        number = made.arguments.get("number")
        if made.status == "done":
            assert made.result in (f"did {number}", f'{{"did": {number}}}') and not made.reason
        elif made.status != "cancelled":
            assert made.result and made.reason
            assert "raises" not in how or how == "refusal_raises" or f"{number} broke" in made.result


def check_world(one: Play, world: World) -> None:
    """A call that may run ran once. One that was denied or invalid did not."""
    for at in range(len(one.calls)):
        assert world.runs[one.key(at)] in one.times(at, RUNS), (one.number, at)
        assert world.asked[one.key(at)] in one.times(at, ASKED), (one.number, at)


def check_log(one: Play, audit: AuditLog, world: World) -> None:
    """The log has the start of each call that ran, and one end of each call."""
    for at, how in enumerate(one.calls):
        events = [entry.event for entry in audit if entry.call_id == one.id(at)]
        assert events.count("started") in one.times(at, RUNS), (one.number, at, events)
        assert events.count("started") >= world.runs[one.key(at)], (one.number, at, events)
        assert len(ENDS.intersection(events)) == 1 and events[-1] in ENDS, (one.number, at, events)
        if how in ASKED and events != ["cancelled"]:
            decided = "approved" if how.startswith("approved") else "denied"
            assert events[0] == "asked" and events[1] in one.statuses(at) | {decided}


def check_session(one: Play, messages: list[dict[str, Any]], answer: Answer) -> None:
    """The session has the results of all calls, after the messages that made them."""
    results = {one["tool_call_id"]: one["content"] for one in messages if one["role"] == "tool"}
    assert list(results) == [call.id for call in answer.calls]
    assert all(call.result in results[call.id] for call in answer.calls)
    roles = ["user"]
    for made in one.rounds:
        roles += ["assistant", *["tool"] * len(made)]
    assert [message["role"] for message in messages] == [*roles, "assistant"]


@pytest.mark.row("E-093")
def test_random_plays(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL", "sotto.agent")
    plays = [Play(number) for number in range(PLAYS)]
    world = World()

    async def test(engine: sotto.aio.Engine) -> None:
        left = iter(plays)

        async def worker() -> None:
            for one in left:
                await perform(engine, one, world)

        await asyncio.gather(*(worker() for _ in range(AT_ONCE)))

    play({one.text: one.script for one in plays}, test, seconds=600)
    assert sum(one.quits for one in plays) > 200
    assert {how for one in plays for how in one.calls} == set(STATUS)
