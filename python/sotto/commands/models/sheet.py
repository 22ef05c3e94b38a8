"""Prints a model's facts and memory use as tables."""

from __future__ import annotations

from typing import Any

from .. import screen
from ..text import amount, size

_TITLES = {
    "name": "name",
    "architecture": "architecture",
    "parameters": "parameters",
    "quantization": "quantisation",
    "layers": "layers",
    "vocabulary": "vocabulary",
    "trained_context": "trained context",
    "has_chat_template": "chat template",
    "backend": "backend",
    "path": "file",
}
_ELSEWHERE = {"id", "memory", "size", "file_bytes"}
_IN_JSON = {"metadata", "chat_templates", "special_tokens"}  # long texts of the file


def show(report: dict[str, Any]) -> None:
    """Prints the report of `sotto models info`."""
    from rich.markup import escape
    from rich.table import Table

    console = screen.console()
    console.print(escape(report["id"]), style="bold")
    facts = Table(box=None, show_header=False, padding=(0, 2))
    facts.add_column(style="dim")
    for title, value in _facts(report):
        facts.add_row(title, escape(value))
    console.print(facts)
    for title, rows in _memory(report["memory"], report.get("trained_context") or 0):
        console.print(f"\n{escape(title)}", style="bold")
        if not rows:
            continue
        table = Table(box=None, padding=(0, 2), show_header=False)
        for column in range(max(map(len, rows))):
            table.add_column(justify="right" if column else "left", style="" if column else "dim")
        for row in rows:
            table.add_row(*row)
        console.print(table)


def _facts(report: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [(title, _value(key, report)) for key, title in _TITLES.items() if report.get(key) is not None]
    others = [key for key in report if key not in {*_TITLES, *_ELSEWHERE, *_IN_JSON}]
    return rows + [(key.replace("_", " "), _value(key, report)) for key in others]


def _value(key: str, report: dict[str, Any]) -> str:
    value = report[key]
    if key == "parameters":
        return amount(value)
    if key == "path":
        return f"{value} ({size(report['file_bytes'])})"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {_plain(one)}" for name, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    return _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}".replace(",", " ") if isinstance(value, int) else str(value)


def _memory(memory: dict[str, Any], trained: int) -> list[tuple[str, list[list[str]]]]:
    default = memory["default"]
    whole = default["weights"] + default["kv"] + default["compute"]
    parts = [
        ["weights", size(default["weights"])],
        ["keys and values", size(default["kv"])],
        ["compute", size(default["compute"])],
        ["together", size(whole)],
    ]
    tables = [(f"Memory as loaded by default: {default['streams']} streams of {default['context']}", parts)]
    for name, kind in memory["kv"].items():
        if "refused" in kind:
            tables.append((f"Keys and values as {name}: not for this model ({kind['refused']})", []))
            continue
        each = "it does not grow evenly"
        if kind["per_token"] is not None:
            fixed = f", and {size(kind['fixed'])} a stream" if kind["fixed"] else ""
            each = f"{size(kind['per_token'])} a token{fixed}"
        largest = max((cell["context"] for cell in kind["table"]), default=0)
        more = "" if largest >= trained else f" (more than {largest} was too much to try here)"
        tables.append((f"Keys and values as {name}: {each}{more}", _grid(kind["table"])))
    return tables


def _grid(table: list[dict[str, int]]) -> list[list[str]]:
    streams = sorted({cell["streams"] for cell in table})
    rows = [["context", *(f"{count} stream" + ("s" if count > 1 else "") for count in streams)]]
    for context in sorted({cell["context"] for cell in table}):
        cells = {cell["streams"]: cell["bytes"] for cell in table if cell["context"] == context}
        rows.append([str(context), *(size(cells[count]) for count in streams)])
    return rows
