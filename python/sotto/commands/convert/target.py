"""The folder that is written: under its name once it is complete, and never over files of others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..._values import invalid
from ...backends.ctranslate2.files import kind_of, weights_in
from ...backends.ctranslate2.sentence import POOLING_FOLDER
from ...errors import ArgumentError, SottoError, Status
from .work import check_room, clear, working

COPIED = (  # from the source, where it has them
    *("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"),
    *("special_tokens_map.json", "added_tokens.json"),
    *("vocab.json", "vocab.txt", "merges.txt", "spiece.model", "tokenizer.model"),
    *("source.spm", "target.spm", "sentencepiece.bpe.model", "generation_config.json"),
    *("preprocessor_config.json", "processor_config.json"),
    *("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"),
    *("README.md", "LICENSE", "LICENSE.txt", "LICENSE.md", "NOTICE", "NOTICE.txt"),
)
_WRITTEN = ("model.bin", "config.json", "vocabulary.json", "vocabulary.txt")
_VOCABULARIES = ("shared_vocabulary", "source_vocabulary", "target_vocabulary")
_STAGED = ("model", "source", "gguf")  # in the work folder


def holds_model(folder: Path) -> bool:
    """Returns true if the folder holds a converted model whose model.bin has all of its weights."""
    try:
        return bool(kind_of(folder) and weights_in(folder))
    except SottoError:
        return False


def check(folder: Path) -> None:
    """Raises `ArgumentError` unless the folder is absent, empty, or has only what a conversion writes."""
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir() or folder.is_symlink():
        raise ArgumentError(invalid("DIR", str(folder), "a new folder; this is no folder"))
    _check_files(folder, folder)


def _check_files(folder: Path, content: Path) -> None:
    """Raises `ArgumentError` if `content`, the files of `folder`, has one that no conversion writes."""
    converted = (content / "model.bin").is_file()
    for file in sorted(content.rglob("*")):
        name = file.relative_to(content).as_posix()
        if file.is_dir() and not file.is_symlink() and POOLING_FOLDER.fullmatch(name):
            continue
        if not converted or not (name in COPIED or _is_written(name)):
            expected = "a new or empty folder, or a converted model"
            raise ArgumentError(
                invalid("DIR", str(folder), f"{expected}; this one holds {name}, which would be deleted")
            )


def bytes_of(folder: Path) -> int:
    """Returns the bytes of the files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


@contextmanager
def staged(folder: Path, needed: int, *, force: bool) -> Iterator[Path]:
    """Yields an empty folder beside `folder` that replaces it at the end.

    Leaves no file beside `folder` after an error. First removes the files of a killed conversion, and
    restores the model that it had moved away.

    Args:
        folder: The folder to write.
        needed: Bytes that the conversion writes; less free space is an error.
        force: True if a converted model that exists is replaced.

    Raises:
        ArgumentError: `folder` has files of others, or the work folder is a link.
        SottoError: Another process writes the same folder, there is no room, or a converted model has come
            into being and `force` is false.
    """
    with working(folder, "DIR", _STAGED) as work:
        _restore(folder, work / "old")
        clear(work, ("old",))
        check_room(folder.parent, "DIR", needed)
        stage = work / "model"
        stage.mkdir()
        yield stage
        _replace(folder, stage, work / "old", force=force)
        clear(work, ("old",))


def _is_written(name: str) -> bool:
    pooling, _, file = name.partition("/")
    if file == "config.json" and POOLING_FOLDER.fullmatch(pooling):
        return True
    return name in _WRITTEN or name.partition(".")[0].rstrip("_0123456789") in _VOCABULARIES


def _restore(folder: Path, old: Path) -> None:
    """Moves the model back that a conversion killed between two renames had moved to `old`."""
    if old.is_dir() and not folder.exists():
        os.rename(old, folder)


def _replace(folder: Path, stage: Path, old: Path, *, force: bool) -> None:
    for file in stage.rglob("*"):
        if file.is_file():
            with file.open("rb") as opened:
                os.fsync(opened.fileno())
    check(folder)  # again: the folder may have changed during the conversion
    if not force and holds_model(folder):
        raise SottoError(f"'{folder}' holds a converted model now; --force replaces it", Status.STATE)
    try:
        if folder.exists():
            os.rename(folder, old)
            _check_files(folder, old)
        os.rename(stage, folder)
    except BaseException:
        _restore(folder, old)
        raise
