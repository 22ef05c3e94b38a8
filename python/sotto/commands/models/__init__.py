"""`sotto models`: lists, downloads, checks and describes models."""

from .command import add_arguments, run

__all__ = ["add_arguments", "run"]
