"""Checks of the Unreal plugin that need no engine: headers, Build.cs, .uplugin and the ledger of symbols."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLUGIN = ROOT / "unreal" / "Sotto"
for folder in (HERE, HERE.parent):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from checks.ground import PYTHON, Failed, last_line, run  # noqa: E402  the path is set first

LEDGER = HERE / "api.json"
FAILED = "header_check: failed"


@cache
def _analysis(plugin: Path) -> str:
    """Runs the header check once, for check_headers() and check_api(). Returns what it printed."""
    parts = [["--samples"], ["--plugin", plugin, "--ledger", LEDGER]]
    with ThreadPoolExecutor() as pool:
        return "\n".join(pool.map(_checked, parts))


def _checked(words: list[str | Path]) -> str:
    try:
        return run([PYTHON, HERE / "header_check", *words], timeout=300)
    except Failed as error:
        return f"{error}\n{FAILED}"


def _lines(plugin: Path, prefix: str) -> list[str]:
    """The result lines that begin with a prefix. Raises Failed if the header check failed."""
    printed = _analysis(plugin)
    found = [line.removeprefix(prefix) for line in printed.splitlines() if line.startswith(prefix)]
    if not found or FAILED in printed:
        raise Failed(printed)
    return found


def check_headers(plugin: Path = PLUGIN) -> str:
    """Checks the rules on their samples, then the headers of the plugin."""
    return "; ".join(_lines(plugin, "header_check: "))


def check_build_rules(archive: Path | None = None, plugin: Path = PLUGIN) -> str:
    """Executes the Build.cs files, and compares their lists with a packaged plugin where there is one."""
    words = [] if archive is None else ["--zip", archive]
    return last_line(run([PYTHON, HERE / "build_rules", "--check", "--plugin", plugin, *words], timeout=300))


def check_api(plugin: Path = PLUGIN) -> str:
    """Compares the engine's symbols that the plugin uses with the ledger."""
    return "; ".join(_lines(plugin, "ledger: "))
