"""`sotto models`: what there is here, fetching one, looking at one, checking a file."""

from .command import add_arguments, run

__all__ = ["add_arguments", "run"]
