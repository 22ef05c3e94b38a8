"""`sotto.llama`: text completions, streams and sessions of `Llama`."""

from __future__ import annotations

import gc
import inspect
import itertools
import math
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import make_tiny
import sotto
from sotto.llama import (
    GenerationError,
    Llama,
    LlamaError,
    LlamaGrammar,
    SamplingParams,
    TextStream,
    TokenProb,
    ValidationError,
)

pytestmark = pytest.mark.real

GREEDY = SamplingParams(temperature=0, repeat_penalty=1.0)
GENERATE = {
    "max_tokens": 128,
    "sampling": None,
    "stop": None,
    "echo": False,
    "logprobs": None,
    "stream": False,
    "seed": None,
    "reset_kv_cache": True,
}


@pytest.fixture(scope="module")
def opened() -> Iterator[Llama]:
    with Llama("sotto/house", n_threads=1, sampling=GREEDY) as llm:
        yield llm


@pytest.fixture
def house(opened: Llama) -> Llama:
    """The house model, which answers greedily, with nothing in its KV cache."""
    opened.kv_cache_clear()
    opened.perf_reset()
    return opened


def defaults(function: Any) -> dict[str, Any]:
    """The parameters of a method that have defaults."""
    found = inspect.signature(function).parameters.values()
    return {one.name: one.default for one in found if one.default is not one.empty}


@pytest.mark.row("C-013", "C-015", "C-016", "C-025", "C-032")
def test_signatures_are_those_of_the_reference() -> None:
    assert defaults(Llama.generate) == GENERATE
    streamed = {name: value for name, value in GENERATE.items() if name not in ("echo", "logprobs", "stream")}
    assert defaults(Llama.generate_stream) == streamed
    assert defaults(Llama.generate_async) == GENERATE
    chat = {
        "max_tokens": 128,
        "stream": False,
        "stop": None,
        "response_format": None,
        "grammar": None,
        "tools": None,
        "tool_choice": None,
        "reset_kv_cache": True,
    }
    assert defaults(Llama.create_chat_completion) == chat
    assert defaults(Llama.create_chat_completion_async) == chat


@pytest.mark.row("C-013", "C-019", "C-020", "C-023", "C-026", "C-027")
def test_the_three_results_of_generate_agree(house: Llama) -> None:
    text = house.generate("Hello", max_tokens=12)
    assert isinstance(text, str) and text
    stream = house.generate("Hello", max_tokens=12, stream=True)
    assert isinstance(stream, TextStream)
    parts = list(stream)
    assert len(parts) > 4 and "".join(parts) == text == "".join(house.generate_stream("Hello", 12))
    told = house.generate("Hello", max_tokens=12, logprobs=3)
    assert isinstance(told, dict) and list(told) == ["text", "tokens", "token_probs"]
    assert told["text"] == text == house.detokenize(told["tokens"])
    assert len(told["token_probs"]) == len(told["tokens"])


@pytest.mark.row("C-019")
def test_log_probabilities_are_those_of_the_tokens(house: Llama) -> None:
    told = house.generate("Hello", max_tokens=4, logprobs=20)
    assert isinstance(told, dict)
    for token, one in zip(told["tokens"], told["token_probs"], strict=True):
        assert isinstance(one, TokenProb) and one.token == token and len(one.top_logprobs) == 20
        assert one.top_logprobs[0] == (token, one.logprob)  # greedy
        ordered = [logprob for _, logprob in one.top_logprobs]
        assert ordered == sorted(ordered, reverse=True) and sum(map(math.exp, ordered)) <= 1.0001
    again = house.create_completion("Hello", 4, logprobs=20, temperature=0, repeat_penalty=1.0)
    assert isinstance(again, dict)
    assert again["choices"][0]["logprobs"]["token_logprobs"] == pytest.approx(
        [one.logprob for one in told["token_probs"]], abs=1e-3
    )
    plain = house.generate("Hello", max_tokens=1, logprobs=0)
    assert isinstance(plain, dict) and plain["token_probs"][0].top_logprobs == []


