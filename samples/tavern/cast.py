"""The engine's side of the game. Nothing here waits, but for `close()`: the model is loaded by a thread."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from meter import PERIOD, Stopwatch
from moods import MOODS
from saves import Saves

import sotto
from sotto.mode import Mode
from sotto.npc.sampling import CHARACTER_SAMPLING

HOUSE = "sotto/house"
MAX_TOKENS = 96
SCHEMA = {  # what a character decides: its words first, so that they are spoken while the rest is decoded
    "type": "object",
    "properties": {"say": {"type": "string", "maxLength": 200}, "emotion": {"enum": [*MOODS]}},
    "required": ["say", "emotion"],
    "additionalProperties": False,
}
ANSWER_AS = "Answer as: JSON (say, emotion)"  # the sheet's line for it
FORM = {"type": "json_schema", "json_schema": {"name": "decision", "schema": SCHEMA}}


@dataclass
class Settings:
    """What the player chooses: the model, and what the keys change."""

    model: str = HOUSE
    mode: Mode = "balance"
    target_tps: float = 24
    budget_mb: int = 0


class Cast:
    """The engine with one session for each character. `calls` measures the time of its calls.

    `saves`: where memories and save games are kept, or None.
    """

    def __init__(
        self, settings: Settings, sheets: list[str], calls: Stopwatch, saves: Saves | None = None
    ) -> None:
        self.settings, self.saves = settings, saves
        self.ready, self.failure = False, ""
        self.progress: tuple[str, float] = ("load", 0.0)
        self._sheets, self._calls = sheets, calls
        self._engine: sotto.Engine | None = None
        self._sessions: list[sotto.Session] = []
        self._closing, self._lock = False, threading.Lock()
        self._thread = threading.Thread(target=self._load, name="tavern loader", daemon=True)

    def begin(self) -> None:
        """Starts loading the model. `ready` is True when characters can answer, `failure` says why not."""
        self._thread.start()

    def begin_frame(self) -> list[sotto.Event]:
        """Reports that the game starts its work on a frame. Returns the events since the last frame."""
        if not self.ready:
            return []
        with self._calls:
            self.engine.frame_begin(busy_cores=1, period=PERIOD)
            return list(self.engine.events())

    def end_frame(self) -> None:
        """Reports that the game has finished its work on a frame."""
        if self.ready:
            with self._calls:
                self.engine.frame_end()

    def ask(self, number: int, text: str, *, player: bool) -> int:
        """Submits a turn of one character's session and returns the request's id.

        The player's own question goes before those of the visitor.
        """
        sampling: dict[str, Any] = {"temperature": 0.7, "top_p": 0.95, "min_p": 0.05}
        if self.settings.model in ("sotto/house", "sotto/tavern"):
            sampling = dict(CHARACTER_SAMPLING)
        fields = {"max_tokens": MAX_TOKENS, "response_format": FORM, **sampling}
        with self._calls:
            return self._sessions[number].submit(
                text, fields, user=number, priority="foreground" if player else "normal"
            )

    def cancel(self, request: int) -> None:
        """Cancels an answer. Its last event still follows."""
        with self._calls:
            self.engine.cancel(request)

    def field(self, decision: str, name: str) -> sotto.JsonField:
        """Reads a field of a decision that is still being decoded. Its time is charged to the game."""
        return sotto.json_field(decision, name)

    def stats(self) -> sotto.Stats | None:
        """Returns the engine's statistics, or None if the model is not loaded."""
        if not self.ready:
            return None
        with self._calls:
            return self.engine.stats()

    def set_mode(self, mode: Mode) -> None:
        """Changes the scheduling mode."""
        self.settings.mode = mode
        if self.ready:
            with self._calls:
                self.engine.set_scheduling_mode(mode)

    def set_pace(self, target_tps: float) -> None:
        """Changes the pace of all characters, those that speak included."""
        self.settings.target_tps = target_tps
        if self.ready:
            with self._calls:
                self.engine.set_target_tps(target_tps)

    def set_budget(self, megabytes: int) -> None:
        """Changes the memory budget. Characters that lose their slot continue later."""
        self.settings.budget_mb = megabytes
        if self.ready:
            with self._calls:
                self.engine.set_vram_budget_mb(megabytes)

    @property
    def engine(self) -> sotto.Engine:
        """The engine."""
        assert self._engine is not None
        return self._engine

    def close(self) -> None:
        """Cancels all answers, or the load, and frees the engine."""
        with self._lock:
            was_ready, self._closing, self.ready = self.ready, True, False
            engine = self._engine
        if self.saves is not None and was_ready:
            self.saves.close()
        if engine is not None:
            engine.close()
        if self._thread.ident is not None:
            self._thread.join(30)

    def _load(self) -> None:
        wanted = self.settings
        try:
            engine = sotto.Engine(
                mode=wanted.mode, target_tps=wanted.target_tps, vram_budget_mb=wanted.budget_mb
            )
            with self._lock:
                self._engine = engine
                if self._closing:
                    engine.close()
                    return
            engine.load_model(wanted.model, progress=self._advance)
            prompts = [f"{sheet}\n{ANSWER_AS}" for sheet in self._sheets]
            for number, prompt in enumerate(prompts):  # a save game finds them again by their ids
                self._sessions.append(engine.session(f"guest {number}", prompt, model=wanted.model))
            if self.saves is not None:
                self.saves.begin(engine, self._sessions, prompts)
        except Exception as error:  # whatever it was, the player has to see it
            if not self._closing:
                self.failure = str(error)
            return
        with self._lock:
            self.ready = not self._closing
        self._catch_up()

    def _catch_up(self) -> None:
        """Applies what the player changed during the load."""
        wanted = self.settings
        if self.ready:
            self.engine.set_scheduling_mode(wanted.mode)
            self.engine.set_target_tps(wanted.target_tps)
            self.engine.set_vram_budget_mb(wanted.budget_mb)

    def _advance(self, stage: str, part: float) -> None:
        self.progress = (stage, part)
