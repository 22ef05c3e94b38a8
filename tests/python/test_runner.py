"""`sotto.runner.Runner`: chats, texts, tokens and streams, on the house model."""

from __future__ import annotations

import gc
import inspect
import json
import math
import re
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


SEED = {  # of the reference; what other modules add is keyword-only
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
    "tool_callbacks": None,
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
    assert {one.name: one.default for one in found if one.name not in own} == SEED
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


@pytest.mark.row("E-104", "E-149")
def test_biases(runner: Runner) -> None:
    (forced,) = runner.tokenize_text("ale", False, None)[:1]
    word = runner.detokenize_text([forced], True)
    assert said(chat(runner, logit_bias={forced: 100}, max_tokens=2)) == word * 2
    assert write(runner, logit_bias={forced: 100}, max_tokens=2).choices[0].text == word * 2
    first = runner.tokenize_text(said(chat(runner, max_tokens=1)), False, None)[0]
    assert (
        runner.tokenize_text(said(chat(runner, max_tokens=1, logit_bias={first: -100})), False, None)[0]
        != first
    )


@pytest.mark.row("E-110", "E-152", "E-460", "E-499")
def test_stop_texts(runner: Runner) -> None:
    whole = said(chat(runner))
    cut = whole.split(" ")[1]
    answer = chat(runner, stop_seqs=[cut])
    assert said(answer) == whole[: whole.index(cut)] and answer.choices[0].finish_reason == "stop"
    text = write(runner).choices[0].text
    cut = text[3:6]
    assert write(runner, stop_seqs=[cut]).choices[0].text == text[: text.index(cut)]


@pytest.mark.row("E-111", "E-153", "E-022")
def test_temperature_and_seed(runner: Runner) -> None:
    greedy = said(chat(runner))
    assert greedy == said(chat(runner, temperature=0)) == said(chat(runner, temperature=1.5, top_k=1))
    texts = []
    for _ in range(2):
        with Runner(HOUSE, seed=7, options=OPTIONS) as seeded:
            texts.append([said(chat(seeded, temperature=1.5)) for _ in range(3)])
    assert texts[0] == texts[1] and len(set(texts[0])) > 1


SAMPLERS = [
    pytest.param({"top_p": 1e-6}, ("E-112", "E-154"), id="top_p"),
    pytest.param({"top_k": 1}, ("E-113", "E-156"), id="top_k"),
    pytest.param({"min_p": 1.0}, ("E-117", "E-159"), id="min_p"),
]


@pytest.mark.parametrize(
    "fields",
    [pytest.param(one.values[0], marks=pytest.mark.row(*one.values[1]), id=one.id) for one in SAMPLERS],
)  # type: ignore[misc]
def test_samplers_that_leave_one_token(runner: Runner, fields: dict[str, Any]) -> None:
    assert said(chat(runner, temperature=2, **fields)) == said(chat(runner))
    assert write(runner, temperature=2, **fields).choices[0].text == write(runner).choices[0].text
    (name,) = fields
    with pytest.raises(RunnerError, match=name):
        chat(runner, **{name: -1})


PENALTIES = {
    "presence_penalty": ({"presence_penalty": 5.0}, ("E-107", "E-146")),
    "frequency_penalty": ({"frequency_penalty": 5.0}, ("E-108", "E-147")),
    "repetition_penalty": ({"repetition_penalty": 5.0}, ("E-109", "E-148")),
    "dry_multiplier": ({"dry_multiplier": 5.0}, ("E-120", "E-162")),
    "dry_base": ({"dry_multiplier": 0.5, "dry_base": 50.0}, ("E-121", "E-163")),
    "dry_allowed_length": ({"dry_multiplier": 5.0, "dry_allowed_length": 1}, ("E-122", "E-164")),
    "dry_sequence_breakers": (
        {"dry_multiplier": 5.0, "dry_sequence_breakers": ["|"]},
        ("E-123", "E-165"),
    ),
}


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(fields, marks=pytest.mark.row(*rows), id=name)
        for name, (fields, rows) in PENALTIES.items()
    ],
)
def test_penalties_change_what_repeats(runner: Runner, fields: dict[str, Any]) -> None:
    prompt = "the gate, the gate, the gate, the gate, the gate, the"
    assert " gate" in (plain := write(runner, prompt, max_tokens=12).choices[0].text)
    assert write(runner, prompt, max_tokens=12, **fields).choices[0].text != plain
    asks = [{"role": "user", "content": f"Say: {prompt}"}]
    chat(runner, asks, **fields)
    name = next(reversed(fields))
    wrong = [] if name == "dry_sequence_breakers" else -1000
    with pytest.raises(RunnerError, match=r"dry_|penalty"):
        chat(runner, asks, **{**fields, name: wrong})


