"""Checks a build folder of native/, and installs it into a separate folder for packaging."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from release import PackagingError
from shipped import MODELS, Choice, EmbeddedModel, backend_of

LOADABLE = (".so", ".dll")
UNITY_PLUGIN = "*sotto_unity.*"  # the library that Unity loads beside the core; no other host needs it


@dataclass(frozen=True)
class Platform:
    """A system that packages are made for."""

    option: str  # of the command line
    name: str  # in file names
    system: str  # CMAKE_SYSTEM_NAME
    machine: bytes  # e_machine of ELF, Machine of PE
    core: str
    import_library: str = ""
    archive: str = ".tar.gz"
    tiers: bool = True  # whether SOTTO_TIERS can be other than `native`
    model_beside: bool = True  # whether models can lie beside the library in a game


PLATFORMS = (
    Platform("linux", "linux-x86_64", "Linux", b"\x3e\0", "libsotto.so"),
    Platform("windows", "windows-x86_64", "Windows", b"\x64\x86", "sotto.dll", "sotto.lib", ".zip"),
    Platform(
        "android", "android-arm64", "Android", b"\xb7\0", "libsotto.so", tiers=False, model_beside=False
    ),
)


def machine(library: Path) -> bytes:
    """Returns the processor field of an ELF or PE header; empty if the file is neither."""
    content = library.read_bytes()[:4096]
    if content[:4] == b"\x7fELF":
        return content[18:20]
    if content[:2] == b"MZ":
        header = int.from_bytes(content[60:64], "little")
        if content[header : header + 4] == b"PE\0\0":
            return content[header + 4 : header + 6]
    return b""


@dataclass
class Installed:
    """The files that `cmake --install` installed: headers, libraries, CMake config and notices."""

    platform: Platform
    prefix: Path
    left_out: list[str]  # files that --modules and --models exclude
    compiler: tuple[str, str]  # id and version, as CMake names them
    notes: list[str] = field(default_factory=list)  # reasons why it must not be released

    @cached_property
    def core(self) -> Path:
        """The core library."""
        return next(self.prefix.rglob(self.platform.core))

    @property
    def runtime(self) -> Path:
        """The folder of the core library, the modules and the embedded models."""
        return self.core.parent

    @property
    def modules(self) -> list[Path]:
        """The backend modules."""
        return sorted(path for path in self.runtime.iterdir() if backend_of(path.name))

    @property
    def models(self) -> dict[EmbeddedModel, Path]:
        """The embedded models, and their files."""
        files = {model: self.runtime / model.file for model in MODELS}
        return {model: file for model, file in files.items() if file.is_file()}

    @property
    def unity_plugins(self) -> list[Path]:
        """The libraries for Unity alone."""
        return sorted(path for path in self.runtime.glob(UNITY_PLUGIN) if path.suffix in LOADABLE)

    @property
    def libraries(self) -> list[Path]:
        """The libraries that every host needs: core and modules."""
        return [self.core, *self.modules]

    @property
    def shipped(self) -> list[Path]:
        """The files that a game has in one folder: core, modules, and the models if possible."""
        return [*self.libraries, *(self.models.values() if self.platform.model_beside else [])]

    @property
    def import_libraries(self) -> list[Path]:
        """The import libraries that a Windows game links; empty for other systems."""
        name = self.platform.import_library
        return sorted(self.prefix.rglob(name)) if name else []

    def leave_out(self, choice: Choice) -> None:
        """Removes the files that are not packaged: a model goes with the last module that can open it."""
        out = [module for module in self.modules if not choice.module(module.name)]
        kept = {backend_of(module.name) for module in self.modules if module not in out}
        for model, file in self.models.items():
            if not choice.model(model.file) or (model.backend and model.backend not in kept):
                out.append(file)
        for file in out:
            self.left_out.append(file.name)
            file.unlink()


class BuildFolder:
    """A configured and built folder of native/."""

    def __init__(self, platform: Platform, folder: Path, version: str) -> None:
        """Checks the folder.

        Raises:
            PackagingError: The folder is missing, incomplete, for another system, or of another version.
        """
        self.platform = platform
        self.folder = folder
        self._version = version
        self.cache = self._read_cache()
        self._check_configuration()
        self._check_core()

    def _refuse(self, found: str, way_out: str) -> PackagingError:
        return PackagingError(f"invalid --{self.platform.option} '{self.folder}': {found}; {way_out}")

    def _read_cache(self) -> dict[str, str]:
        if not self.folder.is_dir():
            raise self._refuse("no such folder", f"cmake -S native -B {self.folder} -G Ninja makes one")
        try:
            text = (self.folder / "CMakeCache.txt").read_text(encoding="utf-8")
        except FileNotFoundError:
            raise self._refuse(
                "expected a build folder, found no CMakeCache.txt",
                f"cmake -S native -B {self.folder} -G Ninja",
            ) from None
        return dict(re.findall(r"^([\w.-]+):\w+=(.*)$", text, re.M))

    def _check_configuration(self) -> None:
        project, version = (self.cache.get(f"CMAKE_PROJECT_{name}") for name in ("NAME", "VERSION"))
        if project != "sotto":
            raise self._refuse(
                f"expected a build of native/, found project '{project}'", "name another folder"
            )
        if version != self._version:
            raise self._refuse(f"expected version {self._version}, found {version}", self._rebuild())
        if self.cache.get("SOTTO_SANITIZE"):
            kind = self.cache["SOTTO_SANITIZE"]
            raise self._refuse(
                f"expected a release build, found SOTTO_SANITIZE={kind}", "configure without it"
            )
        system = self._detected("CMakeSystem.cmake", "CMAKE_SYSTEM_NAME")
        if system != self.platform.system:
            raise self._refuse(
                f"expected a build for {self.platform.system}, found {system}", "name another folder"
            )

    def _check_core(self) -> None:
        library = self.folder / "out" / self.platform.core
        if not library.is_file():
            raise self._refuse(f"expected out/{self.platform.core}, which is missing", self._rebuild())
        if machine(library) != self.platform.machine:
            raise self._refuse(
                f"expected out/{library.name} for {self.platform.name}, found another processor",
                "choose the toolchain file of that system",
            )
        if self._version.encode() + b"\0" not in library.read_bytes():
            raise self._refuse(
                f"expected out/{library.name} of version {self._version}, found another", self._rebuild()
            )

    def _rebuild(self) -> str:
        return f"cmake -S native -B {self.folder} && cmake --build {self.folder}"

    def _detected(self, file: str, variable: str) -> str:
        """Returns a variable that CMake detected at configuration and stores outside its cache."""
        for path in sorted(self.folder.glob(f"CMakeFiles/*/{file}")):
            if found := re.search(rf'^set\({variable} "([^"]*)"\)', path.read_text(encoding="utf-8"), re.M):
                return found[1]
        return "unknown"

    def warnings(self) -> list[str]:
        """Returns why this build must not be released, one line each."""
        found = []
        if self.platform.tiers and "native" in self.cache.get("SOTTO_TIERS", ""):
            found.append("SOTTO_TIERS is native: the module runs only on processors like the build machine's")
        if self.cache.get("SOTTO_LLAMA") != "ON":
            found.append("SOTTO_LLAMA is OFF: no module, so no model loads")
        return [f"{self.platform.name}: {text}" for text in found]

    def install(self, prefix: Path, choice: Choice) -> Installed:
        """Installs the build into an empty prefix.

        Args:
            prefix: Folder to install into.
            choice: The modules and models that are packaged.

        Raises:
            PackagingError: A target was not built, or the disk is full.
        """
        command = ["cmake", "--install", str(self.folder), "--prefix", str(prefix)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        if done.returncode != 0:
            said = " ".join(done.stderr.split())  # CMake wraps lines
            reason = re.search(r"file INSTALL (cannot .*?)\.?(?: Call Stack|$)", said)
            told = reason[1] if reason else f"cmake --install ended with status {done.returncode}"
            raise self._refuse(f"cmake --install: {told}", self._rebuild())
        compiler = tuple(
            self._detected("CMakeCXXCompiler.cmake", f"CMAKE_CXX_COMPILER_{what}")
            for what in ("ID", "VERSION")
        )
        installed = Installed(self.platform, prefix, [], (compiler[0], compiler[1]), self.warnings())
        self._check_installed(installed)
        installed.leave_out(choice)
        if self.cache.get("SOTTO_LLAMA") == "ON" and not installed.modules:
            out = ", ".join(name for name in installed.left_out if backend_of(name))
            raise PackagingError(
                f"no module is left for {self.platform.name}: --modules excludes {out}; expected at least one"
            )
        return installed

    def _check_installed(self, installed: Installed) -> None:
        if self.platform.import_library and not installed.import_libraries:
            raise self._refuse(f"{self.platform.import_library} is missing", self._rebuild())
        backends = {"", *(backend_of(module.name) for module in installed.modules)}
        for model in MODELS:
            if model.backend in backends and model not in installed.models:
                raise self._refuse(f"{model.file} is missing", self._rebuild())
        for library in (*installed.modules, *installed.unity_plugins):
            if machine(library) != self.platform.machine:
                raise self._refuse(f"{library.name} is for another processor", self._rebuild())
