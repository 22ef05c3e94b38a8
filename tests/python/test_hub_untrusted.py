"""`_web` and `_cache`: what a hub may say, send and ask for, and what is refused."""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import sotto
from fakehub import COMMIT, FakeHub
from sotto import _cache, _hub
from test_hub import SCRIPT, hub

__all__ = ["hub"]  # the fixture

FILE = "/org/name/resolve/main/name.gguf"
TREE = "/api/models/org/name/tree/main"


@pytest.fixture
def cache(hub: FakeHub, tmp_path: Path) -> Path:
    """The cache, of a hub with one model."""
    hub.files["org/name"] = {"name.gguf": SCRIPT}
    return tmp_path / "cache"


@pytest.fixture
def elsewhere() -> Iterator[FakeHub]:
    """Another host with the same file."""
    with FakeHub() as other:
        other.files["org/name"] = {"name.gguf": SCRIPT}
        yield other


def usable(cache: Path) -> list[str]:
    """Files with a name under which they would be loaded, or taken for whole."""
    folders = [found for kind in ("snapshots", "blobs") for found in cache.glob(f"models--*/{kind}/**/*")]
    return [str(one) for one in folders if one.is_file() and not one.name.endswith((".part", ".lock"))]


def refused(said: str, model: str = "org/name") -> None:
    """A load is refused in one printable line."""
    with pytest.raises(sotto.ModelLoadError, match=said) as caught:
        _hub.locate(model)
    assert str(caught.value).isprintable() and caught.value.status == -7


