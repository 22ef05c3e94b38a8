"""`LlamaConfig`: how a model is loaded."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any

from .._values import invalid
from .errors import ValidationError

_MAX_BATCH = 4096  # tokens per step of the llama backend
_FLASH = {-1: "auto", 0: "off", 1: "on"}
_SPLITS = (0, 1, 2)  # none, layer, row
POOLINGS = {1: "mean", 2: "cls", 3: "last"}  # options of the llama backend


@dataclass(slots=True)
class LlamaConfig:
    """Options of a model and its context, with the defaults of the reference interface.

    Attributes:
        model_path: GGUF file, or a model id such as "sotto/house".
        n_ctx: Tokens of one sequence, at least 16; at most what the model was trained for is used.
        n_batch: Tokens per step. A step has at most 4,096.
        n_ubatch: Tokens per step, too: the smaller of the two counts. None: `n_batch`.
        n_seq_max: Sequences, each with `n_ctx` tokens.
        n_threads: Maximum threads per step; None or `os.cpu_count()`: chosen for throughput.
        n_threads_batch: Maximum threads of prefill; None: `n_threads`.
        n_gpu_layers: Layers on the graphics card; -1: all; 0: the processor computes everything.
        main_gpu: Index of the graphics card.
        split_mode: 0. Sotto runs a model on one device: `Llama` refuses 1 and 2.
        use_mmap: Maps the file instead of reading it.
        use_mlock: Locks the weights in memory.
        offload_kqv: Keeps the KV cache on the graphics card.
        flash_attn: 1: on, 0: off, -1: the faster one.
        embeddings: Enables `embed()` and `create_embedding()`.
        add_bos: Default of `tokenize(add_special=)`, and of prompts.
        parse_special: Default of `tokenize(parse_special=)`, and of prompts.
        chat_format: Name of a chat template, see `sotto.llama.formats`; None: the model's own.
        verbose: False: logs errors only. Applies to all instances of the process.
        seed: Seed of requests without one; -1: random.
        check_tensors: Validates the tensors' values while loading.
        no_host: Accepted; Sotto has no such buffers.
        rope_freq_base: 0: the model's.
        rope_freq_scale: 0: the model's.
        pooling_type: How an embedding is made of those of its tokens, by llama.cpp's numbers: 1: mean, 2: the
            first one, 3: the last one; -1: as the file says, else the mean.

    Raises:
        ValidationError: A value is out of range.
    """

    model_path: str
    n_ctx: int = 4096
    n_batch: int = 2048
    n_ubatch: int | None = None
    n_seq_max: int = 1
    n_threads: int | None = None
    n_threads_batch: int | None = None
    n_gpu_layers: int = -1
    main_gpu: int = 0
    split_mode: int = 0
    use_mmap: bool = True
    use_mlock: bool = False
    offload_kqv: bool = True
    flash_attn: int = 1
    embeddings: bool = False
    add_bos: bool = True
    parse_special: bool = False
    chat_format: str | None = None
    verbose: bool = True
    seed: int = -1
    check_tensors: bool = False
    no_host: bool = False
    rope_freq_base: float = 0.0
    rope_freq_scale: float = 0.0
    pooling_type: int = -1

    def __post_init__(self) -> None:
        self.model_path = path_of(self.model_path)
        for name, least in _LEAST.items():
            _whole(name, getattr(self, name), least)
        if self.n_ubatch is None:
            self.n_ubatch = self.n_batch
        self.n_ubatch = min(_whole("n_ubatch", self.n_ubatch, 1), self.n_batch)
        if self.n_threads is None:
            self.n_threads = os.cpu_count() or 1
        _whole("n_threads", self.n_threads, 1)
        if self.n_threads_batch is None:
            self.n_threads_batch = self.n_threads
        _whole("n_threads_batch", self.n_threads_batch, 1)
        if self.split_mode not in _SPLITS:
            raise ValidationError(invalid("split_mode", self.split_mode, "0 (none), 1 (layer) or 2 (row)"))
        if self.flash_attn not in _FLASH:
            raise ValidationError(invalid("flash_attn", self.flash_attn, "1 (on), 0 (off) or -1 (automatic)"))
        if self.pooling_type != -1 and self.pooling_type not in POOLINGS:
            raise ValidationError(
                invalid("pooling_type", self.pooling_type, "1 (mean), 2 (cls), 3 (last) or -1 (the file's)")
            )
        if self.chat_format is not None:
            from .formats import template_of

            template_of(self.chat_format)


_LEAST = {"n_ctx": 1, "n_batch": 1, "n_seq_max": 1, "n_gpu_layers": -1, "main_gpu": 0, "seed": -1}
NAMES = tuple(field.name for field in fields(LlamaConfig))


def path_of(path: object) -> str:
    """Returns a model path as text. Raises `ValidationError` if it is empty or not a path."""
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str) or not text or "\0" in text:
        raise ValidationError(invalid("model_path", path, "the path of a GGUF file, or a model id"))
    return text


def load_options(config: LlamaConfig, *, shared: bool, trained: int | None) -> dict[str, Any]:
    """Returns the options of `Engine.load_model()`. Leaves out those that ask for the engine's default.

    Args:
        config: The configuration.
        shared: True: other instances may use the model, so the engine chooses the number of slots if
            `n_seq_max` is 1, and threads are an option of the model.
        trained: Context of the model in tokens; None: unknown.
    """
    slots = config.n_seq_max if config.n_seq_max > 1 or not shared else None
    batch = min(config.n_batch, config.n_ubatch or config.n_batch, _MAX_BATCH)
    options: dict[str, Any] = {
        "context": config.n_ctx if trained is None else min(config.n_ctx, trained),
        "batch": max(batch, slots or 4),  # at least a token for each slot
    }
    if slots is not None:
        options["parallel"] = slots
    if config.n_gpu_layers >= 0:
        options["gpu_layers"] = config.n_gpu_layers
    if config.chat_format is not None:
        from .formats import template_of

        options["chat_template"] = template_of(config.chat_format)
    return options | _rarer(config, shared)


def _rarer(config: LlamaConfig, shared: bool) -> dict[str, Any]:
    """Returns the options that differ from what the engine does by itself."""
    wanted: dict[str, tuple[Any, Any]] = {
        "mmap": (config.use_mmap, True),
        "flash_attention": (_FLASH[config.flash_attn], "auto"),
        "mlock": (config.use_mlock, False),
        "offload_kqv": (config.offload_kqv, True),
        "check_tensors": (config.check_tensors, False),
        "rope_freq_base": (config.rope_freq_base, 0.0),
        "rope_freq_scale": (config.rope_freq_scale, 0.0),
        "threads_batch": (config.n_threads_batch, config.n_threads),
    }
    if shared:
        wanted["threads"] = (config.n_threads, os.cpu_count() or 1)
    return {name: value for name, (value, default) in wanted.items() if value != default}


def _whole(name: str, value: object, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValidationError(invalid(name, value, f"an integer from {least}"))
    return value
