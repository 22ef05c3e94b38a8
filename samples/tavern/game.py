"""The game: a loop that handles input, takes the characters' words and draws, 60 times a second."""

from __future__ import annotations

import gc
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pygame
import room
from cast import Cast, Settings
from characters import CANCELLED, Character, Line, everybody
from controls import BUDGETS, MODES, PACES, InputLine, Keys, addressed, step
from meter import Meter
from saves import Saves
from script import Script
from view import State, View

import sotto
from sotto.mode import Mode


@dataclass
class Options:
    """How the game is run. `alone`: without engine, to measure the frames of the game by itself."""

    seconds: float = 0.0  # 0: until the window is closed
    screenshot: Path | None = None
    script: Path | None = None
    alone: bool = False
    visitor: bool = True
    saves: Path | None = None  # folder of memories and the save game; None: nothing is written


class Game:
    """The window with everything in it."""

    def __init__(self, screen: pygame.Surface, settings: Settings, options: Options) -> None:
        self._screen, self._options = screen, options
        self._meter = Meter()
        self._characters = everybody()
        sheets, names = zip(*((one.persona.system, one.spot.called) for one in self._characters), strict=True)
        visitor = self._characters[0].persona.about("Visitor")
        self._saves = Saves(options.saves, names, visitor) if options.saves and not options.alone else None
        self._cast = Cast(settings, [*sheets], self._meter.calls, self._saves)
        self._lines: list[Line] = []
        self._notices: list[str] = []  # what became of save games
        self._changes: list[dict[str, Any]] = []  # what the engine reported after each change of a setting
        self._state = State(options.visitor, options.alone, self._saves is not None)
        self._opened = False  # the model is loaded
        self._going, self._now, self._closed_ms = True, 0.0, 0.0
        self._input = InputLine()
        self._names = [one.spot.called for one in self._characters]
        self._named: int | None = None  # the character that the typed line names
        self._keys = Keys(self._input, self._actions())
        self._script = Script.read(options.script, self._shoot) if options.script else None
        self._view = View(screen, self._characters)

    def run(self) -> dict[str, Any]:
        """Runs until the window is closed or the time is over. Returns the report."""
        if not self._options.alone:
            self._cast.begin()
        gc.collect()
        gc.freeze()  # the pictures stay: the collector need not look at them in a frame
        began = time.perf_counter()
        self._meter.start()
        while self._going:
            self._meter.wait()
            self._frame(time.perf_counter() - began)
            self._meter.end()
        if self._options.screenshot:
            self._shoot(str(self._options.screenshot))
        closing = time.perf_counter()
        final = self._cast.stats()
        self._cast.close()
        self._closed_ms = round((time.perf_counter() - closing) * 1000, 1)
        return self._report(final)

    # One frame

    def _frame(self, now: float) -> None:
        """Runs one frame, `now` seconds after the first one."""
        self._now = round(now, 3)
        events = self._cast.begin_frame()
        if self._script:
            self._script.run(now, loaded=self._loaded, quiet=self._quiet)
        self._handle_input()
        self._hear(events, now)
        if self._saves is not None:
            self._saves.take()
        self._visit(now)
        if self._input.text != self._state.typed:
            self._state.typed = self._input.text
            self._named, _ = addressed(self._input.text, self._names)
        self._state.asked = self._state.selected if self._named is None else self._named
        self._view.draw(now, self._meter, self._cast, self._state)
        self._cast.end_frame()
        if self._options.seconds and now >= self._options.seconds:
            self._going = False

    @property
    def _loaded(self) -> bool:
        return self._cast.ready or self._cast.failure != ""

    @property
    def _quiet(self) -> bool:
        """True if no character speaks, or is about to, and nothing waits for the disk."""
        if self._saves is not None and self._saves.pending:
            return False
        return not any(one.speech or one.waiting for one in self._characters)

    def _handle_input(self) -> None:
        for event in pygame.event.get():
            if event.type == pygame.QUIT:
                self._going = False
            elif event.type == pygame.MOUSEBUTTONDOWN and event.button == 1 and event.pos[1] < room.SCENE:
                away = [abs(one.spot.face[0] - event.pos[0]) for one in self._characters]
                self._state.selected = away.index(min(away))
            else:
                self._keys.handle(event)

    def _hear(self, events: list[sotto.Event], now: float) -> None:
        for event in events:
            character, bubble = self._characters[event.user], self._view.bubbles[event.user]
            line = character.hear(self._cast, event, now)
            if character.speech is not None:
                bubble.write(character.speech.line.answer)
            if line is not None:
                self._finish(character, line, now)

    def _finish(self, character: Character, line: Line, now: float) -> None:
        bubble = self._view.bubbles[character.number]
        self._lines.append(line)
        if self._saves is not None and line.by_player and not line.error:
            self._saves.keep(character.number, line.question, line.answer, self._notice)
        bubble.write(line.answer or f"({line.error})")
        bubble.finish(now)
        if character.waiting or (line.error == CANCELLED and not line.answer):
            bubble.close()

    def _visit(self, now: float) -> None:
        if not self._cast.ready:
            return
        if not self._opened:
            self._opened = True
            for one in self._characters:
                one.next_visit += now  # seconds from the end of the load
        for one in self._characters:
            if self._state.visitor and one.speech is None and not one.waiting and now >= one.next_visit:
                script = one.persona.script
                one.ask(self._cast, script[one.visits % len(script)].text, player=False)
                one.visits += 1
            speech = one.start(self._cast, now)
            if speech is not None:
                self._view.bubbles[one.number].begin(speech.line.question)

    # Keys

    def _actions(self) -> dict[int, Any]:
        settings = self._cast.settings
        return {
            pygame.K_RETURN: self._say,
            pygame.K_KP_ENTER: self._say,
            pygame.K_TAB: lambda: self._select(1),
            pygame.K_RIGHT: lambda: self._select(1),
            pygame.K_LEFT: lambda: self._select(-1),
            pygame.K_ESCAPE: self._leave,
            pygame.K_F1: self._toggle_help,
            pygame.K_F2: lambda: self._set_mode(MODES[(MODES.index(settings.mode) + 1) % len(MODES)]),
            pygame.K_F3: lambda: self._set_pace(step(PACES, settings.target_tps, -1)),
            pygame.K_F4: lambda: self._set_pace(step(PACES, settings.target_tps, 1)),
            pygame.K_F5: lambda: self._set_budget(int(step(BUDGETS, settings.budget_mb, -1))),
            pygame.K_F6: lambda: self._set_budget(int(step(BUDGETS, settings.budget_mb, 1))),
            pygame.K_F7: self._toggle_visitor,
            pygame.K_F8: self._hush,
            pygame.K_F9: self._save_game,
            pygame.K_F10: self._load_game,
            pygame.K_F12: self._save_picture,
        }

    def _say(self) -> None:
        number, text = addressed(self._input.take(), self._names)
        if number is not None:
            self._state.selected = number
        asked = self._characters[self._state.selected]
        if text and self._saves is not None and self._cast.ready:

            def ask(problem: str) -> None:
                self._notice(problem)
                asked.ask(self._cast, text, player=True)

            self._saves.recall(asked.number, text, ask)
        elif text:
            asked.ask(self._cast, text, player=True)

    def _save_game(self) -> None:
        if self._saves is not None and self._cast.ready:
            self._saves.save(lambda problem: self._notice(problem or "saved"))

    def _load_game(self) -> None:
        if self._saves is not None and self._cast.ready:
            self._silence()
            self._saves.load(lambda problem: self._notice(problem or "loaded"))

    def _notice(self, text: str) -> None:
        if text:
            self._state.notice = text
            self._notices.append(text)

    def _save_picture(self) -> None:
        try:
            self._shoot("tavern.png")
        except (pygame.error, OSError) as error:  # for example: the folder is read-only
            print(f"tavern: the picture was not saved: {error}", file=sys.stderr)

    def _select(self, by: int) -> None:
        self._state.selected = (self._state.selected + by) % len(self._characters)

    def _leave(self) -> None:
        if self._state.help:
            self._state.help = False
        elif not self._input.take():
            self._going = False

    def _toggle_help(self) -> None:
        self._state.help = not self._state.help

    def _toggle_visitor(self) -> None:
        self._state.visitor = not self._state.visitor

    def _hush(self) -> None:
        self._state.visitor = False
        self._silence()

    def _silence(self) -> None:
        for one in self._characters:
            one.waiting.clear()
            if one.speech is not None:
                self._cast.cancel(one.speech.request)

    def _set_mode(self, mode: Mode) -> None:
        self._cast.set_mode(mode)
        self._note_change()

    def _set_pace(self, target_tps: float) -> None:
        self._cast.set_pace(target_tps)
        self._note_change()

    def _set_budget(self, megabytes: int) -> None:
        self._cast.set_budget(megabytes)
        self._note_change()

    def _note_change(self) -> None:
        stats = self._cast.stats()
        if stats is not None:
            told = {"mode": stats.mode, "vram_budget": stats.vram_budget}
            told.update(at_s=self._now, target_tps=self._cast.settings.target_tps)
            self._changes.append(told)

    def _shoot(self, path: str) -> None:
        pygame.image.save(self._screen, path)

    def _report(self, final: Any) -> dict[str, Any]:
        return {
            **self._meter.report(),
            "alone": self._options.alone,
            "model": self._cast.settings.model,
            "failure": self._cast.failure,
            "lines": [line.report() for line in self._lines],
            "changes": self._changes,
            "notices": self._notices,
            "closed_ms": self._closed_ms,
            "stats": None if final is None else final._asdict(),
        }
