"""`Cast`: the characters that a server offers, each with its conversation and its memories."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ...agent.threads import Outcome, on_thread
from ...engine import Engine
from ...errors import ArgumentError, InferenceError, Status
from ...npc import Character, Memories, Memory, Sheet
from ...npc.memory import Kind
from ...store import Store

Result = TypeVar("Result")

_ENDS = 5.0  # seconds in which a cancelled answer ends


class _ReadOnly(Memories):
    """Memories of a store that is only read: conversations leave nothing."""

    def add(self, texts: str | Iterable[str], kind: Kind = "fact", importance: float = 0.5) -> None:
        """Does nothing."""

    def use(self, memories: Iterable[Memory]) -> None:
        """Does nothing."""


class _Part(NamedTuple):
    character: Character
    talking: asyncio.Lock  # one answer at a time


class Cast:
    """The characters of a server. Its coroutines belong to one event loop.

    Args:
        engine: Engine with the loaded models.
        sheets: Who the characters are.
        model: Id of the model that speaks.
        embedder: Id of the model that embeds memories.
        store: Where memories are; None: nowhere.
        write: True: conversations and `remember()` add memories.
        time_limit: Longest time of an answer in seconds.
        request: Further fields of the requests.
    """

    def __init__(
        self,
        engine: Engine,
        sheets: Sequence[Sheet],
        *,
        model: str,
        embedder: str,
        store: Store | None,
        write: bool,
        time_limit: float,
        request: Mapping[str, Any],
    ) -> None:
        self._time_limit = time_limit
        self._parts: dict[str, _Part] = {}
        for sheet in sheets:
            made = Character(engine, sheet, store=store, model=model, embedder=embedder, request=request)
            if store is not None and not write:
                made.memories = _ReadOnly(engine, store, made.id, model=embedder)
            self._parts[sheet.name] = _Part(made, asyncio.Lock())

    @property
    def names(self) -> list[str]:
        """Names of the characters."""
        return [*self._parts]

    def listed(self) -> list[dict[str, Any]]:
        """Returns what is known of the characters."""
        found = []
        for name, part in self._parts.items():
            one = part.character
            about = {"name": name, "role": one.sheet.role, "place": one.place, "mood": one.mood}
            if one.memories is not None:
                about["memories"] = len(one.memories)  # type: ignore[assignment]
            found.append(about)
        return found

    async def talk(self, name: str, text: str, by: str) -> str:
        """Says something to a character, and returns its answer. Cancelling it cancels the answer."""
        part = self._part(name)
        saying: list[Any] = []
        stopped = False

        def speak() -> str:
            with part.character.stream(text, by) as made:
                saying.append(made)
                for _ in made:
                    if stopped:
                        break
                return made.text

        async with part.talking:
            task = asyncio.ensure_future(on_thread(speak))
            try:
                await asyncio.wait({task}, timeout=self._time_limit)
                if task.done():
                    return str(_checked(task.result()).value)
            finally:
                stopped = True
                if not task.done():
                    for one in saying:
                        one.close()
                    await asyncio.wait({task}, timeout=_ENDS)  # the conversation is in use until then
        raise InferenceError(f"'{name}' did not answer within {self._time_limit:g} s", Status.CANCELLED)

    async def recall(self, name: str, about: str, limit: int) -> list[dict[str, Any]]:
        """Returns the memories of a character that fit a text, best first."""
        memories = self._memories(name)
        found: list[Memory] = await _run(lambda: memories.recall(about, limit))
        return [{"text": one.text, "kind": one.kind, "importance": one.importance} for one in found]

    async def remember(self, name: str, fact: str, importance: float) -> None:
        """Lets a character know something for certain."""
        memories = self._memories(name)
        await _run(lambda: memories.add(fact, "fact", importance))

    def close(self) -> None:
        """Ends the conversations."""
        for part in self._parts.values():
            part.character.close()

    def _part(self, name: str) -> _Part:
        if (found := self._parts.get(name)) is None:
            raise ArgumentError(f"invalid character '{name[:64]}': expected one of {', '.join(self._parts)}")
        return found

    def _memories(self, name: str) -> Memories:
        memories = self._part(name).character.memories
        assert memories is not None  # without a store, these tools are not offered
        return memories


async def _run(function: Callable[[], Result]) -> Result:
    """Runs a function on a thread, and returns what it returns."""
    found: Result = _checked(await on_thread(function)).value
    return found


def _checked(outcome: Outcome) -> Outcome:
    if outcome.kind == "error":
        raise outcome.value
    return outcome
