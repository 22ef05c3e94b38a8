"""The simulator of a fleet: queueing theory, conservation, repeatability, and what its parts promise."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import simpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

import fleet_sim
from fleetsim import check
from fleetsim.cell import Cell
from fleetsim.day import Day, Table, quantile_ms
from fleetsim.node import MAX_REQUESTS, Node, Request
from fleetsim.routing import POLICIES, Ring
from fleetsim.scenarios import Setting, capacity, cell_lost, launch, node_lost, steady
from fleetsim.service import ServiceTimes, cpu_node, fit, gpu_node, kept, read_kinds
from fleetsim.traffic import SHORT, Player, Traffic, Turn, day_curve

from sotto.fleet.prices import PriceTable

FREE = ServiceTimes(0.0, 0.0, 0.0, 0.0, 1e-12, 0.0)  # a node on which all is done at once, but at a pace
CPU, GPU = cpu_node(), gpu_node()
ASKED = 30_000  # requests of each queue


def served(
    service: ServiceTimes, slots: int, rate: float, pace: float, answer_s: Any, seed: int = 3
) -> np.ndarray:
    """Waits of requests that come to one node by a Poisson process, in seconds."""
    env, chance = simpy.Environment(), Random(seed)
    waits: list[float] = []
    node = Node(
        env,
        replace(cpu_node(), service=service, slots=slots, kv_slots=slots),
        0,
        pace_tps=pace,
        shared=0,
        first=lambda request: waits.append(env.now - request.asked),
        done=lambda request: None,
    )

    def ask() -> Iterator[simpy.Event]:
        for _ in range(ASKED):
            yield env.timeout(chance.expovariate(rate))
            answer = max(1, round(answer_s(chance) * pace))
            node.submit(Request(Player(chance, SHORT), Turn(2, 2, answer), env.now))

    env.process(ask())
    env.run()
    assert len(waits) == ASKED and node.ongoing == 0
    return np.array(waits)


def erlang_c(servers: int, load: float) -> float:
    """Probability that a request waits; `load` in erlangs."""
    terms = [load**k / math.factorial(k) for k in range(servers)]
    last = load**servers / math.factorial(servers) * servers / (servers - load)
    return last / (sum(terms) + last)


@pytest.mark.parametrize(("servers", "busy"), [(1, 0.6), (4, 0.8), (8, 0.7)])
def test_slots_are_an_m_m_c_queue(servers: int, busy: float) -> None:
    """Answers of exponential length on c slots: Erlang C gives the share that waits, and the mean wait."""
    load = servers * busy
    waits = served(FREE, servers, load, 1000.0, lambda chance: chance.expovariate(1.0))
    waited = waits > 1e-6
    chance_to_wait = erlang_c(servers, load)
    assert waited.mean() == pytest.approx(chance_to_wait, rel=0.08)
    assert waits.mean() == pytest.approx(chance_to_wait / (servers - load), rel=0.15)


def test_prefill_is_an_m_d_1_queue() -> None:
    """Prompts of one length: Pollaczek and Khinchine give the mean wait."""
    work, rate = 0.1, 7.0
    waits = served(replace(FREE, prefill_base_s=work), 1000, rate, 1e6, lambda chance: 1e-6)
    busy = rate * work
    assert waits.mean() == pytest.approx(work + busy * work / (2 * (1 - busy)), rel=0.05)


def test_decoding_slows_prefill_and_keeps_its_pace() -> None:
    """One stream takes 40 % of the node: a prefill of 0.3 s takes 0.5 s, and answers keep their pace."""
    env = simpy.Environment()
    times: dict[str, float] = {}
    node = Node(
        env,
        replace(cpu_node(), service=replace(FREE, prefill_base_s=0.3, step_base_s=0.04)),
        0,
        pace_tps=10.0,
        shared=0,
        first=lambda request: times.setdefault(f"first {request.tokens}", env.now),
        done=lambda request: times.setdefault(f"done {request.tokens}", env.now),
    )
    for tokens, at in ((100, 0.0), (20, 1.0)):
        request = Request(Player(Random(1), SHORT), Turn(2, 2, tokens), at)
        env.timeout(at).callbacks.append(lambda _, request=request: node.submit(request))
    env.run()
    assert times["first 100"] == pytest.approx(0.3)
    assert times["first 20"] == pytest.approx(1.5)
    assert times["done 100"] == pytest.approx(10.3) and times["done 20"] == pytest.approx(3.5)


def test_a_short_prompt_goes_before_a_long_one() -> None:
    env = simpy.Environment()
    order: list[int] = []
    service = replace(FREE, prefill_token_s=0.01)
    node = Node(
        env,
        replace(cpu_node(), service=service),
        0,
        pace_tps=1000.0,
        shared=0,
        first=lambda request: order.append(request.depth),
        done=lambda request: None,
    )
    for depth, at in ((500, 0.0), (100, 1.0), (300, 1.1), (550, 1.2), (250, 3.0)):
        request = Request(Player(Random(1), SHORT), Turn(depth, depth, 1), at)
        env.timeout(at).callbacks.append(lambda _, request=request: node.submit(request))
    env.run()
    assert order == [100, 300, 250, 500, 550]  # 300 has 2 s left when 250 comes


def cell_of(policy: str = "consistent_hash", nodes: int = 6, players: int = 200, seed: int = 1) -> Cell:
    return Cell(
        simpy.Environment(), cpu_node(), SHORT, nodes=nodes, players=players, policy=policy, seed=seed
    )


@pytest.mark.parametrize("policy", POLICIES)
def test_no_request_is_lost(policy: str) -> None:
    """Whatever happens to the nodes: each request ends or is under way, and is counted once."""
    cell = cell_of(policy, players=700)  # more than the nodes can serve
    env = cell.env
    env.run(40)
    cell.kill_node(cell.serving[2])
    env.run(60)
    cell.add_nodes(2)
    cell.drain_nodes(3)
    cell.set_players(900)
    env.run(100)
    stats = cell.stats
    assert stats.balanced() and stats.refused and stats.cut + stats.retried
    assert cell.ongoing == stats.in_flight == sum(node.ongoing for node in cell.nodes)
    assert cell.ongoing == sum(player.busy for player in cell.players)
    cell.lost = True  # nobody asks any more
    env.run(400)
    assert stats.in_flight == 0 and stats.asked == stats.answered + stats.refused
    assert len(stats.waits) + len(stats.gaps) >= stats.answered


def test_the_same_seed_gives_the_same_run() -> None:
    setting = Setting(CPU, 4, 30)
    one, same, other = (steady(replace(setting, seed=seed), 60.0) for seed in (1, 1, 2))
    assert one["waits"] == same["waits"] and one["asked"] == same["asked"]
    assert one["waits"] != other["waits"]


def test_service_times_give_the_reports_that_they_are_fitted_to() -> None:
    npcs, budget = kept("many_npcs"), kept("budget")
    model = next(one for one in npcs["models"] if one["name"] == "110m")
    times, unpark = fit(npcs, budget), budget["unpark"]
    assert 1e3 * times.prefill_s(440, 0) == pytest.approx(model["shared_prefix"]["first_ms"])
    assert 1e3 * times.prefill_s(40, 400) == pytest.approx(model["shared_prefix"]["others_ms"])
    assert 1e3 * times.prefill_s(2000, 0) == pytest.approx(unpark["prefill_ms"])
    assert 8 / times.step_s(8) == pytest.approx(model["batched_bench"]["ours_tps"])
    restored = 2000 * times.restore_token_s + times.prefill_s(unpark["remembered"] - 2000, 2000)
    assert 1e3 * restored == pytest.approx(unpark["unpark_ms"])
    with pytest.raises(ValueError, match=r"invalid model '1b': the report of budget.py has '110m' alone"):
        fit(npcs, budget, "1b")


def test_the_node_agrees_with_benchmarks_that_it_was_not_fitted_to() -> None:
    rows = check.against_benchmarks()
    assert len(rows) == 2 and max(row["error"] for row in rows) <= fleet_sim.LIMITS["benchmarks_error"][1]


def test_a_ring_moves_the_sessions_of_a_lost_node_alone() -> None:
    keys = np.random.default_rng(1).random(20_000)
    ring = Ring(100, 1)
    ring.set_nodes(frozenset(range(10)))
    before = ring.owners_of(keys)
    ring.set_nodes(frozenset(range(10)) - {4})
    after = ring.owners_of(keys)
    assert np.array_equal(before[before != 4], after[before != 4]) and 4 not in after


def test_weight_decides_how_even_a_ring_is() -> None:
    """16 points a node, as Ray renders HAProxy's servers, leave one with half as much again as the mean."""
    keys = np.random.default_rng(1).random(100_000)
    largest = {}
    for weight in (1, 100):
        ring = Ring(weight, 1)
        ring.set_nodes(frozenset(range(20)))
        largest[weight] = max(Counter(ring.owners_of(keys).tolist()).values()) / (len(keys) / 20)
    assert largest[100] < 1.10 and largest[1] > 1.25


