"""Tables for the docs of what fleet_sim.py found, from its report in results/."""

from __future__ import annotations

from typing import Any

import readme_tables

POLICIES = {
    "consistent_hash": "consistent hashing on the session (HAProxy, weight 100)",
    "consistent_hash_weight_1": "the same with weight 1, as Ray renders it",
    "bounded_hash": "consistent hashing, `hash-balance-factor 125`",
    "power_of_two": "power of two choices",
    "ray_default": "Ray's proxies: own replica first, then two choices",
    "least_loaded": "least loaded (Ray's HAProxy default)",
    "random": "random",
}


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f} ms"


def _head(report: dict[str, Any]) -> list[str]:
    estimated = {
        one["node"]: ", estimated" if one["assumed"].startswith("all") else "" for one in report["nodes"]
    }
    names = " | ".join(f"{one['node']}: {one['model']}{estimated[one['node']]}" for one in report["nodes"])
    return [f"| | {names} |", "|---|" + "---:|" * len(report["nodes"])]


def _row(name: str, cells: list[str]) -> str:
    return f"| {name} | " + " | ".join(cells) + " |"


def policies_table(report: dict[str, Any]) -> str:
    """Players per node with each routing policy."""
    lines = [
        "| players per node | "
        + " | ".join(f"{one['node']} | prefilled again" for one in report["nodes"])
        + " |",
        "|---|" + "---:|---:|" * len(report["nodes"]),
    ]
    for policy, name in POLICIES.items():
        cells = []
        for one in report["nodes"]:
            row = next(row for row in one["capacity"] if row["policy"] == policy)
            repeated = row.get("repeated_prefill")
            cells += [
                f"{row['players_per_node']:,}",
                "" if repeated is None else f"{100 * repeated:.0f} %",
            ]
        lines.append(_row(name, cells))
    return "\n".join(lines)


def plan_table(report: dict[str, Any]) -> str:
    """Nodes, cells, first words, failures and cost."""
    nodes = report["nodes"]
    plans, days = [one["plan"] for one in nodes], [one["day"] for one in nodes]
    late, planned = ([one["launch"][which] for one in nodes] for which in (0, 1))
    lost, node = [one["cell_lost"] for one in nodes], [one["node_lost"] for one in nodes]
    rows = {
        "nodes": [f"{plan['nodes']:,}" for plan in plans],
        "cells, of nodes": [f"{plan['cells']:,} of {plan['nodes_per_cell']}" for plan in plans],
        "players per node": [f"{plan['players_per_node']:,}" for plan in plans],
        "first word at the peak, p50": [_ms(plan["peak"]["p50_ms"]) for plan in plans],
        "p95": [_ms(plan["peak"]["p95_ms"]) for plan in plans],
        "p99": [_ms(plan["peak"]["p99_ms"]) for plan in plans],
        "first word over the day, p50, p95, p99": [
            ", ".join(_ms(day[f"p{quantile}_ms"]) for quantile in (50, 95, 99)) for day in days
        ],
        "nodes over the day": [f"{day['nodes_least']:,} to {day['nodes_most']:,}" for day in days],
        "cost of an hour at the peak": [f"{plan['usd_per_hour_at_peak']:,.0f} USD" for plan in plans],
        "cost of the day at the example prices": [f"{day['usd']:,.0f} USD" for day in days],
        "answers cut in a day, clients over HTTP": [f"{day['cut_answers']['http']:,.0f}" for day in days],
        "answers broken in a day, clients of ours": [
            f"{day['cut_answers']['our_clients']:,.0f}" for day in days
        ],
        "a node dies: p95 of the next 60 s": [_ms(one["first_60_s"]["p95_ms"]) for one in node],
        "a cell dies: p95 of the next 60 s": [_ms(one["first_60_s"]["p95_ms"]) for one in lost],
        "p95 after 60 s": [_ms(one["after_60_s"]["p95_ms"]) for one in lost],
        "10 x players in 5 minutes, autoscaler alone: worst p95 of 30 s": [
            _ms(one["worst_p95_ms"]) for one in late
        ],
        "until the p95 is back": [f"{one['back_after_s']} s" for one in late],
        "the same with a window that starts the nodes: worst p95": [
            _ms(one["worst_p95_ms"]) for one in planned
        ],
    }
    return "\n".join([*_head(report), *(_row(name, cells) for name, cells in rows.items())])


def check_table(report: dict[str, Any]) -> str:
    """The simulated node beside benchmarks, and a cell's figures beside those of others."""
    lines = ["| | measured | simulated |", "|---|---:|---:|"]
    for row in report["benchmarks"]:
        lines.append(_row(row["figure"], [f"{row['measured']:g}", f"{row['simulated']:g}"]))
    for row in (report["measured"] or {"rows": []})["rows"]:
        name = f"hosts, {POLICIES[row['policy']]}: {row['figure']}"
        lines.append(_row(name, [f"{row['measured']:g}", f"{row['simulated']:g}"]))
    return "\n".join(lines)


def independence_table(report: dict[str, Any]) -> str:
    """p95 of the same load per node in other numbers of cells and nodes."""
    lines = ["| node | p95 with 1, 2, 4 cells | p95 of one cell, by nodes |", "|---|---|---|"]
    for one in report["nodes"]:
        found = one["independence"]
        cells = ", ".join(_ms(value) for value in found["p95_ms_by_cells"].values())
        nodes = ", ".join(f"{count}: {_ms(value)}" for count, value in found["p95_ms_by_nodes"].items())
        lines.append(f"| {one['node']} | {cells} | {nodes} |")
    return "\n".join(lines)


def text() -> str:
    """The block of the page on capacity."""
    report = readme_tables.found("fleet_sim")
    target, spare = report["setting"]["target_ms"], 100 * report["setting"]["spare"]
    players = report["nodes"][0]["plan"]["players"]
    prices = ", ".join(
        f"{name} {price['usd_per_hour']:.2f}" for name, price in report["setting"]["prices"].items()
    )
    ratios = "; ".join(
        f"{one['node']}: {one['hash_over_power_of_two']} x"
        + f" at a p95 of {one['hash_over_power_of_two_p95_ms'] / 1e3:g} s"
        for one in report["nodes"]
    )
    speeds = "\n".join(
        f"With {factor} x the prefill speed that is estimated for {one['node']}: {ratio} x."
        for one in report["nodes"]
        for factor, ratio in one["hash_over_power_of_two_by_prefill_speed"].items()
    )
    return f"""\
Players per node with a p95 of the first word of at most {target:.0f} ms, by routing policy:

{policies_table(report)}

Consistent hashing over power of two choices: {ratios}.
{speeds}

{players:,} players at once, with {spare:.0f} % of each node's capacity to spare. The prices are examples,
in USD per hour: {prices}.

{plan_table(report)}

The simulated node beside figures of `many_npcs.py` and `first_token.py` to which its service times were not
fitted:

{check_table(report)}

The same load per node in more and in larger cells:

{independence_table(report)}
"""
