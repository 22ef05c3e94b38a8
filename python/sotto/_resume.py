"""Brings a file into Hugging Face's cache in as many goes as it takes.

huggingface_hub goes on after a connection broke, but forgets what it has when the process ends. A part that
is kept here is finished by a later process; huggingface_hub then finds the blob, and does the rest.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_MOST = 50_000_000_000  # bytes; larger files have a way of their own
_ETAG = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def bring(repo: str, file: str, revision: str | None, endpoint: str | None, bar: Any) -> None:
    """Downloads what is missing of a file's blob. Does nothing where it cannot tell what that is."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url
    from huggingface_hub.utils import WeakFileLock  # type: ignore[attr-defined]

    url = hf_hub_url(repo, file, revision=revision, endpoint=endpoint)
    try:
        found = get_hf_file_metadata(url, endpoint=endpoint)
    except Exception:
        return  # huggingface_hub meets the same, and says so better
    size, name = found.size or 0, found.etag or ""
    if not 0 < size <= _MOST or not _ETAG.fullmatch(name):
        return
    blob = _blobs(repo) / name
    part = blob.with_name(f"{blob.name}.part")
    blob.parent.mkdir(parents=True, exist_ok=True)
    with WeakFileLock(part.with_name(f"{part.name}.lock")):
        if not blob.exists():
            _finish(url, part, size, bar)
            part.replace(blob)


def _finish(url: str, part: Path, size: int, bar: Any) -> None:
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

    with part.open("ab") as content:
        have = content.tell()
        if have > size:  # it is no part of this
            have = content.truncate(0)
        if have < size:
            headers = build_hf_headers()
            http_get(url, content, resume_size=have, headers=headers, expected_size=size, tqdm_class=bar)


def _blobs(repo: str) -> Path:
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE) / f"models--{repo.replace('/', '--')}" / "blobs"
