"""`sotto.llama`: sequences and states of `Llama`, and what a closed one refuses."""

from __future__ import annotations

import json
import random
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import make_tiny
import sotto
from sotto.llama import Llama, LlamaError, ModelLoadError, SamplingParams, ValidationError
from sotto.llama.sequences import Sequences

GREEDY = SamplingParams(temperature=0, repeat_penalty=1.0)
TEXT = "hello there, the river was a king"


@pytest.fixture
def llm(tiny_file: Path) -> Iterator[Llama]:
    """A model of random weights with three sequences."""
    with Llama(tiny_file, n_ctx=256, n_seq_max=3, n_threads=1, sampling=GREEDY) as llm:
        yield llm


def ids(llm: Llama, sequence: int = 0) -> list[int]:
    return list(llm._sequences[sequence].ids)


def logprobs(llm: Llama, prompt: Any = TEXT, **fields: Any) -> list[float]:
    """The log probabilities of the twenty likeliest tokens at eight places."""
    told = llm.generate(prompt, 8, logprobs=20, **fields)
    assert isinstance(told, dict)
    return [logprob for one in told["token_probs"] for _, logprob in one.top_logprobs]


@pytest.mark.real
@pytest.mark.row("C-012", "C-080", "C-085")
def test_sequences_begin_and_end_empty(llm: Llama) -> None:
    assert [llm.kv_cache_seq_pos_max(n) for n in range(3)] == [-1, -1, -1]
    text = llm.generate(TEXT, 8)
    assert llm.kv_cache_seq_pos_max() == len(ids(llm)) - 1 > 8
    engine = llm._engine()
    for clear in (llm.reset, llm.kv_cache_clear):
        clear()
        assert llm.kv_cache_seq_pos_max(0) == -1 and llm._engine() is engine
        assert all(slot.n_tokens == 0 for slot in engine.slots())
        assert llm.generate(TEXT, 8) == text


@pytest.mark.real
@pytest.mark.row("C-081")
@pytest.mark.parametrize(("first", "last"), [(3, 9), (0, 2), (10, -1), (-1, 4), (5, 6)])
def test_a_cut_sequence_continues_as_a_fresh_run(llm: Llama, first: int, last: int) -> None:
    llm.generate(TEXT, 8)
    before = ids(llm)
    assert llm.kv_cache_seq_rm(0, first, last) is True
    kept = before[: max(first, 0)] + (before[last:] if last >= 0 else [])
    assert ids(llm) == kept
    prompt = llm.tokenize(" so", add_special=not kept)
    told = logprobs(llm, " so", reset_kv_cache=False)
    llm.kv_cache_clear()
    assert told == pytest.approx(logprobs(llm, [*kept, *prompt]), abs=1e-3)


@pytest.mark.real
@pytest.mark.row("C-081", "C-085")
def test_cuts_at_the_end_keep_positions_and_the_kv_cache(llm: Llama) -> None:
    llm.generate(TEXT, 8)
    end = llm.kv_cache_seq_pos_max()
    assert llm.kv_cache_seq_rm(0, end - 3, -1) and llm.kv_cache_seq_pos_max() == end - 4
    assert llm.kv_cache_seq_rm(0, 2, 4) and llm.kv_cache_seq_pos_max() == end - 4
    assert not llm.kv_cache_seq_rm(0, 2, 4) and not llm.kv_cache_seq_rm(0, 1000, -1)
    assert not llm.kv_cache_seq_rm(1)
    assert llm.kv_cache_seq_rm() and llm.kv_cache_seq_pos_max() == -1
    llm.generate(TEXT, 8)
    llm.perf_reset()
    assert llm.kv_cache_seq_rm(0, end - 3, -1)
    llm.generate(" so", 1, reset_kv_cache=False)
    assert llm.perf()["n_p_eval"] <= len(llm.tokenize(" so", add_special=False))


