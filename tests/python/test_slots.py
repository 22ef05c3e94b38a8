"""Slots of the house model by number, blocking and with asyncio, and the model's card."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sotto
from results import check

HOUSE = "sotto/house"
PROMPT = "The innkeeper says that the price of a bed for the night is"


@pytest.fixture
def house() -> Iterator[sotto.Engine]:
    with sotto.Engine() as engine:
        engine.load_model(HOUSE, options={"parallel": 2})
        yield engine


def complete(engine: sotto.Engine, slot: int, prompt: str = PROMPT, **fields: Any) -> dict[str, Any]:
    body = {"model": HOUSE, "prompt": prompt, "temperature": 0, "max_tokens": 8, "id_slot": slot, **fields}
    found: dict[str, Any] = json.loads(engine.llm_text_completion(body))
    return found


def test_a_slot_keeps_what_its_request_left(house: sotto.Engine) -> None:
    assert [slot.n_tokens for slot in house.slots()] == [0, 0]
    first = complete(house, 1)
    assert first["id_slot"] == 1 and first["timings"]["cache_n"] == 0
    empty, held = house.slots(HOUSE)
    assert (empty.id, empty.n_tokens) == (0, 0)
    # the last token of an answer is computed only if the model went on
    assert held.n_tokens in (first["usage"]["total_tokens"] - 1, first["usage"]["total_tokens"])
    assert held.n_ctx > held.n_tokens and not held.is_processing and held.request is None
    again = complete(house, 1)
    assert again["timings"]["prompt_n"] == 1
    assert again["choices"][0]["text"] == first["choices"][0]["text"]
    assert complete(house, 0)["timings"]["cache_n"] == 0  # it copies from no other slot


def test_a_slot_is_saved_restored_and_erased(house: sotto.Engine, tmp_path: Path) -> None:
    first = complete(house, 1)
    held = house.slots()[1].n_tokens
    path = tmp_path / "slot"
    saved = house.save_slot(1, path)
    assert saved == (1, held, path.stat().st_size)
    assert house.restore_slot(0, path) == (0, held, saved.n_bytes)
    assert [slot.n_tokens for slot in house.slots()] == [held, held]
    again = complete(house, 0)
    assert again["timings"]["prompt_n"] == 1
    assert again["choices"][0]["text"] == first["choices"][0]["text"]
    assert house.erase_slot(1) == held and house.erase_slot(1) == 0
    assert complete(house, 1)["timings"]["cache_n"] == 0


def test_results_match_their_schemas(house: sotto.Engine, tmp_path: Path) -> None:
    complete(house, 1)
    with house.session("mara", model=HOUSE, pinned=True) as session:
        session.say("Hello!", {"max_tokens": 4})
        kept = [slot for slot in house.slots() if slot.session == "mara"]
        assert len(kept) == 1 and not kept[0].is_processing
        with pytest.raises(sotto.InferenceError, match="in use by a request or a pinned session") as busy:
            house.erase_slot(kept[0].id)
        assert busy.value.status is sotto.Status.BUSY
        free = 1 - kept[0].id
        complete(house, free)
        on = {"model": HOUSE, "id_slot": free, "path": str(tmp_path / "slot")}
        for action in ("save", "restore", "erase"):
            check(f"{action}_slot", house._ask("slots", {**on, "action": action}, {}).finish().json)
        check("slots", house._ask("slots", {"model": HOUSE}, {}).finish().json)


def test_bad_slots_and_files_are_refused(house: sotto.Engine, tmp_path: Path) -> None:
    with pytest.raises(sotto.ArgumentError, match=r"invalid id_slot '2': expected .*, 0 to 1"):
        house.erase_slot(2)
    for bad in (-1, 1.5, True):
        with pytest.raises((sotto.ArgumentError, TypeError), match="invalid slot"):
            house.erase_slot(bad)  # type: ignore[arg-type]
    with pytest.raises(sotto.InferenceError, match="holds no tokens") as empty:
        house.save_slot(0, tmp_path / "none")
    assert empty.value.status is sotto.Status.STATE
    assert not (tmp_path / "none").exists()
    complete(house, 0)
    path = tmp_path / "slot"
    house.save_slot(0, path)
    damaged = bytearray(path.read_bytes())
    damaged[-5] ^= 1
    path.write_bytes(damaged)
    held = house.slots()[0].n_tokens
    with pytest.raises(sotto.InferenceError, match="damaged"):
        house.restore_slot(0, path)
    assert house.slots()[0].n_tokens == held
    with pytest.raises(sotto.InferenceError):
        house.restore_slot(0, tmp_path / "absent")
    with pytest.raises(sotto.InferenceError, match="'other' is not loaded"):
        house.slots("other")


def test_a_slot_that_speaks_is_busy(house: sotto.Engine) -> None:
    fields = {"prompt": PROMPT, "model": HOUSE, "max_tokens": 2000, "ignore_eos": True, "id_slot": 0}
    with house.llm_text_completion_stream({**fields, "context_overflow": "shift"}, target_tps=30) as stream:
        next(stream)
        speaking = house.slots()[0]
        assert speaking.is_processing and speaking.request is not None and speaking.n_tokens > 0
        with pytest.raises(sotto.InferenceError) as busy:
            house.erase_slot(0)
        assert busy.value.status is sotto.Status.BUSY
        assert complete(house, 1)["id_slot"] == 1


def test_asyncio_has_the_same(tmp_path: Path) -> None:
    async def run() -> None:
        async with sotto.aio.Engine() as engine:
            await engine.load_model(HOUSE, options={"parallel": 2})
            await engine.complete(PROMPT, max_tokens=4, id_slot=1)
            held = (await engine.slots())[1].n_tokens
            assert (await engine.save_slot(1, tmp_path / "slot")).n_tokens == held > 0
            assert (await engine.restore_slot(0, tmp_path / "slot")).n_tokens == held
            assert await engine.erase_slot(0, model=HOUSE) == held
            assert engine.model_info()["id"] == HOUSE

    asyncio.run(run())


def test_the_card_has_what_the_file_says(house: sotto.Engine) -> None:
    card = house.model_info()
    assert card == house.model_info(HOUSE) and card["id"] == HOUSE
    details = card["details"]
    assert details["embedding_length"] > 0 and details["vocabulary_type"] in ("spm", "bpe")
    assert details["metadata"]["general.architecture"] == details["architecture"]
    assert not [key for key in details["metadata"] if "chat_template" in key]
    assert "message" in details["chat_templates"]["default"]
    assert details["capabilities"]["infill"] == ("fim_pre" in details["special_tokens"])
    eos = details["special_tokens"]["eos"]
    told = house.tokenize({"model": HOUSE, "content": eos["text"], "parse_special": True})
    assert json.loads(told)["tokens"][-1:] == [eos["id"]]
    with pytest.raises(sotto.InferenceError, match="'other' is not loaded") as missing:
        house.model_info("other")
    assert missing.value.status is sotto.Status.NOT_FOUND
