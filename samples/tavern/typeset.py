"""Text that mixes scripts: picks a font for each character, orders right-to-left text and breaks lines."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import pygame
from paint import Colour

SERIF = ("georgia", "palatinolinotype", "palatino", "liberationserif", "notoserif", "dejavuserif")
SANS = ("segoeui", "helveticaneue", "notosans", "liberationsans", "dejavusans", "arial")
OTHERS = (  # for characters that the text font lacks
    *("dejavusans", "notosanshebrew", "notosansarabic", "notosanscjksc", "notosanscjk", "microsoftyahei"),
    *("hiraginosansgb", "droidsansfallback", "notoemoji", "segoeuisymbol", "segoeuiemoji", "applesymbols"),
    *("symbola", "unifont", "freesans"),
)
NO_CHARACTER = "\U0010ffff"  # no font has it
SCRIPTS = {"HEBREW": "Hebr", "ARABIC": "Arab"}


def clean(text: str) -> str:
    """Returns the text without characters that no font draws: controls, joiners and selectors."""
    kept = (one if one.isprintable() else " " if one in "\n\t\r" else "" for one in text)
    return "".join(one for one in kept if not "\ufe00" <= one <= "\ufe0f")


@lru_cache(maxsize=4096)
def is_rtl(character: str) -> bool:
    """Returns True for letters that are written from right to left."""
    return unicodedata.bidirectional(character) in ("R", "AL")


class Typeset:
    """A font with its substitutes."""

    def __init__(
        self, families: tuple[str, ...], size: int, *, bold: bool = False, italic: bool = False
    ) -> None:
        path = next(filter(None, (pygame.font.match_font(name, bold, italic) for name in families)), None)
        self._fonts = [pygame.font.Font(path, size if path else round(size * 1.35))]
        self._size, self._others = size, list(OTHERS)
        self._picked: dict[str, pygame.font.Font] = {}
        self.height = self._fonts[0].get_height()
        self._widths: dict[str, int] = {}

    def width(self, text: str) -> int:
        """Returns the width of a text in pixels."""
        known = self._widths.get(text)
        if known is None:
            if len(self._widths) > 4096:
                self._widths.clear()
            known = self._widths[text] = sum(font.size(part)[0] for font, part, _ in self._runs(text))
        return known

    def render(self, text: str, colour: Colour) -> pygame.Surface:
        """Returns one line of text."""
        text = clean(text)
        if text.isascii():
            return self._fonts[0].render(text, True, colour)
        runs = self._runs(text)
        if runs and any(rtl for _, _, rtl in runs) and self._starts_rtl(text):
            runs.reverse()
        parts = [self._run(font, part, rtl, colour) for font, part, rtl in runs]
        ascent = max([font.get_ascent() for font, _, _ in runs], default=0)
        tall = max([self.height, *(ascent - font.get_ascent() + font.get_height() for font, _, _ in runs)])
        line = pygame.Surface((max(1, sum(part.get_width() for part in parts)), tall), pygame.SRCALPHA)
        x = 0
        for (font, _, _), part in zip(runs, parts, strict=True):
            line.blit(part, (x, ascent - font.get_ascent()))
            x += part.get_width()
        return line

    def wrap(self, text: str, width: int) -> list[str]:
        """Breaks a text into lines that are at most `width` pixels wide, in a word if it is longer."""
        lines, line = [], ""
        for word in clean(text).split():
            longer = f"{line} {word}" if line else word
            if self.width(longer) <= width:
                line = longer
                continue
            if line:
                lines.append(line)
            *full, line = self._broken(word, width)
            lines += full
        return [*lines, line] if line else lines

    def _broken(self, word: str, width: int) -> list[str]:
        parts = []
        while self.width(word) > width and len(word) > 1:
            low, high = 1, len(word) - 1  # the longest beginning that fits
            while low < high:
                middle = (low + high + 1) // 2
                low, high = (middle, high) if self.width(word[:middle]) <= width else (low, middle - 1)
            parts.append(word[:low])
            word = word[low:]
        return [*parts, word]

    def _runs(self, text: str) -> list[tuple[pygame.font.Font, str, bool]]:
        """Splits a text into runs of one font and one direction, in the order of the text."""
        runs: list[tuple[pygame.font.Font, str, bool]] = []
        rtl = self._starts_rtl(text)
        for place, one in enumerate(text):
            if one.isalnum():
                rtl = is_rtl(one)
            elif rtl and not self._rtl_follows(text, place):
                rtl = self._starts_rtl(text)
            font = self._font(one)
            if runs and runs[-1][0] is font and runs[-1][2] == rtl:
                runs[-1] = (font, runs[-1][1] + one, rtl)
            else:
                runs.append((font, one, rtl))
        return runs

    @staticmethod
    def _rtl_follows(text: str, place: int) -> bool:
        return next((is_rtl(one) for one in text[place:] if one.isalnum()), True)

    @staticmethod
    def _starts_rtl(text: str) -> bool:
        return next((is_rtl(one) for one in text if one.isalpha()), False)

    def _font(self, character: str) -> pygame.font.Font:
        if character.isascii():
            return self._fonts[0]
        if character not in self._picked:
            if len(self._picked) > 4096:
                self._picked.clear()
            self._picked[character] = self._find(character)
        return self._picked[character]

    def _find(self, character: str) -> pygame.font.Font:
        for font in self._fonts:
            if has(font, character):
                return font
        while self._others:  # opened when a character first needs them
            path = pygame.font.match_font(self._others.pop(0))
            if path:
                self._fonts.append(pygame.font.Font(path, self._size))
                if has(self._fonts[-1], character):
                    return self._fonts[-1]
        return self._fonts[0]

    @staticmethod
    def _run(font: pygame.font.Font, text: str, rtl: bool, colour: Colour) -> pygame.Surface:
        if not rtl:
            return font.render(text, True, colour)
        name = next((unicodedata.name(one, "") for one in text if is_rtl(one)), "")
        font.set_direction(pygame.DIRECTION_RTL)
        font.set_script(next((tag for script, tag in SCRIPTS.items() if script in name), "Zyyy"))
        try:
            return font.render(text, True, colour)
        finally:
            font.set_direction(pygame.DIRECTION_LTR)
            font.set_script("Zyyy")


def has(font: pygame.font.Font, character: str) -> bool:
    """Returns True if the font has a picture of the character."""
    found, missing = font.metrics(character + NO_CHARACTER)
    return found is not None and found != missing
