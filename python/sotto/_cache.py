"""The Hugging Face cache: blobs named by hash, and a folder per commit with links to the blobs."""

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
    """Returns the cache folder of a repository."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE) / f"models--{repo.replace('/', '--')}"


def bring(hub: Hub, repo: str, file: str, revision: str | None, told: Callable[[int, int], None]) -> Path:
    """Downloads the missing part of a file, verifies the whole file, then links it; returns its path.

    Calls `told` with the bytes present and the size. Raises `HubError` if a name is invalid or the file is
    damaged.
    """
    from huggingface_hub.utils import WeakFileLock  # type: ignore[attr-defined]

    for name in (file, revision or "main"):
        if not is_plain(name):
            raise HubError(f"invalid name {name!r}: expected a path inside the repository")
    facts = hub.facts(file)
    blob = home(repo) / "blobs" / facts.etag
    part = blob.with_name(f"{blob.name}.part")
    blob.parent.mkdir(parents=True, exist_ok=True)
    with WeakFileLock(part.with_name(f"{part.name}.lock")):
        if blob.is_file() and fault(blob, facts):
            blob.unlink()  # damaged by another program
        if not blob.is_file():
            _complete(hub, file, part, facts, told)
            part.replace(blob)
    return link(home(repo), blob, facts.commit, file, revision or "main")


def _complete(hub: Hub, file: str, part: Path, facts: Facts, told: Callable[[int, int], None]) -> None:
    with part.open("ab") as content:
        if content.tell() > facts.size:  # not a partial download of this file
            content.seek(0)
            content.truncate()
        told(content.tell(), facts.size)
        hub.download(file, facts.size, content, lambda have: told(have, facts.size))
    if wrong := fault(part, facts):
        part.unlink()
        raise HubError(f"{file} arrived damaged: {wrong}")
    if not _hash(facts):
        log.warning("%s is not checked: the hub names no SHA-256 of it", file)


def _hash(facts: Facts) -> Any:
    """Returns a hash object for the kind of hash in the ETag; None if the ETag is not a hash."""
    if _SHA256.fullmatch(facts.etag):
        return hashlib.sha256()
    if _GIT.fullmatch(facts.etag):
        return hashlib.sha1(b"blob %d\0" % facts.size, usedforsecurity=False)
    return None


def fault(path: Path, facts: Facts) -> str:
    """Returns the difference between a file and its facts; empty if it matches or has no hash to check."""
    if (size := path.stat().st_size) != facts.size:
        return f"it has {size} of {facts.size} bytes"
    if (digest := _hash(facts)) is None:
        return ""
    with path.open("rb") as content:
        while piece := content.read(1 << 20):
            digest.update(piece)
    kind = "SHA-256" if digest.digest_size == 32 else "Git hash"
    return "" if digest.hexdigest() == facts.etag else f"its {kind} is {digest.hexdigest()}"


def link(folder: Path, blob: Path, commit: str, file: str, revision: str) -> Path:
    """Links a blob into the commit's folder, points `revision` to the commit; returns the link's path."""
    path = folder / "snapshots" / commit / file
    path.parent.mkdir(parents=True, exist_ok=True)
    if not (path.exists() and path.samefile(blob)):
        made = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_native_id()}")
        made.unlink(missing_ok=True)
        try:
            made.symlink_to(os.path.relpath(blob, path.parent))
        except OSError:  # Windows, without the privilege to create symbolic links
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
