"""The `sotto` command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command. Returns its exit status."""
    from . import SottoError, __version__, doctor
    from .demo import command as demo

    parser = argparse.ArgumentParser(prog="sotto", description="Characters that speak beside a game.")
    parser.add_argument("--version", action="version", version=f"sotto {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, module, what in (
        ("demo", demo, "a tavern of characters beside a 60 FPS game; counts its frames"),
        ("doctor", doctor, "what this machine has, and what Sotto found on it"),
    ):
        command = commands.add_parser(name, help=what, description=what)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    arguments = parser.parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except SottoError as error:
        print(f"sotto: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
