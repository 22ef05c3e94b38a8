"""`sotto.llama`: configuration, sampling, grammars, errors, logging and module-level functions."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sotto
import sotto.llama
from conftest import ENVIRONMENT
from sotto.llama import (
    GenerationError,
    Llama,
    LlamaConfig,
    LlamaError,
    LlamaGrammar,
    ModelLoadError,
    SamplingParams,
    ValidationError,
)
from sotto.llama.config import load_options

CORES = os.cpu_count() or 1
CONFIG = {
    "n_ctx": 4096,
    "n_batch": 2048,
    "n_ubatch": 2048,
    "n_seq_max": 1,
    "n_threads": CORES,
    "n_threads_batch": CORES,
    "n_gpu_layers": -1,
    "main_gpu": 0,
    "split_mode": 0,
    "use_mmap": True,
    "use_mlock": False,
    "offload_kqv": True,
    "flash_attn": 1,
    "embeddings": False,
    "add_bos": True,
    "parse_special": False,
    "chat_format": None,
    "verbose": True,
    "seed": -1,
}
SAMPLING = {
    "temperature": 0.8,
    "top_k": 40,
    "top_p": 0.95,
    "min_p": 0.0,
    "min_keep": 1,
    "repeat_penalty": 1.1,
    "repeat_last_n": 64,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "seed": None,
}


def run(code: str, *, check: bool = True, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs Python code in a child process."""
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=check,
        timeout=120,
        env={**ENVIRONMENT, **variables},
    )


@pytest.mark.row("C-107", "C-108", "C-111", "C-114", "C-136")
def test_fields_and_defaults_are_those_of_the_reference() -> None:
    config = dataclasses.asdict(LlamaConfig("a.gguf"))
    assert config.pop("model_path") == "a.gguf"
    assert dict(list(config.items())[: len(CONFIG)]) == CONFIG
    assert list(config)[: len(CONFIG)] == list(CONFIG)
    assert dataclasses.asdict(SamplingParams()) == SAMPLING
    with pytest.raises(TypeError):
        LlamaConfig()  # type: ignore[call-arg]


@pytest.mark.row("C-111", "C-114")
def test_defaults_follow_other_fields() -> None:
    assert LlamaConfig("a", n_batch=64).n_ubatch == 64
    assert LlamaConfig("a", n_batch=64, n_ubatch=512).n_ubatch == 64
    assert LlamaConfig("a", n_threads=2).n_threads_batch == 2


@pytest.mark.row("C-109", "C-110", "C-112", "C-115", "C-117", "C-128", "C-129", "C-130", "C-131")
@pytest.mark.parametrize(
    ("name", "least"), [("n_ctx", 1), ("n_batch", 1), ("n_ubatch", 1), ("n_seq_max", 1), ("n_gpu_layers", -1)]
)
def test_values_below_the_least_are_refused(name: str, least: int) -> None:
    fields: dict[str, Any] = {name: least}
    assert getattr(LlamaConfig("a", **fields), name) == least
    for wrong in (least - 1, "1", 1.5, True):
        with pytest.raises(ValidationError, match=f"invalid {name} "):
            LlamaConfig("a", **{name: wrong})


@pytest.mark.row("C-117", "C-125")
@pytest.mark.parametrize(
    "wrong", [{"split_mode": 9}, {"flash_attn": 7}, {"chat_format": "no such"}, {"n_threads": 0}]
)
def test_wrong_configurations_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=f"invalid {next(iter(wrong))} "):
        LlamaConfig("a", **wrong)
    with pytest.raises(ValidationError, match="invalid model_path"):
        LlamaConfig("")


