"""Schedules of a workload: a fixed number of replicas, cron expressions, or weekly windows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import islice
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from ._windows import read_window, refuse_contradictions, utc
from .prices import integer, number

Clock = Callable[[], datetime]

_COMMON = ("replicas", "replicas_outside", "timezone")
_FAR = datetime.max.replace(tzinfo=timezone.utc)
_CHAIN = 1000  # starts of a cron expression that next_change() follows


class Schedule(Protocol):
    """Number of replicas as a function of time."""

    def replicas(self) -> int:
        """Returns the number of replicas now."""
        ...

    def next_change(self) -> datetime | None:
        """Returns when to ask again: no later than the next change. None: the number never changes."""
        ...


def utc_now() -> datetime:
    """Returns the time of the system's clock, in UTC."""
    return datetime.now(timezone.utc)


@dataclass(frozen=True)
class FixedSchedule:
    """The same number of replicas at all times.

    Attributes:
        count: Number of replicas.
    """

    count: int

    def __post_init__(self) -> None:
        integer("replicas", self.count, minimum=0)

    def replicas(self) -> int:
        """Returns the number of replicas."""
        return self.count

    def next_change(self) -> None:
        """Returns None: the number never changes."""


class CronSchedule:
    """Replicas for a time after each moment of a cron expression.

    A time that the change to summer time skips comes right after the change, and one that is repeated in
    autumn comes once, as in Debian's cron. Durations are of elapsed time.

    >>> CronSchedule("0 18 * * FRI", minutes=300, replicas=8, timezone="Europe/Berlin").outside
    0
    """

    def __init__(
        self,
        cron: str,
        *,
        minutes: float = 60.0,
        replicas: int = 1,
        replicas_outside: int = 0,
        timezone: str = "UTC",
        clock: Clock = utc_now,
    ) -> None:
        """Checks the expression.

        Args:
            cron: Five fields: minute, hour, day of month, month, day of week.
            minutes: Minutes from each start for which `replicas` are to run.
            replicas: Replicas in that time.
            replicas_outside: Replicas at other times.
            timezone: IANA name of the time zone of the expression.
            clock: Returns the time, with a time zone.

        Raises:
            ValueError: The expression is malformed or never comes, or another value is out of range.
        """
        self.inside, self.outside = _numbers(replicas, replicas_outside)
        self._zone = _zone(timezone)
        self._clock = clock
        self._cron = _expression(cron)
        minutes = number("minutes", minutes, minimum=0.0, maximum=525_600.0, above=True)
        self._duration = timedelta(minutes=minutes)
        if next(self._starts(utc(clock())), None) is None:
            raise ValueError(_never(cron))

    def replicas(self) -> int:
        """Returns the number of replicas now."""
        now = utc(self._clock())
        return self.inside if next(self._starts(now - self._duration), _FAR) <= now else self.outside

    def next_change(self) -> datetime | None:
        """Returns when to ask again, in UTC: no later than the next change."""
        now = utc(self._clock())
        starts = self._starts(now - self._duration)
        end = next(starts, _FAR)
        if end > now:
            return None if end == _FAR else end
        end += self._duration
        for start in islice(starts, _CHAIN):  # starts within the duration prolong it
            if start > end:
                break
            end = start + self._duration
        return end

    def _starts(self, after: datetime) -> Iterator[datetime]:
        """Yields the moments after one, in UTC."""
        for start in CronSim(self._cron, after.astimezone(self._zone)):
            if (moment := utc(start)) > after:  # of an hour that comes twice, cronsim yields the first
                yield moment


class WindowSchedule:
    """Replicas in weekly windows.

    >>> windows = [{"start": "18:00", "end": "23:00", "days": ["fri", "sat"], "replicas": 8}]
    >>> WindowSchedule(windows, replicas_outside=2).outside
    2
    """

    def __init__(
        self,
        windows: Sequence[Mapping[str, Any]] | Mapping[str, Any],
        *,
        replicas: int = 1,
        replicas_outside: int = 0,
        timezone: str = "UTC",
        clock: Clock = utc_now,
    ) -> None:
        """Checks the windows.

        Args:
            windows: One mapping or several, with `start` and `end` ("HH:MM"; an end at or before the start is
                on the next day), `days` ("mon" to "sun" on which the window begins; all by default) and
                `replicas`.
            replicas: Replicas of windows that do not say.
            replicas_outside: Replicas outside of all windows.
            timezone: IANA name of the time zone of the windows.
            clock: Returns the time, with a time zone.

        Raises:
            ValueError: A window is malformed, or two overlap with different numbers of replicas.
        """
        self.outside = integer("replicas_outside", replicas_outside, minimum=0)
        if not isinstance(windows, (list, tuple, Mapping)) or not windows:
            raise ValueError(f"invalid windows '{windows!r}': expected a list of at least one window")
        named = (
            [("window", windows)]
            if isinstance(windows, Mapping)
            else [(f"windows[{n}]", each) for n, each in enumerate(windows)]
        )
        self._zone = _zone(timezone)
        self._clock = clock
        self._windows = [read_window(name, each, replicas) for name, each in named]
        refuse_contradictions(self._windows)
        if all(one.replicas == self.outside for one in self._windows):
            raise ValueError(_same(self.outside))

    def replicas(self) -> int:
        """Returns the number of replicas now."""
        return self._at(utc(self._clock()))

    def next_change(self) -> datetime | None:
        """Returns the next change, in UTC. None: the windows cover the whole week alike."""
        now = utc(self._clock())
        current = self._at(now)
        moments = {moment for bounds in self._near(now, days=9) for moment in bounds[:2] if moment > now}
        return next((moment for moment in sorted(moments) if self._at(moment) != current), None)

    def _at(self, now: datetime) -> int:
        for start, end, replicas in self._near(now, days=1):
            if start <= now < end:
                return replicas
        return self.outside

    def _near(self, now: datetime, days: int) -> list[tuple[datetime, datetime, int]]:
        """Returns the windows that begin from yesterday on, for some days, as (start, end, replicas)."""
        today = now.astimezone(self._zone).date()
        found = []
        for offset in range(-1, days + 1):
            day = today + timedelta(days=offset)
            for one in self._windows:
                if day.weekday() in one.days:
                    found.append((*one.bounds(day, self._zone), one.replicas))
        return found


