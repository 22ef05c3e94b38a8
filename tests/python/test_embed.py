"""Embeddings and rankings on the llama module: OpenAI's interface, the typed one, and what is refused."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sotto
import sotto.aio
from tiny_encoder import CONTEXT, RANK, WIDTH, TinyEncoder

pytestmark = pytest.mark.real

ENCODER, RANKER = TinyEncoder(1), TinyEncoder(2, RANK)
TEXTS = ["the king is gold", "moon", "the guard river song sword night"]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sotto.Engine]:
    folder = tmp_path_factory.mktemp("encoders")
    ENCODER.write(folder / "encoder.gguf")
    RANKER.write(folder / "ranker.gguf")
    TinyEncoder(3, damaged=True).write(folder / "nan.gguf")
    with sotto.Engine("cpu", mode="prioritize_compute", threads=1) as made:
        for name in ("encoder", "ranker", "nan"):
            made.load_model(name, path=folder / f"{name}.gguf")
        yield made


def embed(engine: sotto.Engine, texts: Any, **fields: Any) -> dict[str, Any]:
    response: dict[str, Any] = json.loads(
        engine.embed(json.dumps({"model": "encoder", "input": texts, **fields}))
    )
    return response


def vectors(response: dict[str, Any]) -> list[list[float]]:
    return [one["embedding"] for one in response["data"]]


def distance(left: Any, right: Any) -> float:
    return max(abs(x - y) for x, y in zip(left, right, strict=True))


@pytest.mark.row("A-134", "A-137", "A-138", "A-139", "A-140", "A-141", "A-142")
def test_a_response_has_openais_format_and_the_vectors_of_the_reference(engine: sotto.Engine) -> None:
    response = embed(engine, TEXTS)
    assert (response["object"], response["model"]) == ("list", "encoder")
    assert [one["object"] for one in response["data"]] == ["embedding"] * 3
    assert [one["index"] for one in response["data"]] == [0, 1, 2]
    tokens = sum(len(ENCODER.tokens(*text.split())) for text in TEXTS)
    assert response["usage"] == {"prompt_tokens": tokens, "total_tokens": tokens}
    for text, vector in zip(TEXTS, vectors(response), strict=True):
        assert len(vector) == WIDTH
        assert distance(vector, ENCODER.vector(ENCODER.tokens(*text.split()))) < 1e-4
        assert math.isclose(sum(x * x for x in vector), 1, abs_tol=1e-5)


@pytest.mark.row("A-145")
def test_the_references_example_runs_and_a_batch_is_its_texts_one_by_one(engine: sotto.Engine) -> None:
    request = json.dumps({"model": "encoder", "input": ["Hello world", "How are you?"]})
    response = json.loads(engine.embed(request))
    vectors = [d["embedding"] for d in response["data"]]
    for text, vector in zip(["Hello world", "How are you?"], vectors, strict=True):
        assert distance(embed(engine, text)["data"][0]["embedding"], vector) < 1e-5


@pytest.mark.row("A-135", "A-136", "A-143")
@pytest.mark.parametrize(
    ("request_json", "what"),
    [
        ("{", "request"),
        ("[]", "request"),
        ("some text", "request"),
        ({"input": "a"}, "missing model"),
        ({"model": "encoder"}, "missing input"),
        ({"model": "encoder", "input": []}, "invalid input"),
        ({"model": "encoder", "input": [[]]}, "invalid input"),
        ({"model": "encoder", "input": ["a", 1]}, "invalid input"),
        ({"model": "encoder", "input": [1.5]}, "invalid input"),
        ({"model": "encoder", "input": [-1]}, "invalid input"),
        ({"model": "encoder", "input": 7}, "invalid input '7'"),
        ({"model": "encoder", "input": {"text": "a"}}, "invalid input"),
        ({"model": "encoder", "input": ["a"] * 2049}, "1 to 2,048"),
        (
            {"model": "encoder", "input": [10**6]},
            r"invalid input\[0\] '1000000': expected a token of the model",
        ),
        ({"model": "encoder", "input": "a", "dimensions": 0}, "invalid dimensions '0'"),
        ({"model": "encoder", "input": "a", "dimensions": WIDTH + 1}, f"expected 1 to {WIDTH}"),
        ({"model": "encoder", "input": "a", "encoding_format": "hex"}, "encoding_format"),
        ({"model": "encoder", "input": "a", "normalize": "yes"}, "invalid normalize"),
        (
            {"model": "encoder", "input": ["a", "moon " * CONTEXT]},
            r"invalid input\[1\] of 66 tokens: expected at most 64",
        ),
    ],
)
def test_invalid_requests_are_value_errors(engine: sotto.Engine, request_json: Any, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        engine.embed(request_json)


@pytest.mark.row("A-135")
def test_a_model_that_is_not_loaded(engine: sotto.Engine) -> None:
    with pytest.raises(sotto.SottoError, match="other"):
        engine.embed({"model": "other", "input": "a"})


@pytest.mark.row("A-144")
def test_failures_are_inference_errors(engine: sotto.Engine, real_engine: sotto.Engine) -> None:
    with pytest.raises(sotto.InferenceError, match="NaN"):
        engine.embed({"model": "nan", "input": ["moon", "king"]})
    for ask in (
        lambda: real_engine.embed({"model": "sotto/house", "input": "a"}),
        lambda: real_engine.embeddings("a", model="sotto/house"),
        lambda: real_engine.rerank("a", ["b"], model="sotto/house"),
    ):
        with pytest.raises(sotto.InferenceError, match="use another model") as caught:
            ask()
        assert caught.value.status == sotto.Status.UNSUPPORTED
    with pytest.raises(
        sotto.SottoError, match=r"operation of model 'encoder' \(tokenize, detokenize, embed\)"
    ):
        engine.chat("hi", model="encoder")
    assert len(engine.embeddings("moon", model="encoder").vectors) == 1


@pytest.mark.row("A-136")
def test_inputs_of_every_kind(engine: sotto.Engine) -> None:
    single = vectors(embed(engine, "moon"))
    assert single == vectors(embed(engine, ["moon"]))
    tokens = ENCODER.tokens("moon")
    assert single == vectors(embed(engine, tokens)) == vectors(embed(engine, [tokens]))
    assert json.loads(engine.tokenize({"model": "encoder", "content": "moon", "add_special": True})) == {
        "tokens": tokens
    }
    assert len(vectors(embed(engine, ["", " ", "\0", "\u202e", "é狼🐺"]))) == 5
    for long in ("moon " * CONTEXT, "x" * (1 << 20), " " * (1 << 20), "狼" * 1000):
        assert embed(engine, long, truncate=True)["usage"]["prompt_tokens"] <= CONTEXT
    assert len(vectors(embed(engine, ["moon"] * 2048))) == 2048


def test_vectors_are_coded_and_shortened_as_requested(engine: sotto.Engine) -> None:
    (whole,) = vectors(embed(engine, "moon"))
    (coded,) = vectors(embed(engine, "moon", encoding_format="base64"))
    assert distance(struct.unpack(f"<{WIDTH}f", base64.b64decode(coded)), whole) < 1e-7
    (shorter,) = vectors(embed(engine, "moon", dimensions=8))
    length = math.sqrt(sum(x * x for x in whole[:8]))
    assert distance(shorter, [x / length for x in whole[:8]]) < 1e-6
    (raw,) = vectors(embed(engine, "moon", normalize=False))
    assert distance(raw, ENCODER.pooled(ENCODER.tokens("moon"))) < 2e-3


def test_typed_calls(engine: sotto.Engine) -> None:
    made = engine.embeddings(TEXTS, model="encoder", dimensions=8, priority="background")
    assert [len(vector) for vector in made.vectors] == [8, 8, 8]
    assert made.raw["usage"]["prompt_tokens"] == sum(len(ENCODER.tokens(*text.split())) for text in TEXTS)
    assert engine.embeddings("moon", model="encoder", encoding_format="float").vectors[0][
        :2
    ] == pytest.approx(engine.embeddings("moon", model="encoder").vectors[0][:2])
    with pytest.raises(sotto.ArgumentError, match="did you mean"):
        engine.embeddings("moon", model="encoder", normalise=True)


def test_documents_are_ranked_by_the_scores_of_the_reference(engine: sotto.Engine) -> None:
    query = ["queen", "gold"]
    scores = [RANKER.score(RANKER.tokens(*query), RANKER.tokens(*text.split())) for text in TEXTS]
    ranked = engine.rerank(" ".join(query), TEXTS, model="ranker")
    assert [one.position for one in ranked] == sorted(range(3), key=lambda at: -scores[at])
    for one in ranked:
        assert one.score == pytest.approx(scores[one.position], abs=1e-3)
        assert one.document == TEXTS[one.position]
    (best,) = engine.rerank("queen gold", TEXTS, model="ranker", top_n=1)
    assert (best.position, best.document) == (ranked[0].position, ranked[0].document)
    for query_, documents, fields in (
        ("", ["a"], {}),
        ("a", [], {}),
        ("a", [1], {}),
        ("a", ["b"], {"top_n": 0}),
    ):
        with pytest.raises(sotto.ArgumentError):
            engine.rerank(query_, documents, model="ranker", **fields)


def test_calls_are_awaitable(tmp_path: Path) -> None:
    async def ask() -> None:
        ENCODER.write(tmp_path / "encoder.gguf")
        RANKER.write(tmp_path / "ranker.gguf")
        async with sotto.aio.Engine("cpu") as engine:
            await engine.load_model("encoder", path=tmp_path / "encoder.gguf")
            await engine.load_model("ranker", path=tmp_path / "ranker.gguf")
            body = {"model": "encoder", "input": "moon"}
            one, both = await asyncio.gather(
                engine.embed(body), engine.embeddings(["moon", "a"], model="encoder")
            )
            assert distance(json.loads(one)["data"][0]["embedding"], both.vectors[0]) < 1e-5
            assert len(await engine.rerank("moon", ["a", "b"], model="ranker")) == 2
            with pytest.raises(sotto.InferenceError, match="use another model"):
                await engine.embed({**body, "model": "ranker"})

    asyncio.run(ask())


def test_deterministic_vectors_depend_on_their_text_alone(tmp_path: Path) -> None:
    ENCODER.write(tmp_path / "encoder.gguf")
    with sotto.Engine("cpu", deterministic=True, threads=2) as engine:
        engine.load_model("encoder", path=tmp_path / "encoder.gguf")
        made: dict[int, Any] = {}

        def ask(number: int) -> None:
            made[number] = vectors(embed(engine, TEXTS[number % 3 :] + TEXTS[: number % 3]))

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        for number, found in made.items():
            for at, vector in enumerate(found):
                assert vector == made[0][(at + number) % 3]


def test_many_requests_share_the_model_with_cancelled_ones_and_replay_the_same(tmp_path: Path) -> None:
    ENCODER.write(tmp_path / "encoder.gguf")
    record = tmp_path / "run.jsonl"
    with sotto.Engine("cpu", record_path=record, trace_capacity=4096) as engine:
        engine.load_model("encoder", path=tmp_path / "encoder.gguf")
        asked = [engine.submit("embed", {"model": "encoder", "input": TEXTS * 50}) for _ in range(12)]
        for number in asked[::3]:
            engine.cancel(number)
        ended: dict[int, sotto.Event] = {}
        while len(ended) < len(asked):
            assert engine.wait(30)
            ended |= {event.request: event for event in engine.events() if event.kind == "request_done"}
        for at, number in enumerate(asked):
            if at % 3:
                assert len(json.loads(ended[number].json)["data"]) == 150
            else:
                assert ended[number].status in (sotto.Status.CANCELLED, sotto.Status.OK)
        assert any(piece.kind == "prompt" for piece in engine.trace())
    done = sotto.replay(record)
    assert done.first_difference is None and done.streams >= 8 and done.same == done.decisions


def test_memory_is_charged_and_a_model_without_room_is_evicted_and_comes_back(tmp_path: Path) -> None:
    ENCODER.write(tmp_path / "encoder.gguf")
    with sotto.Engine("cpu", vram_budget_mb=64) as engine:
        engine.load_model("encoder", path=tmp_path / "encoder.gguf")
        (model,) = json.loads(engine.model_list())
        assert (
            model["bytes"]["weights"] > 2 * WIDTH * WIDTH
            and model["bytes"]["compute"] > 0 == model["bytes"]["kv"]
        )
        assert (model["context"], model["details"]["pooling"], model["details"]["dimensions"]) == (
            64,
            "mean",
            WIDTH,
        )
        assert engine.stats().bytes_in_use == sum(model["bytes"].values())
        before = engine.embeddings("moon").vectors
        engine.load_model("sotto/house", options={"context": 512})
        engine.set_vram_budget_mb(1)
        engine.set_vram_budget_mb(64)
        assert distance(engine.embeddings("moon", model="encoder").vectors[0], before[0]) < 1e-6
