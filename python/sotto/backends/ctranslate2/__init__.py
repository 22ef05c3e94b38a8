"""CTranslate2 as a backend: models that write, hear, embed and translate. Needs `[ctranslate2]`.

>>> from sotto.backends.ctranslate2 import CTranslate2
>>> engine.add_backend(CTranslate2())
>>> engine.load_model("ears", path="whisper-tiny.en", backend="ctranslate2")
>>> engine.transcribe("line.wav", model="ears", prompt="Brenna, Millbrook").text
'The gate is closed until the morning.'
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from ...errors import ArgumentError, ModelLoadError, Status
from ..base import Backend, Model, ModelInfo, Source
from .files import bytes_as, kind_of, weights_in

__all__ = ["CTranslate2"]

_KINDS = {  # the module and class of each kind, imported when they are needed
    "TransformerDecoderSpec": ("generator", "Generator"),
    "TransformerEncoderSpec": ("encoder", "Encoder"),
    "TransformerSpec": ("translator", "Translator"),
    "WhisperSpec": ("whisper", "Whisper"),
}
_NEEDS = "pip install 'sotto-runtime[ctranslate2]'"


class CTranslate2(Backend):
    """Opens folders of converted models: `model.bin` with its tokenizer.

    Load options: `compute_type` ("int8", "int8_float32", "float32", ...; default: as the file has it),
    `threads` of the library (1). Whisper: `vad` (true: parts without speech are left out), `max_seconds` of
    sound that one request may have (3600). Encoders: `batch_tokens` of a forward pass (256); `pooling`
    ("mean" or "cls") and `normalize` instead of what the model's files say. Translation models:
    `batch_size`, lines of one step (16). Decoders: `context`, tokens of a prompt and its answer (1024);
    `streams`, requests at the same time (4); `prefix_cache_tokens` of system messages whose KV cache is kept
    (512).

    Raises:
        ArgumentError: The packages that it needs are not installed, or of another version.
    """

    name = "ctranslate2"

    def __init__(self) -> None:
        try:
            import ctranslate2
        except ImportError as error:
            raise _missing(error) from None
        if not ctranslate2.__version__.startswith("4.8."):
            raise ArgumentError(f"ctranslate2 is {ctranslate2.__version__}: expected 4.8; {_NEEDS}")

    def open(self, source: Source) -> Model:
        """Opens a model by its kind."""
        folder = Path(source.path)
        model = _class_of(folder)
        source.progress(0)
        made = model(folder, source.options)  # type: ignore[call-arg]
        made.info = _placed(made.info, source.device)
        return made

    def measure(self, source: Source) -> ModelInfo | None:
        """Returns the size of the weights in their compute type, and of a decoder's KV cache."""
        folder = Path(source.path)
        model = _class_of(folder)
        weights = weights_in(folder)
        planned = getattr(model, "planned", None)
        compute = planned(weights, source.options) if planned else 0
        size = bytes_as(weights, str(source.options.get("compute_type", "default")))
        return _placed(ModelInfo(weights=size, compute=compute), source.device)


def _class_of(folder: Path) -> type[Model]:
    """The class of a folder's model. Raises `ModelLoadError` for an unknown kind."""
    kind = kind_of(folder)
    if kind not in _KINDS:
        raise ModelLoadError(
            f"'{folder}' holds a model of kind {kind}: expected one of {', '.join(_KINDS)}",
            Status.UNSUPPORTED,
        )
    module, name = _KINDS[kind]
    try:
        found: type[Model] = getattr(import_module(f".{module}", __name__), name)
    except ImportError as error:
        raise _missing(error) from None
    return found


def _missing(error: ImportError) -> ArgumentError:
    return ArgumentError(f"sotto.backends.ctranslate2 needs {error.name}: {_NEEDS}")


def _placed(info: ModelInfo, device: str) -> ModelInfo:
    """The library computes on the CPU: on an engine with a device, its models take host memory alone."""
    if device == "cpu":
        return info
    return info._replace(weights=0, compute=0, host=info.weights + info.compute)