def test_only_what_differs_from_the_engine_becomes_an_option() -> None:
    plain = load_options(LlamaConfig("a"), shared=False, trained=2048)
    assert plain == {"context": 2048, "batch": 2048, "parallel": 1, "flash_attention": "on"}
    chosen = load_options(LlamaConfig("a", flash_attn=-1), shared=True, trained=None)
    assert chosen == {"context": 4096, "batch": 2048}
    other = LlamaConfig(
        "a",
        n_batch=1,
        n_seq_max=3,
        n_threads=CORES + 1,
        n_threads_batch=1,
        n_gpu_layers=0,
        use_mmap=False,
        use_mlock=True,
        offload_kqv=False,
        flash_attn=0,
        check_tensors=True,
        rope_freq_base=1e4,
        rope_freq_scale=0.5,
    )
    found = load_options(other, shared=True, trained=None)
    assert found.pop("context") == 4096
    assert found == {
        "batch": 3,
        "parallel": 3,
        "gpu_layers": 0,
        "mmap": False,
        "flash_attention": "off",
        "mlock": True,
        "offload_kqv": False,
        "check_tensors": True,
        "rope_freq_base": 1e4,
        "rope_freq_scale": 0.5,
        "threads": CORES + 1,
        "threads_batch": 1,
    }


@pytest.mark.row("C-119", "C-120", "C-132", "C-134")
def test_options_reach_the_model() -> None:
    def locked() -> int:
        told = Path("/proc/self/status").read_text().split("VmLck:")[1]
        return int(told.split()[0])  # KiB

    def answer(llm: Llama) -> Any:
        return llm.generate("The smith", max_tokens=8, sampling=SamplingParams(temperature=0), logprobs=1)

    with Llama("sotto/house", n_ctx=256) as llm:
        told = answer(llm)
        before = locked() if sys.platform == "linux" else 0
    rarer: dict[str, Any] = {"use_mlock": True, "offload_kqv": False, "check_tensors": True}
    with Llama("sotto/house", n_ctx=256, n_threads_batch=1, **rarer) as llm:
        assert answer(llm)["text"] == told["text"]
        if sys.platform == "linux" and os.geteuid() == 0:
            assert locked() > before
    with Llama("sotto/house", n_ctx=256, rope_freq_base=50.0) as llm:
        assert answer(llm) != told


@pytest.mark.row("C-137", "C-138", "C-139", "C-140", "C-141", "C-142", "C-143", "C-144", "C-145", "C-146")
@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("temperature", (0, 0.5, 2), (-0.1, float("nan"), float("inf"), "1", True)),
        ("top_k", (0, 1), (-1, 1.5)),
        ("top_p", (0, 1, 0.5), (-0.1, 1.1, float("nan"))),
        ("min_p", (0, 1), (-0.1, 1.1)),
        ("min_keep", (1, 5), (0, -1)),
        ("repeat_penalty", (1, 1.5), (-1, 0, float("nan"))),
        ("repeat_last_n", (-1, 0, 64), (-2, 1.5)),
        ("presence_penalty", (-2, 2), (11, None)),
        ("frequency_penalty", (-2, 2), (11, None)),
        ("seed", (None, -1, 0, 2**32 - 1), (-2, 2**32, 1.5)),
    ],
)
def test_sampling_parameters_are_checked(name: str, good: tuple[Any, ...], bad: tuple[Any, ...]) -> None:
    for value in good:
        fields: dict[str, Any] = {name: value}
        assert getattr(SamplingParams(**fields), name) == value
    for value in bad:
        with pytest.raises(ValidationError, match=f"invalid {name} "):
            SamplingParams(**{name: value})


@pytest.mark.real
@pytest.mark.row("C-137", "C-138", "C-139", "C-140", "C-141", "C-142", "C-143", "C-144", "C-145", "C-146")
def test_sampling_parameters_take_effect_in_the_engine(real_engine: sotto.Engine) -> None:
    drawn = SamplingParams(0.7, 11, 0.9, 0.02, 3, 1.2, 32, 0.3, 0.4, 7)
    body = {"model": "sotto/house", "prompt": "Hello", "max_tokens": 1, "return_settings": True}
    answer = json.loads(real_engine.llm_text_completion({**body, **drawn.body()}))
    told = answer["generation_settings"]
    for name, value in dataclasses.asdict(drawn).items():
        assert told[name] == pytest.approx(value), name


