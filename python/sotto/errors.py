"""Exceptions. Each carries the native library's message and status."""

from __future__ import annotations

INTERNAL, STATE, NOT_FOUND, CANCELLED = -6, -5, -7, -10  # SOTTO_ERROR_ values that this package uses


class SottoError(Exception):
    """Base class of all errors. `status` is a SOTTO_ERROR_ value of `sotto/base.h`."""

    def __init__(self, message: str, status: int = INTERNAL) -> None:
        super().__init__(message)
        self.status = status


AtelicoError = SottoError  # its name in the reference interface


class ModelLoadError(SottoError):
    """A model could not be found, loaded or unloaded. The message names the model and its file."""

    reason = ""  # the message without the prefix that names model and file; empty: no prefix was added


class InferenceError(SottoError):
    """A request failed before or while the model answered it."""


class ArgumentError(SottoError, ValueError):
    """An argument is out of range or not supported. Also a `ValueError`."""

    def __init__(self, message: str, status: int = -1) -> None:
        super().__init__(message)
        self.status = status
