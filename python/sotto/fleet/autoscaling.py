"""Autoscaling of a workload: how many workers on which nodes, from waiting requests and tokens per second."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from .prices import PriceTable, integer, number

_LEARNING = 0.2  # weight of a new sample in the learned throughput of a worker
_TREND_S = 60.0  # time over which growth is measured
_TREND = 1.25  # growth in that time above which it is expected to go on


@dataclass(frozen=True)
class AutoscalingPolicy:
    """Bounds and targets of a workload's autoscaling.

    Attributes:
        max_workers: Maximum number of workers.
        min_workers: Minimum number of workers; 0 lets an idle workload stop.
        max_hourly_cost_usd: Ceiling on the price of the nodes; None: no ceiling.
        workers: Entries of the price table to use, node types or single nodes; empty: all.
        target_wait_ms: p95 of the waits for a first token above which workers are added.
        target_utilization: Share of the throughput of the workers that the load may use.
        worker_tokens_per_s: Throughput of one worker; None: learned while requests wait.
        start_s: Time that a worker takes to start. If tokens per second grew by more than a quarter within
            the last minute, they are expected to grow as fast for that time.
        max_growth: Maximum factor of one decision: for a wait from the ready workers, for tokens per second
            from all workers.
        scale_down_after_s: Time for which fewer workers must be enough before any is stopped.
    """

    max_workers: int
    min_workers: int = 1
    max_hourly_cost_usd: float | None = None
    workers: tuple[str, ...] = ()
    target_wait_ms: float = 500.0
    target_utilization: float = 0.75
    worker_tokens_per_s: float | None = None
    start_s: float = 0.0
    max_growth: float = 3.0
    scale_down_after_s: float = 300.0

    def __post_init__(self) -> None:
        integer("max_workers", self.max_workers, minimum=1)
        integer("min_workers", self.min_workers, minimum=0)
        if self.min_workers > self.max_workers:
            raise ValueError(
                f"invalid min_workers '{self.min_workers}': expected <= max_workers ({self.max_workers}); "
                "raise max_workers, or lower min_workers"
            )
        if self.max_hourly_cost_usd is not None:
            number("max_hourly_cost_usd", self.max_hourly_cost_usd, minimum=0.0, above=True)
        if self.worker_tokens_per_s is not None:
            number("worker_tokens_per_s", self.worker_tokens_per_s, minimum=0.0, above=True)
        number("target_wait_ms", self.target_wait_ms, minimum=0.0, above=True)
        number("target_utilization", self.target_utilization, minimum=0.0, maximum=1.0, above=True)
        number("max_growth", self.max_growth, minimum=1.0, above=True)
        number("start_s", self.start_s, minimum=0.0)
        number("scale_down_after_s", self.scale_down_after_s, minimum=0.0)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> AutoscalingPolicy:
        """Reads the `execution_policy_config` of a workload.

        Raises:
            ValueError: A field is unknown, missing or out of range, or two contradict each other.
        """
        known = [one.name for one in fields(cls)]
        if unknown := set(config) - set(known):
            raise ValueError(
                f"invalid execution_policy_config.{min(unknown)}: expected one of {', '.join(known)}"
            )
        if "max_workers" not in config:
            raise ValueError("missing max_workers: expected the maximum number of workers")
        given = dict(config)
        names = given.pop("workers", ())
        if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) and name for name in names):
            raise ValueError(f"invalid workers '{names!r}': expected a list of node types")
        return cls(**given, workers=tuple(dict.fromkeys(names)))


@dataclass(frozen=True)
class Load:
    """A sample of a workload's load.

    Attributes:
        waiting: Requests that have no token yet.
        wait_s: p95 of the waits for a first token since the last sample, in seconds; of requests that have
        none
            yet, their wait until now. Not the longest wait, which in a large fleet is always that of some
            unlucky request.
        tokens_per_s: Tokens per second of all workers together.
        ready: Node type to number of workers that serve.
        starting: Node type to number of workers that load or boot.
    """

    waiting: int
    wait_s: float
    tokens_per_s: float
    ready: Mapping[str, int]
    starting: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Decision:
    """Workers that a workload is to have.

    Attributes:
        workers: Node type to number of workers, starting ones included.
        hourly_cost_usd: Price of their nodes, in USD per hour.
        reason: Why, in a sentence.
        limited_by: The bound that kept the number from the one wanted: "min_workers", "max_workers",
            "max_hourly_cost_usd" or "nodes"; None: no bound did.
    """

    workers: dict[str, int]
    hourly_cost_usd: float
    reason: str
    limited_by: str | None = None

    @property
    def total(self) -> int:
        """Number of workers on all node types."""
        return sum(self.workers.values())


class Autoscaler:
    """Decides the number of workers of one workload. One thread at a time.

    The number follows the larger of two demands: tokens per second over the throughput of a worker, and, if a
    request waits longer than the target, the ratio of its wait to the target. Workers are removed only after
    fewer were enough for `scale_down_after_s`, as by the stabilization window of Kubernetes'
    HorizontalPodAutoscaler (https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/).
    Bounds hold in this order: price, `max_workers`, `min_workers`.

    >>> scaler = Autoscaler(AutoscalingPolicy(max_workers=4), PriceTable({"own": {"usd_per_hour": 0}}))
    >>> scaler.decide(Load(waiting=9, wait_s=2.0, tokens_per_s=40.0, ready={"own": 1})).workers
    {'own': 3}
    """

    def __init__(
        self,
        policy: AutoscalingPolicy,
        prices: PriceTable,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Checks the policy against the prices.

        Args:
            policy: Bounds and targets.
            prices: Prices of the node types.
            clock: Returns the time in seconds; a clock that goes back counts as one that stands still.

        Raises:
            ValueError: The price table lacks a node type, or `min_workers` do not fit under the price ceiling
                or on the nodes.
        """
        self.policy = policy
        self._clock = clock
        self._prices = prices
        self._throughput = policy.worker_tokens_per_s
        self._wanted: deque[tuple[float, int]] = deque()  # (time, workers that were enough), of the window
        self._tokens: deque[tuple[float, float]] = deque()  # (time, tokens per second), of the last minute
        self._now = -math.inf
        self.set_prices(prices)
        least = self._placed(policy.min_workers, {})
        if (total := sum(least.values())) < policy.min_workers:
            raise ValueError(
                f"invalid min_workers '{policy.min_workers}': {total} fit under "
                f"max_hourly_cost_usd={policy.max_hourly_cost_usd} on the nodes of the price table; "
                "raise the ceiling or the number of nodes, or lower min_workers"
            )

    def set_prices(self, prices: PriceTable) -> None:
        """Replaces the price table. The next decision keeps to its prices.

        Raises:
            ValueError: The table lacks a node type of the policy.
        """
        self._usable = prices.only(self.policy.workers) if self.policy.workers else prices
        self._prices = prices

    def decide(self, load: Load) -> Decision:
        """Returns the workers for this load.

        Raises:
            ValueError: A figure of the load is negative or not a number, or a node type has no price.
        """
        self._check(load)
        self._now = max(self._now, self._clock())
        ready, starting = sum(load.ready.values()), sum(load.starting.values())
        late = load.waiting > 0 and 1000 * load.wait_s > self.policy.target_wait_ms
        self._learn(load, ready, late)
        enough, reason = self._enough(load, ready, starting, late)
        wanted = max(self._stable(enough, ready + starting), 0)
        bounded = min(max(wanted, self.policy.min_workers), self.policy.max_workers)
        workers = self._placed(bounded, _sum(load.ready, load.starting))
        return Decision(
            workers=workers,
            hourly_cost_usd=self._prices.hourly_cost(workers),
            reason=reason if wanted <= enough else f"{reason}; fewer are not enough for long enough",
            limited_by=self._limit(wanted, bounded, workers),
        )

    def _check(self, load: Load) -> None:
        integer("waiting", load.waiting, minimum=0, maximum=1_000_000_000)
        number("wait_s", load.wait_s, minimum=0.0)
        number("tokens_per_s", load.tokens_per_s, minimum=0.0)
        for name, count in (*load.ready.items(), *load.starting.items()):
            if name not in self._prices:
                raise ValueError(
                    f"invalid node type '{name}': expected one of the price table "
                    f"({', '.join(self._prices)}); add its price"
                )
            integer(f"workers on '{name}'", count, minimum=0)

    def _learn(self, load: Load, ready: int, late: bool) -> None:
        """Takes the throughput of a worker from samples in which requests wait too long."""
        if self.policy.worker_tokens_per_s is not None or not late or not ready or not load.tokens_per_s:
            return
        seen = load.tokens_per_s / ready
        self._throughput = (
            seen if self._throughput is None else self._throughput + _LEARNING * (seen - self._throughput)
        )

    def _enough(self, load: Load, ready: int, starting: int, late: bool) -> tuple[int, str]:
        """Returns how many workers are enough for this load, and why."""
        if late and not ready:
            return max(1, starting), f"{load.waiting} requests wait, and no worker is ready"
        if self._throughput is not None:
            tokens_per_s = self._expected(load.tokens_per_s)
            by_tokens = math.ceil(tokens_per_s / (self._throughput * self.policy.target_utilization))
            reason = f"{tokens_per_s:.0f} tokens/s expected at {self._throughput:.0f} per worker"
        else:  # nothing learned yet: one worker less is tried
            by_tokens = ready + starting - 1 if not load.waiting else ready + starting
            reason = "no request waits too long"
        if late:
            ratio = 1000 * load.wait_s / self.policy.target_wait_ms
            # One more worker for each request that waits is always enough.
            by_wait = min(math.ceil(ready * min(ratio, self.policy.max_growth)), ready + load.waiting)
            if by_wait >= by_tokens:
                return by_wait, f"{load.waiting} requests wait, p95 {load.wait_s:.1f} s"
        most = math.ceil((ready + starting) * self.policy.max_growth) or 1
        busy = 1 if load.waiting else 0  # a workload at 0 workers starts one for the first request
        return max(min(by_tokens, most), busy), reason

    def _expected(self, tokens_per_s: float) -> float:
        """Returns the tokens per second when a worker that starts now is ready."""
        while len(self._tokens) > 1 and self._tokens[1][0] <= self._now - _TREND_S:
            self._tokens.popleft()
        self._tokens.append((self._now, tokens_per_s))
        since, before = self._tokens[0]
        if self._now - since < _TREND_S or tokens_per_s <= _TREND * before:
            return tokens_per_s
        return tokens_per_s + self.policy.start_s * (tokens_per_s - before) / (self._now - since)

    def _stable(self, enough: int, current: int) -> int:
        """Returns `enough`, or, if that is less than now, the most that was enough within the window."""
        since = self._now - self.policy.scale_down_after_s
        if not self._wanted:
            self._wanted.append((self._now, max(enough, current)))
        while self._wanted and self._wanted[-1][1] <= enough:
            self._wanted.pop()  # the window keeps its maxima alone
        self._wanted.append((self._now, enough))
        while len(self._wanted) > 1 and self._wanted[0][0] < since:
            self._wanted.popleft()
        return enough if enough >= current else min(self._wanted[0][1], current)

    def _placed(self, total: int, current: Mapping[str, int]) -> dict[str, int]:
        """Returns `total` workers, or as many as bounds allow, moving as few as possible from `current`."""
        workers = dict(current)
        cheap = sorted(self._usable, key=lambda name: self._usable[name].usd_per_worker)
        while sum(workers.values()) > total or self._over(workers):
            dearest = max(
                (name for name, count in workers.items() if count),
                key=lambda name: (
                    name not in self._usable or workers[name] > self._usable[name].max_workers,
                    self._prices[name].usd_per_worker,
                ),
            )
            workers[dearest] -= 1
        while sum(workers.values()) < total:
            free = [name for name in cheap if workers.get(name, 0) % self._usable[name].workers]
            for name in (*free, *cheap):  # places on nodes that run come first: they cost nothing
                more = {**workers, name: workers.get(name, 0) + 1}
                if not self._over(more):
                    workers = more
                    break
            else:
                break
        return {name: count for name, count in workers.items() if count}

    def _over(self, workers: Mapping[str, int]) -> bool:
        ceiling = self.policy.max_hourly_cost_usd
        if ceiling is not None and self._prices.hourly_cost(workers) > ceiling:
            return True
        return any(
            count > (self._usable[name].max_workers if name in self._usable else 0)
            for name, count in workers.items()
        )

    def _limit(self, wanted: int, bounded: int, workers: Mapping[str, int]) -> str | None:
        if sum(workers.values()) < bounded:
            room = sum(price.max_workers for price in self._usable.values())
            return "nodes" if room < bounded else "max_hourly_cost_usd"
        if bounded != wanted:
            return "max_workers" if bounded < wanted else "min_workers"
        return None


def _sum(ready: Mapping[str, int], starting: Mapping[str, int]) -> dict[str, int]:
    return {name: ready.get(name, 0) + starting.get(name, 0) for name in (*ready, *starting)}
