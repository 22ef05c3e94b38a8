"""Makes every package of a release from finished builds.

    python native/packaging --linux BUILD [--windows BUILD] [--android BUILD] [--out dist]

Writes the wheel, the Unity package, the Unreal and Godot zips, and per platform the SDK and the symbols; the
bill of materials (CycloneDX 1.6), the notices, SIZES.md and SHA256SUMS. BUILD is a folder of
`cmake -S native -B BUILD` that was built; docs/pages/guide/packages.md names its options. A platform without
a build is left out, and reported. Two runs write identical bytes.

Needs cmake and binutils, and `pip install -r native/packaging/requirements.txt`.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from build_folder import PLATFORMS, BuildFolder
from output import OutputFolder
from release import PackagingError, source_date_epoch, version
from run import PACKAGES, Run


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Returns the options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python native/packaging",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--out", type=Path, default=Path("dist"), help="where the packages go (default: dist)"
    )
    for platform in PLATFORMS:
        parser.add_argument(
            f"--{platform.option}", type=Path, metavar="BUILD", help=f"build for {platform.name}"
        )
    parser.add_argument(
        "--godot",
        type=Path,
        metavar="BUILD",
        action="append",
        default=[],
        help="build of samples/godot; repeatable",
    )
    parser.add_argument("--only", help=f"some packages, with commas between them: {','.join(PACKAGES)}")
    parser.add_argument("--wheel", type=Path, metavar="FILE", help="a wheel that was built already")
    parser.add_argument(
        "--modules",
        default="*",
        metavar="PATTERNS",
        help="which modules, such as 'sotto_llama-*' (default: all)",
    )
    parser.add_argument(
        "--models",
        default="*",
        metavar="PATTERNS",
        help="which embedded models, such as 'house.gguf' (default: all whose module is packaged)",
    )
    parser.add_argument(
        "--partial",
        action="store_true",
        help="accept builds that must not be released, and say so in SIZES.md",
    )
    parser.add_argument("--objcopy", default="objcopy", help="program that splits ELF symbols")
    parser.add_argument("--readelf", default="readelf", help="program that reads ELF headers")
    return parser.parse_args(arguments)


def chosen(options: argparse.Namespace) -> list[str]:
    """Returns the packages to make."""
    if options.only is None:
        return list(PACKAGES)
    names = [name.strip() for name in options.only.split(",") if name.strip()]
    for name in names:
        if name not in PACKAGES:
            raise PackagingError(f"invalid --only '{name}': expected {', '.join(PACKAGES)}; correct the name")
    return names


def build_folders(options: argparse.Namespace, release: str) -> list[BuildFolder]:
    """Returns the builds that the command line names, checked."""
    builds = []
    for platform in PLATFORMS:
        folder = getattr(options, platform.option)
        if folder is not None:
            builds.append(BuildFolder(platform, folder.resolve(), release))
    if not builds:
        names = ", ".join(f"--{platform.option}" for platform in PLATFORMS)
        raise PackagingError(f"no build folder: expected at least one of {names}; see --help")
    warnings = [text for build in builds for text in build.warnings()]
    if warnings and not options.partial:
        raise PackagingError(
            f"{warnings[0]}; configure another build, or add --partial for tests on this machine"
        )
    return builds


def stop(number: int, frame: object) -> None:
    """Raises PackagingError on a signal, so that the command removes incomplete packages."""
    raise PackagingError(f"stopped by signal {number}; run it again")


def main() -> int:
    """Returns 0 if every chosen package was made."""
    options = parse()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    try:
        epoch, release = source_date_epoch(), version()
        wanted = chosen(options)
        folders = build_folders(options, release)
        with OutputFolder(options.out.resolve(), epoch) as output:
            run = Run(output, release, epoch, options)
            run.install(folders)
            run.write(wanted)
            lines = output.publish(run.remarks)
    except PackagingError as error:
        print(f"packaging: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        place = f" '{error.filename}'" if error.filename else ""
        print(
            f"packaging: cannot write{place}: {error.strerror}; free space or name another --out; "
            "no package was changed",
            file=sys.stderr,
        )
        return 1
    print("\n".join([*lines, *run.remarks]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
