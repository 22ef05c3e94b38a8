"""`sotto chat`: talks to a model, at an interactive prompt or with one question."""

from .command import add_arguments, run

__all__ = ["add_arguments", "run"]
