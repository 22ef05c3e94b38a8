"""Fails when today's ABI is not a continuation of the last release's.

Allowed: new functions, new constants, new types, new fields after the old ones. Not allowed:
anything that changes or moves what a shipped game was compiled against. What module.h declares is
held to this within a minor version, everything else within a major.

    abi_check.py [RELEASED.json CURRENT.json]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import abi_controls

HERE = Path(__file__).resolve().parent
Abi = dict[str, Any]


def version(text: str) -> list[int]:
    return [int(part) for part in text.split(".")]


def continues(was: Abi, now: Abi, scalars: dict[str, str]) -> bool:
    """Whether `now` starts with `was`. A checked `reserved` may have become a field of its type."""

    def same(old: list[Any], new: list[Any]) -> bool:
        used = old[0] == "reserved" and scalars.get(new[1], new[1]) == old[1] and new[2] == old[2]
        return new == old or used

    old, new = was["fields"], now["fields"]
    return len(new) >= len(old) and all(map(same, old, new))


def struct_breaks(name: str, was: Abi, now: Abi, scalars: dict[str, str]) -> list[str]:
    if not continues(was, now, scalars):
        return [f"struct {name}: a shipped field was changed, moved or removed"]
    if was["frozen"] and now != was:
        return [f"struct {name} is frozen and changed"]
    if len(now["fields"]) > len(was["fields"]) and now["size"] <= was["size"]:
        return [f"struct {name} has more fields in the same size: struct_size cannot tell"]
    if len(now["fields"]) == len(was["fields"]) and now["size"] != was["size"]:
        return [f"struct {name} has another size"]
    return []


def breaks(old: Abi, new: Abi) -> list[str]:
    """Every way in which `new` breaks what was built against `old`."""
    then, today = version(old["version"]), version(new["version"])
    if today < then:
        return [f"version {new['version']} is older than the release {old['version']}"]
    if then[0] != today[0]:
        return []
    free = set(old["minor"]) if then[:2] != today[:2] else set()
    found = []
    for kind in ("structs", "opaque", "scalars", "constants", "callbacks", "functions"):
        for name, was in old[kind].items():
            now = new[kind].get(name)
            if name in free:
                continue
            if now is None:
                found.append(f"{name} is gone")
            elif kind == "structs":
                found += struct_breaks(name, was, now, new["scalars"])
            elif now != was:
                found.append(f"{name} was {was}, is {now}")
            if name in new["minor"] and name not in old["minor"]:
                found.append(f"{name} moved to module.h, which promises less")
    return found


def newest() -> Path:
    return max((HERE / "released").glob("*.json"), key=lambda path: version(path.stem))


def main() -> int:
    released, current = map(Path, sys.argv[1:3]) if len(sys.argv) > 2 else (newest(), HERE / "layout.json")
    old, new = json.loads(released.read_text()), json.loads(current.read_text())
    problems = abi_controls.wrong(new, breaks) + breaks(old, new)
    print("\n".join(problems) or f"abi: a continuation of {released.stem}")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