def read_schedule(policy: str, config: Mapping[str, Any], *, clock: Clock = utc_now) -> Schedule:
    """Reads the `execution_policy_config` of a workload.

    Args:
        policy: "fixed" or "scheduled".
        config: Of "fixed": `replicas`. Of "scheduled": `cron` with `minutes` (60), or `window` (one), or
            `windows` (several); `replicas`, `replicas_outside`, `timezone`.
        clock: Returns the time, with a time zone.

    Raises:
        ValueError: A field is unknown, missing or out of range, or two contradict each other.
    """
    if policy == "fixed":
        _known(config, ("replicas",))
        return FixedSchedule(config.get("replicas", 1))
    if policy != "scheduled":
        raise ValueError(f"invalid execution_policy '{policy}': expected 'fixed' or 'scheduled'")
    kinds = [kind for kind in ("cron", "window", "windows") if kind in config]
    if len(kinds) != 1:
        found = " and ".join(kinds) or "none of them"
        raise ValueError(
            "invalid execution_policy_config: expected exactly one of cron, window and windows, "
            f"found {found}; for several times use windows"
        )
    common = {name: config[name] for name in _COMMON if name in config}
    if kinds == ["cron"]:
        _known(config, ("cron", "minutes", *_COMMON))
        return CronSchedule(config["cron"], minutes=config.get("minutes", 60), clock=clock, **common)
    _known(config, (kinds[0], *_COMMON))
    if kinds == ["window"] and not isinstance(config["window"], Mapping):
        raise ValueError(f"invalid window '{config['window']!r}': expected an object with start and end")
    return WindowSchedule(config[kinds[0]], clock=clock, **common)


def _known(config: Mapping[str, Any], names: tuple[str, ...]) -> None:
    if unknown := set(config) - set(names):
        raise ValueError(
            f"invalid execution_policy_config.{min(unknown)}: expected one of {', '.join(names)}"
        )


def _numbers(replicas: int, outside: int) -> tuple[int, int]:
    integer("replicas", replicas, minimum=0)
    integer("replicas_outside", outside, minimum=0)
    if replicas == outside:
        raise ValueError(_same(outside))
    return replicas, outside


def _same(replicas: int) -> str:
    return (
        f"invalid replicas_outside '{replicas}': expected another number than replicas; "
        "for the same number at all times use the policy 'fixed'"
    )


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, TypeError, OSError) as error:
        raise ValueError(
            f"invalid timezone '{name}': expected an IANA name such as 'Europe/Berlin'; "
            "where the system has no time zones, install tzdata"
        ) from error


def _expression(cron: str) -> str:
    """Returns a well-formed expression."""
    if not isinstance(cron, str) or len(cron.split()) != 5:
        raise ValueError(
            f"invalid cron '{cron}': expected five fields, minute hour day-of-month month day-of-week"
        )
    try:
        CronSim(cron, datetime(2000, 1, 1, tzinfo=timezone.utc))
    except CronSimError as error:
        try:  # every day of the month: an expression that is well-formed then has a date that never comes
            minute, hour, _, month, day = cron.split()
            CronSim(f"{minute} {hour} * {month} {day}", datetime(2000, 1, 1, tzinfo=timezone.utc))
            never = re.fullmatch(r"(\d|[1-2]\d|3[01])([-,/](\d|[1-2]\d|3[01]))*", cron.split()[2])
        except CronSimError:
            never = None
        if never:
            raise ValueError(_never(cron)) from error
        raise ValueError(
            f"invalid cron '{cron}': {str(error).lower()}; expected five fields, "
            "minute hour day-of-month month day-of-week"
        ) from error
    return cron


def _never(cron: str) -> str:
    return f"invalid cron '{cron}': expected a date that comes; no month of it has such a day"
