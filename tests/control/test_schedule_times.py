"""U33: the times of schedules where clocks change, against a slow calculation that reads a clock every minute."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise, takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatunnel_py.control.schedule.terms import (
    ScheduleTermsError,
    iso_of,
    require_future,
    seconds_of,
    terms_of,
    zones,
)
from seatunnel_py.control.schedule.timing import CronTiming, EveryTiming

DAY = 86_400
HARD_ZONES = (
    "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Africa/Cairo", "Asia/Tehran",
    "America/Santiago", "Antarctica/Troll", "Africa/Casablanca", "Asia/Gaza", "Atlantic/Azores", "Pacific/Apia",
    "Pacific/Chatham", "America/Caracas", "Asia/Pyongyang", "UTC",
)  # fmt: skip
"""Gaps and doubled times of half an hour, an hour, two hours and a day, at midnight too, and moves of a quarter."""
BEGIN, END = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (2000, 2037))


@cache
def changes(zone: str) -> list[int]:
    """The hours in which the clocks of a zone change."""
    clock = ZoneInfo(zone)
    offsets = [(at, datetime.fromtimestamp(at, clock).utcoffset()) for at in range(BEGIN, END, 3_600)]
    return [at for (at, offset), (_, later) in pairwise(offsets) if offset != later]


@dataclass(frozen=True)
class Field:
    """A field of an expression: its text, and its values."""

    text: str
    values: frozenset[int]


@st.composite
def parts(draw: st.DrawFn, low: int, high: int) -> Field:
    kind = draw(st.sampled_from(["one", "range", "steps", "star steps"]))
    first = draw(st.integers(low, high))
    last, step = draw(st.integers(first, high)), draw(st.integers(1, 30))
    return {
        "one": Field(str(first), frozenset({first})),
        "range": Field(f"{first}-{last}", frozenset(range(first, last + 1))),
        "steps": Field(
            f"{first}-{last}/{step}",
            frozenset(range(first, last + 1, step) if first < last else range(first, high + 1, step)),
        ),
        "star steps": Field(f"*/{step}", frozenset(range(low, high + 1, step))),
    }[kind]


@st.composite
def fields(draw: st.DrawFn, low: int, high: int) -> Field:
    if draw(st.booleans()):
        return Field("*", frozenset(range(low, high + 1)))
    found = draw(st.lists(parts(low, high), min_size=1, max_size=3))
    return Field(",".join(one.text for one in found), frozenset().union(*(one.values for one in found)))


@dataclass(frozen=True)
class Expression:
    minute: Field
    hour: Field
    day: Field
    month: Field
    weekday: Field

    @property
    def text(self) -> str:
        return " ".join(one.text for one in (self.minute, self.hour, self.day, self.month, self.weekday))

    def shows(self, wall: datetime) -> bool:
        """As the manual of Debian's cron has it: two days that are both restricted are joined by or."""
        if wall.minute not in self.minute.values or wall.hour not in self.hour.values:
            return False
        day = wall.day in self.day.values
        weekday = wall.isoweekday() % 7 in {value % 7 for value in self.weekday.values}
        star = self.day.text.startswith("*") or self.weekday.text.startswith("*")
        return wall.month in self.month.values and ((day and weekday) if star else (day or weekday))


expressions = st.builds(Expression, fields(0, 59), fields(0, 23), fields(1, 31), fields(1, 12), fields(0, 7))


