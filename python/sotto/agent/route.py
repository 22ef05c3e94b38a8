"""`Router`: chooses an adapter or a model for each request by what is asked.

>>> router = Router.train(engine, {
...     "pirate": Candidate(["Avast!", "Where is the rum?"], {"lora": [{"name": "pirate"}]}),
...     "scholar": Candidate(["Who wrote the annals?", "What is a comet?"], {"lora": [{"name": "scholar"}]}),
... })
>>> answer = engine.chat(said, model="npc", **router.choose(said).fields)
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import aio
from .._desc import StrPath
from .._handle import Unique
from .._json import dump
from .._values import invalid, number, string, wrong_type
from ..engine import Engine
from ..errors import ArgumentError, InferenceError, Status
from . import classifier, route_file
from .route_file import MAX_CANDIDATES, Trained
from .search.embedding import Embedding, find_embedding
from .threads import value_of

PROBE = "The gate is open, and the road is long."  # shows that the embedding model is the one of the training
_SAME = 0.98  # cosine of the probe; a quantized model is the same
_MAX_EXAMPLES = 5000  # of all candidates
_MAX_TEXT = 8192  # characters of an example or a text


@dataclass(frozen=True)
class Candidate:
    """What a router can choose.

    Attributes:
        examples: Texts for which it is right, best 5 or more: at least 1.
        fields: Fields of the chat request, such as `{"lora": [{"name": "pirate", "scale": 0.8}]}` or
            `{"model": "npc-large"}`.
    """

    examples: Sequence[str]
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Choice:
    """What a router chose.

    Attributes:
        name: Name of the candidate; None: none fits, and there is no default.
        fields: Its fields of the chat request; empty if `name` is None.
        probability: Probability of the most probable candidate, 0 to 1.
        similarity: Cosine of the text and the mean of that candidate's examples, -1 to 1.
        probabilities: The probability of each candidate; they add up to 1.
        fits: False: the probability or the similarity was too low, and `name` is the default.
    """

    name: str | None
    fields: Mapping[str, Any]
    probability: float
    similarity: float
    probabilities: Mapping[str, float]
    fits: bool


@dataclass(frozen=True)
class Evaluation:
    """How a router chooses for texts whose candidates are known.

    Attributes:
        accuracy: Share of texts with the right choice, 0 to 1.
        wrong: Text, right name and chosen name of the others.
    """

    accuracy: float
    wrong: tuple[tuple[str, str | None, str | None], ...]


class Router(Unique):
    """Chooses a candidate for a text: logistic regression on the vectors of an embedding model.

    It stands in front of a request: `choose(text).fields` go into the chat request. `train()` and `load()`
    make one. Thread-safe. Needs numpy, of the extra `agent`.

    Attributes:
        threshold: Minimum probability. May be set.
        min_similarity: Minimum cosine to the candidate's examples, for texts unlike all examples. May be set.
    """

    def __init__(self, embedding: Embedding, trained: Trained) -> None:
        import numpy as np

        self._embedding = embedding
        self._trained = trained
        self._weights = np.asarray(trained.weights)
        self._centroids = np.asarray(trained.centroids)
        self._checked = False  # the embedding model is the one of the training
        self.threshold, self.min_similarity = trained.threshold, trained.min_similarity

    @classmethod
    def train(
        cls,
        engine: Engine | aio.Engine,
        candidates: Mapping[str, Candidate],
        *,
        embedder: str = "auto",
        default: str | None = None,
        threshold: float = 0.5,
        min_similarity: float = 0.0,
        penalty: float = 3e-3,
    ) -> Router:
        """Trains a router on the examples of candidates, and waits for it: for most, less than a second.

        Args:
            engine: Engine or `sotto.aio.Engine` with the embedding model.
            candidates: 2 to 64 candidates by name, with at most 5,000 examples.
            embedder: Id of a loaded model that embeds; "auto": see `Search`.
            default: Name of the candidate that is chosen if none fits; None: none.
            threshold: Minimum probability of the choice, 0 to 1.
            min_similarity: Minimum cosine of the text and the mean of the candidate's examples, 0 to 1.
            penalty: Penalty on large weights: a larger one makes probabilities more even.

        Raises:
            ArgumentError: There are too few or too many examples, two candidates have the same one, or an
                argument is out of range.
            ImportError: numpy is not installed.
            InferenceError: The embedding model failed.
        """
        np = _numpy()
        embedding = _embedding(engine, embedder)
        examples = _examples(candidates)
        fields = {name: _fields(name, one.fields) for name, one in candidates.items()}
        if number("penalty", penalty) <= 0:
            raise ArgumentError(invalid("penalty", penalty, "a positive number"))
        limits = _share("threshold", threshold), _share("min_similarity", min_similarity)
        _check_default(default, fields)
        texts = [text for texts in examples.values() for text in texts]
        labels = np.repeat(np.arange(len(examples)), [len(one) for one in examples.values()])
        found = np.asarray(embedding.vectors([PROBE, *texts]), dtype=np.float64)
        probe, vectors = found[0], found[1:]
        weights = classifier.train(vectors, labels, len(examples), float(penalty))
        centroids = classifier.centroids_of(vectors, labels, len(examples))
        return cls(
            embedding,
            Trained(
                embedding.model,
                fields,
                default,
                *limits,
                weights.tolist(),
                centroids.tolist(),
                probe.tolist(),
            ),
        )

    @classmethod
    def load(cls, engine: Engine | aio.Engine, path: StrPath, *, embedder: str | None = None) -> Router:
        """Returns a router that was saved.

        Args:
            engine: Engine or `sotto.aio.Engine` with the embedding model.
            path: Path of the file.
            embedder: Id of the loaded embedding model; None: the id that it had when the router was trained.

        Raises:
            ArgumentError: The file is not one of a router, or is damaged.
            OSError: The file cannot be read.
            ImportError: numpy is not installed.
        """
        _numpy()
        trained = route_file.read(path)
        _check_default(trained.default, trained.fields)
        for name, one in trained.fields.items():
            _fields(name, one)
        return cls(_embedding(engine, trained.embedder if embedder is None else embedder), trained)

    def __repr__(self) -> str:
        return f"<sotto.agent.Router of {', '.join(self.names)}>"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the candidates."""
        return tuple(self._trained.fields)

    @property
    def default(self) -> str | None:
        """Name of the candidate that is chosen if none fits; None: none."""
        return self._trained.default

    def choose(self, text: str) -> Choice:
        """Chooses a candidate for a text, and waits for the embedding model.

        Args:
            text: What is asked, 1 to 8,192 characters.

        Raises:
            ArgumentError: The text is empty or too long.
            InferenceError: The embedding model failed, or is another one than that of the training.
        """
        return self.choose_many([text])[0]

    async def achoose(self, text: str) -> Choice:
        """Chooses as `choose()` does, for asyncio."""
        found: Choice = await value_of(lambda: self.choose(text))
        return found

    def choose_many(self, texts: Sequence[str]) -> list[Choice]:
        """Chooses a candidate for each of several texts. Arguments and errors are those of `choose()`."""
        import numpy as np

        if isinstance(texts, str | bytes) or not isinstance(texts, Sequence):
            raise wrong_type("texts", texts, "several texts")
        asked = [_text(f"texts[{at}]", one) for at, one in enumerate(texts)]
        if not asked:
            return []
        head = [] if self._checked else [PROBE]
        found = np.asarray(self._embedding.vectors([*head, *asked]), dtype=np.float64)
        self._check(found)
        vectors = found[len(head) :]
        shares = classifier.classify(self._weights, vectors)
        cosines = vectors @ self._centroids.T
        return [self._choice(*one) for one in zip(shares.tolist(), cosines.tolist(), strict=True)]

    def evaluate(self, examples: Mapping[str | None, Sequence[str]]) -> Evaluation:
        """Chooses for texts whose candidates are known, and which were not among its examples.

        Args:
            examples: Texts by the name that is right; None: texts for which none fits.
        """
        every = [(text, name) for name, texts in examples.items() for text in texts]
        for _, name in every:
            if name is not None and name not in self.names:
                raise ArgumentError(invalid("examples", name, f"one of {', '.join(self.names)}, or None"))
        chosen = self.choose_many([text for text, _ in every])
        wrong = tuple(
            (text, name, choice.name)
            for (text, name), choice in zip(every, chosen, strict=True)
            if choice.name != name
        )
        return Evaluation(1 - len(wrong) / len(every) if every else 1.0, wrong)

    def save(self, path: StrPath) -> None:
        """Writes the router to a JSON file, atomically. It holds no example.

        Raises:
            OSError: The file cannot be written; an older one remains.
        """
        trained = self._trained._replace(
            threshold=_share("threshold", self.threshold),
            min_similarity=_share("min_similarity", self.min_similarity),
        )
        route_file.write(path, trained)

    def _choice(self, shares: list[float], cosines: list[float]) -> Choice:
        best = max(range(len(shares)), key=shares.__getitem__)
        fits = shares[best] >= self.threshold and cosines[best] >= self.min_similarity
        name = self.names[best] if fits else self.default
        fields = {} if name is None else copy.deepcopy(dict(self._trained.fields[name]))
        every = dict(zip(self.names, shares, strict=True))
        return Choice(name, fields, shares[best], cosines[best], every, fits)

    def _check(self, found: Any) -> None:
        """Raises an error unless the embedding model is that of the training. The probe is in `found[0]`."""
        expected, model = len(self._trained.probe), self._embedding.model
        if found.shape[1] != expected:
            raise InferenceError(
                f"model '{model}' embeds in {found.shape[1]} values, and the router was trained with "
                f"{expected}: load '{self._trained.embedder}', or train the router again",
                Status.INFERENCE,
            )
        if not self._checked and float(found[0] @ self._trained.probe) < _SAME:
            raise InferenceError(
                f"model '{model}' is another one than the router was trained with: load "
                f"'{self._trained.embedder}', or train the router again",
                Status.INFERENCE,
            )
        self._checked = True


