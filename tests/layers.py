"""Fails when a file knows of what its layer may not know, or a file or a class is too large to understand."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import class_rule

ROOT = Path(__file__).resolve().parents[1]
LAYERS = {  # what of ours a native layer may include, beside itself
    "abi": set(),
    "base": {"abi"},
    "device": set(),
    "platform": {"base"},
    "request": set(),
    "text": {"base", "json", "request"},
    "gpu": {"base", "device", "platform"},
    "store": {"base", "platform"},
    "guard": {"base", "text"},
    "json": set(),
    "module": {"base", "device", "platform", "text"},
    "core": {"base", "device", "platform", "request", "text", "gpu", "store", "guard", "module"},
    "api": {"abi", "base", "core", "device", "guard", "json", "platform", "store", "text"},
    "gguf": {"abi"},
    "image": {"abi"},
    "threads": set(),
    "backends": {"abi", "device", "gguf", "image", "json", "request", "threads"},
}
ALL = {
    "base.h",
    "host.h",
    "engine.h",
    "request.h",
    "event.h",
    "session.h",
    "token_session.h",
    "state.h",
    "save_game.h",
    "json.h",
    "model.h",
    "adapter.h",
    "frame.h",
    "trace.h",
    "stats.h",
    "budget.h",
    "index.h",
    "index_search.h",
    "store.h",
    "store_backup.h",
}
MODULE = {"module.h", "module_model.h", "module_quantize.h", "module_slot.h", "module_stream.h"}
ALL |= {"gpu.h", "guard.h", "sotto.h"} | MODULE
PUBLIC = {  # what of include/sotto; where nothing is said, base.h
    "base": {"base.h", "host.h"},
    "gpu": {"base.h", "gpu.h"},
    "module": {"base.h", "host.h"} | MODULE,
    "core": ALL - MODULE - {"sotto.h"},
    "api": ALL,
    "threads": MODULE,
    "backends": {"base.h", "host.h"} | MODULE,
}
SYSTEM = {"platform", "gpu", "threads", "backends"}  # who may include the system's headers
JSON = re.compile(r"native/(json/|text/|core/codec/|backends/)")  # who may include nlohmann's
# Who may include xxHash.
HASH = re.compile(r"native/(core/(state/state_blob|game/game_checksum)|store/index_file|backends/)")
SIMD = re.compile(r"native/store/vector_kernels_(x86|arm)")  # who may include the processors' intrinsics
INTRINSICS = {"immintrin.h", "arm_neon.h"}
ZSTD = re.compile(r"native/core/state/packing")  # who may include zstd
RE2 = re.compile(r"native/guard/regex_")  # who may include RE2
DARTS = re.compile(r"native/guard/automaton")  # who may include darts-clone
GGML = re.compile(r"native/gguf/")  # who, beside the backends, may include ggml
GGML_HEADERS = {"ggml.h", "gguf.h"}
IMAGES = re.compile(r"native/image/")  # who may include the libraries of image files
IMAGE_HEADERS = re.compile(r"webp/|zlib\.h|base64\.hpp|wuffs-unsupported-snapshot\.c")
SQLITE = re.compile(r"native/store/sqlite\.cpp")  # who may include SQLite
SWALLOWS = {"abi", "backends"}  # who may say catch (...)
SWALLOWING_FILES: dict[str, str] = {}  # who else, and why
# Objects that are destroyed as the process ends, while threads may still look at them.
ENDS = re.compile(
    r"^(const|static|static const|    +static|    +static const) "
    r"(std::(string|vector|map|set|deque|unordered_\w+)\b[^&*(]*|[A-Z]\w+ )\w+( =|;|\(.*\);|\{.*\};)$",
    re.M,
)
# Objects that are destroyed before the destructors of static objects, which may call us; see api/lent.hpp.
THREAD_ENDS = re.compile(
    r"^ *(static )?thread_local std::"
    r"(string|vector|map|set|deque|list|unordered_\w+|unique_ptr|shared_ptr|optional)\b.*$",
    re.M,
)
STRUCTS = re.compile(r"\bsotto_(\w+_desc|event)\b")  # of calls; they end at api/
FFI = {"cffi", "_cffi_backend", "_cdef"}
FFI_FILES = {"_lib", "_call", "_cdef"}
BINDGEN = {"cffi", "pycparser", "tomli"}
LINES = {"include": 300, "native": 500, "python": 400, "tests": 400, "unity": 400, "unreal": 400}
SOURCES = {".c", ".h", ".cpp", ".hpp", ".inc", ".py", ".cs"}


def native(path: PurePosixPath, text: str) -> Iterator[str]:
    """What a C++ file of the library includes and says."""
    layer = path.parts[1]
    for quote, name in re.findall(r'^\s*#\s*include\s*(["<])([^">]+)', text, re.M):
        folder = name.split("/")[0]
        if folder == "sotto":
            if name.removeprefix("sotto/") not in PUBLIC.get(layer, {"base.h"}):
                yield f"{layer} may not include {name}"
        elif quote == '"' and folder in LAYERS and "/" in name:
            if folder not in LAYERS[layer] | {layer}:
                yield f"{layer} may not include {folder}"
            elif layer == folder == "backends" and name.split("/")[1] != path.parts[2]:
                yield "one backend may not include another"
        elif folder == "nlohmann":
            if not JSON.match(str(path)):
                yield f"nlohmann belongs in {JSON.pattern}"
        elif folder == "hash":
            if not HASH.match(str(path)):
                yield f"xxHash belongs in {HASH.pattern}"
        elif name == "zstd.h":
            if not ZSTD.match(str(path)):
                yield f"zstd belongs in {ZSTD.pattern}"
        elif name in INTRINSICS:
            if layer not in SYSTEM and not SIMD.match(str(path)):
                yield f"intrinsics belong in {SIMD.pattern}"
        elif folder == "re2":
            if not RE2.match(str(path)):
                yield f"RE2 belongs in {RE2.pattern}"
        elif name == "darts.h":
            if not DARTS.match(str(path)):
                yield f"darts-clone belongs in {DARTS.pattern}"
        elif name in GGML_HEADERS:
            if layer != "backends" and not GGML.match(str(path)):
                yield f"{name} belongs in {GGML.pattern}"
        elif IMAGE_HEADERS.match(name):
            if layer != "backends" and not IMAGES.match(str(path)):
                yield f"{name} belongs in {IMAGES.pattern}"
        elif name == "sqlite3.h":
            if not SQLITE.match(str(path)):
                yield f"SQLite belongs in {SQLITE.pattern}"
        elif layer != "backends" and quote == '"':
            yield f"{name} is no file of a layer"
        elif layer not in SYSTEM and re.search(r"[/.]", name):
            yield f"{layer} may not include {name}, of the system or of others"
    if "catch (...)" in text and layer not in SWALLOWS and str(path) not in SWALLOWING_FILES:
        yield "catch (...) belongs in abi/call.hpp"
    if path.suffix == ".cpp" and (found := ENDS.search(text)):
        yield f"{found[0].strip()} is destroyed while engines may still run; keep it with *new"
    if found := THREAD_ENDS.search(text):
        yield f"{found[0].strip()} is destroyed before static objects; keep it in api/lent.hpp"
    if layer == "core" and (struct := STRUCTS.search(text)):
        yield f"{struct[0]} ends at api/"


def imports(path: PurePosixPath, text: str) -> Iterator[str]:
    """What a Python file imports, with its dots: `from ._lib import ffi` is `._lib.ffi`."""
    for node in ast.walk(ast.parse(text, str(path))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (f"{node.module}." if node.module else "")
            yield from (module + name.name for name in node.names)


def package(path: PurePosixPath, text: str) -> Iterator[str]:
    """Only two modules of the Python package know of cffi; the others have `lib`, and `_call`."""
    for name in imports(path, text):
        parts = re.split(r"\.+", name)
        if path.stem not in FFI_FILES and (set(parts) & FFI or parts[-1] in ("ffi", "_lib")):
            yield f"{name} is for _call alone; go through that"


def bindgen(path: PurePosixPath, text: str) -> Iterator[str]:
    """The generator needs the standard library, cffi and pycparser, and nothing of ours."""
    own = {file.stem for file in (ROOT / "native/bindgen").glob("*.py")}
    for name in imports(path, text):
        if name.split(".")[0] not in own | BINDGEN | sys.stdlib_module_names:
            yield f"bindgen may not import {name}"


def abi(path: PurePosixPath, text: str) -> Iterator[str]:
    """The ABI's tests see what a game sees."""
    for name in re.findall(r'^\s*#\s*include\s*["<]([^">]+)', text, re.M):
        if "/" in name and not name.startswith("sotto/"):
            yield f"tests/abi may not include {name}"


