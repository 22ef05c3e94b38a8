"""Makes `sotto.client` importable as `llamatelemetry.api.client`, for code that was written for it."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

_NAME = "llamatelemetry"


def alias_llamatelemetry() -> ModuleType:
    """Registers `sotto.client` as the module `llamatelemetry.api.client`. A second call does nothing.

    Returns:
        The module `sotto.client`.

    Raises:
        ImportError: A package `llamatelemetry` is installed; import it, or `sotto.client`, by its own name.
    """
    client = sys.modules["sotto.client"]
    full = f"{_NAME}.api.client"
    if sys.modules.get(full) is client:
        return client
    if _NAME in sys.modules or importlib.util.find_spec(_NAME) is not None:
        raise ImportError(f"a package {_NAME} is installed: import sotto.client by its own name", name=_NAME)
    package, api = (
        ModuleType(_NAME, "Names of sotto.client."),
        ModuleType(f"{_NAME}.api", "Names of sotto.client."),
    )
    package.__path__ = []
    api.__path__ = []
    package.api = api  # type: ignore[attr-defined]
    api.client = client  # type: ignore[attr-defined]
    sys.modules.update({_NAME: package, f"{_NAME}.api": api, full: client})
    return client
