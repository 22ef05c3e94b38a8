"""What the author of a backend writes: a `Backend` that opens models, and a `Model` that answers requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from ..errors import ArgumentError, SottoError, Status

WITH_DATA = ("embed", "transcribe", "translate", "rerank", "image_generate", "image_matte")
OPERATIONS = ("chat", "completion", "infill", *WITH_DATA)  # of a `Model`
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Cancelled(SottoError):
    """The load was cancelled. `Source.progress()` raises it; let it pass."""

    def __init__(self) -> None:
        super().__init__("the load was cancelled", Status.CANCELLED)


class Source:
    """What a model is opened from.

    Attributes:
        path: Path of the model's file or folder, as `Engine.load_model()` got it.
        options: The JSON object of load options.
        device: Device of the engine, such as "cpu" or "cuda:UUID".
    """

    def __init__(
        self,
        path: str,
        options: Mapping[str, Any],
        device: str,
        report: Callable[[float], bool] | None = None,
    ) -> None:
        self.path, self.options, self.device = path, options, device
        self._report = report  # within open() alone

    def progress(self, done: float) -> None:
        """Reports a fraction from 0 to 1. Raises `Cancelled` if the load was cancelled."""
        if self._report is not None and self._report(done):
            raise Cancelled


class ModelInfo(NamedTuple):
    """Properties of an open model. Sizes in bytes.

    Attributes:
        weights: Memory of the weights; device memory if the engine has a device.
        compute: Memory of everything else that the model holds while it is open, in the same memory.
        streams: Maximum requests that the model answers at the same time.
        context: Maximum tokens of a prompt and its answer; 0: no limit. A prompt with more `Model.units()`
            fails; the model itself ends an answer that reaches the limit.
        description: JSON object for `Engine.model_list()`.
        host: Host memory of a model of an engine with a device, besides `weights` and `compute`.
    """

    weights: int = 0
    compute: int = 0
    streams: int = 1
    context: int = 0
    description: Mapping[str, Any] = _NOTHING
    host: int = 0


class Part(NamedTuple):
    """What a step adds to an answer.

    Attributes:
        text: Text, delivered at once. Counts as one token. Without text, a step of a chat, completion or
            infill worked on the prompt.
        data: Bytes of a result that is no text, delivered as an event of kind "data".
        info: JSON object that describes `data`.
        units: Units of work that the step completed, see `Model.units()`.
    """

    text: str = ""
    data: bytes = b""
    info: Mapping[str, Any] | None = None
    units: int = 1


class Request:
    """A request that a model answers.

    Attributes:
        op: Operation: "chat", "completion", "infill", "embed", "transcribe", "translate", "rerank",
            "image_generate" or "image_matte".
        index: Index of the choice, from 0, where the request asks for several.
        state: The model's own, for example what `Model.units()` has read.
        cached: Units that need no work, such as tokens in a KV cache. Set by `Model.units()`.
        dropped: Messages that were left out so that the prompt fits the context. Likewise.
    """

    def __init__(self, op: str, body: str, index: int = 0) -> None:
        self.op = op
        self.index = index
        self.state: Any = None
        self.cached = self.dropped = 0
        self._text = body
        self._ends: Callable[[], bool] | None = None  # within a step
        self._ahead = False

    @cached_property
    def body(self) -> dict[str, Any]:
        """The request's JSON object, without fields that are null. The engine has checked Sotto's fields."""
        import json

        return {name: value for name, value in json.loads(self._text).items() if value is not None}

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of a chat."""
        return list(self.body["messages"])

    @property
    def text(self) -> str:
        """The text of a chat's last message, or the prompt of a completion."""
        if self.op != "chat":
            return str(self.body.get("prompt", ""))
        content = self.messages[-1].get("content") or ""
        if isinstance(content, str):
            return content
        return " ".join(part["text"] for part in content if part.get("type") == "text")

    @property
    def inputs(self) -> list[str]:
        """The texts to embed or to translate. Raises `ArgumentError` if the input is tokens."""
        given = self.body["input"]
        texts = [given] if isinstance(given, str) else list(given)
        if not all(isinstance(text, str) for text in texts):
            raise ArgumentError("invalid input '[...]': expected texts; this backend does not embed tokens")
        return texts

    def cancelled(self) -> bool:
        """True if the step need not go on: return from the generator then. Valid inside a step.

        In a step that several requests share it is true if none of them is needed any longer. It may wait
        while the game works on a frame.
        """
        ends = self._ends
        return ends is not None and ends()

    def may_compute_ahead(self) -> bool:
        """True if the model may compute the next tokens between two steps. Valid inside a step.

        So it is in the mode "prioritize_compute". In other modes nothing may be computed outside a step.
        """
        return self._ahead

    def clear(self) -> None:
        """Frees what the request holds."""
        self.state, self._text = None, ""
        self.__dict__.pop("body", None)


