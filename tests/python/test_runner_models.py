"""The models of a `Runner`: routing, statuses, unloading, and loading again on request."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import make_tiny
import sotto
from make_adapter import write_gguf
from runner_house import HOUSE, OPTIONS, chat, said, write
from sotto._gguf import read_values
from sotto.runner import (
    ChatCompletionRequest,
    CompletionRequest,
    EmbeddingRequest,
    LoraAdapter,
    PagedCacheType,
    Runner,
    RunnerError,
    TextAutoMapParams,
    Which,
)
from sotto.runner.placement import Memory, Placement
from sotto.runner.quants import quant_of
from sotto.runner.tokens import token_of

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three models of random weights, and two adapters of the first."""
    made = tmp_path_factory.mktemp("models")
    for number in (1, 2, 3):
        make_tiny.transformer("llama", number).write(made / f"{number}.gguf")
    for seed in (11, 12):
        write_gguf(made / f"a{seed}.gguf", seed, rank=4, spread=0.1)
    return made


@pytest.fixture
def three(folder: Path) -> Iterator[Runner]:
    """A runner with models "one", "two" and "three"."""
    with Runner(Which.GGUF(str(folder), "1.gguf"), max_seqs=4, alias="one") as runner:
        for number, name in ((2, "two"), (3, "three")):
            assert runner.add_model(Which.GGUF(str(folder), f"{number}.gguf"), alias=name) == name
        yield runner


def text(runner: Runner, model: str | None = None, **fields: Any) -> str:
    request = CompletionRequest("hello there", "default", max_tokens=6, **fields)
    return runner.send_completion_request(request, model).choices[0].text


@pytest.mark.row("E-031", "E-033", "E-037", "E-044", "E-048", "E-081")
def test_requests_are_routed(three: Runner) -> None:
    names = ["one", "two", "three"]
    assert three.list_models() == names
    texts = [text(three, name) for name in names]
    assert len(set(texts)) == 3 and text(three) == texts[0]
    for name, expected in zip(names, texts, strict=True):
        asked = CompletionRequest("hello there", name, max_tokens=6)
        answer = three.send_completion_request(asked)
        assert answer.choices[0].text == expected and answer.model == name
        assert three.send_completion_request(asked, "two").choices[0].text == texts[1]
    messages = [{"role": "user", "content": "hi"}]
    answers = {said(chat(three, messages, model=name)) for name in names}
    assert len(answers) == 3
    assert three.detokenize_text(three.tokenize_text("a b", False, None, "three"), True, "three") == "a b"
    for call in (
        lambda: text(three, "four"),
        lambda: three.tokenize_text("x", False, None, "four"),
        lambda: three.detokenize_text([1], False, "four"),
        lambda: three.max_sequence_length("four"),
        lambda: three.send_embedding_request(EmbeddingRequest("x"), "four"),
        lambda: three.send_re_isq("Q4K", "four"),
    ):
        with pytest.raises(ValueError, match=r"invalid model_id 'four': .*'one', 'two', 'three'"):
            call()


@pytest.mark.row("E-066", "E-067", "E-068", "E-069")
def test_the_default_model(three: Runner) -> None:
    assert three.get_default_model_id() == "one"
    three.set_default_model_id("two")
    assert three.get_default_model_id() == "two" and text(three) == text(three, "two")
    with pytest.raises(ValueError, match="invalid model_id 'four'"):
        three.set_default_model_id("four")
    three.unload_model("three")
    with pytest.raises(ValueError, match="a loaded model"):
        three.set_default_model_id("three")
    three.unload_model("two")
    assert three.get_default_model_id() == "one"
    three.unload_model("one")
    assert three.get_default_model_id() == "one" and text(three)


@pytest.mark.row("E-070", "E-071", "E-073", "E-074", "E-075", "E-076", "E-078", "E-079")
def test_unloaded_models_can_be_loaded_again(three: Runner) -> None:
    before, memory = text(three, "two"), three._loader.engine.stats().bytes_in_use
    three.unload_model("two")
    assert three._loader.engine.stats().bytes_in_use < memory
    assert three.list_models_with_status() == [("one", "loaded"), ("two", "unloaded"), ("three", "loaded")]
    assert three.list_models() == ["one", "two", "three"] and three.list_unloaded_models() == ["two"]
    assert [three.is_model_loaded(name) for name in ("one", "two", "four")] == [True, False, False]
    statuses = [three.get_model_status(name) for name in ("one", "two", "four")]
    assert statuses == ["loaded", "unloaded", None]
    with pytest.raises(ValueError, match="model 'two' is not loaded"):
        three.unload_model("two")
    three.reload_model("two")
    three.reload_model("two")
    assert three.list_unloaded_models() == [] and text(three, "two") == before
    for call in (three.unload_model, three.reload_model, three.remove_model):
        with pytest.raises(ValueError, match="invalid model_id 'four'"):
            call("four")
        with pytest.raises(TypeError, match="model_id"):
            call(4)  # type: ignore[arg-type]


