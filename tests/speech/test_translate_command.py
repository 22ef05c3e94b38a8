"""`sotto translate` on files of dialogue, with the Marian model that is trained for the tests."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dressed
import polib
import pytest

import sotto
from sotto import cli

Run = Callable[..., int]
SMITH, KING = "The old smith sells the key.", "The king wants a horse!"
LANGUAGE = "eo"  # a tag for the made-up language; a model of one pair takes any


@pytest.fixture
def run(translation_model: Path) -> Run:
    """Runs the command on a file. Returns its exit status."""

    def call(file: Path, *words: str, to: str = LANGUAGE) -> int:
        model = ["--model", str(translation_model), "--compute-type", "float32", "--threads", "1"]
        return cli.main(["translate", str(file), *model, "--to", to, *words])

    return call


@pytest.fixture(scope="module")
def right(interpreter: sotto.Engine) -> dict[str, str]:
    """The translations of two lines."""
    return {text: interpreter.translate(text).text for text in (SMITH, KING)}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that the engine was asked to translate."""
    texts: list[str] = []
    translate = sotto.Engine.translate

    def counted(self: sotto.Engine, given: Any, **fields: Any) -> Any:
        texts.extend([given] if isinstance(given, str) else given)
        return translate(self, given, **fields)

    monkeypatch.setattr(sotto.Engine, "translate", counted)
    return texts


def table(rows: list[list[str]], **options: Any) -> str:
    """Rows as CSV."""
    out = io.StringIO(newline="")
    csv.writer(out, **{"lineterminator": "\n", **options}).writerows(rows)
    return out.getvalue()


def rows_of(file: Path, encoding: str = "utf-8", **options: Any) -> list[list[str]]:
    """The rows of a CSV file."""
    return list(csv.reader(io.StringIO(file.read_bytes().decode(encoding), newline=""), **options))


