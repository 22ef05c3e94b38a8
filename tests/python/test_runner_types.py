"""The classes of `sotto.runner` are those of runner.toml, and check the types of their fields."""

from __future__ import annotations

import base64
import dataclasses
import enum
import importlib
import sys
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import sotto.runner
from conftest import ROOT
from sotto.runner import (
    AgentToolApproval,
    AgentToolApprovalDecision,
    ApproximateUserLocation,
    File,
    FileSource,
    McpServerConfigPy,
    McpServerSourcePy,
    RunnerError,
    WebSearchUserLocation,
    Which,
)

sys.path.append(str(ROOT / "native" / "bindgen"))

import runner_types as table  # needs the path above

CLASSES = table.load(ROOT / "native" / "bindgen" / "runner.toml")
RECORDS = [one for one in CLASSES if one.kind == "record"]
ENUMS = [one for one in CLASSES if one.kind == "enum"]
VALUES: dict[str, Any] = {"str": "x", "int": 1, "float": 1.0, "bool": True, "Any": 1}


def class_of(one: table.Class) -> Any:
    kind: Any = sotto.runner
    for part in one.name.split("."):
        kind = getattr(kind, part)
    return kind


def case(one: table.Class, field: tuple[str, ...]) -> Any:
    rows = [field[0]] if field[0] else []
    return pytest.param(one, field, marks=pytest.mark.row(*rows), id=f"{one.name}.{field[1]}")


FIELDS = [case(one, field) for one in RECORDS for field in one.fields if field[1:]]
MEMBERS = [case(one, field) for one in ENUMS for field in one.fields]


def made(kind: Any) -> Any:
    """A record with its defaults, and a value of the right type for each field that has none."""
    given = {}
    for field in dataclasses.fields(kind):
        if field.default is dataclasses.MISSING:
            text = str(field.type).split(" | ")[0]
            named = getattr(sys.modules[kind.__module__], text, None)
            if text in VALUES:
                given[field.name] = VALUES[text]
            elif text.startswith("list["):
                given[field.name] = []
            elif text.startswith("dict["):
                given[field.name] = {}
            elif named is McpServerSourcePy:
                given[field.name] = McpServerSourcePy.Process("server", [], None, None)
            elif isinstance(named, type) and issubclass(named, enum.Enum):
                given[field.name] = next(iter(named))
            else:
                given[field.name] = made(named)
    return kind(**given)


@pytest.mark.parametrize(
    "one", [pytest.param(one, marks=pytest.mark.row(one.row), id=one.name) for one in CLASSES]
)
def test_a_class_is_there(one: table.Class) -> None:
    kind = class_of(one)
    assert kind.__doc__.startswith(one.doc)
    if one.kind == "enum":
        assert issubclass(kind, enum.Enum)
        assert [(member.name, member.value) for member in kind] == [field[1:] for field in one.fields]
        return
    names = [field[1] for field in one.fields if field[1:]]
    assert [field.name for field in dataclasses.fields(kind)] == names
    whole = made(kind)
    assert dataclasses.replace(whole) == whole
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(whole, names[0], None)
    assert isinstance(whole, Which) == one.name.startswith("Which.")
    assert isinstance(whole, McpServerSourcePy) == one.name.startswith("McpServerSourcePy.")
    with pytest.raises(TypeError, match="unknown"):
        kind(unknown=1)


@pytest.mark.parametrize(("one", "field"), FIELDS)
def test_a_field(one: table.Class, field: tuple[str, ...]) -> None:
    kind, (_, name, text, default, doc) = class_of(one), field
    found = next(each for each in dataclasses.fields(kind) if each.name == name)
    module = sys.modules[kind.__module__]
    assert found.type == text and f"{name}: {doc.split()[0]}" in kind.__doc__
    if default == "[]":
        assert found.default_factory is list
    elif default:
        assert found.default == eval(default, {**vars(module)})
    else:
        assert found.default is dataclasses.MISSING
    star = one.fields.index(("*",)) if ("*",) in one.fields else len(one.fields)
    assert found.kw_only == (one.fields.index(field) > star)
    whole = made(kind)
    hint = get_type_hints(kind, {**vars(module)}, {"bytes": bytes, "object": object})[name]
    if hint is not Any:
        with pytest.raises(TypeError, match=rf"invalid {one.local}\.{name} .*not \w*Path"):
            dataclasses.replace(whole, **{name: Path()})


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.row(*rows), id=name)
        for name, rows in (
            ("RequestedFile", ("E-195", "E-196", "E-197", "E-198")),
            ("CodeExecutionConfig", ("E-611",)),
            ("SandboxPolicy", ("E-619",)),
        )
    ],
)
def test_a_constructor(name: str) -> None:
    one = next(each for each in CLASSES if each.name == name)
    kind = class_of(one)
    words = [(field[1], field[3]) for field in one.fields]
    given = [eval(text, {**vars(sys.modules[kind.__module__])}) if text else "x" for _, text in words]
    assert kind(*given) == kind(**{key: value for (key, text), value in zip(words, given, strict=True)})
    assert kind(*given[: sum(not text for _, text in words)]) == kind(*given)


