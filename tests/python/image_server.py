"""A server in a process of its own whose models are test doubles: `image_server.py NAME=OPTIONS ...`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import serving
from image_double import Easel
from sotto import aio
from sotto.server import Settings, application
from sotto.server import serving as server


@contextmanager
def painting(**models: dict[str, object]) -> Iterator[serving.Served]:
    """Starts the server on a free port; `models`: load options by name."""
    words = [f"{name}={json.dumps(options)}" for name, options in models.items()]
    with serving.started([sys.executable, str(Path(__file__)), *words]) as running:
        yield running


async def load(engine: aio.Engine, model: server.Model) -> None:
    """Loads a double. The first one brings its backend."""
    if not json.loads(engine.model_list()):
        engine.add_backend(Easel())
    await engine.load_model(model.id, path="-", backend="easel", options=dict(model.options))


def main() -> None:
    """Serves until SIGTERM."""
    models = []
    for word in sys.argv[1:]:
        name, _, options = word.partition("=")
        models.append(server.Model(name, "-", json.loads(options)))
    rules = {"image_prompt": [{"type": "phrases", "phrases": ["blood"]}]}
    server.run(
        server.serve(
            server.Address(port=0),
            models,
            {"mode": "prioritize_compute", "guardrails": rules},
            Settings(max_body_bytes=1 << 20),
            make=lambda service: application.make(service, application.ROUTES),
            drain=1,
            ready=lambda where: print(f"{serving.READY}{where}", flush=True),
            load=load,
        )
    )


if __name__ == "__main__":
    main()
