"""A clock that is set, or jumps, after clips were taken: all that depends on their time moves with them, or nothing."""

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from drivers.live import LiveSource
from drivers.microphone import Microphone
from memory_store.store import MemoryStore
from runtime.clips import ClipEnd, ClipSpan, Live, boot_id, live_prefix, monotonic_start_s
from runtime.clock import SystemClock, is_believable
from runtime.clock_steps import ClockSteps
from runtime.hear import Hearing
from runtime.media_files import MediaFiles
from runtime.see import Sight
from runtime.tentative import DAY_S, EVERY_CLIPS, STEADY_CLIPS, TentativePeople
from tests.clock_script import BOOT, CLIPS, SHIFT_S
from tests.fake_clock import FakeClock
from tests.fake_devices import FakePortAudio
from tests.identified_clips import open_store
from tests.memorized_clips import Home, says
from tests.memory_samples import SPACES, add_face, add_voice
from tests.vectors import axis

ROOT = Path(__file__).resolve().parents[1]
WRONG_UTC_S, RIGHT_UTC_S = 600.0, 1_790_000_000.0
CLIP_S = 30.0


class Robot:
    """A memory, a clock that may be wrong, and clips taken one after the other."""

    def __init__(self, directory: Path, *, boot: str = BOOT) -> None:
        self.clock = FakeClock(WRONG_UTC_S)
        self.slept_s = 0.0
        self.store = MemoryStore.open(directory, SPACES, clock=self.clock.utc_s)
        self.start(boot)
        with self.store.transaction():
            clip_id = self.store.add_clip(
                source_key="film#0", source_name="film", start_utc_s=5e8, end_utc_s=5e8 + 30, boot_id=boot
            )
            self.face, self.voice = add_face(self.store, clip_id), add_voice(self.store, clip_id)

    def start(self, boot: str) -> None:
        self.boot = boot
        self.live = Live(LiveSource(None, Microphone(None, backend=FakePortAudio())), boot, self.clock)
        self.steps = ClockSteps(self.store, self.clock, boot, asleep_s=lambda: self.slept_s)
        self.taken = 0

    def take(self) -> tuple[int, int]:
        """One clip with a line that tells of the face, and a vote; clip and line."""
        span = self.live.span(self.taken, CLIP_S)
        self.taken += 1
        self.clock.advance(CLIP_S)
        with self.store.transaction():
            clip_id, line = write_clip(self.store, span, self.boot, self.face, self.voice)
        self.moved = self.steps.after_clip(span)
        return clip_id, line


def write_clip(store: MemoryStore, span: ClipSpan, boot: str, face: int, voice: int) -> tuple[int, int]:
    clip_id = store.add_clip(
        source_key=span.key, source_name="live", boot_id=boot, media_start_s=span.media_start_s,
        start_utc_s=span.start_utc_s, end_utc_s=span.end_utc_s, time_known=span.time_known,
    )  # fmt: skip
    line = store.add_node(
        "episodic", f"<face_{face}> waves", clip_id=clip_id,
        start_utc_s=span.start_utc_s + 2, end_utc_s=span.start_utc_s + 4,
    )  # fmt: skip
    store.add_edge(line, face, "mentions", detail="actor")
    person = store.create_person()
    store.bind(person, store.add_node(
        "voice", "", clip_id=clip_id, start_utc_s=span.start_utc_s, end_utc_s=span.end_utc_s
    ))  # fmt: skip
    store.add_vote(face, voice, clip_id)
    store.add_name_evidence(None, "Ann", clip_id, line, 1.0, "test", subject_id=face)
    return clip_id, line


@pytest.fixture
def robot(tmp_path: Path) -> Iterator[Robot]:
    robot = Robot(tmp_path)
    yield robot
    robot.store.close()


