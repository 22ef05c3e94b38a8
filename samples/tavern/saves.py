"""What outlives the game: memories and a save game. A thread waits for the disk, the game for nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import SimpleQueue

import sotto

RECALLED = 3  # memories in a prompt
GAME = "tavern.sotto"  # file of the save game
WEIGHTS = {"relevance": 1.0, "recency": 0.1, "importance": 0.1}
Done = Callable[[str], None]  # gets what went wrong, or ""


class Saves:
    """The memories of all characters, found by words, and a save game, in a folder.

    No method but `close()` waits. Functions that are passed run in `take()`, on the game's thread.
    """

    def __init__(self, folder: Path, names: Sequence[str], visitor: str) -> None:
        self.pending = 0  # calls whose result was not taken
        self._folder, self._names, self._visitor = folder, names, visitor
        self._engine: sotto.Engine | None = None
        self._sessions: Sequence[sotto.Session] = ()
        self._prompts: list[str] = []
        self._store: sotto.Store | None = None
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._results: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="tavern saves", daemon=True)

    def begin(self, engine: sotto.Engine, sessions: Sequence[sotto.Session], prompts: Sequence[str]) -> None:
        """Opens the store; on any thread. `prompts`: the sheets, whose last line says how to answer."""
        self._engine, self._sessions, self._prompts = engine, sessions, list(prompts)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._store = sotto.Store.open("memories", folder=self._folder)
        self._thread.start()

    def recall(self, number: int, text: str, done: Done) -> None:
        """Lets the next answer of a character know what fits a text."""
        self._submit(lambda: self._remind(number, text), done)

    def keep(self, number: int, text: str, answer: str, done: Done) -> None:
        """Keeps what the player and a character have said."""
        line = " ".join(f"{self._visitor} said: {text} You said: {answer}".split())
        fields = {"id": f"{number}/{line}"[:200], "value": line, "namespace": self._names[number]}
        self._submit(lambda: self._open.insert_many([fields], replace=True), done)

    def save(self, done: Done) -> None:
        """Saves all conversations and memories."""
        self._submit(lambda: self._running.save_game(self._folder / GAME, stores=[self._open]), done)

    def load(self, done: Done) -> None:
        """Goes back to the conversations and memories that were saved."""
        self._submit(lambda: self._running.restore_game(self._folder / GAME, stores=[self._open]), done)

    def take(self) -> None:
        """Hands out results, once a frame."""
        while not self._results.empty():
            self.pending -= 1
            self._results.get()()

    def close(self) -> None:
        """Finishes what was begun, and closes the store."""
        if self._thread.ident is not None:
            self._work.put(None)
            self._thread.join(30)
        if self._store is not None:
            self._store.close()

    @property
    def _open(self) -> sotto.Store:
        assert self._store is not None
        return self._store

    @property
    def _running(self) -> sotto.Engine:
        assert self._engine is not None
        return self._engine

    def _remind(self, number: int, text: str) -> None:
        name = self._names[number]
        found = self._open.query(text, limit=RECALLED, namespace=name, weights=WEIGHTS)
        sheet, answer_as = self._prompts[number].rsplit("\n", 1)
        title = [] if "\nMemories:\n" in sheet else ["Memories:"]  # the sheet's last list
        lines = [*title, *(f"- {match.entry.value}" for match in found)] if found else []
        self._sessions[number].set_system("\n".join([sheet, *lines, answer_as]))

    def _submit(self, work: Callable[[], object], done: Done) -> None:
        def run() -> None:
            problem = ""
            try:
                work()
            except (sotto.SottoError, OSError) as error:
                problem = str(error)
            self._results.put(lambda: done(problem))

        self.pending += 1
        self._work.put(run)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()
