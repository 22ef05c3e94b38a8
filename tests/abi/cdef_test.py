"""Compares what cffi makes of the generated declarations with the layout, and calls back through them."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent


def generated() -> ModuleType:
    """`sotto._cdef` by itself: the package around it would want a library."""
    spec = importlib.util.spec_from_file_location("_cdef", HERE.parents[1] / "python/sotto/_cdef.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def differences(ffi: Any, layout: dict[str, Any]) -> list[str]:
    found = [n for n, struct in layout["structs"].items() if ffi.sizeof(n) != struct["size"]]
    for name, struct in layout["structs"].items():
        found += [f"{name}.{f}" for f, _, offset in struct["fields"] if ffi.offsetof(name, f) != offset]
    numbers = {name: value for name, value in layout["constants"].items() if isinstance(value, int)}
    return found + [name for name, value in numbers.items() if ffi.integer_const(name) != value]


def calls_back(ffi: Any) -> bool:
    heard = []

    def write(self: Any, level: int, message: Any) -> None:
        heard.append((level, bytes(ffi.buffer(message.data, message.size))))

    kept = ffi.callback("sotto_log_fn", write)
    sink = ffi.new("sotto_log_sink *", {"write": kept})
    text = ffi.new("char[]", b"hello")
    sink.write(ffi.NULL, 3, {"data": text, "size": 5})
    return heard == [(3, b"hello")]


def problems() -> list[str]:
    """Everything that cffi sees otherwise."""
    before = set(sys.modules)
    module, layout = generated(), json.loads((HERE / "layout.json").read_text())
    loaded = {name.split(".")[0] for name in set(sys.modules) - before} & {"cffi", "pycparser"}
    wrong = [f"cffi: {what} differs" for what in differences(module.ffi, layout)]
    wrong += [f"cffi: importing it loads {name}" for name in loaded]
    wrong += [] if calls_back(module.ffi) else ["cffi: a callback hears something else"]
    return wrong + ([] if layout["version"] == module.VERSION else ["cffi: another version"])


def main() -> int:
    wrong = problems()
    print("\n".join(wrong) or "cffi: lays out as the compiler does")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
