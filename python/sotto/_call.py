"""Helpers for calls into the native library: status checks, sized structs and strings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from ._lib import ffi, lib
from .errors import ArgumentError, SottoError

_keep: WeakKeyDictionary[Any, list[Any]] = WeakKeyDictionary()  # keeps targets of pointers alive


def check(status: int, error: type[SottoError] = SottoError) -> int:
    """Returns `status` if it is not negative; otherwise raises the library's last error."""
    if status < 0:
        raise failure(status, text(lib.sotto_last_error()).replace("desc->", ""), error)
    return status


def failure(status: int, message: str, error: type[SottoError], *, refused: bool = False) -> Exception:
    """Returns the exception for a status. `refused`: the request was rejected before any work began."""
    if status == lib.SOTTO_ERROR_ARGUMENT or (refused and status == lib.SOTTO_ERROR_UNSUPPORTED):
        return ArgumentError(message, status)
    return error(message, status)


def new(type_: str) -> Any:
    """Allocates a zeroed `type_`."""
    return ffi.new(type_)


def struct(name: str, /, **fields: Any) -> Any:
    """Allocates a struct, sets `struct_size` and `fields`, and keeps its strings and pointers alive."""
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
    """Allocates an output array of structs. Only the first element needs `struct_size`."""
    made = ffi.new(f"{name}[]", count)
    made[0].struct_size = ffi.sizeof(name)
    return made


def pointer(address: int) -> Any:
    """Returns a `void *` from an address."""
    return ffi.cast("void *", address)


def address_of(pointer_: Any) -> int:
    """Returns the address in a pointer; 0 for NULL."""
    return int(ffi.cast("uintptr_t", pointer_))


def strings(array: Any, count: int) -> list[str]:
    """Returns `count` NUL-terminated strings of an array."""
    return [bytes(ffi.string(array[at])).decode() for at in range(count)]


def function_pointer(type_: str, address: int) -> Any:
    """Returns a function pointer of type `type_` from an address; 0 is NULL."""
    return ffi.cast(type_, address)


def callback(type_: str, function: Callable[..., Any], failed: int | None = None) -> Any:
    """Returns a C function pointer that calls `function`. `failed`: its result if the call itself fails."""
    return ffi.callback(type_, function) if failed is None else ffi.callback(type_, function, error=failed)


def guarded(type_: str, function: Callable[..., Any], failed: int, raised: list[BaseException]) -> Any:
    """Returns a C function pointer that returns `failed`, and appends to `raised`, if `function` raises."""

    def keep(_kind: object, error: BaseException, _trace: object) -> None:
        raised.append(error)

    return ffi.callback(type_, function, error=failed, onerror=keep)


def buffer(type_: str, data: Any, *, writable: bool = False) -> Any:
    """Returns an array of `type_` that is the memory of a C-contiguous buffer, which it keeps alive."""
    return ffi.from_buffer(type_, data, require_writable=writable)


def array(type_: str, values: Any) -> Any:
    """Returns a new array of `type_`: its values, or its length."""
    return ffi.new(type_, values)


def unpack(values: Any, count: int) -> list[Any]:
    """Returns the first `count` values of an array."""
    return list(ffi.unpack(values, count))


def as_handle(held: object) -> Any:
    """Returns a `void *` that stands for an object, valid as long as both live."""
    return ffi.new_handle(held)


def of_handle(handle: Any) -> Any:
    """Returns the object that a `void *` of `as_handle()` stands for."""
    return ffi.from_handle(handle)


def utf8(name: str, value: str | bytes) -> Any:
    """Returns a `sotto_str *` of `value`, which keeps its bytes alive."""
    bytes_ = ffi.from_buffer("char[]", value if isinstance(value, bytes) else encode(name, value))
    made = ffi.new("sotto_str *", {"data": bytes_, "size": len(bytes_)})
    _keep[made] = [bytes_]
    return made


def encode(name: str, value: str) -> bytes:
    """Returns `value` as UTF-8. Raises `ArgumentError` for a lone surrogate."""
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(
            f"invalid {name}: expected Unicode text; {error.reason} at {error.start}"
        ) from None


def blob(data: Any) -> bytes:
    """Returns a copy of the bytes of a `sotto_str`."""
    return bytes(ffi.buffer(data.data, data.size)) if data.size else b""


def text(view: Any) -> str:
    """Copies a `sotto_str` that the library owns."""
    return bytes(ffi.buffer(view.data, view.size)).decode(errors="replace") if view.size else ""