@pytest.mark.row("C-095", "C-096", "C-097", "C-098")
def test_errors_have_one_base() -> None:
    for one in (ModelLoadError, ValidationError, GenerationError):
        assert issubclass(one, LlamaError) and issubclass(one, Exception)
    assert issubclass(ValidationError, ValueError)


@pytest.mark.real
@pytest.mark.row("C-003", "C-096", "C-097", "C-099")
def test_the_reference_s_example_of_errors(tiny_file: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelLoadError, match=r"'nonexistent\.gguf' does not exist"):
        Llama("nonexistent.gguf")
    (tmp_path / "text.gguf").write_text("a text, and no model at all, however long")
    with pytest.raises(ModelLoadError, match="not a GGUF file"):
        Llama(str(tmp_path / "text.gguf"))
    with Llama(str(tiny_file)) as llm, pytest.raises(ValidationError, match="invalid max_tokens '0'"):
        llm.generate("test", max_tokens=0)


@pytest.mark.real
@pytest.mark.row("C-001", "C-002", "C-004", "C-108")
def test_the_constructor_takes_a_configuration_by_position_and_by_name(tiny_file: Path) -> None:
    config, drawn = LlamaConfig(str(tiny_file), n_ctx=64, n_threads=1), SamplingParams(temperature=0)
    with Llama(str(tiny_file), config, drawn) as one, Llama(tiny_file, config=config, sampling=drawn) as two:
        assert one.config == two.config == config and one.n_ctx() == 64
        assert one.generate("a", max_tokens=4) == two.generate("a", max_tokens=4)
    with Llama(tiny_file) as llm:
        assert llm.config == LlamaConfig(str(tiny_file))
    with Llama(tiny_file, n_ctx=32, embedding=True, logits_all=True, flash_attn=True) as llm:
        assert llm.n_ctx() == 32 and llm.config.embeddings
    with pytest.raises(ValidationError, match=r"invalid config.model_path 'other.gguf'"):
        Llama(tiny_file, LlamaConfig("other.gguf"))
    with pytest.raises(ValidationError, match="invalid keyword 'n_contexts'"):
        Llama(tiny_file, n_contexts=3)
    with pytest.raises(ValidationError, match="expected none beside config"):
        Llama(tiny_file, config, n_ctx=3)


@pytest.mark.real
@pytest.mark.row("C-109", "C-116", "C-117")
def test_what_a_machine_has_not_is_refused(tiny_file: Path) -> None:
    with pytest.raises(ValidationError, match=r"split_mode '1'.*one device"):
        Llama(tiny_file, split_mode=1)
    with pytest.raises(ModelLoadError, match="invalid main_gpu '9'"):
        Llama(tiny_file, main_gpu=9)
    with pytest.raises(ValidationError, match="context '8': expected an integer from 16"):
        Llama(tiny_file, n_ctx=8)


@pytest.mark.row("C-147", "C-148", "C-149")
def test_grammars_are_checked() -> None:
    assert LlamaGrammar.from_string('root ::= "a"').body() == {"grammar": 'root ::= "a"'}
    assert "root ::= top" in LlamaGrammar.from_string('top ::= "a"', root="top").body()["grammar"]
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    for given in (schema, json.dumps(schema)):
        assert LlamaGrammar.from_json_schema(given).body() == {"json_schema": schema}
    regex = LlamaGrammar.from_regex(r"\d+")
    assert regex.body() == {"grammar": r"\d+", "grammar_type": "regex"}
    assert "regular expression" in repr(regex)
    with pytest.raises(ValidationError, match="invalid regex ''"):
        LlamaGrammar.from_regex("")
    lark = LlamaGrammar.from_lark('?start: "a"')
    assert lark.body() == {"grammar": '?start: "a"', "grammar_type": "lark"} and "Lark" in repr(lark)
    assert "\nstart: top\n" in LlamaGrammar.from_lark('!top.2: "a"', start="top").body()["grammar"]
    with pytest.raises(ValidationError, match="a rule 'top'; its rules are: start"):
        LlamaGrammar.from_lark('start: "a"', start="top")
    with pytest.raises(ValidationError, match="rename that rule"):
        LlamaGrammar.from_lark('start: top\ntop: "a"', start="top")
    for wrong in ("", "  ", None):
        with pytest.raises(ValidationError, match="invalid lark"):
            LlamaGrammar.from_lark(wrong)  # type: ignore[arg-type]
    for wrong in ("", "   ", 'other ::= "a"', None):
        with pytest.raises(ValidationError, match="invalid gbnf"):
            LlamaGrammar.from_string(wrong)  # type: ignore[arg-type]
    for text in ("[]", "no JSON", 3):
        with pytest.raises(ValidationError, match="invalid schema"):
            LlamaGrammar.from_json_schema(text)  # type: ignore[arg-type]