@pytest.mark.real
@pytest.mark.row("C-082", "C-083")
def test_a_copy_continues_as_its_source(llm: Llama) -> None:
    llm.generate(TEXT, 8)
    llm.kv_cache_seq_cp(0, 1)
    llm.kv_cache_seq_cp(0, 2, 0, 5)
    assert ids(llm, 1) == ids(llm) and ids(llm, 2) == ids(llm)[:5]
    said = llm.generate(" so", 8, reset_kv_cache=False)
    llm.kv_cache_seq_cp(1, 0)
    assert llm.generate(" so", 8, reset_kv_cache=False) == said
    assert llm.kv_cache_seq_pos_max(1) == len(ids(llm, 1)) - 1
    llm.kv_cache_seq_keep(1)
    assert llm.kv_cache_seq_pos_max(0) == llm.kv_cache_seq_pos_max(2) == -1 < llm.kv_cache_seq_pos_max(1)


@pytest.mark.real
@pytest.mark.row("C-084")
def test_positions_are_shifted(llm: Llama) -> None:
    llm.generate(TEXT, 8)
    end, before = llm.kv_cache_seq_pos_max(), ids(llm)
    llm.kv_cache_seq_add(0, 0, -1, 5)
    assert llm.kv_cache_seq_pos_max() == end + 5
    llm.kv_cache_seq_add(0, 0, -1, -5)
    assert llm.kv_cache_seq_pos_max() == end and ids(llm) == before
    llm.kv_cache_seq_rm(0, 4, 8)  # context shift: what is removed, and what follows it moves up
    llm.kv_cache_seq_add(0, 8, -1, -4)
    assert llm.kv_cache_seq_pos_max() == end - 4
    told = logprobs(llm, " so", reset_kv_cache=False)
    llm.kv_cache_clear()
    fresh = [*before[:4], *before[8:], *llm.tokenize(" so", add_special=False)]
    assert told == pytest.approx(logprobs(llm, fresh), abs=1e-3)
    llm.kv_cache_seq_add(0, 0, -1, -2)
    assert ids(llm)[:3] == fresh[2:5]
    with pytest.raises(ValidationError, match="invalid delta '-2'"):
        llm.kv_cache_seq_add(0, 5, -1, -2)


@pytest.mark.real
@pytest.mark.row("C-081", "C-082", "C-083", "C-084", "C-085", "C-112")
def test_sequences_beyond_the_last_are_refused(llm: Llama) -> None:
    calls = (
        lambda: llm.kv_cache_seq_rm(3),
        lambda: llm.kv_cache_seq_cp(0, 3),
        lambda: llm.kv_cache_seq_cp(-1, 0),
        lambda: llm.kv_cache_seq_keep(3),
        lambda: llm.kv_cache_seq_add(3, 0, 1, 1),
        lambda: llm.kv_cache_seq_pos_max(3),
    )
    for call in calls:
        with pytest.raises(ValidationError, match=r"invalid seq_id '(3|-1)': expected 0 to 2"):
            call()
    assert llm.kv_cache_seq_pos_max(2) == -1


_POSITION = st.integers(-1, 12)
_STEP = st.one_of(
    st.tuples(st.just("append"), st.integers(0, 1), st.integers(0, 5)),
    st.tuples(st.just("remove"), st.integers(0, 1), _POSITION, _POSITION),
    st.tuples(st.just("copy"), st.integers(0, 1), st.integers(0, 1), _POSITION, _POSITION),
    st.tuples(st.just("keep"), st.integers(0, 1)),
    st.tuples(st.just("shift"), st.integers(0, 1), _POSITION, _POSITION, st.integers(-6, 6)),
)


