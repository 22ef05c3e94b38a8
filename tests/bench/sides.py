"""Libraries that are compared: each runs in a process of its own, which answers lines of JSON."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from models import Model

Ask = Callable[..., dict[str, Any]]


@contextmanager
def side(command: Sequence[str], name: str, **process_options: Any) -> Iterator[Ask]:
    """Starts the process of library `name`. Yields a function that asks it and returns the answer."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, **process_options) as process:

        def ask(do: str, **given: Any) -> dict[str, Any]:
            process.stdin.write(json.dumps({"do": do, **given}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if not line:
                sys.exit(f"{name} ended while it was asked for '{do}'")
            return dict(json.loads(line))

        yield ask
        process.stdin.close()


def words(one: Model, chance: random.Random, count: int) -> str:
    """Returns words, each a token of the model."""
    return " ".join(chance.choices(one.words, k=count))
