"""`sotto transcribe`: speech in files to text or subtitles, with a Whisper model on CTranslate2."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from .._subtitles import subtitles
from .._whole import write_whole
from . import screen
from .arguments import add_library_arguments

if TYPE_CHECKING:
    from ..engine import Engine

_MODEL = "ears"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto transcribe` to `parser`."""
    parser.epilog = (
        "Needs pip install 'sotto-runtime[ctranslate2]'. Without --srt, --json or --out the text is printed. "
        "A file is written whole or not at all; files that exist are kept, so a second call resumes. "
        "Exit status: 0 if every file was transcribed, else 1."
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="WAV, FLAC, OGG, MP3, ...")
    parser.add_argument("--model", required=True, metavar="DIR", help="folder of a converted Whisper model")
    parser.add_argument("--language", metavar="CODE", help="language of the speech, such as en (detected)")
    parser.add_argument("--prompt", metavar="TEXT", help="text before the speech: names, spellings")
    parser.add_argument("--words", action="store_true", help="times of words, not only of segments")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--srt", action="store_true", help="write subtitles, FILE.srt")
    form.add_argument("--json", action="store_true", help="write the whole response, FILE.json")
    parser.add_argument(
        "--out", metavar="DIR", help="folder for the results, FILE.txt without a form (beside FILE)"
    )
    parser.add_argument("--force", action="store_true", help="write files anew that exist")
    add_library_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Transcribes the files. Returns 0 if all went well, else 1."""
    from ..backends.ctranslate2 import CTranslate2
    from ..engine import Engine
    from ..errors import SottoError
    from . import progress

    ending = ".srt" if arguments.srt else ".json" if arguments.json else ".txt" if arguments.out else None
    wanted = [(file, _target(file, arguments.out, ending)) for file in arguments.files]
    _refuse_same([out for _, out in wanted if out is not None])
    left = [(file, out) for file, out in wanted if out is None or arguments.force or not out.exists()]
    for file, out in wanted:
        if (file, out) not in left:
            screen.complain(f"{out} exists; --force writes it anew")
    failed = 0
    with Engine("cpu", mode="prioritize_compute") as engine, progress.fractions("transcribing") as report:
        engine.add_backend(CTranslate2())
        if left:
            options = {"compute_type": arguments.compute_type, "threads": arguments.threads}
            engine.load_model(_MODEL, path=arguments.model, backend="ctranslate2", options=options)
        for at, (file, out) in enumerate(left):
            try:
                _one(engine, file, out, arguments)
            except (SottoError, OSError) as error:
                screen.complain(f"sotto: {file}: {error}")
                failed += 1
            report("files", (at + 1) / len(left))
    return 1 if failed else 0


def _refuse_same(targets: list[Path]) -> None:
    from ..errors import ArgumentError

    resolved = [out.resolve() for out in targets]
    for out in resolved:
        if resolved.count(out) > 1:
            raise ArgumentError(
                f"two files would be written as {out}; transcribe them in two calls with --out"
            )


def _target(file: str, folder: str | None, ending: str | None) -> Path | None:
    if ending is None:
        return None
    path = Path(file)
    return (path.parent if folder is None else Path(folder)) / f"{path.stem}{ending}"


def _one(engine: Engine, file: str, out: Path | None, arguments: argparse.Namespace) -> None:
    heard = engine.transcribe(
        file,
        model=_MODEL,
        language=arguments.language,
        prompt=arguments.prompt,
        words=arguments.words,
    )
    if out is None:
        many = len(arguments.files) > 1
        screen.say(f"{file}: {heard.text}" if many else heard.text)
        return
    if arguments.srt:
        write_whole(out, subtitles(heard, words=arguments.words))
    else:
        write_whole(out, json.dumps(dict(heard.raw), indent=1) if arguments.json else f"{heard.text}\n")
