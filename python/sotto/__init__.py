"""Runs language models inside a game's process, on the cores and time that its frames leave free."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _early as _early  # must be the first import
from . import _forks as _forks
from . import gpu
from ._lib import VERSION as __version__
from .backend import Backend
from .completion import Completion, Delta, DeltaStream, ToolCall, Usage
from .data import Embeddings, Ranked, Segment, Transcription, Translation
from .engine import Engine
from .entry import Entry, Match
from .errors import (
    ArgumentError,
    AtelicoError,
    InferenceError,
    ModelLoadError,
    SottoError,
    Status,
    StoreError,
)
from .event import Event
from .frame import Frame
from .guard import Guard, GuardStream, Verdict
from .images import Image, Images
from .log import set_log_level
from .memory import Memory, Plan
from .quantize import Quantized
from .respond import Response
from .save_game import SavedGame
from .session import Session
from .slots import Slot, SlotState
from .stats import Stats
from .store import Store
from .stream import TokenStream
from .terms import RequestOptions
from .token_session import TokenSession
from .trace import Slice

if TYPE_CHECKING:
    from . import aio
    from .index import AnnIndex
    from .partial import JsonField, json_field
    from .perfetto import write_trace
    from .recording import Replay, replay

__all__ = [
    "AnnIndex",
    "ArgumentError",
    "AtelicoError",
    "Backend",
    "Completion",
    "Delta",
    "DeltaStream",
    "Embeddings",
    "Engine",
    "Entry",
    "Event",
    "Frame",
    "Guard",
    "GuardStream",
    "Image",
    "Images",
    "InferenceError",
    "JsonField",
    "Match",
    "Memory",
    "ModelLoadError",
    "Plan",
    "Quantized",
    "Ranked",
    "Replay",
    "RequestOptions",
    "Response",
    "SavedGame",
    "Segment",
    "Session",
    "Slice",
    "Slot",
    "SlotState",
    "SottoError",
    "Stats",
    "Status",
    "Store",
    "StoreError",
    "TokenSession",
    "TokenStream",
    "ToolCall",
    "Transcription",
    "Translation",
    "Usage",
    "Verdict",
    "__version__",
    "aio",
    "gpu",
    "json_field",
    "replay",
    "set_log_level",
    "write_trace",
]


_LAZY = {  # what few programs use; asyncio, which `aio` imports, takes longer than the rest of the package
    "AnnIndex": "index",
    "JsonField": "partial",
    "Replay": "recording",
    "aio": "aio",
    "json_field": "partial",
    "replay": "recording",
    "write_trace": "perfetto",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    module = importlib.import_module(f".{_LAZY[name]}", __name__)
    found: object = module if name == "aio" else getattr(module, name)
    globals()[name] = found
    return found