def test_no_line_of_a_thousand_is_damaged(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = dressed.lines(21, 1000)
    file = tmp_path / "dialogue.csv"
    file.write_text(table([["id", "text"], *([f"l{at}", one.text] for at, one in enumerate(lines))]))
    began = time.perf_counter()
    status = run(file, "--keep", ",".join(dressed.NAMES))
    took = time.perf_counter() - began
    made = rows_of(tmp_path / "dialogue.eo.csv")
    assert [row[0] for row in made] == ["id", *(f"l{at}" for at in range(1000))]
    targets = [row[1] for row in made[1:]]
    wrong = [
        (one.text, text)
        for one, text in zip(lines, targets, strict=True)
        if text and dressed.damage(one, text)
    ]
    listed = [f"l{at}" for at, text in enumerate(targets) if not text]
    printed = capsys.readouterr()
    print(
        f"\nspeech: 1000 lines of dialogue in {took:.1f} s, {len(wrong)} damaged, {len(listed)} listed, "
        f"{printed.out.split(' lines, ')[1].split(',')[0]}"
    )
    assert wrong == []
    assert status == (1 if listed else 0)
    rows = rows_of(tmp_path / "dialogue.eo.csv.review.csv")[1:]
    named = [row[0].split("(")[1].rstrip(")") for row in rows if row[1] == "failed"]
    assert f"{len([row for row in rows if row[1] == 'in parts'])} translated in parts" in printed.out
    assert named == listed and len(listed) < 50
    assert all(f"({name}): " in printed.err for name in listed)


@pytest.mark.parametrize(
    ("mark", "encoding", "options"),
    [
        ("", "utf-8", {}),
        ("\ufeff", "utf-8", {"delimiter": ";", "lineterminator": "\r\n"}),
        ("\ufeff", "utf-16-le", {"delimiter": "\t", "quoting": csv.QUOTE_ALL}),
        ("\ufeff", "utf-16-be", {"delimiter": "|"}),
        ("", "utf-16-le", {"quoting": csv.QUOTE_ALL, "lineterminator": "\r\n"}),
    ],
)
def test_the_form_of_a_table_is_kept(
    run: Run, right: dict[str, str], tmp_path: Path, mark: str, encoding: str, options: dict[str, Any]
) -> None:
    rows = [
        ["key", "line", "größe"],
        ["a;b", SMITH, "1,5"],
        ["c", f"{SMITH}\n{KING}", ""],
        ["d", "", 'so "called"'],
        ["e", "...", ""],
    ]
    file = tmp_path / "lines.csv"
    file.write_bytes((mark + table(rows, **options)).encode(encoding))
    assert run(file) == 0
    rows[1][1] = right[SMITH]
    rows[2][1] = f"{right[SMITH]}\n{right[KING]}"
    assert (tmp_path / "lines.eo.csv").read_bytes() == (mark + table(rows, **options)).encode(encoding)


def test_a_tree_is_translated_in_place(run: Run, right: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "lines.en.json"
    tree = {"inn": {"greet": SMITH, "more": [KING, 3, None]}, "ü": "{player}", "on": True}
    file.write_text(json.dumps(tree, indent=4, ensure_ascii=False) + "\n")
    assert run(file, "--from", "en") == 0
    tree["inn"] = {"greet": right[SMITH], "more": [right[KING], 3, None]}
    wanted = json.dumps(tree, indent=4, ensure_ascii=False) + "\n"
    assert (tmp_path / "lines.eo.json").read_text() == wanted


def test_ids_paths_and_numbers_of_json_stay_as_they_are_written(
    run: Run, right: dict[str, str], tmp_path: Path
) -> None:
    form = (
        '{"version": 1.10, "big": 1e400, "dialogue": [\n'
        '  {"id": "the king", "audio": "res://vo/the_king.ogg", "text": %s, "tags": ["the", "king"]},\n'
        '  {"id": "b", "t\\u0065xt": %s, "at": [1,2 , 3]}\n]}'
    )
    file = tmp_path / "quest.json"
    file.write_text(form % (json.dumps(SMITH), json.dumps(KING)))
    assert run(file) == 0
    assert (tmp_path / "quest.eo.json").read_text() == form % (
        json.dumps(right[SMITH]),
        json.dumps(right[KING]),
    )


def test_a_list_of_objects_has_a_column(
    run: Run, right: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "lines.json"
    file.write_text(json.dumps([{"who": "the king", "says": SMITH}, {"says": KING, "n": 1}]))
    assert run(file) == 2
    assert "no column 'text' or 'line' or 'source': expected --column with one of 'who', 'says'" in (
        capsys.readouterr().err
    )
    assert run(file, "--column", "says") == 0
    made = json.loads((tmp_path / "lines.eo.json").read_text())
    assert made == [
        {"who": "the king", "says": right[SMITH]},
        {"says": right[KING], "n": 1},
    ]


PO = """# a comment
msgid ""
msgstr ""
"Language: LANGUAGE\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

#: inn.py:3
msgctxt "inn"
msgid "The old smith sells the key."
msgstr ""

msgid "The king wants a horse!"
msgstr "mine"

#, python-format
msgid "The girl sells %d apple."
msgid_plural "The girl sells %d bread."
msgstr[0] ""
msgstr[1] ""

#~ msgid "gone"
#~ msgstr "away"
"""


def test_a_catalog_is_filled(run: Run, right: dict[str, str], tmp_path: Path) -> None:
    file, out = tmp_path / "game.po", tmp_path / "game.eo.po"
    file.write_text(PO.replace("LANGUAGE", "eo"))
    assert run(file) == 0
    made = polib.pofile(str(out))
    assert [entry.msgstr for entry in made[:2]] == [right[SMITH], "mine"]
    assert all("%d" in text for text in made[2].msgstr_plural.values()) and len(made[2].msgstr_plural) == 2
    assert made[0].msgctxt == "inn" and made[0].occurrences == [("inn.py", "3")]
    assert made.metadata["Language"] == "eo" and made[3].obsolete
    assert run(file, "--force") == 0
    assert polib.pofile(str(out))[1].msgstr == "mine"
    assert run(file, "--force", "--retranslate") == 0
    assert polib.pofile(str(out))[1].msgstr == right[KING]


def test_plurals_without_the_forms_of_the_language_are_listed(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "game.pot"
    file.write_text(PO.replace("LANGUAGE", "en"))
    assert run(file) == 1
    assert "plural forms are translated only where the header names the target" in capsys.readouterr().err
    made = polib.pofile(str(tmp_path / "game.eo.po"))
    assert made[2].msgstr_plural == {0: "", 1: ""} and made[0].msgstr
    assert len(rows_of(tmp_path / "game.eo.po.review.csv")) == 3


BAD = [
    ("a.csv", b"", "expected CSV with a header; it is empty"),
    ("a.csv", b'id,text\n1,"open\n', "quotes may be missing"),
    ("a.csv", b'id,text\n1,"one"two"\n', "row 2: "),
    ("a.csv", b"id,text\n1,one,two\n", "row 2 has 3 columns, the header has 2"),
    ("a.csv", b"id,text\n1,a\n2\n", "row 3 has 1 columns, the header has 2 (line 3)"),
    (
        "a.csv",
        b"id,words\n1,one\n",
        "no column 'text' or 'line' or 'source': expected --column with one of 'id', 'words'",
    ),
    ("a.csv", b"text,text\n1,one\n", "has two columns 'text'"),
    ("a.csv", b"text\n\xff\xfa\n", "expected text in UTF-8 or UTF-16; byte 5 is not"),
    ("a.csv", bytes(range(256)), "expected text in UTF-8 or UTF-16"),
    ("a.csv", b"text\na\0b\n", "it has NUL characters"),
    ("a.json", b'{"a": ', "expected JSON; "),
    ("a.json", b'"text"', "expected an object of texts, or a list of objects"),
    ("a.json", b'{"a": {"b": "x", "b": "y"}}', "the key 'b' comes twice in one object"),
    ("a.json", b"[" * 100_000, "expected JSON; "),
    ("a.po", b"no catalog", "expected a PO file"),
    ("a.po", b'msgid "a"\nmsgstr "b" "c\n', "expected a PO file"),
    ("a.txt", b"Hello.", "expected a name that ends with one of .csv, .tsv, .json, .po, .pot"),
]


@pytest.mark.parametrize(("name", "data", "said"), BAD)
def test_bad_files_are_refused(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, data: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(data)
    assert run(tmp_path / name) == 2
    assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("words", "to", "said"),
    [
        ([], "de,fr,de", "invalid --to 'de,fr,de': expected each language once"),
        ([], "de,deu", "expected each language once; 'deu' is 'de'"),
        (["--from", "en"], "fr,en", "expected other languages than --from en"),
        (["--from", "eng"], "en", "expected other languages than --from eng"),
        ([], "german", "invalid --to 'german': expected language tags"),
        ([], "", "invalid --to ''"),
        (["--from", "../x"], "de", "invalid --from '../x'"),
        ([], "de,fr", "expected one language: the model translates between two"),
        (["--keep", "names.txt"], "de", "invalid --keep 'names.txt'"),
        (["--column", "words"], "de", "no column 'words': expected --column with one of 'text'"),
        (["--threads", "0"], "de", "--threads"),
    ],
)
def test_bad_arguments_are_refused(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], to: str, said: str
) -> None:
    file = tmp_path / "a.csv"
    file.write_text(f"text\n{SMITH}\n")
    try:
        status = run(file, *words, to=to)
    except SystemExit as end:  # of the parser
        status = int(end.code or 0)
    assert status == 2
    assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_files_and_models_that_do_not_exist_are_errors(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path / "none.csv") == 1
    assert "none.csv: No such file" in capsys.readouterr().err
    (tmp_path / "a.csv").write_text("text\nHello.\n")
    assert cli.main(["translate", str(tmp_path / "a.csv"), "--model", str(tmp_path), "--to", "de"]) == 1
    assert "has no model.bin" in capsys.readouterr().err


def test_a_text_is_translated_once_and_a_line_without_words_never(
    run: Run, tmp_path: Path, asked: list[str]
) -> None:
    file = tmp_path / "a.csv"
    file.write_text(table([["text"], *([SMITH], [KING], ["..."], ["{player} 12"], [""]) * 20]))
    assert run(file) == 0
    assert sorted(asked) == sorted(
        ["", KING, SMITH]
    )  # the empty one looks whether the model has the language
    made = [row[0] for row in rows_of(tmp_path / "a.eo.csv") if row]
    assert made[3:5] == ["...", "{player} 12"] and len(made) == len([row for row in rows_of(file) if row])


def test_names_come_from_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("Brenna\n\nTam\n")
    (tmp_path / "a.csv").write_text("text\nTam finds Brenna near the old bridge.\n")
    assert run(tmp_path / "a.csv", "--keep", str(tmp_path / "names.txt")) == 0
    text = rows_of(tmp_path / "a.eo.csv")[1][0]
    assert text.count("Brenna") == 1 and text.count("Tam") == 1 and "finds" not in text


def test_files_that_exist_are_kept_unless_forced(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "a.csv", tmp_path / "out" / "a.eo.csv"
    file.write_text(f"text\n{SMITH}\n")
    assert run(file, "--out", str(out.parent)) == 0
    out.write_text("mine")
    assert run(file, "--out", str(out.parent)) == 0
    assert out.read_text() == "mine" and "--force replaces it" in capsys.readouterr().err
    assert run(file, "--out", str(out.parent), "--force") == 0
    assert [path.name for path in out.parent.iterdir()] == ["a.eo.csv"]
    assert "feron" in out.read_text()


def test_lines_that_are_no_unicode_or_too_long_are_listed(
    run: Run, right: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"a": "x\ud800y", "b": "e" * 100_000, "c": SMITH}))
    assert run(file) == 1
    made = json.loads((tmp_path / "a.eo.json").read_text())
    assert made == {"a": "", "b": "", "c": right[SMITH]}
    said = capsys.readouterr().err
    assert "eo: a: the text is not valid Unicode" in said and "eo: b: invalid input" in said


def test_a_killed_run_goes_on_where_it_was(
    run: Run, translation_model: Path, tmp_path: Path, asked: list[str]
) -> None:
    lines = [one.text for one in dressed.lines(33, 3000)]
    file, journal = tmp_path / "a.csv", tmp_path / ".a.eo.csv.journal"
    file.write_text(table([["text"], *([line] for line in lines)]))
    words = ["translate", str(file), "--model", str(translation_model), "--to", "eo", "--threads", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "sotto.cli", *words, "--compute-type", "float32"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
    )
    end = time.monotonic() + 120
    while not journal.exists() or journal.read_text().count("\n") < 400:
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait(20)
    assert not (tmp_path / "a.eo.csv").exists()
    done = journal.read_text().count("\n") - 1
    with journal.open("a") as opened:
        opened.write('{"source": "cut')  # as a line that was being written
    began = time.perf_counter()
    assert run(file) in (0, 1)
    took = time.perf_counter() - began
    print(f"\nspeech: {done} of 3000 lines were kept of a killed run, the rest took {took:.1f} s")
    assert not journal.exists() and 400 <= done < 3000
    made = [row[0] for row in rows_of(tmp_path / "a.eo.csv")][1:]
    assert len(made) == 3000 and sum(map(bool, made)) > 2800
    shorter = sorted(dict.fromkeys(lines), key=len)[:done]
    assert not set(shorter) & set(asked)  # those of the first run
    whole = dict(zip(lines, made, strict=True))
    asked.clear()
    assert run(file, "--force") in (0, 1)
    assert dict(zip(lines, [row[0] for row in rows_of(tmp_path / "a.eo.csv")][1:], strict=True)) == whole


def test_a_journal_of_other_settings_is_not_used(
    run: Run, right: dict[str, str], tmp_path: Path, asked: list[str]
) -> None:
    file, journal = tmp_path / "a.csv", tmp_path / ".a.eo.csv.journal"
    file.write_text(f"text\n{SMITH}\n")
    for wrong in ('{"version": 1, "model": "other"}\n{"source": "x"}\n', "no journal\n", "\0\xff"):
        journal.write_bytes(wrong.encode("latin-1"))
        assert run(file, "--force") == 0
        assert rows_of(tmp_path / "a.eo.csv")[1] == [right[SMITH]]
    assert asked.count(SMITH) == 3
