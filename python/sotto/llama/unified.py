"""`UnifiedLLM`: models of several families behind one call, each with its template and its sampling."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Any

from .._handle import Unique
from .._values import invalid
from ..engine import Engine
from .config import LlamaConfig
from .errors import CLOSED, LlamaError, ValidationError
from .families import THINKING, ModelConfig, ModelFamily, detect_model_family, family_config
from .model import Llama
from .sampling import SamplingParams

__all__ = ["ModelConfig", "ModelFamily", "UnifiedLLM", "detect_model_family"]

_LEVELS = ("low", "medium", "high")
_OPENED = r"<think(?:ing)?>|\[THINK\]"
_THOUGHT = re.compile(rf"(?:{_OPENED})(.*?)(?:</think(?:ing)?>|\[/THINK\]|\Z)\s*", re.S | re.I)


class UnifiedLLM(Unique):
    """A model of a known family, which is detected from its file. Use it as a context manager.

    Args:
        model_path: GGUF file.
        n_ctx: Tokens of the context; at most what the family and the model have.
        n_batch: Tokens per step.
        n_ubatch: Tokens per step, too: the smaller of the two counts.
        n_gpu_layers: Layers on the graphics card; -1: all.
        verbose: True: leaves the log as it is; False: logs errors only.
        family: The family, or its key, such as "qwen3"; None: detected.
        engine: The engine to load the model into; None: one of its own.

    Raises:
        ValidationError: The family cannot be detected, or is unknown. Also a `ValueError`.
        TypeError: `family` is neither a str nor a `ModelFamily`.
        ModelLoadError: The model cannot be loaded.

    >>> with UnifiedLLM("Qwen3-8B-Q4_K_M.gguf") as llm:
    ...     thoughts, answer = llm.generate_with_thinking("What is 3 x 4?")
    """

    def __init__(
        self,
        model_path: str,
        n_ctx: int = 8192,
        n_batch: int = 2048,
        n_ubatch: int = 512,
        n_gpu_layers: int = -1,
        verbose: bool = False,
        family: str | ModelFamily | None = None,
        *,
        engine: Engine | None = None,
    ) -> None:
        self._llm: Llama | None = None
        self._level: str | None = None
        self.model_config = detect_model_family(model_path) if family is None else family_config(family)
        context = min(n_ctx, self.model_config.max_ctx)
        config = LlamaConfig(
            os.fspath(model_path),
            n_ctx=context,
            n_batch=min(n_batch, max(context, 1)),
            n_ubatch=n_ubatch,
            n_gpu_layers=n_gpu_layers,
            verbose=verbose,
        )
        self._llm = self._opened(config, engine)

    def _opened(self, config: LlamaConfig, engine: Engine | None) -> Llama:
        """Opens the model, with the family's chat template if its file has none."""
        known = self.model_config
        sampling = SamplingParams(
            temperature=known.temperature, top_p=known.top_p, top_k=known.top_k, min_p=known.min_p
        )
        llm = Llama(config.model_path, config, sampling, engine=engine)
        if known.chat_format is None or llm._model().details.get("has_chat_template", True):
            return llm
        llm.close()
        return Llama(
            config.model_path, replace(config, chat_format=known.chat_format), sampling, engine=engine
        )

    def __enter__(self) -> UnifiedLLM:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._llm is None:
            return "<sotto.llama.UnifiedLLM, closed>"
        return f"<sotto.llama.UnifiedLLM of '{self.llm.config.model_path}', family {self.family.name}>"

    @property
    def llm(self) -> Llama:
        """The model. Raises `LlamaError` if this instance is closed."""
        if self._llm is None:
            raise LlamaError(CLOSED)
        return self._llm

    @property
    def family(self) -> ModelFamily:
        """The family."""
        return self.model_config.family

    @property
    def supports_thinking(self) -> bool:
        """True if the model can reason before it answers."""
        return self.model_config.supports_thinking

    def generate(
        self,
        prompt: str,
        system_prompt: str | None = None,
        max_tokens: int | None = None,
        thinking: bool = False,
        stop: list[str] | None = None,
    ) -> str:
        """Answers a prompt, without the thoughts before the answer.

        Args:
            prompt: What the user says.
            system_prompt: The system message; None: no system message.
            max_tokens: Maximum number of tokens, thoughts included; None: until the end of the context.
            thinking: Lets the model reason first.
            stop: Texts that end the answer, beside those of the family.

        Raises:
            ValidationError: An argument is invalid. Also a `ValueError`.
            GenerationError: The model failed, or the prompt does not fit into the context.
        """
        return self._answer(prompt, system_prompt, max_tokens, thinking, stop)[1]

    def generate_with_thinking(
        self,
        prompt: str,
        system_prompt: str | None = None,
        max_tokens: int | None = None,
        stop: list[str] | None = None,
    ) -> tuple[str, str]:
        """Answers a prompt, and returns the thoughts and the answer.

        The thoughts are "" if the model does not reason. Arguments and errors are those of `generate()`.
        """
        return self._answer(prompt, system_prompt, max_tokens, self.supports_thinking, stop)

    def set_reasoning_level(self, level: str) -> None:
        """Sets how much a model of the family GPT_OSS reasons: "low", "medium" or "high". Others ignore it.

        Raises:
            ValidationError: The level is unknown. Also a `ValueError`.
        """
        if level not in _LEVELS:
            raise ValidationError(invalid("level", level, '"low", "medium" or "high"'))
        self._level = level

    def strip_thinking(self, text: str) -> str:
        """Returns a text without the thoughts in it: what is between think tags, also if the last is open."""
        return split_thinking(text)[1]

    def n_tokens(self, text: str) -> int:
        """Returns the number of tokens of a text."""
        return self.llm.n_tokens(text)

    def n_ctx(self) -> int:
        """Returns the tokens of the context."""
        return self.llm.n_ctx()

    def kv_cache_clear(self) -> None:
        """Empties the KV cache."""
        self.llm.kv_cache_clear()

    def close(self) -> None:
        """Releases the model. A second call does nothing."""
        llm, self._llm = self._llm, None
        if llm is not None:
            llm.close()

    def _answer(
        self, prompt: str, system: str | None, max_tokens: int | None, thinking: bool, stop: list[str] | None
    ) -> tuple[str, str]:
        """Returns the thoughts and the answer."""
        if not isinstance(prompt, str) or not prompt.strip():
            raise ValidationError(invalid("prompt", prompt, "text that is not blank"))
        messages = [] if not system else [{"role": "system", "content": system}]
        messages.append({"role": "user", "content": prompt + self._switch(thinking)})
        stops = [*self.model_config.stop_sequences, *(stop or ())]
        told: Any = self.llm.create_chat_completion(
            messages, max_tokens, stop=stops or None, **self._keywords(thinking)
        )
        message = told["choices"][0]["message"]
        thoughts, answer = split_thinking(message.get("content") or "")
        return (message.get("reasoning_content") or thoughts).strip(), answer

    def _switch(self, thinking: bool) -> str:
        """Returns what is written after a prompt to turn reasoning on or off."""
        if self.family is not ModelFamily.QWEN3 or not self.supports_thinking:
            return ""
        return " /think" if thinking else " /no_think"

    def _keywords(self, thinking: bool) -> dict[str, Any]:
        """Returns keywords of the chat: how the model reasons, and how it is sampled meanwhile."""
        if not self.supports_thinking:
            return {}
        if self.family is ModelFamily.GPT_OSS:
            return {"reasoning_effort": self._level or "medium"}
        words: dict[str, Any] = {"chat_template_kwargs": {"enable_thinking": thinking}}
        drawn = THINKING.get(self.family)
        if thinking and drawn is not None:
            words |= {
                "temperature": drawn.temperature,
                "top_p": drawn.top_p,
                "top_k": drawn.top_k,
                "min_p": drawn.min_p,
            }
        return words


def split_thinking(text: str) -> tuple[str, str]:
    """Returns the thoughts in a text, and the text without them."""
    thoughts = "\n".join(one.strip() for one in _THOUGHT.findall(text))
    return thoughts, _THOUGHT.sub("", text).strip()
