"""`sotto.llama`: tokens, facts about the model and embeddings of `Llama`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import make_tiny
import sotto
from gguf_file import STRING
from sotto._gguf import read_values
from sotto.llama import Llama, ValidationError

pytestmark = pytest.mark.real

TEXT = "hello there, king"


@pytest.fixture(scope="module")
def llm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Llama]:
    """A model of random weights, with a second chat template."""
    file = make_tiny.transformer("llama", 1)
    file.value("tokenizer.chat_template.tool_use", STRING, "{{ messages[0].content }}")
    path = tmp_path_factory.mktemp("facts") / "facts.gguf"
    file.write(path)
    with Llama(path, n_threads=1, embeddings=True) as llm:
        yield llm


@pytest.mark.row("C-055", "C-056", "C-057", "C-058", "C-059", "C-061", "C-062", "C-123", "C-124")
def test_texts_become_tokens_and_texts_again(llm: Llama, tiny_file: Path) -> None:
    plain = llm.tokenize(TEXT, add_special=False)
    bos = llm.token_bos()
    assert llm.tokenize(TEXT) == [bos, *plain] == llm.tokenize(TEXT, True) and bos not in plain
    assert llm.detokenize([bos, *plain]) == TEXT == llm.detokenize(plain)
    assert llm.detokenize([bos, *plain], unparse_special=True) == TEXT
    assert llm.detokenize([bos, *plain], remove_special=False, unparse_special=True) == "<s>" + TEXT
    marked = "<|im_end|>hello"
    assert llm.tokenize(marked, False, True)[0] == llm.token_eot() not in llm.tokenize(marked, False, False)
    assert llm.tokenize(marked) == llm.tokenize(marked, True, False)
    assert llm.tokenize("", add_special=False) == [] and llm.tokenize("") == [bos]
    for text in ("é😀\n\t", "  two  spaces ", "a\0b"):
        assert llm.detokenize(llm.tokenize(text)) == text
    with Llama(tiny_file, n_threads=1, add_bos=False, parse_special=True) as other:
        assert other.tokenize(TEXT) == plain and other.tokenize(TEXT, True) == [bos, *plain]
        assert other.tokenize(marked)[0] == llm.token_eot() != other.tokenize(marked, parse_special=False)[0]
        assert other.generate("hello", 1, seed=1) and other.kv_cache_seq_pos_max() == other.n_tokens("hello")


@pytest.mark.row("C-006", "C-056")
def test_calls_in_the_style_of_llama_cpp_python(llm: Llama) -> None:
    plain = llm.tokenize(TEXT, add_special=False)
    assert llm.tokenize(TEXT.encode(), add_bos=False, special=False) == plain
    assert llm.tokenize(TEXT.encode(), add_bos=True) == [llm.token_bos(), *plain]
    assert llm.detokenize([llm.token_eot()], special=True) == "<|im_end|>"
    for wrong in (None, 3, b"\xff"):
        with pytest.raises(ValidationError, match="invalid text"):
            llm.tokenize(wrong)  # type: ignore[arg-type]


@pytest.mark.row("C-060")
def test_tokens_are_checked(llm: Llama) -> None:
    assert llm.detokenize([]) == "" and llm.detokenize(iter(llm.tokenize("a"))) == "a"
    for wrong in ([llm.n_vocab()], [-1], ["a"], [1.5]):
        with pytest.raises(ValidationError, match="invalid"):
            llm.detokenize(wrong)  # type: ignore[arg-type]


@pytest.mark.row("C-063", "C-075")
def test_tokens_are_counted_and_have_texts(llm: Llama) -> None:
    assert llm.n_tokens(TEXT, add_special=True) == llm.n_tokens(TEXT) + 1 == len(llm.tokenize(TEXT))
    tokens = llm.tokenize("<|im_end|>hello", True, True)
    assert (
        "".join(map(llm.token_to_piece, tokens))
        == llm.detokenize(tokens, False, True)
        == "<s><|im_end|>hello"
    )


@pytest.mark.row("C-064", "C-065", "C-066")
def test_special_tokens(llm: Llama) -> None:
    told = read_values(llm.config.model_path, ("tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id"))
    assert llm.metadata["tokenizer.ggml.bos_token_id"] == str(llm.token_bos()) == "1"
    assert llm.metadata["tokenizer.ggml.eos_token_id"] == str(llm.token_eos()) == "2"
    assert llm.token_to_piece(llm.token_eot()) == "<|im_end|>" and llm.token_to_piece(llm.token_nl()) == "\n"
    assert set(told.values()) <= {1, 2}
    with Llama("sotto/house", n_threads=1) as house:
        assert (house.token_bos(), house.token_eos(), house.token_eot()) == (1, 2, 2)
        assert house._special("mask") == -1


@pytest.mark.row("C-067", "C-068", "C-069", "C-070", "C-071", "C-072", "C-109")
def test_sizes_are_those_that_the_file_was_written_with(llm: Llama, tiny_file: Path) -> None:
    file = make_tiny.transformer("llama", 1)
    numbers = sum(math.prod(shape) for _, shape, _, _ in file.tensors)
    assert (llm.n_embd(), llm.n_layer(), llm.n_ctx()) == (
        make_tiny.WIDTH,
        make_tiny.LAYERS,
        make_tiny.CONTEXT,
    )
    assert llm.n_params() == numbers and llm.model_size() == 4 * numbers
    (shape,) = {shape for name, shape, _, _ in file.tensors if name == "token_embd.weight"}
    assert llm.n_vocab() == shape[1]
    with Llama(tiny_file, n_ctx=100, n_threads=1) as other:
        assert other.n_ctx() == 100


@pytest.mark.row("C-073", "C-074")
def test_metadata_and_templates(llm: Llama) -> None:
    keys = ("general.architecture", "general.name", "llama.context_length", "llama.block_count")
    told = read_values(llm.config.model_path, keys)
    assert {key: llm.metadata[key] for key in keys} == {key: str(value) for key, value in told.items()}
    assert llm.metadata is llm.metadata
    assert "message" in llm.get_chat_template() and llm.get_chat_template("no such") == ""
    assert llm.get_chat_template("tool_use") == "{{ messages[0].content }}"


@pytest.mark.row("C-110", "C-115", "C-121")
def test_options_of_speed_change_no_answer(tiny_file: Path) -> None:
    def first(**options: Any) -> list[float]:
        with Llama(tiny_file, n_threads=1, **options) as llm:
            told = llm.generate("hello there, the king " * 4, 1, logprobs=20)
        assert isinstance(told, dict)
        return [logprob for _, logprob in told["token_probs"][0].top_logprobs]

    wanted = first()
    for options in (
        {"n_batch": 1},
        {"n_batch": 7},
        {"n_gpu_layers": 0},
        {"flash_attn": 0},
        {"flash_attn": -1},
    ):
        assert first(**options) == pytest.approx(wanted, abs=1e-3)


@pytest.mark.row("C-113")
@pytest.mark.parametrize("threads", [1, 2])
def test_threads_are_as_many_as_allowed(tiny_file: Path, threads: int) -> None:
    tasks = Path("/proc/self/task")
    if not tasks.exists():
        pytest.skip("no /proc on this system")

    def computing() -> list[str]:
        names = [(task / "comm").read_text().strip() for task in tasks.iterdir()]
        return [name for name in names if name == "sotto-compute"]

    before = len(computing())
    with Llama(tiny_file, n_threads=threads) as llm:
        llm.generate("hello there, the king", 8)
        assert len(computing()) == before + threads


@pytest.mark.row("C-118")
@pytest.mark.parametrize("mapped", [True, False])
def test_a_file_is_mapped_or_read(tiny_file: Path, mapped: bool) -> None:
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("no /proc on this system")
    with Llama(tiny_file, n_threads=1, use_mmap=mapped):
        assert (str(tiny_file) in maps.read_text()) is mapped


@pytest.mark.row("C-048", "C-049", "C-050", "C-052", "C-122")
def test_texts_are_embedded(llm: Llama) -> None:
    told = llm.create_embedding(["hello", "king"])
    assert told["object"] == "list" and told["model"] == "facts.gguf" and told["usage"]["prompt_tokens"] > 2
    assert [one["index"] for one in told["data"]] == [0, 1]
    assert [len(one["embedding"]) for one in told["data"]] == [llm.n_embd()] * 2
    assert llm.embed("hello") == pytest.approx(told["data"][0]["embedding"], abs=1e-4)
    assert llm.embed(["hello", "king"])[1] == pytest.approx(told["data"][1]["embedding"], abs=1e-4)
    one = llm.create_embedding("hello", model="npc")
    assert len(one["data"]) == 1 and one["model"] == "npc"
    with sotto.Engine(mode="prioritize_compute", threads=1) as engine:
        engine.load_model("embeds", path=llm.config.model_path, options={"pooling": "mean"})
        (vector,) = engine.embeddings("hello").vectors
    length = math.sqrt(sum(value * value for value in llm.embed("hello")))  # type: ignore[operator, misc]
    assert [value / length for value in llm.embed("hello")] == pytest.approx(vector, abs=1e-4)  # type: ignore[operator]
    assert llm.generate("hello", 2)
    for wrong in (None, 3, [1], [["a"]]):
        with pytest.raises(ValidationError, match="invalid input"):
            llm.create_embedding(wrong)  # type: ignore[arg-type]


@pytest.mark.row("C-054", "C-122")
def test_without_the_option_no_text_is_embedded(tiny_file: Path) -> None:
    with Llama(tiny_file, n_threads=1) as llm:
        for call in (llm.embed, llm.create_embedding):
            with pytest.raises(ValidationError, match="expected True in LlamaConfig"):
                call("a")
