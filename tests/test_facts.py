"""Facts learned from memorized clips and a model's lines, and answers from them without any language model."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memory_store.records import Person, VectorSpace
from memory_store.store import MemoryStore
from runtime.control import Control
from runtime.fact_answers import answer_from_facts
from runtime.facts import FactLearner
from runtime.forget import forget_person
from runtime.grounded import GroundedLine
from runtime.media_files import MediaFiles
from runtime.question import read_question
from runtime.recall import Recall
from runtime.say import Speech
from tests.corrected_memory import check_whole, state
from tests.household import NOW, ZONE, embed_words
from tests.identified_clips import START_UTC_S, open_store, track
from tests.memorized_clips import Home, embed, says
from tests.vectors import axis

ANNA, LEO = axis(0), axis(1)
ANNAS_VOICE, LEOS_VOICE = axis(0, 192), axis(1, 192)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with open_store(tmp_path) as store:
        yield Home(store, tmp_path)


def _facts(store: MemoryStore) -> list[str]:
    return [node.text for node in store.nodes(kinds=["semantic"])]


def _anna(home: Home) -> Person:
    """Anna, seen and heard once."""
    home.clip(0, [track(ANNA, 0.0, 20.0)], [says("Good morning everybody.", ANNAS_VOICE, 1.0, 5.0)])
    (person,) = home.store.people()
    with home.store.transaction():
        home.store.name_person(person.id, "Anna")
    return home.store.person(person.id)


def ask(store: MemoryStore, question: str) -> tuple[str, list[str]]:
    """The answer and the memories under it, without a language model."""
    control = Control(
        Recall(store, lambda texts: embed(texts)), None, clock=lambda: START_UTC_S + 3600.0, zone=ZONE
    )
    answer = control.answer(question)
    return answer.text, [item.line for item in answer.evidence]


def test_what_somebody_says_of_themselves_is_a_fact_about_them(home: Home, tmp_path: Path) -> None:
    anna = _anna(home)
    home.clip(1, [track(ANNA, 0.0, 20.0)], [says("I like tea, and I'm allergic to nuts.", ANNAS_VOICE)])
    (voice,) = home.store.person(anna.id).voice_ids
    assert _facts(home.store) == [f"<voice_{voice}> likes tea.", f"<voice_{voice}> is allergic to nuts."]
    likes, allergic = home.store.beliefs(anna.id)
    assert likes.line_ids == allergic.line_ids
    (line,) = {home.store.node(line_id).text for line_id in likes.line_ids}
    assert "I like tea" in line
    kinds = {edge.relation for edge in home.store.edges(likes.node_ids[0])}
    assert kinds == {"mentions", "entity_link", "derived_from"}
    before = state(tmp_path)
    assert home.clip(1, [track(ANNA, 0.0, 20.0)], [says("I like tea.", ANNAS_VOICE)]) is None
    assert state(tmp_path) == before
    home.clip(2, [track(ANNA, 0.0, 20.0)], [says("I like tea. I like tea!", ANNAS_VOICE)])
    assert home.store.node(likes.node_ids[0]).weight == 2.0
    check_whole(home.store, tmp_path)


def test_nobody_known_a_screen_and_two_at_once_tell_no_facts(home: Home) -> None:
    anna = _anna(home)
    (voice,) = anna.voice_ids
    (heard,) = [one for one in home.store.nodes(kinds=["episodic"]) if one.provenance["event"] == "heard"]
    told = {"said": "I like tea.", "attributed_by": "voice", "confidence": 0.9, "speech_source": "room"}
    line = GroundedLine("heard", "", "", 0.0, 1.0, (voice,), told)
    learner = FactLearner(home.store, embed, 0.9)
    no_facts: list[dict[str, object]] = [
        {"speech_source": "screen"}, {"speech_source": "open"}, {"overlapped": True}, {"attributed_by": "nothing"},
        {"confidence": 0.1},
    ]  # fmt: skip
    with home.store.transaction():
        for change in no_facts:
            assert learner.learn([(heard.id, replace(line, provenance={**told, **change}))]) == 0, change
        assert learner.learn([(heard.id, replace(line, actors=()))]) == 0
        assert learner.learn([(heard.id, replace(line, event="seen"))]) == 0
        assert _facts(home.store) == []
        home.store.set_consent(anna.id, "do_not_remember")
        assert learner.learn([(heard.id, line)]) == 0
        home.store.set_consent(anna.id, "resident")
        assert learner.learn([(heard.id, line)]) == 1
        assert learner.learn([(heard.id, line)]) == 0, "the same line again"
    assert len(_facts(home.store)) == 1


def test_what_is_said_of_others_counts_only_of_people_known_by_name(home: Home) -> None:
    anna = _anna(home)
    home.clip(1, [track(LEO, 0.0, 20.0)], [says("Anna likes tea. Karl likes coffee.", LEOS_VOICE)])
    (fact,) = _facts(home.store)
    assert "says that Anna likes tea." in fact
    (belief,) = home.store.beliefs(anna.id, names=["Anna"])
    assert belief.hearsay
    text, _ = ask(home.store, "What does Anna like?")
    assert text.startswith("Anna likes tea, as I heard from others (")


def test_a_change_is_told_as_one(home: Home) -> None:
    _anna(home)
    home.clip(1, [track(ANNA, 0.0, 20.0)], [says("I like tea.", ANNAS_VOICE)])
    home.clip(2, [track(ANNA, 0.0, 20.0)], [says("I used to like tea, now I drink coffee.", ANNAS_VOICE)])
    text, evidence = ask(home.store, "What does Anna drink?")
    assert text.startswith("Anna drinks coffee (") and ") . " not in text
    assert "Anna used to like tea (" in text and "Anna likes tea" not in text
    assert evidence[0] == 'Anna says: "I used to like tea, now I drink coffee."'
    assert 'Anna says: "I like tea."' in evidence
    text, _ = ask(home.store, "Does Anna like tea?")
    assert text.startswith("Not any more: Anna used to like tea (")
    assert ask(home.store, "Does Anna drink coffee?")[0].startswith("Yes: Anna drinks coffee (")
    chinese, _ = ask(home.store, "Anna喝什么？")
    assert chinese.startswith("Anna喝coffee（") and "Anna以前喜欢tea（" in chinese


def test_what_was_so_once_can_be_asked_for(home: Home) -> None:
    _anna(home)
    home.clip(1, [track(ANNA, 0.0, 20.0)], [says("I used to drink beer.", ANNAS_VOICE)])
    for question, answer in (
        ("What did Anna use to drink?", "Anna used to drink beer ("),
        ("Anna以前喝什么？", "Anna以前喝beer（"),
    ):
        assert ask(home.store, question)[0].startswith(answer)


def test_a_fact_is_not_quoted_beside_the_sentence_it_was_read_from(home: Home) -> None:
    _anna(home)
    home.clip(1, [track(ANNA, 0.0, 20.0)], [says("I like tea.", ANNAS_VOICE)])
    _, evidence = ask(home.store, "Who likes tea?")
    assert 'Anna says: "I like tea."' in evidence and "Anna likes tea." not in evidence


def test_the_graph_holds_every_kind_of_edge_that_code_alone_writes(home: Home) -> None:
    _anna(home)
    home.clip(1, [track(ANNA, 0.0, 20.0), track(LEO, 0.0, 20.0)], [says("I like tea.", ANNAS_VOICE)])
    home.clip(2, [track(ANNA, 0.0, 20.0)], [says("I don't like tea.", ANNAS_VOICE)])
    store = home.store
    edges = {edge for node in store.nodes() for edge in store.edges(node.id)}
    assert {edge.relation for edge in edges} == {
        "mentions", "entity_link", "derived_from", "semantic", "temporal", "cannot_link",
    }  # fmt: skip
    ids = {node.id for node in store.nodes()}
    assert all(edge.source in ids and edge.target in ids for edge in edges)


def test_where_somebody_lives_now_and_lived_before(home: Home) -> None:
    _anna(home)
    home.clip(1, [track(ANNA, 0.0, 20.0)], [says("I live in Berlin.", ANNAS_VOICE)])
    home.clip(2, [track(ANNA, 0.0, 20.0)], [says("We moved to Munich.", ANNAS_VOICE)])
    text, evidence = ask(home.store, "Where does Anna live now?")
    assert text.startswith("Anna lives in Munich (")
    assert "Earlier I heard: Anna lives in Berlin (" in text
    assert len(evidence) == 2


@pytest.mark.parametrize(
    ("said", "question", "answer"),
    [
        ("I'm allergic to peanuts.", "What is Anna allergic to?", "Anna is allergic to peanuts ("),
        ("I'm allergic to peanuts.", "Is Anna allergic to peanuts?", "Yes: Anna is allergic to peanuts ("),
        ("I don't like peanuts.", "Does Anna like peanuts?", "No: Anna does not like peanuts ("),
        ("I'm a nurse.", "What does Anna do?", "Anna works as a nurse ("),
        (
            "My birthday is on the third of May.",
            "When is Anna's birthday?",
            "Anna's birthday is the third of May (",
        ),
        ("I have a dog named Max.", "Does Anna have a dog?", "Yes: Anna has a dog named Max ("),
        ("I have a dog named Max.", "What pets does Anna have?", "Anna has a dog named Max ("),
        (
            "My favourite colour is blue.",
            "What is Anna's favorite colour?",
            "Anna's favourite colour is blue (",
        ),
        ("My brother's name is Leo.", "Who is Anna's brother?", "Anna's brother is Leo ("),
        ("My brother lives in Rome.", "Where does Anna's brother live?", "Anna's brother lives in Rome ("),
        ("I play the piano.", "What instruments does Anna play?", "Anna plays the piano ("),
        ("I'm 34 years old.", "How old is Anna?", "Anna is 34 years old ("),
        ("I'm going to Rome in June.", "What are Anna's plans?", "Anna plans to go to Rome in June ("),
        ("I'm vegan.", "What do you know about Anna?", "Anna is vegan ("),
        ("我喜欢饺子。", "Anna喜欢什么？", "Anna喜欢饺子（"),
        ("我喜欢饺子。", "Anna喜欢饺子吗？", "是的：Anna喜欢饺子（"),
        ("我不喝咖啡了。", "Anna还喝咖啡吗？", "现在不了：Anna以前喝咖啡（"),
        ("我住在柏林。", "Anna住在哪里？", "Anna住在柏林（"),
        ("我在医院工作。", "Anna在哪里工作？", "Anna在医院工作（"),
        ("我是一名护士。", "Anna是做什么工作的？", "Anna的职业是护士（"),
        ("我对花生过敏。", "Anna对什么过敏？", "Anna对花生过敏（"),
        ("我的生日是五月三号。", "Anna的生日是哪天？", "Anna的生日是五月三号（"),
        ("我今年三十四岁。", "Anna多大了？", "Anna三十四岁（"),
        ("我最喜欢的颜色是蓝色。", "Anna最喜欢的颜色是什么？", "Anna的最喜欢的颜色是蓝色（"),
        ("我哥哥叫小明。", "Anna的哥哥叫什么名字？", "Anna的兄弟是小明（"),
        ("我养了一只猫。", "Anna有猫吗？", "是的：Anna有一只猫（"),
        ("我打算学游泳。", "Anna有什么打算？", "Anna打算学游泳（"),
    ],
)
def test_questions_are_answered_from_what_was_said(home: Home, said: str, question: str, answer: str) -> None:
    _anna(home)
    home.clip(1, [track(ANNA, 0.0, 20.0)], [says(said, ANNAS_VOICE)])
    text, evidence = ask(home.store, question)
    assert text.startswith(answer), text
    assert evidence == [f"Anna说：“{said}”" if "。" in said else f'Anna says: "{said}"']


@pytest.mark.parametrize(
    "question",
    [
        "What does Anna drink?", "Does Anna like coffee?", "When is Anna's birthday?", "Does Anna have a cat?",
        "Is Anna vegan?", "Where does Anna's brother live?", "What does Leo like?", "Anna喝什么？",
    ],
)  # fmt: skip
def test_what_nobody_told_is_not_made_up(home: Home, question: str) -> None:
    _anna(home)
    home.clip(1, [track(ANNA, 0.0, 20.0)], [says("I like skiing and I live in Rome.", ANNAS_VOICE)])
    text, _ = ask(home.store, question)
    assert not any(word in text.casefold() for word in ("yes:", "no:", "是的：", "anna likes skiing ("))


def test_facts_are_found_by_search_and_stand_in_the_timeline(home: Home) -> None:
    anna = _anna(home)
    home.clip(1, [track(ANNA, 0.0, 20.0)], [says("I like tea.", ANNAS_VOICE)])
    (hit, *_) = home.store.search_node(text="likes tea", kinds=["semantic"], person_id=anna.id)
    assert home.store.render(hit.node.text) == "Anna likes tea."
    rows = [row for row in home.store.timeline(person_id=anna.id) if row.kind == "noted"]
    assert [row.text for row in rows] == ["Anna likes tea."]


def test_a_models_fact_is_the_same_as_what_was_heard(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path, [VectorSpace("text", 64, "words")], clock=lambda: NOW) as store:
        with store.transaction():
            clip = store.add_clip(source_key="a", source_name="a", start_utc_s=0.0, end_utc_s=30.0)
            voice = store.add_node("voice", "", clip_id=clip, start_utc_s=0.0, end_utc_s=1.0)
            person = store.create_person()
            store.bind(person, voice)
            line = store.add_node(
                "episodic", f'<voice_{voice}> says: "I really do like green tea with my meals"', clip_id=clip,
                start_utc_s=1.0, end_utc_s=2.0, provenance={"source": "grounded", "event": "heard"},
            )  # fmt: skip
            store.add_edge(line, voice, "mentions", detail="actor")
            learner = FactLearner(store, embed_words, 0.9)
            heard = [store.node(line)]
            provenance = {"source": "model", "model": "m"}
            text = f"<voice_{voice}> likes green tea."
            first = learner.learn_from_model(heard, text, provenance)
            assert first is not None and first[1]
            assert learner.learn_from_model(heard, text, provenance) == (first[0], False)
            assert learner.learn_from_model(heard, f"<voice_{voice}> hates fish.", provenance) is None
            assert learner.learn_from_model(heard, f"<voice_{voice}> has a good day.", provenance) is None
            screen = store.node(line)
            screen = replace(screen, provenance={**screen.provenance, "speech_source": "screen"})
            assert learner.learn_from_model([screen], text, provenance) is None
        (belief,) = store.beliefs(person)
        assert (belief.triple.object, belief.line_ids) == ("green tea", (line,))
        node = store.node(first[0])
        assert (node.weight, node.provenance["source"], node.provenance["model"]) == (1.0, "model", "m")


def test_what_a_relative_said_is_asked_by_the_relation(home: Home) -> None:
    _anna(home)
    home.clip(1, [track(ANNA, 0.0, 20.0)], [says("My brother's name is Leo.", ANNAS_VOICE)])
    home.clip(2, [track(LEO, 0.0, 20.0)], [says("I found the blue scarf.", LEOS_VOICE)])
    assert "scarf" not in ask(home.store, "What did Anna's brother say?")[0], (
        "nobody is known by that name yet"
    )
    leo = next(person for person in home.store.people() if person.name is None)
    with home.store.transaction():
        home.store.name_person(leo.id, "Leo")
    text, _ = ask(home.store, "What did Anna's brother say?")
    assert text.startswith('Leo said: "I found the blue scarf."')


def test_who_is_whose_brother_is_told_from_either_side(home: Home) -> None:
    _anna(home)
    home.clip(1, [track(LEO, 0.0, 20.0)], [says("I'm Anna's brother. I work as a pilot.", LEOS_VOICE)])
    store = home.store
    leo = next(person for person in store.people() if person.name is None)
    with store.transaction():
        store.name_person(leo.id, "Leo")
    for asked in (
        "Who is Anna's brother?",
        "How are Leo and Anna related?",
        "Is Leo related to Anna?",
        "Is Leo Anna's brother?",
        "What is the relationship between Anna and Leo?",
    ):
        text, evidence = ask(store, asked)
        assert "Leo is Anna's brother" in text and len(evidence) == 1, asked
    assert "Leo是Anna的兄弟" in ask(store, "Leo和Anna是什么关系？")[0]
    for asked in ("What is the job of Anna's brother?", "What does the brother of Anna do?"):
        assert "pilot" in ask(store, asked)[0], asked


def test_how_people_are_related_is_only_told_where_it_was_said(home: Home) -> None:
    _anna(home)
    home.clip(1, [track(LEO, 0.0, 20.0)], [says("I'm not Anna's brother.", LEOS_VOICE)])
    with home.store.transaction():
        home.store.name_person(next(p for p in home.store.people() if p.name is None).id, "Leo")
    question = read_question(
        "How are Leo and Anna related?", home.store.people(), home.store.person_of, NOW, ZONE
    )
    assert answer_from_facts(home.store, question, Speech("en", ZONE, NOW)) is None


def test_forgetting_somebody_takes_along_whose_relative_they_were(home: Home, tmp_path: Path) -> None:
    anna = _anna(home)
    home.clip(1, [track(LEO, 0.0, 20.0)], [says("I'm Anna's brother. I like fish.", LEOS_VOICE)])
    leo = next(person for person in home.store.people() if person.name is None)
    assert len(home.store.beliefs(leo.id)) == 2
    forget_person(home.store, MediaFiles(tmp_path), anna.id)
    assert [belief.triple.words for belief in home.store.beliefs(leo.id)] == ["fish"]
    assert b"Anna" not in (tmp_path / "memory.db").read_bytes()
