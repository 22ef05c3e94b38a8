"""The /commands of the chat prompt."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...errors import ArgumentError, SottoError
from .. import arguments
from ..suggest import explain
from ..text import amount
from .conversation import Conversation
from .settings import NAMES, parse
from .talk import AS_DEMO, Talk


class Command(NamedTuple):
    """A /command. `takes`: its argument ("[...]": optional); `what`: help text; `run`: implementation."""

    takes: str
    what: str
    run: Callable[[Talk, str], None]


def run(talk: Talk, line: str) -> None:
    """Runs a line that begins with a slash. Raises `ArgumentError` if the command or argument is invalid."""
    name, _, rest = line.partition(" ")
    command = COMMANDS.get(name)
    if command is None:
        raise ArgumentError(
            f"invalid command '{name}': expected one that /help lists; // begins a message with a /"
        )
    rest = rest.strip()
    if rest and not command.takes:
        raise ArgumentError(f"invalid argument '{rest}' of {name}: expected none")
    if not rest and command.takes and not command.takes.startswith("["):
        raise ArgumentError(f"missing argument of {name}: expected {command.takes}")
    command.run(talk, rest)


def _help(talk: Talk, rest: str) -> None:
    for name, command in COMMANDS.items():
        talk.view.line(f"  {name + ' ' + command.takes:<20}  {command.what}")
    talk.view.line(f"  {'/multi':<20}  a message of several lines; /end or Ctrl-D ends it")
    talk.view.line(f"  {'/exit':<20}  leave, as Ctrl-D does")
    talk.view.note("  Ctrl-C stops an answer. A message that begins with a slash: write two.")


def _system(talk: Talk, rest: str) -> None:
    talk.conversation.system = rest
    talk.view.note("(system message set)" if rest else "(no system message)")


def _as(talk: Talk, rest: str) -> None:
    persona = talk.play(rest)
    for name, value in AS_DEMO.items():
        talk.settings.values.setdefault(name, value)
    talk.view.note(f"({persona.name} listens. Try: {persona.questions[0]})")


def _reset(talk: Talk, rest: str) -> None:
    talk.conversation = Conversation(talk.conversation.system)
    talk.view.note("(everything forgotten, but for the system message)")


def _undo(talk: Talk, rest: str) -> None:
    question = talk.conversation.undo()
    talk.view.note("(nothing to take back)" if question is None else f"(taken back: {_short(question)})")


def _regen(talk: Talk, rest: str) -> None:
    before = list(talk.conversation.turns)
    question = talk.conversation.undo()
    if question is None:
        raise ArgumentError("no question was asked yet: ask a question first")
    try:
        talk.answer(question)
    except Exception:
        talk.conversation.turns = before
        raise


def _save(talk: Talk, rest: str) -> None:
    talk.view.note(f"({_messages(talk.conversation.save(rest))} written to {rest})")


def _load(talk: Talk, rest: str) -> None:
    talk.view.note(f"({_messages(talk.conversation.load(rest))} read from {rest})")


def _set(talk: Talk, rest: str) -> None:
    name, _, value = rest.partition(" ")
    if not name:
        for known, what in NAMES.items():
            now = talk.settings.fields.get(known, "default")
            talk.view.line(f"  {known:<17} {now!s:<10} {what}")
        talk.view.note('  /set NAME VALUE; VALUE "default" takes it back')
    elif not value.strip():
        raise ArgumentError(f'missing value of /set {name}: expected a value or "default"')
    else:
        if value.strip() == "default":
            talk.settings.unset(name)
        else:
            talk.settings.set(name, parse(value.strip()))
        talk.view.note(f"({name}: {value.strip()})")


def _model(talk: Talk, rest: str) -> None:
    if rest:
        try:
            talk.load(rest)
        except ArgumentError:
            raise
        except SottoError as error:
            raise SottoError(explain(error, rest), error.status) from error
    talk.view.note(f"({describe(talk)})")


def _tps(talk: Talk, rest: str) -> None:
    try:
        pace = arguments.pace(rest)
    except Exception as error:
        raise ArgumentError(str(error)) from None
    talk.pace(pace)
    talk.view.note(f"({pace:g} tokens a second)" if pace else "(as fast as it goes)")


def _stats(talk: Talk, rest: str) -> None:
    answer = talk.last
    if answer is None:
        raise ArgumentError("no answer was given yet: ask a question first")
    said = f"{answer.tokens} tokens"
    if answer.tps is not None:
        said += f", {answer.tps:.1f} a second"
    if answer.first is not None:
        said += f"; the first after {answer.first * 1000:.0f} ms"
    talk.view.line(f"  answer   {said}")
    if answer.prompt_tokens is not None:
        used, whole = answer.prompt_tokens + answer.tokens, talk.facts["context"]
        talk.view.line(f"  prompt   {answer.prompt_tokens} tokens, {answer.cached_tokens} of them remembered")
        share = f" of {whole} ({used / whole:.0%})" if whole else ""
        talk.view.line(f"  context  {used}{share} tokens used")
    talk.view.line(f"  model    {describe(talk)}")


def describe(talk: Talk) -> str:
    """Returns a short description of the model: id, architecture, size, quantization, context."""
    details = talk.facts["details"]
    words = [talk.model]
    if parameters := details.get("parameters"):
        words.append(f"{details.get('architecture')} of {amount(parameters)} parameters")
    if quantization := details.get("quantization"):
        words.append(quantization)
    if context := talk.facts["context"]:
        words.append(f"context {context}")
    return ", ".join(words)


def _messages(count: int) -> str:
    return f"{count} message" + ("s" if count != 1 else "")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:57] + "..."


COMMANDS = {
    "/help": Command("", "this", _help),
    "/system": Command("[TEXT]", "the system message; without TEXT: none", _system),
    "/as": Command("NAME", "talk to one of the demo's characters", _as),
    "/reset": Command("", "forget what was said", _reset),
    "/undo": Command("", "take the last question back, and its answer", _undo),
    "/regen": Command("", "ask the last question again", _regen),
    "/save": Command("FILE", "write the messages, as JSON", _save),
    "/load": Command("FILE", "go on from messages of a file", _load),
    "/set": Command("[NAME VALUE]", f"how to answer: {', '.join(list(NAMES)[:3])}, ...", _set),
    "/model": Command("[MODEL]", "go on with another model", _model),
    "/tps": Command("N", "speak N tokens a second; 0: as fast as it goes", _tps),
    "/stats": Command("", "figures of the last answer", _stats),
}
WORDS = (*COMMANDS, "/multi", "/exit")
