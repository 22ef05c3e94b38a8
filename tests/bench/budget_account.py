"""A host that hears of each block that an engine takes or gives back, and minds its budget."""

from __future__ import annotations

import re
import threading
from types import ModuleType, TracebackType
from typing import Any
from unittest import mock

MB = 1 << 20
AMPLE_MB = 1 << 24  # more than any machine has
LOOKS_S = 0.005  # between two looks at what is in use
NEED, HAVE = re.compile(r"needs? .*?\d+ MB"), re.compile(r"budget of \d+ MB")
WAY_OUT = re.compile(r"raise|unload|ask for less|wait", re.IGNORECASE)


def says_why(refusal: str) -> bool:
    """Whether it names what is needed, what there is, and a way out."""
    return all(what.search(refusal) for what in (NEED, HAVE, WAY_OUT))


class Account:
    """Of one engine. Counts each block that does not fit at the moment when it is taken."""

    def __init__(self, sotto: ModuleType) -> None:
        from sotto import _call, _lib  # needs the package to be found

        self.sotto, self.text = sotto, _call.text
        self.device = "cpu"  # whose memory counts
        self.violations, self.taken, self.blocks = 0, 0, 0  # guarded by _lock
        self._most: float = float("inf")  # likewise: bytes that may be taken
        self._fell: tuple[str, int] = ("", 0)  # whose memory became less just before, and by how much
        self._lock = threading.Lock()
        self._hook = _lib.ffi.callback("sotto_memory_fn", self._changed)
        self._report = _call.struct("sotto_memory_report", changed=self._hook)

    def engine(self, budget_mb: int = 0, **options: Any) -> Any:
        """One whose memory this hears of."""
        self.device = {"auto": "cpu"}.get(options.get("device", "auto"), options.get("device"))
        self._most = budget_mb * MB or float("inf")
        handle = self.sotto.engine.Handle

        def lent(desc: Any) -> Any:
            desc.memory = self._report
            return handle(desc)

        with mock.patch.object(self.sotto.engine, "Handle", lent):
            return self.sotto.Engine(vram_budget_mb=budget_mb, **options)

    def set_budget_mb(self, engine: Any, mb: int) -> None:
        """Another budget. Once this returns, it counts alone."""
        most = mb * MB or float("inf")
        with self._lock:
            self._most = max(self._most, most)
        engine.set_vram_budget_mb(mb)
        engine.memory()  # waits for whoever was taking something under the old one
        with self._lock:
            self._most = most

    def _changed(self, _self: Any, _kind: int, device: Any, model: Any, more: int) -> None:
        if self.text(device) != self.device:
            return  # what is parked lies in the machine's memory
        with self._lock:
            self.taken += more
            self.blocks += 1
            whose, less = self._fell
            # A resize to fewer places reports several parts of a model, of which one may grow.
            is_less = whose == self.text(model) and more <= less
            if more > 0 and self.taken > self._most and not is_less:
                self.violations += 1
            self._fell = (self.text(model), max(0, -more))


class Watch:
    """Looks at what an engine has, all the time: it may grow within the budget alone."""

    def __init__(self, engine: Any) -> None:
        self.violations, self.looks, self.most_parked = 0, 0, 0
        self._engine, self._last = engine, (0, 0)  # budget, used
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def look(self) -> dict[str, Any]:
        """Now."""
        with self._lock:
            told: dict[str, Any] = self._engine.memory()
            budget, used = told["budget"], told["used"]
            grew = budget == self._last[0] and used > self._last[1]
            self.violations += grew and 0 < budget < used
            self.most_parked = max(self.most_parked, told["parked"]["memory"])
            self._last = (budget, used)
            self.looks += 1
        return told

    def _run(self) -> None:
        while not self._over.wait(LOOKS_S):
            self.look()