def test_sessions_stay_on_their_node_with_hashing_alone() -> None:
    repeated = {}
    for policy in ("consistent_hash", "power_of_two"):
        repeated[policy] = steady(Setting(CPU, 10, 12, policy), 120.0)["repeated_prefill"]
    assert repeated["consistent_hash"] < 0.10 < 0.40 < repeated["power_of_two"]


def test_bounded_hashing_passes_over_a_node_with_more_than_its_share() -> None:
    cell = cell_of("bounded_hash", nodes=4, players=0)
    player = Player(Random(5), SHORT)
    cell._settle([player])
    home = cell.nodes[player.home]
    home.ongoing = cell.ongoing = 5
    assert cell._router.choose(player) is not home
    home.ongoing = 1
    assert cell._router.choose(player) is home


def test_a_full_node_refuses() -> None:
    cell = cell_of(nodes=1, players=0)
    cell.nodes[0].ongoing = MAX_REQUESTS
    player = Player(Random(5), SHORT)
    cell._settle([player])
    cell.ask(player)
    assert cell.stats.refused == 1 and not player.busy


def test_a_lost_node_cuts_what_it_spoke_and_nothing_else() -> None:
    found = node_lost(Setting(GPU, 5, 300))
    assert 10 < found["cut"] < 80 and found["broken"] == 0 and found["balanced"]
    assert found["moved"] == pytest.approx(1 / 5, abs=0.05)