def csharp(path: PurePosixPath, text: str) -> Iterator[str]:
    """What crosses the border is generated, and blittable."""
    for word in ("DllImport", "MarshalAs"):
        if re.search(rf"\[\s*{word}\b", text) and ".g." not in path.name:
            yield f"[{word}] belongs in Native.g.cs"


def violations(path: PurePosixPath, text: str) -> list[str]:
    """Everything that is wrong with one file."""
    found: list[str] = []
    generated = ".g." in path.name or path.name == "_cdef.py"
    if not generated and (count := text.count("\n")) > LINES[path.parts[0]]:
        found.append(f"{count} lines; split it")
    if path.parts[0] == "native" and path.suffix in (".c", ".h", ".cpp", ".hpp"):
        if path.parts[1] in LAYERS:
            found += native(path, text)
        else:
            found.append("native has no such layer")
    elif path.parts[:2] == ("native", "bindgen"):
        found += bindgen(path, text)
    elif path.parts[0] == "python" and path.suffix == ".py":
        found += package(path, text)
    elif path.parts[:2] == ("tests", "abi") and path.suffix in (".c", ".cpp", ".hpp"):
        found += abi(path, text)
    elif path.suffix == ".cs":
        found += csharp(path, text)
    return [f"{path}: {what}" for what in found]