def faults(database: Path, right: tuple[float, float]) -> list[str]:
    """What disagrees with the clips about the time, and clips of this boot outside of `right`."""
    checks = {
        "clip": f"""SELECT count(*) FROM clips WHERE source_key LIKE 'live:%'
            AND NOT (start_utc_s BETWEEN {right[0]} AND {right[1]} AND time_known)""",
        "length": "SELECT count(*) FROM clips WHERE abs(end_utc_s - start_utc_s - 30) > 0.01",
        "evidence": """SELECT count(*) FROM node_clips nc JOIN clips c ON c.id = nc.clip_id
            WHERE nc.start_utc_s < c.start_utc_s - 0.01 OR nc.end_utc_s > c.end_utc_s + 0.01""",
        "node": """SELECT count(*) FROM nodes n WHERE abs(n.start_utc_s -
            (SELECT min(start_utc_s) FROM node_clips WHERE node_id = n.id)) > 0.01 OR abs(n.last_seen_utc_s -
            (SELECT max(end_utc_s) FROM node_clips WHERE node_id = n.id)) > 0.01""",
        "edge": """SELECT count(*) FROM edges e JOIN nodes n ON n.id = e.source JOIN clips c ON c.id = n.clip_id
            WHERE abs(e.created_utc_s - c.start_utc_s) > 3600 OR abs(e.last_activated_utc_s - c.start_utc_s) > 3600""",
        "person": """SELECT count(*) FROM persons p JOIN person_nodes pn ON pn.person_id = p.id
            JOIN nodes n ON n.id = pn.node_id JOIN clips c ON c.id = n.clip_id
            WHERE abs(p.created_utc_s - c.start_utc_s) > 3600""",
        "name": """SELECT count(*) FROM name_evidence e JOIN clips c ON c.id = e.clip_id
            WHERE abs(e.created_utc_s - c.start_utc_s) > 3600""",
        "history": """SELECT count(*) FROM person_history h JOIN person_nodes pn ON pn.person_id = h.person_id
            JOIN nodes n ON n.id = pn.node_id JOIN clips c ON c.id = n.clip_id
            WHERE abs(h.created_utc_s - c.start_utc_s) > 3600""",
        "vote day": """SELECT count(*) FROM (SELECT CAST(c.start_utc_s / 86400 AS INTEGER) AS day, sum(v.weight) AS w
            FROM votes v JOIN clips c ON c.id = v.clip_id GROUP BY v.face_id, v.voice_id, day) t
            LEFT JOIN vote_days d ON d.day = t.day AND abs(d.weight - t.w) < 1e-6 WHERE d.day IS NULL""",
    }
    with closing(sqlite3.connect(database)) as connection:
        return [name for name, sql in checks.items() if connection.execute(sql).fetchone()[0]]


def test_clips_from_before_the_clock_was_set_are_dated_with_all_that_rests_on_them(
    robot: Robot, tmp_path: Path
) -> None:
    early = [robot.take() for _ in range(3)]
    assert not any(robot.store.clip(clip_id).time_known for clip_id, _ in early)
    robot.clock.now_utc_s = RIGHT_UTC_S
    late, _ = robot.take()
    assert robot.moved == 3
    starts = [robot.store.clip(clip_id).start_utc_s for clip_id, _ in early] + [
        robot.store.clip(late).start_utc_s
    ]
    assert starts == pytest.approx([RIGHT_UTC_S - 90, RIGHT_UTC_S - 60, RIGHT_UTC_S - 30, RIGHT_UTC_S])
    assert robot.store.node(early[0][1]).start_utc_s == pytest.approx(RIGHT_UTC_S - 88)
    assert faults(tmp_path / "memory.db", (RIGHT_UTC_S - 100, RIGHT_UTC_S + 100)) == []
    found = robot.store.search_node(text="waves", after_utc_s=RIGHT_UTC_S - 91, before_utc_s=RIGHT_UTC_S - 59)
    assert [hit.node.id for hit in found] == [early[0][1]]
    assert robot.store.check() == []


