"""What the parts of `Llama` share: the opened model, the turn, the sequences, and simple requests."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .._handle import Unique
from .._json import load
from ..engine import Engine
from .answers import Json, Outcome
from .errors import CLOSED, LlamaError, translated
from .opened import Opened
from .sequences import Sequences
from .turns import Turns

if TYPE_CHECKING:
    from .config import LlamaConfig
    from .sampling import SamplingParams

Message = Mapping[str, Any]


class Perf:
    """Counts and times of the answers so far."""

    def __init__(self, load_ms: float) -> None:
        self.load_ms = load_ms
        self.reset()

    def reset(self) -> None:
        """Sets counts and times to 0."""
        self.start = time.perf_counter()
        self.n_p_eval = self.n_eval = 0
        self.t_p_eval_ms = self.t_eval_ms = 0.0

    def add(self, timings: Json) -> None:
        """Adds the engine's timings of an answer."""
        self.n_p_eval += timings.get("prompt_n", 0)
        self.n_eval += timings.get("predicted_n", 0)
        self.t_p_eval_ms += timings.get("prompt_ms", 0.0)
        self.t_eval_ms += timings.get("predicted_ms", 0.0)


class Base(Unique):
    """Base class of the parts of `Llama`."""

    config: LlamaConfig
    sampling: SamplingParams
    _opened: Opened | None
    _sequences: Sequences
    _conversation: list[Message] | None  # what sequence 0 holds, if a chat filled it
    _turns: Turns
    _perf: Perf
    _adapters: dict[object, Json]

    def _model(self) -> Opened:
        """Returns the opened model. Raises `LlamaError` if this instance is closed."""
        opened = self._opened
        if opened is None or opened.engine._handle.closed:
            raise LlamaError(CLOSED)
        return opened

    def _engine(self) -> Engine:
        return self._model().engine

    def _body(self) -> Json:
        """Returns the fields that each answer has: the model, its adapters, and what the response reports."""
        opened = self._model()
        body: Json = {"model": opened.model, "context_overflow": "error"}
        if "vocabulary" in opened.details:  # else its backend reports no tokens
            body["return_tokens"] = True
        if self._adapters:
            body["lora"] = list(self._adapters.values())
        return body

    def _context(self) -> int:
        return int(self._model().card.get("context") or 0)

    def _name(self) -> str:
        """Returns the model's name in responses."""
        return self.config.model_path.replace("\\", "/").rsplit("/", 1)[-1]

    def _tokenize(self, text: str, add_special: bool, parse_special: bool) -> list[int]:
        opened = self._model()
        body = {"content": text, "add_special": add_special, "parse_special": parse_special}
        with translated():
            told = load(opened.engine.tokenize({"model": opened.model, **body}))
        tokens: list[int] = told["tokens"]
        return tokens

    def _detokenize(self, tokens: list[int], special: bool = False) -> str:
        opened = self._model()
        body = {"model": opened.model, "tokens": tokens, "special": special}
        with translated():
            return str(load(opened.engine.detokenize(body))["content"])

    def _ends(self) -> set[int]:
        """Returns the tokens that end every answer."""
        special = self._model().details.get("special_tokens", {})
        return {special[name]["id"] for name in ("eos", "eot") if name in special}

    def _count(self, outcome: Outcome) -> None:
        self._perf.add(outcome.timings)
