"""Whatever is searched, nothing that violates a filter comes back, and nothing that passes is lost."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memory_store import MemoryStore, NodeKind
from memory_store.database import Database
from memory_store.filters import NodeFilter, passing
from memory_store.index import SpaceIndex
from memory_store.index_file import IndexFile
from tests.memory_samples import SATURDAY_UTC_S, SPACES, add_clip, unit

KINDS: tuple[NodeKind, ...] = ("episodic", "semantic", "object")


@dataclass(frozen=True)
class Line:
    """A node to be made: its kind, its clips in the order of writing, whom it mentions, and what of.

    thing: the class of object it is, or mentions; tied: whether an edge ties it to the place "Kitchen".
    """

    kind: NodeKind
    clips: tuple[int, ...]
    person: int | None
    thing: str | None
    tied: bool


LINES = st.lists(
    st.builds(
        Line,
        st.sampled_from(KINDS),
        st.lists(st.integers(0, 5), min_size=1, max_size=3, unique=True).map(tuple),
        st.one_of(st.none(), st.integers(0, 1)),
        st.sampled_from([None, "cup", "bottle"]),
        st.booleans(),
    ),
    min_size=1,
    max_size=25,
)
SECONDS = st.integers(-1, 13).map(lambda i: SATURDAY_UTC_S + 15.0 * i)
COLUMNS: dict[str, st.SearchStrategy[Any]] = {
    "kinds": st.lists(st.sampled_from(KINDS), max_size=2, unique=True),
    "person": st.integers(0, 1),
    "clip": st.integers(0, 5),
    "after": SECONDS,
    "before": SECONDS,
    "before_clip": st.integers(0, 5),
    "place": st.sampled_from(["kitchen", "hall", "attic"]),
    "thing": st.sampled_from(["cup", "bottle", "cu"]),
}
# Few columns at once: nothing would be left of many.
FILTERS = st.sets(st.sampled_from(sorted(COLUMNS)), max_size=3).flatmap(
    lambda chosen: st.fixed_dictionaries(
        {name: values if name in chosen else st.none() for name, values in COLUMNS.items()}
    )
)
PLACES = ("kitchen", "Hall", "", "Kitchen", "hall", "")  # where each clip was taken
# Clips are written in this order, so that ids and times disagree.
WRITING_ORDER = (3, 0, 5, 1, 4, 2)


def passes(line: Line, wanted: dict[str, Any]) -> bool:
    """The meaning of a filter, told a second time in plain Python."""

    def speaks(clip: int) -> bool:
        start, end = SATURDAY_UTC_S + 30.0 * clip, SATURDAY_UTC_S + 30.0 * clip + 30.0
        return (
            (wanted["clip"] is None or clip == wanted["clip"])
            and (wanted["after"] is None or end > wanted["after"])
            and (wanted["before"] is None or start < wanted["before"])
            and (wanted["before_clip"] is None or clip < wanted["before_clip"])
            and (
                wanted["place"] is None
                or PLACES[clip].lower() == wanted["place"]
                or (line.tied and wanted["place"] == "kitchen")
            )
        )

    return (
        (wanted["kinds"] is None or line.kind in wanted["kinds"])
        and (wanted["person"] is None or line.person == wanted["person"])
        and (wanted["thing"] is None or line.thing == wanted["thing"])
        and (wanted["before_clip"] is None or line.clips[0] < wanted["before_clip"])
        and any(speaks(clip) for clip in line.clips)
    )


@pytest.mark.parametrize("exact_below", [1000, 1], ids=["exact", "hnswlib"])
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(lines=LINES, wanted=FILTERS)
@example(  # begun long before the span that is asked for, and told of again within it
    lines=[Line("semantic", (0, 5), None, None, False)],
    wanted=dict.fromkeys(COLUMNS) | {"after": SATURDAY_UTC_S + 100.0},
)
@example(
    lines=[Line("semantic", (5, 0), None, None, False)],
    wanted=dict.fromkeys(COLUMNS) | {"before": SATURDAY_UTC_S + 100.0},
)
def test_filters_are_exact(exact_below: int, lines: list[Line], wanted: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        database = Database.open(Path(directory) / "memory.db")
        indexes = {
            space.name: SpaceIndex(
                database,
                space,
                IndexFile(Path(directory) / "index", space),
                exact_below=exact_below,
            )
            for space in SPACES
        }
        with MemoryStore(database, SPACES, indexes) as store:
            check_filters(store, lines, wanted)


def check_filters(store: MemoryStore, lines: list[Line], wanted: dict[str, Any]) -> None:
    with store.transaction():
        span: dict[str, Any] = {"clip_id": None, "start_utc_s": 0.0, "end_utc_s": 0.0}
        faces = [store.add_node("face", "", **span) for _ in range(2)]
        persons = [store.create_person() for _ in faces]
        for person_id, face in zip(persons, faces, strict=True):
            store.bind(person_id, face)
        clip_ids = {number: add_clip(store, number, place=PLACES[number]) for number in WRITING_ORDER}
        places = {"Kitchen": store.add_node("place", "Kitchen", **span)}
        things = {
            name: store.add_node("object", "", provenance={"class": name}, **span)
            for name in ("cup", "bottle")
        }
        targets = Targets(faces, places["Kitchen"], things)
        ids = [add(store, line, i, clip_ids, targets) for i, line in enumerate(lines)]
    arguments: dict[str, Any] = {
        "kinds": wanted["kinds"],
        "place": wanted["place"],
        "object_class": wanted["thing"],
        "person_id": None if wanted["person"] is None else persons[wanted["person"]],
        "clip_id": None if wanted["clip"] is None else clip_ids[wanted["clip"]],
        "after_utc_s": wanted["after"],
        "before_utc_s": wanted["before"],
        "before_clip": None if wanted["before_clip"] is None else clip_ids[wanted["before_clip"]],
    }
    expected = {node_id for node_id, line in zip(ids, lines, strict=True) if passes(line, wanted)}
    made = set(ids)  # the people, places and things that the lines are about pass some filters too
    assert {node.id for node in store.nodes(**arguments)} & made == expected
    # Where many nodes pass they are not listed, and candidates are looked at one by one.
    assert passing(ids, NodeFilter(**arguments), store._database, store._identity) == expected
    assert {hit.node.id for hit in store.search_node(text="kettle", k=99, **arguments)} == expected
    assert {hit.node.id for hit in store.search_node(text="红茶", k=99, **arguments)} == expected
    hits = store.search_node(vector=unit(0), k=99, threshold=-1.0, **arguments)
    assert {hit.node.id for hit in hits} == expected
    assert [hit.similarity for hit in hits] == sorted((hit.similarity or 0.0 for hit in hits), reverse=True)
    for clip_hit in store.search_clip(text="kettle", vector=unit(0), k=99, threshold=-1.0, **arguments):
        assert {hit.node.id for hit in clip_hit.nodes} <= expected
        assert wanted["before"] is None or clip_hit.clip.start_utc_s < wanted["before"]
        assert wanted["after"] is None or clip_hit.clip.end_utc_s > wanted["after"]


@dataclass(frozen=True)
class Targets:
    """The nodes that lines are tied to."""

    faces: list[int]
    kitchen: int
    things: dict[str, int]


def add(store: MemoryStore, line: Line, seed: int, clip_ids: dict[int, int], targets: Targets) -> int:
    first = store.clip(clip_ids[line.clips[0]])
    who = "" if line.person is None else f"<face_{targets.faces[line.person]}> "
    own_class = line.thing is not None and line.kind == "object"
    node_id = store.add_node(
        line.kind,
        f"{who}kettle 红茶",
        clip_id=first.id,
        start_utc_s=first.start_utc_s,
        end_utc_s=first.end_utc_s,
        vectors={"text": unit(seed)},
        provenance={"class": line.thing} if own_class else {},
    )
    if line.thing is not None and not own_class:
        store.add_edge(node_id, targets.things[line.thing], "mentions")
    if line.tied:
        store.add_edge(node_id, targets.kitchen, "entity_link", detail="at")
    for clip in line.clips[1:]:
        store.reinforce(node_id, clip_ids[clip])
    return node_id