@pytest.mark.row("C-100")
def test_system_information_is_returned(capfd: pytest.CaptureFixture[str]) -> None:
    told = sotto.llama.print_system_info()
    assert told.startswith("sotto = ") and "cores = " in told
    assert capfd.readouterr().out == ""


@pytest.mark.real
@pytest.mark.row("C-101", "C-102", "C-103", "C-126", "C-205")
def test_the_log_is_one_for_all(tiny_file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def loading(**fields: Any) -> str:
        capfd.readouterr()
        with Llama(tiny_file, **fields) as llm:
            llm.generate("a", 1)
        return capfd.readouterr().err

    try:
        sotto.llama.set_log_level("debug")
        assert "sotto: " in loading()
        sotto.llama.disable_logging()
        assert loading() == ""
        sotto.llama.set_log_level(2)
        assert "sotto: info" in loading()
        assert loading(verbose=False) == ""
        sotto.llama.reset_logging()
        with sotto.Engine(mode="prioritize_compute") as engine:
            engine.load_model("tiny", path=tiny_file)
            engine.tokenize({"model": "tiny", "content": "a", "unheard_of": 1})
        assert "sotto: warn" in capfd.readouterr().err
        for wrong in ("loud", 7, None, True):
            with pytest.raises(ValueError, match="invalid level"):
                sotto.llama.set_log_level(wrong)  # type: ignore[arg-type]
    finally:
        sotto.llama.reset_logging()


@pytest.mark.real
@pytest.mark.row("C-205")
def test_silence_for_all_is_announced_once(tiny_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sotto.llama.logs._warned", False)
    try:
        with Llama(tiny_file):
            with pytest.warns(RuntimeWarning, match="all Llama instances"):
                Llama(tiny_file, verbose=False).close()
            Llama(tiny_file, verbose=False).close()  # warnings are errors in tests
    finally:
        sotto.llama.reset_logging()


def test_importing_takes_nothing_heavy() -> None:
    code = (
        "import sys, sotto.llama; print([m for m in ('numpy', 'asyncio', 'dataclasses') if m in sys.modules])"
    )
    assert run(code).stdout == "[]\n"
    with pytest.raises(AttributeError, match="no attribute 'Lama'"):
        sotto.llama.Lama  # noqa: B018
    for name in sotto.llama.__all__:
        assert getattr(sotto.llama, name)


@pytest.mark.real
@pytest.mark.row("C-104", "C-105", "C-106", "C-207")
@pytest.mark.parametrize("end", ["shutdown(); shutdown()", "pass", "llm.close()", "next(stream)"])
def test_a_program_ends_quietly(tiny_file: Path, end: str) -> None:
    code = f"""
import logging, sys
from sotto.llama import Llama, LlamaError, shutdown
logging.basicConfig()
llm = Llama({str(tiny_file)!r}, n_threads=1)
stream = llm.generate_stream("Hello", max_tokens=400)
next(stream)
other = Llama({str(tiny_file)!r}, n_threads=1)
print(len(other.generate("Hello", max_tokens=4)) > 0)
{end}
if "shutdown" in {end!r}:
    for one in (llm, other):
        try:
            one.generate("a")
        except LlamaError as error:
            print("closed" in str(error))
"""
    done = run(code)
    assert done.stdout.split() == ["True"] * (3 if "shutdown" in end else 1) and done.stderr == ""
