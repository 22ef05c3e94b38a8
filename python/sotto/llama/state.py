"""Part of `Llama`: sequences and their states, LoRA adapters, and figures."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, overload

from ..errors import SottoError
from .answers import Json
from .base import Base
from .errors import LlamaError, ValidationError, translated
from .opened import Opened

_adapter_numbers = itertools.count(1)


class Adapter:
    """A LoRA adapter of one `Llama`, from `load_lora()`."""

    def __init__(self, path: str, scale: float) -> None:
        self.path = path
        self.scale = scale

    def __repr__(self) -> str:
        return f"<sotto.llama adapter '{self.path}', scale {self.scale:g}>"


class KeepsState(Base):
    """Part of `Llama`: sequences and their states, LoRA adapters, and figures."""

    # Sequences. A range is from position `p0` to before `p1`; -1: the beginning, or the end.

    def reset(self) -> None:
        """Empties all sequences, and the KV cache. Adapters stay."""
        self.kv_cache_clear()

    def kv_cache_clear(self) -> None:
        """Empties all sequences. The next prompt is prefilled whole, unless instances share the model."""
        opened = self._model()
        with self._turns:
            self._sequences.clear()
            self._conversation = None
            if opened.shared or not opened.card.get("context"):
                return
            with translated(LlamaError):
                for slot in opened.engine.slots(opened.model):
                    opened.engine.erase_slot(slot.id, model=opened.model)

    def kv_cache_seq_rm(self, seq_id: int = 0, p0: int = -1, p1: int = -1) -> bool:
        """Removes tokens from a sequence. It continues as a fresh run of the other tokens does.

        Returns:
            True if the range had tokens.
        """
        with self._changing():
            return self._sequences.remove(seq_id, p0, p1)

    def kv_cache_seq_cp(self, seq_id_src: int, seq_id_dst: int, p0: int = -1, p1: int = -1) -> None:
        """Replaces a sequence by tokens of another one."""
        with self._changing():
            self._sequences.copy(seq_id_src, seq_id_dst, p0, p1)

    def kv_cache_seq_keep(self, seq_id: int) -> None:
        """Empties all other sequences."""
        with self._changing():
            self._sequences.keep(seq_id)

    def kv_cache_seq_add(self, seq_id: int, p0: int, p1: int, delta: int) -> None:
        """Adds `delta` to positions. Tokens whose position is then below 0 are removed.

        The model reads the tokens of a sequence one after the other: a gap between positions has no effect on
        its answers.

        Raises:
            ValidationError: Positions would no longer rise.
        """
        with self._changing():
            self._sequences.shift(seq_id, p0, p1, delta)

    def kv_cache_seq_pos_max(self, seq_id: int = 0) -> int:
        """Returns the last position of a sequence; -1: it is empty."""
        self._model()
        with self._turns:
            return self._sequences[seq_id].end

    @contextmanager
    def _changing(self) -> Iterator[None]:
        self._model()
        with self._turns:
            yield
            self._conversation = None

    # States

    def get_state(self) -> bytes:
        """Returns all sequences with their KV cache.

        Raises:
            LlamaError: The state cannot be made.
        """
        self._model()
        with self._turns:
            return self._sequences.pack(self._saved)

    def set_state(self, data: bytes) -> int:
        """Restores what `get_state()` returned, in a process with the same model.

        Returns:
            The number of bytes.

        Raises:
            LlamaError: The state is damaged, truncated, or of another model. The sequences stay as they are.
        """
        self._restored(bytes(data))
        return len(data)

    @overload
    def save_state(self, path: str | os.PathLike[str]) -> bool: ...

    @overload
    def save_state(self, path: None = None) -> bytes: ...

    def save_state(self, path: str | os.PathLike[str] | None = None) -> bool | bytes:
        """Saves all sequences with their KV cache to a file, whole or not at all.

        Args:
            path: The file; None: returns the state instead, as in llama-cpp-python.

        Returns:
            True; without a path, the state, for `load_state()`.

        Raises:
            LlamaError: The file cannot be written.
        """
        data = self.get_state()
        if path is None:
            return data
        name = os.fspath(path)
        part = f"{name}.{os.getpid()}.part"
        try:
            with open(part, "wb") as file:
                file.write(data)
            os.replace(part, name)
        except OSError as error:
            with suppress(OSError):
                os.unlink(part)
            raise LlamaError(
                f"invalid path '{name}': expected a file that can be written: {error}"
            ) from error
        return True

    def load_state(self, path: str | os.PathLike[str] | bytes) -> int:
        """Restores what `save_state()` saved, in a process with the same model.

        Args:
            path: The file, or the state that `save_state()` returned.

        Returns:
            The number of tokens.

        Raises:
            LlamaError: The file cannot be read, is damaged, or of another model.
        """
        if isinstance(path, bytes):
            return self._restored(path)
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise LlamaError(f"invalid path '{os.fspath(path)}': expected a state: {error}") from error
        return self._restored(data)

    def _restored(self, data: bytes) -> int:
        self._model()
        with self._turns:
            count = self._sequences.unpack(data, self._restore)
            self._conversation = None
            return count

    def _saved(self, tokens: list[int]) -> bytes:
        """Returns the KV cache of tokens, without those for which the context has no room."""
        body = self._body()
        body.pop("return_tokens")
        body["prompt"] = tokens[: max(1, self._context() - 1)]
        with translated(LlamaError):
            return self._engine().read_state(body)

    def _restore(self, blob: bytes) -> None:
        with translated(LlamaError):
            self._engine().restore_state({"model": self._model().model}, blob)

    # Adapters

    def load_lora(self, path: str | os.PathLike[str], scale: float = 1.0) -> Adapter:
        """Loads a LoRA adapter, which all later answers of this instance use.

        Args:
            path: GGUF file of the adapter, or the folder of a PEFT adapter.
            scale: Strength, -1000 to 1000; 1: the full effect; 0: no effect.

        Returns:
            A handle for `remove_lora()`. Adapters add up.

        Raises:
            ModelLoadError: The adapter is missing, damaged, or made for another model.
            ValidationError: `scale` is out of range.
        """
        opened = self._model()
        name = f"llama-{next(_adapter_numbers)}"
        adapter = Adapter(os.fspath(path), scale)
        with self._turns, translated():
            opened.engine.lora_load(opened.model, path, name=name, scale=scale)
            self._adapters[adapter] = {"name": name, "scale": scale}
        return adapter

    def remove_lora(self, adapter: Any) -> None:
        """Unloads an adapter.

        Raises:
            ValidationError: The adapter is not one of this instance, or was removed.
        """
        opened = self._model()
        with self._turns:
            if not isinstance(adapter, Adapter) or adapter not in self._adapters:
                raise ValidationError(
                    f"invalid adapter '{adapter!r}': expected a handle of load_lora() of this instance"
                )
            with translated():
                opened.engine.lora_unload(opened.model, name=self._adapters[adapter]["name"])
            del self._adapters[adapter]

    def clear_lora(self) -> None:
        """Unloads all adapters of this instance."""
        self._model()
        for adapter in list(self._adapters):
            self.remove_lora(adapter)

    # Figures

    def perf(self) -> Json:
        """Returns times in ms, and counts of tokens, since the beginning or `perf_reset()`.

        `t_load_ms`: loading; `t_p_eval_ms`, `n_p_eval`: prefill; `t_eval_ms`, `n_eval`: answers. Tokens that
        the KV cache held are not counted as prefill. `t_start_ms` is the beginning on `time.perf_counter()`.
        """
        self._model()
        perf = self._perf
        return {
            "t_start_ms": perf.start * 1000,
            "t_load_ms": perf.load_ms,
            "t_p_eval_ms": perf.t_p_eval_ms,
            "t_eval_ms": perf.t_eval_ms,
            "n_p_eval": perf.n_p_eval,
            "n_eval": perf.n_eval,
        }

    def perf_reset(self) -> None:
        """Sets the figures of `perf()` to 0, but for that of loading."""
        self._model()
        self._perf.reset()


def release(opened: Opened, adapters: dict[object, Json]) -> None:
    """Releases a model. Unloads an instance's adapters first, if others may still use the model."""
    for one in adapters.values() if opened.shared else ():
        with suppress(SottoError):  # the model, or the engine, is gone
            opened.engine.lora_unload(opened.model, name=one["name"])
    adapters.clear()
    opened.close()
