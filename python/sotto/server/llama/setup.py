"""`Setup`: what the flags of llama-server set for all requests of a server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

SAMPLING: Mapping[str, Any] = MappingProxyType(
    {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05}
)  # where the defaults of llama-server differ from those of the engine


@dataclass(frozen=True)
class Setup:
    """Defaults of requests, and what the server says about itself.

    Attributes:
        defaults: Sampling fields, of the engine's names, for requests that do not have them.
        max_tokens: Most tokens of an answer whose request does not say; -1: no limit.
        overflow: What happens with prompts that are longer than the context.
        chat: Fields of chats that do not have them, such as `reasoning_format`.
        aliases: All names of the model; empty: its id.
        tags: Labels of the model, for clients.
        model_path: File of the model; empty: the server does not tell.
        embeddings: Whether the routes of embeddings answer.
        reranking: Whether the routes of reranking answer.
        verbose: Whether answers have the member `__verbose` by default.
        all_adapters: Whether requests use all loaded adapters by default, as those of llama-server do.
        media_dir: Folder of the images that chats name by `file://` URLs; None: such URLs are refused.
        page: Whether there is a page for people at `/`.
    """

    defaults: Mapping[str, Any] = field(default_factory=lambda: SAMPLING)
    max_tokens: int = -1
    overflow: Literal["error", "shift"] = "error"
    chat: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    model_path: str = ""
    embeddings: bool = True
    reranking: bool = True
    verbose: bool = False
    all_adapters: bool = False
    media_dir: Path | None = None
    page: bool = True
