"""Translates lines so that their protected pieces stay: several attempts, each checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...errors import SottoError
from .mask import FORMS, Masked, has_words, mask, parts_of, unmask
from .protect import Protector, without_edges

Translate = Callable[[list[str], int], list[str]]  # texts and beam_size, to translations
_BEAMS = 2
_MORE_BEAMS = 5
_ATTEMPTS = ((FORMS[0], _BEAMS), (FORMS[0], _MORE_BEAMS), *((form, _BEAMS) for form in FORMS[1:]))
_EMPTY = "the translation is empty"
_LOST = "the model lost, doubled or invented a protected piece"
_INVENTED = "the translation has a sentinel, which is not in the source"


class Outcome(NamedTuple):
    """What became of a line.

    Attributes:
        text: The translation; "" if it failed.
        reason: Why it failed; "" if it did not.
        in_parts: The texts between the protected pieces were translated on their own.
    """

    text: str
    reason: str = ""
    in_parts: bool = False


class _Job:
    """A line while it is translated."""

    def __init__(self, protector: Protector, text: str) -> None:
        self.text = text
        self.edges = without_edges(protector, text)
        self.outcome: Outcome | None = None
        self.reason = ""
        self.masked: Masked | None = None

    def whole(self, core: str) -> str:
        """Returns the line around a translated core."""
        return self.edges.left + core + self.edges.right


class Rounds:
    """Translates lines. `translate` returns the translations of texts; `protector` finds what must stay."""

    def __init__(self, translate: Translate, protector: Protector) -> None:
        self._translate, self._protector = translate, protector

    def lines(self, texts: Sequence[str]) -> list[Outcome]:
        """Returns the outcome of each text. A text without words is its own translation."""
        jobs = [_Job(self._protector, text) for text in texts]
        for job in jobs:
            self._begin(job)
        for form, beams in _ATTEMPTS:
            self._attempt([job for job in jobs if job.outcome is None], form, beams)
        for job in jobs:
            if job.outcome is None and self._protector.pieces(job.edges.core):
                self._in_parts(job)
        return [job.outcome or Outcome("", job.reason or _LOST) for job in jobs]

    def _begin(self, job: _Job) -> None:
        try:
            job.text.encode()
        except UnicodeEncodeError:
            job.outcome = Outcome("", "the text is not valid Unicode")
            return
        if not any(translated for _, translated in parts_of(self._protector, job.edges.core)):
            job.outcome = Outcome(job.text)

    def _attempt(self, jobs: list[_Job], form: str, beams: int) -> None:
        asked: list[_Job] = []
        for job in jobs:
            masked = mask(self._protector, job.edges.core, form)
            if masked is not None and (masked.runs or form == FORMS[0]):
                job.masked = masked
                asked.append(job)
        texts = [job.masked.text for job in asked if job.masked is not None]
        for job, target in zip(asked, self._asked(texts, beams), strict=True):
            self._take(job, target)

    def _asked(self, texts: list[str], beams: int) -> list[str | SottoError]:
        """Translates texts together; each on its own if the model refuses one of them."""
        if not texts:
            return []
        try:
            return list(self._translate(texts, beams))
        except SottoError as error:
            if len(texts) == 1:
                return [error]
        return [target for text in texts for target in self._asked([text], beams)]

    def _take(self, job: _Job, target: str | SottoError) -> None:
        """Makes a translation the outcome of a line if it keeps what must stay."""
        if isinstance(target, SottoError) or job.masked is None:
            job.reason = str(target)
            return
        core = unmask(job.masked, target)
        lost = _LOST if job.masked.runs else _INVENTED
        job.reason = lost if core is None else self._checked(job, core)
        if core is not None and not job.reason:
            job.outcome = Outcome(job.whole(core))

    def _checked(self, job: _Job, core: str) -> str:
        if not has_words(core):
            return _EMPTY
        return self._protector.kept(job.text, job.whole(core))

    def _in_parts(self, job: _Job) -> None:
        parts = parts_of(self._protector, job.edges.core)
        targets = iter(self._asked([text for text, translated in parts if translated], _BEAMS))
        made = [next(targets) if translated else text for text, translated in parts]
        failed = next((one for one in made if isinstance(one, SottoError)), None)
        if failed is not None:
            job.reason = str(failed)
            return
        words = [one for one, (_, translated) in zip(made, parts, strict=True) if translated]
        core = "".join(map(str, made))
        job.reason = self._checked(job, core) if all(has_words(str(one)) for one in words) else _EMPTY
        if not job.reason:
            job.outcome = Outcome(job.whole(core), in_parts=True)
