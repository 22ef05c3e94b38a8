"""`sotto.llama`: what tools of llama-cpp-python use beside completions: steps, criteria, states in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import make_tiny
from sotto.llama import (
    ContextError,
    GenerationError,
    Llama,
    LlamaConfig,
    ModelLoadError,
    SamplingParams,
    StoppingCriteriaList,
    ValidationError,
)

pytestmark = pytest.mark.real

GREEDY = SamplingParams(temperature=0, repeat_penalty=1.0)
TEXT = "Once upon a time"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "tiny.gguf"
    make_tiny.transformer("llama", 1).write(path)
    return path


@pytest.fixture
def llm(tiny: Path) -> Iterator[Llama]:
    with Llama(tiny, n_ctx=128, n_threads=1, sampling=GREEDY) as opened:
        yield opened


def test_sampled_tokens_are_those_of_a_completion(llm: Llama) -> None:
    wanted = llm.generate(TEXT, 6, logprobs=0)["tokens"]
    llm.reset()
    llm.eval(llm.tokenize(TEXT))
    made = []
    for _ in range(6):
        assert llm.sample(temp=0.0) == llm.sample(temp=0.0)  # leaves the sequence as it is
        made.append(llm.sample(temp=0.0, top_k=40, penalize_nl=True))
        llm.eval(made[-1:])
    assert made == wanted
    assert llm.kv_cache_seq_pos_max() == len(llm.tokenize(TEXT)) + 5


def test_sampling_follows_grammars_and_seeds(llm: Llama) -> None:
    llm.eval(llm.tokenize(TEXT))
    piece = llm.token_to_piece(llm.sample(grammar='root ::= "yes" | "no"'))
    assert "yes".startswith(piece) or "no".startswith(piece)
    drawn = [llm.sample(temp=2.0, top_k=0, top_p=1.0, min_p=0.0, seed=seed) for seed in (*range(20), 0)]
    assert drawn[0] == drawn[-1] and len(set(drawn)) > 1


def test_steps_refuse_what_is_wrong(llm: Llama) -> None:
    with pytest.raises(ValidationError, match="call eval"):
        llm.sample()
    for wrong in ([], "text", [True], None):
        with pytest.raises(ValidationError):
            llm.eval(wrong)  # type: ignore[arg-type]
    with pytest.raises(ContextError, match="cut the sequence"):
        llm.eval([5] * 128)
    with pytest.raises(ValidationError, match="temperature"):
        llm.sample(temp=-1.0)
    llm.eval([5, 6])  # the turn was given back
    assert isinstance(llm.sample(), int)


@pytest.mark.parametrize("stream", [False, True])
def test_criteria_end_a_completion(llm: Llama, stream: bool) -> None:
    prompt = llm.tokenize(TEXT)
    seen: list[list[int]] = []

    def long(tokens: list[int], logits: None) -> bool:
        seen.append(tokens)
        return len(tokens) >= len(prompt) + 3

    whole = llm.generate(TEXT, 8, logprobs=0)
    told = llm.create_completion(
        TEXT, max_tokens=8, stopping_criteria=StoppingCriteriaList([long]), stream=stream
    )
    chunks = list(told) if stream else [told]
    assert "".join(one["choices"][0]["text"] for one in chunks) == llm.detokenize(whole["tokens"][:3])
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert seen[0] == prompt and seen[-1] == [*prompt, *whole["tokens"][:3]]
    assert llm.create_completion(TEXT, max_tokens=8, stopping_criteria=lambda *_: False)["usage"] == {
        "prompt_tokens": len(prompt),
        "completion_tokens": 8,
        "total_tokens": len(prompt) + 8,
    }


def test_states_can_stay_in_memory(llm: Llama) -> None:
    llm.generate(TEXT, 4)
    state = llm.save_state()
    said = llm.generate(" and", 6, reset_kv_cache=False)
    llm.reset()
    assert llm.load_state(state) == len(llm.tokenize(TEXT)) + 4
    assert llm.generate(" and", 6, reset_kv_cache=False) == said


def test_text_of_tokens_also_decodes(llm: Llama) -> None:
    tokens = llm.tokenize(TEXT)
    text = llm.detokenize(tokens)
    assert text == TEXT == text.decode("utf-8", errors="ignore") and isinstance(text, str)
    assert llm.detokenize(tokens, special=True) == "<s>" + TEXT
    assert llm.detokenize(tokens, special=False) == TEXT


def test_log_probabilities_tell_where_tokens_are(llm: Llama) -> None:
    told = llm.create_completion(TEXT, max_tokens=4, logprobs=1)["choices"][0]
    whole = TEXT + told["text"]
    places = told["logprobs"]["text_offset"]
    assert [whole[at:].startswith(one) for at, one in zip(places, told["logprobs"]["tokens"], strict=True)]
    assert places[0] == len(TEXT)
    chunks = llm.create_completion(TEXT, max_tokens=4, logprobs=1, stream=True)
    found = [one["choices"][0]["logprobs"] for one in chunks]
    assert [at for one in found if one for at in one["text_offset"]] == places


def test_errors_are_value_errors_as_in_llama_cpp_python(llm: Llama, tmp_path: Path) -> None:
    long = "word " * 300
    for ask in (
        lambda: llm(long, max_tokens=1),
        lambda: llm.create_chat_completion([{"role": "user", "content": long}], max_tokens=1),
    ):
        with pytest.raises(ContextError) as caught:
            ask()
        assert isinstance(caught.value, ValueError) and isinstance(caught.value, GenerationError)
    with pytest.raises(ValueError, match="nowhere") as failed:
        Llama(tmp_path / "nowhere.gguf")
    assert isinstance(failed.value, ModelLoadError)


def test_pooling_changes_embeddings(tiny: Path) -> None:
    found = {}
    for pooling in (-1, 1, 2, 3):
        with Llama(tiny, n_ctx=64, n_threads=1, embeddings=True, pooling_type=pooling) as llm:
            found[pooling] = tuple(llm.embed(TEXT))
    assert found[-1] == found[1] and len(set(found.values())) == 3
    for wrong in (0, 4, "mean"):
        with pytest.raises(ValidationError, match="pooling_type"):
            LlamaConfig("a.gguf", pooling_type=wrong)  # type: ignore[arg-type]
