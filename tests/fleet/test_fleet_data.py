"""`DataClient` and `Endpoint`: requests, results and streams, on a double of the data plane."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import pytest

import sotto.fleet as fleet
from client_mock import Reply, delta, events, stream
from fleet_faces import LIVE, SDK, Face
from fleet_mock import CHAT, CHUNKS, FakePlane

USER = [{"role": "user", "content": "Hi"}]


@pytest.mark.row("D-062", "D-063", "D-064", "D-065", "D-071", "D-072", "D-074", "D-073", "D-182")
def test_keys_and_projects(plane: FakePlane, face: Face) -> None:
    with pytest.raises(TypeError):
        face.data(plane.url, "acme")
    for blank in ("", "  ", "..", None):
        with pytest.raises(fleet.ConfigurationError, match="project"):
            face.data(base_url=plane.url, project=blank)
    data = face.keep(face.data(base_url=plane.url + "/", project="acme", api_key=LIVE))
    other = LIVE.replace("b" * 64, "c" * 64)
    for slug, key in (("one", None), ("two", other)):
        endpoint = data.endpoint(slug, api_key=key)
        assert endpoint.workload_slug == slug and "bbbb" not in repr(endpoint)
        endpoint.embed(input="a")
        assert plane.last.headers["authorization"] == f"Bearer {key or LIVE}"
        assert plane.last.path == f"/endpoint/acme/{slug}/v1/embeddings"
    bare = face.keep(face.data(base_url=plane.url, project="acme"))
    for missing in (None, "", " "):
        with pytest.raises(fleet.ConfigurationError, match="INFERENCEKEY_API_KEY"):
            bare.endpoint("one", api_key=missing)
    assert isinstance(
        fleet.DataClient(base_url=plane.url, project="a", api_key=LIVE).endpoint("b"), fleet.Endpoint
    )


@pytest.mark.row("D-034", "D-184")
def test_a_token_of_the_control_plane_is_refused_without_a_request(plane: FakePlane, face: Face) -> None:
    with pytest.raises(fleet.PermissionDenied, match="wrong_credential_type"):
        face.endpoint(plane.url, key=SDK).generate_text(prompt="a")
    assert plane.requests == []


@pytest.mark.row("D-066", "D-067", "D-068", "D-069")
@pytest.mark.parametrize("explicit, variable", list(itertools.product([True, False], [None, "", "set"])))
def test_from_env(
    plane: FakePlane, face: Face, monkeypatch: pytest.MonkeyPatch, explicit: bool, variable: str | None
) -> None:
    key = LIVE.replace("b" * 64, "c" * 64)
    if variable is not None:
        for name, value in {"BASE_URL": plane.url, "PROJECT": "env", "API_KEY": key}.items():
            monkeypatch.setenv(f"INFERENCEKEY_{name}", value if variable else "")
    if explicit:
        data = face.keep(face.data.from_env(base_url=plane.url, project="own", api_key=LIVE))
        data.endpoint("one").embed(input="a")
        assert (data.project, plane.last.headers["authorization"]) == ("own", f"Bearer {LIVE}")
    elif variable:
        data = face.keep(face.data.from_env())
        data.endpoint("one").embed(input="a")
        assert (data.project, plane.last.headers["authorization"]) == ("env", f"Bearer {key}")
    else:
        with pytest.raises(fleet.ConfigurationError, match="INFERENCEKEY_PROJECT"):
            face.data.from_env()
        data = face.keep(face.data.from_env(project="acme"))
        assert data.base_url == "https://api.inferencekey.com"
        with pytest.raises(fleet.ConfigurationError):
            data.endpoint("one")


@pytest.mark.row("D-075", "D-076", "D-078", "D-079", "D-081", "D-082", "D-116", "D-117", "D-118", "D-119")
def test_generate_text(plane: FakePlane, face: Face) -> None:
    endpoint = face.endpoint(plane.url)
    result = endpoint.generate_text(prompt="Hi")
    assert plane.last.path == "/endpoint/acme/smith/v1/chat/completions"
    assert plane.last.body == {"model": "smith", "messages": USER, "stream": False}
    assert result == fleet.TextResult("Hi", "house", "stop", CHAT)
    endpoint.generate_text(
        messages=[*USER, {"role": "assistant", "content": ""}], temperature=0.2, max_tokens=9
    )
    assert plane.last.body["temperature"] == 0.2 and plane.last.body["max_tokens"] == 9
    with pytest.raises(TypeError):
        endpoint.generate_text("Hi")


@pytest.mark.row("D-077")
@pytest.mark.parametrize("content", ["Hi", None, [{"type": "text", "text": "Hi"}]])
def test_messages_are_sent_as_they_are(plane: FakePlane, face: Face, content: Any) -> None:
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": content, "name": "Bo"}]
    face.endpoint(plane.url).generate_text(messages=messages)
    assert plane.last.body["messages"] == messages


@pytest.mark.row("D-080", "D-079", "D-085", "D-181")
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"prompt": "a", "messages": USER},
        {"prompt": ""},
        {"prompt": "  "},
        {"prompt": 5},
        {"messages": []},
        {"messages": "Hi"},
        {"messages": ["Hi"]},
        {"messages": [{"content": "no role"}]},
        {"prompt": "a", "max_tokens": -1},
        {"prompt": "a", "max_tokens": True},
        {"prompt": "a", "max_tokens": 1.5},
        {"prompt": "a", "temperature": float("nan")},
        {"prompt": "a", "temperature": "hot"},
        {"messages": [{"role": "user", "content": {1, 2}}]},
    ],
)
def test_invalid_arguments_are_refused_before_any_request(
    plane: FakePlane, face: Face, given: dict[str, Any]
) -> None:
    endpoint = face.endpoint(plane.url)
    for method in (endpoint.generate_text, endpoint.generate_text_stream):
        with pytest.raises(fleet.ValidationError, match="invalid "):
            method(**given)
    assert plane.requests == []


@pytest.mark.parametrize("reason", ["stop", "length", None])
@pytest.mark.row("D-118")
def test_finish_reasons(plane: FakePlane, face: Face, reason: str | None) -> None:
    choice = {"message": {"content": None}, "finish_reason": reason}
    plane.chat = Reply({"choices": [choice]})
    result = face.endpoint(plane.url).generate_text(prompt="a")
    assert result.finish_reason == reason and result.text == "" and result.model == ""


@pytest.mark.row("D-183")
@pytest.mark.parametrize(
    "body", [[], {}, {"choices": []}, {"choices": [{}]}, {"choices": [{"message": {"content": 5}}]}, "text"]
)
def test_an_invalid_completion_is_an_error(plane: FakePlane, face: Face, body: Any) -> None:
    plane.chat = Reply(body)
    with pytest.raises(fleet.ApiError, match="invalid response"):
        face.endpoint(plane.url).generate_text(prompt="a")


@pytest.mark.row("D-083", "D-084", "D-087", "D-120", "D-121", "D-122", "D-123")
def test_generate_text_stream(plane: FakePlane, face: Face) -> None:
    endpoint = face.endpoint(plane.url)
    chunks = list(endpoint.generate_text_stream(prompt="Hi"))
    assert plane.last.body == {"model": "smith", "messages": USER, "stream": True}
    assert [one.text for one in chunks] == ["", "H", "i", ""]
    assert [one.finish_reason for one in chunks] == [None, None, None, "stop"]
    assert [one.raw for one in chunks] == list(CHUNKS)
    assert all(isinstance(one, fleet.TextChunk) for one in chunks)
    assert "".join(one.text for one in chunks) == endpoint.generate_text(prompt="Hi").text


@pytest.mark.row("D-085", "D-086")
def test_a_stream_is_opened_at_once_and_read_when_asked(plane: FakePlane, face: Face) -> None:
    more = threading.Event()

    def pieces() -> Any:
        yield events(delta("one"), done=False)
        assert more.wait(10)
        yield events(delta("two", "stop"))

    plane.chat = Reply(pieces(), headers={"Content-Type": "text/event-stream"})
    answer = face.endpoint(plane.url).generate_text_stream(prompt="a")
    assert len(plane.requests) == 1
    assert next(answer).text == "one"  # before the server sends the second
    more.set()
    assert next(answer).text == "two"
    with pytest.raises(StopIteration):
        next(answer)


@pytest.mark.row("D-088", "D-183")
@pytest.mark.parametrize("pieces", [(), (events(delta("a"), done=False),)])
def test_a_stream_that_ends_early_is_an_error(plane: FakePlane, face: Face, pieces: Any) -> None:
    plane.chat = stream(*pieces)
    answer = face.endpoint(plane.url).generate_text_stream(prompt="a")
    with pytest.raises(fleet.ApiError, match="ended before the answer was complete"):
        list(answer)


@pytest.mark.row("D-088")
@pytest.mark.parametrize(
    "error, kind",
    [
        ({"error": {"code": 400, "message": "too long"}}, fleet.ValidationError),
        ({"error": {"code": 504, "message": "late"}}, fleet.ApiError),
        ({"error": "scope_insufficient"}, fleet.ApiError),
    ],
)
def test_an_error_inside_a_stream(plane: FakePlane, face: Face, error: Any, kind: type[Exception]) -> None:
    plane.chat = stream(events(delta("a"), done=False), events(error, done=False))
    answer = face.endpoint(plane.url).generate_text_stream(prompt="a")
    assert next(answer).text == "a"
    with pytest.raises(kind):
        next(answer)


@pytest.mark.parametrize("data", [b"data: {\n\n", b"data: []\n\n", b"data: 5\n\n"])
def test_an_event_that_is_no_chunk_is_an_error(plane: FakePlane, face: Face, data: bytes) -> None:
    plane.chat = stream(data)
    with pytest.raises(fleet.ApiError, match="invalid response"):
        list(face.endpoint(plane.url).generate_text_stream(prompt="a"))


def test_closing_a_stream_closes_the_connection(plane: FakePlane, face: Face) -> None:
    plane.chat = Reply(
        (events(delta("x" * 1000), done=False) for _ in range(100_000)),
        headers={"Content-Type": "text/event-stream"},
    )
    answer = face.endpoint(plane.url).generate_text_stream(prompt="a")
    next(answer)
    answer.close()
    assert list(answer) == [] and plane.gone.wait(10)


@pytest.mark.row("D-089", "D-090", "D-091", "D-093", "D-134", "D-135", "D-136", "D-137")
def test_embed(plane: FakePlane, face: Face) -> None:
    endpoint = face.endpoint(plane.url)
    assert endpoint.embed(input="a").embeddings == [[0.0, 0.5]]
    assert plane.last.body == {"model": "smith", "input": ["a"]}
    result = endpoint.embed(input=["a", "b"])
    assert result.embeddings == [[0.0, 0.5], [1.0, 0.5]]  # by index, though they came in reverse
    assert result.model == "minilm" and result.raw["data"][0]["index"] == 1
    with pytest.raises(TypeError):
        endpoint.embed("a")


@pytest.mark.row("D-092", "D-181")
@pytest.mark.parametrize("given", [[], (), [5], 5, None, [None]])
def test_invalid_inputs_are_refused_before_any_request(plane: FakePlane, face: Face, given: Any) -> None:
    with pytest.raises(fleet.ValidationError, match="invalid input"):
        face.endpoint(plane.url).embed(input=given)
    assert plane.requests == []


@pytest.mark.parametrize(
    "data",
    [None, [], [{"index": 1, "embedding": [1]}], [{"embedding": ["a"]}], [{}, {}], [5], [{"index": "0"}]],
)
def test_invalid_embeddings_are_an_error(plane: FakePlane, face: Face, data: Any) -> None:
    plane.failure = Reply({"data": data})
    with pytest.raises(fleet.ApiError, match="invalid response"):
        face.endpoint(plane.url).embed(input="a")


@pytest.mark.row("D-094", "D-138", "D-139", "D-140", "D-141", "D-142", "D-143", "D-144")
def test_rerank(plane: FakePlane, face: Face) -> None:
    endpoint = face.endpoint(plane.url)
    result = endpoint.rerank(query="q", documents=["a", "b"], top_n=2)
    assert plane.last.body == {"model": "smith", "query": "q", "documents": ["a", "b"], "top_n": 2}
    assert result.results == [fleet.RerankItem(1, 2.0), fleet.RerankItem(0, -1.0)]
    for given in ({"query": ""}, {"documents": []}, {"top_n": 0}):
        with pytest.raises(fleet.ValidationError):
            endpoint.rerank(**{"query": "q", "documents": ["a"], **given})
