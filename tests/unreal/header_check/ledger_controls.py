"""Shows that the collector finds what a source uses, and that the ledger's comparison finds what is wrong."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .ledger import Ledger, ModuleUses
from .uses import Uses

# In accepted/Accepted.h: bases, an overridden member, templates, macros, a member inside a macro's arguments.
USED = {
    "UBlueprintAsyncActionBase": {"Activate"},
    "TWeakObjectPtr": set(),
    "TMap": set(),
    "AddDynamic": set(),
    "GENERATED_BODY": set(),
    "FString": {"IsEmpty"},
    "UE_LOG": set(),
    "ELogVerbosity": {"Warning"},
}
UNUSED = {"FText", "SNew"}
ENTRY = {
    "kind": "class",
    "header": "A.h",
    "module": "Core",
    "first": "5.3",
    "last": "5.6",
    "source": "hand",
}
Change = Callable[[Any], object]


def check_ledger(uses: Uses) -> list[str]:
    """Returns what the controls find wrong. `uses`: what the collector found in accepted/."""
    wrong = []
    for name, members in USED.items():
        found = uses.symbols.get(name)
        if found is None or not members <= found.members:
            wrong.append(f"collector: {name} {sorted(members)} is used in accepted/, but not found: {found}")
    wrong += [
        f"collector: {name} was found, but is not used" for name in sorted(UNUSED & uses.symbols.keys())
    ]
    wrong += [f"collector: {name} is the double's own" for name in uses.symbols if "Double" in name]
    return wrong + _compared(uses)


def _compared(uses: Uses) -> list[str]:
    """Compares a ledger made for the uses, then changed ones."""
    symbols = {
        name: {**ENTRY, "header": use.header, "members": sorted(use.members)}
        for name, use in uses.symbols.items()
    }
    headers = dict.fromkeys(uses.headers, "Core")
    document = {"about": "control", "minimum": "5.3", "headers": headers, "symbols": symbols}
    changes: list[tuple[str, Change]] = [
        ("'FString' (class", lambda ledger: ledger["symbols"].pop("FString")),
        (
            "members: 'IsEmpty' is used, but not listed",
            lambda ledger: ledger["symbols"]["FString"]["members"].clear(),
        ),
        ("'FNever' is listed, but not used", lambda ledger: ledger["symbols"].update(FNever=ENTRY)),
        ("'CoreMinimal.h' is included", lambda ledger: ledger["headers"].pop("CoreMinimal.h")),
        (
            "'Never.h' is listed, but not included",
            lambda ledger: ledger["headers"].update({"Never.h": "Core"}),
        ),
        ("'Slate' is missing", lambda ledger: ledger["symbols"]["FString"].update(module="Slate")),
        (
            "symbols.FString.header: 'Elsewhere.h', but the double declares it in",
            lambda ledger: ledger["symbols"]["FString"].update(header="Elsewhere.h"),
        ),
        ("first known in 5.4", lambda ledger: ledger["symbols"]["FString"].update(first="5.4")),
        ("last known in 5.2", lambda ledger: ledger["symbols"]["FString"].update(last="5.2")),
        ("'source' is a required property", lambda ledger: ledger["symbols"]["FString"].pop("source")),
    ]
    wrong = [f"ledger control: {problem}" for problem in _problems(document, uses)]
    for wanted, change in changes:
        changed = copy.deepcopy(document)
        change(changed)
        if not any(wanted in problem for problem in _problems(changed, uses)):
            wrong.append(f"ledger control: '{wanted}' was not found")
    return wrong


def _problems(document: object, uses: Uses) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "api.json")
        path.write_text(json.dumps(document))
        return list(Ledger(path).problems([ModuleUses("Control", uses, {"Core"})]))