@pytest.mark.row("C-014", "C-015", "C-097")
@pytest.mark.parametrize(
    "wrong",
    [
        {"prompt": ""},
        {"prompt": " \n"},
        {"prompt": None},
        {"prompt": []},
        {"prompt": [1, "a"]},
        {"prompt": [10**6]},
        {"max_tokens": 0},
        {"max_tokens": -1},
        {"max_tokens": 1.5},
        {"stop": [""]},
        {"stop": [None]},
        {"stop": [-1]},
        {"stop": [10**6]},
        {"stop": 1.5},
        {"stop": ["x"] * 17},
        {"logprobs": 21},
        {"logprobs": -1},
        {"logprobs": True},
        {"echo": "yes"},
        {"sampling": {"temperature": 1}},
        {"seed": -2},
        {"stream": True, "logprobs": 1},
    ],
)
def test_wrong_arguments_are_refused_and_block_nothing(house: Llama, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="invalid "):
        house.generate(**{"prompt": "Hello", **wrong})
    assert house.generate("Hello", max_tokens=1)


@pytest.mark.row("C-005", "C-016", "C-021", "C-127", "C-146")
def test_sampling_and_seeds(house: Llama) -> None:
    drawn = SamplingParams(temperature=1.0, seed=5)
    texts = [house.generate("Once", 12, drawn) for _ in range(2)]
    assert texts[0] == texts[1] == house.generate("Once", 12, SamplingParams(temperature=1.0), seed=5)
    assert len({house.generate("Once", 12, drawn, seed=seed) for seed in range(4)}) > 1
    assert house.sampling == GREEDY and drawn.seed == 5
    assert house.generate("Once", 12) == house.generate("Once", 12)
    with Llama("sotto/house", n_threads=1, seed=5, sampling=SamplingParams(temperature=1.0)) as other:
        assert other.generate("Once", 12) == texts[0]


@pytest.mark.row("C-141")
def test_the_least_number_of_candidates_is_kept(house: Llama) -> None:
    def first(min_keep: int) -> int:
        drawn = SamplingParams(temperature=3, top_p=1e-6, min_keep=min_keep, repeat_penalty=1)
        return len({house.generate("Hello", 1, drawn, seed=seed) for seed in range(24)})

    assert first(1) == 1 and 1 < first(4) <= 4


@pytest.mark.row("C-017")
def test_stop_texts_and_stop_tokens_end_an_answer(house: Llama) -> None:
    whole = house.generate("Hello", 12)
    words = whole.split(" ")
    assert len(words) > 4
    stop = f"{words[2]} {words[3]}"[1:]  # within a token, and across a border of two
    cut = whole[: whole.index(stop)]
    for given in (stop, [stop], ["no such text", stop]):
        assert house.generate("Hello", 12, stop=given) == cut
        assert "".join(house.generate_stream("Hello", 12, stop=given)) == cut
    told = house.generate("Hello", 12, logprobs=0)
    assert isinstance(told, dict)
    token = told["tokens"][3]
    before = told["tokens"][: told["tokens"].index(token)]
    house.perf_reset()
    for ids in (token, [token], [token, "no such text"]):
        assert house.generate("Hello", 12, stop=ids) == house.detokenize(before)
        assert "".join(house.generate("Hello", 12, stop=ids, stream=True)) == house.detokenize(before)
    assert house.perf()["n_eval"] < 6 * 8  # the answers ended early
    ended = house.generate("Hello", 12, stop=[token], logprobs=1)
    assert isinstance(ended, dict) and ended["tokens"] == before and len(ended["token_probs"]) == len(before)
    assert house.generate("Hello", 12, stop=[house.token_eos()]) == whole


@pytest.mark.row("C-018")
def test_echo_puts_the_prompt_first(house: Llama) -> None:
    answer = house.generate("Hello", 6)
    assert house.generate("Hello", 6, echo=True) == "Hello" + answer
    assert "".join(house.generate("Hello", 6, echo=True, stream=True)) == "Hello" + answer
    assert house.generate(house.tokenize("Hello"), 6, echo=True) == "Hello" + answer


@pytest.mark.row("C-020", "C-025", "C-026", "C-027")
@pytest.mark.parametrize("way", ["generate", "generate_stream"])
def test_streams_arrive_while_the_answer_is_decoded(real_engine: sotto.Engine, way: str) -> None:
    with Llama("sotto/house", engine=real_engine, sampling=GREEDY) as llm:
        real_engine.set_target_tps(50)
        try:
            began, arrived = time.perf_counter(), []
            stream = llm.generate_stream("Once", 24) if way == "generate_stream" else None
            for _ in stream or llm.generate("Once", 24, stream=True):  # type: ignore[union-attr]
                arrived.append(time.perf_counter() - began)
        finally:
            real_engine.set_target_tps(0)
    assert len(arrived) > 8 and arrived[0] < arrived[-1] / 2


