"""The command: checks a plugin, or the files that the rules must reject."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from build_rules.rules import ModuleLists, execute

from . import rules_files, rules_functions, rules_properties, rules_types  # noqa: F401  they register rules
from .ledger import Ledger, ModuleUses
from .model import Finding, Module
from .plugin import Plugin
from .rules import READING, RULES, run
from .samples import check_samples
from .sources import Source
from .unit import HERE, Ground
from .uses import Collector, Uses

ROOT = HERE.parents[2]
DOUBLE = ROOT / "tests" / "unreal" / "double" / "include"


LINUX = "Linux"
TARGETS = {"Win64": "WINDOWS", "Android": "ANDROID"}  # target platform -> its macro PLATFORM_...


def ground(double: Path = DOUBLE) -> Ground:
    """What plugins are parsed with: the double of the engine and the public C headers."""
    return Ground((double, ROOT / "include"))


class PluginCheck:
    """A plugin, read once for the rules and for the ledger."""

    def __init__(self, root: Path, base: Ground) -> None:
        self._plugin, self._base = Plugin(root.resolve()), base
        self._modules: list[Module] = []
        self._uses: dict[str, Uses] = {}
        for module, cursors in self._plugin.read(base):
            self._modules.append(module)
            self._uses[module.name] = Collector(cursors, module.sources.values(), base).uses

    def findings(self) -> list[Finding]:
        """What the rules find."""
        found = {str(finding): finding for module in self._modules for finding in run(module)}
        return list(found.values())

    def figures(self) -> str:
        """Counts what was read."""
        records = [record for module in self._modules for record in module.records]
        reflected = [record for record in records if record.specifiers is not None]
        functions = sum(len(list(record.ufunctions())) for record in reflected)
        properties = sum(len(list(record.uproperties())) for record in reflected)
        return (
            f"{len(self._modules)} modules, {len(reflected)} reflected classes, {functions} UFUNCTIONs, "
            f"{properties} UPROPERTYs, {len(RULES) + len(READING)} rules"
        )

    def ledger_problems(self, ledger: Ledger) -> list[str]:
        """What the ledger finds; the branches for other platforms are read as well."""
        lists = execute(self._plugin.root, (LINUX, *TARGETS))
        problems: list[str] = []
        modules = [self._used(LINUX, name, uses, lists[LINUX]) for name, uses in self._uses.items()]
        for target, platform in TARGETS.items():
            base = replace(self._base, platform=platform)
            chosen = partial(Source.speaks_of, platform=platform)
            for module, cursors in self._plugin.read(base, only=chosen):
                uses = Collector(cursors, module.sources.values(), base).uses
                modules.append(self._used(target, module.name, uses, lists[target]))
                problems += [str(one) for one in module.problems if one.rule == "compiles"]
        return [*problems, *ledger.problems(modules)]

    @staticmethod
    def _used(target: str, name: str, uses: Uses, lists: Mapping[str, ModuleLists]) -> ModuleUses:
        return ModuleUses(f"{name}.Build.cs for {target}", uses, lists[name].dependencies() | {name})


def report(problems: Iterable[object], figures: str, noun: str) -> bool:
    """Prints problems, then a line that counts them. Returns true if there are any."""
    lines = [str(problem) for problem in problems]
    print("\n".join([*lines, f"{figures}, {len(lines)} {noun}"]), flush=True)
    return bool(lines)


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(prog="header_check", description="Checks the headers of an Unreal plugin.")
    made.add_argument("--plugin", type=Path, help="folder of the plugin, with its .uplugin")
    made.add_argument("--samples", action="store_true", help="check the rules on rejected/ and accepted/")
    made.add_argument("--ledger", type=Path, help="with --plugin: the ledger of the engine's symbols")
    made.add_argument("--double", type=Path, default=DOUBLE, help="include folder of the engine's double")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns 1 if something was found."""
    options = parser().parse_args(arguments)
    if not options.plugin and not options.samples:
        parser().error("expected --plugin or --samples")
    if not (options.double / "CoreMinimal.h").is_file():
        parser().error(f"invalid --double '{options.double}': expected a folder with CoreMinimal.h")
    base, failed = ground(options.double), False
    if options.samples:
        wrong, said = check_samples(base)
        failed = report(wrong, f"header_check: {said}", "wrong")
    if options.plugin:
        try:
            checked = PluginCheck(options.plugin, base)
        except FileNotFoundError as error:
            parser().error(str(error))
        failed |= report(checked.findings(), f"header_check: {checked.figures()}", "findings")
        if options.ledger:
            ledger = Ledger(options.ledger)
            problems = checked.ledger_problems(ledger)
            failed |= report(problems, f"ledger: {ledger.figures()}", "problems")
    return 1 if failed else 0
