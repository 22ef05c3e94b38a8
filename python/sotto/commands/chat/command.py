"""Entry point of `sotto chat`: parses the arguments, then starts the prompt or answers one question."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from ..._hub import OURS, default_model
from ...demo.personas import Persona, personas
from ...engine import Engine
from ...errors import ArgumentError
from .. import arguments as types
from .. import screen
from .prompt import converse
from .talk import AS_DEMO, Talk, find_persona, introduce
from .view import View

_STOPPED = 130
_FIELDS = ("temperature", "max_tokens", "seed")  # settings with an argument of their own


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto chat` to `parser`."""
    parser.add_argument(
        "model",
        nargs="?",
        help="a GGUF file or a Hugging Face id (sotto/tavern if it is on this machine, else sotto/house)",
    )
    parser.add_argument(
        "--prompt",
        metavar="TEXT",
        help="ask this, print the answer, and leave (without a terminal: all of stdin is one question)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one OpenAI chat completion; needs a prompt, or a pipe"
    )
    who = parser.add_mutually_exclusive_group()
    who.add_argument("--system", metavar="TEXT", help='the system message; "": none')
    who.add_argument(
        "--as",
        dest="persona",
        metavar="NAME",
        help="talk to one of the demo's characters (Sotto's models without --system: Brenna)",
    )
    parser.add_argument("--temperature", type=types.number, metavar="T", help="0: the likeliest words only")
    parser.add_argument(
        "--max-tokens", type=types.count(1, 2**31 - 1), metavar="N", help="the longest answer"
    )
    parser.add_argument("--seed", type=types.count(0, 2**32 - 1), metavar="N", help="makes chance repeatable")
    parser.add_argument(
        "--target-tps", type=types.pace, default=0.0, metavar="N", help="tokens a second; 0: all it can (0)"
    )
    parser.add_argument("--options", metavar="JSON", help='how to load the model, like {"context": 4096}')
    types.add_engine_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Runs the chat. Returns the exit status; 130 if Ctrl-C stopped the answer to a single question."""
    arguments.model = arguments.model or default_model()
    if arguments.persona is not None:
        find_persona(arguments.persona)
    at_prompt = arguments.prompt is None and sys.stdin.isatty()
    if at_prompt and arguments.json:
        raise ArgumentError("missing --prompt: --json expects --prompt TEXT or a question from a pipe")
    question = "" if at_prompt else _question(arguments)
    options = None if arguments.options is None else types.json_object("--options", arguments.options)
    with Engine(**types.engine_options(arguments), mode="prioritize_compute") as engine:
        talk = Talk(engine, options, View())
        default = _prepare(talk, arguments)
        if default is not None and not at_prompt:
            screen.complain(f"sotto: {introduce(default)}; --as NAME or --system TEXT chooses another")
        talk.load(arguments.model)
        if at_prompt:
            return converse(talk, default)
        return _once(talk, question, as_json=arguments.json)


def _prepare(talk: Talk, arguments: argparse.Namespace) -> Persona | None:
    """Sets the system message, the settings and the pace.

    Returns the default character, which plays if the user chose a model of Sotto without a character or a
    system message. Returns None in all other cases.
    """
    asked: dict[str, Any] = {name: getattr(arguments, name) for name in _FIELDS}
    default = None
    if arguments.persona is not None:
        talk.play(arguments.persona)
        asked = {**AS_DEMO, **{name: value for name, value in asked.items() if value is not None}}
    elif arguments.system is None and arguments.model in OURS:
        default = talk.play(personas()[0].name)
    else:
        talk.conversation.system = arguments.system or ""
    for name, value in asked.items():
        if value is not None:
            talk.settings.set(name, value)
    talk.pace(arguments.target_tps)
    return default


def _question(arguments: argparse.Namespace) -> str:
    if arguments.prompt is not None:
        question = str(arguments.prompt)
    else:
        try:
            question = sys.stdin.buffer.read().decode()
        except UnicodeDecodeError as error:
            raise ArgumentError(
                f"invalid input: expected UTF-8; {error.reason} at byte {error.start}"
            ) from None
    if not question.strip():
        raise ArgumentError("the question is empty; pass --prompt TEXT, or pipe the question")
    return question.strip()


def _once(talk: Talk, question: str, *, as_json: bool) -> int:
    if not as_json:
        return _STOPPED if talk.answer(question).stopped else 0
    talk.conversation.say(question)
    response = json.loads(talk.engine.llm_chat_completion(talk.request()))
    screen.say(screen.dump(response))
    return 0
