"""Fails when a shared library exports other names than it should.

    symbols.py LIBRARY-OR-FOLDER...

The core library exports the headers' functions, a module `sotto_module_v1` alone, and Unity's native plugin
what Unity calls and the functions of its header.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PLUGIN_HEADER = HERE.parents[1] / "unity" / "Native~" / "sotto_unity.h"
ENTRY = json.loads((HERE / "layout.json").read_text())["constants"]["SOTTO_MODULE_SYMBOL"]


def libraries_in(place: Path) -> list[Path]:
    return sorted([*place.rglob("*.so"), *place.rglob("*.dll")]) if place.is_dir() else [place]


def exported(library: Path) -> set[str]:
    return exported_by_dll(library) if library.suffix == ".dll" else exported_by_elf(library)


def exported_by_dll(library: Path) -> set[str]:
    from pefile import PE  # which only those need who look at a library for Windows

    table = PE(str(library)).DIRECTORY_ENTRY_EXPORT.symbols
    return {one.name.decode() if one.name else f"number {one.ordinal}" for one in table}


def exported_by_elf(library: Path) -> set[str]:
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", "--format=posix", library], capture_output=True, text=True, check=True
    )
    return {line.split()[0].split("@")[0] for line in listed.stdout.splitlines()}


def of_plugin() -> set[str]:
    """The exports of Unity's native plugin."""
    return {"UnityPluginLoad", "UnityPluginUnload", *re.findall(r"\b(sotto_unity_\w+)\(", declared())}


def declared() -> str:
    """The plugin's header without comments."""
    return re.sub(r"/\*.*?\*/", "", PLUGIN_HEADER.read_text(), flags=re.S)


def problems(names: set[str]) -> list[str]:
    if "UnityPluginLoad" in names:
        wanted = of_plugin()
    else:
        wanted = {ENTRY} if ENTRY in names else set((HERE / "exports.txt").read_text().split())
    extra = [f"exports {name}, which no header declares" for name in sorted(names - wanted)]
    return extra + [f"does not export {name}" for name in sorted(wanted - names)]


def controls() -> list[str]:
    """A check that lets these through is none."""
    core = set((HERE / "exports.txt").read_text().split())
    bad = [core | {"_ZSt4moveIRiE"}, core - {"sotto_version"}, {ENTRY, "llama_decode"}, {ENTRY} | core, set()]
    bad += [of_plugin() | {"sotto_version"}, of_plugin() - {"sotto_unity_attach"}]
    good = [core, {ENTRY}, of_plugin()]
    wrong = [f"symbols: lets {sorted(names)[:2]}... through" for names in bad if not problems(names)]
    return wrong + [f"symbols: refuses {sorted(names)[:2]}..." for names in good if problems(names)]


def main(places: list[str]) -> int:
    found = controls()
    libraries = [path for place in places for path in libraries_in(Path(place))]
    if not libraries:
        found.append(f"symbols: no library in {places}")
    for library in libraries:
        found += [f"{library}: {what}" for what in problems(exported(library))]
    print("\n".join(found) or f"symbols: {len(libraries)} libraries export what they should")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
