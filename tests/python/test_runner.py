"""`sotto.runner.Runner`: chats, texts, tokens and streams, on the house model."""

from __future__ import annotations

import gc
import inspect
import math
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from runner_house import HELLO, HOUSE, OPTIONS, chat, said, stream, write
from sotto.runner import (
    ChatCompletionRequest,
    ChunkStream,
    CompletionRequest,
    Runner,
    RunnerError,
)

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(HOUSE, options=OPTIONS) as made:
        yield made


# Signatures


SEED = {  # of the reference, in its order
    "which": inspect.Parameter.empty,
    "max_seqs": 16,
    "no_kv_cache": False,
    "prefix_cache_n": 16,
    "token_source": "cache",
    "speculative_gamma": 32,
    "which_draft": None,
    "chat_template": None,
    "jinja_explicit": None,
    "num_device_layers": None,
    "in_situ_quant": None,
    "anymoe_config": None,
    "pa_gpu_mem": None,
    "pa_gpu_mem_usage": None,
    "pa_ctxt_len": None,
    "pa_blk_size": None,
    "pa_cache_type": None,
    "no_paged_attn": False,
    "paged_attn": False,
    "seed": None,
    "enable_search": False,
    "search_embedding_model": None,
    "search_callback": None,
    "tool_callbacks": None,
    "mcp_client_config": None,
    "code_execution_config": None,
}
METHODS = {
    "send_chat_completion_request": "request, model_id=None",
    "send_completion_request": "request, model_id=None",
    "send_chat_completion_request_to_model": "request, model_id",
    "send_completion_request_to_model": "request, model_id",
    "send_embedding_request": "request, model_id=None",
    "generate_image": "prompt, response_format, height=720, width=1280, model_id=None, save_file=None",
    "generate_audio": "prompt, model_id=None",
    "send_re_isq": "dtype, model_id=None",
    "tokenize_text": "text, add_special_tokens, enable_thinking, model_id=None",
    "detokenize_text": "tokens, skip_special_tokens, model_id=None",
    "max_sequence_length": "model_id=None",
    "list_models": "",
    "get_default_model_id": "",
    "set_default_model_id": "model_id",
    "is_model_loaded": "model_id",
    "unload_model": "model_id",
    "reload_model": "model_id",
    "list_models_with_status": "",
    "list_unloaded_models": "",
    "get_model_status": "model_id",
    "remove_model": "model_id",
    "export_session": "session_id, model_id=None",
    "import_session": "session_id, session_json, model_id=None",
    "delete_session": "session_id, model_id=None",
    "list_session_ids": "model_id=None",
    "find_file": "file_id",
}


@pytest.mark.row("E-001", "E-002", "E-003")
def test_the_constructor_has_the_parameters_of_the_reference() -> None:
    found = list(inspect.signature(Runner).parameters.values())
    own = [one.name for one in found if one.kind is inspect.Parameter.KEYWORD_ONLY]
    assert [(one.name, one.default) for one in found if one.name not in own] == list(SEED.items())
    assert own == ["engine", "options", "alias"]
    with pytest.raises(TypeError, match="which"):
        Runner()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="which"):
        Runner("model.gguf")  # type: ignore[arg-type]


@pytest.mark.row("E-030", "E-032", "E-040", "E-050")
@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_the_parameters_of_the_reference(name: str) -> None:
    parameters = list(inspect.signature(getattr(Runner, name)).parameters.values())[1:]
    words = [
        one.name if one.default is inspect.Parameter.empty else f"{one.name}={one.default}"
        for one in parameters
    ]
    assert ", ".join(words) == METHODS[name]


# Chats


@pytest.mark.row("E-029", "E-106", "E-447", "E-454")
def test_a_chat(runner: Runner) -> None:
    before = int(time.time())
    answer = chat(runner, max_tokens=4)
    assert answer.id and before <= answer.created <= time.time() and answer.object == "chat.completion"
    assert answer.model == "sotto/house" and answer.system_fingerprint
    assert (answer.agentic_tool_calls, answer.files, answer.session_id) == (None, None, None)
    (one,) = answer.choices
    assert (one.index, one.finish_reason, one.message.role, one.logprobs) == (0, "length", "assistant", None)
    assert one.message.content and one.message.tool_calls is None and one.message.reasoning_content is None
    assert chat(runner, max_tokens=None).choices[0].finish_reason == "stop"


@pytest.mark.row("E-503", "E-504", "E-505", "E-506", "E-507", "E-508", "E-509", "E-510", "E-511", "E-512")
def test_usage(runner: Runner) -> None:
    usage = chat(runner, max_tokens=4).usage
    assert usage.completion_tokens == 4 and usage.prompt_tokens > 4
    assert usage.total_tokens == usage.prompt_tokens + 4
    assert usage.total_time_sec == usage.total_prompt_time_sec + usage.total_completion_time_sec > 0
    assert math.isclose(usage.avg_tok_per_sec, usage.total_tokens / usage.total_time_sec)
    assert math.isclose(usage.avg_compl_tok_per_sec, 4 / usage.total_completion_time_sec)
    assert math.isclose(usage.avg_prompt_tok_per_sec, usage.prompt_tokens / usage.total_prompt_time_sec)


