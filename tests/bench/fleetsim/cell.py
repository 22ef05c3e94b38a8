"""A cell: nodes, a router, and the players whose sessions are there."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import simpy

from .node import MAX_REQUESTS, Node, Request
from .routing import POLICIES, Ring
from .service import NodeKind
from .stats import Stats
from .traffic import Player, Traffic

ROAD_S = 0.015  # ingress and network before the first word: the limit of tests/bench/fleet.py at 64 streams
DETECT_S = 0.45  # until an ingress no longer chooses a node that died: the worst seen with HAProxy


class Cell:
    """Nodes of one kind behind one ingress."""

    def __init__(
        self,
        env: simpy.Environment,
        kind: NodeKind,
        traffic: Traffic,
        *,
        nodes: int,
        players: int,
        policy: str = "consistent_hash",
        seed: int = 1,
        road_s: float = ROAD_S,
    ) -> None:
        if policy not in POLICIES:
            raise ValueError(f"invalid policy '{policy}': expected one of {', '.join(POLICIES)}")
        if nodes < 1 or players < 0:
            raise ValueError(f"invalid cell of {nodes} nodes and {players} players: expected nodes >= 1")
        self.env, self.kind, self.traffic, self._road_s = env, kind, traffic, road_s
        self.stats = Stats()
        self.nodes: list[Node] = []  # all that ever were, by index
        self.serving: list[Node] = []
        self.ongoing = 0
        self._chance = Random(seed)
        self._router = POLICIES[policy](self, self._chance)
        self.ring = Ring(self._router.weight, seed)
        self.players: list[Player] = []
        self._active = 0  # players who are in the game, the first of the list
        self._asking = 0  # generation of the arrivals
        self.lost = False  # the cell is gone
        self.add_nodes(nodes)
        self.set_players(players, cached=True)

    # Nodes

    def add_nodes(self, number: int) -> None:
        """Adds nodes that serve at once."""
        for _ in range(number):
            node = Node(
                self.env,
                self.kind,
                len(self.nodes),
                pace_tps=self.traffic.pace_tps,
                shared=self.traffic.shared,
                first=self._first,
                done=self._done,
            )
            self.nodes.append(node)
            self.serving.append(node)
        self._moved()

    def drain_nodes(self, number: int) -> None:
        """Takes the newest nodes out of the routing; what is on them ends there. At least one node stays."""
        for _ in range(min(number, len(self.serving) - 1)):
            self.serving.pop()
        self._moved()

    def kill_node(self, node: Node) -> None:
        """A node dies. Once the ingress knows, clients ask again, for the rest of cut answers too."""
        self._take_over(node.fail())
        self.serving.remove(node)
        self._after(DETECT_S, self._moved)

    def _moved(self) -> None:
        """Gives each session the home that the ring says."""
        if not self._router.hashes:
            return
        self.ring.set_nodes(frozenset(node.index for node in self.serving))
        self._settle(self.players)

    def _settle(self, players: list[Player]) -> None:
        if not players or not self._router.hashes:
            return
        homes = self.ring.owners_of(np.array([player.key for player in players])).tolist()
        for player, home in zip(players, homes, strict=True):
            self.stats.moved += player.home not in (-1, home)
            player.home = home

    # Players

    def set_players(self, number: int, *, cached: bool = False) -> None:
        """Sets how many players are in the game.

        Args:
            number: Players; new ones are created as needed.
            cached: New players were here before: their sessions are in the cache of a node. Else they begin.
        """
        new = [Player(self._chance, self.traffic) for _ in range(number - len(self.players))]
        self.players += new
        self._settle(new)
        for player in new:
            if not cached:
                player.context = self.traffic.first
            else:
                node = self._router.choose(player)
                node.caches.put(player, player.context, 0)
        self._active = number
        self._asking += 1
        self._ask_later()

    def adopt(self, players: list[Player], silence_s: float) -> None:
        """Adds players of a cell that was lost. Those who said a line in the silence since say it now."""
        self.players += players
        self._settle(players)
        self.set_players(len(self.players))
        impatient = 1.0 - math.exp(-silence_s / self.traffic.think_s)
        for player in players:
            if not player.busy and self._chance.random() < impatient:
                self.ask(player)

    def _ask_later(self) -> None:
        """Arms the next line of any player: each one's think time is exponential, so the sum is Poisson."""
        if self._active and not self.lost:
            gap = -math.log(1.0 - self._chance.random()) * self.traffic.think_s / self._active
            simpy.Timeout(self.env, gap, self._asking).callbacks.append(self._ask)

    def _ask(self, event: Any) -> None:
        if event.value != self._asking or self.lost:
            return
        player = self.players[int(self._chance.random() * self._active)]
        if not player.busy:  # one who listens says nothing: think times have no memory
            self.ask(player)
        self._ask_later()

    def ask(self, player: Player) -> None:
        """A player says a line."""
        player.busy = True
        self.stats.asked += 1
        self.stats.in_flight += 1
        self.submit(Request(player, player.say(self._chance, self.traffic), self.env.now))

    def submit(self, request: Request) -> None:
        """Routes a request. A node with too many requests refuses it."""
        self.ongoing += 1
        node = self._router.choose(request.player)
        if not node.alive:  # until the ingress notices, its choice fails and is made again
            self.ongoing -= 1
            self._after(DETECT_S, lambda: self.submit(request))
            return
        late = node.give_up(self.env.now - self.traffic.patience_s)
        if node.ongoing >= MAX_REQUESTS:
            late.append(request)
        else:
            node.submit(request)
        for one in late:
            self.ongoing -= 1
            self.stats.refused += 1
            self.stats.broken += one.resumed
            self._end(one)

    def _first(self, request: Request) -> None:
        now = self.env.now
        stats = self.stats
        stats.prompt_tokens += request.depth
        stats.prefilled += request.depth - request.cached
        stats.novel += min(request.novel, request.depth - request.cached)
        if request.resumed:
            stats.gaps.append(now - request.asked + self._road_s)
        else:
            stats.times.append(now)
            stats.waits.append(now - request.asked + self._road_s)

    def _done(self, request: Request) -> None:
        self.ongoing -= 1
        request.player.context = request.depth + request.tokens
        self.stats.answered += 1
        self.stats.tokens += request.tokens
        self._end(request)

    def _end(self, request: Request) -> None:
        request.player.busy = False
        self.stats.in_flight -= 1

    # Failures

    def fail(self) -> list[Request]:
        """The cell dies. Returns the requests that were in it, for `take_over()` of other cells."""
        self.lost = True
        lost = [request for node in self.nodes for request in node.fail()]
        self.serving.clear()
        self.ongoing = 0
        self.stats.in_flight -= len(lost)
        self.stats.asked -= len(lost)
        return lost

    def take_over(self, requests: list[Request]) -> None:
        """Continues requests of another cell: their players belong to this one now."""
        self.stats.asked += len(requests)
        self.stats.in_flight += len(requests)
        self.ongoing += len(requests)
        self._take_over(requests)

    def _take_over(self, requests: list[Request]) -> None:
        for request in requests:
            self.ongoing -= 1
            if request.answered:  # the rest is asked for, with the partial answer as the last message
                said = request.tokens - request.left
                self.stats.cut += 1
                self.stats.tokens += said
                request.depth += said
                request.tokens = request.left
                request.novel, request.resumed, request.answered = 0, True, False
                request.asked = self.env.now
            else:
                self.stats.retried += 1
            self._after(DETECT_S, lambda request=request: self.submit(request))

    def _after(self, delay: float, call: Callable[[], None]) -> None:
        self.env.timeout(delay).callbacks.append(lambda _: call())
