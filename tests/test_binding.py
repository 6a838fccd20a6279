"""Which face and voice are one person: votes, margins, fading, and what is stronger than votes."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
import sqlite_utils

from memory_store.migrations import migrations
from memory_store.records import VectorSpace
from memory_store.store import MemoryStore
from runtime.binding import MODEL_VOTE, Binder, Meeting, VoteRule
from tests.binding_script import add_clip, add_known

DAY_S = 86400.0


class Votes:
    """Faces and voices a, b, c, each of a person of its own, and clips in which some are met."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.binder = Binder(store, VoteRule(least=1.0, margin=2.0, half_life_days=30.0))
        self.number = 0
        with store.transaction():
            clip_id = add_clip(store, 0, 0.0)
            self.faces = {name: add_known(store, "face", clip_id) for name in "abc"}
            self.voices = {name: add_known(store, "voice", clip_id) for name in "abc"}

    def meet(self, *pairs: str, day: float = 0.0, weight: float = 2.0) -> None:
        """One clip in which the face and the voice of each pair were met alone together."""
        self.number += 1
        now_s = day * DAY_S + self.number
        with self.store.transaction():
            clip_id = add_clip(self.store, self.number, now_s)
            met = [Meeting(self.faces[face], self.voices[voice], weight) for face, voice in pairs]
            self.binder.vote(clip_id, now_s, met)

    def face_of(self, voice: str) -> str:
        """The faces of the person who has the voice."""
        person = self.store.person_of(self.voices[voice])
        assert person is not None
        return "".join(name for name, face in self.faces.items() if face in person.face_ids)


@pytest.fixture
def votes(tmp_path: Path) -> Iterator[Votes]:
    with MemoryStore.open(tmp_path, [VectorSpace("face", 4, "f")], clock=lambda: 0.0) as store:
        yield Votes(store)


def test_a_face_and_a_voice_met_together_are_one_person(votes: Votes) -> None:
    votes.meet("aa")
    assert votes.face_of("a") == "a"
    assert len(votes.store.people()) == 5, "their two tentative people became one"


def test_a_tie_binds_nobody(votes: Votes) -> None:
    votes.meet("aa", "ba")
    assert votes.face_of("a") == ""


def test_the_lead_must_have_the_margin(votes: Votes) -> None:
    votes.meet("aa", "ba")
    votes.meet("aa", weight=1.0)
    assert votes.face_of("a") == "", "3 to 2"
    votes.meet("aa", weight=1.0)
    assert votes.face_of("a") == "a", "4 to 2"


def test_a_clip_votes_once_with_its_strongest_meeting(votes: Votes) -> None:
    with votes.store.transaction():
        clip_id = add_clip(votes.store, 1, 1.0)
        pair = votes.faces["a"], votes.voices["a"]
        votes.binder.vote(clip_id, 1.0, [Meeting(*pair, 1.0), Meeting(*pair, 2.0), Meeting(*pair, 1.0)])
    assert votes.store.votes() == {pair: 2.0}


def test_an_off_screen_voice_is_not_given_to_a_person_who_has_one(votes: Votes) -> None:
    votes.meet("aa")
    votes.meet("ab")  # b speaks off-screen while a listens
    assert votes.face_of("b") == "" and votes.face_of("a") == "a"


def test_a_wrong_first_binding_is_undone_when_the_right_voice_is_met_more(votes: Votes) -> None:
    votes.meet("ab")
    assert votes.face_of("b") == "a"
    votes.meet("aa")
    votes.meet("aa")
    assert votes.face_of("a") == "a" and votes.face_of("b") == ""


def test_a_lost_lead_is_undone_and_a_won_one_moves_with_history(votes: Votes) -> None:
    votes.meet("ac")
    votes.meet("cc")
    assert votes.face_of("c") == "a", "a tie undoes nothing"
    votes.meet("cc", weight=1.0)
    assert votes.face_of("c") == "", "another is ahead, though not by the margin"
    votes.meet("cc", weight=1.0)
    assert votes.face_of("c") == "c"
    person = votes.store.person_of(votes.voices["c"])
    assert person is not None and not person.tentative
    actions = [row["action"] for one in votes.store.people() for row in votes.store.person_history(one.id)]
    assert "bind" in actions and "merge" in actions
    assert votes.store.check() == []


def test_a_wrong_binding_fades(votes: Votes) -> None:
    for _ in range(8):
        votes.meet("aa")
    votes.meet("ba", day=0.0)
    votes.meet("ba", day=0.0)
    assert votes.face_of("a") == "a"
    votes.meet("ba", day=90.0)  # the old 16 count 2 now, the old 4 a half
    votes.meet("ba", day=90.0)
    assert votes.face_of("a") == "b"


def test_age_alone_undoes_nothing(votes: Votes) -> None:
    votes.meet("aa")
    votes.meet("bb", day=3650.0)
    assert votes.face_of("a") == "a" and votes.face_of("b") == "b"


def test_faded_votes_are_summed_by_day_and_partner(votes: Votes) -> None:
    votes.meet("aa", "ba")
    votes.meet("aa", day=30.0)
    face, other, voice = votes.faces["a"], votes.faces["b"], votes.voices["a"]
    assert votes.store.votes_of(voice, 30 * DAY_S, 30 * DAY_S) == pytest.approx({face: 3.0, other: 1.0})
    assert votes.store.votes_of(face, 30 * DAY_S, 30 * DAY_S) == pytest.approx({voice: 3.0})
    assert votes.store.votes_of(voice, 0.0, 30 * DAY_S) == pytest.approx({face: 4.0, other: 2.0})


