"""Scheduling modes: priority between models and the game's frames when cores are short."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ._lib import lib

Mode = Literal["balance", "prioritize_compute", "prioritize_graphics"]

MODES: Mapping[Mode, int] = {
    "balance": lib.SOTTO_MODE_BALANCE,
    "prioritize_compute": lib.SOTTO_MODE_PRIORITIZE_COMPUTE,
    "prioritize_graphics": lib.SOTTO_MODE_PRIORITIZE_GRAPHICS,
}
MODE_NAMES = {value: name for name, value in MODES.items()}
