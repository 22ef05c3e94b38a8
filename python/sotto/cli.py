"""The `sotto` command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

USAGE, FAILURE, INTERRUPTED = 2, 1, 130  # exit statuses


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command. Returns its exit status."""
    from .errors import ArgumentError, SottoError

    arguments = parser().parse_args(argv)
    try:
        status = int(arguments.run(arguments))
        sys.stdout.flush()
        return status
    except ArgumentError as error:
        return fail(str(error), USAGE)
    except SottoError as error:
        return fail(str(error), FAILURE)
    except BrokenPipeError:  # whoever read our output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    except KeyboardInterrupt:
        return INTERRUPTED


def parser() -> argparse.ArgumentParser:
    """Everything that the command understands."""
    from . import __version__
    from .commands import bench, chat, doctor, models, plan, replay
    from .demo import command as demo

    whole = argparse.ArgumentParser(prog="sotto", description="Characters that speak beside a game.")
    whole.add_argument("--version", action="version", version=f"sotto {__version__}")
    commands = whole.add_subparsers(dest="command", required=True)
    for name, module, what in (
        ("chat", chat, "talk to a model, or to one of the demo's characters"),
        ("models", models, "what models there are here; fetch one, look at one, check a file"),
        ("plan", plan, "how a model would fit into so much memory, found out without loading it"),
        ("demo", demo, "a tavern of characters beside a 60 FPS game; counts its frames"),
        ("bench", bench, "how fast a model runs here, and what it costs a game; a report to send"),
        ("replay", replay, "whether what was decided in a recorded run would be decided again"),
        ("doctor", doctor, "what this machine has, and what Sotto found on it"),
    ):
        command = commands.add_parser(name, help=what, description=what)
        command.set_defaults(run=module.run)
        module.add_arguments(command)
    return whole


def fail(why: str, status: int) -> int:
    """Says what went wrong."""
    print(f"sotto: {why}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
