"""Windows of a weekly schedule: parsing, contradictions, and their bounds on a day."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

from .prices import integer

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True)
class Window:
    """A time of day on some days of the week.

    Attributes:
        start: Minute of the day at which it begins.
        end: Minute of the day at which it ends; at or before `start`: on the next day.
        days: Days on which it begins, 0 is Monday.
        replicas: Replicas in the window.
    """

    start: int
    end: int
    days: frozenset[int]
    replicas: int

    @property
    def minutes(self) -> int:
        """Length of the window, without changes of the clock."""
        return (self.end - self.start) % 1440 or 1440

    def bounds(self, day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
        """Returns start and end, in UTC, of the window that begins on `day`.

        A time that the change to summer time skips counts as the moment of the change. Of a time that is
        repeated in autumn, a window begins at the first and ends at the second.
        """
        later = day + timedelta(days=(self.start + self.minutes) // 1440)
        return _moment(day, self.start, zone, fold=0), _moment(later, self.end % 1440, zone, fold=1)

    def __str__(self) -> str:
        return f"{_clock_text(self.start)} to {_clock_text(self.end)}"


def read_window(where: str, entry: Mapping[str, Any], replicas: int) -> Window:
    """Reads a window of a configuration; `where` names it in errors.

    Raises:
        ValueError: A field is unknown, missing or out of range.
    """
    names = ("start", "end", "days", "replicas")
    if not isinstance(entry, Mapping):
        raise ValueError(f"invalid {where} '{entry!r}': expected an object with {', '.join(names)}")
    if unknown := set(entry) - set(names):
        raise ValueError(f"invalid {where}.{min(unknown)}: expected one of {', '.join(names)}")
    start, end = (_minute(f"{where}.{name}", entry.get(name)) for name in ("start", "end"))
    if start == end:
        raise ValueError(
            f"invalid {where}.end '{_clock_text(end)}': expected another time than start; "
            "for whole days use start '00:00' and end '24:00'"
        )
    days = entry.get("days", _DAYS)
    if isinstance(days, str) or not days or not all(day in _DAYS for day in days):
        raise ValueError(f"invalid {where}.days '{days!r}': expected a list of {', '.join(_DAYS)}")
    count = integer(f"{where}.replicas", entry.get("replicas", replicas), minimum=0)
    return Window(start, end, frozenset(_DAYS.index(day) for day in days), count)


def _minute(where: str, text: Any) -> int:
    found = re.fullmatch(r"([01]\d|2[0-4]):([0-5]\d)", text) if isinstance(text, str) else None
    minute = 60 * int(found[1]) + int(found[2]) if found else 1441
    if minute > 1440 or (minute == 1440 and where.endswith("start")):
        raise ValueError(f"invalid {where} '{text}': expected a time of day 'HH:MM', 24 hours")
    return minute


def _clock_text(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


def refuse_contradictions(windows: Sequence[Window]) -> None:
    """Raises ValueError if two windows ask for different numbers of replicas at the same time."""
    week = 7 * 1440
    asked: dict[int, Window] = {}
    for one in windows:
        for day in one.days:
            for offset in range(one.minutes):
                minute = (1440 * day + one.start + offset) % week
                other = asked.setdefault(minute, one)
                if other.replicas != one.replicas:
                    raise ValueError(
                        f"invalid windows: {other} asks for {other.replicas} replicas and {one} for "
                        f"{one.replicas} at {_DAYS[minute // 1440]} {_clock_text(minute % 1440)}; "
                        "shorten one of them, or give both the same number"
                    )


def _moment(day: date, minute: int, zone: ZoneInfo, fold: int) -> datetime:
    """Returns a local time in UTC; a time that does not exist is the end of the gap."""
    local = datetime(day.year, day.month, day.day, minute // 60, minute % 60, tzinfo=zone, fold=fold)
    moment = local.astimezone(timezone.utc)
    if moment.astimezone(zone).replace(tzinfo=None, fold=0) == local.replace(tzinfo=None, fold=0):
        return moment
    # In a gap, fold=1 maps a local time to before the gap and fold=0 to after it: the change is between.
    before, after = (local.replace(fold=which).astimezone(timezone.utc) for which in (1, 0))
    while after - before > timedelta(seconds=1):
        middle = before + (after - before) / 2
        if middle.astimezone(zone).utcoffset() == before.astimezone(zone).utcoffset():
            before = middle
        else:
            after = middle
    return after.replace(microsecond=0)


def utc(moment: datetime) -> datetime:
    """Returns a moment in UTC.

    Raises:
        ValueError: The moment has no time zone.
    """
    if moment.tzinfo is None:
        raise ValueError(f"invalid clock '{moment}': expected a time with a time zone")
    return moment.astimezone(timezone.utc)
