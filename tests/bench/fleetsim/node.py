"""A node: one compute resource that prefills prompts and decodes streams at a pace, with KV caches.

The node is simulated as a fluid: between two events its time is shared at fixed rates. Decoding takes what
the pace of its streams needs, prefill the rest, and at least MIN_PREFILL_SHARE: the engine's steps decode
one token of each stream that is due and fill the rest with prefill. Prompts are served as the engine's
scheduler does: shortest remaining prefill first, with preemption, but one that waits for OVERDUE_S goes
first.
"""

from __future__ import annotations

import heapq
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import simpy

from .service import MIN_PREFILL_SHARE, NodeKind
from .traffic import Player, Turn

TINY = 1e-9
OVERDUE_S = 10.0  # after which the engine's scheduler serves a stream first
MAX_REQUESTS = 512  # on a node, the default of the server's max_requests


class Request:
    """A turn on its way."""

    __slots__ = (
        "answered",
        "asked",
        "cached",
        "depth",
        "end",
        "gone",
        "left",
        "novel",
        "player",
        "resumed",
        "started",
        "tokens",
        "work",
    )

    def __init__(self, player: Player, turn: Turn, asked: float) -> None:
        self.player = player
        self.depth = turn.context  # tokens of the prompt
        self.novel = turn.novel  # of them never processed before
        self.tokens = turn.answer
        self.left = turn.answer  # tokens that are still to be decoded
        self.asked = asked
        self.cached = 0
        self.work = 0.0  # seconds of prefill on a node that does nothing else
        self.end = 0.0  # progress of the node at which the answer is complete
        self.started = False  # the prefill holds a slot
        self.answered = False  # has a first token
        self.resumed = False
        self.gone = False  # the client no longer waits


class SessionCaches:
    """KV caches of sessions that wait for a turn, on the device or in host memory; the oldest are dropped."""

    def __init__(self, kind: NodeKind) -> None:
        self._kind = kind
        self._resident: OrderedDict[Player, tuple[int, int]] = OrderedDict()  # (age, tokens)
        self._parked: OrderedDict[Player, tuple[int, int]] = OrderedDict()
        self._parked_tokens = 0

    def take(self, player: Player, shared: int) -> tuple[int, float]:
        """Removes a session. Returns the cached tokens of its prompt, and the seconds to restore them."""
        restore = 0.0
        found = self._resident.pop(player, None)
        if found is None and (found := self._parked.pop(player, None)) is not None:
            self._parked_tokens -= found[1]
            restore = found[1] * self._kind.service.restore_token_s
        if found is None or found[0] != player.age:
            return shared, 0.0
        return found[1], restore

    def put(self, player: Player, tokens: int, active: int) -> None:
        """Keeps a session after its turn, while `active` streams hold slots."""
        self._resident[player] = (player.age, tokens)
        self.make_room(active)

    def make_room(self, active: int) -> None:
        """Parks idle sessions until the active ones have slots."""
        while self._resident and len(self._resident) > self._kind.kv_slots - active:
            player, entry = self._resident.popitem(last=False)
            self._parked[player] = entry
            self._parked_tokens += entry[1]
        while self._parked_tokens > self._kind.parked_tokens:
            self._parked_tokens -= self._parked.popitem(last=False)[1][1]


