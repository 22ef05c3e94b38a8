"""C# for the tests: one compiler (Roslyn 4.1, driven over a pipe) and two runtimes (Mono, CoreCLR 8).

`fetch.py` fetches all tools. They are test tools only and never ship.
"""

from __future__ import annotations

import atexit
import hashlib
import re
import selectors
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from checks.ground import Failed, run

from .fetch import CORE, FOLDER, FRAMEWORK, NUNIT, ROSLYN, fetch, locked

__all__ = ["NUNIT", "compile_cs", "compile_source", "fetch", "nunit", "run_core", "run_mono"]

Runtime = Literal["mono", "core"]
HERE = Path(__file__).resolve().parent
MONO = Path("/usr/lib/mono/4.5")
MONO_REFERENCES = ("mscorlib.dll", "System.dll", "System.Core.dll")
CONFIG = FOLDER / "program.runtimeconfig.json"
CONFIG_TEXT = """{"runtimeOptions": {
  "framework": {"name": "Microsoft.NETCore.App", "version": "8.0.4"},
  "configProperties": {"System.Globalization.Invariant": true}
}}
"""
BOOTSTRAP_REFERENCES = (
    "System.Private.CoreLib",
    "System.Runtime",
    "System.Runtime.Extensions",
    "System.Collections",
    "System.Collections.Immutable",
    "System.Console",
    "System.Linq",
    "netstandard",
)


def compile_cs(
    out: Path,
    sources: Iterable[Path],
    *,
    defines: Sequence[str] = (),
    references: Sequence[Path] = (),
    library: bool = False,
    runtime: Runtime = "mono",
    unsafe: bool = True,
    warnings_as_errors: bool = True,
    language: str = "9",
    options: Sequence[str] = (),
) -> None:
    """Compiles C# sources with Roslyn. Takes about 3 s the first time in a process, then some 0.3 s.

    Args:
        out: The assembly to write: a `.dll`, or an `.exe` for Mono.
        sources: The files.
        defines: Preprocessor symbols.
        references: Assemblies beside those of the runtime.
        library: Whether the assembly has no entry point.
        runtime: Whose class library to compile against.
        unsafe: Whether pointers are allowed.
        warnings_as_errors: Whether a warning fails the compilation.
        language: C# version. Unity 2021.3 to 6 has "9".
        options: Further options of csc.

    Raises:
        Failed: The sources do not compile; the compiler's messages are the text.
    """
    words = [
        "-nologo",
        "-noconfig",
        "-nostdlib",
        "-deterministic",
        "-optimize",
        "-nowarn:1701,1702",  # assemblies of several framework versions are mixed: not ours to change
        f"-target:{'library' if library else 'exe'}",
        f"-out:{out}",
        f"-langversion:{language}",
        *(f"-r:{path}" for path in [*framework(runtime), *references]),
        *(f"-d:{name}" for name in defines),
        *(["-unsafe"] if unsafe else []),
        *(["-warnaserror"] if warnings_as_errors else []),
        *options,
        *(str(path) for path in sources),
    ]
    COMPILER.compile(words)