@pytest.mark.row("E-114", "E-469", "E-476")
def test_a_stream(runner: Runner) -> None:
    chunks = list(stream(runner))
    assert "".join(one.choices[0].delta.content or "" for one in chunks) == said(chat(runner))
    assert [one.choices[0].finish_reason for one in chunks] == [None] * (len(chunks) - 1) + ["length"]
    assert {one.object for one in chunks} == {"chat.completion.chunk"} and len(
        {one.id for one in chunks}
    ) == 1
    assert {one.choices[0].delta.role for one in chunks} == {"assistant"}
    assert [one.usage is None for one in chunks] == [True] * (len(chunks) - 1) + [False]
    assert chunks[-1].usage is not None and chunks[-1].usage.completion_tokens == 8


def test_a_stream_is_closed(runner: Runner) -> None:
    one = stream(runner, max_tokens=400, ignore_eos=True)
    assert isinstance(one, ChunkStream)
    with one as chunks:
        next(chunks)
    assert list(one) == []
    one.close()
    two = stream(runner, max_tokens=400, ignore_eos=True)
    next(two)
    del two
    gc.collect()
    engine = runner._loader.engine
    end = time.monotonic() + 10
    while engine.stats().live and time.monotonic() < end:
        time.sleep(0.01)
    assert engine.stats().live == 0


@pytest.mark.row("E-102", "E-105", "E-513", "E-515", "E-519", "E-520", "E-521")
def test_log_probabilities(runner: Runner) -> None:
    (one,) = chat(runner, logprobs=True, top_logprobs=3).choices
    assert one.logprobs is not None and one.logprobs.content is not None
    entries = one.logprobs.content
    assert len(entries) == 8 and "".join(entry.token for entry in entries) == one.message.content
    for entry in entries:
        top = entry.top_logprobs
        assert len(top) == 3 and [each.logprob for each in top] == sorted(
            (e.logprob for e in top), reverse=True
        )
        assert top[0].logprob == entry.logprob <= 0 and top[0].bytes == entry.token
        assert bytes(entry.bytes or ()).decode() == entry.token and isinstance(top[0].token, int)
    parts = [each.choices[0].logprobs for each in stream(runner, logprobs=True)]
    assert [each.token for each in parts if each is not None] == [entry.token for entry in entries]
    with pytest.raises(RunnerError, match="top_logprobs without logprobs"):
        chat(runner, top_logprobs=3)


@pytest.mark.row("E-103", "E-151", "E-450", "E-459", "E-461")
def test_several_choices(runner: Runner) -> None:
    assert [one.index for one in chat(runner, n_choices=3, temperature=1).choices] == [0, 1, 2]
    assert [one.index for one in write(runner, n_choices=3, temperature=1).choices] == [0, 1, 2]
    ends = [one.choices[0] for one in stream(runner, n_choices=2, temperature=1)]
    assert sorted(one.index for one in ends if one.finish_reason) == [0, 1]
    for wrong in (0, 129):
        with pytest.raises(RunnerError, match="n_choices"):
            chat(runner, n_choices=wrong)


@pytest.mark.row("E-100")
def test_a_prompt_that_is_rendered_already(runner: Runner) -> None:
    text = chat(runner, "The smith said:", logprobs=True)
    assert said(text) == write(runner).choices[0].text and text.object == "chat.completion"
    assert text.choices[0].logprobs is not None
    assert "".join(one.choices[0].delta.content or "" for one in stream(runner, "The smith said:")) == said(
        text
    )
    for wrong in ({"session_id": "a"}, {"enable_thinking": True}, {"tool_schemas": ["{}"]}):
        with pytest.raises(RunnerError, match="messages as text"):
            chat(runner, "Once", **wrong)
    parts = [{"role": "user", "content": [{"type": "text", "text": HELLO[0]["content"]}]}]
    assert said(chat(runner, parts)) == said(chat(runner))
    with pytest.raises(RunnerError, match="image"):
        chat(runner, [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "a.png"}}]}])


@pytest.mark.row("E-036", "E-101", "E-143")
def test_bad_messages_and_models(runner: Runner) -> None:
    for empty in ([], ""):
        with pytest.raises(RunnerError, match="messages"):
            chat(runner, empty)
    with pytest.raises(TypeError, match=r"messages\[0\].role"):
        chat(runner, [{"content": "x"}])
    with pytest.raises(ValueError, match="role"):
        chat(runner, [{"role": "king", "content": "x"}])
    assert said(chat(runner, model="sotto/house")) == said(chat(runner, model="default"))
    for wrong in ("zz", ""):
        with pytest.raises(ValueError, match=f"invalid model '{wrong}'"):
            chat(runner, model=wrong)
        with pytest.raises(ValueError, match=f"invalid model '{wrong}'"):
            runner.send_completion_request(CompletionRequest("x", wrong))
    with pytest.raises(TypeError, match="request"):
        runner.send_chat_completion_request({"messages": HELLO})  # type: ignore[arg-type]


