"""The files that a `Runner` loads: adapters, drafts, templates, quantization, embeddings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import make_tiny
from runner_house import HOUSE, OPTIONS, chat, said, text, write, write_models
from sotto._gguf import read_values
from sotto.runner import (
    ChatCompletionRequest,
    EmbeddingRequest,
    LoraAdapter,
    Runner,
    RunnerError,
    Which,
)
from sotto.runner.quants import quant_of
from sotto.runner.tokens import token_of

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three models of random weights, and two adapters of the first."""
    return write_models(tmp_path_factory.mktemp("models"))


@pytest.mark.row("E-210", "E-265", "E-266", "E-267")
def test_files_that_are_not_there(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(RunnerError, match=r"'4\.gguf': .*1\.gguf, 2\.gguf"):
        Runner(Which.GGUF(str(folder), "4.gguf"))
    with pytest.raises(RunnerError, match="quantized_model_id"):
        Runner(Which.GGUF(str(tmp_path / "none"), "4.gguf"))
    with pytest.raises(RunnerError, match="does not exist"):
        Runner(Which.GGUF("sotto/nothing", "a.gguf"))
    for names in ([], ["1.gguf", "2.gguf"], "", "a\0b"):
        with pytest.raises(RunnerError, match="quantized_filename"):
            Runner(Which.GGUF(str(folder), names))
    for name in ("", "proxy::npc", "a\0b"):
        with pytest.raises(RunnerError, match="quantized_model_id"):
            Runner(Which.GGUF(name, "1.gguf"))
    (tmp_path / "bad.gguf").write_bytes(b"GGUF" + b"\xff" * 99)
    with pytest.raises(RunnerError, match=r"bad\.gguf"):
        Runner(Which.GGUF(str(tmp_path), "bad.gguf"))
    with Runner(Which.GGUF(str(folder), ["1.gguf"])) as runner:
        assert text(runner)


@pytest.mark.row("E-140", "E-168", "E-279", "E-297", "E-300", "E-301", "E-372")
def test_adapters(folder: Path, tmp_path: Path) -> None:
    paths = {name: str(folder / f"a{name}.gguf") for name in ("11", "12")}
    adapters = [LoraAdapter(name, path) for name, path in paths.items()]
    with Runner(Which.GGUF(str(folder), "1.gguf", adapters=adapters)) as runner:
        texts = [text(runner), text(runner, adapter="11"), text(runner, adapter="12")]
        assert len(set(texts)) == 3
        runner.unload_model(str(folder))
        assert text(runner, adapter="12") == texts[2]
        with pytest.raises(RunnerError, match="none"):
            text(runner, adapter="none")
        asked = ChatCompletionRequest(
            [{"role": "user", "content": "hi"}], "default", max_tokens=6, adapter="11"
        )
        assert runner.send_chat_completion_request(asked) != chat(runner, [{"role": "user", "content": "hi"}])
    with Runner(Which.LoraGGUF(str(folder), "1.gguf", paths["11"], "")) as runner:
        assert text(runner) == texts[1]
    order = tmp_path / "order.json"
    order.write_text('{"order": ["a12.gguf"]}')
    with Runner(Which.LoraGGUF(str(folder), "1.gguf", str(folder), str(order))) as runner:
        assert text(runner) == texts[2]
    for wrong in ("{", "{}", '{"order": [3]}', '{"order": []}', '{"order": 3}', "[]"):
        order.write_text(wrong)
        with pytest.raises(RunnerError, match="invalid order"):
            Runner(Which.LoraGGUF(str(folder), "1.gguf", str(folder), str(order)))
    with pytest.raises(RunnerError, match="invalid adapter"):
        Runner(Which.LoraGGUF(str(folder), "1.gguf", str(tmp_path / "none"), ""))
    with pytest.raises(RunnerError, match="adapter"):  # of another model; nothing stays loaded
        Runner(Which.LoraGGUF(str(folder), "1.gguf", str(folder / "2.gguf"), ""))


@pytest.mark.row("E-008", "E-009")
@pytest.mark.parametrize("gamma", [1, 4, 32])
def test_a_draft_model_changes_no_text(gamma: int) -> None:
    with Runner(HOUSE, options=OPTIONS) as plain:
        expected = said(chat(plain, max_tokens=24))
    with Runner(HOUSE, speculative_gamma=gamma, which_draft=HOUSE, options=OPTIONS) as runner:
        assert said(chat(runner, max_tokens=24)) == expected
        stats = runner._loader.engine.stats()
        assert stats.draft_accepted > 0 and stats.draft_tokens <= stats.draft_steps * min(gamma, 15)


@pytest.mark.row("E-008")
def test_a_wrong_draft(folder: Path) -> None:
    with pytest.raises(RunnerError, match=r"vocabulary|draft"):
        Runner(HOUSE, which_draft=Which.GGUF(str(folder), "1.gguf"), options=OPTIONS)
    with pytest.raises(RunnerError, match="speculative_gamma"):
        Runner(HOUSE, speculative_gamma=0, which_draft=HOUSE)
    with Runner(HOUSE, speculative_gamma=0, options=OPTIONS) as runner:  # ignored without a draft model
        assert write(runner).choices[0].text


# Templates


@pytest.mark.row("E-010", "E-011")
def test_chat_templates(folder: Path, tmp_path: Path) -> None:
    def tokens(which: Which, **fields: Any) -> int:
        with Runner(which, **fields) as runner:
            asked = [{"role": "user", "content": "hi"}]
            return chat(runner, asked, max_tokens=1).usage.prompt_tokens

    bare = make_tiny.transformer("llama", 1)
    bare.values = [one for one in bare.values if b"tokenizer.chat_template" not in one[:40]]
    bare.write(tmp_path / "bare.gguf")
    one = Which.GGUF(str(tmp_path), "bare.gguf")
    (tmp_path / "t.json").write_text('{"chat_template": "hello there, you"}')
    (tmp_path / "t.jinja").write_text("x")
    with pytest.raises(RunnerError, match="no chat template"):
        tokens(one)
    literal = tokens(one, chat_template="hello there")
    assert tokens(one, chat_template=str(tmp_path / "t.json")) > literal
    house = tokens(HOUSE)
    assert tokens(HOUSE, chat_template="x") == house  # it has a template of its own
    explicit = {"jinja_explicit": str(tmp_path / "t.jinja"), "chat_template": "hello there"}
    assert tokens(HOUSE, **explicit) < house and tokens(one, **explicit) < literal
    with pytest.raises(RunnerError, match="jinja_explicit"):
        Runner(HOUSE, jinja_explicit=str(tmp_path / "none"))
    for wrong in ("{", "{}", "[]", '{"chat_template": 3}'):
        (tmp_path / "t.json").write_text(wrong)
        with pytest.raises(RunnerError, match="invalid chat_template"):
            Runner(HOUSE, chat_template=str(tmp_path / "t.json"))
    with pytest.raises(RunnerError, match="template"):
        Runner(one, chat_template="{% if %}")


# Quantization


@pytest.mark.row("E-013", "E-063")
def test_types_of_quantization() -> None:
    assert [quant_of("t", one) for one in ("Q4K", "q8_0", "4", "Q5_1")] == [
        "Q4_K_M",
        "Q8_0",
        "Q4_K_M",
        "Q5_1",
    ]
    for wrong in ("Q9", "K", "q4 k"):
        with pytest.raises(RunnerError, match=r"invalid t .*Q4_0, .*Q2K"):
            quant_of("t", wrong)
    with pytest.raises(ValueError, match="invalid t"):
        quant_of("t", "")
    with pytest.raises(TypeError, match="in_situ_quant"):
        Runner(HOUSE, in_situ_quant=4)  # type: ignore[arg-type]


@pytest.mark.row("E-013", "E-062", "E-064", "E-065")
def test_a_gguf_file_is_quantized_in_situ(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOTTO_MODEL_DIR", str(tmp_path))
    which = Which.GGUF(str(folder), "1.gguf")
    with Runner(which, in_situ_quant="Q8_0", alias="one") as runner:
        (made,) = tmp_path.glob("*.gguf")
        assert made.name.startswith("1-") and made.name.endswith("-Q8_0.gguf")
        assert read_values(made, ("general.file_type",)) == {"general.file_type": 7}
        before, time_ = text(runner), made.stat().st_mtime_ns
        runner.send_re_isq("Q4K")  # nothing happens to a GGUF file
        runner.send_re_isq("Q4K", "one")
        assert text(runner) == before and list(tmp_path.glob("*.gguf")) == [made]
        with pytest.raises(ValueError, match="invalid dtype 'zz'"):
            runner.send_re_isq("zz")
    with Runner(which, in_situ_quant="Q8_0"):
        assert made.stat().st_mtime_ns == time_  # from the cache
    with pytest.raises(RunnerError, match="quantized"):
        Runner(Which.GGUF(str(tmp_path), made.name), in_situ_quant="Q4_0")


# Tokens of the hub


@pytest.mark.row("E-007")
def test_sources_of_the_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOTTO_TEST_TOKEN", "hf_env")
    (tmp_path / "token").write_text("hf_path\n")
    (tmp_path / "empty").write_text(" ")
    assert token_of("literal:hf_a:b") == "hf_a:b"
    assert token_of("env:SOTTO_TEST_TOKEN") == "hf_env"
    assert token_of(f"path:{tmp_path / 'token'}") == "hf_path"
    assert token_of("cache") == "cache" and token_of("none") is None
    for wrong in (
        "zzz",
        "env:",
        "env:SOTTO_NO_SUCH",
        f"path:{tmp_path / 'none'}",
        f"path:{tmp_path / 'empty'}",
    ):
        with pytest.raises(RunnerError, match="token_source"):
            Runner(HOUSE, token_source=wrong)
    with pytest.raises(RunnerError) as told:
        Runner(HOUSE, token_source="litteral:hf_secret")
    assert "hf_secret" not in str(told.value)


@pytest.mark.row("E-038", "E-039", "E-170", "E-171")
def test_embeddings(folder: Path) -> None:
    with Runner(Which.GGUF(str(folder), "1.gguf"), options={"pooling": "mean"}, alias="one") as runner:
        tokens = runner.tokenize_text("hello there", True, None)
        inputs: list[Any] = ["hello there", ["hello there", "bye"], tokens, [tokens, tokens]]
        found = [runner.send_embedding_request(EmbeddingRequest(one)) for one in inputs]
        assert [len(one) for one in found] == [1, 2, 1, 2]
        assert abs(sum(value * value for value in found[0][0]) - 1) < 1e-3
        assert found[0][0] == pytest.approx(found[2][0], abs=1e-3)
        assert found[0][0] == pytest.approx(found[1][0], abs=1e-3)
        assert found[3][0] == pytest.approx(found[3][1], abs=1e-3)
        assert runner.send_embedding_request(EmbeddingRequest("hello there"), "one") == found[0]
        for empty in ("", [], [[]]):
            with pytest.raises(ValueError, match="input"):
                runner.send_embedding_request(EmbeddingRequest(empty))
        with pytest.raises(TypeError, match="input"):
            EmbeddingRequest(3.5)  # type: ignore[arg-type]
        long = "hello there " * 600
        with pytest.raises(RunnerError, match="tokens"):
            runner.send_embedding_request(EmbeddingRequest(long))
        assert len(runner.send_embedding_request(EmbeddingRequest(long, truncate_sequence=True))) == 1
    with Runner(HOUSE, options=OPTIONS) as runner, pytest.raises(RunnerError, match="embed"):
        runner.send_embedding_request(EmbeddingRequest("x"))


def test_a_draft_is_not_for_a_model_that_embeds(tmp_path: Path) -> None:
    model = make_tiny.transformer("llama", 1)
    model.values_of(make_tiny.UINT32, pooling_type=1)
    model.write(tmp_path / "embeds.gguf")
    write_models(tmp_path)
    draft = Which.GGUF(str(tmp_path), "2.gguf")
    with Runner(Which.GGUF(str(tmp_path), "1.gguf"), which_draft=draft, speculative_gamma=2) as runner:
        runner.add_model(Which.GGUF(str(tmp_path), "embeds.gguf"), "embeds")
        assert len(runner.send_embedding_request(EmbeddingRequest("hello there"), "embeds")) == 1
        assert text(runner)