def test_what_a_resident_bound_never_moves(votes: Votes) -> None:
    person = votes.store.person_of(votes.faces["a"])
    assert person is not None
    with votes.store.transaction():
        votes.store.bind(person.id, votes.voices["a"], source="resident")
    for _ in range(5):
        votes.meet("ba")
    assert votes.face_of("a") == "a"


def test_known_strangers_are_never_bound_and_do_not_count(votes: Votes) -> None:
    with votes.store.transaction():
        votes.store.add_edge(votes.faces["a"], votes.voices["a"], "cannot_link", detail="resident")
    votes.meet("aa")
    votes.meet("aa")
    assert votes.face_of("a") == ""
    votes.meet("ba")
    assert votes.face_of("a") == "b"


def test_a_conflict_between_other_faces_stops_a_binding_and_nothing_else(votes: Votes) -> None:
    with votes.store.transaction():
        person = votes.store.person_of(votes.voices["a"])
        assert person is not None
        votes.store.bind(person.id, votes.voices["b"])
        votes.store.add_edge(votes.faces["a"], votes.voices["b"], "cannot_link", detail="resident")
    votes.meet("aa", "cc")
    assert votes.face_of("a") == "" and votes.face_of("c") == "c"


def test_a_named_voice_keeps_its_person_when_a_face_joins(votes: Votes) -> None:
    person = votes.store.person_of(votes.voices["a"])
    assert person is not None
    with votes.store.transaction():
        votes.store.name_person(person.id, "Anna")
    votes.meet("aa")
    joined = votes.store.person_of(votes.faces["a"])
    assert joined is not None and (joined.id, joined.name) == (person.id, "Anna")


def test_twenty_processes_agree() -> None:
    def run(seed: int) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
        done = subprocess.run(
            [sys.executable, "-m", "tests.binding_script"],
            env=environment, capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        return done.stdout

    with ThreadPoolExecutor(2) as pool:
        found = set(pool.map(run, range(20)))
    assert len(found) == 1
    assert found.pop().count("(") > 4


def test_votes_never_join_two_who_are_known_by_different_names(votes: Votes) -> None:
    face, voice = votes.store.person_of(votes.faces["a"]), votes.store.person_of(votes.voices["a"])
    assert face is not None and voice is not None
    with votes.store.transaction():
        votes.store.name_person(face.id, "Anna")
        votes.store.name_person(voice.id, "Leo")
    votes.meet("aa")
    assert votes.face_of("a") == ""
    assert {person.name for person in votes.store.people()} >= {"Anna", "Leo"}


def test_old_votes_are_summed_when_the_schema_grows(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(sqlite3.connect(path)) as connection:
        migrations.apply(sqlite_utils.Database(connection), stop_before="m003_vote_days")
        connection.execute("PRAGMA foreign_keys = OFF")
        for number, start_s in ((1, 10.0), (2, 20.0), (3, 2 * DAY_S)):
            connection.execute(
                f"INSERT INTO clips VALUES ({number}, 'k{number}', '', '', 0, 0, ?, ?, 1, '', 1, 1, 0, 0, 'grounded')",
                (start_s, start_s),
            )
            connection.execute("INSERT INTO votes VALUES (7, 8, ?, 1.5)", (number,))
        connection.commit()
        migrations.apply(sqlite_utils.Database(connection))
        sums = "SELECT day, weight, votes FROM vote_days ORDER BY day"
        assert connection.execute(sums).fetchall() == [(0, 3.0, 2), (2, 1.5, 1)]
        connection.execute("UPDATE clips SET start_utc_s = ? WHERE id = 1", (5 * DAY_S,))
        assert connection.execute(sums).fetchall() == [(0, 1.5, 1), (2, 1.5, 1), (5, 1.5, 1)]
        connection.execute("DELETE FROM votes WHERE clip_id IN (1, 2)")
        assert connection.execute(sums).fetchall() == [(2, 1.5, 1)]


def test_the_word_of_a_language_model_alone_binds_and_releases_nobody(votes: Votes) -> None:
    for _ in range(40):
        with votes.store.transaction():
            votes.number += 1
            clip_id = add_clip(votes.store, votes.number, float(votes.number))
            votes.store.add_vote(votes.faces["b"], votes.voices["a"], clip_id, MODEL_VOTE)
    votes.meet("aa", weight=1.0)
    assert votes.face_of("a") == ""
    votes.meet("aa", weight=2.0)
    votes.meet("ba", weight=1.0)
    assert votes.face_of("a") == "b"


@pytest.mark.parametrize(("said", "owner"), [(0, ""), (4, "b")])
def test_the_word_of_a_language_model_counts_beside_what_was_met(votes: Votes, said: int, owner: str) -> None:
    votes.meet("aa", weight=1.5)
    votes.meet("ba", weight=1.0)
    for _ in range(said):
        with votes.store.transaction():
            votes.number += 1
            clip_id = add_clip(votes.store, votes.number, float(votes.number))
            votes.store.add_vote(votes.faces["b"], votes.voices["a"], clip_id, MODEL_VOTE)
    votes.meet("ba", weight=1.0)
    assert votes.face_of("a") == owner
