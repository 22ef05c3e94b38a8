"""`sotto fleet`: a control plane that runs workloads and serves them to clients with keys."""

from .command import add_arguments, run

__all__ = ["add_arguments", "run"]
