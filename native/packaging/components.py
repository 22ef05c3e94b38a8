"""The third-party software in the packaged libraries: version, licence, and hash of each source.

Versions and hashes are read from the pinned sources that the build unpacked (native/cmake/Deps.cmake), never
typed here. native/licences.py has the licence texts; each of its texts belongs to a component.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from build_folder import Installed
from release import ROOT, PackagingError, sibling
from shipped import backend_of

CORE, MODULE, VULKAN, CUDA = "core", "sotto_llama", "vulkan", "cuda"
PROXY, ONNX, DIFFUSION = "sotto_proxy", "sotto_onnx", "sotto_diffusion"


@dataclass(frozen=True)
class Part:
    """A component of the packaged libraries."""

    name: str
    version: str
    licence: str  # SPDX expression, or a name
    purl: str
    sha256: str  # of its source archive, or of its source file
    source: str  # name of that archive or file
    used_by: tuple[str, ...]
    text: str = ""  # the name of its licence text in native/licences.py


class PinnedSources:
    """The unpacked sources of the pinned dependencies."""

    def __init__(self) -> None:
        """Finds the sources.

        Raises:
            PackagingError: The sources are not unpacked.
        """
        licences = sibling("licences")
        files = [ROOT / "native" / "cmake" / name for name in ("Deps.cmake", "Sqlite.cmake", "Images.cmake")]
        self._pins = "".join(file.read_text(encoding="utf-8") for file in files)
        files = [ROOT / "native" / name for name in ("cmake/VulkanHeaders.cmake", "cmake/OnnxRuntime.cmake")]
        self._headers = "".join(file.read_text(encoding="utf-8") for file in files)
        self._cuda = (ROOT / "native" / "cmake" / "CudaToolkit.cmake").read_text(encoding="utf-8")
        self.llama_version, self.zstd_version = licences.versions()
        self.llama = licences.deps() / f"llama_cpp_python-{self.llama_version}" / "vendor" / "llama.cpp"
        self.zstd = licences.deps() / f"zstandard-{self.zstd_version}" / "zstd"
        self.sqlean_version, self.sqlite = licences.sqlean_version(), licences.sqlite()
        for folder in (self.llama, self.zstd, self.sqlite):
            if not folder.is_dir():
                raise PackagingError(
                    f"no pinned sources in {folder}; configure native/ on this machine, or set SOTTO_CACHE"
                )

    def archive_hash(self, package: str) -> str:
        """Returns the pinned SHA-256 of a source distribution."""
        return self._found(rf"^\s+{re.escape(package)}\n[^)]*?SHA256 ([0-9a-f]{{64}})", self._pins)

    def debian(self, package: str) -> tuple[str, str]:
        """Returns pinned version and SHA-256 of a Debian package of headers."""
        block = rf"sotto_deb_source\(\s+{re.escape(package)}\n[^)]*?"
        version = self._found(block + r"VERSION (\S+)", self._headers)
        return version, self._found(block + r"SHA256 (\S+)", self._headers)

    def cuda_runtime(self) -> tuple[str, str]:
        """Returns pinned version and SHA-256 of the CUDA runtime."""
        line = r"nvidia-cuda-runtime==(\S+) --hash=sha256:([0-9a-f]{64})"
        found = re.search(line, self._cuda)
        if found is None:
            raise PackagingError(
                "native/cmake/CudaToolkit.cmake pins no nvidia-cuda-runtime; mend components.py"
            )
        return found[1], found[2]

    def numbers(self, path: Path, prefix: str, names: tuple[str, ...]) -> str:
        """Returns a version from macros (or CMake variables) of a source file."""
        text = path.read_text(encoding="utf-8")
        return ".".join(self._found(rf"{prefix}{name}\s+(\d+)", text) for name in names)

    @staticmethod
    def _found(pattern: str, text: str) -> str:
        found = re.search(pattern, text, re.M)
        if found is None:
            raise PackagingError(
                f"no match for {pattern!r} in a pinned source; mend native/packaging/components.py"
            )
        return found[1]


def sha256(path: Path) -> str:
    """Returns the SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def vendored(sources: PinnedSources) -> Iterator[Part]:
    """Yields the parts that llama.cpp's source tree contains."""
    origin, tree = f"llama-cpp-python {sources.llama_version}", sources.llama
    release: tuple[str, ...] = ("MAJOR", "MINOR", "RELEASE")

    def part(name: str, version: str, licence: str, repository: str, file: str, **more: str) -> Part:
        users = {"nlohmann-json": (CORE, MODULE, PROXY, ONNX, DIFFUSION), "xxHash": (CORE, MODULE)}
        users |= {"cpp-httplib": (PROXY,), "base64.hpp": (MODULE, ONNX, DIFFUSION)}
        users |= {"llamafile-sgemm": (MODULE, DIFFUSION)}
        purl = f"pkg:github/{repository}" + (f"@v{version}" if re.fullmatch(r"[\d.]+", version) else "")
        return Part(
            name,
            version,
            licence,
            purl,
            sha256(tree / file),
            f"{origin}, {file}",
            users.get(name, (MODULE,)),
            **more,
        )

    def numbers(file: str, prefix: str, names: tuple[str, ...]) -> str:
        return sources.numbers(tree / file, prefix, names)

    json, audio = "vendor/nlohmann/json.hpp", "vendor/miniaudio/miniaudio.h"
    xxhash, stb = "vendor/hash/xxhash/xxhash.h", "vendor/stb/stb_image.h"
    json_version = numbers(json, "NLOHMANN_JSON_VERSION_", ("MAJOR", "MINOR", "PATCH"))
    yield part("nlohmann-json", json_version, "MIT", "nlohmann/json", json, text="nlohmann/json")
    version = numbers(xxhash, "XXH_VERSION_", release)
    yield part("xxHash", version, "BSD-2-Clause", "cyan4973/xxhash", xxhash, text="xxHash")
    version = numbers(audio, "MA_VERSION_", ("MAJOR", "MINOR", "REVISION"))
    yield part("miniaudio", version, "MIT-0 OR Unlicense", "mackron/miniaudio", audio, text="miniaudio")
    found = re.search(r"stb_image - v([\d.]+)", (tree / stb).read_text(encoding="utf-8"))
    version = found[1] if found else origin
    yield part("stb_image", version, "MIT OR Unlicense", "nothings/stb", stb, text="stb_image")
    file = "ggml/src/ggml-cpu/llamafile/sgemm.cpp"
    text = "llamafile's matrix multiplication, in ggml"
    yield part("llamafile-sgemm", origin, "MIT", "mozilla-ocho/llamafile", file, text=text)
    text = "rotate-bits, in the hashes"
    yield part(
        "rotate-bits", origin, "MIT", "jb55/rotate-bits.h", "vendor/hash/rotate-bits/rotate-bits.h", text=text
    )
    yield part(
        "sha256", origin, "public domain", "jb55/sha256.c", "vendor/hash/sha256/sha256.c", text="sha256"
    )
    http = "vendor/cpp-httplib/httplib.h"
    found = re.search(r'CPPHTTPLIB_VERSION "([\d.]+)"', (tree / http).read_text(encoding="utf-8"))
    version = found[1] if found else origin
    yield part("cpp-httplib", version, "MIT", "yhirose/cpp-httplib", http, text="cpp-httplib")
    yield part("base64.hpp", origin, "Unlicense", "tobiaslocker/base64", "common/base64.hpp")