@pytest.mark.row("C-081", "C-082", "C-083", "C-084", "C-085")
@given(st.lists(_STEP, max_size=12))
def test_sequences_are_maps_from_positions_to_tokens(steps: list[tuple[Any, ...]]) -> None:
    sequences, wanted, new = Sequences(2), [{}, {}], iter(range(1000))
    for name, *args in steps:
        if name == "append":
            number, count = args
            tokens = [next(new) for _ in range(count)]
            sequences[number].append(tokens)
            end = max(wanted[number], default=-1)
            wanted[number].update({end + 1 + i: token for i, token in enumerate(tokens)})
            continue
        if name == "keep":
            sequences.keep(args[0])
            wanted[1 - args[0]] = {}
            continue
        first, last = args[1:3] if name == "shift" else args[-2:]
        chosen = {at for at in range(100) if at >= first and (last < 0 or at < last)}
        if name == "remove":
            had = chosen & wanted[args[0]].keys()
            assert sequences.remove(*args) is bool(had)
            wanted[args[0]] = {at: one for at, one in wanted[args[0]].items() if at not in chosen}
        elif name == "copy" and args[0] != args[1]:
            sequences.copy(*args)
            wanted[args[1]] = {at: one for at, one in wanted[args[0]].items() if at in chosen}
        elif name == "shift":
            pairs = [(at + args[3] if at in chosen else at, one) for at, one in wanted[args[0]].items()]
            left = [(at, one) for at, one in pairs if at >= 0]
            if sorted({at for at, _ in left}) == [at for at, _ in left]:
                sequences.shift(*args)
                wanted[args[0]] = dict(left)
            else:
                with pytest.raises(ValidationError, match="invalid delta"):
                    sequences.shift(*args)
        for number, one in enumerate(wanted):
            found = sequences[number]
            assert dict(zip(found.positions, found.ids, strict=True)) == one
            assert found.positions == sorted(one) and found.end == max(one, default=-1)
    packed = sequences.pack(lambda ids: bytes(ids[:1][0] % 7 for _ in ids))
    other = Sequences(2)
    other.unpack(packed, lambda blob: None)
    assert [other[n].positions for n in range(2)] == [sequences[n].positions for n in range(2)]


@pytest.mark.real
@pytest.mark.row("C-010")
def test_closing_an_instance_ends_its_streams(tiny_file: Path) -> None:
    llm = Llama(tiny_file, n_threads=1)
    stream = llm.generate_stream(TEXT, 400)
    next(stream)
    llm.close()
    with pytest.raises(LlamaError):
        for _ in range(1000):
            next(stream)
    assert list(stream) == []
    stream.close()


@pytest.mark.real
@pytest.mark.row("C-076", "C-077", "C-078", "C-079")
def test_a_state_restores_all_sequences(llm: Llama, tiny_file: Path, tmp_path: Path) -> None:
    llm.generate(TEXT, 8)
    llm.kv_cache_seq_cp(0, 1, 0, 6)
    tokens, path = ids(llm), tmp_path / "a.state"
    assert llm.save_state(path) is True and path.stat().st_size > 1000
    data = llm.get_state()
    assert type(data) is bytes and data == path.read_bytes()
    assert ids(llm) == tokens  # saving changes nothing
    said = llm.generate(" so", 8, reset_kv_cache=False)
    with Llama(tiny_file, n_ctx=256, n_seq_max=2, n_threads=1, sampling=GREEDY) as other:
        for load in (lambda: other.load_state(path), lambda: other.set_state(data)):
            other.kv_cache_clear()
            assert load() in (len(tokens) + 6, len(data))
            assert ids(other) == tokens and ids(other, 1) == tokens[:6]
            other.perf_reset()
            assert other.generate(" so", 8, reset_kv_cache=False) == said
            assert other.perf()["n_p_eval"] <= 1 + len(other.tokenize(" so", add_special=False))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.real
