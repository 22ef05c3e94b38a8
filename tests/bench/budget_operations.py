"""Random operations on an engine whose budget is changed all the time."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from budget_account import AMPLE_MB, MB, Account, Watch, says_why
from models import Model

SESSIONS = 12
MOST_LIVE = 32  # chats
PATIENCE_S = 60.0  # without an event, while chats are live
SHOWN = 3  # refusals that do not say why


@dataclass
class Wanted:
    """A model, and how it is loaded."""

    name: str
    model: Model
    options: dict[str, Any]
    share: int = 3  # of the chats
    is_image: bool = False  # generates images instead of chats


@dataclass
class Chat:
    """One that was asked for."""

    model: str
    session: str | None
    began: bool = False  # something was said
    ended_by_us: bool = False


@dataclass
class Tally:
    """What came of it all."""

    ended: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    refusals: int = 0
    unclear: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def refused(self, why: str) -> None:
        """For lack of room."""
        self.refusals += 1
        if not says_why(why):
            self.unclear.append(why)


class Operations:
    """One engine, and what is done to it."""

    def __init__(
        self, sotto: ModuleType, wanted: list[Wanted], seed: int, kv_spill_dir: Path, device: str = "auto"
    ) -> None:
        from sotto._lib import lib  # needs the package to be found

        self.sotto, self.budget_status = sotto, lib.SOTTO_ERROR_BUDGET
        self.wanted, self.random = {one.name: one for one in wanted}, random.Random(seed)
        self.account = Account(sotto)
        options = {"mode": "prioritize_compute", "kv_spill_dir": kv_spill_dir, "kv_spill_memory_mb": 4}
        self.engine = self.account.engine(AMPLE_MB, device=device, **options)
        self.total_mb = sum(self.planned(one) for one in wanted) // MB
        self.loaded: set[str] = set()
        self.chats: dict[int, Chat] = {}  # that are not over
        self.sessions = [self.engine.session(f"character {n}", "You are brief.").id for n in range(SESSIONS)]
        self.tally = Tally()

    def planned(self, one: Wanted) -> int:
        """Bytes that a model takes as it is asked for."""
        plan = self.engine.plan_model(one.name, path=one.model.path, options=one.options)
        return int(plan["rungs"][0]["bytes"])

    def run(self, operations: int) -> dict[str, Any]:
        """So many of them."""
        weights = {
            self.chat: 40,
            self.crowd: 6,
            self.budget: 20,
            self.load: 10,
            self.unload: 6,
            self.cancel: 4,
            self.rest: 14,
        }
        with self.engine, Watch(self.engine) as watch:
            for _ in range(operations):
                operation: Callable[[], None] = self.random.choices(
                    list(weights), weights=list(weights.values())
                )[0]
                operation()
                self.tally.done[operation.__name__] += 1
                self.take_events()
                watch.look()
                if len(self.chats) > MOST_LIVE:
                    self.finish(MOST_LIVE // 4)
            self.finish(0)
        return self.report(operations, watch)

    def report(self, operations: int, watch: Watch) -> dict[str, Any]:
        """All of it."""
        tally = self.tally
        return {
            "operations": operations,
            "violations": self.account.violations + watch.violations,
            "failed_streams": len(tally.failed),
            "refusals": tally.refusals,
            "unclear_refusals": len(tally.unclear),
            "bytes_left": self.account.taken,
            "blocks": self.account.blocks,
            "looks": watch.looks,
            "done": dict(tally.done),
            "ended": dict(tally.ended),
            "examples": (tally.unclear + tally.failed)[:SHOWN],
        }

    # What is done

    def chat(self) -> None:
        """One of random length, in a session or not."""
        if not self.loaded:
            return self.load()
        names = sorted(self.loaded)
        (name,) = self.random.choices(names, weights=[self.wanted[one].share for one in names])
        words = self.random.choices(self.wanted[name].model.words, k=self.random.randint(2, 60))
        if self.wanted[name].is_image:
            return self.image(name, " ".join(words[:20]))
        body: dict[str, Any] = {
            "model": name,
            "messages": [{"role": "user", "content": " ".join(words)}],
            "max_tokens": self.random.randint(2, 24),
            "on_budget": self.random.choice(["wait", "wait", "wait", "fail", "shrink"]),
        }
        busy = {chat.session for chat in self.chats.values()}
        free = [one for one in self.sessions if one not in busy]
        session = self.random.choice(free) if free and self.random.random() < 0.5 else None
        if session is not None:
            body["session"] = session
        priority = self.random.choice(["background", "normal", "normal", "foreground"])
        request = self.engine.submit("chat", body, priority=priority)
        self.chats[request] = Chat(name, session)
        return None

    def image(self, name: str, prompt: str) -> None:
        """Of a random number of denoise steps."""
        body = {
            "model": name,
            "prompt": prompt,
            "steps": self.random.randint(1, 8),
            "seed": self.random.randint(0, 9),
            "on_budget": self.random.choice(["wait", "wait", "fail"]),
        }
        self.chats[self.engine.submit("image_generate", body)] = Chat(name, None)

    def crowd(self) -> None:
        """More chats than there are places."""
        for _ in range(8):
            self.chat()

    def budget(self) -> None:
        """Up or down, also to what makes no sense."""
        odd = [0, 1, AMPLE_MB]
        some = self.random.randint(self.total_mb // 10, self.total_mb * 11 // 10)
        mb = self.random.choice(odd) if self.random.random() < 0.25 else some
        self.account.set_budget_mb(self.engine, mb)

    def load(self) -> None:
        """One that is not there."""
        missing = sorted(self.wanted.keys() - self.loaded)
        if not missing:
            return
        one = self.wanted[self.random.choice(missing)]
        try:
            self.engine.load_model(one.name, path=one.model.path, options=one.options)
            self.loaded.add(one.name)
        except self.sotto.SottoError as error:
            if error.status != self.budget_status:
                raise
            self.tally.refused(str(error))

    def unload(self) -> None:
        """One that is there, and whatever it is doing."""
        if not self.loaded:
            return
        name = self.random.choice(sorted(self.loaded))
        for chat in self.chats.values():
            chat.ended_by_us |= chat.model == name
        self.engine.unload_model(name)
        self.loaded.remove(name)

    def cancel(self) -> None:
        """A chat."""
        if self.chats:
            request = self.random.choice(sorted(self.chats))
            self.chats[request].ended_by_us = True
            self.engine.cancel(request)

    def rest(self) -> None:
        """Lets some be said."""
        self.engine.wait(self.random.uniform(0, 0.05))

    # What comes of it

    def finish(self, most: int) -> None:
        """Until no more chats than that are live; they count as stuck once no event comes."""
        self.account.set_budget_mb(self.engine, AMPLE_MB)
        end = time.monotonic() + PATIENCE_S
        while len(self.chats) > most and time.monotonic() < end:
            self.engine.wait(0.05)
            if self.take_events():
                end = time.monotonic() + PATIENCE_S
        if len(self.chats) > most:
            stuck = [f"request {request} never ended: {chat}" for request, chat in self.chats.items()]
            self.tally.failed += stuck
            self.chats.clear()

    def take_events(self) -> int:
        """What happened. Returns the number of events."""
        events = list(self.engine.events())
        for event in events:
            chat = self.chats.get(event.request)
            if chat is None:
                continue
            chat.began |= event.kind in ("text", "progress")
            if event.kind == "request_done":
                del self.chats[event.request]
                self.ended(chat, event.status, event.error)
        return len(events)

    def ended(self, chat: Chat, status: int, why: str) -> None:
        """Of a chat that is over."""
        if status >= 0:
            self.tally.ended["well"] += 1
        elif chat.ended_by_us:
            self.tally.ended["by us"] += 1
        elif status == self.budget_status and (not chat.began or self.wanted[chat.model].is_image):
            self.tally.ended["refused"] += 1
            self.tally.refused(why)
        else:
            self.tally.failed.append(f"{chat.model}: {why}")
