"""Exceptions of `sotto.llama`, and the translation of Sotto's own errors into them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .. import errors as core
from ..errors import Status

CLOSED = "this Llama is closed; create another one"
_TOO_LONG = "tokens, but the model's context holds"  # of the backend's message


class LlamaError(Exception):
    """Base class of all errors of `sotto.llama`."""


class ModelLoadError(LlamaError, ValueError):
    """A model or an adapter could not be loaded. Also a `ValueError`, as in llama-cpp-python."""


class ValidationError(LlamaError, ValueError):
    """An argument is invalid. Also a `ValueError`."""


class GenerationError(LlamaError):
    """The model failed while it answered, or the prompt is longer than the context."""


class ContextError(GenerationError, ValueError):
    """The prompt is longer than the context. Also a `ValueError`, as in llama-cpp-python."""


@contextmanager
def translated(failed: type[LlamaError] = GenerationError) -> Iterator[None]:
    """Context manager that raises Sotto's errors as errors of `sotto.llama`.

    Args:
        failed: Class of the error if a request failed for another reason than its arguments.

    Raises:
        ValidationError: An argument was rejected, or the model does not support it.
        ModelLoadError: A model or an adapter could not be loaded.
        LlamaError: The engine was closed, or the request was cancelled.
    """
    try:
        yield
    except (core.ArgumentError, TypeError) as error:
        raise ValidationError(str(error)) from error
    except core.ModelLoadError as error:
        raise ModelLoadError(str(error)) from error
    except core.SottoError as error:
        raise _kind(error, failed)(str(error)) from error


def _kind(error: core.SottoError, failed: type[LlamaError]) -> type[LlamaError]:
    if error.status in (Status.ARGUMENT, Status.UNSUPPORTED):
        return ValidationError
    if error.status == Status.CANCELLED or (error.status == Status.STATE and "closed" in str(error)):
        return LlamaError
    if failed is GenerationError and _TOO_LONG in str(error):
        return ContextError
    return failed
