"""Transcriptions as subtitles, in the forms SubRip and WebVTT."""

from __future__ import annotations

from .data import Transcription


def subtitles(heard: Transcription, *, words: bool = False) -> str:
    """Returns a transcription as SubRip subtitles, one for each segment or word."""
    return _cues(heard, words, numbered=True)


def web_subtitles(heard: Transcription, *, words: bool = False) -> str:
    """Returns a transcription as WebVTT subtitles, one for each segment or word."""
    return f"WEBVTT\n\n{_cues(heard, words, numbered=False)}"


def _cues(heard: Transcription, words: bool, *, numbered: bool) -> str:
    cues = []
    for number, part in enumerate(heard.words if words else heard.segments, 1):
        head = f"{number}\n" if numbered else ""
        comma = "," if numbered else "."
        cues.append(f"{head}{_time(part.start, comma)} --> {_time(part.end, comma)}\n{part.text.strip()}\n")
    return "\n".join(cues)


def _time(seconds: float, comma: str) -> str:
    whole = round(seconds * 1000)
    hours, rest = divmod(whole, 3_600_000)
    minutes, rest = divmod(rest, 60_000)
    return f"{hours:02}:{minutes:02}:{rest // 1000:02}{comma}{rest % 1000:03}"