@pytest.mark.row("C-023")
def test_a_stream_is_closed_or_dropped_early(house: Llama) -> None:
    with house.generate_stream("Once", 1000) as stream:
        first = next(stream)
        with pytest.raises(LlamaError, match="still being read"):
            house.generate("Hello", 1)
    assert first and list(stream) == []
    stream.close()
    dropped = house.generate_stream("Once", 1000)
    next(dropped)
    del dropped
    gc.collect()
    assert house.generate("Hello", 1)
    kept = itertools.islice(house.generate_stream("Once", 1000), 3)
    assert len(list(kept)) == 3
    del kept
    gc.collect()
    assert house.generate("Hello", 1)


def test_chunks_are_whole_characters(tmp_path: Path) -> None:
    make_tiny.transformer("llama", 1, spelling="bytes").write(tmp_path / "bytes.gguf")
    grammar = LlamaGrammar.from_string('root ::= "\\U0001F600é\\U0001F600"')
    with Llama(tmp_path / "bytes.gguf", n_threads=1) as llm:
        parts: list[str] = []
        for chunk in llm.create_completion("a", grammar=grammar, stream=True):
            assert isinstance(chunk, dict)
            parts += [chunk["choices"][0]["text"]]
        assert "".join(parts) == "😀é😀" and len([part for part in parts if part]) == 3
        assert len(llm.tokenize("😀", add_special=False)) == 4


@pytest.mark.row("C-022", "C-028")
def test_a_session_continues_where_it_ended(open_house: Callable[..., sotto.Engine]) -> None:
    engine = open_house(deterministic=True)  # a KV cache of prefill and one of decoding differ by rounding
    with Llama("sotto/house", engine=engine, sampling=GREEDY) as llm:
        llm.generate("Once upon a time", 8)
        told = [llm.kv_cache_seq_pos_max()]
        for prompt in (" and then", " so"):
            text = llm.generate(prompt, 8, reset_kv_cache=False)
            told.append(llm.kv_cache_seq_pos_max())
            assert told[-1] > told[-2] + len(llm.tokenize(prompt))
        whole = list(llm._sequences[0].ids)
        answer = llm.tokenize(text)
        assert whole[-len(answer) :] == answer and told[-1] == len(whole) - 1
        assert llm.generate(whole[: -len(answer)], len(answer)) == text
        assert llm.kv_cache_seq_pos_max() == told[-1]
        llm.generate("Hello", 2)
        assert llm.kv_cache_seq_pos_max() == 2


@pytest.mark.row("C-028")
def test_a_session_prefills_only_what_is_new(house: Llama) -> None:
    house.generate("Once upon a time", 8)
    for prompt in (" and then", " so"):
        house.perf_reset()
        house.generate(prompt, 8, reset_kv_cache=False)
        new = len(house.tokenize(prompt))
        # the last token of an answer that max_tokens cut was not evaluated
        assert house.perf()["n_p_eval"] in (new, new + 1)


@pytest.mark.row("C-028")
def test_a_closed_stream_leaves_what_was_read_of_it(house: Llama) -> None:
    stream = house.generate_stream("Hello", 100)
    for _ in range(3):
        next(stream)
    stream.close()
    assert house.kv_cache_seq_pos_max() == len(house.tokenize("Hello")) + 3 - 1
    assert house.generate(" there", 4, reset_kv_cache=False)


def test_a_full_context_ends_a_session(tiny_file: Path) -> None:
    with Llama(tiny_file, n_ctx=64, n_threads=1, sampling=GREEDY) as llm:
        llm.generate("hello there", 20)
        before = llm.kv_cache_seq_pos_max()
        with pytest.raises(GenerationError, match="context holds 64"):
            llm.generate("hello there " * 10, 20, reset_kv_cache=False)
        assert llm.kv_cache_seq_pos_max() == before
        assert llm.generate("hello", 4, reset_kv_cache=False)
        with pytest.raises(GenerationError, match="context holds 64"):
            llm.generate("hello there " * 20)
        told = llm("hello", None, ignore_eos=True)
        assert isinstance(told, dict) and told["choices"][0]["finish_reason"] == "length"


