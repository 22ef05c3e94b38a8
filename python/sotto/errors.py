"""`Status`, and the exceptions. Each carries the native library's message and status."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """Result of a call or a request: the SOTTO_ statuses of `sotto/base.h`. Negative: failure."""

    OK = 0
    EMPTY = 1  # no event is queued
    ARGUMENT = -1  # a value is out of range, or the request is invalid
    UNSUPPORTED = -2  # valid, but not supported by this build, driver, model or library
    MEMORY = -3  # out of host memory
    BUDGET = -4  # would exceed the memory budget
    STATE = -5  # valid call, but not in the current state
    INTERNAL = -6  # bug in Sotto; please report it
    NOT_FOUND = -7  # no such model, session, live request, card or file
    MODEL = -8  # the file is not a model that an available backend can run
    INFERENCE = -9  # inference started and failed
    CANCELLED = -10  # cancelled, or its model, session, engine or card was closed
    BUSY = -11  # a limit of live objects is reached; take pending events, or wait
    DEVICE = -12  # the graphics card was lost during the request; submit it again
    BLOCKED = -13  # a guardrail of the engine blocked the request's text

    @classmethod
    def _missing_(cls, value: object) -> Status:
        """Returns a member without a name of its own, for statuses of a newer library."""
        if not isinstance(value, int):
            raise ValueError(f"invalid status '{value!r}': expected an integer")
        unknown = int.__new__(cls, value)
        unknown._name_, unknown._value_ = f"STATUS_{value}", value
        return unknown


class SottoError(Exception):
    """Base class of all errors."""

    status: Status

    def __init__(self, message: str, status: int = Status.INTERNAL) -> None:
        super().__init__(message)
        self.status = Status(status)


AtelicoError = SottoError  # its name in the reference interface


class ModelLoadError(SottoError):
    """A model could not be found, loaded or unloaded. The message names the model and its file."""

    reason = ""  # the message without the prefix that names model and file; empty: no prefix was added


class InferenceError(SottoError):
    """A request failed before or while the model answered it."""


class StoreError(SottoError):
    """A store could not be opened, read or written. The message names the store."""


class ArgumentError(SottoError, ValueError):
    """An argument is out of range or not supported. Also a `ValueError`."""

    def __init__(self, message: str, status: int = Status.ARGUMENT) -> None:
        super().__init__(message, status)
