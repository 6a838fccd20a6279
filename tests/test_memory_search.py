"""Search by words, vectors and exact filters."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_store import Hit, MemoryStore
from tests.memory_samples import SATURDAY_UTC_S, add_clip, add_face, add_line, add_voice, open_memory, unit


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with open_memory(tmp_path) as opened:
        yield opened


def texts(hits: list[Hit]) -> list[str]:
    return [hit.node.text for hit in hits]


def test_words_and_vectors_are_fused(store: MemoryStore) -> None:
    with store.transaction():
        clip_id = add_clip(store, 0)
        both = add_line(store, "the red kettle whistles", clip_id, seed=1)
        word = store.add_node(
            "episodic",
            "a red kettle",
            clip_id=clip_id,
            start_utc_s=1,
            end_utc_s=2,
            vectors={"text": -unit(1)},
        )
        vector = add_line(store, "rain on the window", clip_id, seed=3)
    query = unit(1) + 0.5 * unit(3)
    hits = {hit.node.id: hit for hit in store.search_node(text="Kettle?", vector=query, threshold=0.4)}
    assert hits[both].matched_by == ("vector", "text") and hits[vector].matched_by == ("vector",)
    assert hits[word].matched_by == ("text",)  # an exact word counts, however far its vector is
    cosine = -float(query @ unit(1)) / float((query @ query) ** 0.5)
    assert hits[word].similarity == pytest.approx(cosine, abs=1e-6) and cosine < 0.4
    assert next(iter(hits)) == both and hits[both].score > hits[vector].score
    (alone,) = store.search_node(vector=query, threshold=0.9 * (hits[both].similarity or 0.0), k=1)
    assert alone.node.id == both


def test_chinese_words_of_any_length(store: MemoryStore) -> None:
    with store.transaction():
        clip_id = add_clip(store, 0)
        for line in (
            "小明喜欢喝茶",
            "妈妈把红色的水壶放在厨房",
            "奶奶在花园里浇花",
            "the tv is on in latvia",
        ):
            add_line(store, line, clip_id)
    assert texts(store.search_node(text="红色的水壶")) == ["妈妈把红色的水壶放在厨房"]
    assert texts(store.search_node(text="谁喜欢喝茶？")) == ["小明喜欢喝茶"]
    assert texts(store.search_node(text="喝茶")) == ["小明喜欢喝茶"]
    assert texts(store.search_node(text="水壶在哪里")) == ["妈妈把红色的水壶放在厨房"]
    assert texts(store.search_node(text="花")) == ["奶奶在花园里浇花"]
    assert texts(store.search_node(text="TV")) == ["the tv is on in latvia"]
    assert (
        store.search_node(text="vi") == store.search_node(text="via") == store.search_node(text="咖啡") == []
    )


@pytest.mark.parametrize(
    "question",
    [
        '"',
        "'",
        "*",
        "a AND",
        "kettle OR",
        "NEAR(red kettle)",
        "text:kettle",
        "(",
        "^red -kettle",
        "%",
        "_",
        "\x00",
        "",
    ],
)
def test_a_question_is_never_query_syntax(store: MemoryStore, question: str) -> None:
    with store.transaction():
        add_line(store, "the red kettle", add_clip(store, 0))
    hits = store.search_node(text=question)
    assert bool(hits) == ("kettle" in question)


def test_a_name_finds_what_is_told_by_tag(store: MemoryStore) -> None:
    with store.transaction():
        clip_id = add_clip(store, 0)
        faces = [add_face(store, clip_id) for _ in range(11)]
        for face, name in ((faces[0], "Ann"), (faces[10], "小明")):
            person_id = store.create_person()
            store.bind(person_id, face)
            store.name_person(person_id, name)
        first = add_line(store, f"<face_{faces[0]}> reads", clip_id)
        second = add_line(store, f"<face_{faces[10]}> sings", clip_id)
    assert [hit.node.id for hit in store.search_node(text="What did Ann do?")] == [first]
    assert [hit.node.id for hit in store.search_node(text="小明做了什么")] == [second]
    assert store.search_node(text="Annual report") == []


def test_a_tag_is_found_as_a_whole_and_not_within_a_longer_one(store: MemoryStore) -> None:
    with store.transaction():
        clip_id = add_clip(store, 0)
        faces = [add_face(store, clip_id) for _ in range(12)]
        lines = {face: add_line(store, f"<face_{face}> sings", clip_id) for face in faces}
        quoted = add_line(store, '<voice_1> says: "<face_1 and face 12 and face_1>"', clip_id)
    assert faces[0] == 1 and faces[11] == 12
    for face in (1, 12):
        found = [hit.node.id for hit in store.search_node(text=f"<face_{face}>")]
        assert found == [lines[face]] and quoted not in found
    assert store.search_node(text="<face_123>") == store.search_node(text="<voice_12>") == []


def test_the_person_filter(store: MemoryStore) -> None:
    with store.transaction():
        clip_id = add_clip(store, 0)
        one, two, voice = add_face(store, clip_id), add_face(store, clip_id), add_voice(store, clip_id)
        anna, ben = store.create_person(), store.create_person()
        store.bind(anna, one)
        store.bind(anna, voice)
        store.bind(ben, two)
        told = add_line(store, f"<face_{one}> met <face_{two}>", clip_id, seed=1)
        heard = add_line(store, f"<voice_{voice}> said: hello", clip_id, seed=2)
        add_line(store, f"<face_{two}> left", clip_id, seed=3)
        add_line(store, "nobody", clip_id, seed=4)
        store.add_edge(one, two, "entity_link", detail="knows")
    assert {node.id for node in store.nodes(person_id=anna)} == {one, voice, told, heard}
    hits = store.search_node(vector=unit(3), person_id=anna, threshold=-1.0)
    assert {hit.node.id for hit in hits} == {told, heard}


def test_spans_are_half_open(store: MemoryStore) -> None:
    with store.transaction():
        line = add_line(store, "a kettle", add_clip(store, 0), seed=1)
    end = SATURDAY_UTC_S + 30.0
    assert store.search_node(text="kettle", after_utc_s=end) == []
    assert store.search_node(vector=unit(1), before_utc_s=SATURDAY_UTC_S) == []
    (hit,) = store.search_node(text="kettle", after_utc_s=end - 0.1, before_utc_s=end)
    assert hit.node.id == line


def test_a_fact_repeated_on_two_days_is_not_of_the_day_between(store: MemoryStore) -> None:
    with store.transaction():
        friday, sunday = add_clip(store, -2880), add_clip(store, 2880)
        line = add_line(store, "the kettle is red", friday)
        store.reinforce(line, sunday)
    day = {"after_utc_s": SATURDAY_UTC_S, "before_utc_s": SATURDAY_UTC_S + 3600.0}
    assert store.search_node(text="kettle", **day) == [] and store.nodes(**day) == []  # type: ignore[arg-type]
    (hit,) = store.search_clip(text="kettle", after_utc_s=SATURDAY_UTC_S)
    assert hit.clip.id == sunday
    assert [hit.clip.id for hit in store.search_clip(text="kettle")] == [sunday, friday]


def test_nothing_after_the_given_clip_leaks(store: MemoryStore) -> None:
    with store.transaction():
        late, early, middle = add_clip(store, 9), add_clip(store, 0), add_clip(store, 5)
        known = add_line(store, "the kettle is red", early)
        store.reinforce(known, late)
        backwards = add_line(store, "the kettle is old", late)
        store.reinforce(backwards, early)
        add_line(store, "the kettle broke", middle)
    hits = store.search_node(text="kettle", before_clip=middle)
    assert [(hit.node.id, hit.node.weight, hit.node.end_utc_s) for hit in hits] == [
        (known, 1.0, SATURDAY_UTC_S + 30)
    ]
    assert [hit.clip.id for hit in store.search_clip(text="kettle", before_clip=middle)] == [early]
    assert store.search_node(text="kettle", before_clip=early) == []
    assert store.node(known).weight == 2.0


def test_a_clip_is_found_by_its_best_node(store: MemoryStore) -> None:
    with store.transaction():
        clips = [add_clip(store, number) for number in range(3)]
        add_line(store, "the kettle", clips[0], seed=1)
        add_line(store, "the kettle again", clips[1], seed=2)
        add_line(store, "nothing", clips[2], seed=3)
    hits = store.search_clip(text="kettle", vector=unit(2), threshold=0.9)
    assert [hit.clip.id for hit in hits] == [clips[1], clips[0]]
    assert hits[0].score == hits[0].nodes[0].score
    assert [hit.clip.id for hit in store.search_clip(k=2)] == [clips[2], clips[1]]


def test_without_a_question_the_latest_come(store: MemoryStore) -> None:
    with store.transaction():
        for number in range(5):
            add_line(store, f"line {number}", add_clip(store, number))
    hits = store.search_node(k=2)
    assert texts(hits) == ["line 4", "line 3"] and hits[0].matched_by == ("filter",)
    assert [node.text for node in store.nodes(limit=2)] == ["line 3", "line 4"]