@pytest.mark.parametrize(("one", "field"), MEMBERS)
def test_a_member(one: table.Class, field: tuple[str, ...]) -> None:
    kind = class_of(one)
    assert kind[field[1]].value == field[2] and kind(field[2]) is getattr(kind, field[1])


def test_all_names_are_exported() -> None:
    for name in sotto.runner.__all__:
        assert getattr(sotto.runner, name) is not None
    for one in CLASSES:
        assert one.name.split(".")[0] in sotto.runner.__all__


def test_true_is_no_integer_and_an_integer_is_a_number() -> None:
    ask = sotto.runner.CompletionRequest("x", "default", temperature=1)
    assert ask.temperature == 1
    with pytest.raises(TypeError, match="max_tokens"):
        sotto.runner.CompletionRequest("x", "default", max_tokens=True)
    with pytest.raises(TypeError, match="logit_bias"):
        sotto.runner.CompletionRequest("x", "default", logit_bias={"1": 1.0})  # type: ignore[dict-item]


@pytest.mark.row("E-665")
def test_arguments_of_an_approval() -> None:
    tool = made(sotto.runner.AgentToolMetadata)
    assert AgentToolApproval("a", "s", 1, tool, '{"gate": 1}').arguments() == {"gate": 1}
    assert AgentToolApproval("a", "s", 1, tool, "[").arguments() is None


@pytest.mark.row("E-181")
def test_an_approximate_location() -> None:
    place = ApproximateUserLocation("Bree", "Eriador", "Bree-land", "UTC")
    assert WebSearchUserLocation.approximate(place) == WebSearchUserLocation(place)
    with pytest.raises(TypeError, match="place"):
        WebSearchUserLocation.approximate("Bree")  # type: ignore[arg-type]


@pytest.mark.row("E-593")
def test_no_text_shows_the_secrets_of_a_server() -> None:
    secret = "Secret-1f0a"
    http = McpServerSourcePy.Http(f"http://x/?key={secret}", None, {"a": secret})
    config = McpServerConfigPy("a", "a", http, bearer_token=secret)
    process = McpServerSourcePy.Process("p", [secret], None, {"KEY": secret})
    assert secret not in f"{config!r} {process!r} {McpServerSourcePy.WebSocket(secret, None, None)!r}"
    assert "Process" in repr(process) and "bearer" not in repr(config)
    wrong: Any = secret.encode()
    for make in (
        lambda: McpServerConfigPy("a", "a", http, bearer_token=wrong),
        lambda: McpServerSourcePy.Http("http://x", None, wrong),
        lambda: McpServerSourcePy.Process("p", wrong, None, None),
    ):
        with pytest.raises(TypeError, match="not bytes") as told:
            make()
        assert secret not in str(told.value)
    for arguments in ((), ("http://x",), ("http://x", None)):
        with pytest.raises(TypeError, match="missing"):
            McpServerSourcePy.Http(*arguments)


@pytest.mark.row("E-673", "E-674")
def test_decisions() -> None:
    kinds = sotto.runner.AgentToolApprovalDecisionKind
    yes, no = AgentToolApprovalDecision.approve(True), AgentToolApprovalDecision.deny("no key")
    assert (yes.decision, yes.remember_for_session, yes.message) == (kinds.Approve, True, None)
    assert (no.decision, no.remember_for_session, no.message) == (kinds.Deny, False, "no key")


def file(**fields: Any) -> File:
    given = {"id": "f", "name": "a", "format": None, "mime_type": None, "bytes": 2, "text": None}
    given |= {"source": FileSource("draw", 1, 1), "data_base64": None, "preview": None, **fields}
    return File(**given)


@pytest.mark.row("E-561", "E-562", "E-563", "E-564", "E-565", "E-566", "E-567")
def test_files(tmp_path: Path) -> None:
    text, picture = (
        file(text="hé"),
        file(data_base64=base64.b64encode(b"\0\1").decode(), mime_type="image/png"),
    )
    film, gone, error = (
        file(mime_type="video/mp4", text=""),
        file(),
        file(format="error", text="no such file"),
    )
    assert [one.is_text() for one in (text, picture, film, gone, error)] == [True, False, True, False, False]
    assert [one.is_binary() for one in (text, picture)] == [False, True]
    assert [one.is_image() for one in (text, picture)] == [False, True]
    assert [one.is_video() for one in (film, picture)] == [True, False]
    assert [one.is_error() for one in (error, gone)] == [True, False]
    assert [one.is_truncated() for one in (gone, text, picture)] == [True, False, False]
    text.save(tmp_path / "text")
    picture.save(str(tmp_path / "picture"))
    assert (tmp_path / "text").read_bytes() == "hé".encode()
    assert (tmp_path / "picture").read_bytes() == b"\0\1"
    for one in (gone, error):
        with pytest.raises(RunnerError, match="find_file"):
            one.save(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_each_module_is_generated() -> None:
    for group, text in table.modules(CLASSES).items():
        module = importlib.import_module(f"sotto.runner.{group}")
        assert Path(str(module.__file__)).read_text() == text
        assert text.count("\n") <= table.LIMIT
