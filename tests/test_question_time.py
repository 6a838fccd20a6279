"""Times in natural words, English and Chinese, against a table of spans; changes of clocks; what cannot be told."""

from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from runtime.local_time import utc_span
from runtime.named_days import country_of, names
from runtime.question_time import Household, ReadTime, read_time

TABLE = yaml.safe_load((Path(__file__).parent / "time_expressions.yaml").read_text(encoding="utf-8"))
CASES = [(group, text, expected) for group in TABLE for text, *expected in group["cases"]]
BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
SHANGHAI = ZoneInfo("Asia/Shanghai")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")


def at(text: str, zone: ZoneInfo) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()


def read(text: str, now: str, zone: ZoneInfo = BERLIN) -> ReadTime:
    return read_time(text, at(now, zone), Household(zone))


def hours(text: str, now: str, zone: ZoneInfo) -> float:
    found = read(text, now, zone).range
    assert found is not None
    return (found.end_utc_s - found.start_utc_s) / 3600


@pytest.mark.parametrize(("group", "text", "expected"), CASES, ids=[text for _, text, _ in CASES])
def test_words_name_the_span_of_the_table(group: dict[str, object], text: str, expected: list[str]) -> None:
    zone = ZoneInfo(str(group["zone"]))
    now = group["now"] if isinstance(group["now"], datetime) else datetime.fromisoformat(str(group["now"]))
    now_s = now.replace(tzinfo=zone).timestamp()
    found = read_time(text, now_s, Household(zone))
    if len(expected) == 1:
        assert found.range is None and bool(found.unclear) == (expected[0] == "unresolved")
        return
    words = {"now": now_s + 1.0, "ever": 0.0}
    start, end = (words[edge] if edge in words else at(edge, zone) for edge in expected)
    assert found.range is not None
    assert (found.range.start_utc_s, found.range.end_utc_s) == (start, end)
    assert found.range.phrase and found.ahead == (start >= now_s)


@pytest.mark.parametrize(
    ("zone", "spring", "autumn", "jump_h"),
    [
        (BERLIN, "2026-03-29", "2026-10-25", 1.0),
        (NEW_YORK, "2026-03-08", "2026-11-01", 1.0),
        (LORD_HOWE, "2026-10-04", "2026-04-05", 0.5),
        (SHANGHAI, "2026-03-29", "2026-10-25", 0.0),
    ],
)
def test_a_day_is_as_long_as_the_clocks_make_it(
    zone: ZoneInfo, spring: str, autumn: str, jump_h: float
) -> None:
    assert hours("today", f"{spring}T20:00", zone) == 24 - jump_h
    assert hours("today", f"{autumn}T20:00", zone) == 24 + jump_h
    assert hours("last night", f"{spring}T20:00", zone) == 11 - jump_h
    assert hours("last night", f"{autumn}T20:00", zone) == 11 + jump_h
    assert hours("in the last 24 hours", f"{spring}T20:00", zone) == pytest.approx(24, abs=0.001)
    assert hours("in the last 2 days", f"{autumn}T20:00", zone) == pytest.approx(48 + jump_h, abs=0.001)


@pytest.mark.parametrize(
    ("text", "now", "zone"),
    [
        ("at 2:30 am", "2026-03-29T15:00", BERLIN),
        ("at 02:30 today", "2026-03-08T15:00", NEW_YORK),
        ("at 02:15", "2026-10-04T15:00", LORD_HOWE),
        ("今天凌晨两点半", "2026-03-29T15:00", BERLIN),
        ("on 30 December 2011", "2026-03-29T15:00", ZoneInfo("Pacific/Apia")),
    ],
)
def test_what_the_clocks_jumped_over_never_was_and_that_is_said(text: str, now: str, zone: ZoneInfo) -> None:
    found = read(f"Who was here {text}?", now, zone)
    assert found.range is None and found.reason == "skipped"


def test_half_past_two_is_a_time_again_in_a_zone_without_a_jump() -> None:
    assert hours("at 2:30 am", "2026-03-29T15:00", SHANGHAI) == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("text", "now", "zone", "minutes"),
    [
        ("at 2:30 am", "2026-10-25T15:00", BERLIN, 70),
        ("at 1:30 am", "2026-11-01T15:00", NEW_YORK, 70),
        ("at 01:45", "2026-04-05T15:00", LORD_HOWE, 40),
        ("at 2:30 am", "2026-10-25T15:00", SHANGHAI, 10),
    ],
)
def test_what_the_clocks_showed_twice_is_asked_of_both_times(
    text: str, now: str, zone: ZoneInfo, minutes: int
) -> None:
    assert hours(text, now, zone) * 60 == pytest.approx(minutes)


