"""`sotto translate`: the dialogue of a game into other languages, with a translation model on CTranslate2."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from .._values import invalid
from ..engine import Engine
from ..errors import ArgumentError, SottoError
from . import screen
from .arguments import add_library_arguments
from .dialogue.columns import Columns
from .dialogue.document import Document, read_text
from .dialogue.journal import model_mark
from .dialogue.protect import Protector
from .dialogue.rounds import Rounds
from .dialogue.table import Table
from .dialogue.tree import Tree
from .dialogue.work import FAILED, IN_PARTS, LEFT, Listed, Work, listing_of

_MODEL = "translator"
_CUT = SottoError("the translation is longer than the model can write: split the line")
_LONGEST_NAME = 255  # of a file, as most systems have it
_TABLES, _TREES, _CATALOGS = (".csv", ".tsv"), (".json",), (".po", ".pot")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto translate` to `parser`."""
    parser.epilog = (
        "Needs pip install 'sotto-runtime[ctranslate2]'. Placeholders, tags, escapes, variables and the "
        "names of --keep stay as they are; a line that cannot keep them stays empty and is listed in a file "
        "that ends with .review.csv. An interrupted run resumes. A PO file that exists is updated: its "
        "translations stay; another file that exists is kept. Exit status: 0 if every line was translated, "
        "1 if lines failed."
    )
    parser.add_argument("file", metavar="FILE", help="dialogue in CSV, TSV, JSON or PO")
    parser.add_argument(
        "--model", required=True, metavar="DIR", help="folder of a converted translation model"
    )
    parser.add_argument("--to", required=True, metavar="CODES", help="languages, such as de,fr,ja")
    parser.add_argument("--from", dest="source", metavar="CODE", help="language of the file, such as en")
    parser.add_argument("--column", metavar="NAME", help="column of the texts (text, line or source)")
    parser.add_argument(
        "--into", metavar="NAME", help="column of the translations, in a table with a column per language"
    )
    parser.add_argument("--keep", metavar="NAMES", help="names that stay: A,B,C or a file with one a line")
    parser.add_argument("--out", metavar="DIR", help="folder of what is written (beside the file)")
    parser.add_argument("--force", action="store_true", help="replace files that exist")
    parser.add_argument(
        "--retranslate",
        action="store_true",
        help="also translate the entries of a PO file that have a translation",
    )
    add_library_arguments(parser)


class _Task(NamedTuple):
    """One language of a file."""

    language: str
    target: Path
    document: Document


def run(arguments: argparse.Namespace) -> int:
    """Translates the file. Returns 0 if every line was translated, else 1."""
    from ..backends.ctranslate2 import CTranslate2
    from . import progress

    backend = CTranslate2()
    tasks = list(_tasks(arguments))
    names = _names(arguments.keep)
    left = [task for task in tasks if _is_due(task, arguments)]
    if not left:
        return 0
    failed = 0
    with Engine("cpu", mode="prioritize_compute") as engine, progress.fractions("translating") as report:
        engine.add_backend(backend)
        options = {"compute_type": arguments.compute_type, "threads": arguments.threads}
        engine.load_model(_MODEL, path=arguments.model, backend="ctranslate2", options=options)
        _check_languages(engine, arguments.source, [task.language for task in left])
        mark = model_mark(Path(arguments.model))
        for task in left:
            settings = {
                "model": mark,
                "from": arguments.source,
                "to": task.language,
                "keep": names,
                "compute_type": arguments.compute_type,
            }
            translate = partial(_translate, engine, arguments.source, task.language)
            rounds = Rounds(translate, Protector(names))
            work = Work(
                task.document,
                task.target,
                task.language,
                force=arguments.force,
                retranslate=arguments.retranslate,
            )
            failed += _report(
                arguments.file, task, work.run(rounds, settings, partial(report, task.language))
            )
    return 1 if failed else 0


