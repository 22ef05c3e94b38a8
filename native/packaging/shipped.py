"""The files beside the core library that a game ships: backend modules and embedded models."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from dataclasses import dataclass

HOST_PLUGINS = ("unity", "godot")  # sotto_unity, sotto_godot: libraries of one host, not modules
_MODULE = re.compile(r"(?:lib)?sotto_(\w+)(?:-[\w.-]+)?\.(?:so|dll)")


@dataclass(frozen=True)
class EmbeddedModel:
    """A model that lies beside the library, which loads it by its id, without a path."""

    id: str
    file: str
    backend: str  # of the module that opens it; empty: the default backend
    licence: str  # SPDX id
    text: str = ""  # the name of its licence text in native/licences.py; empty: this project's own


# As in native/core/model/built_in.cpp. tests/packages/test_shipped.py compares all lists of these files.
MODELS = (
    EmbeddedModel("sotto/house", "house.gguf", "", "Apache-2.0", "SmolLM2-135M-Instruct, in the house model"),
    EmbeddedModel("sotto/matting", "matting.onnx", "onnx", "MIT"),
)


def backend_of(file_name: str) -> str:
    """Returns the backend of a module's file, such as `llama_vulkan`; empty if the file is no module.

    The rule of native/module/modules.cpp: every library named sotto_* is one, except those of a host.
    """
    found = _MODULE.fullmatch(file_name)
    return found[1] if found is not None and found[1] not in HOST_PLUGINS else ""


def chooser(patterns: str) -> Callable[[str], bool]:
    """Returns a function that is true for file names which match one of the patterns, split by commas."""
    listed = [pattern.strip() for pattern in patterns.split(",")]
    return lambda name: any(fnmatch.fnmatch(name.removeprefix("lib"), pattern) for pattern in listed)


@dataclass(frozen=True)
class Choice:
    """Which modules and models of the builds are packaged."""

    module: Callable[[str], bool]  # of a file name
    model: Callable[[str], bool]
