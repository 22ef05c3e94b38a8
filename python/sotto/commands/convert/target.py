"""The folder that is written: under its name once it is complete, and never over files of others."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..._values import invalid
from ...backends.ctranslate2.files import kind_of
from ...errors import ArgumentError, SottoError, Status

COPIED = (  # from the source, where it has them
    *("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"),
    *("special_tokens_map.json", "added_tokens.json"),
    *("vocab.json", "vocab.txt", "merges.txt", "spiece.model", "tokenizer.model"),
    *("source.spm", "target.spm", "sentencepiece.bpe.model", "generation_config.json"),
    *("preprocessor_config.json", "processor_config.json"),
    *("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"),
    *("1_Pooling/config.json", "README.md", "LICENSE", "LICENSE.txt", "LICENSE.md", "NOTICE", "NOTICE.txt"),
)
_WRITTEN = ("model.bin", "config.json", "vocabulary.json", "vocabulary.txt")
_VOCABULARIES = ("shared_vocabulary", "source_vocabulary", "target_vocabulary")
_SPARE = 64 << 20  # bytes for everything but the weights


def holds_model(folder: Path) -> bool:
    """Returns true if the folder holds a converted model that is whole as far as its name says."""
    try:
        return bool(kind_of(folder))
    except SottoError:
        return False


def check(folder: Path) -> None:
    """Raises `ArgumentError` if the folder has anything that a conversion does not write."""
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir() or folder.is_symlink():
        raise ArgumentError(invalid("DIR", str(folder), "a new folder; this is no folder"))
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        if file.is_dir() and not file.is_symlink() and name == "1_Pooling":
            continue
        if name not in COPIED and not _is_written(name):
            expected = f"a new folder or a converted model; this one holds {name}, which would be deleted"
            raise ArgumentError(invalid("DIR", str(folder), expected))


def bytes_of(folder: Path) -> int:
    """Returns the bytes of the files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


@contextmanager
def staged(folder: Path, weights: int) -> Iterator[Path]:
    """Yields an empty folder beside `folder` that replaces it at the end.

    Nothing of it stays after an error. What a killed conversion left is removed.

    Args:
        folder: The folder to write.
        weights: Bytes of the source's weights; less free space than that is an error.

    Raises:
        SottoError: Another process writes the same folder, or there is no room.
    """
    from filelock import FileLock, Timeout

    folder.parent.mkdir(parents=True, exist_ok=True)
    work = folder.parent / f".{folder.name}.converting"
    work.mkdir(exist_ok=True)
    lock = FileLock(work / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise SottoError(f"another process is writing '{folder}': wait for it", Status.STATE) from None
    try:
        _clear(work)
        _check_room(folder.parent, weights)
        stage = work / "model"
        stage.mkdir()
        yield stage
        _replace(folder, stage, work / "old")
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise no_room(folder.parent, error.strerror or str(error)) from None
        raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
        lock.release()


def no_room(folder: Path, why: str) -> SottoError:
    """Returns the error for a full disk."""
    return SottoError(f"'{folder}' has no room for the model: {why}; free some, or choose another DIR")


def _is_written(name: str) -> bool:
    return name in _WRITTEN or name.partition(".")[0].rstrip("_0123456789") in _VOCABULARIES


def _clear(work: Path) -> None:
    for entry in work.iterdir():
        if entry.name != "lock":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def _check_room(folder: Path, weights: int) -> None:
    needed, free = weights + _SPARE, shutil.disk_usage(folder).free
    if free < needed:
        raise no_room(folder, f"it needs {needed >> 20} MB, and {free >> 20} MB are free")


def _replace(folder: Path, stage: Path, old: Path) -> None:
    for file in stage.rglob("*"):
        if file.is_file():
            with file.open("rb") as opened:
                os.fsync(opened.fileno())
    if folder.exists():
        os.rename(folder, old)
    try:
        os.rename(stage, folder)
    except BaseException:
        if old.exists():
            os.rename(old, folder)
        raise
