"""Translates lines so that their protected pieces stay: several attempts, each checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...errors import SottoError
from .mask import FORMS, Builder, Built, Masked, Run, has_words, mask, parts_of, unmask
from .protect import Protector, without_edges

# Texts and beam_size, to translations; an error for a text that was not translated whole.
Translate = Callable[[list[str], int], list[str | SottoError]]
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
        left: A piece with words that was left as it is; "": none.
    """

    text: str
    reason: str = ""
    in_parts: bool = False
    left: str = ""


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
        return [self._outcome(job) for job in jobs]

    def _outcome(self, job: _Job) -> Outcome:
        if job.outcome is None:
            return Outcome("", job.reason or _LOST)
        return job.outcome._replace(left=self._protector.left_as_it_is(job.text))

    def _begin(self, job: _Job) -> None:
        try:
            job.text.encode()
        except UnicodeEncodeError:
            job.outcome = Outcome("", "the text is not valid Unicode")
            return
        parts = parts_of(self._protector, job.edges.core)
        if not any(part[1] for part in parts if not isinstance(part, Run)):
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
            job.outcome = Outcome(job.whole(core.text))

    def _checked(self, job: _Job, core: Built) -> str:
        if not has_words(core.text):
            return _EMPTY
        return self._protector.kept(job.edges.core, core.text, core.pieces)

    def _in_parts(self, job: _Job) -> None:
        parts = parts_of(self._protector, job.edges.core)
        texts = list(dict.fromkeys(part[0] for part in parts if not isinstance(part, Run) and part[1]))
        made = dict(zip(texts, self._asked(texts, _BEAMS), strict=True))
        builder = Builder()
        for part in parts:
            if isinstance(part, Run):
                builder.run(part)
                continue
            text = made[part[0]] if part[1] else part[0]
            if isinstance(text, SottoError) or (part[1] and not has_words(text)):
                job.reason = str(text) if isinstance(text, SottoError) else _EMPTY
                return
            builder.text(text)
        core = builder.built()
        job.reason = self._checked(job, core)
        if not job.reason:
            job.outcome = Outcome(job.whole(core.text), in_parts=True)
