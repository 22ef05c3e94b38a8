"""`Embedding`: the embedding model of a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..._minilm import MINILM
from ...engine import Engine
from ...errors import SottoError, Status

BATCH = 64  # texts of a request
Vectors = list[Sequence[float]]


class Cancelled(SottoError):
    """A search was cancelled."""

    def __init__(self) -> None:
        super().__init__("the search was cancelled", Status.CANCELLED)


@dataclass(frozen=True)
class Embedding:
    """An engine and its model that embeds texts."""

    engine: Engine
    model: str

    def vectors(self, texts: Sequence[str], cancelled: Callable[[], bool] = lambda: False) -> Vectors:
        """Returns a vector of length 1 for each text. Long texts are truncated.

        Raises:
            Cancelled: `cancelled` returned True between two requests.
            InferenceError: The model failed, or it does not embed texts.
        """
        found: Vectors = []
        for at in range(0, len(texts), BATCH):
            if cancelled():
                raise Cancelled
            batch = [one or " " for one in texts[at : at + BATCH]]
            found += self.engine.embeddings(batch, model=self.model, truncate=True).vectors
        return found


def find_embedding(engine: Engine, model: str | None) -> Embedding | None:
    """Returns the embedding model of a search; None: it ranks by words alone.

    Args:
        engine: The engine.
        model: Id of a loaded model; "auto": `sotto/minilm` if it is loaded, else the first loaded model of
            the llama backend that pools the vectors of its tokens; None: none.
    """
    if model is None:
        return None
    if model != "auto":
        return Embedding(engine, model)
    loaded = engine._loaded()
    names = [one["id"] for one in loaded if one["id"] == MINILM]
    names += [one["id"] for one in loaded if one["details"].get("pooling") in ("mean", "cls", "last")]
    return Embedding(engine, names[0]) if names else None
