"""A model, a conversation with it, and how its answers are to be."""

from __future__ import annotations

import json
from typing import Any

from ..._hub import HOUSE
from ...demo.personas import Persona, find, personas
from ...demo.rules import HOUSE_SAMPLING
from ...engine import Engine
from ...errors import ArgumentError
from .. import progress
from .answer import Answer, ask
from .conversation import Conversation
from .settings import Settings
from .view import View

AS_DEMO = {"temperature": 0}  # how the demo's characters speak
HOUSE_DEFAULTS = {**HOUSE_SAMPLING, "max_tokens": 128}  # JSON answers included


class Talk:
    """What the prompt and the one-shot command share."""

    def __init__(self, engine: Engine, options: dict[str, Any] | None, view: View) -> None:
        self.engine, self.options, self.view = engine, options, view
        self.conversation = Conversation()
        self.settings = Settings(engine)
        self.model = ""
        self.facts: dict[str, Any] = {}
        self.last: Answer | None = None
        self.tps = 0.0

    def load(self, model: str) -> None:
        """Loads a model in place of the one that is there. Raises, and keeps that one, if it cannot."""
        if model == self.model:
            return
        progress.load(self.engine, model, options=self.options)
        before, self.model = self.model, model
        self.settings.defaults = dict(HOUSE_DEFAULTS) if model == HOUSE else {}
        self.facts = next(one for one in json.loads(self.engine.model_list()) if one["id"] == model)
        if before:
            self.engine.unload_model(before)

    def play(self, name: str) -> Persona:
        """Talks to one of the demo's characters from now on."""
        persona = find_persona(name)
        self.conversation = Conversation(persona.system)
        return persona

    def pace(self, tps: float) -> None:
        """Tokens per second; 0: as fast as it goes."""
        self.engine.set_target_tps(tps)
        self.tps = tps

    def request(self) -> dict[str, Any]:
        """The OpenAI request for the next answer."""
        return {"model": self.model, "messages": self.conversation.messages(), **self.settings.fields}

    def answer(self, question: str) -> Answer:
        """Asks, shows the answer while it comes, and remembers both. Raises, and forgets, if it fails."""
        self.conversation.say(question)
        try:
            answer = ask(self.engine, self.request(), self.view.hear, self.view.reading)
        except BaseException:
            self.conversation.undo()
            raise
        self.view.ends(answer)
        self.conversation.answered(answer.text)
        self.last = answer
        return answer


def find_persona(name: str) -> Persona:
    """The character of this name, or whose name has a word that begins so."""
    everybody = personas()
    number = find(name, [one.name for one in everybody])
    if number is not None:
        return everybody[number]
    names = ", ".join(one.name for one in everybody)
    raise ArgumentError(f"there is no character {name!r}; there are {names}")


def introduce(persona: Persona) -> str:
    """Returns a note that names the default character."""
    return f"Default character: {persona.name}, the demo's {persona.about('Role')}"
