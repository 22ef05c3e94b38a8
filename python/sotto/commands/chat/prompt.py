"""The prompt loop: reads a line, answers it, repeats."""

from __future__ import annotations

import contextlib

from ..._hub import OURS
from ...demo.personas import Persona
from ...errors import SottoError
from . import slash
from .line import Lines
from .talk import Talk, introduce
from .view import BOLD

_LEAVE = ("/exit", "/quit", "/bye")


def converse(talk: Talk, default: Persona | None = None) -> int:
    """Runs the interactive chat until the user leaves, and returns the exit status.

    `default`: the character that answers because the user chose none. None: the user chose one, or there is
    no default.
    """
    talk.view.note(f"{slash.describe(talk)}. /help lists the commands, Ctrl-D leaves.")
    if default is not None:
        talk.view.note(
            f"{introduce(default)}; /as NAME or /system TEXT chooses another. Try: {default.questions[0]}"
        )
    elif talk.model in OURS and not talk.conversation.system:
        talk.view.note("This model plays characters: /as Brenna lets you talk to an innkeeper.")
    warned = False
    with Lines(slash.WORDS) as lines:
        while True:
            try:
                text = _read(talk, lines)
            except EOFError:
                return 0
            except KeyboardInterrupt:
                if warned:
                    return 0
                warned = True
                talk.view.note("(Ctrl-C once more, or Ctrl-D, leaves)")
                continue
            warned = False
            if text in _LEAVE:
                return 0
            _hear(talk, text)


def _read(talk: Talk, lines: Lines) -> str:
    text = lines.read("> ", BOLD if talk.view.colours else "").strip()
    if text != "/multi":
        return text
    talk.view.note("(several lines; /end or Ctrl-D ends them, Ctrl-C drops them)")
    written = []
    with contextlib.suppress(EOFError):
        while (line := lines.read(". ")).strip() != "/end":
            written.append(line)
    text = "\n".join(written).strip()
    return "/" + text if text.startswith("/") else text


def _hear(talk: Talk, text: str) -> None:
    try:
        if text.startswith("/") and not text.startswith("//"):
            slash.run(talk, text)
        elif text:
            talk.answer(text[1:] if text.startswith("//") else text)
    except SottoError as error:
        talk.view.wrong(str(error))
    except KeyboardInterrupt:  # Ctrl-C while a model loads
        talk.view.line("")
        talk.view.note("(stopped)")