def archived(sources: PinnedSources) -> Iterator[Part]:
    """Yields the parts whose source is an archive of its own."""
    version = sources.llama_version
    pinned = f"source distribution llama-cpp-python {version}"
    digest, purl = sources.archive_hash("llama-cpp-python"), f"pkg:pypi/llama-cpp-python@{version}"
    text = "llama.cpp and ggml"
    yield Part("llama.cpp", f"llama-cpp-python {version}", "MIT", purl, digest, pinned, (MODULE,), text)
    ggml = sources.numbers(
        sources.llama / "ggml" / "CMakeLists.txt", r"set\(GGML_VERSION_", ("MAJOR", "MINOR", "PATCH")
    )
    purl = f"pkg:github/ggml-org/ggml@v{ggml}"
    yield Part("ggml", ggml, "MIT", purl, digest, pinned, (MODULE, DIFFUSION), text)
    zstd = sources.numbers(sources.zstd / "zstd.h", "ZSTD_VERSION_", ("MAJOR", "MINOR", "RELEASE"))
    purl = f"pkg:pypi/zstandard@{sources.zstd_version}"
    pinned = f"source distribution zstandard {sources.zstd_version}"
    digest = sources.archive_hash("zstandard")
    yield Part("Zstandard", zstd, "BSD-3-Clause", purl, digest, pinned, (CORE,), "Zstandard")
    images = (ONNX, DIFFUSION)
    for name, package, licence, used in (
        ("RE2", "grpcio", "BSD-3-Clause", (CORE,)),
        ("darts-clone", "sentencepiece", "BSD-3-Clause", (CORE,)),
        ("BoringSSL", "grpcio", "Apache-2.0", (PROXY,)),
        ("Wuffs", "pywuffs", "Apache-2.0 OR MIT", images),
        ("libwebp", "stable-diffusion-cpp-python", "BSD-3-Clause", images),
        ("stable-diffusion.cpp", "stable-diffusion-cpp-python", "MIT", (DIFFUSION,)),
        ("zlib", "grpcio", "Zlib", images),
    ):
        pinned = f"{package} {sibling('licences').pinned(package)}"
        purl = f"pkg:pypi/{pinned.replace(' ', '@')}"
        digest = sources.archive_hash(package)
        yield Part(name, pinned, licence, purl, digest, f"source distribution {pinned}", used, name)
    found = re.search(r'SQLITE_VERSION +"([\d.]+)"', (sources.sqlite / "sqlite3.h").read_text("utf-8"))
    assert found, "sqlite3.h names no version"
    purl, pinned = f"pkg:pypi/sqlean-py@{sources.sqlean_version}", f"sqlean-py {sources.sqlean_version}"
    digest, pinned = sources.archive_hash("sqlean-py"), f"source distribution {pinned}"
    yield Part("SQLite", found[1], "blessing", purl, digest, pinned, (CORE,), "SQLite")