def test_a_lost_cell_is_taken_up() -> None:
    found = cell_lost(Setting(CPU, 12, 28), cells=6)
    assert found["cut"] > 0 and found["broken"] == 0 and found["balanced"]
    assert found["after_60_s"]["p95_ms"] <= fleet_sim.LIMITS["cell_lost_p95_ms"][1]


def test_a_schedule_starts_nodes_before_a_launch() -> None:
    late, planned = (launch(Setting(CPU, 10, 30), 45.0, 0.2, planned) for planned in (False, True))
    assert planned["worst_p95_ms"] < late["worst_p95_ms"] and late["balanced"] and planned["balanced"]
    assert late["nodes_before"] == 1 and 10 <= late["nodes_max"] <= 20
    assert planned["nodes_after"] >= 10


def test_capacity_is_between_a_load_that_fits_and_one_that_does_not() -> None:
    found = capacity(Setting(CPU, 20, 0), 1.0, 60.0)
    most = found["players_per_node"]
    assert 10 < most < 70 and found["p95_ms"] <= 1000.0
    assert steady(Setting(CPU, 20, 2 * most), 60.0)["p95_ms"] > 1000.0


def test_the_day_follows_the_players_within_its_price() -> None:
    runs = [
        {"players_per_node": players, "waits": np.full(100, 0.1 * players / 40)}
        for players in (4, 20, 40, 44)
    ]
    prices = PriceTable({"cpu": {"usd_per_hour": 0.1}})
    day = Day(Setting(CPU, 50, 32), Table.of(runs), prices, worker_tps=45.0, spare=0.2)
    found = day.run()
    assert found["nodes_least"] < 0.6 * found["nodes_most"] and found["nodes_most"] <= 50
    assert found["usd"] == pytest.approx(0.1 * found["node_hours"]) and found["usd"] < 24 * 50 * 0.1
    assert found["seconds_over_target"] == 0 and 40 < found["p50_ms"] < 110
    assert len(found["minutes"]) == 1440