def compile_source(out: Path, text: str, **how: object) -> None:
    """Compiles one source text; see `compile_cs`."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "Source.cs")
        source.write_text(text)
        compile_cs(out, [source], **how)  # type: ignore[arg-type]


def framework(runtime: Runtime) -> list[Path]:
    """The class library of a runtime."""
    if runtime == "mono":
        return [MONO / name for name in MONO_REFERENCES]
    fetch()
    return sorted(FRAMEWORK.glob("*.dll"))


def run_core(
    program: Path, *args: str | Path, env: dict[str, str] | None = None, timeout: float = 120
) -> str:
    """Runs a program on CoreCLR 8. Returns its output.

    Raises:
        Failed: Its exit status is not 0; the message holds its output.
    """
    return run([*core_command(program), *args], env=env, timeout=timeout)


def core_command(program: Path) -> list[str | Path]:
    """The command that runs a program on CoreCLR 8."""
    fetch()
    if not CONFIG.exists():
        CONFIG.write_text(CONFIG_TEXT)
    return [CORE / "dotnet", "exec", "--runtimeconfig", CONFIG, program]


def run_mono(
    program: Path, *args: str | Path, env: dict[str, str] | None = None, timeout: float = 120
) -> str:
    """Runs a program on Mono with its JIT; see `aot.py` for a run without. Returns its output.

    Raises:
        Failed: Its exit status is not 0; the message holds its output.
    """
    return run(["mono", program, *args], env=env, timeout=timeout)


def nunit(
    assembly: Path,
    references: Sequence[Path] = (),
    runtime: Runtime = "core",
    *,
    env: dict[str, str] | None = None,
    timeout: float = 300,
) -> tuple[int, int, list[str]]:
    """Runs the tests of an assembly with NUnit 3.13.2 itself.

    Args:
        assembly: Compiled with `references=[NUNIT, ...]` and `runtime="core"`.
        references: Assemblies that it needs and that lie in other folders.
        runtime: "core". NUnit's assembly is for .NET Standard 2.0, whose facade Debian's Mono lacks.
        env: Environment variables to set.
        timeout: Seconds for all tests together.

    Returns:
        How many passed, how many failed, and the failed tests' names, each with its message. A skipped or
        ignored test counts as failed.

    Raises:
        Failed: NUnit could not load the assembly, or found no test in it.
    """
    if runtime != "core":
        raise Failed(f"invalid runtime '{runtime}': expected 'core'; NUnit needs .NET Standard 2.0")
    runner = built(ROSLYN / "NUnitRunner.dll", [HERE / "NUnitRunner.cs"], [NUNIT])
    printed = run_core(runner, assembly, *references, env=env, timeout=timeout)
    counts = re.search(r"^(\d+) passed, (\d+) failed$", printed, re.M)
    if counts is None or counts[0] == "0 passed, 0 failed":
        raise Failed(printed)
    failures = re.findall(r"^failed: (.+?)$", printed, re.M)
    return int(counts[1]), int(counts[2]), failures


def built(out: Path, sources: Sequence[Path], references: Sequence[Path], **how: object) -> Path:
    """A program for CoreCLR that is compiled again only when its sources change."""
    if not is_current(out, sources):
        compile_cs(out, sources, references=references, runtime="core", **how)  # type: ignore[arg-type]
        note_sources(out, sources)
    return out


class Compiler:
    """A Roslyn process that is started by the first compilation and ends with this process."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def compile(self, words: Sequence[str], timeout: float = 120) -> None:
        """Runs csc with `words`. Raises Failed with its messages."""
        with self._lock, tempfile.NamedTemporaryFile("w", suffix=".rsp") as file:
            file.write("\n".join(words))
            file.flush()
            messages, errors = self._ask(file.name, timeout)
        if errors:
            raise Failed(messages)

    def _ask(self, request: str, timeout: float) -> tuple[str, int]:
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(request + "\n")
        process.stdin.flush()
        lines: list[str] = []
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                # One answer at a time is on its way, and it ends with "done", so no line waits in the buffer.
                if not lines and not selector.select(timeout):
                    self.end()
                    raise Failed(f"the C# compiler gave no answer within {timeout} s")
                line = process.stdout.readline()
                if not line:
                    self.end()
                    raise Failed("the C# compiler ended: " + "\n".join(lines))
                if line.startswith("done "):
                    return "\n".join(lines), int(line.split()[1])
                lines.append(line.rstrip("\n"))

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [str(word) for word in core_command(driver())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
            )
            atexit.register(self.end)
        return self._process

    def end(self) -> None:
        """Ends the process. A later compilation starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(timeout=10)


COMPILER = Compiler()


def driver() -> Path:
    """The program around Roslyn. Mono's compiler builds Bootstrap.cs, and that builds Compiler.cs."""
    fetch()
    first, source, program = HERE / "Bootstrap.cs", HERE / "Compiler.cs", ROSLYN / "Compiler.dll"
    with locked():
        if not is_current(program, [first, source]):
            make_driver(first, source, program)
    return program


def make_driver(first: Path, source: Path, program: Path) -> None:
    """Makes the program `source` with the program `first`."""
    roslyn = [ROSLYN / "Microsoft.CodeAnalysis.dll", ROSLYN / "Microsoft.CodeAnalysis.CSharp.dll"]
    references = [*(FRAMEWORK / f"{name}.dll" for name in BOOTSTRAP_REFERENCES), *roslyn]
    bootstrap = ROSLYN / "Bootstrap.dll"
    words = ["-nologo", "-noconfig", "-nostdlib", "-nowarn:1685", f"-out:{bootstrap}"]
    run(["mcs", *words, *(f"-r:{path}" for path in references), first], timeout=60)
    run_core(bootstrap, program, source, "Compiler", *framework("core"), *roslyn)
    note_sources(program, [first, source])


def is_current(out: Path, sources: Sequence[Path]) -> bool:
    """Whether `out` was made from these sources as they are."""
    stamp = out.with_suffix(".made-from")
    return out.exists() and stamp.exists() and stamp.read_text() == digest(sources)


def note_sources(out: Path, sources: Sequence[Path]) -> None:
    """Records the sources of `out`, for `is_current`."""
    out.with_suffix(".made-from").write_text(digest(sources))


def digest(files: Sequence[Path]) -> str:
    """A hash of the contents of files."""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()
