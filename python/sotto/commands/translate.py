"""`sotto translate`: the dialogue of a game into other languages, with a translation model on CTranslate2."""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from . import screen
from .arguments import count
from .whole import write_whole

if TYPE_CHECKING:
    from ..engine import Engine
    from .dialogue.document import Document, Line
    from .dialogue.journal import Journal
    from .dialogue.protect import Protector
    from .dialogue.rounds import Outcome

_MODEL = "translator"
_TABLES, _TREES, _CATALOGS = (".csv", ".tsv"), (".json",), (".po", ".pot")
_CHUNK = 64  # lines between two entries of the journal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto translate` to `parser`."""
    parser.epilog = (
        "Needs pip install 'sotto-runtime[ctranslate2]'. Placeholders, tags, escapes, variables and the "
        "names of --keep stay as they are; a line that cannot keep them stays empty and is listed in a file "
        "that ends with .failed. An interrupted run resumes; files that exist are kept. Exit status: 0 if "
        "every line was translated, 1 if lines are listed."
    )
    parser.add_argument("file", metavar="FILE", help="dialogue in CSV, TSV, JSON or PO")
    parser.add_argument(
        "--model", required=True, metavar="DIR", help="folder of a converted translation model"
    )
    parser.add_argument("--to", required=True, metavar="CODES", help="languages, such as de,fr,ja")
    parser.add_argument("--from", dest="source", metavar="CODE", help="language of the file, such as en")
    parser.add_argument("--column", metavar="NAME", help="column of the texts (text, line or source)")
    parser.add_argument("--keep", metavar="NAMES", help="names that stay: A,B,C or a file with one a line")
    parser.add_argument("--out", metavar="DIR", help="folder of what is written (beside the file)")
    parser.add_argument("--force", action="store_true", help="translate anew what is translated already")
    parser.add_argument(
        "--threads",
        type=count(1, 256),
        default=max(1, (os.cpu_count() or 1) // 2),
        metavar="N",
        help="threads of the library; no more than cores that are free (%(default)s)",
    )
    parser.add_argument(
        "--compute-type", default="int8", metavar="TYPE", help="int8, float32, ... (%(default)s)"
    )


class _Task(NamedTuple):
    """One language of a file."""

    language: str
    target: Path
    document: Document


def run(arguments: argparse.Namespace) -> int:
    """Translates the file. Returns 0 if every line was translated, else 1."""
    from ..backends.ctranslate2 import CTranslate2
    from ..engine import Engine
    from . import progress
    from .dialogue.journal import model_mark
    from .dialogue.protect import Protector

    backend = CTranslate2()
    tasks = list(_tasks(arguments))
    names = _names(arguments.keep)
    left = [task for task in tasks if arguments.force or not task.target.exists()]
    for task in tasks:
        if task not in left:
            screen.complain(f"{task.target} exists; --force translates anew")
    if not left:
        return 0
    listed = 0
    with Engine("cpu", mode="prioritize_compute") as engine, progress.fractions("translating") as told:
        engine.add_backend(backend)
        options = {"compute_type": arguments.compute_type, "threads": arguments.threads}
        engine.load_model(_MODEL, path=arguments.model, backend="ctranslate2", options=options)
        _check_languages(engine, arguments.source, [task.language for task in left])
        mark = model_mark(Path(arguments.model))
        for task in left:
            settings = {"model": mark, "from": arguments.source, "to": task.language, "keep": names}
            work = _Work(engine, task, arguments, Protector(names))
            listed += work.run(settings, lambda done, name=task.language: told(name, done))  # type: ignore[misc]
    return 1 if listed else 0


def _tasks(arguments: argparse.Namespace) -> Iterator[_Task]:
    path = Path(arguments.file)
    stem = path.stem.removesuffix(f".{arguments.source}") if arguments.source else path.stem
    ending = ".po" if path.suffix.lower() == ".pot" else path.suffix
    for language in _languages(arguments.to, arguments.source):
        target = (
            path.parent if arguments.out is None else Path(arguments.out)
        ) / f"{stem}.{language}{ending}"
        yield _Task(language, target, _read(path, arguments.column, language))


def _read(path: Path, column: str | None, language: str) -> Document:
    from ..errors import ArgumentError

    ending = path.suffix.lower()
    if ending in _TABLES:
        from .dialogue.table import Table

        return Table(path, column)
    if ending in _TREES:
        from .dialogue.tree import Tree

        return Tree(path, column)
    if ending in _CATALOGS:
        from .dialogue.catalog import Catalog

        return Catalog(path, language)
    known = ", ".join((*_TABLES, *_TREES, *_CATALOGS))
    raise ArgumentError(f"invalid file '{path}': expected a name that ends with one of {known}")


def _languages(asked: str, source: str | None) -> list[str]:
    """Returns the languages of --to. Raises `ArgumentError` for one that comes twice, or is the source's."""
    import langcodes

    from .._values import invalid
    from ..errors import ArgumentError

    found: dict[str, str] = {}
    for code in [part.strip() for part in asked.split(",")]:
        if not langcodes.tag_is_valid(code):
            raise ArgumentError(invalid("--to", code, "language tags with commas between, such as de,fr,ja"))
        tag = langcodes.standardize_tag(code, macro=True)
        if tag in found:
            raise ArgumentError(invalid("--to", asked, f"each language once; '{code}' is '{found[tag]}'"))
        found[tag] = code
    if source is not None:
        if not langcodes.tag_is_valid(source):
            raise ArgumentError(invalid("--from", source, "a language tag, such as en"))
        if langcodes.standardize_tag(source, macro=True) in found:
            raise ArgumentError(invalid("--to", asked, f"other languages than --from {source}"))
    return list(found.values())


def _names(asked: str | None) -> list[str]:
    from ..errors import ArgumentError

    if asked is None:
        return []
    if Path(asked).is_file():
        from .dialogue.document import read_text

        return sorted({line.strip() for line in read_text(Path(asked)).text.splitlines() if line.strip()})
    if asked.endswith(".txt"):
        raise ArgumentError(
            f"invalid --keep '{asked}': expected names with commas between, or a file that exists"
        )
    return sorted({name.strip() for name in asked.split(",") if name.strip()})


def _check_languages(engine: Engine, source: str | None, targets: list[str]) -> None:
    """Raises `ArgumentError` for a language that the model lacks, before anything is translated."""
    from ..errors import ArgumentError

    (model,) = json.loads(engine.model_list())
    if len(targets) > 1 and not model["details"]["multilingual"]:
        raise ArgumentError(
            f"invalid --to '{','.join(targets)}': expected one language: the model translates between two; "
            "use one call with its model for each"
        )
    for target in targets:
        engine.translate("", model=_MODEL, source=source, target=target)


class _Work:
    """The translation of a file into one language."""

    def __init__(
        self, engine: Engine, task: _Task, arguments: argparse.Namespace, protector: Protector
    ) -> None:
        from .dialogue.rounds import Rounds

        self._engine, self._task, self._arguments = engine, task, arguments
        self._rounds = Rounds(self._translate, protector)
        self._lines: list[Line] = task.document.lines

    def run(self, settings: dict[str, object], told: Callable[[float], None]) -> int:
        """Translates what is left, writes the file, and returns the number of lines that are listed."""
        from .dialogue.journal import Journal

        target = self._task.target
        journal = Journal(target.with_name(f".{target.name}.journal"), settings)
        done = False
        try:
            self._translate_left(journal, told)
            listed = self._write(journal)
            done = True
        finally:
            journal.close(done=done)
        return listed

    def _translate_left(self, journal: Journal, told: Callable[[float], None]) -> None:
        from .dialogue.journal import key_of

        wanted = dict.fromkeys(line.text for line in self._lines if self._is_translated(line))
        left = [text for text in wanted if key_of(text) not in journal.found]
        left.sort(key=len)  # lines of similar length make better batches
        for at in range(0, len(left), _CHUNK):
            told(1 - (len(left) - at) / len(wanted))
            chunk = left[at : at + _CHUNK]
            journal.add(zip(chunk, self._rounds.lines(chunk), strict=True))
        told(1.0)

    def _is_translated(self, line: Line) -> bool:
        return not line.reason and (self._arguments.force or not line.done)

    def _translate(self, texts: list[str], beams: int) -> list[str]:
        made = self._engine.translate(
            texts,
            model=_MODEL,
            source=self._arguments.source,
            target=self._task.language,
            beam_size=beams,
        )
        return list(made.texts)

    def _outcome(self, line: Line, journal: Journal) -> Outcome:
        from .dialogue.journal import key_of
        from .dialogue.rounds import Outcome

        if self._is_translated(line):
            return journal.found[key_of(line.text)]
        return Outcome(line.done, "" if line.done else line.reason)

    def _write(self, journal: Journal) -> int:
        outcomes = [self._outcome(line, journal) for line in self._lines]
        task = self._task
        failed = [(line, one.reason) for line, one in zip(self._lines, outcomes, strict=True) if one.reason]
        lists = task.target.with_name(f"{task.target.name}.failed")
        if failed:
            write_whole(lists, _listing(failed))
        else:
            lists.unlink(missing_ok=True)
        write_whole(task.target, task.document.written([one.text for one in outcomes], task.language))
        for line, reason in failed:
            screen.complain(f"sotto: {self._arguments.file}: {task.language}: {line.place}: {reason}")
        parts = sum(one.in_parts for one in outcomes)
        screen.say(
            f"{task.target}: {len(outcomes)} lines, {parts} translated in parts, {len(failed)} not translated"
        )
        return len(failed)


def _listing(failed: list[tuple[Line, str]]) -> str:
    """Returns the lines that were not translated, as CSV."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("place", "reason", "text"))
    writer.writerows((line.place, reason, line.text) for line, reason in failed)
    return out.getvalue().encode(errors="replace").decode()
