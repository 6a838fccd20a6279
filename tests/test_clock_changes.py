"""Nights on which the clocks change, and a clock set back by two hours: nothing lost, overwritten or out of order."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from memory_store import MemoryStore
from runtime.question_time import Household, read_time
from tests.memory_samples import open_memory
from tests.test_clock_steps import RIGHT_UTC_S, Robot, faults

BERLIN = ZoneInfo("Europe/Berlin")
UTC = ZoneInfo("UTC")
EVERY_S = 600.0


@pytest.fixture
def robot(tmp_path: Path) -> Iterator[Robot]:
    robot = Robot(tmp_path)
    yield robot
    robot.store.close()


def _night(store: MemoryStore, first_utc: str, hours: float) -> dict[int, datetime]:
    """A clip with one line every ten minutes; each line's time on the household's clock."""
    begun = datetime.fromisoformat(first_utc).replace(tzinfo=UTC).timestamp()
    lines = {}
    with store.transaction():
        for number in range(round(hours * 3600 / EVERY_S)):
            start = begun + EVERY_S * number
            clip = store.add_clip(
                source_key=f"night:{number}", source_name="night", start_utc_s=start, end_utc_s=start + 30
            )
            line = store.add_node(
                "episodic", "The cat walks by.", clip_id=clip, start_utc_s=start, end_utc_s=start + 30
            )
            lines[line] = datetime.fromtimestamp(start, BERLIN)
    return lines


def _found(store: MemoryStore, words: str, now: str) -> set[int]:
    now_s = datetime.fromisoformat(now).replace(tzinfo=BERLIN).timestamp()
    span = read_time(f"What happened {words}?", now_s, Household(BERLIN)).range
    assert span is not None
    rows = store.timeline(after_utc_s=span.start_utc_s, before_utc_s=span.end_utc_s)
    assert all(one.start_utc_s <= other.start_utc_s for one, other in pairwise(rows))
    return {node for row in rows for node in row.evidence}


@pytest.mark.parametrize(
    ("first_utc", "day", "twice"),
    [("2026-10-24T22:00", "2026-10-25", 2), ("2026-03-28T23:00", "2026-03-29", 0)],
)
def test_all_hours_of_a_night_of_changed_clocks_can_be_asked_for(
    tmp_path: Path, first_utc: str, day: str, twice: int
) -> None:
    with open_memory(tmp_path) as store:
        lines = _night(store, first_utc, 5)
        everything = _found(store, "today", f"{day}T20:00")
        assert everything == set(lines) and list(lines) == sorted(lines)
        assert len({node.start_utc_s for node in store.nodes()}) == len(lines) == len(store.clips())
        half_past_two = {line for line, time in lines.items() if (time.hour, time.minute) == (2, 30)}
        assert len(half_past_two) == twice
        if twice:
            assert half_past_two <= _found(store, "at 2:30 am", f"{day}T20:00")
        found: set[int] = set()
        for hour in sorted({time.hour for time in lines.values()}):
            asked = _found(store, f"between {hour}:00 and {hour}:59", f"{day}T20:00")
            assert {line for line, time in lines.items() if time.hour == hour} <= asked
            found |= asked
        assert found == set(lines)


def test_a_clock_set_back_by_two_hours(robot: Robot, tmp_path: Path) -> None:
    robot.clock.now_utc_s = RIGHT_UTC_S + 7200
    taken = [robot.take() for _ in range(6)]
    robot.clock.now_utc_s -= 7200
    taken += [robot.take() for _ in range(6)]
    clips = [robot.store.clip(clip) for clip, _ in taken]
    assert len({clip.id for clip in clips}) == 12
    assert all(
        timedelta(seconds=b.start_utc_s - a.start_utc_s) >= timedelta(seconds=29) for a, b in pairwise(clips)
    )
    assert faults(tmp_path / "memory.db", (RIGHT_UTC_S - 300, RIGHT_UTC_S + 600)) == []
    for (_, line), clip in zip(taken, clips, strict=True):
        span = {"after_utc_s": clip.start_utc_s, "before_utc_s": clip.end_utc_s}
        assert [node.id for node in robot.store.nodes(kinds=["episodic"], **span)] == [line]  # type: ignore[arg-type]
    assert robot.store.verify() == []
