"""`sotto chat`: talk to a model, line by line or once."""

from .command import add_arguments, run

__all__ = ["add_arguments", "run"]
