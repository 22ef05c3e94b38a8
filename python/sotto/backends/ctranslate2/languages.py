"""The languages of a translation model, by the model's own codes or by ISO 639."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

import langcodes

from ..._values import invalid
from ...errors import ArgumentError

# Tokens that name a language: Opus-MT's ">>deu<<", M2M100's "__de__", NLLB's "deu_Latn".
_FORMS = (r">>([\w-]+)<<", r"__([a-z]{2,3})__", r"([a-z]{3}_[A-Z][a-z]{3})")
_MOST_DISTANCE = 9  # of CLDR: a macrolanguage and its usual member, a region; not another language
_NEAR = 5
_KOREAN = {"Kore", "Hang"}  # one writing: of Hangul with Chinese characters, and without


class Languages:
    """The languages that a vocabulary has tokens for."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._tokens: dict[str, str] = {}  # by code
        for token in vocabulary:
            for form in _FORMS:
                if found := re.fullmatch(form, token):
                    self._tokens[found[1]] = token
        self._found = dict(self._tokens)

    def __len__(self) -> int:
        return len(self._tokens)

    @property
    def tokens(self) -> frozenset[str]:
        """The tokens of all languages."""
        return frozenset(self._tokens.values())

    def token(self, field: str, asked: str | None) -> str:
        """Returns the token of a language.

        Args:
            field: Name of the request's field, for the error.
            asked: The model's code or token, or a tag of ISO 639 such as "de" or "pt-BR".

        Raises:
            ArgumentError: The field is missing, or the model lacks the language.
        """
        if asked is None:
            raise ArgumentError(f"missing {field}: expected one of {len(self)} languages, {self._some('en')}")
        if asked in self._tokens.values():
            return asked
        if asked not in self._found and (code := self._matching(asked)) is not None:
            self._found[asked] = self._tokens[code]
        if asked not in self._found:
            expected = f"one of {len(self)} languages, {self._some(asked)}"
            raise ArgumentError(invalid(field, asked, expected))
        return self._found[asked]

    def _matching(self, asked: str) -> str | None:
        if not langcodes.tag_is_valid(asked):
            return None
        known = sorted(code for code in self._tokens if langcodes.tag_is_valid(code))
        named = langcodes.Language.get(asked).script is not None
        for ignores_script in (False,) if named else (False, True):  # "ko" is in Kore, NLLB's in Hang
            code, _ = langcodes.closest_match(
                asked, known, max_distance=_MOST_DISTANCE, ignore_script=ignores_script
            )
            if code in self._tokens and _same(asked, code):
                return str(code)
        return None

    def _some(self, asked: str) -> str:
        """Names a few languages, those that are written like `asked` first."""
        codes = sorted(self._tokens)
        near = difflib.get_close_matches(asked, codes, _NEAR, 0.5)
        near += [code for code in codes if code.startswith(asked[:2].lower()) and code not in near]
        return f"such as {', '.join((near or codes)[:_NEAR])}"


def _same(one: str, other: str) -> bool:
    """Returns true if two tags name one language in one script."""
    tags = [langcodes.standardize_tag(tag, macro=True) for tag in (one, other)]
    first, second = (langcodes.Language.get(tag).maximize() for tag in tags)
    scripts = {first.script, second.script}
    return first.language == second.language and (len(scripts) == 1 or scripts == _KOREAN)


def check_tag(field: str, asked: str | None) -> None:
    """Raises `ArgumentError` if `asked` names no language at all. For models of one pair of languages."""
    if asked is not None and not langcodes.tag_is_valid(asked):
        raise ArgumentError(invalid(field, asked, "a language tag, such as en, de or pt-BR"))