def test_quantiles_of_a_mixture() -> None:
    runs = [
        {"players_per_node": players, "waits": np.full(1000, wait)}
        for players, wait in ((10, 0.1), (20, 0.4))
    ]
    table = Table.of(runs)
    assert quantile_ms(table.row(10), 0.5) == pytest.approx(100, rel=0.03)
    assert quantile_ms(table.row(15), 0.95) == pytest.approx(400, rel=0.03)
    assert quantile_ms(table.row(15), 0.45) == pytest.approx(100, rel=0.03)


def test_the_day_has_one_peak_in_the_evening() -> None:
    hours = [day_curve(minute / 60) for minute in range(1440)]
    assert min(hours) == pytest.approx(0.30) and max(hours) == pytest.approx(1.0)
    assert 18 <= hours.index(max(hours)) / 60 <= 23


def test_figures_of_nodes_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    path.write_text('{"gpu": {"model": "8 B", "slots": 32, "service": {"prefill_token_s": 0.001}}}')
    found = read_kinds(path)
    assert found["cpu"] == CPU and found["gpu"].assumed == ""
    service = replace(GPU.service, prefill_token_s=0.001)
    assert found["gpu"] == replace(GPU, model="8 B", slots=32, assumed="", service=service)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[]", "expected a JSON object of objects"),
        ('{"gpu": 3}', "expected a JSON object of objects"),
        ('{"tpu": {}}', "invalid nodes.tpu: expected one of cpu, gpu"),
        ('{"gpu": {"speed": 1}}', "invalid nodes.gpu.speed: expected one of name, model"),
        ('{"gpu": {"slots": 1.5}}', "invalid nodes.gpu.slots '1.5': expected a value as 200"),
        ('{"gpu": {"service": {"step_base_s": -1}}}', "invalid nodes.gpu.service.step_base_s '-1'"),
    ],
)
def test_wrong_figures_of_nodes_are_refused(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "nodes.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=words):
        read_kinds(path)


def test_wrong_cells_are_refused() -> None:
    with pytest.raises(ValueError, match="invalid policy 'best': expected one of consistent_hash"):
        cell_of("best")
    with pytest.raises(ValueError, match="expected nodes >= 1"):
        cell_of(nodes=0)


def test_the_command_prints_one_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text('{"cpu": {"usd_per_hour": 0.5}}')
    words = ["--quick", "--json", "--kinds", "cpu", "--players", "20000", "--prices", str(prices)]
    monkeypatch.setattr(sys, "argv", ["fleet_sim.py", *words])
    status = fleet_sim.main()
    printed = capsys.readouterr().out
    assert printed.count("\n") == 1
    found = json.loads(printed)
    assert status == (0 if found["ok"] else 1) and found["ok"] == (not found["broken"])
    (one,) = found["nodes"]
    plan, day = one["plan"], one["day"]
    assert plan["nodes"] * plan["players_per_node"] >= plan["players"] == 20000
    assert plan["usd_per_hour_at_peak"] == pytest.approx(0.5 * plan["nodes"])
    assert 0 < day["usd"] <= 24 * 0.5 * plan["nodes"] and day["cut_answers"]["http"] > 0
    assert {row["policy"] for row in one["capacity"]} == set(POLICIES)


def test_the_gpu_node_says_that_it_is_estimated() -> None:
    assert gpu_node().assumed == "all service times" and Traffic().cycle_s == 35.0
