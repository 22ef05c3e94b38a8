"""What every wrapper needs at the boundary: checked calls, sized structs, strings."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from ._lib import ffi, lib
from .errors import ArgumentError, SottoError

_keep: WeakKeyDictionary[Any, list[Any]] = WeakKeyDictionary()  # what a struct points at lives as long as it


def check(status: int, error: type[SottoError] = SottoError) -> int:
    """Returns a status that is no error, raises one that is."""
    if status < 0:
        raise failure(status, text(lib.sotto_last_error()).replace("desc->", ""), error)
    return status


def failure(status: int, message: str, error: type[SottoError], *, refused: bool = False) -> Exception:
    """The exception for a status. `refused`: before any work began, so it lies with who asked."""
    if status == lib.SOTTO_ERROR_ARGUMENT or (refused and status == lib.SOTTO_ERROR_UNSUPPORTED):
        return ArgumentError(message, status)
    return error(message, status)


def new(type_: str) -> Any:
    """A zeroed `type_`."""
    return ffi.new(type_)


def struct(name: str, **fields: Any) -> Any:
    """A struct that knows its size. Zero is every default; strings in it live as long as it does."""
    made = ffi.new(f"{name} *")
    made.struct_size = ffi.sizeof(name)
    for field, value in fields.items():
        if isinstance(value, (str, bytes)):
            view = utf8(field, value)
            _keep.setdefault(made, []).append(view)
            value = view[0]
        elif isinstance(value, ffi.CData) and ffi.typeof(value).kind == "pointer":
            _keep.setdefault(made, []).append(value)
        setattr(made, field, value)
    return made


def structs(name: str, count: int) -> Any:
    """An array of structs to be written to. The first one's size is that of all."""
    made = ffi.new(f"{name}[]", count)
    made[0].struct_size = ffi.sizeof(name)
    return made


def pointer(address: int) -> Any:
    """A `void *` that another library knows as a number."""
    return ffi.cast("void *", address)


def address_of(pointer_: Any) -> int:
    """Where a pointer points; 0 for NULL."""
    return int(ffi.cast("uintptr_t", pointer_))


def strings(array: Any, count: int) -> list[str]:
    """So many texts that end in a NUL."""
    return [bytes(ffi.string(array[at])).decode() for at in range(count)]


def function_pointer(type_: str, address: int) -> Any:
    """The same of a function; 0 is NULL."""
    return ffi.cast(type_, address)


def utf8(name: str, value: str | bytes) -> Any:
    """A `sotto_str *` of `value`. Its bytes live as long as it does."""
    bytes_ = ffi.from_buffer("char[]", value if isinstance(value, bytes) else encode(name, value))
    made = ffi.new("sotto_str *", {"data": bytes_, "size": len(bytes_)})
    _keep[made] = [bytes_]
    return made


def encode(name: str, value: str) -> bytes:
    """The UTF-8 of `value`. A lone surrogate has none."""
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(f"{name} is no Unicode text: {error.reason} at {error.start}") from None


def text(view: Any) -> str:
    """Copies a `sotto_str` that the library owns."""
    return bytes(ffi.buffer(view.data, view.size)).decode(errors="replace") if view.size else ""
