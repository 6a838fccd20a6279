"""Whatever happens to a memory, in any order: nothing dangles, weights are their evidence, texts = rows = vectors."""

import sqlite3
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_store import MemoryStore, MemoryStoreError, Triple
from tests.corrected_memory import Met, correct, meet
from tests.memory_samples import SATURDAY_UTC_S, SPACES, add_clip, unit

CORRECTIONS = ("name", "merge", "code merge", "split", "lines", "line", "node", "undo")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            (
                "add",
                "add",
                "say",
                "fact",
                "fact",
                "reinforce",
                "meet",
                "trace",
                "forget",
                "restart",
                *CORRECTIONS,
            )
        ),
        st.integers(0, 30),
        st.integers(0, 30),
    ),
    min_size=6,
    max_size=14,
)


class Life:
    """A memory that lives through steps, and the lines about nobody, which only it may lose."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.store = self._opened()
        self.met: list[Met] = []
        self.about_nobody: dict[int, str] = {}
        self.forgotten: set[int] = set()
        self.clips = 0
        self.meet()

    def _opened(self) -> MemoryStore:
        return MemoryStore.open(self.directory, SPACES, clock=lambda: SATURDAY_UTC_S, exact_below=8)

    def clip(self) -> int:
        self.clips += 1
        return add_clip(self.store, self.clips)

    def meet(self) -> None:
        with self.store.transaction():
            self.met.append(meet(self.store, len(self.met) % 4, [self.clip(), self.clip()]))

    def step(self, action: str, one: int, other: int) -> None:
        if action == "restart":
            self._restart()
        elif action == "forget":
            people = self.store.people()
            if len(people) > 1:
                person = people[one % len(people)].id
                self.store.forget_person(person)
                self.forgotten.add(person)
        elif action == "meet":
            self.meet()
        else:
            with self.store.transaction():
                self._written(action, one, other)

    def _written(self, action: str, one: int, other: int) -> None:
        store = self.store
        if action == "add":
            word = f"zq{chr(ord('a') + self.clips % 26)}{chr(ord('a') + self.clips // 26)}ob"
            line = self._line(f"A {word} lies there.", self.clip())
            self.about_nobody[line] = word
        elif action in ("say", "fact"):
            voices = [node.id for node in store.nodes(kinds=["voice"])]
            if not voices:
                return
            voice, thing = voices[one % len(voices)], ("tea", "milk")[other % 2]
            line = self._line(f'<voice_{voice}> says: "Some {thing}."', self.clip())
            store.add_edge(line, voice, "mentions", detail="actor")
            if action == "fact":
                triple = Triple("likes", thing, 1 if other % 3 else -1)
                text = f"<voice_{voice}> likes {thing} ({triple.polarity})."
                store.add_fact(triple, text, line, subject_id=voice, vector=unit(other % 2), same=0.95)
        elif action == "reinforce":
            nodes = store.nodes(kinds=["episodic", "semantic"])
            clips = store.clips()
            store.reinforce(nodes[one % len(nodes)].id, clips[other % len(clips)].id)
        elif action == "trace":
            store.save_trace("Who was here?", "Somebody.", {"rounds": []})
        else:
            correct(store, tuple(self.met), action, one, other)

    def _line(self, text: str, clip_id: int) -> int:
        clip = self.store.clip(clip_id)
        return self.store.add_node(
            "episodic", text, clip_id=clip_id, start_utc_s=clip.start_utc_s, end_utc_s=clip.end_utc_s,
            provenance={"source": "grounded", "event": "heard", "said": text}, vectors={"text": unit(clip_id)},
        )  # fmt: skip

    def _restart(self) -> None:
        before = self._told()
        self.store.close()
        self.store = self._opened()
        assert self._told() == before

    def _told(self) -> list[object]:
        store = self.store
        people = store.people()
        beliefs = [store.beliefs(person.id) for person in people]
        hits = store.search_node(vector=unit(3), k=1000, threshold=-1.0)
        return [people, beliefs, store.nodes(), store.votes(), [hit.node.id for hit in hits]]

    def check(self) -> None:
        store = self.store
        assert store.verify() == []
        self._check_rows()
        for space in SPACES:
            held = {node.id for node in store.nodes() if store.vector(node.id, space.name) is not None}
            hits = store.search_node(
                vector=unit(1, space.dimension), space=space.name, k=1000, threshold=-1.0
            )
            assert {hit.node.id for hit in hits} == held
        for line, word in self.about_nobody.items():
            assert store.search_node(text=word)[0].node.id == line  # what was said around it comes after it
        for person in store.people():
            assert person.id not in self.forgotten
            current = [b.triple for b in store.beliefs(person.id) if b.current]
            assert len({(triple.relation, triple.object) for triple in current}) == len(current)

    def _check_rows(self) -> None:
        connection = sqlite3.connect(self.directory / "memory.db")
        weights = connection.execute(
            """SELECT n.weight, coalesce(sum(nc.weight), 0) FROM nodes n LEFT JOIN node_clips nc ON nc.node_id = n.id
            GROUP BY n.id"""
        ).fetchall()
        texts = connection.execute("SELECT id FROM nodes_fts_docsize ORDER BY id").fetchall()
        nodes = connection.execute("SELECT id FROM nodes ORDER BY id").fetchall()
        counted = dict(connection.execute("SELECT space, count FROM vector_counts WHERE count > 0"))
        stored = dict(connection.execute("SELECT space, count(*) FROM vectors GROUP BY space"))
        loose = connection.execute(
            """SELECT count(*) FROM node_clips WHERE clip_id NOT IN (SELECT id FROM clips)
            OR node_id NOT IN (SELECT id FROM nodes)"""
        ).fetchone()
        connection.close()
        assert all(np.isclose(weight, evidence) for weight, evidence in weights)
        assert (texts, counted, loose) == (nodes, stored, (0,))


@given(steps=STEPS)
@settings(max_examples=8, deadline=None)
def test_any_life_keeps_a_memory_whole(steps: list[tuple[str, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        life = Life(Path(name))
        for action, one, other in steps:
            with suppress(MemoryStoreError):  # refused: what was there must be as it was
                life.step(action, one, other)
            life.check()
        life.step("restart", 0, 0)
        life.check()
        life.store.close()
