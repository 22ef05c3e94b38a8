"""Schedules: fixed, cron, windows, changes of the clock."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sotto.fleet.scheduling import CronSchedule, FixedSchedule, WindowSchedule, read_schedule

UTC = timezone.utc
BERLIN = ZoneInfo("Europe/Berlin")  # 2026: summer time from March 29 at 2:00 to October 25 at 3:00


class Clock:
    """A clock that is set by hand."""

    def __init__(self, text: str = "2026-01-05 12:00", zone: Any = UTC) -> None:
        self.zone = zone
        self.set(text)

    def set(self, text: str, fold: int = 0) -> None:
        self.now = datetime.fromisoformat(text).replace(tzinfo=self.zone, fold=fold)

    def __call__(self) -> datetime:
        return self.now


def at(schedule: Any, clock: Clock, text: str, fold: int = 0) -> int:
    clock.set(text, fold)
    return int(schedule.replicas())


def test_a_fixed_schedule_never_changes() -> None:
    schedule = read_schedule("fixed", {"replicas": 3})
    assert schedule.replicas() == 3 and schedule.next_change() is None
    assert isinstance(schedule, FixedSchedule) and read_schedule("fixed", {}).replicas() == 1


def test_cron_runs_for_its_duration() -> None:
    clock = Clock()
    config = {"cron": "0 18 * * FRI", "minutes": 300, "replicas": 8, "replicas_outside": 2}
    schedule = read_schedule("scheduled", config, clock=clock)
    assert at(schedule, clock, "2026-01-09 17:59:59") == 2
    assert schedule.next_change() == datetime(2026, 1, 9, 18, tzinfo=UTC)
    assert at(schedule, clock, "2026-01-09 18:00") == 8
    assert at(schedule, clock, "2026-01-09 22:59:59") == 8
    assert schedule.next_change() == datetime(2026, 1, 9, 23, tzinfo=UTC)
    assert at(schedule, clock, "2026-01-09 23:00") == 2
    assert at(schedule, clock, "2026-01-10 18:00") == 2


def test_cron_starts_within_the_duration_prolong_it() -> None:
    clock = Clock()
    schedule = CronSchedule("0 18,19 * * *", minutes=90, clock=clock)
    assert at(schedule, clock, "2026-01-09 18:30") == 1
    assert schedule.next_change() == datetime(2026, 1, 9, 20, 30, tzinfo=UTC)


def test_a_cron_without_gaps_says_when_to_ask_again() -> None:
    clock = Clock()
    schedule = CronSchedule("* * * * *", minutes=5, clock=clock)
    change = schedule.next_change()
    assert schedule.replicas() == 1 and change is not None and change > clock.now


@pytest.mark.parametrize("cron", ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "15 3 30,31 FEB *", "0 12 31 2-2 *"])
def test_a_cron_that_never_comes_is_refused(cron: str) -> None:
    with pytest.raises(ValueError, match="expected a date that comes; no month of it has such a day"):
        CronSchedule(cron, minutes=5)


def test_a_leap_day_comes() -> None:
    clock = Clock("2026-01-01 00:00")
    schedule = CronSchedule("0 0 29 2 *", minutes=60, clock=clock)
    assert schedule.next_change() == datetime(2028, 2, 29, tzinfo=UTC)


def test_cron_in_the_hour_that_summer_time_skips_comes_after_it() -> None:
    clock = Clock(zone=BERLIN)
    schedule = CronSchedule("30 2 * * *", minutes=10, timezone="Europe/Berlin", clock=clock)
    assert at(schedule, clock, "2026-03-28 02:30") == 1
    assert at(schedule, clock, "2026-03-29 01:59") == 0
    assert at(schedule, clock, "2026-03-29 03:05") == 1
    assert at(schedule, clock, "2026-03-29 03:45") == 0


def test_cron_in_the_hour_that_comes_twice_runs_once() -> None:
    clock = Clock(zone=BERLIN)
    schedule = CronSchedule("30 2 * * *", minutes=10, timezone="Europe/Berlin", clock=clock)
    assert [at(schedule, clock, "2026-10-25 02:35", fold) for fold in (0, 1)].count(1) == 1


def test_windows_of_days_and_over_midnight() -> None:
    clock = Clock()
    windows = [{"start": "22:00", "end": "02:00", "days": ["sat"], "replicas": 9}]
    config = {"windows": windows, "replicas_outside": 3}
    schedule = read_schedule("scheduled", config, clock=clock)
    assert at(schedule, clock, "2026-01-10 21:59") == 3  # a Saturday
    assert schedule.next_change() == datetime(2026, 1, 10, 22, tzinfo=UTC)
    assert at(schedule, clock, "2026-01-10 22:00") == 9
    assert at(schedule, clock, "2026-01-11 01:59") == 9
    assert schedule.next_change() == datetime(2026, 1, 11, 2, tzinfo=UTC)
    assert at(schedule, clock, "2026-01-11 02:00") == 3
    assert at(schedule, clock, "2026-01-11 23:00") == 3


def test_a_window_of_a_whole_day() -> None:
    clock = Clock()
    window = {"start": "00:00", "end": "24:00", "days": ["sun"], "replicas": 5}
    schedule = read_schedule("scheduled", {"window": window}, clock=clock)
    assert at(schedule, clock, "2026-01-10 23:59:59") == 0
    assert at(schedule, clock, "2026-01-11 00:00") == 5
    assert at(schedule, clock, "2026-01-11 23:59:59") == 5
    assert at(schedule, clock, "2026-01-12 00:00") == 0


def test_a_window_begins_after_the_hour_that_summer_time_skips() -> None:
    clock = Clock(zone=BERLIN)
    windows = [{"start": "02:30", "end": "04:00"}]
    schedule = WindowSchedule(windows, timezone="Europe/Berlin", clock=clock)
    assert at(schedule, clock, "2026-03-29 01:59:59") == 0
    assert schedule.next_change() == datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert at(schedule, clock, "2026-03-29 03:00") == 1
    assert at(schedule, clock, "2026-03-29 04:00") == 0


def test_a_window_within_the_skipped_hour_is_left_out_that_day() -> None:
    clock = Clock(zone=BERLIN)
    schedule = WindowSchedule([{"start": "02:10", "end": "02:50"}], timezone="Europe/Berlin", clock=clock)
    assert at(schedule, clock, "2026-03-28 02:30") == 1
    assert at(schedule, clock, "2026-03-29 03:00") == 0
    assert at(schedule, clock, "2026-03-30 02:30") == 1


def test_a_window_lasts_through_the_hour_that_comes_twice() -> None:
    clock = Clock(zone=BERLIN)
    schedule = WindowSchedule([{"start": "02:00", "end": "02:45"}], timezone="Europe/Berlin", clock=clock)
    assert at(schedule, clock, "2026-10-25 02:10", fold=0) == 1
    assert at(schedule, clock, "2026-10-25 02:50", fold=0) == 1
    assert at(schedule, clock, "2026-10-25 02:44", fold=1) == 1
    assert at(schedule, clock, "2026-10-25 02:45", fold=1) == 0


def test_the_clock_may_be_of_any_zone() -> None:
    clock = Clock()
    schedule = WindowSchedule([{"start": "18:00", "end": "20:00"}], timezone="Asia/Kolkata", clock=clock)
    assert at(schedule, clock, "2026-01-05 12:29") == 0
    assert at(schedule, clock, "2026-01-05 12:30") == 1


def test_a_clock_without_a_zone_is_refused() -> None:
    schedule = WindowSchedule([{"start": "18:00", "end": "20:00"}], clock=lambda: datetime(2026, 1, 5))
    with pytest.raises(ValueError, match="expected a time with a time zone"):
        schedule.replicas()


MINUTES = st.integers(0, 1439)


@settings(max_examples=200, deadline=None)
@given(
    start=MINUTES,
    length=st.integers(1, 1439),
    days=st.sets(st.sampled_from(["mon", "tue", "wed", "thu", "fri", "sat", "sun"]), min_size=1),
    hours=st.integers(0, 24 * 366),
    zone=st.sampled_from(
        ["UTC", "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kolkata"]
    ),
)
def test_nothing_changes_before_the_next_change(
    start: int, length: int, days: set[str], hours: int, zone: str
) -> None:
    """Whatever the window, the zone and the time of the year: just before the next change nothing has."""
    clock = Clock("2026-01-01 00:00")
    clock.now += timedelta(hours=hours, minutes=7)
    end = (start + length) % 1440
    texts = [f"{minute // 60:02}:{minute % 60:02}" for minute in (start, end)]
    windows = [{"start": texts[0], "end": texts[1], "days": sorted(days), "replicas": 5}]
    schedule = WindowSchedule(windows, timezone=zone, clock=clock)
    now, change = schedule.replicas(), schedule.next_change()
    assert change is not None and change > clock.now
    clock.now = change - timedelta(seconds=1)
    assert schedule.replicas() == now
    clock.now = change
    assert schedule.replicas() != now


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "expected exactly one of cron, window and windows, found none of them"),
        ({"cron": "* * * * *", "window": {}}, "found cron and window"),
        ({"cron": "0 18 * *", "minutes": 5}, "invalid cron '0 18 \\* \\*': expected five fields"),
        ({"cron": "0 0 18 * * *", "minutes": 5}, "expected five fields"),
        ({"cron": "0 25 * * *", "minutes": 5}, "invalid cron .*: bad hour; expected five fields"),
        ({"cron": "0 0 32 * *", "minutes": 5}, "bad day-of-month"),
        ({"cron": 7, "minutes": 5}, "invalid cron '7'"),
        (
            {"cron": "0 18 * * *", "minutes": 0},
            "invalid minutes '0': expected a number > 0",
        ),
        (
            {"cron": "0 18 * * *", "minutes": 5, "timezone": "Mars/Base"},
            "invalid timezone 'Mars/Base'",
        ),
        ({"cron": "0 18 * * *", "minutes": 5, "timezone": "../etc"}, "invalid timezone '../etc'"),
        (
            {"cron": "0 18 * * *", "minutes": 5, "replicas": 0},
            "expected another number than replicas",
        ),
        (
            {"cron": "0 18 * * *", "minutes": 5, "windos": 1},
            "invalid execution_policy_config.windos",
        ),
        ({"window": {"start": "18:00", "end": "18:00"}}, "expected another time than start"),
        ({"window": {"start": "18:00"}}, r"invalid window.end 'None': expected a time of day"),
        ({"window": {"start": "25:00", "end": "18:00"}}, r"invalid window.start '25:00'"),
        ({"window": {"start": "24:00", "end": "18:00"}}, r"invalid window.start '24:00'"),
        ({"window": {"start": "17:00", "end": "24:30"}}, r"invalid window.end '24:30'"),
        ({"window": {"start": "17:00", "end": "18:00", "days": ["someday"]}}, r"invalid window.days"),
        ({"window": {"start": "17:00", "end": "18:00", "days": []}}, r"invalid window.days"),
        (
            {"window": {"start": "17:00", "end": "18:00", "replicas": -1}},
            r"invalid window.replicas '-1'",
        ),
        ({"window": {"start": "17:00", "end": "18:00", "until": 3}}, r"invalid window.until"),
        ({"window": 5}, r"invalid window '5': expected an object"),
        ({"windows": []}, "expected a list of at least one window"),
    ],
)
def test_a_wrong_schedule_is_refused(config: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_schedule("scheduled", config)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"start": "18:00", "end": "23:00"}, {"start": "22:00", "end": "23:30"}),
        (
            {"start": "18:00", "end": "02:00", "days": ["sun"]},
            {"start": "01:00", "end": "05:00", "days": ["mon"]},
        ),
        ({"start": "00:00", "end": "24:00"}, {"start": "12:00", "end": "13:00", "days": ["wed"]}),
    ],
)
def test_windows_that_contradict_are_refused(first: dict[str, Any], second: dict[str, Any]) -> None:
    windows = [{**first, "replicas": 2}, {**second, "replicas": 3}]
    with pytest.raises(ValueError, match=r"asks for \d replicas and .*; shorten one of them"):
        WindowSchedule(windows)
    agreed = [{**first, "replicas": 2}, {**second, "replicas": 2}]
    assert WindowSchedule(agreed).outside == 0


def test_a_fixed_schedule_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ValueError, match=r"invalid execution_policy_config.cron: expected one of replicas"):
        read_schedule("fixed", {"cron": "* * * * *"})
    with pytest.raises(ValueError, match="invalid replicas '-1'"):
        read_schedule("fixed", {"replicas": -1})
    with pytest.raises(ValueError, match="invalid execution_policy 'autoscaling'"):
        read_schedule("autoscaling", {})
