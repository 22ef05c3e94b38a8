"""`Llama` and `UnifiedLLM`: the interface of llama.cpp's Python packages, on Sotto's engine.

>>> from sotto.llama import Llama
>>> with Llama("model.gguf") as llm:
...     print(llm.create_chat_completion([{"role": "user", "content": "Hello!"}]))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import ContextError, GenerationError, LlamaError, ModelLoadError, ValidationError

if TYPE_CHECKING:
    from ._loop import AsyncStream
    from .answers import ChunkStream, StoppingCriteriaList, TextStream, TokenProb
    from .config import LlamaConfig
    from .families import ModelConfig, ModelFamily, detect_model_family
    from .grammar import LlamaGrammar
    from .logs import disable_logging, reset_logging, set_log_level
    from .model import Llama, print_system_info, shutdown
    from .sampling import SamplingParams
    from .state import Adapter
    from .unified import UnifiedLLM

__all__ = [
    "Adapter",
    "AsyncStream",
    "ChunkStream",
    "ContextError",
    "GenerationError",
    "Llama",
    "LlamaConfig",
    "LlamaError",
    "LlamaGrammar",
    "ModelConfig",
    "ModelFamily",
    "ModelLoadError",
    "SamplingParams",
    "StoppingCriteriaList",
    "TextStream",
    "TokenProb",
    "UnifiedLLM",
    "ValidationError",
    "detect_model_family",
    "disable_logging",
    "print_system_info",
    "reset_logging",
    "set_log_level",
    "shutdown",
]

_MODULES = {  # lazy: dataclasses and regular expressions take longer to import than the rest
    "Adapter": "state",
    "AsyncStream": "_loop",
    "ChunkStream": "answers",
    "Llama": "model",
    "LlamaConfig": "config",
    "LlamaGrammar": "grammar",
    "ModelConfig": "families",
    "ModelFamily": "families",
    "SamplingParams": "sampling",
    "StoppingCriteriaList": "answers",
    "TextStream": "answers",
    "TokenProb": "answers",
    "UnifiedLLM": "unified",
    "detect_model_family": "families",
    "disable_logging": "logs",
    "print_system_info": "model",
    "reset_logging": "logs",
    "set_log_level": "logs",
    "shutdown": "model",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    found: object = getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
    globals()[name] = found
    return found