OFFENCES = {
    "native/core/a.cpp": '#include "api/boundary.hpp"\n',
    "native/base/a.hpp": '#include "platform/file.hpp"\n',
    "native/store/a.cpp": '#include "guard/rules.hpp"\n',
    "native/text/a.cpp": "#include <sotto/request.h>\n",
    "native/core/b.cpp": "#include <sotto/module.h>\n",
    "native/core/c.cpp": "#include <nlohmann/json.hpp>\n",
    "native/core/d.cpp": "#include <unistd.h>\n",
    "native/core/e.cpp": "#include <llama/llama.h>\n",
    "native/core/state/a.cpp": "#include <zstd.h>\n",
    "native/core/i.cpp": "#include <re2/re2.h>\n",
    "native/guard/a.cpp": "#include <darts.h>\n",
    "native/core/f.cpp": '#include "llama.h"\n',
    "native/core/j.cpp": "#include <zlib.h>\n",
    "native/image/a.cpp": '#include "backends/onnx/session.hpp"\n',
    "native/image/c.cpp": "#include <ggml.h>\n",
    "native/gguf/a.cpp": '#include "backends/llama/file/source.hpp"\n',
    "native/store/b.cpp": "#include <sqlite3.h>\n",
    "native/core/g.cpp": "try { x(); } catch (...) {}\n",
    "native/api/b.cpp": "try { x(); } catch (...) {}\n",
    "native/abi/a.hpp": '#include "base/error.hpp"\n',
    "native/core/h.cpp": "void f(const sotto_engine_desc& desc);\n",
    "native/backends/llama/a.cpp": '#include "base/error.hpp"\n',
    "native/backends/llama/b.cpp": '#include "backends/proxy/http.hpp"\n',
    "native/elsewhere/a.cpp": "\n",
    "native/bindgen/a.py": "import numpy\n",
    "native/text/long.cpp": "\n" * 501,
    "include/sotto/long.h": "\n" * 301,
    "python/sotto/engine.py": "from ._cdef import ffi\n",
    "python/sotto/faces/a.py": "from .._call import ffi\n",
    "python/sotto/model.py": "def f():\n    import cffi\n",
    "python/sotto/request.py": "from . import _lib\n",
    "tests/abi/a.cpp": '#include "core/engine.hpp"\n',
    "unity/Runtime/A.cs": '[DllImport("sotto")] static extern int f();\n',
}
GOOD = {
    "native/core/a.cpp": '#include <vector>\n#include <sotto/request.h>\n#include "text/utf8_stream.hpp"\n',
    "native/api/a.cpp": '#include <sotto/sotto.h>\n#include "core/engine.hpp"\n',
    "native/abi/a.hpp": "#include <sotto/base.h>\n// catch (...)\n",
    "native/text/a.hpp": '#include <nlohmann/json.hpp>\n#include "base/error.hpp"\n',
    "native/platform/a.cpp": "#include <sys/mman.h>\n",
    "native/image/b.cpp": '#include <webp/decode.h>\n#include "abi/error.hpp"\n',
    "native/backends/onnx/a.cpp": '#include "image/decode.hpp"\n',
    "native/gguf/b.cpp": '#include <gguf.h>\n#include "abi/error.hpp"\n',
    "native/guard/regex_a.cpp": "#include <re2/re2.h>\n",
    "native/backends/llama/a.cpp": '#include <sotto/module.h>\n#include "llama.h"\n#include <unistd.h>\n',
    "python/sotto/_call.py": "from ._lib import ffi, lib\n",
    "python/sotto/engine.py": "from . import _call\nfrom ._lib import lib, library_folder\nimport json\n",
    "tests/abi/a.cpp": '#include <cstdio>\n#include <sotto/sotto.h>\n#include "sizes.g.h"\n',
    "unity/Runtime/Native/Native.g.cs": "\n" * 500,
}


def controls() -> list[str]:
    """A check that lets an offence through, or refuses what is right, is none."""
    wrong = [f"lets {p} through" for p, t in OFFENCES.items() if not violations(PurePosixPath(p), t)]
    wrong += [line for p, t in GOOD.items() for line in violations(PurePosixPath(p), t)]
    return wrong + class_rule.controls()


def main() -> int:
    files = [p for top in LINES for p in sorted((ROOT / top).rglob("*")) if p.suffix in SOURCES]
    texts = {PurePosixPath(path.relative_to(ROOT).as_posix()): path.read_text() for path in files}
    problems = controls()
    for path, text in texts.items():
        problems += violations(path, text)
    ours = {p: t for p, t in texts.items() if p.parts[0] == "native" and p.suffix in class_rule.SOURCES}
    problems += class_rule.violations(ours)
    print("\n".join(problems) or f"layers: {len(files)} files keep to them")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
