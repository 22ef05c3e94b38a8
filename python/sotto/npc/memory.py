"""What a character remembers: entries of a store, found by meaning and by words, deleted by a rule."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from .._values import choice, number, string, typed, whole
from ..engine import Engine
from ..entry import Entry
from ..errors import ArgumentError
from ..store import Store

Kind = Literal["fact", "said", "heard", "summary"]
KINDS: Mapping[Kind, int] = {"fact": 0, "said": 1, "heard": 2, "summary": 3}
_STATES = "sotto.npc states"  # namespace of what save_state() writes
_WEIGHTS = {"relevance": 1.0, "recency": 0.1, "importance": 0.1}


class Memory(NamedTuple):
    """One thing that a character remembers.

    Attributes:
        id: Id of the entry in the store.
        text: The sentence.
        kind: "fact" (told by the game), "said" (in a conversation), "heard" (overheard) or "summary".
        importance: From 0 to 1.
        used: When it was added, or recalled for an answer, last: seconds of the clock.
    """

    id: str
    text: str
    kind: Kind
    importance: float
    used: float


@dataclass(frozen=True)
class Forgetting:
    """The rule by which memories are deleted.

    The strength of a memory is `importance * 0.5 ** (age / half_life)`; its age counts from when it was added
    or recalled last. A memory of importance 1 keeps its strength. Where a character has more than `most`
    memories, the weakest are deleted, down to 9 tenths of `most`.

    Attributes:
        most: Most memories of a character.
        half_life: Seconds in which a strength halves.
    """

    most: int = 2_000
    half_life: float = 7 * 24 * 3600.0

    def __post_init__(self) -> None:
        if whole("most", self.most, 1 << 31) == 0 or number("half_life", self.half_life) == 0:
            raise ArgumentError("invalid Forgetting: expected most and half_life above 0")

    def strength(self, memory: Memory, now: float) -> float:
        """Returns the strength of a memory at the time `now`, from 0 to 1."""
        if memory.importance >= 1:
            return 1.0
        return float(memory.importance * 0.5 ** (max(0.0, now - memory.used) / self.half_life))


class Memories:
    """The memories of one character: a namespace of a store.

    Args:
        engine: Engine with the embedding model.
        store: Where they are kept. Several characters share a store.
        namespace: Name of the character.
        model: Id of the embedding model.
        forgetting: When memories are deleted; None: the defaults of `Forgetting`.
        clock: Returns the time in seconds since 1970.
    """

    def __init__(
        self,
        engine: Engine,
        store: Store,
        namespace: str,
        *,
        model: str,
        forgetting: Forgetting | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._engine = engine
        self._store = store
        self._namespace = string("namespace", namespace)
        self._model = string("model", model)
        if forgetting is not None:
            typed("forgetting", forgetting, Forgetting)
        self._forgetting = forgetting or Forgetting()
        self._clock = clock

    def __len__(self) -> int:
        return self._store.count(namespace=self._namespace)

    def __iter__(self) -> Any:
        return map(_memory, self._store.list(namespace=self._namespace))

    def add(self, texts: str | Iterable[str], kind: Kind = "fact", importance: float = 0.5) -> None:
        """Adds sentences. A sentence that is known already is not kept twice; it becomes recent again.

        Args:
            texts: One sentence, or several.
            kind: What they are.
            importance: From 0 to 1.
        """
        choice("kind", kind, KINDS)
        weight = number("importance", importance)
        given = [texts] if isinstance(texts, str) else texts
        lines = [
            line for line in dict.fromkeys(" ".join(string("texts", one).split()) for one in given) if line
        ]
        if not lines:
            return
        now = self._now_ms()
        fresh = [line for line in lines if self._store.get(self._id(line)) is None]
        for line in set(lines).difference(fresh):
            self._store.update(self._id(line), accessed_ms=now, importance=weight)
        if fresh:
            fields = {"namespace": self._namespace, "importance": weight, "created_ms": now}
            self._store.insert_many(
                [{**fields, "id": self._id(one), "value": one, "metadata": {"kind": kind}} for one in fresh],
                embeddings=self._vectors(fresh),
            )
            self.forget()

    def recall(self, about: str, limit: int = 8, without: Sequence[str] = ()) -> list[Memory]:
        """Returns the memories that fit a text best, best first.

        The order is that of `Store.query()` with words and embedding, with a tenth of the weight each for
        recency and importance.

        Args:
            about: What is looked for, such as what a visitor said.
            limit: Most memories that are returned.
            without: Sentences that are left out.
        """
        if not about.strip() or limit == 0:
            return []
        found = self._store.query(
            about,
            embedding=self._vectors([about])[0],
            namespace=self._namespace,
            limit=limit + len(without),
            weights=_WEIGHTS,
            half_life_s=self._forgetting.half_life,
            now_ms=self._now_ms(),
        )
        kept = [_memory(one.entry) for one in found if one.entry.value not in without]
        return kept[:limit]

    def use(self, memories: Iterable[Memory]) -> None:
        """Makes memories recent, because they were recalled for an answer."""
        now = self._now_ms()
        for memory in memories:
            self._store.update(memory.id, accessed_ms=now)

    def forget(self) -> int:
        """Deletes the weakest memories if there are too many, see `Forgetting`.

        Returns:
            The number of memories deleted.
        """
        rule, count = self._forgetting, len(self)
        if count <= rule.most:
            return 0
        now = self._clock()
        weakest = sorted(self, key=lambda memory: rule.strength(memory, now))
        return self._store.delete(*(memory.id for memory in weakest[: count - rule.most * 9 // 10]))

    def _vectors(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return self._engine.embeddings(texts, model=self._model, truncate=True).vectors

    def _id(self, line: str) -> str:
        """Id of the entry that holds a sentence."""
        return f"{self._namespace}/{hashlib.sha256(line.encode()).hexdigest()[:32]}"

    def _now_ms(self) -> int:
        return max(1, int(self._clock() * 1000))  # 0 means now to a store


def save_state(store: Store, character: str, state: Mapping[str, Any]) -> None:
    """Writes the state of a character to the store, in place of an earlier one."""
    entry = {"id": f"sotto.npc/{character}", "namespace": _STATES, "value": json.dumps(state)}
    store.insert_many([entry], replace=True)


def load_state(store: Store, character: str) -> dict[str, Any]:
    """Returns the state of a character that the store holds; empty without one."""
    entry = store.get(f"sotto.npc/{character}")
    found: dict[str, Any] = {} if entry is None else json.loads(entry.value)
    return found


def _memory(entry: Entry) -> Memory:
    kind = entry.metadata.get("kind", "fact")
    return Memory(entry.id, entry.value, kind, entry.importance, entry.accessed_ms / 1000)
