"""Part of `aio.Engine`: loading, planning and unloading models."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from . import engine as blocking
from ._aio import Request
from ._asking import Progress, naming
from ._desc import Json, StrPath, megabytes, model_desc
from ._handle import Handle
from ._lib import lib
from .errors import ModelLoadError, SottoError, Status
from .memory import Plan, read_plan


class Loads:
    """Part of `aio.Engine`: models."""

    _engine: blocking.Engine
    _handle: Handle
    _loop: asyncio.AbstractEventLoop
    _numbers: Iterator[int]
    _request: Callable[..., Request]

    async def load_model(
        self,
        model_id: StrPath,
        *,
        path: StrPath | None = None,
        backend: str | None = None,
        options: Json | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Loads a model, as `sotto.Engine.load_model()` does. `progress` is called on the loop's thread."""
        self._handle.require()
        name, where = await self._find(model_id, path, progress)
        backend, options = self._engine._names.settings(name, backend, options, where)
        number = next(self._numbers)
        desc = model_desc(name, where, backend, options, user=number)
        with naming(name, where):
            loading = self._request(number, ModelLoadError, lib.sotto_engine_load_model, desc)
            await loading.finish(None if progress is None else lambda done: progress("load", done))
        if path is None:
            await asyncio.to_thread(self._engine._adapt, name)

    async def plan_model(
        self,
        model_id: StrPath,
        *,
        budget_mb: int = 0,
        path: StrPath | None = None,
        backend: str | None = None,
        options: Json | None = None,
    ) -> Plan:
        """Computes the memory needs of a model without loading it, as `sotto.Engine.plan_model()` does."""
        self._handle.require()
        number, budget = next(self._numbers), megabytes("budget_mb", budget_mb)
        name, where = await asyncio.to_thread(self._engine._here, model_id, path)
        backend, options = self._engine._names.settings(name, backend, options, where)
        desc = model_desc(name, where, backend, options, user=number)
        with naming(name, where):
            plan = self._request(number, ModelLoadError, lib.sotto_engine_plan_model, desc, budget)
            return read_plan((await plan.finish()).json)

    async def unload_model(self, model_id: StrPath) -> None:
        """Unloads a model and waits until its memory is freed. Requests that still run on it fail."""
        await asyncio.to_thread(self._engine.unload_model, model_id)

    def model_list(self) -> str:
        """Returns the loaded models as a JSON array of OpenAI model objects."""
        return self._engine.model_list()

    def model_is_loaded(self, model_id: StrPath) -> bool:
        """Returns True if the model is loaded."""
        return self._engine.model_is_loaded(model_id)

    async def _find(
        self, model_id: StrPath, path: StrPath | None, progress: Progress | None
    ) -> tuple[str, str]:
        cancelled = False

        def hear(what: str, done: float) -> None:
            if cancelled:
                raise SottoError("loading was cancelled", Status.CANCELLED)
            if progress is not None:
                self._loop.call_soon_threadsafe(progress, what, done)

        try:
            return await asyncio.to_thread(self._engine._find, model_id, path, hear)
        except asyncio.CancelledError:
            cancelled = True  # the download stops at its next progress callback
            raise