def test_a_memorized_clip_dates_those_before_it(tmp_path: Path) -> None:
    clock = FakeClock(WRONG_UTC_S)
    live = Live(LiveSource(None, Microphone(None, backend=FakePortAudio())), BOOT, clock)
    with open_store(tmp_path) as store:
        home = Home(store, tmp_path, ClockSteps(store, clock, BOOT, asleep_s=lambda: 0.0))
        for number in range(2):
            span = live.span(number, CLIP_S)
            clock.advance(CLIP_S)
            end = ClipEnd(span, had_video=False, had_audio=True, dropped_frames=0, last=False)
            said = says(
                "The keys are in the bowl.", axis(1, 192), span.media_start_s + 1, span.media_start_s + 3
            )
            assert home.memorizer.memorize(end, Sight(()), Hearing((said,))) is not None
            clock.now_utc_s = RIGHT_UTC_S
        first, second = store.clips()
        assert first.time_known and second.start_utc_s - first.start_utc_s == pytest.approx(30.0)
        line = store.nodes(kinds=["episodic"])[0]
        assert line.start_utc_s == pytest.approx(first.start_utc_s + 1)


def test_a_clip_that_was_being_taken_when_the_clock_was_set_is_dated_too(
    robot: Robot, tmp_path: Path
) -> None:
    span = robot.live.span(0, CLIP_S)
    robot.taken = 1
    robot.clock.advance(10.0)
    robot.clock.now_utc_s = RIGHT_UTC_S
    robot.clock.advance(20.0)
    with robot.store.transaction():
        clip_id, _ = write_clip(robot.store, span, BOOT, robot.face, robot.voice)
    assert not span.time_known and robot.steps.after_clip(span) == 1
    assert robot.store.clip(clip_id).start_utc_s == pytest.approx(RIGHT_UTC_S - 10)


def test_a_steady_clock_moves_nothing_and_is_not_read_from_the_whole_memory(robot: Robot) -> None:
    robot.clock.now_utc_s = RIGHT_UTC_S
    for _ in range(3):
        robot.take()
        robot.clock.now_utc_s += 0.5  # a clock that is kept in time is moved a little
        assert robot.moved == 0
    assert robot.store.last_clip_before_step() == 0


def test_a_jump_between_two_times_that_can_be_true_moves_the_boot_and_back(
    robot: Robot, tmp_path: Path
) -> None:
    robot.clock.now_utc_s = RIGHT_UTC_S
    first, _ = robot.take()
    robot.clock.advance(7 * 86400.0)  # no clip in between: time passed, nobody set the clock
    robot.taken += 20160
    robot.take()
    assert robot.moved == 0
    robot.clock.now_utc_s += 365 * 86400.0
    robot.take()
    assert robot.moved == 2 and robot.store.clip(first).start_utc_s > RIGHT_UTC_S + 364 * 86400.0
    robot.clock.now_utc_s -= 365 * 86400.0
    robot.take()
    assert robot.moved == 3 and robot.store.clip(first).start_utc_s == pytest.approx(RIGHT_UTC_S)
    assert faults(tmp_path / "memory.db", (RIGHT_UTC_S - 100, RIGHT_UTC_S + 8 * 86400.0)) == []


def test_a_machine_that_slept_is_no_clock_that_was_set(robot: Robot) -> None:
    robot.clock.now_utc_s = RIGHT_UTC_S
    first, _ = robot.take()
    robot.clock.now_utc_s += 3600.0
    robot.slept_s = 3600.0
    robot.take()
    assert robot.moved == 0 and robot.store.clip(first).start_utc_s == pytest.approx(RIGHT_UTC_S)


def test_after_a_restart_within_the_boot_what_still_waits_is_dated(robot: Robot, tmp_path: Path) -> None:
    early, _ = robot.take()
    robot.start(BOOT)
    robot.clock.now_utc_s = RIGHT_UTC_S
    robot.take()
    assert robot.moved == 1 and robot.store.clip(early).time_known


def test_clips_of_another_boot_and_of_recordings_stay_as_they_are(robot: Robot) -> None:
    early, _ = robot.take()
    robot.start("another")
    robot.clock.now_utc_s = RIGHT_UTC_S
    robot.take()
    assert robot.moved == 0 and not robot.store.clip(early).time_known
    film = robot.store.find_clip("film#0")
    assert film is not None and film.start_utc_s == 5e8


