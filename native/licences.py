"""Writes the licence texts of everything that is linked, read from the pinned dependencies.

    python native/licences.py [--check]

The texts stand at the end of THIRD_PARTY.md, which the wheel, the installed tree and the Unity package carry.
Requires the dependencies that a configured build has unpacked (native/cmake/Deps.cmake).
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGETS = (ROOT / "THIRD_PARTY.md", ROOT / "unity" / "Third Party Notices.md")
HEADING = "## Licence texts"


def deps() -> Path:
    """Returns the folder in which native/cmake/PipSource.cmake unpacks dependencies."""
    for name, below in (("SOTTO_CACHE", ""), ("XDG_CACHE_HOME", "sotto"), ("HOME", ".cache/sotto")):
        if base := os.environ.get(name):
            return Path(base) / below / "deps"
    raise SystemExit("licences: set SOTTO_CACHE to the folder that the build keeps its dependencies in")


def versions() -> tuple[str, str]:
    """Returns the pinned versions of llama-cpp-python and zstandard."""
    pins = (ROOT / "native" / "cmake" / "Deps.cmake").read_text()
    llama = re.search(r"SOTTO_LLAMA_CPP_PYTHON_VERSION (\S+)\)", pins)
    zstd = re.search(r"zstandard\s+VERSION (\S+)", pins)
    assert llama and zstd, "native/cmake/Deps.cmake names no versions"
    return llama[1], zstd[1]


def pinned(package: str) -> str:
    """Returns the pinned version of a source distribution."""
    pins = "".join((ROOT / "native" / "cmake" / name).read_text() for name in ("Deps.cmake", "Images.cmake"))
    found = re.search(rf"^    {package}\s+VERSION (\S+)", pins, re.M)
    assert found, f"native/cmake/Deps.cmake and Images.cmake name no version of {package}"
    return found[1]


def sqlean_version() -> str:
    """Returns the pinned version of sqlean.py, which carries SQLite."""
    found = re.search(r"sqlean-py\s+VERSION (\S+)", (ROOT / "native/cmake/Sqlite.cmake").read_text())
    assert found, "native/cmake/Sqlite.cmake names no version"
    return found[1]


def sqlite() -> Path:
    """Returns the folder of SQLite's amalgamation."""
    return deps() / f"sqlean_py-{sqlean_version()}" / "sqlite" / "amalgamation"


def whole(text: str) -> str:
    """Returns `text` unchanged, for a file that consists of its licence."""
    return text


def head(text: str) -> str:
    """Returns the comment with which a source file begins."""
    lines = text.splitlines()
    end = next(i for i, line in enumerate(lines) if not line.startswith("//"))
    return "\n".join(line.removeprefix("//").removeprefix(" ") for line in lines[:end])


def blessing(text: str) -> str:
    """Returns what a file of SQLite has in place of a licence."""
    begin, last = text.index("The author disclaims copyright"), "taking more than you give."
    lines = text[begin : text.index(last) + len(last)].splitlines()
    return "\n".join(line.removeprefix("**").removeprefix(" ") for line in lines)


def after(mark: str) -> Callable[[str], str]:
    """Returns a function that extracts the end of a source file's last comment, from `mark` on."""
    return lambda text: text[text.rindex(mark) :].rstrip().removesuffix("*/")


def webp() -> Path:
    """Returns the folder of libwebp."""
    return stable_diffusion() / "thirdparty/libwebp"


def stable_diffusion() -> Path:
    """Returns the folder of stable-diffusion.cpp."""
    folder = deps() / f"stable_diffusion_cpp_python-{pinned('stable-diffusion-cpp-python')}"
    return folder / "vendor/stable-diffusion.cpp"


def zlib() -> Path:
    """Returns the folder of zlib."""
    return deps() / f"grpcio-zlib-{pinned('grpcio')}" / "third_party" / "zlib"


def zlib_terms(text: str) -> str:
    """Returns the licence that zlib.h begins with."""
    begin, end = text.index("  Copyright (C)"), text.index("  Jean-loup Gailly        Mark Adler")
    return whole("\n".join(line[2:] for line in text[begin:end].splitlines()))


