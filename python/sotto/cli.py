"""The `sotto` command."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

USAGE, FAILURE, INTERRUPTED = 2, 1, 130  # exit statuses


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    try:
        from .commands import standard

        standard.prepare()
        try:
            return standard.leave(_run(argv))
        except SystemExit as leaving:  # raised by the parser
            raise SystemExit(standard.leave(int(leaving.code or 0))) from None
        except BrokenPipeError:  # the reader of the output has exited, as `head` does
            return standard.leave(FAILURE)
        except OSError as error:
            where = f"{error.filename}: " if error.filename is not None else "reading or writing failed: "
            return standard.leave(fail(f"{where}{error.strerror or error}", FAILURE))
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(argv: Sequence[str] | None) -> int:
    from .commands import standard
    from .commands.suggest import explain
    from .errors import ArgumentError, SottoError

    whole = parser()
    if not (sys.argv[1:] if argv is None else argv):
        whole.print_help(sys.stderr)
        return USAGE
    arguments = whole.parse_args(argv)
    standard.interruptible()
    try:
        return int(arguments.run(arguments))
    except ArgumentError as error:
        return fail(str(error), USAGE)
    except SottoError as error:
        return fail(explain(error, _model(arguments)), FAILURE)


def _model(arguments: argparse.Namespace) -> str | None:
    """Returns the model that a command was given, if it is one."""
    given = getattr(arguments, "model", None)
    if isinstance(given, list):
        given = given[0] if len(given) == 1 else None
    return None if given is None else str(given)


class _Parser(argparse.ArgumentParser):
    """Suggests the closest command; prints through `screen`, so that a failure to write is an error."""

    def error(self, message: str) -> NoReturn:
        from .commands.suggest import closest

        unknown = re.fullmatch(r"argument command: invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if unknown is not None and (near := closest(unknown[1], re.findall(r"\w+", unknown[2]))):
            message += f"; did you mean '{near}'?"
        super().error(message)

    def _print_message(self, message: str, file: Any = None) -> None:
        from .commands import screen

        if file is sys.stderr or file is None:
            screen.complain(message, end="")
        else:
            screen.say(message, end="")


def parser() -> argparse.ArgumentParser:
    """Returns the argument parser of the `sotto` command."""
    from . import __version__
    from .commands import (
        bench,
        chat,
        config,
        convert,
        doctor,
        fleet,
        image,
        mcp,
        models,
        plan,
        replay,
        serve,
        transcribe,
        translate,
    )
    from .demo import command as demo

    whole = _Parser(
        prog="sotto",
        description="Characters that speak beside a game.",
        epilog="Start with `sotto demo` or `sotto chat`. `sotto COMMAND --help` lists a command's options.",
    )
    whole.add_argument("--version", action="version", version=f"sotto {__version__}")
    commands = whole.add_subparsers(dest="command", required=True)
    for name, module, what in (
        ("chat", chat, "talk to a model, or to one of the demo's characters"),
        ("models", models, "what models there are here; fetch one, look at one, check a file"),
        ("plan", plan, "how a model would fit into a memory budget, without loading it"),
        ("demo", demo, "a tavern of characters beside a 60 FPS game; counts its frames"),
        ("bench", bench, "how fast a model runs here, and what it costs a game; a report to send"),
        ("serve", serve, "a server for clients of OpenAI's API and of llama.cpp's server"),
        ("fleet", fleet, "a control plane for machines that serve players: workloads, keys, quotas"),
        ("mcp", mcp, "a server of the Model Context Protocol, whose tools are characters that talk"),
        ("image", image, "images from a prompt, and images without their background"),
        ("transcribe", transcribe, "speech in files to text or subtitles, with a Whisper model"),
        ("convert", convert, "a Hugging Face model or a GGUF file into a folder for CTranslate2"),
        ("translate", translate, "the dialogue of a game into other languages; placeholders and tags stay"),
        ("replay", replay, "whether what was decided in a recorded run would be decided again"),
        ("config", config, "compiler and linker flags for C and C++, and folders for CMake and pkg-config"),
        ("doctor", doctor, "what this machine has, and what Sotto found on it"),
    ):
        command = commands.add_parser(name, help=what, description=what)
        command.set_defaults(run=module.run)
        module.add_arguments(command)
    return whole


def fail(why: str, status: int) -> int:
    """Prints an error message and returns `status`."""
    from .commands import screen

    screen.complain(f"sotto: {why}")
    return status


if __name__ == "__main__":
    sys.exit(main())
