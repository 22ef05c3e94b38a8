"""`sotto bench`: how fast a model runs here, and what it costs a game."""

from .command import add_arguments, run

__all__ = ["add_arguments", "run"]
