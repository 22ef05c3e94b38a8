"""`sotto.client`: signatures, and what each method sends."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator
from typing import Any

import pytest

import sotto
from client_mock import MockServer, Reply, events, stream
from client_signatures import COMPLETE, CREATE, MESSAGES, OTHERS, SIGNATURES
from sotto.client import ApiError, CompletionResponse, LlamaCppClient


@pytest.fixture
def server() -> Iterator[MockServer]:
    """A recording server."""
    with MockServer() as mock:
        yield mock


@pytest.fixture
def client(server: MockServer) -> Iterator[LlamaCppClient]:
    """A client of it."""
    with LlamaCppClient(server.url, timeout=20) as one:
        yield one


def method(client: LlamaCppClient, name: str) -> Any:
    """Returns a method by its name in the documents."""
    found: Any = client
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.row("B-003")
def test_the_constructor_s_signature() -> None:
    parameters = inspect.signature(LlamaCppClient.__init__).parameters
    defaults = {name: one.default for name, one in parameters.items() if name != "self"}
    wanted = {"base_url": "http://127.0.0.1:8080", "api_key": None, "timeout": 600.0, "verify_ssl": True}
    assert list(defaults.items()) == list(wanted.items())


@pytest.mark.row("B-019", "B-021", "B-022", "B-025", "B-032", "B-033", "B-035", "B-036", "B-038", "B-067")
@pytest.mark.row("B-103", "B-104", "B-110", "B-115", "B-121", "B-123", "B-130", "B-138", "B-140", "B-141")
@pytest.mark.row("B-142", "B-145", "B-146", "B-150", "B-151", "B-152", "B-154")
@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_have_the_documented_names_order_and_defaults(client: LlamaCppClient, name: str) -> None:
    required, defaults, others = SIGNATURES[name]
    parameters = list(inspect.signature(method(client, name)).parameters.values())
    if others:
        last = parameters.pop()
        assert last.kind is inspect.Parameter.VAR_KEYWORD and last.name == "kwargs"
    assert all(one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for one in parameters)
    assert [one.name for one in parameters] == [*required, *defaults]
    empty = inspect.Parameter.empty
    assert [one.default for one in parameters] == [*[empty] * len(required), *defaults.values()]


@pytest.mark.row("B-012", "B-013", "B-014", "B-015", "B-016", "B-017", "B-149")
def test_groups_are_properties(client: LlamaCppClient, server: MockServer) -> None:
    groups = {
        "chat": "ChatCompletionsAPI",
        "embeddings": "EmbeddingsClientAPI",
        "models": "ModelsClientAPI",
        "slots": "SlotsClientAPI",
        "lora": "LoraClientAPI",
    }
    for name, kind in groups.items():
        assert isinstance(getattr(LlamaCppClient, name), property)
        assert type(getattr(client, name)).__name__ == kind
        assert getattr(client, name) is getattr(client, name)
    client.chat.completions.create(MESSAGES, seed=3)
    client.chat.create(MESSAGES, seed=3)
    client.embeddings.create("a")
    client.models.list()
    client.slots.list()
    client.lora.list()
    assert server.requests[0].body == server.requests[1].body
    assert [one.path for one in server.requests[1:]] == [
        "/v1/chat/completions",
        "/v1/embeddings",
        "/v1/models",
        "/slots",
        "/lora-adapters",
    ]


@pytest.mark.row("B-035", "B-037", "B-039", "B-040", "B-042", "B-043", "B-047", "B-048", "B-055", "B-056")
@pytest.mark.row("B-057", "B-059", "B-060", "B-061")
def test_a_chat_sends_its_defaults(client: LlamaCppClient, server: MockServer) -> None:
    client.chat.completions.create(MESSAGES)
    wanted = {name: value for name, value in CREATE.items() if value is not None}
    assert server.last.method == "POST"
    assert server.last.body == {"messages": MESSAGES, **wanted}
    client.chat_completion(MESSAGES)
    assert server.requests[0].body == server.requests[1].body
    with pytest.raises(TypeError):
        client.chat_completion()  # type: ignore[call-arg]


def other(name: str, default: Any) -> Any:
    """Returns a value that is not the default."""
    return OTHERS[name] if name in OTHERS else 7 if default is None else default + 1


@pytest.mark.row("B-037", "B-038", "B-041", "B-044", "B-046", "B-049", "B-050", "B-051", "B-052", "B-053")
@pytest.mark.row("B-054", "B-058")
@pytest.mark.parametrize("name", [name for name in CREATE if name != "stream"])
def test_a_chat_sends_each_parameter(client: LlamaCppClient, server: MockServer, name: str) -> None:
    value = other(name, CREATE[name])
    client.chat.completions.create(MESSAGES, **{name: value})
    assert server.last.body[name] == value
    client.chat_completion(MESSAGES, **{name: value})
    assert server.requests[-2].body == server.last.body
    if CREATE[name] is None:
        client.chat_completion(MESSAGES)
        assert name not in server.last.body


@pytest.mark.row("B-046", "B-062", "B-100")
def test_a_stop_string_is_a_list_of_one_and_further_fields_pass(
    client: LlamaCppClient, server: MockServer
) -> None:
    client.chat_completion(MESSAGES, stop="\n")
    assert server.last.body["stop"] == ["\n"]
    client.chat.completions.create(MESSAGES, priority="high", top_k=3, cache_prompt=False)
    assert server.last.body["priority"] == "high"
    assert server.last.body["top_k"] == 3
    client.complete("a", priority="high", n_keep=3)
    assert (server.last.body["priority"], server.last.body["n_keep"]) == ("high", 3)


@pytest.mark.row("B-068", "B-070", "B-071", "B-072", "B-073", "B-074", "B-075", "B-076", "B-077", "B-078")
@pytest.mark.row("B-079", "B-080", "B-088", "B-089", "B-090", "B-091", "B-092", "B-093", "B-094", "B-095")
@pytest.mark.row("B-096", "B-097")
def test_a_completion_sends_its_defaults(client: LlamaCppClient, server: MockServer) -> None:
    client.complete("Once")
    wanted = {name: value for name, value in COMPLETE.items() if value is not None}
    del wanted["dry_penalty_last_n"]  # llama-server refuses -1; its default is used
    assert (server.last.method, server.last.path) == ("POST", "/completion")
    assert server.last.body == {"prompt": "Once", **wanted}
    for prompt in ([1, 2, 3], [1, "a", 2]):
        client.complete(prompt)
        assert server.last.body["prompt"] == prompt


@pytest.mark.row("B-067", "B-069", "B-081", "B-082", "B-083", "B-084", "B-086", "B-087", "B-088", "B-098")
@pytest.mark.row("B-099")
@pytest.mark.parametrize("name", [name for name in COMPLETE if name != "stream"])
def test_a_completion_sends_each_parameter(client: LlamaCppClient, server: MockServer, name: str) -> None:
    value = other(name, COMPLETE[name])
    client.complete("Once", **{name: value})
    assert server.last.body[name] == value


@pytest.mark.row("B-101", "B-103")
def test_a_simple_completion_is_a_text(client: LlamaCppClient, server: MockServer) -> None:
    assert client.simple_completion("Once", n_predict=3) == " Hi"
    assert server.last.body["n_predict"] == 3
    server.replies["/completion"] = Reply({"content": "", "stop_type": "eos"})
    assert isinstance(client.simple_completion("Once"), CompletionResponse)
    server.replies["/completion"] = stream(events({"content": "a", "stop": True}, done=False))
    chunks = client.simple_completion("Once", stream=True)
    assert [one["content"] for one in chunks] == ["a"]  # type: ignore[union-attr,index]


@pytest.mark.row("B-104", "B-105", "B-106", "B-107", "B-108")
def test_embeddings_send(client: LlamaCppClient, server: MockServer) -> None:
    client.embeddings.create("a")
    sent = {"input": ["a"], "model": "text-embedding-ada-002", "encoding_format": "float"}
    assert server.last.body == sent
    client.embeddings.create(["a", "b"], "m", "base64", 64)
    wanted = {"input": ["a", "b"], "model": "m", "encoding_format": "base64", "dimensions": 64}
    assert server.last.body == wanted


@pytest.mark.row("B-110", "B-111", "B-112", "B-113", "B-114", "B-115", "B-116", "B-117", "B-118", "B-119")
@pytest.mark.row("B-121", "B-154")
def test_native_endpoints_send(client: LlamaCppClient, server: MockServer) -> None:
    def sent() -> tuple[str, str, Any]:
        return server.last.method, server.last.path, server.last.body

    assert client.embed("a") == [[1.0, 0.5]]
    assert sent() == ("POST", "/embedding", {"content": "a", "embd_normalize": 2})
    for norm in (-1, 0, 1):
        assert client.embed(["a"], norm) == [[1.0, 0.5]]
        assert sent() == ("POST", "/embedding", {"content": ["a"], "embd_normalize": norm})
    plain = {"content": "", "add_special": False, "parse_special": True, "with_pieces": False}
    client.tokenize("")
    assert sent() == ("POST", "/tokenize", plain)
    client.tokenize("a", True, False, True)
    wanted = {"content": "a", "add_special": True, "parse_special": False, "with_pieces": True}
    assert sent() == ("POST", "/tokenize", wanted)
    assert client.detokenize([1, 2]) == "ab"
    assert sent() == ("POST", "/detokenize", {"tokens": [1, 2]})
    assert client.apply_template(MESSAGES) == "<s>"
    assert sent() == ("POST", "/apply-template", {"messages": MESSAGES})


@pytest.mark.row("B-123", "B-124", "B-125", "B-126", "B-127", "B-129")
def test_rerank_sends_and_sorts(client: LlamaCppClient, server: MockServer) -> None:
    documents = ["Hello world", "Pandas eat bamboo"]
    results = client.rerank(query="What is a panda?", documents=documents, top_n=2)
    assert server.last.path == "/v1/rerank"
    assert server.last.body == {"query": "What is a panda?", "documents": documents, "top_n": 2}
    client.rerank("q", documents)
    assert server.last.body == {"query": "q", "documents": documents}
    said = [f"  [{r.index}] score={r.relevance_score:.3f}" for r in results.results]
    assert said == ["  [1] score=0.500", "  [0] score=0.250"]
    assert [one.document for one in results.results] == documents[::-1]


@pytest.mark.row("B-130", "B-131", "B-132", "B-133", "B-134", "B-135", "B-136")
def test_infill_sends(client: LlamaCppClient, server: MockServer) -> None:
    answer = client.infill("def f(", "pass")
    assert isinstance(answer, CompletionResponse) and answer.choices[0].text == " Hi"
    sent = {"input_prefix": "def f(", "input_suffix": "pass", "stream": False}
    assert (server.last.path, server.last.body) == ("/infill", sent)
    extra = [{"filename": "a.py", "text": "x = 1"}]
    client.infill("a", "b", extra, "c", n_predict=4)
    wanted = {"input_prefix": "a", "input_suffix": "b", "stream": False, "input_extra": extra, "prompt": "c"}
    assert server.last.body == {**wanted, "n_predict": 4}
    server.replies["/infill"] = stream(events({"content": "a", "stop": True}, done=False))
    chunks: Any = client.infill("a", "b", stream=True)
    assert [one["content"] for one in chunks] == ["a"]
    assert server.last.body["stream"] is True


@pytest.mark.row("B-138", "B-139", "B-140", "B-141", "B-142")
def test_slots_send(client: LlamaCppClient, server: MockServer) -> None:
    def sent() -> tuple[str, str, Any]:
        return server.last.method, server.last.path, server.last.body

    assert [one.id for one in client.slots.list()] == [0]
    assert sent() == ("GET", "/slots", None)
    server.replies["/slots"] = Reply({"error": {"message": "no slot available"}}, status=503)
    with pytest.raises(ApiError, match="no slot"):
        client.slots.list(fail_on_no_slot=True)
    assert sent() == ("GET", "/slots?fail_on_no_slot=1", None)
    assert client.slots.save(1, "a.bin") == {"id_slot": 0}
    assert sent() == ("POST", "/slots/1?action=save", {"filename": "a.bin"})
    assert client.slots.restore(1, "a.bin") == {"id_slot": 0}
    assert sent() == ("POST", "/slots/1?action=restore", {"filename": "a.bin"})
    assert client.slots.erase(1) == {"id_slot": 0}
    assert sent() == ("POST", "/slots/1?action=erase", None)


@pytest.mark.parametrize("slot", ["../props", -1, 1.5, None, True])
def test_slot_numbers_are_checked(client: LlamaCppClient, server: MockServer, slot: Any) -> None:
    for call in (client.slots.erase, lambda one: client.slots.save(one, "a")):
        with pytest.raises(sotto.ArgumentError, match="invalid slot_id"):
            call(slot)
    assert server.requests == []


@pytest.mark.row("B-145", "B-146", "B-147", "B-150", "B-151", "B-152")
def test_adapters_and_models_send(client: LlamaCppClient, server: MockServer) -> None:
    scales = [{"id": 0, "scale": 0.5}, {"id": 1, "scale": 0.8}]
    assert client.lora.set_scales(scales) is True
    assert (server.last.method, server.last.path, server.last.body) == ("POST", "/lora-adapters", scales)
    assert client.models.load("m") is True
    assert (server.last.path, server.last.body) == ("/models/load", {"model": "m"})
    assert client.models.unload("m") is True
    assert (server.last.path, server.last.body) == ("/models/unload", {"model": "m"})


@pytest.mark.row("B-025", "B-032", "B-033")
def test_server_properties_send(client: LlamaCppClient, server: MockServer) -> None:
    assert client.props() == {"total_slots": 1}
    assert (server.last.method, server.last.path) == ("GET", "/props")
    assert client.set_props(temperature=0.5) == {"success": True}
    assert (server.last.method, server.last.body) == ("POST", {"temperature": 0.5})
    assert client.metrics().startswith("# TYPE")
    for path, call in (("/metrics", client.metrics), ("/props", client.set_props)):
        server.replies[path] = Reply({"error": {"message": "off", "type": "not_supported_error"}}, status=501)
        with pytest.raises(ApiError) as caught:
            call()
        assert caught.value.status == 501


@pytest.mark.row("B-019", "B-020", "B-021", "B-207")
def test_health_has_states(client: LlamaCppClient, server: MockServer) -> None:
    state = client.health()
    assert (state.status, state.slots_idle, state.slots_processing) == ("ok", None, None)
    assert client.is_ready() is True
    server.replies["/health"] = Reply({"status": "ok", "slots_idle": 3, "slots_processing": 1})
    assert (client.health().slots_idle, client.health().slots_processing) == (3, 1)
    for body in ({"error": {"code": 503, "message": "Loading model"}}, b"busy", []):
        server.replies["/health"] = Reply(body, status=503)
        assert client.health().status == "loading"
        assert client.is_ready() is False
    server.replies["/health"] = Reply({"status": "error"}, status=503)
    assert client.health().status == "error"
    server.replies["/health"] = Reply({}, status=500)
    with pytest.raises(ApiError):
        client.health()
    assert client.is_ready() is False


@pytest.mark.row("B-021")
def test_a_server_out_of_reach_is_not_ready() -> None:
    with MockServer() as gone:
        pass
    with LlamaCppClient(gone.url) as client:
        assert client.is_ready() is False


@pytest.mark.row("B-022", "B-023", "B-024")
def test_waiting_polls_until_ready(
    client: LlamaCppClient, server: MockServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, slept = [1000.0], []
    monkeypatch.setattr("sotto._deadline.monotonic", lambda: now[0])

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(client._transport, "sleep", sleep)
    states = iter([503, 500, 200])
    server.replies["/health"] = lambda _: Reply({}, status=next(states))
    assert client.wait_until_ready(timeout=60, poll_interval=2.5) is True
    assert slept == [2.5, 2.5]
    server.replies["/health"] = Reply({}, status=503)
    slept.clear()
    assert client.wait_until_ready(timeout=3.5) is False
    assert slept == [1.0, 1.0, 1.0, 0.5]
    count = len(server.requests)
    assert client.wait_until_ready(timeout=0) is False
    assert len(server.requests) == count


@pytest.mark.row("B-022", "B-023")
def test_waiting_ends_in_time_on_a_server_that_stalls(client: LlamaCppClient, server: MockServer) -> None:
    server.replies["/health"] = Reply({}, pause=3)
    began = time.monotonic()
    assert client.wait_until_ready(timeout=0.4, poll_interval=0.1) is False
    assert time.monotonic() - began < 2
    for value in (-1, float("nan"), "1"):
        with pytest.raises(ValueError, match="invalid timeout"):
            client.wait_until_ready(timeout=value)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="invalid poll_interval"):
            client.wait_until_ready(poll_interval=value)  # type: ignore[arg-type]