def test_nobody_is_let_go_of_by_a_clock_that_has_just_jumped(robot: Robot, tmp_path: Path) -> None:
    robot.clock.now_utc_s = RIGHT_UTC_S
    for _ in range(STEADY_CLIPS + 1):
        robot.take()
    tentative = TentativePeople(robot.store, MediaFiles(tmp_path), days=7.0, limit=1000)
    assert tentative.after_clip(EVERY_CLIPS, robot.live.span(robot.taken, CLIP_S)) == []
    people = len(robot.store.people())
    robot.clock.now_utc_s += 30 * DAY_S
    robot.start("after the jump")  # the older clips keep their times, as after a restart of the machine
    robot.steps.after_clip(robot.live.span(0, CLIP_S))
    with robot.store.transaction():
        robot.store.redate_clips({}, robot.clock.utc_s())
    for _ in range(STEADY_CLIPS - 1):
        robot.take()
        assert tentative.after_clip(EVERY_CLIPS, robot.live.span(robot.taken, CLIP_S)) == []
    robot.take()
    gone = tentative.after_clip(EVERY_CLIPS, robot.live.span(robot.taken, CLIP_S))
    assert len(gone) == people, "those met before the jump, once the clock was steady"


def test_a_jump_moves_the_clips_with_it_and_still_nobody_goes(robot: Robot, tmp_path: Path) -> None:
    robot.clock.now_utc_s = RIGHT_UTC_S
    for _ in range(STEADY_CLIPS + 1):
        robot.take()
    robot.clock.now_utc_s += 30 * DAY_S
    robot.take()
    assert robot.moved == STEADY_CLIPS + 1
    tentative = TentativePeople(robot.store, MediaFiles(tmp_path), days=-1.0, limit=1000)
    assert tentative.after_clip(EVERY_CLIPS, robot.live.span(robot.taken, CLIP_S)) == []


def test_the_monotonic_start_stands_in_the_key() -> None:
    assert monotonic_start_s("live:abc-d:12.345/30s#2", 60.0) == pytest.approx(72.345)
    assert monotonic_start_s("0f" * 32 + "@0.000/30s#2", 60.0) is None
    clock = SystemClock()
    assert is_believable(clock.utc_s()) and clock.monotonic_s() >= time.monotonic() - 1.0 and boot_id()


def _killed(directory: Path, after_s: float) -> None:
    """Let a process date clips to and fro, and kill it (-9) after so long."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.clock_script", str(directory)], cwd=ROOT, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        time.sleep(after_s)
        process.kill()


def _clips_of_a_boot(directory: Path) -> None:
    robot = Robot(directory)
    for _ in range(CLIPS):
        robot.take()
    with robot.store.transaction():
        robot.store.redate_clips(
            {clip.id: clip.start_utc_s + SHIFT_S for clip in robot.store.clips_by_key(live_prefix(BOOT))}, 0.0
        )
    robot.store.close()


def _after_kills(directory: Path, times: int) -> None:
    _clips_of_a_boot(directory)
    rng, steps = Random(11), 0
    for _ in range(times):
        _killed(directory, rng.uniform(0.1, 0.6))
        with MemoryStore.open(directory, SPACES) as store:
            (first,) = {clip.start_utc_s // SHIFT_S for clip in store.clips_by_key(live_prefix(BOOT))}
            assert store.check() == [] and store.last_clip_before_step() == CLIPS + 1
        bounds = (first * SHIFT_S, first * SHIFT_S + 1e6)
        assert faults(directory / "memory.db", bounds) == []
        with closing(sqlite3.connect(directory / "memory.db")) as connection:
            steps = connection.execute("SELECT count(*) FROM clock_steps").fetchone()[0]
    assert steps > times, "the process was killed before it did anything"


def test_killed_while_it_dates_clips_all_are_dated_or_none(tmp_path: Path) -> None:
    _after_kills(tmp_path, 3)


@pytest.mark.soak
def test_killed_thirty_times_while_it_dates_clips(tmp_path: Path) -> None:
    _after_kills(tmp_path, 30)