def texts() -> Iterator[tuple[str, str]]:
    """Yields name and licence text of each dependency that is linked."""
    llama, zstd = versions()
    darts = deps() / f"sentencepiece-{pinned('sentencepiece')}" / "sentencepiece/third_party/darts_clone"
    guard = ROOT / "native" / "guard" / "licences"
    tree = deps() / f"llama_cpp_python-{llama}" / "vendor" / "llama.cpp"
    parts: list[tuple[str, Path, Callable[[str], str]]] = [
        ("llama.cpp and ggml", tree / "LICENSE", whole),
        ("nlohmann/json", tree / "licenses" / "LICENSE-jsonhpp", whole),
        ("llamafile's matrix multiplication, in ggml", tree / "ggml/src/ggml-cpu/llamafile/sgemm.cpp", head),
        ("xxHash", tree / "vendor/hash/xxhash/LICENSE", whole),
        ("rotate-bits, in the hashes", tree / "vendor/hash/rotate-bits/LICENSE.md", whole),
        ("sha256", tree / "vendor/hash/sha256/LICENSE", whole),
        ("stb_image", tree / "vendor/stb/stb_image.h", after("ALTERNATIVE A - MIT License")),
        ("miniaudio", tree / "vendor/miniaudio/miniaudio.h", after("ALTERNATIVE 2 - MIT No Attribution")),
        ("Zstandard", deps() / f"zstandard-{zstd}" / "zstd" / "LICENSE", whole),
        ("darts-clone", darts / "LICENSE", whole),
        ("RE2", guard / "re2.txt", whole),  # its source distribution has none
        ("Unicode's data files", guard / "unicode.txt", whole),
        ("SQLite", sqlite() / "sqlite3.h", blessing),
        ("SmolLM2-135M-Instruct, in the house model", ROOT / "samples" / "house_model" / "LICENSE", whole),
        ("cpp-httplib", tree / "vendor/cpp-httplib/LICENSE", whole),
        ("BoringSSL", ROOT / "native/backends/proxy/licences/boringssl.txt", whole),  # its source has none
        ("Wuffs", ROOT / "native/image/licences/wuffs.txt", whole),  # its source has none
        ("libwebp", webp() / "COPYING", whole),
        ("stable-diffusion.cpp", stable_diffusion() / "LICENSE", whole),
        ("zlib", zlib() / "zlib.h", zlib_terms),
    ]
    for name, path, cut in parts:
        yield name, cut(path.read_text(encoding="utf-8"))


def plain(text: str) -> str:
    """Returns a licence without lines of dashes, and without a second alternative."""
    lines = [line.rstrip() for line in text.splitlines()]
    kept = [line for line in lines if not re.fullmatch(r"[-=]{20,}", line)]
    return "\n".join(kept).strip().split("\n" + "ALTERNATIVE B")[0].rstrip()


def render(page: str) -> str:
    """Returns THIRD_PARTY.md with the licence texts of the pinned sources."""
    sections = [f"### {name}\n\n```text\n{plain(text)}\n```\n" for name, text in texts()]
    intro = "Written by `native/licences.py` from the pinned sources.\n"
    return "\n".join([page.split(HEADING)[0].rstrip() + "\n", HEADING, "", intro, *sections])


def main() -> int:
    """Writes the files that differ; with --check, only reports them. Returns 1 if --check finds any."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file would change")
    arguments = parser.parse_args()
    page = render(TARGETS[0].read_text(encoding="utf-8"))
    stale = [path for path in TARGETS if not path.exists() or path.read_text(encoding="utf-8") != page]
    for path in stale:
        if not arguments.check:
            path.write_text(page, encoding="utf-8")
        print(f"licences: {path.relative_to(ROOT)} {'differs' if arguments.check else 'is written'}")
    if not stale:
        print(f"licences: {len(list(texts()))} texts as the pinned sources have them")
    return 1 if stale and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