def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        raise ImportError("sotto.agent.Router needs numpy: pip install sotto-runtime[agent]") from None
    return numpy


def _embedding(engine: Any, embedder: str) -> Embedding:
    if not isinstance(engine, Engine | aio.Engine):
        raise wrong_type("engine", engine, "a sotto.Engine or a sotto.aio.Engine")
    plain = engine._engine if isinstance(engine, aio.Engine) else engine
    found = find_embedding(plain, string("embedder", embedder))
    if found is None:
        raise ArgumentError(
            "missing embedder: no embedding model is loaded; load 'sotto/minilm', or pass the id of another"
        )
    return found


def _examples(candidates: Any) -> dict[str, list[str]]:
    if not isinstance(candidates, Mapping):
        raise wrong_type("candidates", candidates, "a mapping of names to Candidates")
    if not 2 <= len(candidates) <= MAX_CANDIDATES:
        raise ArgumentError(
            invalid("candidates", f"{len(candidates)} candidates", f"2 to {MAX_CANDIDATES} of them")
        )
    found: dict[str, list[str]] = {}
    owner: dict[str, str] = {}
    for name, one in candidates.items():
        path = f"candidates['{string('candidates', name)}']"
        if not isinstance(one, Candidate):
            raise wrong_type(path, one, "a Candidate")
        if (
            isinstance(one.examples, str | bytes)
            or not isinstance(one.examples, Sequence)
            or not one.examples
        ):
            raise ArgumentError(invalid(f"{path}.examples", one.examples, "at least one text"))
        found[name] = [_text(f"{path}.examples[{at}]", text) for at, text in enumerate(one.examples)]
        for text in found[name]:
            if owner.setdefault(text, name) != name:
                raise ArgumentError(
                    invalid(f"{path}.examples", text, f"a text that is not one of '{owner[text]}', too")
                )
    if (count := sum(map(len, found.values()))) > _MAX_EXAMPLES:
        raise ArgumentError(
            invalid("candidates", f"{count} examples", f"at most {_MAX_EXAMPLES}; leave out similar ones")
        )
    return found


def _fields(name: str, given: Any) -> dict[str, Any]:
    path = f"candidates['{name}'].fields"
    if not isinstance(given, Mapping):
        raise wrong_type(path, given, "a mapping of fields of a chat request")
    for key in given:
        if string(path, key) in ("messages", "session", "stream"):
            raise ArgumentError(
                invalid(path, key, "fields such as lora or model; the application sends this")
            )
    dump(path, dict(given))
    return copy.deepcopy(dict(given))


def _check_default(default: Any, fields: Mapping[str, Any]) -> None:
    if default is not None and default not in fields:
        raise ArgumentError(invalid("default", default, f"one of {', '.join(fields)}, or None"))


def _share(name: str, value: Any) -> float:
    found = number(name, value)
    if found > 1:
        raise ArgumentError(invalid(name, value, "a number from 0 to 1"))
    return found


def _text(name: str, given: Any) -> str:
    if not isinstance(given, str):
        raise wrong_type(name, given, "a str")
    if not given.strip() or len(given) > _MAX_TEXT:
        raise ArgumentError(invalid(name, given, f"1 to {_MAX_TEXT} characters"))
    return given
