"""A backend in Python that opens one model, which a test gives it."""

from __future__ import annotations

import sotto
from sotto.backends import Backend, Model, Source


class Made(Backend):
    """Opens one model that it was given."""

    name = "made"

    def __init__(self, model: Model) -> None:
        self.model = model

    def open(self, source: Source) -> Model:
        self.source = source
        return self.model


def have(engine: sotto.Engine, model: Model) -> Made:
    """Adds a backend, and loads its model."""
    backend = Made(model)
    engine.add_backend(backend)
    engine.load_model("m", path="somewhere", backend="made", options={"depth": 3})
    return backend
