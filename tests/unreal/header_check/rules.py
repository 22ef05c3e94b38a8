"""The registry of rules, and how they are run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from .model import Finding, Module, Place

Broken = tuple[Place, str]
Rule = Callable[[Module], Iterable[Broken]]
RULES: dict[str, Rule] = {}
READING = {"compiles", "specifier-syntax"}  # rules that reading a module applies


def rule(name: str) -> Callable[[Rule], Rule]:
    """Registers a rule: a function that yields place and message of each breach."""

    def register(function: Rule) -> Rule:
        if name in RULES:
            raise ValueError(f"rule '{name}' is defined twice")
        RULES[name] = function
        return function

    return register


def run(module: Module) -> Iterator[Finding]:
    """Yields what the rules find in a module, and what reading it found."""
    yield from module.problems
    for name, check in RULES.items():
        for place, message in check(module):
            yield Finding(place, name, message)
