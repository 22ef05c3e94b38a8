"""Sampling of the models in `sotto._hub.OURS`, which are trained to play characters."""

from __future__ import annotations

# Request fields. Without the repeat penalty, 7 of 112 answers of the house model to unusual questions looped
# until max_tokens ("iron iron iron ..."). With it, 0 of 112 looped, and the same number of answers (63 of 64)
# contained their fact. The window is short because a longer one, or DRY, also penalises copying from the
# sheet and from the question.
CHARACTER_SAMPLING: dict[str, float] = {"temperature": 0, "repeat_penalty": 1.5, "repeat_last_n": 4}
