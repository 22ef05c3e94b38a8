"""Quantization: writes a model's file in a smaller type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ._asking import Asks
from ._desc import StrPath, path_text
from ._handle import Request
from ._json import load
from ._lib import lib
from ._values import string, whole
from .errors import SottoError

_MAX_THREADS = 512

Advance = Callable[[float], None]  # called with a fraction from 0 to 1


class Quantized(NamedTuple):
    """A file that was quantized.

    Attributes:
        path: The new file.
        type: Its type.
        bytes: Its size.
        source_bytes: Size of the file that it was made from.
    """

    path: str
    type: str
    bytes: int
    source_bytes: int


class Quantizes(Asks):
    """Part of `Engine`: quantization of model files."""

    def quantize(
        self,
        path: StrPath,
        to_path: StrPath,
        *,
        type: str,
        imatrix: StrPath | None = None,
        threads: int = 0,
        progress: Advance | None = None,
    ) -> Quantized:
        """Writes a model's file in a smaller type, and waits until it is on the disk. Models go on meanwhile.

        The new file equals what llama-quantize writes. It appears under its name only when it is complete; an
        exception in `progress`, such as `KeyboardInterrupt`, cancels the work; unless the fraction was 1, it
        leaves no file.

        Args:
            path: A GGUF file in F32, F16 or BF16.
            to_path: The new file; replaces an earlier one.
            type: "Q4_K_M", "Q8_0" or another type of llama-quantize, in any case.
            imatrix: A text in UTF-8 to measure an importance matrix on, or a matrix that llama-imatrix wrote.
                Types of about 2 bits need one.
            threads: Maximum threads, up to 512. 0: one per core.
            progress: Called with a fraction from 0 to 1.

        Returns:
            The new file, its type, and the sizes of both files in bytes.

        Raises:
            ValueError: The type is unknown or needs an importance matrix, the model is quantized already, or
                `to_path` is `path`, a folder, a link or a device.
            SottoError: A file cannot be read, is damaged, or cannot be written, such as on a full disk; an
                earlier file at `to_path` is unchanged.
        """
        body = quantize_body(path, to_path, type, imatrix, threads)
        desc = self._request_desc("quantize", body, lib.SOTTO_REQUEST_PRIVATE, {})
        request = Request(self._handle, SottoError, lib.sotto_engine_submit, desc)
        return read_quantized(request.finish(progress).json)


def quantize_body(
    path: StrPath, to_path: StrPath, type: str, imatrix: StrPath | None, threads: int
) -> dict[str, Any]:
    """Returns the request's body. Raises `ArgumentError` for an invalid argument."""
    body = {
        "path": path_text("path", path),
        "to_path": path_text("to_path", to_path),
        "type": string("type", type),
    }
    if imatrix is not None:
        body["imatrix"] = path_text("imatrix", imatrix)
    return {**body, "threads": whole("threads", threads, _MAX_THREADS)}


def read_quantized(response: str) -> Quantized:
    """Reads the result of `quantize`."""
    return Quantized(**load(response))
