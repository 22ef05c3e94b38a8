"""What can go wrong. Each exception carries the library's own words, and its status."""

from __future__ import annotations

INTERNAL, STATE, NOT_FOUND, CANCELLED = -6, -5, -7, -10  # of the SOTTO_ERROR_ values, those that Python knows


class SottoError(Exception):
    """Something failed. `status` is one of the SOTTO_ERROR_ values of `sotto/base.h`."""

    def __init__(self, message: str, status: int = INTERNAL) -> None:
        super().__init__(message)
        self.status = status


AtelicoError = SottoError  # the name under which the reference interface knows it


class ModelLoadError(SottoError):
    """A model could not be found, loaded or unloaded. The message names it and its file."""

    reason = ""  # the message without those names, where they were put before it


class InferenceError(SottoError):
    """A model could not answer, or could not go on."""


class ArgumentError(SottoError, ValueError):
    """An argument is out of range, or asks for what is not supported. Also a `ValueError`."""

    def __init__(self, message: str, status: int = -1) -> None:
        super().__init__(message)
        self.status = status
