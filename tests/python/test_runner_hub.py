"""A `Runner` downloads models with the token that `token_source` names."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakehub import FakeHub
from sotto.runner import CompletionRequest, Runner, RunnerError, Which

pytestmark = pytest.mark.real


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny_file: Path) -> Iterator[FakeHub]:
    """A hub with a model, an empty cache, and a cached token."""
    import huggingface_hub
    from huggingface_hub import constants

    with FakeHub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("HF_TOKEN", "hf_cached")
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        hub.files["org/name"] = {"tiny.gguf": tiny_file.read_bytes()}
        yield hub
    getattr(huggingface_hub, "close_session", lambda: None)()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()  # some versions of it leave sockets open


@pytest.mark.row("E-007")
@pytest.mark.parametrize(
    ("source", "sent"),
    [
        ("literal:hf_own", "Bearer hf_own"),
        ("env:SOTTO_TEST_TOKEN", "Bearer hf_env"),
        ("path:", "Bearer hf_file"),
        ("cache", "Bearer hf_cached"),
        ("none", None),
    ],
)
def test_the_token_of_a_download(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, sent: str | None
) -> None:
    monkeypatch.setenv("SOTTO_TEST_TOKEN", "hf_env")
    (tmp_path / "token").write_text("hf_file\n")
    source += str(tmp_path / "token") if source == "path:" else ""
    with Runner(Which.GGUF("org/name", "tiny.gguf"), max_seqs=2, token_source=source) as runner:
        assert set(hub.tokens) == {sent}
        request = CompletionRequest("hello", "org/name", max_tokens=2)
        assert runner.send_completion_request(request).usage.completion_tokens == 2
        asked = len(hub.asked)
        runner.unload_model("org/name")
        runner.reload_model("org/name")
        assert len(hub.asked) == asked  # cached


def test_a_repository_without_the_file(hub: FakeHub) -> None:
    with pytest.raises(RunnerError, match=r"none\.gguf"):
        Runner(Which.GGUF("org/name", "none.gguf"), max_seqs=2)