class Model:
    """A model that a backend opened. Implement the operations that it performs, each as a generator.

    The engine asks a generator for its next value when the answer's turn has come: that is one step. It
    runs on a thread of the engine, one call of one model at a time. What a generator yields:

    * text, the next token of the answer; or a `Part`
    * the generator's return value of `chat`, `completion` and `infill`: "stop" or None, or "length"
    * of `embed`, `transcribe` and `translate`: the response, a dict that can be written as JSON

    An exception fails the request with its text; the traceback is logged.
    """

    info = ModelInfo()

    def chat(self, request: Request) -> Iterator[str | Part]:
        """Answers a chat completion request."""
        raise NotImplementedError

    def completion(self, request: Request) -> Iterator[str | Part]:
        """Continues a raw prompt."""
        raise NotImplementedError

    def infill(self, request: Request) -> Iterator[str | Part]:
        """Generates the text between `input_prefix` and `input_suffix`."""
        raise NotImplementedError

    def embed(self, request: Request) -> Iterator[str | Part]:
        """Embeds `request.inputs`. Returns OpenAI's response: `data`, a list of `index` and `embedding`."""
        raise NotImplementedError

    def transcribe(self, request: Request) -> Iterator[str | Part]:
        """Transcribes speech. Returns OpenAI's verbose form.

        It has `text`, and may have `language`, `segments` and `words`, with `start` and `end` in seconds.
        """
        raise NotImplementedError

    def translate(self, request: Request) -> Iterator[str | Part]:
        """Translates `request.inputs`. Returns `text`, the first translation, and `texts`, all of them.

        May also return `truncated`, the indices of texts whose translation a limit of the model cut.
        """
        raise NotImplementedError

    def rerank(self, request: Request) -> Iterator[str | Part]:
        """Ranks the `documents` of a body by its `query`. Returns Jina's response: `results`, best first.

        Each result has `index` and `relevance_score`.
        """
        raise NotImplementedError

    def image_generate(self, request: Request) -> Iterator[str | Part]:
        """Generates images. Returns OpenAI's response: `created`, and `data`, one object for each image.

        Each object has `b64_json`, `seed`, and `revised_prompt`: the body's `prompt`, which a guardrail of
        the engine may have rewritten. A unit is a denoise step. With `response_format` "data", the objects
        have no `b64_json`; each image is a `Part` with `data` and an `info` of `index`, `seed`, `width`,
        `height` and `format`. A preview is such a `Part` with `partial` true.
        """
        raise NotImplementedError

    def image_matte(self, request: Request) -> Iterator[str | Part]:
        """Removes the background of the body's `image`. Returns as `image_generate()` does."""
        raise NotImplementedError

    def units(self, request: Request) -> int:
        """Returns the units of work of a request, such as prompt tokens, texts or windows of sound: >= 1."""
        return len(request.inputs) if request.op in ("embed", "translate") else 1

    def begin(self, requests: Sequence[Request]) -> None:
        """Starts requests that are answered as a batch. A model that implements this shares its steps.

        Called once for each request, with all that begin in one step. Afterwards the step asks each for a
        value. Without this method a step works on one request.
        """

    def close(self) -> None:
        """Frees the model. No stream of it is open."""

    def operations(self) -> tuple[str, ...]:
        """Returns the operations that this class implements."""
        return tuple(name for name in OPERATIONS if getattr(type(self), name) is not getattr(Model, name))


class Backend:
    """A backend: opens models. Pass an instance to `Engine.add_backend()`.

    One instance may serve several engines. `open()` runs on the loader thread of its engine.
    """

    name = ""  # that `Engine.load_model(backend=...)` takes

    def open(self, source: Source) -> Model:
        """Opens a model. Raises any exception if it cannot; `OSError` and `ValueError` say why best."""
        raise NotImplementedError

    def measure(self, source: Source) -> ModelInfo | None:
        """Returns the sizes of a model without opening it; None: they are not known before."""
        return None
