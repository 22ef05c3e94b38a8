"""`Turn`: the model answers, its calls run, the results go back, until it speaks without a call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from .._hub import OURS
from ..completion import Delta
from ..errors import SottoError, Status
from ..messages import MessagesInput, as_messages
from .calls import Calls, RoundContext
from .first import First
from .hearing import CallProbability, Hearing, total
from .kit import Kit
from .ports import Deltas, Message, Port
from .records import Answer, Call, Round
from .results import marked, plain

Event = Delta | Call

MIN_CALL_PROBABILITY = 0.25  # for Sotto's own models, which were trained to call whatever tools they have

_DECIDING = {"logprobs": True, "temperature": 0}  # a call that is not the most probable answer is a mistake
_TRIES, _UNDO_TRIES = 50, 200  # while a session ends a cancelled answer
_PAUSE = 0.02  # seconds between tries


class Turn:
    """One turn of an agent. `rounds` grows while it runs, and stays after a failure.

    Args:
        kit: Tools and rules.
        port: The session.
        said: New messages.
        request: Further fields of each request of the turn.
        options: `RequestOptions` of each request.
    """

    def __init__(
        self,
        kit: Kit,
        port: Port,
        said: MessagesInput,
        request: Mapping[str, Any],
        options: Mapping[str, Any],
    ) -> None:
        self.rounds: list[Round] = []
        self.capped = False
        self._kit = kit
        self._port = port
        self._said: list[Message] = [dict(one) for one in as_messages("said", said, "user")]
        self._fields = dict(request)
        self._options = dict(options)
        self._priority = options.get("priority", "normal")
        self._offered = kit.toolbox.offered(kit.character, self._priority)
        self._ours: bool | None = None  # the model is Sotto's own; None: not known yet
        self._added = 0  # messages that the session has of this turn

    @property
    def answer(self) -> Answer:
        """The answer, as far as it is known."""
        last = self.rounds[-1] if self.rounds else Round(0)
        usage = total([one.usage for one in self.rounds])
        return Answer(last.text, last.finish_reason, tuple(self.rounds), usage, self.capped)

    async def run(self, emit: Callable[[Event], None]) -> None:
        """Runs the turn. `emit` gets the parts of the answers, and each call when it starts and ends.

        If the turn fails or is cancelled, the session is as before the turn.
        """
        try:
            said = self._said
            while True:
                hearing = await self._hear(said, emit)
                calls = self._begin_round(hearing, emit)
                if not hearing.calls:
                    return
                if self._refused(calls, hearing):
                    await self._drop_calls()
                    return
                try:
                    await calls.run()
                finally:
                    self._keep(calls)
                said = await self._results(calls)
        except BaseException:
            await _settled(self._undo())
            raise

    # One round

    async def _hear(self, said: list[Message], emit: Callable[[Event], None]) -> Hearing:
        """Sends messages, and returns the answer."""
        fields = self._request()
        least = await self._min_probability(fields)
        hearing = Hearing()
        if not least or not await self._listen(said, {**fields, **_DECIDING}, hearing, emit, least):
            if least:
                fields.pop("tools")
                hearing = Hearing()
            await self._listen(said, fields, hearing, emit)
        self._added += len(said) + 1
        return hearing

    async def _min_probability(self, fields: Mapping[str, Any]) -> float:
        """Returns the probability that a call needs in this round; 0: the answer is taken as it is."""
        if "tools" not in fields or self.rounds or fields.get("tool_choice", "auto") != "auto":
            return 0.0
        if (given := self._kit.min_call_probability) is not None:
            return given
        return MIN_CALL_PROBABILITY if await self._is_ours() else 0.0

    async def _listen(
        self,
        said: list[Message],
        fields: dict[str, Any],
        hearing: Hearing,
        emit: Callable[[Event], None],
        least: float = 0.0,
    ) -> bool:
        """Streams an answer. Returns False, and cancels it, once it is no call of the probability `least`.

        With `least`, nothing is emitted before the call is complete.
        """
        deltas = await self._begun(said, fields)
        held: list[Delta] = []
        probability = CallProbability()
        try:
            async for delta in deltas:
                hearing.add(delta)
                if not least:
                    emit(delta)
                    continue
                held.append(delta)
                if probability.after(delta) < least:
                    return False
        finally:
            await deltas.aclose()
        for one in held:
            emit(one)
        return True

    async def _begun(self, said: list[Message], fields: dict[str, Any]) -> Deltas:
        """Submits a request. Waits for the end of the one before, which may have been cancelled just now."""
        for _ in range(_TRIES):
            deltas = First(self._port.stream(said, fields, self._options))
            try:
                await deltas.begin()
                return deltas
            except SottoError as error:
                if error.status != Status.BUSY:
                    raise
            await asyncio.sleep(_PAUSE)
        return self._port.stream(said, fields, self._options)

    async def _is_ours(self) -> bool:
        if self._ours is None:
            model = self._fields.get("model") or (await self._port.read()).get("model")
            self._ours = model in OURS
        return self._ours

    def _request(self) -> dict[str, Any]:
        number = len(self.rounds) + 1
        fields = {"stream_options": {"include_usage": True}, **self._fields}
        if not self._offered:
            return {name: one for name, one in fields.items() if name != "tool_choice"}
        fields["tools"] = self._offered
        if number > self._kit.max_tool_rounds:
            fields["tool_choice"] = "none"
        elif number > 1 and fields.get("tool_choice") != "none":
            fields.pop("tool_choice", None)  # a required call is one call, not one in each round
        return fields

    def _begin_round(self, hearing: Hearing, emit: Callable[[Event], None]) -> Calls:
        number = len(self.rounds) + 1
        said = str(self._said[-1].get("content") or "") if self._said else ""
        about = RoundContext(self._port.id, number, self._priority, said, hearing.text)
        calls = Calls(self._kit, hearing.calls, about, emit)
        self.rounds.append(
            Round(
                number,
                hearing.text,
                hearing.reasoning,
                tuple(calls.records),
                hearing.finish_reason,
                hearing.usage,
            )
        )
        return calls

    def _refused(self, calls: Calls, hearing: Hearing) -> bool:
        """Records the calls as denied if a guardrail blocked the answer, or the turn has had its rounds."""
        if hearing.finish_reason == "content_filter":
            calls.refuse("a guardrail blocked the answer")
        elif len(self.rounds) > self._kit.max_tool_rounds:
            self.capped = True
            calls.refuse(f"the turn has had its {self._kit.max_tool_rounds} rounds of calls")
        else:
            return False
        self._keep(calls)
        return True

    def _keep(self, calls: Calls) -> None:
        self.rounds[-1] = replace(self.rounds[-1], calls=tuple(calls.records))

    async def _results(self, calls: Calls) -> list[Message]:
        """Returns the messages with the results of a round, marked as data."""
        for name in calls.untrusted:
            self._kit.permissions.distrust(self._port.id, name)
        mark = self._kit.marker or (plain if await self._is_ours() else marked)
        return [
            {"role": "tool", "tool_call_id": call.id, "content": mark(call.tool, call.result)}
            for call in calls.records
        ]

    # After a failure

    async def _drop_calls(self) -> None:
        """Removes the last answer from the session if its calls have no results."""
        messages = (await self._port.read())["messages"]
        if messages and messages[-1].get("tool_calls"):
            await self._port.rewind(len(messages) - 1)

    async def _undo(self) -> None:
        """Removes the messages of the turn from the session."""
        if not self._added:
            return
        for _ in range(_UNDO_TRIES):
            try:
                count = len((await self._port.read())["messages"])
                await self._port.rewind(max(count - self._added, 0))
                return
            except SottoError as error:
                if error.status != Status.BUSY:
                    return  # the session or the engine is closed
            await asyncio.sleep(_PAUSE)


async def _settled(work: Any) -> None:
    """Completes work, also if the task is cancelled meanwhile; then raises `CancelledError`."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
        except Exception:
            break
    if cancelled:
        raise asyncio.CancelledError
