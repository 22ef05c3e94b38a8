"""Checks the headers of an Unreal plugin. See `python tests/unreal/header_check --help`."""

from __future__ import annotations

import sys
from pathlib import Path

UNREAL = Path(__file__).resolve().parents[1]
sys.path[0] = str(UNREAL)
sys.path.insert(1, str(UNREAL.parent))

from header_check.command import main  # noqa: E402  the path is set first

sys.exit(main())