@pytest.mark.row("E-115", "E-116", "E-157", "E-158")
def test_grammars(runner: Runner) -> None:
    schema = {"type": "object", "properties": {"mood": {"enum": ["glad", "sad"]}}, "required": ["mood"]}
    forms = {"regex": r"[0-9]{3}-[a-z]{2}", "lark": 'start: "yes" | "no"', "json_schema": json.dumps(schema)}
    for kind, grammar in forms.items():
        fields: dict[str, Any] = {
            "grammar": grammar,
            "grammar_type": kind,
            "max_tokens": 32,
            "temperature": 1,
        }
        for text in (said(chat(runner, **fields)), write(runner, **fields).choices[0].text):
            if kind == "json_schema":
                assert json.loads(text)["mood"] in ("glad", "sad")
            else:
                assert re.fullmatch(grammar if kind == "regex" else "yes|no", text)
    for wrong, words in (
        ({"grammar": "x"}, "missing grammar_type"),
        ({"grammar_type": "regex"}, "without grammar"),
        ({"grammar": "x", "grammar_type": "zzz"}, "invalid grammar_type 'zzz'"),
        ({"grammar": "[", "grammar_type": "json_schema"}, "a JSON schema"),
        ({"grammar": "(", "grammar_type": "regex"}, "grammar"),
    ):
        with pytest.raises(RunnerError, match=words):
            chat(runner, **wrong)
        with pytest.raises(RunnerError, match=words):
            write(runner, **wrong)


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


# Texts


@pytest.mark.row("E-142", "E-145", "E-150", "E-489", "E-498", "E-501", "E-502")
def test_a_text(runner: Runner) -> None:
    answer = write(runner)
    assert answer.object == "text_completion" and answer.model == "sotto/house"
    (one,) = answer.choices
    assert (one.index, one.finish_reason, one.logprobs) == (0, "length", None) and one.text
    echoed = write(runner, echo_prompt=True).choices[0].text
    assert echoed == "The smith said:" + one.text
    assert answer.usage.prompt_tokens == len(runner.tokenize_text("The smith said:", True, None))


@pytest.mark.row("E-144")
def test_the_best_of_several_texts(runner: Runner) -> None:
    best = write(runner, best_of=6, temperature=1.5, n_choices=2)
    assert [one.index for one in best.choices] == [0, 1]
    means = []
    for one in best.choices:
        assert one.logprobs is not None and one.logprobs.content
        means.append(sum(each.logprob for each in one.logprobs.content) / len(one.logprobs.content))
    assert means[0] >= means[1]
    with pytest.raises(RunnerError, match="best_of"):
        write(runner, best_of=0)


@pytest.mark.row("E-155")
def test_a_suffix_needs_a_model_for_infill(runner: Runner) -> None:
    with pytest.raises(RunnerError, match="infill"):
        write(runner, suffix="the end")


@pytest.mark.row("E-160", "E-161")
def test_a_text_has_no_tools(runner: Runner) -> None:
    with pytest.raises(RunnerError, match=r"tool_schemas\[0\]"):
        write(runner, tool_schemas=["["])
    with pytest.raises(RunnerError, match="send a chat"):
        write(runner, tool_schemas=['{"type": "function", "function": {"name": "a"}}'])


# Tokens


@pytest.mark.row("E-041", "E-042", "E-043", "E-045", "E-046", "E-047")
def test_tokens(runner: Runner) -> None:
    for text in ("Hello there", "", "é 日本 \U0001f600", "a\0b"):
        tokens = runner.tokenize_text(text, False, None)
        assert tokens == runner.tokenize_text(text, False, True) == runner.tokenize_text(text, False, False)
        assert runner.detokenize_text(tokens, True) == text
    special = runner.tokenize_text("<|im_end|>", False, None)
    assert len(special) == 1
    assert (runner.detokenize_text(special, False), runner.detokenize_text(special, True)) == (
        "<|im_end|>",
        "",
    )
    details = runner._loader.engine.model_info("sotto/house")["details"]
    begins = len(runner.tokenize_text("x", True, None)) - len(runner.tokenize_text("x", False, None))
    assert begins == int(details["adds_bos"]) + int(details["adds_eos"])
    wrongs: list[Any] = [(3, False, None), ("x", 1, None), ("x", False, "yes")]
    for wrong in wrongs:
        with pytest.raises(TypeError):
            runner.tokenize_text(*wrong)
    with pytest.raises(TypeError, match="tokens"):
        runner.detokenize_text("12", True)  # type: ignore[arg-type]
    for tokens in ([-1], [2**31], [10**6]):
        with pytest.raises(RunnerError, match="tokens"):
            runner.detokenize_text(tokens, True)


@pytest.mark.row("E-049")
def test_the_longest_sequence(runner: Runner) -> None:
    assert runner.max_sequence_length() == runner.max_sequence_length("sotto/house") == 512


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
