"""The files that `sotto translate` writes: what another program or a person wrote is kept."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polib
import pytest
from filelock import FileLock

import sotto
from sotto import cli
from sotto._whole import write_new, write_whole
from sotto.backends.ctranslate2.languages import Languages
from sotto.backends.ctranslate2.tokens import MultilingualTokenizer
from sotto.commands.dialogue.journal import Journal
from sotto.commands.dialogue.rounds import Outcome

Run = Callable[..., int]
SMITH, KING = "The old smith sells the key.", "The king wants a horse!"


@pytest.fixture
def run(translation_model: Path) -> Run:
    """Runs the command on a file. Returns its exit status."""

    def call(file: Path, *words: str) -> int:
        model = ["--model", str(translation_model), "--compute-type", "float32", "--threads", "1"]
        return cli.main(["translate", str(file), *model, "--to", "eo", *words])

    return call


@pytest.fixture
def during(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """Functions that are called while lines are translated."""
    calls: list[Callable[[], object]] = []
    translate = sotto.Engine.translate

    def called(self: sotto.Engine, given: Any, **fields: Any) -> Any:
        for call in calls if given else ():  # an empty text looks whether the model has a language
            call()
        return translate(self, given, **fields)

    monkeypatch.setattr(sotto.Engine, "translate", called)
    return calls


def test_a_target_that_is_written_during_the_run_is_kept(
    run: Run, tmp_path: Path, during: list[Callable[[], object]], capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "a.csv", tmp_path / "a.eo.csv"
    file.write_text(f"text\n{SMITH}\n")
    during.append(lambda: out.write_text("by hand"))
    assert run(file) != 0
    assert out.read_text() == "by hand"
    assert "a.eo.csv' was written by another program during the run" in capsys.readouterr().err
    during.clear()
    assert run(file, "--force") == 0
    assert "feron" in out.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "a.eo.csv"]


def test_a_catalog_that_is_written_during_its_update_is_kept(
    run: Run, tmp_path: Path, during: list[Callable[[], object]]
) -> None:
    file, out = tmp_path / "a.po", tmp_path / "a.eo.po"
    file.write_text(f'msgid ""\nmsgstr ""\n\nmsgid "{SMITH}"\nmsgstr ""\n')
    out.write_text('msgid ""\nmsgstr ""\n')
    during.append(lambda: out.write_text("by hand"))
    assert run(file) != 0
    assert out.read_text() == "by hand"


def test_two_runs_do_not_share_a_journal(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.csv"
    file.write_text(f"text\n{SMITH}\n")
    with FileLock(tmp_path / ".a.eo.csv.journal.lock"):
        assert run(file) != 0
    assert "another process has" in capsys.readouterr().err and not (tmp_path / "a.eo.csv").exists()
    assert run(file) == 0


def test_the_journal_is_not_written_through_links(run: Run, tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    file = tmp_path / "a.csv"
    file.write_text(f"text\n{SMITH}\n")
    (tmp_path / ".a.eo.csv.journal.new").symlink_to(mine)
    assert run(file) == 0
    assert mine.read_text() == "mine"


def test_files_that_the_command_did_not_write_stay(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.csv"
    file.write_text(f"text\n{SMITH}\n")
    (tmp_path / "a.eo.csv.failed").write_text("mine")
    review = tmp_path / "a.eo.csv.review.csv"
    review.write_text("my notes\n")
    assert run(file) == 2
    assert "was not written by sotto translate: move it" in capsys.readouterr().err
    assert review.read_text() == "my notes\n"
    review.write_text("place,kind,reason,text\nrow 2,failed,,x\n")  # of an earlier run
    assert run(file) == 0
    assert not review.exists() and (tmp_path / "a.eo.csv.failed").read_text() == "mine"


HEAD = 'msgid ""\nmsgstr ""\n"Language: eo\\n"\n"Plural-Forms: nplurals={}; plural=0;\\n"\n\n'


def test_a_catalog_that_exists_is_updated(run: Run, tmp_path: Path) -> None:
    file, out = tmp_path / "a.po", tmp_path / "a.eo.po"
    file.write_text(f'{HEAD.format(2)}msgid "{SMITH}"\nmsgstr ""\n\nmsgid "{KING}"\nmsgstr ""\n')
    out.write_text(
        f'{HEAD.format(2)}# checked\nmsgid "{SMITH}"\nmsgstr "by hand"\n\nmsgid "old"\nmsgstr "gone"\n'
    )
    assert run(file) == 0
    made = polib.pofile(str(out))
    assert made[0].msgstr == "by hand" and made[0].tcomment == "checked"
    assert "ekwa" in made[1].msgstr.lower()
    assert made[2].obsolete and made[2].msgstr == "gone"
    assert run(file, "--retranslate") == 0
    assert polib.pofile(str(out))[0].msgstr == "by hand"
    assert run(file, "--retranslate", "--force") == 0
    assert "feron" in polib.pofile(str(out))[0].msgstr


def test_one_plural_form_fills_one(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.po"
    file.write_text(f'{HEAD.format(1)}msgid "The king."\nmsgid_plural "{KING}"\nmsgstr[0] ""\n')
    assert run(file) == 0
    assert list(polib.pofile(str(tmp_path / "a.eo.po"))[0].msgstr_plural) == [0]


def test_fuzzy_entries_are_translated(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.po"
    file.write_text(f'{HEAD.format(2)}#, fuzzy, c-format\nmsgid "{SMITH}"\nmsgstr "guess"\n')
    assert run(file) == 0
    (made,) = polib.pofile(str(tmp_path / "a.eo.po"))
    assert "feron" in made.msgstr and made.flags == ["c-format"]


def test_the_form_of_a_catalog_is_kept(run: Run, tmp_path: Path) -> None:
    comment = "# " + "a long comment " * 12 + "ends"
    text = f'{HEAD.format(2)}{comment}\nmsgid "..."\nmsgstr ""\n'.replace("\n", "\r\n")
    (tmp_path / "a.po").write_bytes(text.encode())
    assert run(tmp_path / "a.po") == 0
    made = (tmp_path / "a.eo.po").read_bytes().decode()
    assert comment in made.split("\r\n") and "\n" not in made.replace("\r\n", "")


def test_written_files_have_the_usual_mode_and_follow_links(tmp_path: Path) -> None:
    file, link = tmp_path / "a", tmp_path / "link"
    before = os.umask(0o027)
    try:
        write_whole(file, "one")
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    file.chmod(0o600)
    link.symlink_to(file)
    write_whole(link, "two")
    assert file.read_text() == "two" and link.is_symlink() and stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        write_new(file, b"three")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "link"]


@pytest.mark.parametrize(
    ("header", "words", "column"),
    [
        ("keys,en,eo", ["--column", "en"], 2),
        ("keys,en,eo", ["--from", "en"], 2),
        ("Key,English(en),Esperanto(eo)", ["--from", "en"], 2),
        ("Key,Esperanto (eo),English (en)", ["--column", "English (en)"], 1),
        ("id,text,mine", ["--into", "mine"], 2),
        ("id,text,no", [], 1),
    ],
)
def test_translations_land_in_the_column_of_their_language(
    run: Run, tmp_path: Path, header: str, words: list[str], column: int
) -> None:
    file = tmp_path / "a.csv"
    names = header.split(",")
    source = next(
        at for at, name in enumerate(names) if name in ("text", "en") or "(en)" in name.replace(" ", "")
    )
    rows = [["a", "", ""], ["b", "", ""]]
    rows[0][source], rows[1][source] = SMITH, KING
    if column != source:
        rows[1][column] = "by hand"
    file.write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n")
    assert run(file, *words) == 0
    made = [line.split(",") for line in (tmp_path / "a.eo.csv").read_text().splitlines()]
    assert made[0] == names and "feron" in made[1][column]
    if column != source:
        assert made[1][source] == SMITH and made[2][column] == "by hand"


@pytest.mark.parametrize(
    ("header", "words", "said"),
    [
        ("keys,en,de", ["--column", "en"], "has columns for languages, 'en', 'de', and none for 'eo'"),
        ("Key,text,German(de)", [], "has columns for languages, 'German(de)', and none for 'eo'"),
        ("keys,text,b", ["--into", "c"], "expected --into with one of 'keys'"),
    ],
)
def test_tables_without_a_column_for_the_language_are_refused(
    run: Run, tmp_path: Path, header: str, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.csv"
    file.write_text(f"{header}\na,{SMITH},x\n")
    assert run(file, *words) == 2
    assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize("name", ["names.lst", "./names"])
def test_a_mistyped_file_of_names_is_refused(
    run: Run, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.csv"
    file.write_text(f"text\n{SMITH}\n")
    assert run(file, "--keep", name) == 2
    assert f"invalid --keep '{name}'" in capsys.readouterr().err


def test_many_names_are_kept(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(f"text\n{SMITH}\n")
    assert run(file, "--keep", ",".join(f"Name{at}" for at in range(1000))) == 0


def test_a_damaged_line_of_a_journal_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    for text in ("one", "two", "three"):
        journal = Journal(path, {"to": "de"})
        journal.add([(text, Outcome(text.upper()))])
        journal.close(done=False)
    lines = path.read_text().split("\n")
    lines[2] = lines[2][:20]
    path.write_text("\n".join(lines))
    journal = Journal(path, {"to": "de"})
    journal.close(done=False)
    assert sorted(one.text for one in journal.found.values()) == ["ONE", "THREE"]


def test_a_number_of_many_digits_is_an_error(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.json"
    file.write_text(f'{{"text": {"9" * 5000}}}')
    assert run(file) == 2
    assert "expected JSON" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("codes", "asked", "token"),
    [
        (["srp_Cyrl"], "sr-Latn", None),
        (["__de__"], "gsw", None),
        (["__zh__"], "zh-TW", None),
        (["zho_Hans", "zho_Hant"], "zh-TW", "zho_Hant"),
        (["kor_Hang"], "ko", "kor_Hang"),
        (["__pt__"], "pt-BR", "__pt__"),
        (["__de__"], "__de__", "__de__"),
        (["deu_Latn"], "de", "deu_Latn"),
    ],
)
def test_only_the_same_language_in_the_same_script_is_taken(
    codes: list[str], asked: str, token: str | None
) -> None:
    languages = Languages(codes)
    if token is not None:
        assert languages.token("target_language", asked) == token
        return
    with pytest.raises(sotto.ArgumentError, match="invalid target_language"):
        languages.token("target_language", asked)


def test_a_language_is_not_translated_into_itself() -> None:
    tokenizer = MultilingualTokenizer(None, Languages(["__en__", "__de__"]), False)  # type: ignore[arg-type]
    tokenizer.check("en", "de")
    with pytest.raises(sotto.ArgumentError, match="both are '__en__' in the model"):
        tokenizer.check("en", "en-GB")