def slow(expression: Expression, zone: str, begin: int, end: int) -> list[float]:
    """Read the clock every minute, two days before and after. A time that the clock never shows is the first moment at
    which it shows a later one."""
    clock = ZoneInfo(zone)
    first: dict[datetime, int] = {}
    before: datetime | None = None
    jumped: dict[datetime, int] = {}
    for at in range((begin - 2 * DAY) // 60 * 60, end + 2 * DAY, 60):
        wall = datetime.fromtimestamp(at, clock).replace(tzinfo=None, fold=0)
        first.setdefault(wall, at)
        passed = None if before is None else before + timedelta(minutes=1)
        while passed is not None and passed < wall:
            jumped.setdefault(passed, at)
            passed += timedelta(minutes=1)
        before = wall
    found = {at for wall, at in {**jumped, **first}.items() if expression.shows(wall)}
    return [float(at) for at in sorted(found) if begin < at <= end]


def calendar_has(expression: Expression, year: int) -> bool:
    """Whether a day of its month and day of the month exists."""
    first = datetime(year, 1, 1)  # noqa: DTZ001 - a day of the calendar
    days = (first + timedelta(days=at) for at in range(366))
    return any(day.month in expression.month.values and day.day in expression.day.values for day in days)


@st.composite
def windows(draw: st.DrawFn) -> tuple[str, int, int]:
    """A zone, and some hours in which its clocks change, if they do."""
    zone = draw(st.sampled_from(HARD_ZONES) | st.sampled_from(sorted(zones())))
    found = changes(zone)
    near = draw(st.sampled_from(found) if found else st.integers(BEGIN, END))
    begin = near + draw(st.integers(-DAY, 7_200))
    return zone, begin, begin + draw(st.integers(60, DAY + 7_200))


@settings(max_examples=150, deadline=None)
@given(windows(), expressions)
def test_u33_times_of_an_expression_are_those_of_a_clock_that_is_read_every_minute(
    window: tuple[str, int, int], expression: Expression
) -> None:
    """None is skipped, and none comes twice, in any zone. An expression whose days never come is refused."""
    zone, begin, end = window
    expected = slow(expression, zone, begin, end)
    try:
        timing = terms_of(cron=expression.text, zone=zone).timing(0.0)
    except ScheduleTermsError:
        assert not any(calendar_has(expression, year) for year in (2027, 2028)) and expected == []
        return
    assert isinstance(timing, CronTiming)

    assert list(takewhile(lambda moment: moment <= end, timing.moments(begin))) == expected
    assert timing.last(begin, end) == (expected[-1] if expected else None)
    assert [timing.after(before) for before in [begin, *expected[:-1]]][: len(expected)] == expected


@pytest.mark.parametrize(
    ("cron", "zone", "begin", "expected"),
    [
        ("30 2 * * *", "Europe/Berlin", "2027-03-27T12:00", ["2027-03-28T03:00:00+02:00", "2027-03-29T02:30:00+02:00"]),
        ("30 2 * * *", "Europe/Berlin", "2027-10-30T12:00", ["2027-10-31T02:30:00+02:00", "2027-11-01T02:30:00+01:00"]),
        ("0 * * * *", "Europe/Berlin", "2027-10-31T01:30", ["2027-10-31T02:00:00+02:00", "2027-10-31T03:00:00+01:00"]),
        ("*/30 2 * * *", "Europe/Berlin", "2027-03-28T00:00", ["2027-03-28T03:00:00+02:00", "2027-03-29T02:00:00+02:00"]),
        ("0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00", ["2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"]),
        ("15 2 * * *", "Australia/Lord_Howe", "2027-10-02T12:00", ["2027-10-03T02:30:00+11:00", "2027-10-04T02:15:00+11:00"]),
        ("0 9 30 12 *", "Pacific/Apia", "2011-12-29T12:00", ["2011-12-31T00:00:00+14:00", "2012-12-30T09:00:00+14:00"]),
        ("0 6 29 2 *", "UTC", "2097-01-01T00:00", ["2104-02-29T06:00:00+00:00"]),
    ],
)  # fmt: skip
def test_u33_a_time_that_does_not_exist_comes_after_the_gap_and_one_that_exists_twice_comes_once(
    cron: str, zone: str, begin: str, expected: list[str]
) -> None:
    at = datetime.fromisoformat(begin).replace(tzinfo=ZoneInfo(zone)).timestamp()
    found = [moment for moment, _ in zip(CronTiming(cron, zone).moments(at), expected, strict=False)]

    assert [iso_of(moment, zone) for moment in found] == expected


@given(st.integers(1, 10**6), st.integers(0, 10**9), st.floats(0, 4e9), st.floats(0, 1e6))
def test_an_interval_counts_from_its_anchor(seconds: int, anchor: int, at: float, more: float) -> None:
    timing = EveryTiming(seconds, float(anchor))
    following, until = timing.after(at), at + more

    assert following is not None and following > at
    assert following == anchor or (following > anchor and following - seconds <= at)
    assert (following - anchor) % seconds == 0
    last = timing.last(at, until)
    assert (last is None) == (following > until)
    assert last is None or (at < last <= until and last + seconds > until and (last - anchor) % seconds == 0)


def test_a_year_of_minutes_is_not_counted_to_find_the_last_one() -> None:
    timing = CronTiming("* * * * *", "Europe/Berlin")
    begin = float(BEGIN)

    assert timing.last(begin, begin + 366 * DAY + 30) == begin + 366 * DAY


@pytest.mark.parametrize(
    ("given_terms", "message"),
    [
        ({}, "either a cron expression or an interval"),
        ({"cron": "* * * * *", "every": 60}, "either a cron expression or an interval"),
        ({"every": 9}, "interval of 9 s is not possible; give 10 to"),
        ({"every": -1}, "is not possible"),
        ({"cron": "* * * *"}, "does not have the 5 fields"),
        ({"cron": "0 * * * * *"}, "does not have the 5 fields"),
        ({"cron": "@daily"}, "does not have the 5 fields"),
        ({"cron": "61 * * * *"}, "Bad minute"),
        ({"cron": "0 0 31 2 *"}, "Bad day-of-month"),
        ({"cron": "0 0 * * FUN"}, "Bad day-of-week"),
        ({"cron": "* * * * *", "zone": "Europe/Berlinn"}, "did you mean 'Europe/Berlin'?"),
        ({"cron": "* * * * *", "zone": "../../etc/passwd"}, "there is no time zone"),
        ({"cron": "* * * * *", "zone": "localtime"}, "there is no time zone"),
        ({"every": 60, "overlap": "que"}, "did you mean 'queue'?"),
        ({"every": 60, "missed": "all"}, "valid: skip, once"),
        ({"every": 60, "begins": "soon"}, "begins is not a time"),
        ({"every": 60, "ends": "9999-12-31"}, "ends is not a time"),
        ({"every": 60, "begins": "2028-01-01", "ends": "2027-01-01"}, "ends before it begins"),
    ],
)
def test_wrong_terms_are_refused_with_the_remedy(given_terms: dict[str, object], message: str) -> None:
    with pytest.raises(ScheduleTermsError) as refused:
        terms_of(**given_terms)
    assert message in f"{refused.value.message}; {refused.value.remedy}" and refused.value.remedy


@given(
    st.lists(st.sampled_from([*"0123456789*/-,#L", "W", "MON", "JAN", "²", "99"]), min_size=1, max_size=6).map("".join),
    st.integers(0, 4),
)
def test_a_text_is_an_expression_or_refused(text: str, place: int) -> None:
    """And one that is taken has a next time, or is refused because it never comes."""
    words = ["*"] * 5
    words[place] = text
    try:
        terms = terms_of(cron=" ".join(words))
        require_future(terms, 1_800_000_000.0)
    except ScheduleTermsError:
        return
    assert terms.timing(0.0).after(1_800_000_000.0) is not None


def test_terms_without_a_future_are_refused() -> None:
    for given_terms in ({"cron": "0 0 * 2 MON#5", "ends": "2027-06-01"}, {"every": 60, "ends": "2020-01-01"}):
        with pytest.raises(ScheduleTermsError, match="ends before its first time"):
            require_future(terms_of(**given_terms), 1_800_000_000.0)


def test_a_begin_without_an_offset_is_in_the_clocks_of_the_zone() -> None:
    terms = terms_of(cron="0 0 * * *", zone="Asia/Kolkata", begins="2027-03-01T06:00")
    assert iso_of(terms.begins) == "2027-03-01T00:30:00+00:00"
    assert terms_of(every=60, begins="2027-03-01T06:00Z").begins == terms_of(every=60, begins="2027-03-01T06:00").begins


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("15m", 900), ("6h", 21_600), ("1d", DAY)])
def test_durations(text: str, seconds: int) -> None:
    assert seconds_of(text) == seconds
    for wrong in (text[:-1], f"-{text}", f"{text}x", "", "1.5h", "٣m"):
        with pytest.raises(ScheduleTermsError, match="is not a duration"):
            seconds_of(wrong)
