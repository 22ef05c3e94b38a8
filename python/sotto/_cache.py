"""Hugging Face's cache: a file's bytes under their hash, and links to them under the names of a commit."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ._web import Facts, Hub, HubError, is_plain, log

_SHA256, _GIT = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{40}")


def home(repo: str) -> Path:
    """Returns the folder of a repository."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE) / f"models--{repo.replace('/', '--')}"


def bring(hub: Hub, repo: str, file: str, revision: str | None, told: Callable[[int, int], None]) -> Path:
    """Downloads what is missing of a file, checks all of it, and only then gives it its name."""
    from huggingface_hub.utils import WeakFileLock  # type: ignore[attr-defined]

    for name in (file, revision or "main"):
        if not is_plain(name):
            raise HubError(f"invalid name {name!r}: expected a path inside the repository")
    facts = hub.facts(file)
    blob = home(repo) / "blobs" / facts.etag
    part = blob.with_name(f"{blob.name}.part")
    blob.parent.mkdir(parents=True, exist_ok=True)
    with WeakFileLock(part.with_name(f"{part.name}.lock")):
        if blob.is_file() and _fault(blob, facts):
            blob.unlink()  # somebody else left it so
        if not blob.is_file():
            _complete(hub, file, part, facts, told)
            part.replace(blob)
    return _link(home(repo), blob, facts.commit, file, revision or "main")


def _complete(hub: Hub, file: str, part: Path, facts: Facts, told: Callable[[int, int], None]) -> None:
    with part.open("ab") as content:
        if content.tell() > facts.size:  # it is no part of this
            content.seek(0)
            content.truncate()
        told(content.tell(), facts.size)
        hub.download(file, facts.size, content, lambda have: told(have, facts.size))
    if fault := _fault(part, facts):
        part.unlink()
        raise HubError(f"{file} arrived damaged: {fault}")
    if not _hash(facts):
        log.warning("%s is not checked: the hub names no SHA-256 of it", file)


def _hash(facts: Facts) -> Any:
    """Returns what computes the hash that a file goes by; None if it goes by none."""
    if _SHA256.fullmatch(facts.etag):
        return hashlib.sha256()
    if _GIT.fullmatch(facts.etag):
        return hashlib.sha1(b"blob %d\0" % facts.size, usedforsecurity=False)
    return None


def _fault(path: Path, facts: Facts) -> str:
    """Returns what is wrong with a file's content; empty if nothing is, or nobody can tell."""
    if (size := path.stat().st_size) != facts.size:
        return f"it has {size} of {facts.size} bytes"
    if (digest := _hash(facts)) is None:
        return ""
    with path.open("rb") as content:
        while piece := content.read(1 << 20):
            digest.update(piece)
    kind = "SHA-256" if digest.digest_size == 32 else "Git hash"
    return "" if digest.hexdigest() == facts.etag else f"its {kind} is {digest.hexdigest()}"


def _link(folder: Path, blob: Path, commit: str, file: str, revision: str) -> Path:
    """Gives a file its name in a commit, and the commit its name."""
    path = folder / "snapshots" / commit / file
    path.parent.mkdir(parents=True, exist_ok=True)
    if not (path.exists() and path.samefile(blob)):
        made = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_native_id()}")
        made.unlink(missing_ok=True)
        try:
            made.symlink_to(os.path.relpath(blob, path.parent))
        except OSError:  # Windows, without the right to make links
            with suppress(OSError):
                os.link(blob, made)
            if not made.exists():
                shutil.copyfile(blob, made)
        made.replace(path)
    if revision != commit:
        ref = folder / "refs" / revision
        ref.parent.mkdir(parents=True, exist_ok=True)
        made = ref.with_name(f".{ref.name}.{os.getpid()}.{threading.get_native_id()}")
        made.write_text(commit, encoding="ascii")
        made.replace(ref)
    return path