def test_a_span_begins_with_the_jump_over_its_first_moment() -> None:
    jump = datetime.fromisoformat("2026-03-29T01:00:00+00:00").timestamp()
    assert utc_span(datetime(2026, 3, 29, 2, 30), datetime(2026, 3, 29, 4), BERLIN) == (jump, jump + 3600)
    assert utc_span(datetime(2026, 3, 29, 1), datetime(2026, 3, 29, 2, 30), BERLIN) == (jump - 3600, jump)


@given(
    st.sampled_from(
        [BERLIN, NEW_YORK, SHANGHAI, LORD_HOWE, ZoneInfo("Africa/Cairo"), ZoneInfo("America/Havana")]
    ),
    st.integers(0, 730),
)
def test_days_follow_one_another_without_a_gap_and_a_day_holds_only_itself(zone: ZoneInfo, day: int) -> None:
    first = datetime(2026, 1, 1) + timedelta(days=day)
    today = utc_span(first, first + timedelta(days=1), zone)
    tomorrow = utc_span(first + timedelta(days=1), first + timedelta(days=2), zone)
    assert today is not None and tomorrow is not None and today[1] == tomorrow[0]
    for moment in (today[0], today[1] - 0.5):
        assert datetime.fromtimestamp(moment, zone).date() == first.date()


@given(st.integers(0, 10**9), st.sampled_from(["on Saturday", "last Saturday", "周六", "上周六"]))
def test_saturday_never_holds_a_moment_of_sunday(offset_s: int, words: str) -> None:
    found = read_time(words, at("2026-01-01", BERLIN) + offset_s, Household(BERLIN)).range
    assert found is not None
    for moment in (found.start_utc_s, found.end_utc_s - 0.001):
        assert datetime.fromtimestamp(moment, BERLIN).weekday() == 5


def test_meals_are_those_of_the_household() -> None:
    late = Household(BERLIN, {"breakfast": (10.0, 11.0)})
    found = read_time("before breakfast", at("2026-11-25T15:00", BERLIN), late).range
    assert found is not None and found.end_utc_s == at("2026-11-25T10:00", BERLIN)


@pytest.mark.parametrize(
    ("text", "country", "start"),
    [
        ("at Thanksgiving", "US", "2025-11-27"),
        ("春节", "CN", "2026-02-17"),
        ("on Boxing Day", "GB", "2025-12-26"),
        ("on Christmas Eve", "CN", "2025-12-24"),
        ("at Christmas last year", "US", "2025-12-25"),
        ("at Easter", "DE", "2026-04-05"),
    ],
)
def test_days_with_a_name_are_those_of_the_country(text: str, country: str, start: str) -> None:
    found = read_time(text, at("2026-11-25T15:00", BERLIN), Household(BERLIN, country=country)).range
    assert found is not None and found.start_utc_s == at(start, BERLIN)


def test_a_day_that_the_country_does_not_know_is_said() -> None:
    found = read_time("at Thanksgiving", at("2026-11-25T15:00", BERLIN), Household(BERLIN, country="DE"))
    assert found.range is None and found.reason == "no_such_name"


def test_the_country_is_that_of_the_zone() -> None:
    assert [country_of(zone) for zone in ("Europe/Berlin", "Asia/Shanghai", "UTC")] == ["DE", "CN", ""]
    assert names("", 2026)["christmas"]


@pytest.mark.parametrize(
    "text",
    ["9999999 years ago", "in the last 999999999 weeks", "999999999天前", "on 3 March 0000"],
)
def test_what_is_too_far_away_is_said(text: str) -> None:
    assert read(text, "2026-11-25T15:00").unclear


def test_the_words_for_the_time_are_taken_out_of_the_rest() -> None:
    found = read("What did Bob say about the keys yesterday evening between 7 and 8 pm?", "2026-11-25T15:00")
    assert found.rest == "What did Bob say about the keys ?"
    assert found.range is not None and found.range.phrase == "yesterday evening between 7 and 8 pm"


@given(st.text(max_size=120))
@example("İyesterday at 3 pm")
@example("between between and 3 to to from 5 pm since")
def test_any_text_is_read(text: str) -> None:
    found = read(text, "2026-11-25T15:00")
    assert found.range is None or found.range.start_utc_s < found.range.end_utc_s


_WORDS = {piece for _, text, _ in CASES for piece in text.replace("?", "").split()}
_PIECES = sorted({*_WORDS, "到", "从", "前", "三点"})


@given(st.lists(st.sampled_from(_PIECES), max_size=8))
def test_any_mixture_of_words_for_times_is_read(pieces: list[str]) -> None:
    found = read(" ".join(pieces), "2026-11-25T15:00")
    assert found.range is None or found.range.start_utc_s < found.range.end_utc_s
