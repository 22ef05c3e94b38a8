"""State of a chat: the model, the conversation and the request settings."""

from __future__ import annotations

import json
from typing import Any

from ..._hub import OURS
from ...demo.personas import Persona, find, personas
from ...engine import Engine
from ...errors import ArgumentError
from ...npc.sampling import CHARACTER_SAMPLING
from .. import progress
from .answer import Answer, ask
from .conversation import Conversation
from .settings import Settings
from .view import View

AS_DEMO = {"temperature": 0}  # settings of the demo's characters
CHARACTER_DEFAULTS = {**CHARACTER_SAMPLING, "max_tokens": 128}  # JSON answers included
# Small models need a cut-off of unlikely tokens, which requests do not have by default.
OTHER_DEFAULTS = {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05}


class Talk:
    """State that the interactive prompt and the one-question mode share."""

    def __init__(self, engine: Engine, options: dict[str, Any] | None, view: View) -> None:
        self.engine, self.options, self.view = engine, options, view
        self.conversation = Conversation()
        self.settings = Settings(engine)
        self.model = ""
        self.facts: dict[str, Any] = {}
        self.last: Answer | None = None
        self.tps = 0.0

    def load(self, model: str) -> None:
        """Loads a model, then unloads the previous one. Raises and keeps that one if loading fails."""
        if model == self.model:
            return
        progress.load(self.engine, model, options=self.options)
        before, self.model = self.model, model
        self.settings.defaults = dict(CHARACTER_DEFAULTS if model in OURS else OTHER_DEFAULTS)
        self.facts = next(one for one in json.loads(self.engine.model_list()) if one["id"] == model)
        if before:
            self.engine.unload_model(before)

    def play(self, name: str) -> Persona:
        """Starts a new conversation with a demo character. Raises `ArgumentError` if the name is unknown."""
        persona = find_persona(name)
        self.conversation = Conversation(persona.system)
        return persona

    def pace(self, tps: float) -> None:
        """Sets the pace in tokens per second. 0: no pacing."""
        self.engine.set_target_tps(tps)
        self.tps = tps

    def request(self) -> dict[str, Any]:
        """Returns the OpenAI chat completion request for the next answer."""
        return {"model": self.model, "messages": self.conversation.messages(), **self.settings.fields}

    def answer(self, question: str) -> Answer:
        """Asks a question, streams the answer to the view, and appends both to the conversation.

        If the request fails, raises its error and removes the question from the conversation.
        """
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
    """Returns the demo character whose name, or a word of it, equals or starts with `name`, ignoring case.

    Raises `ArgumentError` if no character matches.
    """
    everybody = personas()
    number = find(name, [one.name for one in everybody])
    if number is not None:
        return everybody[number]
    names = ", ".join(one.name for one in everybody)
    raise ArgumentError(f"invalid character '{name}': expected one of {names}")


def introduce(persona: Persona) -> str:
    """Returns a note that names the default character."""
    return f"Default character: {persona.name}, the demo's {persona.about('Role')}"
