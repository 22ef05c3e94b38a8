"""The translation of a file into one language."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from ..._whole import write_new, write_whole
from ...errors import ArgumentError, SottoError, Status
from .document import Document, Line
from .journal import Journal, key_of
from .rounds import Outcome, Rounds

_CHUNK = 64  # lines between two writes of the journal
_HEADER = ("place", "kind", "reason", "text")  # of the listing
FAILED, IN_PARTS, LEFT = "failed", "in parts", "left as it is"


class Listed(NamedTuple):
    """A line that a person should look at. `kind`: `FAILED`, `IN_PARTS` or `LEFT`."""

    line: Line
    kind: str
    reason: str


class Work:
    """Translates a document.

    Args:
        document: What is translated.
        target: The file that is written.
        language: Language of the target.
        force: Also replaces a target that exists, or that another program wrote during the run.
        retranslate: Also translates the lines that have a translation.
    """

    def __init__(
        self, document: Document, target: Path, language: str, *, force: bool, retranslate: bool
    ) -> None:
        self._document, self._target, self._language = document, target, language
        self._force, self._retranslate = force, retranslate
        self._listing = listing_of(target)

    def run(
        self, rounds: Rounds, settings: Mapping[str, object], report: Callable[[float], None]
    ) -> list[Listed]:
        """Translates what the journal lacks, and writes the file and the list of lines to look at.

        Args:
            rounds: Translates lines.
            settings: What the journal must have been written with to be used.
            report: Takes the fraction that is done.

        Returns:
            The lines to look at: those that failed, were translated in parts, or have words left as they are.

        Raises:
            SottoError: Another process translates into the target, or wrote it during the run.
        """
        journal = Journal(self._target.with_name(f".{self._target.name}.journal"), settings)
        done = False
        try:
            before = self._target.read_bytes() if self._target.exists() else None
            if before is not None:
                self._update()
            self._translate(rounds, journal, report)
            listed = self._write(journal, before)
            done = True
        finally:
            journal.close(done=done)
        return listed

    def _update(self) -> None:
        if not (self._force or (self._document.updates and not self._retranslate)):
            raise _written_by_another(self._target)
        self._document.update(self._target)

    def _translate(self, rounds: Rounds, journal: Journal, report: Callable[[float], None]) -> None:
        wanted = dict.fromkeys(line.text for line in self._document.lines if self._is_translated(line))
        left = [text for text in wanted if key_of(text) not in journal.found]
        left.sort(key=len)  # lines of similar length make better batches
        for at in range(0, len(left), _CHUNK):
            report(1 - (len(left) - at) / len(wanted))
            chunk = left[at : at + _CHUNK]
            journal.add(zip(chunk, rounds.lines(chunk), strict=True))
        report(1.0)

    def _is_translated(self, line: Line) -> bool:
        return not line.reason and (self._retranslate or not line.done)

    def _outcome(self, line: Line, journal: Journal) -> Outcome:
        if self._is_translated(line):
            return journal.found[key_of(line.text)]
        return Outcome(line.done, "" if line.done else line.reason)

    def _write(self, journal: Journal, before: bytes | None) -> list[Listed]:
        lines = self._document.lines
        outcomes = [self._outcome(line, journal) for line in lines]
        listed = [one for pair in zip(lines, outcomes, strict=True) for one in _listed(*pair)]
        self._place(self._document.written([one.text for one in outcomes], self._language), before)
        if listed:
            write_whole(self._listing, _written(listed))
        elif self._listing.exists():
            self._listing.unlink()
        return listed

    def _place(self, content: bytes, before: bytes | None) -> None:
        """Writes the target. Without `force`, only if nothing changed it since `before` was read."""
        try:
            if self._force:
                write_whole(self._target, content)
            elif before is None:
                write_new(self._target, content)
            elif self._target.read_bytes() == before:
                write_whole(self._target, content)
            else:
                raise FileExistsError
        except FileExistsError:
            raise _written_by_another(self._target) from None


def _written_by_another(target: Path) -> SottoError:
    return SottoError(
        f"'{target}' was written by another program during the run: move it or use --force; "
        "the translations are kept for the next run",
        Status.STATE,
    )


def listing_of(target: Path) -> Path:
    """Returns the file that lists the lines of a target to look at.

    Raises `ArgumentError` if a file of that name was not written by the command.
    """
    path = target.with_name(f"{target.name}.review.csv")
    if path.exists():
        with path.open("rb") as file:
            first = file.readline(100).rstrip(b"\r\n")
        if first != ",".join(_HEADER).encode():
            raise ArgumentError(f"'{path}' was not written by sotto translate: move it")
    return path


def _listed(line: Line, outcome: Outcome) -> list[Listed]:
    if outcome.reason:
        return [Listed(line, FAILED, outcome.reason)]
    if outcome.in_parts:
        reason = "the texts between the protected pieces were translated on their own"
        return [Listed(line, IN_PARTS, reason)]
    if outcome.left:
        return [Listed(line, LEFT, f"'{outcome.left}' has words, and is not translated")]
    return []


def _written(listed: list[Listed]) -> bytes:
    """Returns the lines to look at as CSV."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_HEADER)
    writer.writerows((one.line.place, one.kind, one.reason, one.line.text) for one in listed)
    return out.getvalue().encode(errors="replace")
