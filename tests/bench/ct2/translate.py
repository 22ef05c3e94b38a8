"""A Marian model of two made-up languages, trained here, beside CTranslate2; a thousand lines of dialogue."""

from __future__ import annotations

import csv
import io
import sys
from contextlib import redirect_stdout
from pathlib import Path
from time import perf_counter
from typing import Any

import ctranslate2
import sentencepiece

from ct2.support import ROOT, engine, percentage
from sotto import cli

sys.path.append(str(ROOT / "tests" / "speech"))
import dressed  # needs the path above
from made_translator import Speaker, translator

COUNT, DIALOGUE, BEAMS = 200, 1000, 2


def of_the_library(folder: Path, lines: list[str]) -> list[str]:
    """Translations by CTranslate2 itself, line by line."""
    source, target = (
        sentencepiece.SentencePieceProcessor(model_file=str(folder / name))
        for name in ("source.spm", "target.spm")
    )
    stock = ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=1)
    given = [[*source.encode(line, out_type=str), "</s>"] for line in lines]
    made = [stock.translate_batch([tokens], beam_size=BEAMS)[0].hypotheses[0] for tokens in given]
    return [target.decode([token for token in tokens if token != "<unk>"]) for tokens in made]


def dialogue(folder: Path, work: Path) -> dict[str, Any]:
    """A file of lines with placeholders, tags and names, through `sotto translate`."""
    lines = dressed.lines(21, DIALOGUE)
    out = io.StringIO(newline="")
    csv.writer(out).writerows([["id", "text"], *([at, one.text] for at, one in enumerate(lines))])
    file, made = work / "dialogue.csv", work / "dialogue.eo.csv"
    file.write_text(out.getvalue(), newline="")
    model = ["--model", str(folder), "--compute-type", "float32", "--threads", "1"]
    began = perf_counter()
    with redirect_stdout(sys.stderr):
        cli.main(["translate", str(file), *model, "--to", "eo", "--keep", ",".join(dressed.NAMES), "--force"])
    took = perf_counter() - began
    with made.open(newline="") as opened:
        targets = [row["text"] for row in csv.DictReader(opened)]
    pairs = list(zip(lines, targets, strict=True))
    return {
        "lines": len(pairs),
        "damaged": sum(bool(target and dressed.damage(line, target)) for line, target in pairs),
        "listed": sum(not target for _, target in pairs),
        "lines_per_s": round(len(pairs) / took, 1),
    }


def measure(work: Path, turns: int) -> dict[str, Any]:
    """All figures of translation."""
    folder = translator(work, work / "training")
    lines = [source for source, _ in Speaker(11).lines(COUNT)]
    with engine() as asked:
        options = {"compute_type": "float32"}
        asked.load_model("words", path=folder, backend="ctranslate2", options=options)
        made = asked.translate(lines, beam_size=BEAMS).texts
    theirs = of_the_library(folder, lines)
    equal = percentage(left == right for left, right in zip(made, theirs, strict=True))
    return {"equal_pct": equal, **dialogue(folder, work)}
