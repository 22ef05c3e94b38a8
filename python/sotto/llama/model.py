"""`Llama`: one model behind the interface that authors know from llama.cpp's Python packages."""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

from .._values import invalid
from ..engine import Engine
from . import logs
from .aio import Asynchronous
from .base import Perf
from .errors import ValidationError
from .opened import Opened
from .sequences import Sequences
from .state import release
from .stepping import Steps
from .turns import Turns

if TYPE_CHECKING:
    from .config import LlamaConfig
    from .sampling import SamplingParams

_open: weakref.WeakSet[Llama] = weakref.WeakSet()
_lock = threading.Lock()  # guards _open


class Llama(Asynchronous, Steps):
    """A language model in this process. Use it as a context manager, or call `close()`.

    Calls of one instance wait for each other; several instances answer at the same time. An instance has an
    engine of its own, or shares `engine`, its memory budget and its pace with others. Instances on one engine
    that load the same file with the same options share its weights.

    Args:
        model_path: GGUF file, a model id such as "sotto/house", or, with `engine`, the id of a model that the
            engine has loaded.
        config: How the model is loaded; None: the defaults. Its `model_path` must be the same.
        sampling: How tokens are drawn by calls that do not say it; None: the defaults.
        engine: The engine to load the model into; None: one of this instance's own.
        **options: Fields of `LlamaConfig`, instead of `config`, also under the names of llama-cpp-python.

    Raises:
        ModelLoadError: The file is missing, damaged, or no model.
        ValidationError: An argument is invalid.

    >>> with Llama("model.gguf", n_ctx=2048) as llm:
    ...     print(llm.generate("Once upon a time", max_tokens=32))
    """

    def __init__(
        self,
        model_path: str | os.PathLike[str],
        config: LlamaConfig | None = None,
        sampling: SamplingParams | None = None,
        *,
        engine: Engine | None = None,
        **options: Any,
    ) -> None:
        from .configured import configured, sampled  # lazy, as importing dataclasses takes long

        self._opened = None
        self.config = configured(model_path, config, options)
        self.sampling = sampled(sampling, self.config.seed)
        if engine is not None and not isinstance(engine, Engine):
            raise ValidationError(invalid("engine", engine, "a sotto.Engine, or None"))
        if not self.config.verbose:
            logs.silence(any(one.config.verbose for one in _instances()))
        began = time.perf_counter()
        self._opened = Opened(self.config, engine)
        self._perf = Perf((time.perf_counter() - began) * 1000)
        self._sequences = Sequences(self.config.n_seq_max)
        self._conversation = None
        self._turns = Turns()
        self._adapters = {}
        self._end = weakref.finalize(self, release, self._opened, self._adapters)
        self._end.atexit = False  # an interpreter that ends closes its engines
        with _lock:
            _open.add(self)

    def __enter__(self) -> Llama:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._opened is None:
            return "<sotto.llama.Llama, closed>"
        return f"<sotto.llama.Llama of '{self.config.model_path}', {self._context()} tokens of context>"

    def close(self) -> None:
        """Cancels answers and releases the model. A second call does nothing."""
        if self._opened is None:
            return
        self._opened = None
        with _lock:
            _open.discard(self)
        self._end()


def shutdown() -> None:
    """Closes all open instances. A second call does nothing; instances can be created afterwards."""
    for one in _instances():
        one.close()


def print_system_info() -> str:
    """Returns a line about the library, the processor and the backends. Prints nothing."""
    with Engine("cpu") as engine:
        told = engine.describe()
    backends = [
        f"{one['name']} = {one['details'].get('version')} ({' '.join(one['details'].get('features', ()))})"
        for one in told["backends"]
    ]
    cores = told["cpu"]["cores"]
    return " | ".join([f"sotto = {told['version']}", f"cores = {cores}", *backends])


def _instances() -> list[Llama]:
    with _lock:
        return list(_open)