@pytest.mark.row("E-072", "E-077")
def test_eight_requests_load_a_model_once(three: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = text(three, "two")
    three.unload_model("two")
    loads, slow = 0, threading.Event()
    load = three._loader.engine.load_model

    def counted(*args: Any, **options: Any) -> None:
        nonlocal loads
        loads += 1
        slow.wait(10)
        load(*args, **options)

    monkeypatch.setattr(three._loader.engine, "load_model", counted)
    answers: list[str] = []
    threads = [threading.Thread(target=lambda: answers.append(text(three, "two"))) for _ in range(8)]
    for one in threads:
        one.start()
    end = time.monotonic() + 10
    while three.get_model_status("two") != "reloading" and time.monotonic() < end:
        time.sleep(0.001)
    assert three.get_model_status("two") == "reloading" and not three.is_model_loaded("two")
    assert text(three, "one")  # the other models answer meanwhile
    slow.set()
    for one in threads:
        one.join()
    assert loads == 1 and answers == [expected] * 8


def test_requests_while_a_model_is_unloaded_again_and_again(three: Runner) -> None:
    expected, wrong, done = text(three, "two"), [], threading.Event()

    def unload() -> None:
        while not done.is_set():
            try:
                three.unload_model("two")
            except RunnerError as error:
                assert "not loaded" in str(error)
            time.sleep(0.02)

    def ask() -> None:
        for _ in range(10):
            try:
                answer = text(three, "two")
            except RunnerError as error:  # it was unloaded while it answered
                if "unloaded" not in str(error) and "not loaded" not in str(error):
                    wrong.append(str(error))
                continue
            if answer != expected:
                wrong.append(answer)

    unloads = threading.Thread(target=unload)
    asks = [threading.Thread(target=ask) for _ in range(3)]
    for one in (unloads, *asks):
        one.start()
    for one in asks:
        one.join()
    done.set()
    unloads.join()
    assert wrong == [] and text(three, "two") == expected


def test_a_model_that_cannot_be_loaded_again(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes((folder / "1.gguf").read_bytes())
    with Runner(Which.GGUF(str(tmp_path), "m.gguf"), alias="one") as runner:
        runner.unload_model("one")
        path.unlink()
        for _ in range(2):
            with pytest.raises(RunnerError, match=r"m\.gguf"):
                text(runner)
        assert runner.get_model_status("one") == "unloaded"
        path.write_bytes((folder / "1.gguf").read_bytes())
        assert text(runner)


@pytest.mark.row("E-080")
def test_models_are_removed(three: Runner) -> None:
    three.remove_model("one")
    assert three.list_models() == ["two", "three"] and three.get_default_model_id() == "two"
    assert three.get_model_status("one") is None
    with pytest.raises(ValueError, match="invalid model_id 'one'"):
        text(three, "one")
    three.unload_model("two")
    three.remove_model("two")
    with pytest.raises(ValueError, match="the only one"):
        three.remove_model("three")
    assert three.list_models() == ["three"] and text(three)


def test_ids_that_cannot_be(three: Runner, folder: Path) -> None:
    one = Which.GGUF(str(folder), "1.gguf")
    for taken in ("one", "default"):
        with pytest.raises(RunnerError, match=f"alias '{taken}'"):
            three.add_model(one, taken)
    with pytest.raises(ValueError, match="alias"):
        three.add_model(one, "")
    with pytest.raises(TypeError, match="alias"):
        three.add_model(one, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="which"):
        three.add_model("1.gguf")  # type: ignore[arg-type]
    with pytest.raises(RunnerError, match="one of its attributes"):
        three.add_model(Which())
    assert three.add_model(one) == str(folder)


def test_a_model_of_the_host(folder: Path) -> None:
    with sotto.Engine("cpu", mode="prioritize_compute", threads=1) as engine:
        engine.load_model("npc", path=folder / "1.gguf")
        with (
            Runner(Which.GGUF("npc", ""), engine=engine)
            if False
            else Runner(Which.GGUF("npc", "any.gguf"), engine=engine) as runner
        ):
            runner.add_model(Which.GGUF(str(folder), "2.gguf"), "two")
            assert text(runner) != text(runner, "two")
            with pytest.raises(RunnerError, match="loaded by the host"):
                runner.unload_model("npc")
            with pytest.raises(RunnerError, match="pa_gpu_mem with engine"):
                Runner(Which.GGUF("npc", "any.gguf"), engine=engine, pa_gpu_mem=64)
        assert engine.model_is_loaded("npc") and not engine.model_is_loaded("two")
    with pytest.raises(TypeError, match="engine"):
        Runner(HOUSE, engine="cpu")  # type: ignore[arg-type]


# Files


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


# Devices and memory


@pytest.mark.row("E-012")
def test_layers_of_devices(folder: Path) -> None:
    which = Which.GGUF(str(folder), "1.gguf")
    for good in (["0:1"], ["2"]):
        with Runner(which, num_device_layers=good) as runner:
            assert text(runner)
    for bad in (["zz"], ["0:1", "0:2"], ["0:"], [":1"], ["-1:2"], ["0:1:2"], [""], [], ["0:999999"]):
        with pytest.raises(ValueError, match="num_device_layers"):
            Runner(which, num_device_layers=bad)
    for wrong in ("0:1", 3, [1]):
        with pytest.raises(TypeError, match="num_device_layers"):
            Runner(which, num_device_layers=wrong)  # type: ignore[arg-type]


def placed(**fields: Any) -> Placement:
    given: dict[str, Any] = dict.fromkeys(
        ("num_device_layers", "pa_gpu_mem", "pa_gpu_mem_usage", "pa_ctxt_len", "pa_blk_size", "pa_cache_type")
    )
    given |= {"max_seqs": 4, "no_paged_attn": False, "paged_attn": False}
    return Placement(**{**given, **fields})


@pytest.mark.row("E-015", "E-016", "E-017")
@pytest.mark.parametrize("case", range(8))
def test_memory_by_priority(case: int) -> None:
    given = {"pa_ctxt_len": 1000, "pa_gpu_mem_usage": 0.5, "pa_gpu_mem": 64}
    fields = {name: value for at, (name, value) in enumerate(given.items()) if case >> at & 1}
    for cuda in (False, True):
        budget = placed(**fields).budget(Memory(1 << 34, 1 << 30, cuda))
        if "pa_ctxt_len" in fields:
            assert budget == 0
        elif "pa_gpu_mem_usage" in fields:
            assert budget == 1 << 33
        elif "pa_gpu_mem" in fields:
            assert budget == (1 << 30) + (64 << 20)
        else:
            assert budget == (int((1 << 34) * 0.9) if cuda else 0)
    options = placed(**fields).options(None, 512)
    assert options["context"] == 512
    assert options["parallel"] == (1 if "pa_ctxt_len" in fields else 4)


def test_contexts() -> None:
    assert placed().options(None, None) == {"context": 4096, "parallel": 4, "batch": 512}
    hints = TextAutoMapParams(max_seq_len=256, max_batch_size=8)
    assert placed().options(hints, 512) == {"context": 256, "parallel": 8, "batch": 512}
    assert placed(pa_ctxt_len=100).options(None, 512)["context"] == 100
    assert placed(pa_ctxt_len=2048).options(None, 512)["parallel"] == 4
    assert placed(num_device_layers=["0:3"]).options(None, 512)["gpu_layers"] == 3
    assert placed(no_paged_attn=True, pa_cache_type=PagedCacheType.Auto).options(None, 64)["context"] == 64
    for wrong in ({"max_seq_len": 0}, {"max_batch_size": 0}, {"max_batch_size": 65}):
        with pytest.raises(RunnerError):
            placed().options(TextAutoMapParams(**wrong), None)


@pytest.mark.row("E-020")
def test_wrong_memory() -> None:
    wrongs: list[tuple[dict[str, Any], str]] = [
        ({"pa_gpu_mem": 0}, "pa_gpu_mem"),
        ({"pa_gpu_mem": -1}, "pa_gpu_mem"),
        ({"pa_gpu_mem_usage": 1.5}, "pa_gpu_mem_usage"),
        ({"pa_gpu_mem_usage": 0}, "pa_gpu_mem_usage"),
        ({"pa_gpu_mem_usage": float("nan")}, "pa_gpu_mem_usage"),
        ({"pa_ctxt_len": 1}, "pa_ctxt_len"),
        ({"no_paged_attn": True, "paged_attn": True}, "paged_attn"),
    ]
    for fields, name in wrongs:
        with pytest.raises(ValueError, match=name):
            placed(**fields)
    for name in ("pa_gpu_mem", "pa_gpu_mem_usage", "pa_ctxt_len", "pa_cache_type", "no_paged_attn"):
        with pytest.raises(TypeError, match=name):
            placed(**{name: "1"})


@pytest.mark.row("E-015")
def test_a_budget_is_set(folder: Path) -> None:
    with Runner(Which.GGUF(str(folder), "1.gguf"), pa_gpu_mem=64) as runner:
        size = (folder / "1.gguf").stat().st_size
        assert runner._loader.engine.stats().vram_budget == (size + (64 << 20)) >> 20 << 20
        assert text(runner)


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