@pytest.mark.row("C-006", "C-034")
def test_completions_have_openai_s_shape(house: Llama) -> None:
    told = house("Hello", max_tokens=6, temperature=0)
    assert isinstance(told, dict) and told["object"] == "text_completion" and told["id"].startswith("cmpl-")
    assert told["model"] == "house" and isinstance(told["created"], int)
    (choice,) = told["choices"]
    assert choice["finish_reason"] == "length" and choice["index"] == 0 and choice["logprobs"] is None
    assert told["usage"] == {"prompt_tokens": 1, "completion_tokens": 6, "total_tokens": 7}
    chunks: list[Any] = list(house.create_completion("Hello", 6, stream=True, temperature=0, echo=True))
    assert "".join(one["choices"][0]["text"] for one in chunks) == "Hello" + choice["text"]
    assert [one["choices"][0]["finish_reason"] for one in chunks][-1] == "length"
    assert {one["object"] for one in chunks} == {"text_completion"}
    cut = house("Hello", stop=[house.tokenize(choice["text"])[2]], temperature=0, model="npc")
    assert isinstance(cut, dict) and cut["model"] == "npc"
    assert cut["choices"][0]["finish_reason"] == "stop" and cut["usage"]["completion_tokens"] == 2
    with pytest.raises(ValidationError, match="invalid keyword 'temprature'"):
        house("Hello", temprature=1)
    with pytest.raises(ValidationError, match="invalid temperature 'nan'"):
        house("Hello", temperature=float("nan"))


@pytest.mark.row("C-148", "C-150", "C-151")
def test_a_grammar_holds_and_draws_by_probability(house: Llama, tiny_file: Path) -> None:
    grammar = LlamaGrammar.from_string('root ::= "yes" | "no"')
    with Llama(tiny_file, n_threads=1) as tiny:
        for llm in (house, tiny):
            said = [llm("Hello", grammar=grammar, seed=seed, temperature=1.0) for seed in range(25)]
            texts = {one["choices"][0]["text"] for one in said if isinstance(one, dict)}
            assert texts <= {"yes", "no"}
    told = house.generate("Hello", 1, logprobs=20)
    assert isinstance(told, dict)
    near = {house.token_to_piece(token): math.exp(p) for token, p in told["token_probs"][0].top_logprobs}
    likely = near["!"] / (near["!"] + near["."])
    either = LlamaGrammar.from_string('root ::= "!" | "."')
    plain = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "repeat_penalty": 1.0}
    drawn = Counter(_text(house("Hello", grammar=either, seed=seed, **plain)) for seed in range(200))
    deviation = math.sqrt(200 * likely * (1 - likely))
    assert abs(drawn["!"] - 200 * likely) < 4 * deviation and drawn["!"] + drawn["."] == 200
    regex = LlamaGrammar.from_regex(r"\d{2}-(a|b)")
    assert re.fullmatch(r"\d{2}-[ab]", _text(house("Hello", grammar=regex)))
    lark = LlamaGrammar.from_lark('%import common.DIGIT\nstart: DIGIT~2 "-" ("a" | "b"i)')
    assert re.fullmatch(r"\d{2}-[abB]", _text(house("Hello", grammar=lark)))
    for wrong in (LlamaGrammar.from_string('root ::= "a'), LlamaGrammar.from_json_schema({"type": "strnig"})):
        with pytest.raises(ValidationError, match="invalid"):
            house("Hello", grammar=wrong)


def _text(told: Any) -> str:
    return str(told["choices"][0]["text"])


@pytest.mark.row("C-202", "C-204", "C-206")
def test_threads_take_turns_on_one_instance_and_go_together_on_two(tiny_file: Path) -> None:
    with Llama(tiny_file, n_threads=1, sampling=GREEDY) as llm:
        wanted = [llm.generate(f"hello {i}", 8) for i in range(4)]
        said: dict[int, str] = {}

        def ask(i: int) -> None:
            said[i] = llm.generate(f"hello {i}", 8)

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join(60)
        assert [said[i] for i in range(4)] == wanted
        with Llama(tiny_file, n_threads=1, sampling=GREEDY) as other:
            first, second = llm.generate_stream("a", 100), other.generate_stream("a", 100)
            assert [next(first), next(second)] and list(first) == list(second)
