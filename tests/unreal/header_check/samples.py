"""Shows that each rule rejects a file, with the message that the file names."""

from __future__ import annotations

import re
from pathlib import Path

from .ledger_controls import check_ledger
from .rules import READING, RULES, run
from .sources import Source
from .unit import HERE, Ground, read_module
from .uses import Collector

SELF = "HeaderCheck"
REMARK = re.compile(r"(?://[^\n]*\n)+")

Breach = tuple[str, str]  # rule, message


def check_samples(base: Ground) -> tuple[list[str], str]:
    """Checks that each file of rejected/ breaks the rule it names, and those of accepted/ none."""
    rejected = [Source.read(path) for path in sorted((HERE / "rejected").glob("*.h"))]
    accepted = [Source.read(path) for path in sorted((HERE / "accepted").glob("*.h"))]
    base = Ground((*base.includes, HERE / "more"))
    module, cursors = read_module(SELF, base, [*rejected, *accepted], exports=[f"{SELF.upper()}_API"])
    found: dict[Path, list[Breach]] = {source.path: [] for source in module.sources.values()}
    wrong = []
    for finding in run(module):
        if finding.place.path in found:
            found[finding.place.path].append((finding.rule, finding.message))
        else:
            wrong.append(str(finding))
    tested = set()
    for source in rejected:
        breaches = expected(source)
        tested.update(rule for rule, _ in breaches)
        wrong += _difference(source.path, breaches, found[source.path])
    for source in accepted:
        wrong += _difference(source.path, [], found[source.path])
    wrong += [f"rule '{name}' has no file in rejected/" for name in sorted((set(RULES) | READING) - tested)]
    wrong += check_ledger(Collector(cursors, accepted, base).uses)
    return wrong, f"{len(tested)} rules reject {len(rejected)} files, {len(accepted)} accepted"


def expected(source: Source) -> list[Breach]:
    """Reads the first comment of a file: `rule: <name>`, then `expected: <message>`."""
    remark = REMARK.match(source.text)
    text = " ".join(line[2:].strip() for line in remark[0].splitlines()) if remark else ""
    found = re.fullmatch(r"rule: (\S+) expected: (.+)", text)
    if found is None:
        raise ValueError(f"{source.path}: expected a comment 'rule: <name>', then 'expected: <message>'")
    return [(found[1], found[2])]


def _difference(path: Path, wanted: list[Breach], found: list[Breach]) -> list[str]:
    missing = [
        f"{path.name}: not found: {rule}: {text}" for rule, text in wanted if (rule, text) not in found
    ]
    extra = [
        f"{path.name}: found as well: {rule}: {text}" for rule, text in found if (rule, text) not in wanted
    ]
    return missing + extra
