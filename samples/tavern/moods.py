"""Moods, and the expression that each of them gives a face."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Expression:
    """The shape of a face. Lengths are pixels of a face 100 pixels high; shares are 0 to 1.

    Raised brows are positive. `skew` lifts one brow and one corner of the mouth.
    """

    inner: float = 0  # inner ends of the brows
    outer: float = 0  # outer ends of the brows
    skew: float = 0
    lids: float = 0.85  # how far the eyes are open; above 1: wide open
    squint: float = 0  # share of the eye that the lower lid covers
    pupil: float = 1.0
    smile: float = 0.1  # -1 to 1
    width: float = 1.0  # of the mouth
    gape: float = 0  # how far the mouth is open at rest
    blush: float = 0

    def towards(self, other: Expression, part: float) -> Expression:
        """Returns the expression between this one (part 0) and `other` (part 1)."""
        if part >= 1:
            return other
        pairs = ((getattr(self, one.name), getattr(other, one.name)) for one in fields(self))
        return Expression(*(a + (b - a) * part for a, b in pairs))


MOODS: dict[str, Expression] = {
    "calm": Expression(smile=0.15),
    "happy": Expression(inner=2, outer=2, lids=0.85, squint=0.3, smile=0.95, width=1.15, gape=0.2, blush=0.8),
    "sad": Expression(inner=6, outer=-4, lids=0.6, smile=-0.7, width=0.85),
    "angry": Expression(inner=-7, outer=4, lids=0.72, squint=0.22, smile=-0.55, width=0.95, blush=0.35),
    "afraid": Expression(inner=9, outer=2, lids=1.2, pupil=0.65, smile=-0.45, width=0.8, gape=0.45),
    "weary": Expression(inner=2, outer=-3, lids=0.42, squint=0.1, smile=-0.2, width=0.9),
    "proud": Expression(inner=3, outer=5, skew=0.2, lids=0.58, squint=0.1, smile=0.45, width=0.95),
    "curious": Expression(inner=4, outer=5, skew=0.7, lids=1.08, pupil=1.1, smile=0.3, width=0.8, gape=0.1),
    "sly": Expression(inner=-4, outer=5, skew=1.0, lids=0.52, squint=0.25, smile=0.6, width=1.05),
    "worried": Expression(inner=8, outer=-1, lids=0.95, smile=-0.45, width=0.75),
}

LISTENING = Expression(inner=4, outer=4, lids=1.0, smile=0.2, width=0.9)  # the visitor speaks
THINKING = Expression(inner=1, outer=3, skew=0.6, lids=0.75, smile=-0.05, width=0.75)  # before the first word