class Node:
    """A node. `first` is called at each first token, `done` at each end of an answer."""

    def __init__(
        self,
        env: simpy.Environment,
        kind: NodeKind,
        index: int,
        *,
        pace_tps: float,
        shared: int,
        first: Callable[[Request], None],
        done: Callable[[Request], None],
    ) -> None:
        self.index = index
        self.alive = True
        self.ongoing = 0  # requests on the node
        self.busy_s = 0.0
        self.caches = SessionCaches(kind)
        self._env, self._pace, self._shared = env, pace_tps, shared
        self._service, self._slots = kind.service, kind.slots
        self._first, self._done = first, done
        self._order = count()
        self._waiting: dict[Request, None] = {}  # without a first token, in order of arrival
        self._queue: list[tuple[float, int, Request]] = []  # by remaining work
        self._started = 0  # requests in the queue that hold a slot
        self._prefill: Request | None = None
        self._left = 0.0  # work of the prefill that runs
        self._streams: list[tuple[float, int, Request]] = []  # by progress at the end
        self._progress = 0.0  # tokens that a stream decoded since the start
        self._since = env.now
        self._speed = self._share = 0.0  # shares of the time that prefill and decoding have
        self._rate = 0.0  # tokens per second of each stream
        self._generation = 0

    def unanswered(self) -> Iterator[Request]:
        """Yields the requests without a first token, the oldest first."""
        return iter(self._waiting)

    def submit(self, request: Request) -> None:
        """Queues a request."""
        cached, restore = self.caches.take(request.player, self._shared)
        depth = request.cached = min(cached, request.depth - 1)
        request.work = restore + self._service.prefill_s(request.depth - depth, depth)
        self.ongoing += 1
        self._waiting[request] = None
        heapq.heappush(self._queue, (request.work, next(self._order), request))
        if self._prefill is not None:
            now_left = self._left - (self._env.now - self._since) * self._speed
            if request.work >= now_left or self._used() >= self._slots:
                return
        elif len(self._streams) >= self._slots:
            return
        self._advance()
        self._preempt()
        self._begin()
        self._arm()

    def give_up(self, before: float) -> list[Request]:
        """Removes the requests that were asked before a time and have no slot. Returns them."""
        late = []
        for request in self._waiting:
            if request.asked >= before:
                break
            if not request.started:
                late.append(request)
        for request in late:
            request.gone = True
            del self._waiting[request]
            self.ongoing -= 1
        return late

    def fail(self) -> list[Request]:
        """Stops at once. Returns the requests that were on the node."""
        self._advance()
        lost = [*self._waiting, *(entry[2] for entry in self._streams)]
        for end, _, request in self._streams:
            request.left = max(1, round(end - self._progress))
        for request in lost:
            request.started = False
        self.alive = False
        self.ongoing = self._started = 0
        self._waiting.clear()
        self._queue.clear()
        self._streams.clear()
        self._prefill = None
        self._generation += 1
        return lost

    def _used(self) -> int:
        return len(self._streams) + self._started + (self._prefill is not None)

    def _advance(self) -> None:
        """Brings work and progress to the present."""
        now = self._env.now
        passed = now - self._since
        self._since = now
        self._left -= passed * self._speed
        self._progress += passed * self._rate
        self.busy_s += passed * (self._speed + self._share)

    def _preempt(self) -> None:
        """Puts the prefill that runs back into the queue, with its slot."""
        if self._prefill is not None:
            self._prefill.work = self._left
            self._started += 1
            heapq.heappush(self._queue, (self._left, next(self._order), self._prefill))
            self._prefill = None

    def _begin(self) -> None:
        """Starts the next prefill if there is a slot."""
        if self._prefill is not None:
            return
        oldest = next(iter(self._waiting), None)
        if oldest is not None and self._env.now - oldest.asked > OVERDUE_S:
            at = next(place for place, entry in enumerate(self._queue) if entry[2] is oldest)
            self._queue[at] = (-1.0, next(self._order), oldest)
            heapq.heapify(self._queue)
        aside = []  # without a slot, while all are taken
        while self._queue and self._prefill is None:
            entry = heapq.heappop(self._queue)
            request = entry[2]
            if request.gone:
                continue
            if request.started:
                self._started -= 1
            elif self._used() >= self._slots:
                if not self._started:
                    aside.append(entry)
                    break
                aside.append(entry)
                continue
            request.started = True
            self._prefill = request
            self._left = request.work
            self.caches.make_room(self._used())
        for entry in aside:
            heapq.heappush(self._queue, entry)

    def _arm(self) -> None:
        """Sets the rates, and wakes at the next end of a prefill or of an answer."""
        streams, prefills = self._streams, self._prefill is not None
        self._share = self._rate = self._speed = 0.0
        wait = math.inf
        if streams:
            step = self._service.step_s(len(streams))
            self._share = min(self._pace * step, 1.0 - MIN_PREFILL_SHARE if prefills else 1.0)
            self._rate = self._share / step
            wait = max(streams[0][0] - self._progress, 0.0) / self._rate
        if prefills:
            self._speed = 1.0 - self._share
            wait = min(wait, max(self._left, 0.0) / self._speed)
        self._generation += 1
        if wait < math.inf:
            wake = simpy.Timeout(self._env, wait, self._generation)
            wake.callbacks.append(self._wake)

    def _wake(self, event: Any) -> None:
        if event.value != self._generation:
            return
        self._advance()
        if self._prefill is not None and self._left <= TINY:
            request, self._prefill = self._prefill, None
            del self._waiting[request]
            request.answered = True
            request.end = self._progress + request.left
            heapq.heappush(self._streams, (request.end, next(self._order), request))
            self._first(request)
        while self._streams and self._streams[0][0] <= self._progress + TINY * max(1.0, self._progress):
            request = heapq.heappop(self._streams)[2]
            self.ongoing -= 1
            self.caches.put(request.player, request.depth + request.tokens, len(self._streams))
            self._done(request)
        self._begin()
        self._arm()
