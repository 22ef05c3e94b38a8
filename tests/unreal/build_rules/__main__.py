"""Prints as JSON what the Build.cs files of a plugin name for each platform."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

UNREAL = Path(__file__).resolve().parents[1]
sys.path[0] = str(UNREAL)
sys.path.insert(1, str(UNREAL.parent))


def main() -> int:
    """Runs the command."""
    from build_rules.rules import PLATFORMS, execute
    from checks.ground import Failed

    parser = argparse.ArgumentParser(prog="build_rules", description=__doc__)
    parser.add_argument("--plugin", type=Path, required=True, help="folder of the plugin, with its .uplugin")
    parser.add_argument(
        "--platform", action="append", help=f"target platform; default: {', '.join(PLATFORMS)}"
    )
    parser.add_argument("--check", action="store_true", help="check instead of printing; see check.py")
    parser.add_argument("--zip", type=Path, help="with --check: the packaged plugin, or a folder of it")
    options = parser.parse_args()
    if options.check:
        from build_rules.check import check

        return check(options.plugin, options.zip)
    try:
        found = execute(options.plugin, options.platform or PLATFORMS)
    except Failed as error:
        parser.error(str(error))
    lists = {
        platform: {name: one.to_json() for name, one in modules.items()}
        for platform, modules in found.items()
    }
    print(json.dumps(lists, indent=2))
    return 0


sys.exit(main())
