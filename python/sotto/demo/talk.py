"""Typed input of the demo: addressed characters, questions and /commands."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from ..errors import ArgumentError
from .character import Character
from .listen import Source, nobody
from .personas import find
from .scene import Scene
from .view import View

EVERYBODY = ("everybody", "everyone", "all")
_ADDRESS = re.compile(r"@?(\w[\w'-]*(?: \w[\w'-]*)?)\s*(?:[,:]\s*(.*)|$)", re.S)


class Command(NamedTuple):
    """A /command. `takes`: name of its argument, or empty; `what`: help text; `run`: implementation."""

    takes: str
    what: str
    run: Callable[[Talk, str], None]


class Talk:
    """Handles typed lines: the user plays the visitor. Call `frame()` once per frame; it never blocks."""

    def __init__(self, scene: Scene, view: View, source: Source) -> None:
        self.scene, self.view, self.source = scene, view, source
        self.to = [scene.characters[0]]
        self.left = False

    @property
    def going(self) -> bool:
        """True while more input from the visitor, or the rest of an answer to piped lines, can come."""
        return not self.left and not (self.source.ended and (self.source.editor or self.scene.quiet))

    @property
    def whom(self) -> str:
        """Name of the addressed character, or "everybody"."""
        return self.to[0].called if len(self.to) == 1 else EVERYBODY[0]

    def greet(self) -> None:
        """Prints the place, the time and a hint about the /commands."""
        self.view.say(f"You are at {self.scene.tavern.place}; {self.scene.tavern.time}.")
        self.view.say("/who is here, /to NAME or a name and a comma turn to somebody, /help, /quit.")

    def frame(self) -> None:
        """Handles the lines typed since the last frame.

        Raises `ArgumentError` if stdin is not a terminal and ended without a line.
        """
        for line in self.source.take(quiet=self.scene.quiet):
            try:
                self._hear(line)
            except ArgumentError as error:
                self.view.wrong(str(error))
        if not self.source.spoke and self.source.editor is None and self.source.silent():
            raise nobody()

    def address(self, name: str, *, whole: bool) -> bool:
        """Addresses a character, or all of them, from now on. Returns false if no name matches.

        `whole`: accepts only a full name or a whole word of it, not its first letters.
        """
        names = [one.name for one in self.scene.characters]
        if name.casefold() in EVERYBODY:
            self.to = list(self.scene.characters)
            return True
        number = find(name, names)
        if number is None or (whole and not _is_word(name, names[number])):
            return False
        self.to = [self.scene.characters[number]]
        return True

    def _hear(self, line: str) -> None:
        if line.startswith("/") and not line.startswith("//"):
            name, _, rest = line.partition(" ")
            self._command(name, rest.strip())
            return
        said = line[1:] if line.startswith("//") else line
        addressed = _ADDRESS.match(said)
        if addressed and self.address(addressed[1], whole=True):
            said = _upper(addressed[2] or "")
            if not said:
                self.view.say(f"({self.whom} listens)")
        if said.strip():
            self._ask(said.strip())

    def _ask(self, text: str) -> None:
        self.view.asked(self.whom, text)
        for character in self.to:
            self.scene.ask(character, text)

    def _command(self, name: str, rest: str) -> None:
        command = COMMANDS.get(name)
        if command is None:
            raise ArgumentError(
                f"invalid command '{name}': expected one that /help lists; // begins a line with a /"
            )
        if rest and not command.takes:
            raise ArgumentError(f"invalid argument '{rest}' of {name}: expected none")
        if not rest and command.takes:
            raise ArgumentError(f"missing argument of {name}: expected {command.takes}")
        command.run(self, rest)


def _is_word(name: str, whole: str) -> bool:
    return name.casefold() == whole.casefold() or name.casefold() in whole.casefold().split()


def _who(talk: Talk, rest: str) -> None:
    for one in talk.scene.characters:
        talk.view.say(
            f"  {_mark(talk, one)} {one.name}, {one.persona.about('Role')}, {one.persona.about('Mood')}"
        )
    talk.view.say(f"  Ask them, say: {talk.to[0].called}, {talk.to[0].persona.questions[0]}")


def _mark(talk: Talk, one: Character) -> str:
    return ">" if one in talk.to else " "


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _to(talk: Talk, rest: str) -> None:
    if not talk.address(rest, whole=False):
        names = ", ".join(one.called for one in talk.scene.characters)
        raise ArgumentError(f"invalid character '{rest}': expected {names} or {EVERYBODY[0]}")
    talk.view.say(f"({talk.whom} listens)")


def _help(talk: Talk, rest: str) -> None:
    for name, command in COMMANDS.items():
        talk.view.say(f"  {name + ' ' + command.takes:<12} {command.what}")
    talk.view.say("  A name and a comma before a line turn to somebody: Brenna, what news?")


def _quit(talk: Talk, rest: str) -> None:
    talk.left = True


COMMANDS = {
    "/who": Command("", "who is here, and who listens", _who),
    "/to": Command("NAME", "turn to somebody, or to everybody", _to),
    "/help": Command("", "this", _help),
    "/quit": Command("", "leave, as Ctrl-D and Ctrl-C do", _quit),
}
