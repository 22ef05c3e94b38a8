"""Autoscaling: bounds and prices that hold in all histories, and decisions in some."""

from __future__ import annotations

import os
import random
from itertools import pairwise
from typing import Any

import pytest

from sotto.fleet.autoscaling import Autoscaler, AutoscalingPolicy, Load
from sotto.fleet.prices import PriceTable

HISTORIES = int(os.environ.get("SOTTO_TEST_HISTORIES", "10000"))
OWN = PriceTable({"own": {"usd_per_hour": 0}})


class Clock:
    """A clock that moves by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def load(
    waiting: int = 0, wait_s: float = 0.0, tokens_per_s: float = 0.0, ready: int = 1, **more: Any
) -> Load:
    return Load(waiting, wait_s, tokens_per_s, ready={"own": ready}, **more)


def random_prices(chance: random.Random) -> PriceTable:
    table = {
        f"type-{number}": {
            "usd_per_hour": chance.choice((0, 0.1, 0.35, 0.8, 2.4)),
            "workers": chance.choice((1, 1, 2, 8)),
            "nodes": chance.choice((None, 0, 1, 3, 20)),
        }
        for number in range(chance.randint(1, 3))
    }
    return PriceTable(table)


def random_scaler(chance: random.Random, clock: Clock) -> Autoscaler:
    while True:
        most = chance.randint(1, 30)
        policy = AutoscalingPolicy(
            min_workers=chance.randint(0, most),
            max_workers=most,
            max_hourly_cost_usd=chance.choice((None, 0.1, 0.5, 1.0, 3.0, 10.0)),
            worker_tokens_per_s=chance.choice((None, 50.0, 400.0)),
            scale_down_after_s=chance.choice((0.0, 30.0, 300.0)),
            start_s=chance.choice((0.0, 120.0)),
            max_growth=chance.choice((1.5, 3.0)),
        )
        try:
            return Autoscaler(policy, random_prices(chance), clock=clock)
        except ValueError:  # min_workers do not fit: another one
            continue


def random_load(chance: random.Random, workers: dict[str, int]) -> Load:
    """A load on workers of which some are not ready yet, and some died."""
    ready = {name: chance.randint(0, count) for name, count in workers.items()}
    starting = {name: chance.randint(0, count - ready[name]) for name, count in workers.items()}
    return Load(
        waiting=chance.choice((0, 0, 1, 10, 10_000)),
        wait_s=chance.choice((0.0, 0.1, 1.0, 60.0)),
        tokens_per_s=chance.choice((0.0, 10.0, 1e3, 1e6)),
        ready=ready,
        starting=starting,
    )


def test_no_history_leaves_the_bounds_or_the_price() -> None:
    """`SOTTO_TEST_HISTORIES` random histories: loads, deaths of workers, prices that change, clock jumps."""
    for seed in range(HISTORIES):
        chance, clock = random.Random(seed), Clock()
        scaler = random_scaler(chance, clock)
        policy, prices = scaler.policy, scaler._prices
        workers = dict.fromkeys(prices, 0)
        for _ in range(chance.randint(1, 12)):
            clock.now += chance.choice((15.0, 1.0, 600.0, -3600.0, 0.0))
            if chance.random() < 0.1:
                prices = PriceTable({name: {"usd_per_hour": chance.choice((0, 0.2, 5))} for name in prices})
                scaler.set_prices(prices)
            decision = scaler.decide(random_load(chance, workers))
            workers = {**dict.fromkeys(prices, 0), **decision.workers}
            ceiling = policy.max_hourly_cost_usd
            assert all(0 <= count <= prices[name].max_workers for name, count in workers.items()), seed
            assert decision.total <= policy.max_workers, seed
            assert ceiling is None or prices.hourly_cost(workers) <= ceiling, seed
            assert decision.hourly_cost_usd == prices.hourly_cost(workers)
            if decision.total < policy.min_workers:  # not one more fits
                for name in prices:
                    more = {**workers, name: workers[name] + 1}
                    dear = ceiling is not None and prices.hourly_cost(more) > ceiling
                    assert dear or more[name] > prices[name].max_workers, seed
                assert decision.limited_by in ("max_hourly_cost_usd", "nodes"), seed


def test_a_wait_over_the_target_adds_workers_in_proportion() -> None:
    scaler = Autoscaler(AutoscalingPolicy(max_workers=100, target_wait_ms=500), OWN)
    assert scaler.decide(load(waiting=50, wait_s=1.0, tokens_per_s=100, ready=10)).total == 20
    assert (
        scaler.decide(load(waiting=50, wait_s=0.4, tokens_per_s=100, ready=10)).total == 14
    )  # 10 per worker


def test_growth_in_one_decision_is_limited() -> None:
    scaler = Autoscaler(AutoscalingPolicy(max_workers=100, max_growth=3.0), OWN)
    assert scaler.decide(load(waiting=500, wait_s=60.0, tokens_per_s=100, ready=4)).total == 12


def test_no_more_workers_than_requests_wait() -> None:
    scaler = Autoscaler(AutoscalingPolicy(max_workers=100, worker_tokens_per_s=1000), OWN)
    assert scaler.decide(load(waiting=2, wait_s=60.0, tokens_per_s=100, ready=10)).total == 12


def test_starting_workers_count() -> None:
    scaler = Autoscaler(AutoscalingPolicy(max_workers=100, target_wait_ms=500), OWN)
    busy = load(waiting=500, wait_s=1.0, tokens_per_s=100, ready=10, starting={"own": 10})
    assert scaler.decide(busy).total == 20


def test_tokens_per_second_add_workers_before_anything_waits() -> None:
    policy = AutoscalingPolicy(max_workers=100, worker_tokens_per_s=100, target_utilization=0.5)
    scaler = Autoscaler(policy, OWN)
    assert scaler.decide(load(tokens_per_s=390, ready=4)).total == 8


@pytest.mark.parametrize(("before", "now", "workers"), [(100, 400, 9), (350, 400, 4), (500, 400, 5)])
def test_fast_growth_is_expected_to_go_on_while_a_worker_starts(before: int, now: int, workers: int) -> None:
    """From 100 to 400 tokens/s in a minute is 5 per second: 500 more when a worker is ready 100 s later."""
    clock = Clock()
    policy = AutoscalingPolicy(
        max_workers=100, worker_tokens_per_s=100, target_utilization=1.0, start_s=100, max_growth=10
    )
    scaler = Autoscaler(policy, OWN, clock=clock)
    scaler.decide(load(tokens_per_s=before, ready=1))
    clock.now += 60
    assert scaler.decide(load(tokens_per_s=now, ready=1, starting={"own": 4})).total == workers


def test_workers_are_removed_after_the_window_alone() -> None:
    clock = Clock()
    policy = AutoscalingPolicy(max_workers=100, worker_tokens_per_s=100, scale_down_after_s=300)
    scaler = Autoscaler(policy, OWN, clock=clock)
    assert scaler.decide(load(tokens_per_s=750, ready=10)).total == 10
    for _ in range(19):
        clock.now += 15
        assert scaler.decide(load(tokens_per_s=75, ready=10)).total == 10
    clock.now += 60
    assert scaler.decide(load(tokens_per_s=75, ready=10)).total == 1


def test_a_peak_within_the_window_keeps_its_workers() -> None:
    clock = Clock()
    policy = AutoscalingPolicy(max_workers=100, worker_tokens_per_s=100, scale_down_after_s=300)
    scaler = Autoscaler(policy, OWN, clock=clock)
    scaler.decide(load(tokens_per_s=750, ready=10))
    clock.now += 200
    scaler.decide(load(tokens_per_s=450, ready=10))
    clock.now += 200
    assert scaler.decide(load(tokens_per_s=75, ready=10)).total == 6


def test_without_known_throughput_one_worker_less_is_tried() -> None:
    clock = Clock()
    scaler = Autoscaler(AutoscalingPolicy(max_workers=100, scale_down_after_s=60), OWN, clock=clock)
    totals = []
    ready = 4
    for _ in range(12):
        clock.now += 30
        ready = scaler.decide(load(tokens_per_s=10, ready=ready)).total
        totals.append(ready)
    assert totals[0] == 4 and totals[-1] < 4
    assert all(before - after in (0, 1) for before, after in pairwise(totals))


def test_an_idle_workload_stops_and_starts_again() -> None:
    clock = Clock()
    policy = AutoscalingPolicy(max_workers=4, min_workers=0, worker_tokens_per_s=100, scale_down_after_s=60)
    scaler = Autoscaler(policy, OWN, clock=clock)
    scaler.decide(load(ready=1))
    clock.now += 61
    assert scaler.decide(load(ready=1)).total == 0
    clock.now += 15
    assert scaler.decide(load(ready=0, waiting=1, wait_s=0.1)).total == 1
    assert scaler.decide(load(ready=0, waiting=3, wait_s=2.0)).total == 1


def test_the_cheapest_places_come_first() -> None:
    prices = PriceTable(
        {
            "spot": {"usd_per_hour": 0.3, "workers": 2, "nodes": 2},
            "big": {"usd_per_hour": 0.8, "workers": 4},
            "own": {"usd_per_hour": 0, "nodes": 1},
        }
    )
    scaler = Autoscaler(AutoscalingPolicy(max_workers=20, min_workers=7), prices)
    decision = scaler.decide(Load(0, 0.0, 0.0, ready={}))
    assert decision.workers == {"own": 1, "spot": 4, "big": 2}
    assert decision.hourly_cost_usd == pytest.approx(1.4)


def test_the_dearest_places_go_first() -> None:
    clock = Clock()
    prices = PriceTable({"spot": {"usd_per_hour": 0.3}, "big": {"usd_per_hour": 0.8}})
    policy = AutoscalingPolicy(max_workers=20, worker_tokens_per_s=100, scale_down_after_s=0)
    scaler = Autoscaler(policy, prices, clock=clock)
    scaler.decide(Load(0, 0.0, 150.0, ready={"spot": 2, "big": 2}))
    clock.now += 1
    assert scaler.decide(Load(0, 0.0, 150.0, ready={"spot": 2, "big": 2})).workers == {"spot": 2}


def test_the_price_wins_over_the_minimum() -> None:
    scaler = Autoscaler(AutoscalingPolicy(max_workers=9, min_workers=4, max_hourly_cost_usd=1.0), OWN)
    scaler.set_prices(PriceTable({"own": {"usd_per_hour": 0.4}}))
    decision = scaler.decide(load(ready=4))
    assert decision.workers == {"own": 2} and decision.limited_by == "max_hourly_cost_usd"


@pytest.mark.parametrize(
    ("limits", "limited_by"),
    [
        ({"max_workers": 12}, "max_workers"),
        ({"max_workers": 99, "min_workers": 40}, "min_workers"),
        ({"max_workers": 99, "max_hourly_cost_usd": 1.5}, "max_hourly_cost_usd"),
        ({"max_workers": 99, "workers": ("few",)}, "nodes"),
        ({"max_workers": 99}, None),
    ],
)
def test_a_decision_names_the_bound_that_held_it(limits: dict[str, Any], limited_by: str | None) -> None:
    prices = PriceTable({"own": {"usd_per_hour": 0.1}, "few": {"usd_per_hour": 0.1, "nodes": 11}})
    scaler = Autoscaler(AutoscalingPolicy(**limits), prices)
    name = "few" if "workers" in limits else "own"
    decision = scaler.decide(Load(99, 9.0, 100.0, ready={name: 10}))
    assert decision.limited_by == limited_by


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "missing max_workers"),
        ({"max_workers": 0}, "invalid max_workers '0': expected an integer from 1"),
        ({"max_workers": True}, "invalid max_workers 'True'"),
        ({"max_workers": "4"}, "invalid max_workers ''4''"),
        ({"max_workers": 2, "min_workers": 3}, r"invalid min_workers '3': expected <= max_workers \(2\)"),
        (
            {"max_workers": 2, "max_hourly_cost_usd": 0},
            "invalid max_hourly_cost_usd '0': expected a number > 0",
        ),
        ({"max_workers": 2, "max_hourly_cost_usd": float("nan")}, "invalid max_hourly_cost_usd 'nan'"),
        ({"max_workers": 2, "target_utilization": 1.5}, "invalid target_utilization '1.5'.*<= 1"),
        ({"max_workers": 2, "max_growth": 1}, "invalid max_growth '1': expected a number > 1"),
        ({"max_workers": 2, "scale_down_after_s": -1}, "invalid scale_down_after_s '-1'"),
        ({"max_workers": 2, "start_s": "2 min"}, "invalid start_s ''2 min''"),
        ({"max_workers": 2, "maxworkers": 3}, "invalid execution_policy_config.maxworkers: expected one of"),
        ({"max_workers": 2, "workers": "gpu"}, "invalid workers ''gpu'': expected a list of node types"),
    ],
)
def test_a_contradicting_policy_is_refused(config: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        AutoscalingPolicy.from_config(config)


def test_a_policy_that_prices_forbid_is_refused() -> None:
    prices = PriceTable({"gpu": {"usd_per_hour": 0.8}})
    with pytest.raises(ValueError, match=r"invalid min_workers '2': 1 fit under max_hourly_cost_usd=1.0"):
        Autoscaler(AutoscalingPolicy(max_workers=4, min_workers=2, max_hourly_cost_usd=1.0), prices)
    with pytest.raises(ValueError, match=r"invalid workers 'cpu': expected node types.*\(gpu\)"):
        Autoscaler(AutoscalingPolicy(max_workers=4, workers=("cpu",)), prices)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (load(waiting=-1), "invalid waiting '-1'"),
        (load(wait_s=float("inf")), "invalid wait_s 'inf'"),
        (load(tokens_per_s=float("nan")), "invalid tokens_per_s 'nan'"),
        (Load(0, 0.0, 0.0, ready={"cpu": 1}), r"invalid node type 'cpu'.*\(own\)"),
        (load(ready=-2), "invalid workers on 'own' '-2'"),
    ],
)
def test_an_impossible_load_is_refused(wrong: Load, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Autoscaler(AutoscalingPolicy(max_workers=4), OWN).decide(wrong)
