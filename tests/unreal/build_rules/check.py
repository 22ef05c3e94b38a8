"""The check of Build.cs and .uplugin files."""

from __future__ import annotations

from pathlib import Path

from checks.ground import ROOT, Failed

from .archive import check_leave_out, check_lists, check_unpackaged, check_without_libraries
from .controls import check_controls
from .descriptor import check_descriptor
from .rules import PLATFORMS, execute

HEADERS = ROOT / "include"


def check(plugin: Path, archive: Path | None) -> int:
    """Checks a plugin and, if given, its packaged zip. Prints one line; returns 1 on failure."""
    try:
        said = [f"{check_controls()} controls", check_descriptor(plugin)]
        lists = execute(plugin)
        said.append(f"{len(lists[PLATFORMS[0]])} Build.cs executed for {', '.join(PLATFORMS)}")
        said.append(check_unpackaged(plugin, HEADERS) if archive is None else check_lists(archive))
        said.append(check_without_libraries(plugin, HEADERS))
        said.append(check_leave_out(plugin, HEADERS))
    except Failed as error:
        print(error)
        return 1
    print("; ".join(said))
    return 0
