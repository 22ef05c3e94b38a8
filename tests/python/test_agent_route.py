"""`sotto.agent.Router`: an adapter or a model for each request, learnt from examples."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sotto
import sotto.aio
from agent_script import options, play, says
from made_backend import Made
from search_models import Topics
from sotto.agent import Agent, Candidate, Router, aio, classifier

SEA = "ship sail rum anchor harbour deck wind mast sailor storm"
BOOKS = "comet annals star library scroll alphabet history ink scholar planet"
WAR = "sword shield siege wall archer captain wound armour guard spear"
SMALL = "the a where is my who has of and with"
LORA = {"lora": [{"name": "pirate", "scale": 0.8}]}


def texts(topic: str, count: int, seed: int) -> list[str]:
    """Sentences of two words of a topic and four small ones."""
    draw = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        words = draw.sample(topic.split(), 2) + draw.sample(SMALL.split(), 4)
        draw.shuffle(words)
        found[" ".join(words)] = None
    return list(found)


CANDIDATES = {
    "pirate": Candidate(texts(SEA, 12, 1), LORA),
    "scholar": Candidate(texts(BOOKS, 12, 2), {"model": "npc-large"}),
    "soldier": Candidate(texts(WAR, 4, 3)),
}
UNSEEN: dict[str | None, list[str]] = {
    "pirate": texts(SEA, 30, 11), "scholar": texts(BOOKS, 30, 12), "soldier": texts(WAR, 30, 13)
}  # fmt: skip


@pytest.fixture(scope="module")
def words() -> Topics:
    return Topics(SEA, BOOKS, WAR)


@pytest.fixture(scope="module")
def engine_(words: Topics) -> Iterator[sotto.Engine]:
    with sotto.Engine(mode="prioritize_compute", threads=1) as made:
        made.add_backend(Made(words))
        made.load_model("words", path="-", backend="made")
        yield made


@pytest.fixture(scope="module")
def router(engine_: sotto.Engine) -> Router:
    return Router.train(engine_, CANDIDATES, embedder="words")


def test_a_router_chooses_by_what_is_asked(router: Router) -> None:
    choice = router.choose("Where is the rum, and who has the anchor?")
    assert choice.name == "pirate" and choice.fields == LORA and choice.fits
    assert choice.probability > 0.6 and choice.similarity > 0.5
    assert sum(choice.probabilities.values()) == pytest.approx(1)
    assert choice.probabilities["pirate"] == choice.probability == max(choice.probabilities.values())
    assert router.choose("a comet of the annals").fields == {"model": "npc-large"}
    assert router.choose("the spear of the guard").fields == {}
    measured = router.evaluate(UNSEEN)
    assert measured.accuracy == 1.0 and measured.wrong == ()


def test_a_text_unlike_all_examples_gets_the_default(engine_: sotto.Engine, router: Router) -> None:
    odd = "turnip soup recipe butter"
    choice = router.choose(odd)
    assert choice.probability < 0.9
    strict = Router.train(
        engine_, CANDIDATES, embedder="words", default="soldier", threshold=0.5, min_similarity=0.3
    )
    chosen = strict.choose(odd)
    assert (chosen.name, chosen.fits, chosen.fields) == ("soldier", False, {}) and chosen.similarity < 0.3
    assert strict.choose("rum and sail").name == "pirate"
    without = Router.train(engine_, CANDIDATES, embedder="words", threshold=1.0)
    assert without.choose("rum and sail").name is None and without.choose("rum").fields == {}
    without.threshold = 0.0
    assert without.choose("rum and sail").name == "pirate"
    measured = strict.evaluate({None: [odd], "pirate": ["rum and sail"], "soldier": [odd]})
    assert measured.accuracy == pytest.approx(2 / 3) and measured.wrong == ((odd, None, "soldier"),)


def test_its_fields_go_into_a_request(engine: sotto.Engine, words: Topics) -> None:
    """The scripted backend says which adapters a stream has."""
    for name in ("npc", "npc-large"):
        engine.load_model(name, options={"adapters": True, "tokens": [f" {name}"]})
    engine.lora_load("npc", "pirate.gguf", name="pirate")
    engine.add_backend(Made(words))
    engine.load_model("words", path="-", backend="made")
    router = Router.train(engine, CANDIDATES, embedder="words")
    heard = {
        "rum and sail": "<pirate.gguf*0.8> npc",
        "a comet of the annals": " npc-large",
        "the spear": " npc",
    }
    for said, text in heard.items():
        assert engine.chat(said, **{"model": "npc", **router.choose(said).fields}).text == text
    with engine.session(model="npc") as session:
        said = "rum and sail"
        assert Agent(session).say(said, router.choose(said).fields).text == heard[said]
        assert Agent(session).say("the spear", router.choose("the spear").fields).text == " npc"


def test_asyncio_chooses(words: Topics) -> None:
    async def main(engine: sotto.aio.Engine) -> None:
        engine._engine.add_backend(Made(words))
        await engine.load_model("words", path="-", backend="made")
        router = await asyncio.to_thread(Router.train, engine, CANDIDATES, embedder="words")
        many = await asyncio.gather(*(router.achoose("rum and sail") for _ in range(8)))
        assert {one.name for one in many} == {"pirate"}
        async with await engine.session(model="npc") as session:
            answer = await aio.Agent(session).say("hi", (await router.achoose("the siege")).fields)
            assert answer.text == "Well."

    play({"hi": [says("Well.")]}, main)


def test_threads_choose_at_once(router: Router) -> None:
    found: list[str | None] = []
    threads = [
        threading.Thread(
            target=lambda: found.extend(one.name for one in router.choose_many(["rum", "comet"]))
        )
        for _ in range(8)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert sorted(found, key=str) == ["pirate"] * 8 + ["scholar"] * 8
    assert router.choose_many([]) == []


# The classifier


def loss(weights: Any, vectors: Any, labels: Any, penalty: float) -> float:
    """The penalized cross-entropy, with equal weight of the classes."""
    shares = classifier.classify(weights, vectors)
    of_class = -np.log(shares[np.arange(len(labels)), labels])
    means = [of_class[labels == one].mean() for one in range(len(weights))]
    return float(np.mean(means) + penalty / 2 * np.sum(weights[:, :-1] ** 2))


@pytest.mark.parametrize("penalty", [1e-4, 1e-2, 1.0])
def test_the_weights_are_those_of_the_least_loss(penalty: float) -> None:
    draw = np.random.default_rng(7)
    labels = np.repeat(np.arange(3), [5, 20, 9])
    vectors = draw.normal(size=(34, 12)) + np.eye(3, 12)[labels] * 2
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    weights = classifier.train(vectors, labels, 3, penalty)
    best = loss(weights, vectors, labels, penalty)
    for step in (1e-3, 1e-1):
        for _ in range(200):
            other = weights + draw.normal(size=weights.shape) * step
            assert loss(other, vectors, labels, penalty) > best
    again = classifier.train(vectors, labels, 3, penalty)
    assert np.array_equal(weights, again)


def test_classes_of_few_examples_count_as_much() -> None:
    """A copy of each example of one class changes nothing."""
    draw = np.random.default_rng(3)
    labels = np.repeat(np.arange(2), [6, 6])
    vectors = draw.normal(size=(12, 4)) + np.eye(2, 4)[labels]
    twice = np.concatenate([vectors, vectors[labels == 1]])
    more = np.concatenate([labels, labels[labels == 1]])
    ours, theirs = classifier.train(vectors, labels, 2, 0.1), classifier.train(twice, more, 2, 0.1)
    assert np.allclose(ours, theirs, atol=1e-4)
    assert np.allclose(np.linalg.norm(classifier.centroids_of(vectors, labels, 2), axis=1), 1)


# Files


def test_a_router_is_saved_and_loaded(engine_: sotto.Engine, router: Router, tmp_path: Path) -> None:
    path = tmp_path / "router.json"
    router.save(path)
    assert path.stat().st_mode & 0o777 == 0o600 and os.listdir(tmp_path) == ["router.json"]
    again = Router.load(engine_, path)
    every = [one for some in UNSEEN.values() for one in some]
    for ours, theirs in zip(router.choose_many(every), again.choose_many(every), strict=True):
        assert ours.name == theirs.name and ours.fields == theirs.fields
        assert ours.probability == pytest.approx(theirs.probability)
    assert not any(text in path.read_text() for text in CANDIDATES["pirate"].examples)
    again.threshold, again.min_similarity = 0.7, 0.2
    again.save(path)
    assert Router.load(engine_, path).threshold == 0.7
    again.threshold = 7
    with pytest.raises(sotto.ArgumentError, match="threshold"):
        again.save(path)
    with pytest.raises(OSError, match="No such file"):
        router.save(tmp_path / "no" / "router.json")


def test_another_embedding_model_is_refused(engine_: sotto.Engine, router: Router, tmp_path: Path) -> None:
    path = tmp_path / "router.json"
    router.save(path)
    for other, why in ((Topics(dim=64), "64 values"), (Topics("gate road long open the is"), "another one")):
        with sotto.Engine(mode="prioritize_compute", threads=1) as engine:
            engine.add_backend(Made(other))
            engine.load_model("words", path="-", backend="made")
            engine.load_model("renamed", path="-", backend="made")
            with pytest.raises(sotto.InferenceError, match=why):
                Router.load(engine, path).choose("rum")
            with pytest.raises(sotto.InferenceError, match=why):
                Router.load(engine, path, embedder="renamed").choose("rum")
    with pytest.raises(sotto.SottoError, match="not loaded"):
        Router.load(engine_, path, embedder="no such").choose("rum")


DAMAGE: list[tuple[str, Any]] = [
    ("format", "x"), ("version", 2), ("version", None), ("embedder", 7), ("embedder", ""), ("default", 7),
    ("default", "nobody"), ("threshold", 2), ("threshold", "x"), ("threshold", None), ("min_similarity", -1),
    ("weights", []), ("weights", [[1.0]] * 3), ("weights", None), ("weights", "x"), ("weights", [[None]] * 3),
    ("centroids", [[0.0]] * 3), ("centroids", {}), ("probe", []), ("probe", [1.0]), ("probe", [True]),
    ("probe", [1e9]), ("probe", [float("nan")]), ("probe", [10**400]), ("fields", {}), ("fields", []),
    ("fields", {"a": 1, "b": 2}), ("fields", {"a": {}, "b": {}}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), DAMAGE)
def test_damaged_files_are_refused(
    engine_: sotto.Engine, router: Router, tmp_path: Path, name: str, value: Any
) -> None:
    path = tmp_path / "router.json"
    router.save(path)
    body = json.loads(path.read_text())
    path.write_text(json.dumps({**body, name: value}))
    with pytest.raises(sotto.ArgumentError, match="invalid"):
        Router.load(engine_, path)


def test_other_files_are_refused(engine_: sotto.Engine, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for content in (
        b"",
        b"{}",
        b"[]",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"format": "sotto router"}',
        b"null",
    ):
        path.write_bytes(content)
        with pytest.raises(sotto.ArgumentError, match="invalid path"):
            Router.load(engine_, path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(sotto.ArgumentError, match="regular file"):
        Router.load(engine_, tmp_path / "pipe")
    with pytest.raises(OSError):
        Router.load(engine_, tmp_path)
    with pytest.raises(OSError, match="No such file"):
        Router.load(engine_, tmp_path / "none")


# Arguments


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "0 candidates"),
        ({"a": Candidate(["x"])}, "1 candidates"),
        ({str(at): Candidate([str(at)]) for at in range(65)}, "65 candidates"),
        ({"a": Candidate([]), "b": Candidate(["y"])}, "at least one text"),
        ({"a": Candidate("text"), "b": Candidate(["y"])}, "at least one text"),
        ({"a": Candidate(["x", " "]), "b": Candidate(["y"])}, r"examples\[1\]"),
        ({"a": Candidate(["x" * 8193]), "b": Candidate(["y"])}, r"examples\[0\]"),
        ({"a": Candidate(["x"]), "b": Candidate(["y", "x"])}, "not one of 'a'"),
        ({"a": Candidate(["x"]), "": Candidate(["y"])}, "invalid candidates"),
        ({"a": Candidate([str(at) for at in range(5001)]), "b": Candidate(["y"])}, "5002 examples"),
        ({"a": Candidate(["x"], {"messages": []}), "b": Candidate(["y"])}, "fields"),
        ({"a": Candidate(["x"], {"": 1}), "b": Candidate(["y"])}, "fields"),
    ],
)
def test_candidates_are_checked(engine_: sotto.Engine, given: Any, why: str) -> None:
    with pytest.raises(sotto.ArgumentError, match=why):
        Router.train(engine_, given, embedder="words")


def test_types_and_ranges_are_checked(engine_: sotto.Engine, router: Router) -> None:
    wrong: list[dict[str, Any]] = [
        {"threshold": 1.1}, {"threshold": -0.1}, {"min_similarity": 2}, {"penalty": 0}, {"penalty": -1},
        {"default": "nobody"}, {"embedder": ""},
    ]  # fmt: skip
    for fields in wrong:
        with pytest.raises(sotto.ArgumentError, match=next(iter(fields))):
            Router.train(engine_, CANDIDATES, **{"embedder": "words", **fields})
    for fields in ({"threshold": "0.5"}, {"penalty": True}, {"embedder": None}):
        with pytest.raises(TypeError, match=next(iter(fields))):
            Router.train(engine_, CANDIDATES, **{"embedder": "words", **fields})  # type: ignore[arg-type]
    for given in (
        None,
        7,
        [Candidate(["x"])],
        {"a": ["x"], "b": ["y"]},
        {1: Candidate(["x"]), 2: Candidate(["y"])},
    ):
        with pytest.raises(TypeError, match="candidates"):
            Router.train(engine_, given, embedder="words")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="fields"):
        pair = {"a": Candidate(["x"], "lora"), "b": Candidate(["y"])}  # type: ignore[arg-type]
        Router.train(engine_, pair, embedder="words")
    with pytest.raises(TypeError, match="engine"):
        Router.train(None, CANDIDATES)  # type: ignore[arg-type]
    with pytest.raises(sotto.ArgumentError, match="missing embedder"):
        Router.train(engine_, CANDIDATES)
    for text in ("", " ", "x" * 8193):
        with pytest.raises(sotto.ArgumentError, match="texts"):
            router.choose(text)
    for texts_ in ("text", 7, [None]):
        with pytest.raises(TypeError, match="texts"):
            router.choose_many(texts_)  # type: ignore[arg-type]
    with pytest.raises(sotto.ArgumentError, match="examples"):
        router.evaluate({"nobody": ["x"]})
    assert router.evaluate({}).accuracy == 1.0
    with pytest.raises(TypeError, match="copied"):
        __import__("pickle").dumps(router)


def test_a_choice_is_a_copy(router: Router) -> None:
    choice = router.choose("rum and sail")
    choice.fields["lora"].append("broken")  # type: ignore[attr-defined]
    assert router.choose("rum and sail").fields == LORA


def test_a_model_that_does_not_embed_is_an_error(engine: sotto.Engine) -> None:
    engine.load_model("npc", options=options({"hi": [says("Well.")]}))
    with pytest.raises(sotto.SottoError, match="embed"):
        Router.train(engine, CANDIDATES, embedder="npc")


def test_a_missing_package_is_named(
    engine_: sotto.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(ImportError, match=r"pip install sotto-runtime\[agent\]"):
        Router.train(engine_, CANDIDATES, embedder="words")
    with pytest.raises(ImportError, match="numpy"):
        Router.load(engine_, tmp_path / "router.json")
