"""`sotto bench`: measures a model's speed on this machine and its effect on a game's frame times."""

from .command import add_arguments, run

__all__ = ["add_arguments", "run"]