def _is_due(task: _Task, arguments: argparse.Namespace) -> bool:
    """Returns false, and says why, for a target that exists and stays as it is."""
    listing_of(task.target)
    if arguments.force or not task.target.exists():
        return True
    if task.document.updates and not arguments.retranslate:
        return True
    screen.complain(f"{task.target} exists and is kept; --force replaces it, and translates all lines of it")
    return False


def _report(file: str, task: _Task, listed: list[Listed]) -> int:
    """Prints what became of the lines. Returns the number of those that failed."""
    failed = [one for one in listed if one.kind == FAILED]
    for one in failed:
        screen.complain(f"sotto: {file}: {task.language}: {one.line.place}: {one.reason}")
    found = Counter(one.kind for one in listed)
    counts = f"{found[IN_PARTS]} translated in parts, {found[LEFT]} with words left as they are, "
    counts += f"{len(failed)} not translated"
    if listed:
        counts += f"; listed in {listing_of(task.target)}"
    screen.say(f"{task.target}: {len(task.document.lines)} lines, {counts}")
    return len(failed)


def _tasks(arguments: argparse.Namespace) -> Iterator[_Task]:
    path = Path(arguments.file)
    stem = path.stem.removesuffix(f".{arguments.source}") if arguments.source else path.stem
    ending = ".po" if path.suffix.lower() == ".pot" else path.suffix
    for language in _languages(arguments.to, arguments.source):
        target = (
            path.parent if arguments.out is None else Path(arguments.out)
        ) / f"{stem}.{language}{ending}"
        yield _Task(language, target, _read(path, arguments, language))


def _read(path: Path, arguments: argparse.Namespace, language: str) -> Document:
    ending = path.suffix.lower()
    if ending in _TABLES:
        return Table(path, Columns(arguments.column, arguments.into, arguments.source, language))
    if arguments.into is not None:
        raise ArgumentError(invalid("--into", arguments.into, "a table in CSV or TSV"))
    if ending in _TREES:
        return Tree(path, arguments.column)
    if ending in _CATALOGS:
        try:
            from .dialogue.catalog import Catalog
        except ImportError as error:
            raise ArgumentError(
                f"'{path}' needs {error.name}: pip install 'sotto-runtime[ctranslate2]'"
            ) from None
        return Catalog(path, language)
    known = ", ".join((*_TABLES, *_TREES, *_CATALOGS))
    raise ArgumentError(f"invalid file '{path}': expected a name that ends with one of {known}")


def _languages(asked: str, source: str | None) -> list[str]:
    """Returns the languages of --to. Raises `ArgumentError` for one that comes twice, or is the source's."""
    import langcodes

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
    if asked is None:
        return []
    if "," not in asked and len(asked) < _LONGEST_NAME and Path(asked).is_file():
        return sorted({line.strip() for line in read_text(Path(asked)).text.splitlines() if line.strip()})
    if "," not in asked and ("/" in asked or "\\" in asked or Path(asked[:_LONGEST_NAME]).suffix):
        raise ArgumentError(invalid("--keep", asked, "names with commas between, or a file that exists"))
    return sorted({name.strip() for name in asked.split(",") if name.strip()})


def _check_languages(engine: Engine, source: str | None, targets: list[str]) -> None:
    """Raises `ArgumentError` for a language that the model lacks, before anything is translated."""
    (model,) = json.loads(engine.model_list())
    if len(targets) > 1 and not model["details"]["multilingual"]:
        raise ArgumentError(
            f"invalid --to '{','.join(targets)}': expected one language: the model translates between two; "
            "use one call with its model for each"
        )
    for target in targets:
        engine.translate("", model=_MODEL, source=source, target=target)


def _translate(
    engine: Engine, source: str | None, target: str, texts: Sequence[str], beams: int
) -> list[str | SottoError]:
    made = engine.translate(texts, model=_MODEL, source=source, target=target, beam_size=beams)
    cut = set(made.raw.get("truncated", ()))
    return [_CUT if at in cut else text for at, text in enumerate(made.texts)]
