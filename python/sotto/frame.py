"""`Engine.frame()`: reports the game's frames, so that models run in the time that frames leave free."""

from __future__ import annotations

from types import TracebackType

from ._call import struct
from ._desc import MOST_U32, MOST_U64
from ._handle import Handle
from ._lib import lib
from ._values import number, whole


class Frame:
    """One frame of the game, from `Engine.frame()`. Begins with the `with` block and ends with it.

    Set `busy` or `gpu` inside the block to report measured durations in seconds, as for `frame_end()`.
    """

    __slots__ = ("_busy_cores", "_frames", "_period", "busy", "gpu")

    def __init__(self, frames: Frames, busy_cores: int, period: float) -> None:
        self._frames, self._busy_cores, self._period = frames, busy_cores, period
        self.busy: float = 0
        self.gpu: float = 0

    def __enter__(self) -> Frame:
        self._frames.frame_begin(busy_cores=self._busy_cores, period=self._period)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._frames.frame_end(busy=self.busy, gpu=self.gpu)


class Frames:
    """Part of `Engine`: the game's frames."""

    _handle: Handle

    def frame(self, *, busy_cores: int = 1, period: float = 0) -> Frame:
        """Reports one frame: `with engine.frame(period=1 / 60): ...` around the game's work. Never waits.

        Arguments are those of `frame_begin()`.
        """
        return Frame(self, busy_cores, period)

    def frame_begin(self, *, busy_cores: int = 1, period: float = 0) -> None:
        """Reports that the game starts its work on a frame. Never waits.

        Args:
            busy_cores: Number of cores that the game keeps busy during this work.
            period: Target time from one frame to the next, in seconds; 0: unknown.
        """
        desc = struct(
            "sotto_frame_begin_desc",
            busy_cores=whole("busy_cores", busy_cores, MOST_U32),
            period_ns=min(int(number("period", period) * 1e9), MOST_U64),
        )
        self._handle.call(lib.sotto_engine_frame_begin, desc)

    def frame_end(self, *, busy: float = 0, gpu: float = 0) -> None:
        """Reports that the game has finished its work on a frame. Never waits.

        Args:
            busy: Duration of the work in seconds; 0: the time since `frame_begin()`.
            gpu: GPU time of the frame in seconds; 0: unknown.
        """
        busy_ms, gpu_ms = number("busy", busy) * 1000, number("gpu", gpu) * 1000
        desc = struct("sotto_frame_end_desc", busy_ms=busy_ms, gpu_ms=gpu_ms)
        self._handle.call(lib.sotto_engine_frame_end, desc)
