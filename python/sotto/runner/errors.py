"""`RunnerError`: what calls of a `Runner` raise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import SottoError, Status


class RunnerError(SottoError, ValueError):
    """A call of a `Runner` failed. Also a `ValueError`, as in the reference interface."""

    def __init__(self, message: str, status: int = Status.ARGUMENT) -> None:
        super().__init__(message, status)


@contextmanager
def translated() -> Iterator[None]:
    """Context manager that raises Sotto's errors as `RunnerError`, with their text and status."""
    try:
        yield
    except RunnerError:
        raise
    except SottoError as error:
        raise RunnerError(str(error), error.status) from error
