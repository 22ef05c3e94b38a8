"""Compares the memories of characters in C# and in Python: each reads, recalls and forgets as the other does.

    exchange.py PROGRAM LIBRARIES FOLDER

PROGRAM is Exchange.cs, compiled; FOLDER is empty. Prints how many lines are the same. The library is that of
SOTTO_LIBRARY, which `run.py` sets.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import sotto
from checks.ground import Failed
from csharp.run import environment
from dotnet.toolchain import run_mono
from sotto.npc.memory import Forgetting, Memories, load_state, save_state

NAME = "Mara Büttner"
STATE = {"mood": "sly 夜", "place": "inn", "time": "", "relationships": {"Tobin": 'your "son"'}}


class Embedder:
    """Stands in for an engine: embeds a text as the number of times that it has each letter."""

    def embeddings(self, texts: Sequence[str], model: str, truncate: bool) -> Any:
        """Returns a vector for each text."""
        return SimpleNamespace(vectors=[self._vector(text.lower()) for text in texts])

    @staticmethod
    def _vector(text: str) -> list[float]:
        counts = [float(text.count(chr(ord("a") + i))) for i in range(26)]
        return [counts[0] + 0.1, *counts[1:]]


class Character:
    """A character's memories in the store of a folder, with a clock that the test sets."""

    def __init__(self, store: Any) -> None:
        self.now = 1_800_000_000.25
        self.store = store
        rule = Forgetting(most=10, half_life=100)
        engine: Any = Embedder()
        self.memories = Memories(
            engine, store, NAME, model="letters", forgetting=rule, clock=lambda: self.now
        )

    def lines(self) -> list[str]:
        """What Exchange.cs prints of each memory."""
        return [f"{one.id} {one.text} {one.kind} {int(one.used * 1000)}" for one in self.memories]

    def write(self) -> None:
        """Adds the memories that both sides read."""
        texts = [f"line {i} of\u00a0the\u2003tale \x1c x {end}" for i, end in enumerate("abc🏰")]
        self.memories.add(texts, "said", 0.3)
        self.memories.add("The cellar is locked.", "fact", 0.8)
        save_state(self.store, NAME, STATE)

    def play(self) -> list[str]:
        """Does what Exchange.cs does. Returns what it prints."""
        printed = [*self.lines(), 'sly 夜 inn your "son"']
        self.now += 50
        printed += [one.text for one in self.memories.recall("cellar tale", 4)]
        self.memories.add("line 1 of  the tale x b", "said", 0.3)
        self.now += 100
        for i in range(8):
            self.memories.add(f"new {i}", "fact", 0.3 + i / 20)
        return printed + self.lines()


def exchange(program: Path, folder: Path, libraries: Path) -> int:
    """Writes in Python, then reads and changes one copy in C# and another in Python.

    Returns:
        How many lines are the same.
    """
    ours, theirs = folder / "python", folder / "csharp"
    with sotto.Store.open("lore", folder=ours, dim=26) as store:
        Character(store).write()
    shutil.copytree(ours, theirs)
    printed = run_mono(program, theirs, env=environment(libraries)).splitlines()
    with sotto.Store.open("lore", folder=ours) as store:
        wanted = Character(store).play()
    if printed != wanted:
        raise Failed("\n".join(["C# has", *printed, "Python has", *wanted]))
    with sotto.Store.open("lore", folder=theirs) as store:
        found = Character(store).lines(), load_state(store, NAME)
    if found != (wanted[-len(found[0]) :], {**STATE, "mood": "wroth 🏰"}):
        raise Failed(f"Python reads of C#: {found}")
    return len(wanted)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    program, libraries, folder = (Path(one).resolve() for one in sys.argv[1:])
    print(exchange(program, folder, libraries))
