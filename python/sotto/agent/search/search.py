"""`Search`: a tool that searches, ranks, cuts to a token allowance, and cites."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

from ... import aio
from ..._handle import Unique
from ..._json import load
from ..._typing import Unpack
from ..._values import invalid, string, whole, wrong_type
from ...engine import Engine
from ...errors import ArgumentError
from ...store import Store
from .. import background
from ..context import CallContext
from ..options import ToolOptions
from ..records import Source, ToolResult
from ..threads import value_of
from ..tool import tool
from .base import HitSource, Inquiry
from .callback import CallbackSource
from .chunks import PASSAGE
from .citing import Citations
from .embedding import Cancelled, find_embedding
from .folder import FolderSource
from .hit import Hit, one_line, read_hits
from .ranking import Ranking
from .stored import StoreSource

DESCRIPTION = "Searches for a text and returns what was found, with numbered sources."
_MAX_QUERY = 1000  # characters
_Query = Annotated[str, "What to search for, in a few words."]
_MOST = 1 << 20


@dataclass(frozen=True)
class SearchResult:
    """What a search returns.

    Attributes:
        text: What the model reads: passages under numbered sources.
        sources: The sources, in the order of their numbers.
        hits: The passages, the best first, whole.
        tokens: Tokens of `text`.
    """

    text: str
    sources: tuple[Source, ...]
    hits: tuple[Hit, ...]
    tokens: int


class Search(Unique):
    """A tool that searches. Pass it to an agent among its tools.

    Hits are split into passages and ranked: by the embedding model and by words (BM25), fused by rank, or by
    words alone. The best are cut to an allowance of tokens, counted by the tokenizer of the model, and cited
    by number; `Call.sources` has the sources. The results are text of others: the tool is `untrusted` and
    `read_only`, and of the kind "search", unless the options say otherwise.

    Args:
        engine: Engine or `sotto.aio.Engine` with the models.
        source: Where to search: a function or coroutine function that gets the query and returns hits, each
            a `Hit`, or a mapping with `title`, `text` or `content`, and `url` or `source`; a `FolderSource`,
            a `StoreSource`, a `WebSource`, or a `sotto.Store`.
        name: Name of the tool.
        description: What it searches, in a sentence for the model.
        model: Model whose tokenizer counts; None: that of the session which calls, else the only one.
        embedder: Id of a loaded model that embeds; "auto": `sotto/minilm`, or another embedding model of the
            llama backend, if one is loaded; None: words alone.
        max_results: Maximum number of passages.
        max_tokens: Maximum tokens of a result, at least 32.
        **options: See `ToolOptions`.

    Raises:
        ArgumentError: An argument is out of range.

    >>> lore = Search(engine, FolderSource("lore"), name="look_up", description="Looks up the town's lore.")
    >>> agent = Agent(session, [lore, open_gate])
    """

    def __init__(
        self,
        engine: Engine | aio.Engine,
        source: HitSource | Store | Callable[[str], Any],
        *,
        name: str = "search",
        description: str = DESCRIPTION,
        model: str | None = None,
        embedder: str | None = "auto",
        max_results: int = 5,
        max_tokens: int = 512,
        **options: Unpack[ToolOptions],
    ) -> None:
        if not isinstance(engine, Engine | aio.Engine):
            raise wrong_type("engine", engine, "a sotto.Engine or a sotto.aio.Engine")
        self._engine = engine._engine if isinstance(engine, aio.Engine) else engine
        self.source = _source(source)
        self._model = None if model is None else string("model", model)
        self._embedder = None if embedder is None else string("embedder", embedder)
        if whole("max_results", max_results, 100) < 1:
            raise ArgumentError(invalid("max_results", max_results, "an integer from 1 to 100"))
        if whole("max_tokens", max_tokens, _MOST) < 32:
            raise ArgumentError(invalid("max_tokens", max_tokens, f"an integer from 32 to {_MOST}"))
        self._max_results, self._max_tokens = max_results, max_tokens
        self._ranking = Ranking()
        rules = ToolOptions(**{"kind": "search", "untrusted": True, "read_only": True, **options})

        async def search(query: _Query, context: CallContext) -> ToolResult:
            found = await self._find(query, context)
            return ToolResult(found.text, found.sources)

        made = tool(name=string("name", name), description=string("description", description), **rules)(
            search
        )
        self.tools = [replace(made, source="search")]

    def __repr__(self) -> str:
        return f"<sotto.agent.Search {self.tools[0].name!r} of {self.source!r}>"

    def __enter__(self) -> Search:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def find(self, query: str) -> SearchResult:
        """Searches as the tool does, and waits for the result.

        Args:
            query: What to search for, 1 to 1,000 characters.

        Raises:
            ArgumentError: The query is empty, or the source returned what is no hit.
            Exception: What the source raises; a `WebSource`: `sotto.agent.search.FetchError`.
        """
        found: SearchResult = background.run(self.afind(query))
        return found

    async def afind(self, query: str) -> SearchResult:
        """Searches as `find()` does, for asyncio."""
        context = CallContext(self.tools[0].name)
        try:
            return await self._find(query, context)
        finally:
            context.end()

    def refresh(self) -> int:
        """Indexes what has changed in a folder, so that the next search does not wait for it.

        Returns:
            The number of files that were indexed or removed; 0 for other sources.
        """
        if not isinstance(self.source, FolderSource):
            return 0
        return self.source.refresh(find_embedding(self._engine, self._embedder))

    def close(self) -> None:
        """Deletes temporary indexes. A second call does nothing; another search makes them again."""
        self._ranking.close()
        if (close := getattr(self.source, "close", None)) is not None:
            close()

    async def _find(self, query: str, context: CallContext) -> SearchResult:
        asked = _query(query)
        embedding = await value_of(lambda: find_embedding(self._engine, self._embedder))
        inquiry = Inquiry(asked, self._max_results, embedding, lambda: context.cancelled)
        given = await self.source.find(inquiry)
        found: SearchResult = await value_of(lambda: self._cite(given, inquiry, context.session_id))
        return found

    def _cite(self, given: list[Hit], inquiry: Inquiry, session: str) -> SearchResult:
        """Ranks, cuts and cites. Waits for the models."""
        hits = read_hits(given)  # of any source that the application wrote
        if not self.source.ranked or any(len(one.text) > 2 * PASSAGE for one in hits):
            hits = self._ranking.rank(hits, inquiry)
        best = [one for one in hits if one.text.strip()][: self._max_results]
        if not best:
            text = "nothing was found"
            return SearchResult(text, (), (), 0)
        model = self._model or self._model_of(session)
        citations = Citations(lambda text: self._count(text, model, inquiry), self._max_tokens)
        citations.add(best)
        text = citations.text
        shown = {one.url or one.title for one in citations.sources}
        kept = tuple(one for one in best if (one.url or one.title) in shown)
        return SearchResult(text, citations.sources, kept, self._count(text, model, inquiry))

    def _model_of(self, session: str) -> str:
        """Returns the model of a session; without one, the only loaded model that does not embed alone."""
        if session:
            asked = self._engine._ask("read_session", {"session": session}, {})
            return str(load(asked.finish().json)["model"])
        loaded = [one for one in self._engine._loaded() if "pooling" not in one["details"]]
        if len(loaded) != 1:
            raise ArgumentError("missing model: expected one whose tokenizer counts; pass model= to Search")
        return str(loaded[0]["id"])

    def _count(self, text: str, model: str, inquiry: Inquiry) -> int:
        """Returns the tokens of a text; a third of its bytes if the model's tokenizer is on a server."""
        if inquiry.cancelled():
            raise Cancelled
        try:
            found = self._engine.tokenize({"model": model, "content": text, "add_special": False})
        except ArgumentError:
            if not self._engine.model_is_loaded(model):
                raise
            return len(text.encode()) // 3 + 1  # the model does not tokenize
        return len(json.loads(found)["tokens"])


def _source(given: Any) -> HitSource:
    if isinstance(given, Store):
        return StoreSource(given)
    if hasattr(given, "find") and hasattr(given, "ranked"):
        found: HitSource = given
        return found
    if not callable(given):
        raise wrong_type("source", given, "a function, a FolderSource, a StoreSource, a WebSource or a Store")
    return CallbackSource(given)


def _query(given: str) -> str:
    if not isinstance(given, str):
        raise wrong_type("query", given, "a str")
    query = one_line(given)
    if not query or len(given) > _MAX_QUERY:
        raise ArgumentError(invalid("query", given, f"1 to {_MAX_QUERY} characters"))
    return query
