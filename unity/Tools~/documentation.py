"""Writes Documentation~/sotto.md, the guide that the package contains, from the guide of the documentation.

    documentation.py [--check]

Links to other pages of the documentation become their text: the package has no such pages. --check writes
nothing and fails if the file is other than this script writes it.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
GUIDE = PACKAGE.parent / "docs" / "pages" / "guide" / "first-npc-unity.md"
TARGET = PACKAGE / "Documentation~" / "sotto.md"
LINK = re.compile(r"\[([^\]]+)\]\((?!#)[^)]+\)")


def package_text(guide: str) -> str:
    """Returns the guide as the package contains it."""
    return LINK.sub(r"\1", guide)


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the file is out of date")
    arguments = parser.parse_args()
    text = package_text(GUIDE.read_text(encoding="utf-8"))
    if not arguments.check:
        TARGET.write_text(text, encoding="utf-8")
    elif TARGET.read_text(encoding="utf-8") != text:
        print(f"{TARGET} is out of date: run python3 {Path(__file__).name}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