@pytest.mark.row("C-076", "C-077", "C-079")
def test_wrong_states_are_refused_and_change_nothing(llm: Llama, tmp_path: Path) -> None:
    llm.generate(TEXT, 8)
    llm.kv_cache_seq_cp(0, 1)
    data, tokens = llm.get_state(), ids(llm)
    chance = random.Random(1)
    wrong = [data[: chance.randrange(len(data))] for _ in range(30)] + [b"", b"x", data + b"x"]
    for _ in range(30):
        flipped = bytearray(data)
        flipped[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        wrong.append(bytes(flipped))
    for one in wrong:
        with pytest.raises(LlamaError):
            llm.set_state(one)
    (tmp_path / "a.state").write_bytes(data[:-1])
    for path in (tmp_path / "a.state", tmp_path / "none", tmp_path):
        with pytest.raises(LlamaError):
            llm.load_state(path)
    for path in (tmp_path / "no folder" / "a", tmp_path):
        with pytest.raises(LlamaError, match="expected a file that can be written"):
            llm.save_state(path)
    make_tiny.transformer("llama", 9).write(tmp_path / "other.gguf")
    with Llama(tmp_path / "other.gguf", n_ctx=256, n_seq_max=3, n_threads=1) as other:
        with pytest.raises(LlamaError, match="the state has model"):
            other.set_state(data)
        with (
            Llama(tmp_path / "other.gguf", n_threads=1) as small,
            pytest.raises(LlamaError, match="n_seq_max"),
        ):
            small.set_state(data)
        assert other.kv_cache_seq_pos_max() == -1
    assert ids(llm) == tokens and llm.set_state(data) == len(data)


@pytest.mark.parametrize(
    "told",
    [
        [],
        {"sequences": [3]},
        {"sequences": [{"tokens": [1], "positions": [], "bytes": 0}]},
        {"sequences": [{"tokens": [1, 2], "positions": [4, 4], "bytes": 0}]},
        {"sequences": [{"tokens": [-1], "positions": [0], "bytes": 0}]},
        {"sequences": [{"tokens": ["a"], "positions": [0], "bytes": 0}]},
        {"sequences": [{"tokens": [], "positions": [], "bytes": -1}]},
        {"sequences": [{"tokens": [], "positions": [], "bytes": 9}]},
    ],
)
def test_a_forged_description_is_refused(told: Any) -> None:
    text = json.dumps(told).encode()
    data = struct.pack("<8sIIQ", b"SOTTOSEQ", 1, zlib.crc32(text), len(text)) + text
    with pytest.raises(LlamaError):
        Sequences(2).unpack(data, lambda blob: None)


@pytest.mark.real
@pytest.mark.row("C-078", "C-079")
def test_an_empty_state_is_a_state(llm: Llama) -> None:
    empty = llm.get_state()
    assert len(empty) > 0
    llm.generate(TEXT, 2)
    assert llm.set_state(empty) == len(empty) and llm.kv_cache_seq_pos_max() == -1


@pytest.mark.real
@pytest.mark.row("C-007", "C-008", "C-009", "C-010", "C-011")
def test_a_closed_instance_answers_no_call(tiny_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Llama(tiny_file, n_threads=1) as llm:
        assert llm.__enter__() is llm
        engine, state, adapterless = llm._engine(), llm.get_state(), "closed" in repr(llm)
    for _ in range(3):
        llm.close()
    assert engine._handle.closed and "closed" in repr(llm) and not adapterless
    calls: list[Any] = [
        lambda: llm.generate("a"),
        lambda: llm.generate_stream("a"),
        lambda: llm("a"),
        lambda: llm.create_chat_completion([{"role": "user", "content": "a"}]),
        lambda: llm.tokenize("a"),
        lambda: llm.detokenize([1]),
        lambda: llm.embed("a"),
        lambda: llm.metadata,
        lambda: llm.set_state(state),
        lambda: llm.load_lora("a"),
        *(getattr(llm, name) for name in ("n_ctx", "n_vocab", "token_bos", "get_chat_template", "reset")),
        *(
            getattr(llm, name)
            for name in ("get_state", "perf", "perf_reset", "clear_lora", "kv_cache_seq_rm")
        ),
    ]
    for call in calls:
        with pytest.raises(LlamaError, match="closed"):
            call()
    opened: list[sotto.Engine] = []

    def failing(self: sotto.Engine, model: str | None = None) -> Any:
        opened.append(self)
        raise sotto.InferenceError("no card")

    monkeypatch.setattr(sotto.Engine, "model_info", failing)
    with pytest.raises(ModelLoadError, match="no card"):
        Llama(tiny_file)
    assert opened[0]._handle.closed
