"""Tables for the docs of what fleet.py found, from its report in results/."""

from __future__ import annotations

from typing import Any

import readme_tables

SIDES = {
    "ingress": "**the ingress** (HAProxy)",
    "vllm_router": "vllm-router, consistent hashing",
    "ray_proxy": "Ray Serve's Python proxy",
}
POLICIES = {
    "consistent_hash": "**the ingress**: consistent hashing",
    "power_of_two": "power of two choices, the same HAProxy",
    "ray": "Ray Serve: proxy and default router",
}


def road_table(road: dict[str, Any]) -> str:
    """CPU and time to first token of each road."""
    lines = ["| road | CPU per token | of it the router | first token over direct |", "|---|---:|---:|---:|"]
    for side, name in SIDES.items():
        if side in road["sides"]:
            told = road["sides"][side]
            cells = f"{told['road_us_per_token']:.0f} µs | {told['router_us_per_token']:.0f} µs"
            lines.append(f"| {name} | {cells} | {told['ttfb_over_direct_ms']:.1f} ms |")
    return "\n".join(lines)


def affinity_table(models: list[dict[str, Any]]) -> str:
    """Prompt tokens prefilled again and first words of each policy."""
    lines = ["| model | policy | prefilled again | first word p50 | p95 |", "|---|---|---:|---:|---:|"]
    for one in models:
        for side, name in POLICIES.items():
            if side in one["sides"]:
                told = one["sides"][side]
                words = f"{told['first_word_p50_ms']:.0f} ms | {told['first_word_p95_ms']:.0f} ms"
                model = readme_tables.NAMES.get(one["model"], one["model"])
                lines.append(f"| {model} | {name} | {100 * told['repeated_prefill']:.1f} % | {words} |")
    return "\n".join(lines)


def text() -> str:
    """The whole block; empty until a report is kept."""
    if not (readme_tables.RESULTS / "fleet.json").exists():
        return ""
    report = readme_tables.found("fleet")
    road, setting = report["road"], report["setting"]
    where = f"{setting['processor']}, {setting['cores']} cores"
    shape = road["setting"]
    return f"""\
{shape["streams"]} streams at {shape["target_tps"]:.0f} tokens/s, answers of {shape["tokens"]} tokens;
medians of {shape["runs"]} runs, on {where}.
The ingress asks a replica that checks keys and counts usage in PostgreSQL; the others ask one that does
neither:

{road_table(road)}

Dialogues of many turns with {report["affinity"][0]["replicas"]} replicas of one thread each,
medians of {report["affinity"][0]["runs"]} runs:

{affinity_table(report["affinity"])}
"""
