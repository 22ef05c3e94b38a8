"""`sotto image`: generates images from a prompt, and removes backgrounds."""

from .command import add_arguments, run

__all__ = ["add_arguments", "run"]
