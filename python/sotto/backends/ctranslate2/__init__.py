"""CTranslate2 as a backend: Whisper models hear. Needs the extra `[ctranslate2]`.

>>> from sotto.backends.ctranslate2 import CTranslate2
>>> engine.add_backend(CTranslate2())
>>> engine.load_model("ears", path="whisper-tiny.en", backend="ctranslate2")
>>> engine.transcribe("line.wav", model="ears", prompt="Brenna, Millbrook").text
'The gate is closed until the morning.'
"""

from __future__ import annotations

from pathlib import Path

from ...errors import ArgumentError, ModelLoadError, Status
from ..base import Backend, Model, ModelInfo, Source
from .files import kind_of, weights_in
from .options import Options

__all__ = ["CTranslate2"]

_NEEDS = "pip install 'sotto-runtime[ctranslate2]'"


class CTranslate2(Backend):
    """Opens folders of converted models: `model.bin` with its tokenizer.

    Load options: `compute_type` ("int8", "int8_float32", "float32", ...; default: as the file has it),
    `threads` of the library (1), `vad` (true: parts without speech are left out), `max_seconds` of sound
    that one request may have (3600).

    Raises:
        ArgumentError: The packages that it needs are not installed, or of another version.
    """

    name = "ctranslate2"

    def __init__(self) -> None:
        try:
            import ctranslate2
            import faster_whisper
            import psutil
        except ImportError as error:
            raise ArgumentError(f"sotto.backends.ctranslate2 needs {error.name}: {_NEEDS}") from None
        del faster_whisper, psutil
        if not ctranslate2.__version__.startswith("4.8."):
            raise ArgumentError(f"ctranslate2 is {ctranslate2.__version__}: expected 4.8; {_NEEDS}")

    def open(self, source: Source) -> Model:
        """Opens a model by its kind."""
        folder = Path(source.path)
        options = Options.read(source.options)
        kind = kind_of(folder)
        if kind != "WhisperSpec":
            raise ModelLoadError(
                f"'{folder}' holds a model of kind {kind}: expected WhisperSpec; "
                "this version runs Whisper models alone",
                Status.UNSUPPORTED,
            )
        from .whisper import Whisper

        source.progress(0)
        return Whisper(folder, options)

    def measure(self, source: Source) -> ModelInfo | None:
        """Returns the size of the weights' file, so that the engine makes room before it loads them."""
        folder = Path(source.path)
        kind_of(folder)
        return ModelInfo(weights=weights_in(folder))