@pytest.mark.row("E-126", "E-166")
def test_prompts_that_are_too_long(runner: Runner) -> None:
    turns = [{"role": role, "content": "the gate " * 60} for role in ("user", "assistant") * 9] + HELLO
    with pytest.raises(RunnerError, match="tokens"):
        chat(runner, turns)
    assert said(chat(runner, turns, truncate_sequence=True))
    with pytest.raises(RunnerError, match="tokens"):
        write(runner, "the gate " * 900)
    assert write(runner, "the gate " * 900, truncate_sequence=True).choices[0].text


@pytest.mark.row("E-125", "E-127")
def test_thinking(runner: Runner) -> None:
    for effort in ("off", "none", "low", "medium", " HIGH ", "xhigh"):
        chat(runner, reasoning_effort=effort, max_tokens=1)
    with pytest.raises(RunnerError, match="reasoning_effort 'bogus'"):
        chat(runner, reasoning_effort="bogus")
    with pytest.raises(RunnerError, match="with enable_thinking"):
        chat(runner, reasoning_effort="low", enable_thinking=True)
    template = "{% if enable_thinking %}yes{% else %}no{% endif %}"
    with Runner(HOUSE, options={**OPTIONS, "chat_template": template}) as made:
        tokens = [chat(made, enable_thinking=one, max_tokens=1).usage.prompt_tokens for one in (True, False)]
        assert tokens == [len(made.tokenize_text(one, False, None)) for one in ("yes", "no")]


@pytest.mark.row("E-139", "E-167")
def test_answers_go_on_after_the_end_token(runner: Runner) -> None:
    assert chat(runner, max_tokens=60, ignore_eos=True).usage.completion_tokens == 60
    assert write(runner, max_tokens=60, ignore_eos=True).usage.completion_tokens == 60


# The instance


def test_a_closed_runner() -> None:
    runner = Runner(HOUSE, options=OPTIONS)
    assert repr(runner) == "<sotto.runner.Runner, models: sotto/house>"
    chunks = stream(runner, max_tokens=400, ignore_eos=True)
    next(chunks)
    runner.close()
    runner.close()
    with pytest.raises(RunnerError):
        list(chunks)
    with pytest.raises(RunnerError, match="closed"):
        chat(runner)
    with pytest.raises(RunnerError, match="closed"):
        runner.tokenize_text("x", False, None)
    with pytest.raises(RunnerError, match="closed"):
        runner.add_model(HOUSE, "other")
    assert repr(runner) == "<sotto.runner.Runner, closed>"


@pytest.mark.row("E-004")
def test_at_most_max_seqs_answers_run() -> None:
    with Runner(HOUSE, max_seqs=2, pa_ctxt_len=512) as runner:
        most, done = 0, threading.Event()

        def watch() -> None:
            nonlocal most
            while not done.wait(0.001):
                most = max(most, runner._loader.engine.stats().decoding)

        watcher = threading.Thread(target=watch)
        watcher.start()
        answers: list[str] = []
        threads = [
            threading.Thread(
                target=lambda: answers.append(said(chat(runner, max_tokens=16, ignore_eos=True)))
            )
            for _ in range(8)
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        done.set()
        watcher.join()
        assert len(answers) == 8 and len(set(answers)) == 1 and 0 < most <= 2
    for wrong in (0, 65):
        with pytest.raises(RunnerError, match="max_seqs"):
            Runner(HOUSE, max_seqs=wrong)


@pytest.mark.row("E-005", "E-006")
@pytest.mark.parametrize("fields", [{}, {"no_kv_cache": True}, {"prefix_cache_n": 0}])
def test_reuse_of_the_kv_cache(runner: Runner, fields: dict[str, Any]) -> None:
    with Runner(HOUSE, options=OPTIONS, **fields) as made:
        first = said(chat(made))
        assert first == said(chat(made)) == said(chat(runner))
        assert (made._loader.engine.stats().cached_prompt_tokens > 0) == (not fields)
    with pytest.raises(ValueError, match="prefix_cache_n"):
        Runner(HOUSE, prefix_cache_n=-1)


@pytest.mark.row("E-034", "E-035")
def test_requests_to_a_model(runner: Runner) -> None:
    request = ChatCompletionRequest(HELLO, "zz", max_tokens=4)
    answer = runner.send_chat_completion_request_to_model(request, "sotto/house")
    assert said(answer) == said(chat(runner, max_tokens=4))  # type: ignore[arg-type]
    text = runner.send_completion_request_to_model(
        CompletionRequest("The smith said:", "zz", max_tokens=4), "sotto/house"
    )
    assert text.choices[0].text == write(runner, "The smith said:", max_tokens=4).choices[0].text
    with pytest.raises(TypeError, match="model_id"):
        runner.send_chat_completion_request_to_model(request)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="model_id"):
        runner.send_chat_completion_request_to_model(request, None)  # type: ignore[arg-type]