def test_a_file_has_no_name_before_it_was_checked(
    hub: FakeHub, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted:
        digest_size = 32

        def update(self, piece: bytes) -> None:
            assert usable(cache) == []
            raise KeyboardInterrupt

    hub.damaged = True
    monkeypatch.setattr(_cache, "_hash", lambda facts: Interrupted())
    with pytest.raises(KeyboardInterrupt):
        _hub.locate("org/name")
    assert usable(cache) == []
    with pytest.raises(sotto.ModelLoadError, match="nor in Hugging Face's cache"):
        _hub.find("org/name")
    monkeypatch.undo()


def test_a_damaged_blob_of_somebody_else_is_fetched_anew(hub: FakeHub, cache: Path) -> None:
    blob = cache / "models--org--name" / "blobs" / hashlib.sha256(SCRIPT).hexdigest()
    blob.parent.mkdir(parents=True)
    blob.write_bytes(b"x" * len(SCRIPT))
    path = _hub.locate("org/name")
    assert path is not None and Path(path).read_bytes() == SCRIPT


@pytest.mark.parametrize(
    "etag", ["/{}/evil", "../../../evil", "a/b", "..", "", " ", "a\\b", "a:b", "\x1b[31mred", "x" * 200]
)
def test_an_etag_is_a_plain_name_or_refused(hub: FakeHub, cache: Path, etag: str, tmp_path: Path) -> None:
    hub.headers["ETag"] = f'"{etag.format(tmp_path)}"'
    refused("invalid ETag .*of name.gguf: expected letters")
    assert usable(cache) == [] and not list(tmp_path.rglob("evil*"))


def test_an_etag_that_lacks_is_refused(hub: FakeHub, cache: Path) -> None:
    hub.headers["ETag"] = None
    refused("invalid ETag ''")


@pytest.mark.parametrize("commit", ["", "main", "../../../evil", COMMIT[1:], COMMIT.upper(), None])
def test_a_commit_is_a_hash_or_refused(hub: FakeHub, cache: Path, commit: str | None, tmp_path: Path) -> None:
    hub.headers["X-Repo-Commit"] = commit
    refused("invalid commit .*of name.gguf: expected 40 hexadecimal digits")
    assert usable(cache) == [] and not list(tmp_path.rglob("evil*"))


@pytest.mark.parametrize("size", ["0", "-1", "many", "1e9", "9" * 15])
def test_a_size_is_a_number_or_refused(hub: FakeHub, cache: Path, size: str) -> None:
    hub.headers["X-Linked-Size"] = size
    refused("invalid size .*of name.gguf")
    assert hub.asked[-1].startswith("HEAD")


EVIL = ["../../evil.gguf", "/evil.gguf", "a\\evil.gguf", "C:evil.gguf", "a//evil.gguf", "./evil.gguf"]
EVIL += ["evil\x1b[31m.gguf", "evil\n.gguf", "evil\u202e.gguf", "evil/../evil.gguf", "e" * 300 + ".gguf"]


@pytest.mark.parametrize("name", EVIL)
def test_a_listed_name_that_leaves_the_folder_is_passed_over(
    hub: FakeHub, cache: Path, name: str, tmp_path: Path
) -> None:
    hub.files["org/name"] = {name: SCRIPT}
    refused("repository 'org/name' contains no GGUF file$")
    hub.files["org/name"] = {name: SCRIPT, "name.gguf": SCRIPT}
    assert (_hub.locate("org/name") or "").endswith("/name.gguf")
    assert not list(tmp_path.rglob("evil*"))


@pytest.mark.parametrize("name", ["../../evil.gguf", "a/../../evil.gguf", "./evil.gguf"])
def test_a_name_that_is_asked_for_stays_in_the_folder(hub: FakeHub, cache: Path, name: str) -> None:
    refused("invalid name .*: expected a path inside the repository", f"org/name/{name}")
    assert hub.asked == []
    with pytest.raises(sotto.ModelLoadError, match="invalid name"):
        _hub.pull("org/name", "name.gguf", "../../main", lambda got, whole: None)


def test_what_has_no_hash_is_said_to_be_unchecked(
    hub: FakeHub, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hub.headers["ETag"] = '"v1.plain-name"'
    assert Path(_hub.locate("org/name") or "").read_bytes() == SCRIPT
    assert "name.gguf is not checked: the hub names no SHA-256 of it" in caplog.text


def test_a_git_hash_is_checked_too(hub: FakeHub, cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    known = hashlib.sha1(b"blob %d\0" % len(SCRIPT) + SCRIPT).hexdigest()
    hub.headers["ETag"] = f'"{known[::-1]}"'
    refused("name.gguf arrived damaged: its Git hash is")
    hub.headers["ETag"] = f'"{known}"'
    assert _hub.locate("org/name") and caplog.text == ""


def test_a_download_stops_at_the_announced_size(hub: FakeHub, cache: Path) -> None:
    hub.flood, hub.headers["X-Linked-Size"] = 50 << 20, str(len(SCRIPT))
    refused(f"sends more of name.gguf than the {len(SCRIPT)} bytes that it announced")
    (part,) = cache.glob("models--*/blobs/*.part")
    assert part.stat().st_size == len(SCRIPT) and usable(cache) == []


def test_compressed_data_is_refused(hub: FakeHub, cache: Path) -> None:
    bomb = gzip.compress(b"\0" * (64 << 20))
    headers = {"ETag": f'"{hashlib.sha256(SCRIPT).hexdigest()}"', "X-Repo-Commit": COMMIT}
    hub.answers[FILE] = (200, bomb, {**headers, "Content-Encoding": "gzip", "X-Linked-Size": str(1 << 30)})
    refused("answers with compressed data, against the request")
    hub.answers = {TREE: (200, bomb, {"Content-Encoding": "gzip"})}
    refused("answers with compressed data, against the request")


def test_a_list_that_never_ends_is_refused(hub: FakeHub, cache: Path) -> None:
    page = json.dumps([{"type": "file", "path": f"{number}.txt"} for number in range(9)]).encode()
    hub.answers[TREE] = (200, page, {"Link": f'<{hub.endpoint}{TREE}?cursor=1>; rel="next"'})
    refused("has more than 100 pages")
    assert len(hub.asked) <= 101
    hub.answers[TREE] = (200, b"[" + b" " * (9 << 20), {})
    refused("a page of the hub's list has more than 8388608 bytes")
    for nonsense in (b"{", b"{}", b"[1]", b'[{"type": "file"}]', b"[" * 100_000):
        hub.answers[TREE] = (200, nonsense, {})
        refused("(expected a JSON array of files|contains no GGUF file)")


def test_a_hub_is_asked_for_the_model_and_nothing_else(
    hub: FakeHub, cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from huggingface_hub import constants
    from huggingface_hub.utils import _detect_agent  # which asks for a list once a process, and keeps it

    monkeypatch.setattr(constants, "ENDPOINT", hub.endpoint)
    monkeypatch.setattr(constants, "AGENT_HARNESSES_PATH", str(tmp_path / "harnesses.json"))
    monkeypatch.setattr(_detect_agent, "_registry", None)
    assert _hub.locate("org/name")
    assert hub.asked and all("org/name" in path for path in hub.asked)


def test_a_list_in_pages_is_read_to_its_end(hub: FakeHub, cache: Path) -> None:
    first = json.dumps([{"type": "directory", "path": "a"}, {"type": "file", "path": "a/b.txt"}]).encode()
    following = f'<{TREE}/2>; rel="next"'
    hub.answers[TREE] = (200, first, {"Link": following})
    hub.answers[f"{TREE}/2"] = (200, b'[{"type": "file", "path": "name.gguf"}]', {})
    assert _hub.locate("org/name")


def test_the_token_goes_to_the_hub_alone(
    hub: FakeHub, cache: Path, elsewhere: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub.answers[TREE] = (200, b"[]", {"Link": f'<{elsewhere.endpoint}{TREE}>; rel="next"'})
    refused("continues its list of files on another host, 127.0.0.1:")
    assert elsewhere.asked == [] and set(hub.tokens) == {"Bearer hf_secret"}
    del hub.answers[TREE]
    hub.answers[FILE] = (302, b"", {
        "Location": elsewhere.endpoint + FILE, "X-Linked-Size": str(len(SCRIPT)), "X-Repo-Commit": COMMIT,
        "X-Linked-ETag": f'"{hashlib.sha256(SCRIPT).hexdigest()}"',
    })  # fmt: skip
    assert Path(_hub.locate("org/name") or "").read_bytes() == SCRIPT
    assert elsewhere.asked == [f"GET {FILE}"] and elsewhere.tokens == [None]


def test_redirects_end(hub: FakeHub, cache: Path) -> None:
    hub.answers[FILE] = (302, b"", {"Location": FILE})
    refused("redirects more than 5 times")


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_who_waits_for_a_hub_is_told_why_and_not_for_long(
    hub: FakeHub, cache: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    hub.status = status
    with caplog.at_level(logging.WARNING, "sotto"):
        refused(f"'org/name' is not a local file and cannot be downloaded .*: .* answers {status}")
    assert caplog.text.count(f"answers {status}; trying again in") == 3
    assert len(hub.asked) == 4 and sum(slept) < 8


def test_a_hub_that_recovers_is_asked_again(hub: FakeHub, cache: Path) -> None:
    hub.status = 500
    waits = iter(range(100))

    def told(what: str, done: float) -> None:
        if next(waits) == 5:
            hub.status = 0

    assert _hub.locate("org/name", told)


def test_waiting_for_a_hub_can_be_cancelled(hub: FakeHub, cache: Path) -> None:
    hub.status = 500
    calls = iter(range(100))

    def told(what: str, done: float) -> None:
        if next(calls) == 3:
            raise sotto.SottoError("enough", -10)

    with pytest.raises(sotto.SottoError, match="enough"):
        _hub.locate("org/name", told)
    assert len(hub.asked) == 1


def test_the_cache_works_where_links_do_not(
    hub: FakeHub, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    monkeypatch.setattr(os, "link", refuse)
    path = Path(_hub.locate("org/name") or "")
    assert path.read_bytes() == SCRIPT and not path.is_symlink()
    assert _hub.find("org/name") == str(path)
