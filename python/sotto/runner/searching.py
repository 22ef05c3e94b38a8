"""`Searching`: the search of a runner, by `sotto.agent.Search`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .._handle import Unique
from .._minilm import FILE, MINILM
from ..agent import HitSource, Search, Tool
from ..engine import Engine
from ..store import Store
from .models import Which
from .refusals import refuse
from .tools import SearchContextSize, WebSearchOptions

SearchCallback = Callable[[str], Any] | HitSource | Store
NAME = "web_search"
GEMMA = "embedding_gemma"
EMBEDDERS = {  # names of `search_embedding_model` that the runner loads
    GEMMA: Which.GGUF("ggml-org/embeddinggemma-300M-qat-q4_0-GGUF", "embeddinggemma-300M-qat-Q4_0.gguf"),
    MINILM: Which.GGUF(MINILM, FILE),
}
_DESCRIPTION = "Searches the web for a text and returns what was found, with numbered sources."
_SIZES = {  # maximum tokens and passages of a result
    SearchContextSize.Low: (256, 3),
    SearchContextSize.Medium: (512, 5),
    SearchContextSize.High: (1536, 10),
}


class Searching(Unique):
    """Searches for the models of a runner.

    Args:
        engine: The engine.
        source: Where to search: a function, or another source of `sotto.agent.Search`.
        embedder: Id of the model that ranks; None: any that embeds; without one, words alone.
    """

    def __init__(self, engine: Engine, source: SearchCallback, embedder: str | None) -> None:
        self._searches = {
            size: Search(
                engine,
                source,
                name=NAME,
                description=_DESCRIPTION,
                embedder="auto" if embedder is None else embedder,
                max_tokens=tokens,
                max_results=passages,
            )
            for size, (tokens, passages) in _SIZES.items()
        }

    def tool(self, options: WebSearchOptions) -> Tool:
        """Returns the tool of a chat."""
        if options.extract_description is not None:
            refuse("extract_description")
        (tool,) = self._searches[options.search_context_size or SearchContextSize.Medium].tools
        about = tool.description if options.search_description is None else options.search_description
        if options.user_location is not None:
            place = options.user_location.place
            about += f" The user is near {place.city}, {place.region}, {place.country} ({place.timezone})."
        return replace(tool, description=about)

    def close(self) -> None:
        """Deletes temporary indexes. A second call does nothing."""
        for one in self._searches.values():
            one.close()
