"""`sotto.client` on llama-server and on `sotto serve --as llama-server`: slots, adapters, vectors, infill."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tiny_encoder
from client_servers import HOUSE, PIRATE, SERVERS, running
from sotto.client import ApiError, LlamaCppClient

pytestmark = pytest.mark.real
TEXTS = ["the king is gold", "moon", "the guard river song sword night"]
QUERY = "queen gold"


@pytest.fixture(scope="module", params=SERVERS)
def name(request: pytest.FixtureRequest) -> str:
    """The name of a server."""
    return str(request.param)


@pytest.fixture(scope="module")
def slots(name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaCppClient]:
    """A client of a server with the house model, two slots and one adapter twice, without a scale."""
    folder = tmp_path_factory.mktemp("slots")
    options = ["-c", 2048, "-np", 2, "--slots", "--slot-save-path", folder, "--lora-init-without-apply"]
    options += ["--lora", PIRATE, "--lora", PIRATE]
    with running(name, HOUSE, *options, log=folder / "log") as one:
        one.lora.set_scales([])
        yield one


@pytest.fixture(scope="module")
def bare(name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaCppClient]:
    """A client of a server without optional endpoints."""
    log = tmp_path_factory.mktemp("bare") / "log"
    with running(name, HOUSE, "-c", 1024, "-np", 1, log=log) as one:
        yield one


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tiny_encoder.TinyEncoder]:
    """A tiny BERT and its file."""
    path = tmp_path_factory.mktemp("models") / "encoder.gguf"
    made = tiny_encoder.TinyEncoder(1)
    made.write(path)
    return path, made


@pytest.fixture(scope="module")
def ranker(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tiny_encoder.TinyEncoder]:
    """A tiny BERT with a head that ranks, and its file."""
    path = tmp_path_factory.mktemp("models") / "ranker.gguf"
    made = tiny_encoder.TinyEncoder(2, tiny_encoder.RANK)
    made.write(path)
    return path, made


def complete(client: LlamaCppClient, prompt: Any, **fields: Any) -> Any:
    """Returns a completion that is the same every time."""
    return client.complete(prompt, **{"n_predict": 8, "temperature": 0.0, "seed": 1, **fields})


def status(call: Any, *arguments: Any, **fields: Any) -> int:
    """Returns the status of an error."""
    with pytest.raises(ApiError) as caught:
        call(*arguments, **fields)
    assert caught.value.message
    return caught.value.status


@pytest.mark.row("B-138", "B-211", "B-212", "B-213", "B-214", "B-215", "B-216", "B-217")
def test_slots_are_listed(slots: LlamaCppClient) -> None:
    complete(slots, "a")
    found = slots.slots.list()
    assert [one.id for one in found] == [0, 1]
    assert all(one.n_ctx > 0 and one.is_processing is False for one in found)
    assert all(isinstance(one.n_predict, int) and isinstance(one.params, dict) for one in found)
    assert all(isinstance(one.prompt, str) for one in found)


@pytest.mark.row("B-139")
def test_no_idle_slot_is_an_error_on_request(slots: LlamaCppClient) -> None:
    assert len(slots.slots.list(fail_on_no_slot=True)) == 2
    streams = [slots.complete(f"Tell {n}.", n_predict=900, stream=True, ignore_eos=True) for n in range(2)]
    try:
        for one in streams:
            next(one)  # type: ignore[call-overload]
        assert status(slots.slots.list, fail_on_no_slot=True) == 503
        assert len(slots.slots.list()) == 2
    finally:
        for one in streams:
            one.close()  # type: ignore[union-attr]
    end = time.monotonic() + 5
    while any(one.is_processing for one in slots.slots.list()):
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.row("B-140", "B-141", "B-142", "B-187")
def test_a_slot_is_saved_restored_and_erased(slots: LlamaCppClient) -> None:
    prompt = "In the village of Millbrook there was a mill, and in the mill"
    first = complete(slots, prompt, id_slot=1)
    saved = slots.slots.save(1, "mill.bin")
    assert (saved["id_slot"], saved["filename"]) == (1, "mill.bin")
    assert saved["n_saved"] > 0 and saved["n_written"] > 0 and saved["timings"]["save_ms"] >= 0
    slots.slots.erase(0)
    restored = slots.slots.restore(0, "mill.bin")
    assert (restored["n_restored"], restored["n_read"]) == (saved["n_saved"], saved["n_written"])
    again = complete(slots, prompt, id_slot=0)
    assert again.timings.cache_n >= first.usage.prompt_tokens - 1
    assert again.choices[0].text == first.choices[0].text
    assert slots.slots.erase(0)["n_erased"] > 0
    assert complete(slots, prompt, id_slot=0).timings.cache_n == 0


@pytest.mark.row("B-143")
@pytest.mark.parametrize("filename", ["../x.bin", "/tmp/x.bin", "a/b", "a\0b", "", ".."])
def test_file_names_of_slots_are_checked(slots: LlamaCppClient, filename: str) -> None:
    assert status(slots.slots.save, 0, filename) == 400
    assert status(slots.slots.restore, 0, filename) == 400


def test_files_that_do_not_exist_are_errors(slots: LlamaCppClient) -> None:
    assert status(slots.slots.restore, 0, "missing.bin") in (400, 404)


@pytest.mark.row("B-145", "B-146", "B-147", "B-218", "B-219", "B-220", "B-221")
def test_adapters_change_scale(slots: LlamaCppClient) -> None:
    assert [(one.id, one.scale) for one in slots.lora.list()] == [(0, 0.0), (1, 0.0)]
    assert all(one.path.endswith("pirate.gguf") for one in slots.lora.list())
    prompt = slots.apply_template([{"role": "user", "content": "Who are you?"}])
    plain = complete(slots, prompt, n_predict=24, cache_prompt=False).choices[0].text
    try:
        assert slots.lora.set_scales([{"id": 0, "scale": 0.5}, {"id": 1, "scale": 0.8}]) is True
        assert [one.scale for one in slots.lora.list()] == pytest.approx([0.5, 0.8])
        changed = complete(slots, prompt, n_predict=24, cache_prompt=False).choices[0].text
        assert changed != plain
        assert slots.lora.set_scales([{"id": 1, "scale": 1.0}]) is True
        assert [one.scale for one in slots.lora.list()] == [0.0, 1.0]
    finally:
        assert slots.lora.set_scales([]) is True
    assert [one.scale for one in slots.lora.list()] == [0.0, 0.0]
    assert complete(slots, prompt, n_predict=24, cache_prompt=False).choices[0].text == plain


@pytest.mark.row("B-032", "B-033", "B-128", "B-137", "B-144", "B-124")
def test_endpoints_that_are_off_say_so(bare: LlamaCppClient) -> None:
    for call in (
        bare.metrics,
        lambda: bare.set_props(temperature=0.5),
        lambda: bare.slots.save(0, "a.bin"),
        lambda: bare.rerank("a", ["b"]),
        lambda: bare.infill("a", "b"),
        lambda: bare.embed("a"),
    ):
        assert status(call) == 501


def normalised(vector: list[float], norm: int) -> list[float]:
    """Returns a vector scaled as llama.cpp does."""
    if norm == -1:
        return vector
    by = {
        0: max(abs(one) for one in vector) / 32760.0,
        1: sum(abs(one) for one in vector),
        2: math.sqrt(sum(one * one for one in vector)),
    }[norm]
    return [one / by for one in vector]


@pytest.mark.row("B-104", "B-105", "B-106", "B-107", "B-108", "B-109", "B-110", "B-111", "B-112", "B-113")
@pytest.mark.row("B-114", "B-189", "B-190", "B-191", "B-192", "B-194", "B-195", "B-196")
def test_vectors(name: str, encoder: Any, tmp_path: Path) -> None:
    path, made = encoder
    rows = [made.pooled(made.tokens(*text.split())) for text in TEXTS]
    with running(name, path, "--embedding", "--pooling", "mean", "-np", 1, log=tmp_path / "log") as client:
        answer = client.embeddings.create(TEXTS)
        assert (answer.object, [one.index for one in answer.data]) == ("list", [0, 1, 2])
        for one, row in zip(answer.data, rows, strict=True):
            assert one.object == "embedding"
            assert one.embedding == pytest.approx(normalised(row, 2), abs=2e-3)
        count = sum(len(made.tokens(*text.split())) for text in TEXTS)
        assert (answer.usage.prompt_tokens, answer.usage.total_tokens) == (count, count)
        packed = client.embeddings.create(TEXTS[0], encoding_format="base64", model="any")
        assert packed.data[0].embedding == pytest.approx(answer.data[0].embedding, abs=1e-6)
        for norm in (-1, 0, 1, 2):
            found = client.embed(TEXTS, embd_normalize=norm)
            for vector, row in zip(found, rows, strict=True):
                wanted = normalised(row, norm)
                assert vector == pytest.approx(wanted, abs=2e-3 * max(abs(one) for one in wanted))
        assert client.embed(TEXTS[1]) == [pytest.approx(normalised(rows[1], 2), abs=2e-3)]


@pytest.mark.row("B-123", "B-124", "B-125", "B-126", "B-127", "B-129", "B-198", "B-199", "B-200", "B-202")
@pytest.mark.row("B-203", "B-204")
def test_ranks(name: str, ranker: Any, tmp_path: Path) -> None:
    path, made = ranker
    query = made.tokens(*QUERY.split())
    documents = [made.tokens(*text.split()) for text in TEXTS]
    ends = (documents, [document[:-1] for document in documents])  # llama-server adds no separator at the end
    choices = [[made.score(query, document) for document in form] for form in ends]
    with running(name, path, "--reranking", "-np", 1, log=tmp_path / "log") as client:
        answer = client.rerank(QUERY, TEXTS)
        found = {one.index: one.relevance_score for one in answer.results}
        assert any(found == pytest.approx(dict(enumerate(scores)), abs=5e-3) for scores in choices)
        assert [one.index for one in answer.results] == sorted(range(3), key=lambda at: -found[at])
        for one in answer.results:
            assert one.document == TEXTS[one.index]
        assert answer.usage is not None and answer.usage.prompt_tokens > 0
        assert [one.index for one in client.rerank(QUERY, TEXTS, top_n=2).results] == [
            one.index for one in answer.results[:2]
        ]
        assert status(client.rerank, QUERY, []) == 400


@pytest.fixture(scope="module")
def infill(name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaCppClient]:
    """A client of a server whose model has tokens for infill."""
    import llama_models

    folder = tmp_path_factory.mktemp("infill")
    llama_models.write_infill(folder / "infill.gguf")
    with running(name, folder / "infill.gguf", "-c", 2048, "-b", 256, "-np", 1, log=folder / "log") as one:
        yield one


@pytest.mark.row("B-130", "B-131", "B-132", "B-133", "B-134", "B-135", "B-136")
def test_infill(infill: LlamaCppClient) -> None:
    def count(text: str) -> int:
        return len(infill.tokenize(text).tokens)

    fields: dict[str, Any] = {"n_predict": 6, "temperature": 0.0, "cache_prompt": False}
    plain: Any = infill.infill("The mill", " and the river", **fields)
    assert plain.choices[0].text is not None
    with_prompt: Any = infill.infill("The mill", " and the river", prompt=" stands", **fields)
    assert with_prompt.usage.prompt_tokens - plain.usage.prompt_tokens == count(" stands")
    extra = [{"filename": "lore.txt", "text": "Millbrook has a mill."}]
    with_extra: Any = infill.infill("The mill", " and the river", input_extra=extra, **fields)
    assert with_extra.usage.prompt_tokens > plain.usage.prompt_tokens + count("Millbrook has a mill.") - 1
    chunks: Any = infill.infill("The mill", " and the river", stream=True, **fields)
    assert "".join(chunk["content"] for chunk in chunks) == plain.choices[0].text
    assert status(infill.infill, "a", "b", input_extra=[{"filename": 5}]) == 400


def test_requests_at_once(slots: LlamaCppClient) -> None:
    said: list[str] = []
    threads = [
        threading.Thread(target=lambda n=n: said.append(complete(slots, f"The {n}").choices[0].text))  # type: ignore[misc]
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said) == 6
