"""`Character`: somebody in a game who talks, remembers and decides."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .._hub import OURS
from .._typing import Unpack
from .._values import string, truth, typed, whole, wrong_type
from ..completion import Delta, DeltaStream
from ..engine import Engine
from ..errors import InferenceError, SottoError, Status
from ..store import Store
from ..terms import RequestOptions
from .memory import Forgetting, Memories, Memory, load_state, save_state
from .sampling import CHARACTER_SAMPLING
from .sheet import Sheet
from .summary import Summarizer
from .talk import Talk

if TYPE_CHECKING:
    from ..agent import Agent, AgentStream, AuditLog, Call, Permissions
    from ..session import Session

HOUSE, MINILM = "sotto/house", "sotto/minilm"
_MOST = 1 << 20
_STATE = ("mood", "place", "time", "relationships")
_HISTORY, _SHORT_HISTORY = 1024, 256  # tokens; short: of models that were trained on short conversations
_EXCHANGE = 0.3  # importance of what was said
_DECISION_TOKENS = 128
_NO_STORE = "this character has no memory: pass store=sotto.Store.open(...) to sotto.npc.Character"


class Saying:
    """An answer while it is spoken: iterate over its pieces of text. `Character.stream()` makes it.

    The turn is remembered when the last piece has been taken. Closing it before cancels the answer, and
    nothing is remembered. If guardrails withdraw an answer that was spoken, `text` is its replacement.

    Attributes:
        calls: The calls of tools that have ended.
    """

    def __init__(self, deltas: DeltaStream | AgentStream, remember: Callable[[str], None]) -> None:
        self.calls: list[Call] = []
        self._deltas = deltas
        self._remember = remember
        self._before = ""  # what was said before the last calls
        self._pieces: list[str] = []

    def __iter__(self) -> Iterator[str]:
        for event in self._deltas:
            if not isinstance(event, Delta):
                self._hear(event)
                continue
            if event.text:
                piece = f" {event.text}" if self._before and not self._pieces else event.text
                self._pieces.append(piece)
                yield piece
            if event.replacement is not None:
                self._pieces = [f" {event.replacement}" if self._before else event.replacement]
        self._remember(self.text)

    def _hear(self, call: Call) -> None:
        self._before, self._pieces = self.text, []
        if call.status != "running":
            self.calls.append(call)

    def __enter__(self) -> Saying:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def text(self) -> str:
        """What was said so far, or what takes its place."""
        return (self._before + "".join(self._pieces)).strip()

    def close(self) -> None:
        """Cancels what has not been said."""
        self._deltas.close()


class Character:
    """Somebody who talks, remembers and decides: a sheet, memories in a store, and a session of the engine.

    Before each answer the character looks up the memories that fit what was said, by meaning and by words;
    they enter the prompt as far as `memory_tokens` allows. After the answer, the exchange is remembered.
    Turns that exceed `history_tokens` leave the conversation; their memories stay.

    `mood`, `place`, `time` and `relationships` are state that the game reads and writes at any time; the
    next answer follows them. `save()` keeps them in the store.

    With `tools`, the model acts: `sotto.agent` runs its calls, and the character speaks when they have ended.

    One thread at a time talks to a character; different characters may talk at the same time.

    Args:
        engine: Engine with the loaded models.
        sheet: Who the character is.
        store: Where it keeps memories and state; None: it remembers only its conversation.
        id: Name of its session and of its namespace in the store; None: the sheet's name.
        model: Id of the model that speaks.
        embedder: Id of the loaded model that embeds memories.
        recalled: Most memories in a prompt.
        memory_tokens: Most tokens that they take.
        history_tokens: Most tokens of the conversation that are kept, the system message not counted; None:
            1024, or 256 with Sotto's own models, which were trained on short conversations.
        summaries: Also summarizes turns that leave the conversation, in the background and at low priority.
            For models of half a billion parameters or more; "sotto/house" cannot summarize.
        forgetting: When memories are deleted.
        request: Further fields of its chat requests, such as `max_tokens` or `lora`.
        tools: What it can do, as for `sotto.agent.Agent`; they get its `id` as the character.
        permissions: Decides about each call before it runs; None: each call runs.
        audit: Log of every call; None: no log is kept.
        clock: Returns the time in seconds since 1970; a game passes its own, so that no character
            forgets while it is paused.
    """

    def __init__(
        self,
        engine: Engine,
        sheet: Sheet,
        *,
        store: Store | None = None,
        id: str | None = None,
        model: str = HOUSE,
        embedder: str = MINILM,
        recalled: int = 4,
        memory_tokens: int = 256,
        history_tokens: int | None = None,
        summaries: bool = False,
        forgetting: Forgetting | None = None,
        request: Mapping[str, Any] | None = None,
        tools: Iterable[Any] = (),
        permissions: Permissions | None = None,
        audit: AuditLog | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not isinstance(engine, Engine):
            raise wrong_type("engine", engine, "a sotto.Engine (with asyncio, call a Character in a thread)")
        typed("sheet", sheet, Sheet)
        if store is not None:
            typed("store", store, Store)
        self.id = string("id", sheet.name if id is None else id)
        self.sheet = sheet
        self.mood, self.place, self.time = sheet.mood, sheet.place, sheet.time
        self.relationships = dict(sheet.relationships)
        self.memories = None
        if store is not None:
            self.memories = Memories(
                engine, store, self.id, model=embedder, forgetting=forgetting, clock=clock
            )
        self._engine = engine
        self._store = store
        self._model = string("model", model)
        self._request = {**(CHARACTER_SAMPLING if model in OURS else {}), "max_tokens": 64, **(request or {})}
        self._recalled = whole("recalled", recalled, _MOST)
        self._memory_tokens = whole("memory_tokens", memory_tokens, _MOST)
        if history_tokens is None:
            history_tokens = _SHORT_HISTORY if model in OURS else _HISTORY
        agent = _agent_maker(tools, permissions, audit, self.id)
        kept = whole("history_tokens", history_tokens, _MOST)
        self._talk = Talk(engine, self.id, self._model, kept, agent)
        self._summarizer = Summarizer(engine, self._model) if truth("summaries", summaries) else None
        self._spoken: list[str] = []  # exchanges that the conversation still holds, oldest first
        self._closed = False
        self.load()

    def __repr__(self) -> str:
        kept = 0 if self.memories is None else len(self.memories)
        return f"<sotto.npc.Character {self.id!r}, {kept} memories>"

    def __enter__(self) -> Character:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # Speech

    def say(self, text: str, by: str = "", **options: Unpack[RequestOptions]) -> str:
        """Says something to the character, and waits for its whole answer.

        Args:
            text: What is said.
            by: Name of who says it; "": the sheet's visitor.
            **options: See `RequestOptions`.

        Returns:
            The answer.

        Raises:
            InferenceError: The model failed, or the character already answers.
        """
        with self.stream(text, by, **options) as saying:
            for _ in saying:
                pass
            return saying.text

    def stream(self, text: str, by: str = "", **options: Unpack[RequestOptions]) -> Saying:
        """Says something to the character; its answer comes in pieces. Arguments and errors: see `say()`."""
        said = string("text", text)
        recalled = self.recall(said)
        deltas = self._talk.stream(self._system(recalled, by), said, self._request, **options)
        return Saying(deltas, lambda answer: self._heard(said, by, answer, recalled))

    def decide(
        self, schema: Mapping[str, Any], situation: str, by: str = "", **options: Unpack[RequestOptions]
    ) -> Any:
        """Lets the character decide, in the form of a JSON schema. The conversation does not change.

        Args:
            schema: JSON schema of the decision, for example an object with an `enum`.
            situation: What happens, or what is asked.
            by: Name of who asks; "": the sheet's visitor.
            **options: See `RequestOptions`.

        Returns:
            The decision as JSON is read: a dict for an object.

        Raises:
            ArgumentError: The schema cannot be followed; the message has its path.
            InferenceError: The model failed, or a guardrail blocked the decision, or `max_tokens` cut it.
        """
        asked = string("situation", situation)
        if not isinstance(schema, Mapping):
            raise wrong_type("schema", schema, "a mapping")
        keys = ", ".join(schema.get("properties", ()))
        system = self._system(self.recall(asked), by, answer_as=f"JSON ({keys})" if keys else "JSON")
        messages = [
            {"role": "system", "content": system},
            *self._talk.messages,
            {"role": "user", "content": asked},
        ]
        form = {"type": "json_schema", "json_schema": {"name": "decision", "schema": dict(schema)}}
        fields = {**self._request, "response_format": form, **options}
        fields["max_tokens"] = max(int(fields["max_tokens"]), _DECISION_TOKENS)
        made = self._engine.chat(messages, model=self._model, **fields)
        if made.finish_reason == "content_filter":
            raise InferenceError("a guardrail blocked the decision", Status.BLOCKED)
        try:
            return json.loads(made.text)
        except json.JSONDecodeError:
            raise InferenceError(
                f"the decision is cut after {fields['max_tokens']} tokens: ask for a shorter one, or pass "
                "max_tokens in the request of the character",
                Status.INFERENCE,
            ) from None

    # Memory

    def tell(self, facts: str | Iterable[str], importance: float = 0.8) -> None:
        """Lets the character know something for certain, such as what happened in the game.

        Args:
            facts: One text, or several, best of one sentence each. Each text becomes one memory.
            importance: From 0 to 1. Memories of importance 1 are never forgotten.

        Raises:
            SottoError: The character has no store.
        """
        self._remembering().add(facts, "fact", importance)

    def overhear(self, text: str, by: str, importance: float = 0.3) -> None:
        """Lets the character hear what somebody says to others. It does not answer.

        Args:
            text: What was said.
            by: Who said it.
            importance: From 0 to 1.
        """
        line = f"{string('by', by)} said: {string('text', text)}"
        self._remembering().add(line, "heard", importance)

    def recall(self, about: str) -> list[Memory]:
        """Returns the memories that would enter the prompt of an answer to a text, best first.

        One that does not fit into what is left of `memory_tokens` is passed over.
        """
        self._check_open()
        if self.memories is None:
            return []
        found: list[Memory] = []
        left = self._memory_tokens
        for memory in self.memories.recall(about, self._recalled, without=self._spoken):
            tokens = self._talk.count(memory.text)
            if tokens <= left:
                left -= tokens
                found.append(memory)
        return found

    # State

    def save(self) -> None:
        """Writes mood, place, time and relationships to the store, from which `load()` reads them.

        Call it before the game is saved with the store.
        """
        self._check_open()
        if self._store is None:
            raise SottoError(_NO_STORE, Status.STATE)
        self._system([], "")  # refuses what a sheet cannot have
        save_state(self._store, self.id, {name: getattr(self, name) for name in _STATE})

    def load(self) -> None:
        """Reads what `save()` wrote, if it did. A new `Character` does so; call it after restoring a game."""
        state = {} if self._store is None else load_state(self._store, self.id)
        for name in _STATE:
            setattr(self, name, state.get(name, getattr(self, name)))

    def close(self) -> None:
        """Ends the conversation. Memories stay in the store. A second call does nothing."""
        self._closed = True
        if self._summarizer is not None:
            self._summarizer.close()
        self._talk.close()

    # Internal

    def _check_open(self) -> None:
        if self._closed:
            raise SottoError(f"the character '{self.id}' is closed; make another one", Status.STATE)

    def _system(self, recalled: list[Memory], by: str, answer_as: str = "") -> str:
        facts = [memory.text for memory in recalled if memory.kind == "fact"]
        return self.sheet.render(
            facts=facts,
            memories=[memory.text for memory in recalled if memory.kind != "fact"],
            answer_as=answer_as,
            visitor=by or self.sheet.visitor,
            **{name: getattr(self, name) for name in _STATE},
        )

    def _heard(self, text: str, by: str, answer: str, recalled: list[Memory]) -> None:
        """Remembers an exchange, and lets the oldest turns leave the conversation."""
        if self.memories is not None:
            self.memories.use(recalled)
            who = by or self.sheet.visitor or "The visitor"
            said = self._talk.last_said(text)
            exchange = " ".join(f"{who} said: {said} You said: {answer}".split())
            self.memories.add(exchange, "said", _EXCHANGE)
            self._spoken.append(exchange)
        gone = self._talk.trim()
        del self._spoken[: sum(one["role"] == "user" for one in gone)]
        if gone and self._summarizer is not None and self.memories is not None:
            self._summarizer.begin(self.sheet.name, gone, self.memories)

    def _remembering(self) -> Memories:
        self._check_open()
        if self.memories is None:
            raise SottoError(_NO_STORE, Status.STATE)
        return self.memories


def _agent_maker(
    tools: Iterable[Any], permissions: Permissions | None, audit: AuditLog | None, character: str
) -> Callable[[Session], Agent] | None:
    """Returns a function that makes the agent of a session; None without tools."""
    given = tools if isinstance(tools, str | bytes) else [*tools]
    if not given and permissions is None and audit is None:
        return None
    from ..agent import Agent, AuditLog, Permissions
    from ..agent.toolbox import Toolbox

    kit: dict[str, Any] = {
        "tools": [*Toolbox(given)],
        "permissions": Permissions() if permissions is None else permissions,
        "audit": AuditLog() if audit is None else audit,
        "character": character,
    }
    return lambda session: Agent(session, **kit)
