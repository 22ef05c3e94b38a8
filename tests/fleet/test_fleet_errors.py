"""Responses that the fleet's clients refuse: error statuses, malformed bodies, broken connections."""

from __future__ import annotations

from typing import Any

import pytest

import sotto.fleet as fleet
from client_mock import Reply, Request, free_port
from fleet_faces import LIVE, SDK, Face
from fleet_mock import FakePlane, spec


@pytest.mark.row("D-035", "D-178", "D-179", "D-180", "D-181", "D-183", "D-187")
@pytest.mark.parametrize(
    "status, body, kind, code",
    [
        (403, {"error": "scope_insufficient"}, fleet.PermissionDenied, "scope_insufficient"),
        (403, {"error": {"code": "project_scope_mismatch", "message": "m"}}, fleet.PermissionDenied,
         "project_scope_mismatch"),
        (403, {"error": "wrong_credential_type"}, fleet.PermissionDenied, "wrong_credential_type"),
        (401, {"error": "unauthorized"}, fleet.AuthError, "unauthorized"),
        (400, {"error": "name is too long"}, fleet.ValidationError, None),
        (404, {"error": "not_found"}, fleet.ApiError, "not_found"),
        (409, {"error": "conflict"}, fleet.ApiError, "conflict"),
        (422, {}, fleet.ApiError, None),
        (429, {"error": "slow_down"}, fleet.ApiError, "slow_down"),
        (500, "no JSON", fleet.ApiError, None),
        (503, {"error": None}, fleet.ApiError, None),
    ],
)  # fmt: skip
def test_errors_of_the_server(
    plane: FakePlane, face: Face, status: int, body: Any, kind: type[Exception], code: str | None
) -> None:
    plane.fail(status, body)
    client, endpoint = face.client(plane.url), face.endpoint(plane.url)
    actions = (
        lambda: client.ensure(spec()),
        lambda: client.delete("a"),
        lambda: endpoint.generate_text(prompt="a"),
        lambda: endpoint.generate_text_stream(prompt="a"),
        lambda: endpoint.embed(input="a"),
    )
    for action in actions:
        with pytest.raises(fleet.InferenceKeyError) as failed:
            action()
        assert type(failed.value) is kind and failed.value.status == status and failed.value.code == code
        assert code is None or code in str(failed.value)


@pytest.mark.row("D-188")
def test_a_server_that_echoes_the_token_reveals_nothing(plane: FakePlane, face: Face) -> None:
    plane.fail(400, {"error": f"bad token {SDK} and {LIVE} \x1b[31m"})
    for action in (
        lambda: face.client(plane.url).ensure(spec()),
        lambda: face.endpoint(plane.url).generate_text(prompt="a"),
    ):
        with pytest.raises(fleet.ValidationError) as failed:
            action()
        assert "aaaa" not in str(failed.value) and "bbbb" not in str(failed.value)
        assert "\x1b" not in str(failed.value)


@pytest.mark.row("D-183")
@pytest.mark.parametrize("body", ["no JSON", b"[" * 100_000, {"workloads": 5}, [{"id": 1}], {"a": 1}, [5]])
def test_an_invalid_response_is_an_error(plane: FakePlane, face: Face, body: Any) -> None:
    plane.failure = Reply(body, 200)
    if body == {"a": 1}:  # no list: no workloads
        assert face.client(plane.url).delete("a") is False
        return
    with pytest.raises(fleet.ApiError, match="invalid response"):
        face.client(plane.url).ensure(spec())


@pytest.mark.row("D-183")
def test_a_server_that_cannot_be_reached(face: Face) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(fleet.ApiError, match=url):
        face.client(url).ensure(spec())
    with pytest.raises(fleet.ApiError, match=url):
        face.endpoint(url).generate_text(prompt="a")
    with pytest.raises(fleet.ApiError, match=url):
        face.client(url).wait_until_ready("a", timeout=5, silent=True)


@pytest.mark.row("D-022", "D-191")
@pytest.mark.parametrize("empty", [[], {"workloads": []}, {"workloads": None}, ""])
def test_no_workloads_in_each_form(plane: FakePlane, face: Face, empty: Any) -> None:
    plane.failure = Reply(empty, 200)
    assert face.client(plane.url).delete("a") is False


@pytest.mark.row("D-036")
def test_a_process_that_was_faster(plane: FakePlane, face: Face) -> None:
    client = face.client(plane.url)
    answer = plane.reply_to

    def reply(request: Request) -> Reply:
        if request.method == "POST" and not plane.workloads:
            answer(request)  # the other process
            plane.workloads["w0"]["model_name"] = "theirs"
            return Reply({"error": "conflict"}, 409)
        return answer(request)

    plane.reply_to = reply  # type: ignore[method-assign]
    ref = client.ensure(spec(model="ours"))
    assert ref.plan.changes == {"model_name": ("theirs", "ours")} and len(plane.workloads) == 1


@pytest.mark.row("D-187")
def test_the_documented_order_of_handlers(plane: FakePlane, face: Face) -> None:
    said = []
    for status in (403, 401, 500):
        plane.fail(status, {"error": "reason"})
        try:
            face.client(plane.url).ensure(spec())
        except fleet.PermissionDenied:
            said.append("permission")
        except fleet.AuthError:
            said.append("auth")
        except fleet.InferenceKeyError:
            said.append("other")
    assert said == ["permission", "auth", "other"]
