"""Places inside a pipeline's call where control returns to the engine."""

from __future__ import annotations

from typing import Any

import torch

from ..base import Part
from .turns import Turns


class Gate:
    """Hooks before each layer of a pipeline's networks.

    A layer is a module without modules of its own, such as a matrix product or a convolution. The game's
    frame and a cancellation wait for one layer, not for a step.

    Attributes:
        turns: Of the request that is answered now, or None.
    """

    def __init__(self, pipe: Any, denoiser: Any) -> None:
        self.turns: Turns | None = None
        self._encodes = False
        found = (part for part in pipe.components.values() if isinstance(part, torch.nn.Module))
        self._hooks = [
            layer.register_forward_pre_hook(self._before)
            for network in found
            for layer in network.modules()
            if next(layer.children(), None) is None
        ]
        self._hooks.append(denoiser.register_forward_pre_hook(self._before_denoiser))

    def begin(self) -> None:
        """Begins an image: its prompt is encoded in a step of its own."""
        self._encodes = True

    def close(self) -> None:
        """Removes the hooks."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def _before(self, *_: object) -> None:
        if self.turns is not None and self.turns.runs_here():
            self.turns.pause()

    def _before_denoiser(self, *_: object) -> None:
        if self._encodes and self.turns is not None and self.turns.runs_here():
            self._encodes = False
            self.turns.hand_over(Part(units=0))