def computed() -> Iterator[Part]:
    """Yields the data that a committed table was computed from."""
    table = ROOT / "native" / "guard" / "unicode.g.inc"
    version = re.search(r"unicodedata ([\d.]+)", table.read_text("utf-8"))
    if version is None:
        raise PackagingError(f"{table} names no version of unicodedata; run native/guard/make_unicode.py")
    source, text = "native/guard/unicode.g.inc", "Unicode's data files"
    purl = f"pkg:generic/unicode-character-database@{version[1]}"
    yield Part(
        "Unicode character database",
        version[1],
        "Unicode-DFS-2016",
        purl,
        sha256(table),
        source,
        (CORE,),
        text,
    )


def every_part(sources: PinnedSources) -> list[Part]:
    """Returns the parts of all packaged libraries, without the compiler's."""
    return [*archived(sources), *vendored(sources), *computed(), *of_cards(sources)]


def of_cards(sources: PinnedSources) -> Iterator[Part]:
    """Yields the headers that Debian packages, and the parts of the modules for graphics cards."""
    for name, package, licence, user in (
        ("Vulkan-Headers", "libvulkan-dev", "Apache-2.0 OR MIT", VULKAN),
        ("SPIRV-Headers", "spirv-headers", "MIT", VULKAN),
        ("ONNX Runtime's C header", "libonnxruntime-dev", "MIT", ONNX),
    ):
        version, digest = sources.debian(package)
        purl, source = (
            f"pkg:deb/debian/{package}@{version.replace('+', '%2B')}",
            f"Debian's {package} {version}",
        )
        yield Part(name, version, licence, purl, digest, source, (user,))
    version, digest = sources.cuda_runtime()
    purl = f"pkg:pypi/nvidia-cuda-runtime@{version}"
    terms = "NVIDIA CUDA Toolkit End User License Agreement"
    yield Part("CUDA runtime", version, terms, purl, digest, f"nvidia-cuda-runtime {version}", (CUDA,))


def compiler_runtime(build: Installed) -> Part | None:
    """Returns the compiler's runtime libraries, linked statically; None if the compiler is unknown."""
    compiler, version = build.compiler
    used = (CORE, MODULE, PROXY, ONNX, DIFFUSION)
    source = f"linked by the compiler of {build.platform.name}"
    if compiler == "GNU":
        licence = "GPL-3.0-or-later WITH GCC-exception-3.1"
        return Part("GCC runtime libraries", version, licence, f"pkg:generic/gcc@{version}", "", source, used)
    if compiler == "Clang":
        licence, purl = "Apache-2.0 WITH LLVM-exception", f"pkg:generic/llvm@{version}"
        return Part("LLVM runtime libraries", version, licence, purl, "", source, used)
    return None


def users(library: str) -> set[str]:
    """Returns the names in Part.used_by that stand for the library with this file name."""
    backend = backend_of(library)
    if not backend:
        return {CORE}
    base, _, kind = backend.rpartition("_")
    return {f"sotto_{base}", kind} if kind in (VULKAN, CUDA) else {f"sotto_{backend}"}


def linked(builds: list[Installed]) -> dict[str, list[Part]]:
    """Returns the components that each library in `builds` links, keyed by `<platform>/<file name>`."""
    sources = PinnedSources()
    parts = every_part(sources)
    found: dict[str, list[Part]] = {}
    for build in builds:
        runtime = compiler_runtime(build)
        for library in build.libraries:
            names = users(library.name)
            kept = [part for part in parts if names & set(part.used_by)]
            found[f"{build.platform.name}/{library.name}"] = kept + ([runtime] if runtime else [])
    return found
