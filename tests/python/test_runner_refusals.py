"""What mistral.rs has and llama.cpp has not: each row of the table is refused with its sentence."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sotto
import sotto.runner
from conftest import ROOT
from runner_house import HELLO, HOUSE
from sotto.runner import (
    ChatCompletionRequest,
    CodeExecutionConfig,
    CompletionRequest,
    ImageGenerationResponseFormat,
    IsqOrganization,
    McpClientConfigPy,
    McpServerConfigPy,
    McpServerSourcePy,
    ModelDType,
    NetworkMode,
    PagedCacheType,
    Runner,
    RunnerError,
    SandboxPolicy,
    WebSearchOptions,
    Which,
)
from sotto.runner.refusals import REFUSALS, table

OWN = ("SandboxPolicy.extra_fs_read", "ChatCompletionResponse.files")
PAGE = ROOT / "docs" / "pages" / "guide" / "runner.md"
ANY: Any = sotto.runner
KINDS: Any = Which


def rows(*spans: int | tuple[int, int]) -> list[str]:
    """Rows of the checklist, from numbers and ranges of them."""
    found: list[str] = []
    for one in spans:
        first, last = one if isinstance(one, tuple) else (one, one)
        found += [f"E-{number:03}" for number in range(first, last + 1)]
    return found


def plain(**fields: Any) -> Callable[[], Any]:
    return lambda: Runner(Which.Plain("model", **fields))


def gguf(**fields: Any) -> Callable[[], Any]:
    return lambda: Runner(Which.GGUF("model", "m.gguf", **fields))


def quant(name: str) -> Callable[[], Any]:
    return lambda: Runner(HOUSE, in_situ_quant=name)


def code(**fields: Any) -> Callable[[], Any]:
    return lambda: Runner(HOUSE, code_execution_config=CodeExecutionConfig(**fields))


def boxed(**fields: Any) -> Callable[[], Any]:
    return code(sandbox_policy=SandboxPolicy(**fields))


def mcp(**fields: Any) -> Callable[[], Any]:
    server = McpServerConfigPy("a", "a", McpServerSourcePy.Process("none", [], None, None), **fields)
    return lambda: Runner(HOUSE, mcp_client_config=McpClientConfigPy([server]))


CASES: dict[str, tuple[Callable[[], Any] | None, list[str]]] = {
    "anymoe_config": (lambda: Runner(HOUSE, anymoe_config=object()), rows(14)),
    "AnyMoeConfig": (lambda: ANY.AnyMoeConfig(64, "a.json", "p", "mlp", ["x"], None), rows(578, (579, 592))),
    "AnyMoeExpertType": (lambda: ANY.AnyMoeExpertType.LoraAdapter(4, 8.0, ["q"]), rows((572, 577))),
    "Which.XLora": (lambda: KINDS.XLora("a", "b"), rows((237, 249))),
    "Which.XLoraGGUF": (lambda: KINDS.XLoraGGUF("a", "b", "c", "d"), rows((287, 296))),
    "Which.XLoraGGML": (lambda: KINDS.XLoraGGML("a", "b", "c", "d"), rows((315, 326))),
    "Which.LoraGGML": (lambda: KINDS.LoraGGML("a", "b", "c", "d"), rows((327, 337))),
    "Which.GGML": (lambda: KINDS.GGML("a", "b", "c"), rows((306, 314))),
    "Which.MultimodalPlain": (lambda: KINDS.MultimodalPlain("a"), rows((338, 354))),
    "Which.DiffusionPlain": (lambda: KINDS.DiffusionPlain("a", None), rows((355, 358))),
    "Which.Speech": (lambda: KINDS.Speech("a", None), rows((359, 363))),
    "generate_image": (None, rows((51, 58), (441, 443), (541, 546))),
    "generate_audio": (None, rows((59, 61), (547, 550))),
    "pa_blk_size": (lambda: Runner(HOUSE, pa_blk_size=32), rows(18)),
    "paged_attn": (lambda: Runner(HOUSE, paged_attn=True), rows(21)),
    "pa_cache_type=F8E4M3": (
        lambda: Runner(HOUSE, pa_cache_type=PagedCacheType.F8E4M3),
        rows(19, 446),
    ),
    "num_device_layers on several devices": (
        lambda: Runner(HOUSE, num_device_layers=["0:1", "1:1"]),
        rows(12),
    ),
    "write_uqff": (plain(write_uqff="a"), rows(217)),
    "from_uqff": (plain(from_uqff=["a"]), rows(218)),
    "topology": (plain(topology="a.yml"), rows(215, 269, 303)),
    "organization=MoQE": (plain(organization=IsqOrganization.MoQE), rows(216, 435)),
    "matformer_config_path": (plain(matformer_config_path="a"), rows(224)),
    "matformer_slice_name": (plain(matformer_slice_name="a"), rows(225)),
    "hf_cache_path": (plain(hf_cache_path="a"), rows(223)),
    "tokenizer_json": (plain(tokenizer_json="a"), rows(214)),
    "tok_model_id": (gguf(tok_model_id="a"), rows(268)),
    "dtype of a GGUF file": (gguf(dtype=ModelDType.F16), rows(270)),
    "grammar_type='llguidance'": (None, rows(116, 158)),
    "enable_search without search_callback": (lambda: Runner(HOUSE, enable_search=True), rows(23)),
    "extract_description": (None, rows(179)),
    "McpServerConfigPy.resources": (mcp(resources=["file:///*"]), rows(603)),
    "working_directory": (code(working_directory="/tmp"), rows(614)),
    "NetworkMode.Full": (boxed(network=NetworkMode.Full), rows(633)),
    "extra_fs_write": (boxed(extra_fs_write=["/tmp"]), rows(627)),
    "extra_env": (boxed(extra_env=["HOME"]), rows(628)),
    **{name: (quant(name.split("'")[1]), rows(13)) for name in REFUSALS if name.startswith("in_situ_quant")},
}


@pytest.mark.parametrize(
    ("name", "call"),
    [
        pytest.param(name, call, marks=pytest.mark.row(*of), id=name)
        for name, (call, of) in CASES.items()
        if call is not None
    ],
)
def test_a_refused_feature(name: str, call: Callable[[], Any]) -> None:
    with pytest.raises(RunnerError) as told:
        call()
    assert str(told.value) == f"{name} is not supported: {REFUSALS[name].sentence}"


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(HOUSE) as made:
        yield made


@pytest.mark.real
@pytest.mark.row(*CASES["generate_image"][1])
def test_images(runner: Runner, tmp_path: Path) -> None:
    for form in ImageGenerationResponseFormat:
        for fields in ({}, {"model_id": "sotto/house", "save_file": str(tmp_path / "a.png"), "height": 64}):
            with pytest.raises(RunnerError, match=r"generate_image is not supported: .*image model"):
                runner.generate_image("a gate", form, **fields)
    assert list(tmp_path.iterdir()) == []
    url: Any = ImageGenerationResponseFormat.Url
    for wrong in ((3, url), ("a", "Url"), ("a", url, "64"), ("a", url, 64, 6.5)):
        with pytest.raises(TypeError):
            runner.generate_image(*wrong)  # type: ignore[arg-type]
    with pytest.raises(RunnerError, match="model_id 'four'"):
        runner.generate_image("a", url, model_id="four")
    with pytest.raises(ValueError, match="height"):
        runner.generate_image("a", url, height=-1)


@pytest.mark.real
@pytest.mark.row(*CASES["generate_audio"][1])
def test_audio(runner: Runner) -> None:
    with pytest.raises(RunnerError, match=r"generate_audio is not supported: .*speech model"):
        runner.generate_audio("hello")
    with pytest.raises(TypeError, match="prompt"):
        runner.generate_audio(3)  # type: ignore[arg-type]
    with pytest.raises(RunnerError, match="model_id 'four'"):
        runner.generate_audio("hello", "four")


@pytest.mark.real
@pytest.mark.row(*CASES["grammar_type='llguidance'"][1])
def test_llguidance(runner: Runner) -> None:
    grammar: Any = {"grammar": "{}", "grammar_type": "llguidance"}
    with pytest.raises(RunnerError, match="'llguidance' is not supported"):
        runner.send_chat_completion_request(ChatCompletionRequest(HELLO, "default", **grammar))
    with pytest.raises(RunnerError, match="'llguidance' is not supported"):
        runner.send_completion_request(CompletionRequest("x", "default", **grammar))


@pytest.mark.real
@pytest.mark.row(*CASES["extract_description"][1])
def test_a_description_of_extraction() -> None:
    with Runner(HOUSE, enable_search=True, search_callback=lambda query: []) as runner:
        options = WebSearchOptions(extract_description="Reads a page.")
        with pytest.raises(RunnerError, match=r"extract_description is not supported: .*WebSource"):
            runner.send_chat_completion_request(
                ChatCompletionRequest(HELLO, "default", web_search_options=options)
            )
        assert runner.list_session_ids() == []


def test_the_page_has_the_table() -> None:
    assert set(CASES) == set(REFUSALS)
    assert "\n".join(table()) in PAGE.read_text(encoding="utf-8")


def test_the_names_of_the_sentences_are_there() -> None:
    """A sentence names a feature as it is spelled in the interface."""
    for name in ("Which.GGUF", "Which.Plain", "ModelDType.Auto", "IsqOrganization.Default", *OWN):
        kind, _, rest = name.partition(".")
        found = getattr(sotto.runner, kind)
        assert hasattr(found, rest) or rest in {one.name for one in dataclasses.fields(found)}
        assert any(name in one.sentence for one in REFUSALS.values())
