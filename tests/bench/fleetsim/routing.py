"""Routing policies: which node of a cell serves a request."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .cell import Cell
    from .node import Node
    from .traffic import Player

POINTS_PER_WEIGHT = 16  # places on HAProxy's ring for each unit of a server's weight
MAX_ONGOING = 5  # requests of a replica above which Ray Serve looks elsewhere, its default


class Ring:
    """Consistent hashing as HAProxy's `hash-type consistent`: the owner of the next point serves."""

    def __init__(self, weight: int, seed: int) -> None:
        self._points = weight * POINTS_PER_WEIGHT
        self._seed = seed
        self._of_node: dict[int, np.ndarray] = {}
        self._nodes: frozenset[int] = frozenset()
        self.places = np.empty(0)
        self.owners = np.empty(0, dtype=np.int32)

    def set_nodes(self, nodes: frozenset[int]) -> None:
        """Builds the ring. The points of a node depend on its index alone."""
        if nodes == self._nodes:
            return
        self._nodes = nodes
        for index in nodes - self._of_node.keys():
            self._of_node[index] = np.random.default_rng((index + 1, self._seed + 1)).random(self._points)
        ordered = sorted(nodes)
        places = np.concatenate([self._of_node[index] for index in ordered])
        owners = np.repeat(np.array(ordered, dtype=np.int32), self._points)
        order = np.argsort(places, kind="stable")
        self.places, self.owners = places[order], owners[order]

    def owners_of(self, keys: np.ndarray) -> np.ndarray:
        """Returns the node of each key."""
        return self.owners[np.searchsorted(self.places, keys) % len(self.owners)]


class Router:
    """Chooses nodes for one cell."""

    hashes = False  # sessions have a home on the cell's ring
    weight = 100  # of a node on the ring

    def __init__(self, cell: Cell, chance: Random) -> None:
        self.cell, self.chance = cell, chance

    def choose(self, player: Player) -> Node:
        """Returns the node for a player's request; the cell has at least one."""
        raise NotImplementedError

    def two_choices(self) -> Node:
        """Returns the less loaded of two nodes at random."""
        nodes = self.cell.serving
        one, other = (
            nodes[int(self.chance.random() * len(nodes))],
            nodes[int(self.chance.random() * len(nodes))],
        )
        return one if one.ongoing <= other.ongoing else other


class RandomNode(Router):
    """A node at random."""

    def choose(self, player: Player) -> Node:
        nodes = self.cell.serving
        return nodes[int(self.chance.random() * len(nodes))]


class PowerOfTwo(Router):
    """The less loaded of two nodes at random, with exact knowledge of their load."""

    def choose(self, player: Player) -> Node:
        return self.two_choices()


class RayDefault(Router):
    """Ray Serve 2.60 with a proxy on each node: its replica below MAX_ONGOING, else two choices."""

    def choose(self, player: Player) -> Node:
        nodes = self.cell.serving
        local = nodes[int(self.chance.random() * len(nodes))]
        return local if local.ongoing < MAX_ONGOING else self.two_choices()


class LeastLoaded(Router):
    """The node with the fewest requests, with exact knowledge of all: Ray's HAProxy ingress by default."""

    def choose(self, player: Player) -> Node:
        return min(self.cell.serving, key=lambda node: node.ongoing)


class ConsistentHash(Router):
    """HAProxy's consistent hashing on the session, with nodes of weight 100."""

    hashes = True

    def choose(self, player: Player) -> Node:
        return self.cell.nodes[player.home]


class ConsistentHashWeightOne(ConsistentHash):
    """The same with nodes of weight 1, as Ray renders them: 16 points each."""

    weight = 1


class BoundedHash(ConsistentHash):
    """Consistent hashing with `hash-balance-factor 125`: a node with more than its share is passed over."""

    factor = 1.25

    def choose(self, player: Player) -> Node:
        cell = self.cell
        bound = math.ceil(self.factor * (cell.ongoing + 1) / len(cell.serving))
        node = cell.nodes[player.home]
        if node.ongoing < bound:
            return node
        ring = cell.ring
        place = int(np.searchsorted(ring.places, player.key))
        for step in range(1, len(ring.owners)):
            node = cell.nodes[ring.owners[(place + step) % len(ring.owners)]]
            if node.ongoing < bound:
                return node
        return node


POLICIES: dict[str, type[Router]] = {
    "consistent_hash": ConsistentHash,
    "consistent_hash_weight_1": ConsistentHashWeightOne,
    "bounded_hash": BoundedHash,
    "power_of_two": PowerOfTwo,
    "ray_default": RayDefault,
    "least_loaded": LeastLoaded,
    "random": RandomNode,
}
