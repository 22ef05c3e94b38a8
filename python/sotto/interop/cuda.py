"""Converts CUDA contexts of the `cuda-python` package (`pip install sotto-runtime[cuda]`).

>>> from cuda.bindings import driver
>>> from sotto.interop import cuda
>>> engine.attach_gpu(cuda.renderer(context))  # a driver.CUcontext, or a cuda.core Device or Context
"""

from __future__ import annotations

from typing import Any

from .._values import wrong_type
from ..errors import ArgumentError
from ..gpu import Cuda


def renderer(context: object = None) -> Cuda:
    """Converts a CUDA context for `Engine.attach_gpu()`.

    Args:
        context: a `driver.CUcontext`, or a `Device` or `Context` of `cuda.core`. None: the current context of
            the calling thread.

    Raises:
        ArgumentError: the context is NULL, or `context` is None and the thread has no current context.
        TypeError: `context` has another type.
        ImportError: the package `cuda-python` is missing.
    """
    driver = _driver()
    if context is None:
        error, found = driver.cuCtxGetCurrent()
        if error != driver.CUresult.CUDA_SUCCESS or int(found) == 0:
            raise ArgumentError(
                "missing context: expected a CUDA context, because this thread has no current one"
            )
        return Cuda(int(found))
    for name in ("context", "_handle", "handle"):  # attributes of cuda.core's Device and Context
        if not isinstance(context, driver.CUcontext) and (inner := getattr(context, name, None)) is not None:
            context = inner
    if not isinstance(context, driver.CUcontext):
        raise wrong_type(
            "context", context, "a cuda.bindings.driver.CUcontext, or a Device or Context of cuda.core"
        )
    if int(context) == 0:
        raise ArgumentError("invalid context 'NULL': expected a CUcontext; create the context first")
    return Cuda(int(context))


def _driver() -> Any:
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise ImportError(
            "sotto.interop.cuda needs the package cuda-python; pip install sotto-runtime[cuda]"
        ) from error
    return driver
