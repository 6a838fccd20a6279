"""What researchers turn off in the control loop: each switch leaves out its part and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_store.store import MemoryStore
from runtime.control import Control
from runtime.control_switches import ControlSwitches
from runtime.recall import Recall
from tests.household import NOW, ZONE, embed_words, open_household
from tests.identified_clips import START_UTC_S, open_store, track
from tests.memorized_clips import Home, embed, says
from tests.scripted_language import ScriptedLanguage
from tests.vectors import axis

UNKNOWN = "Reasoning: nothing.\n[Answer] I don't know."


@pytest.fixture
def household(tmp_path: Path) -> Iterator[MemoryStore]:
    with open_household(tmp_path) as store:
        yield store


@pytest.fixture
def anna(tmp_path: Path) -> Iterator[MemoryStore]:
    """Anna was seen while she said that she likes tea."""
    with open_store(tmp_path) as store:
        home = Home(store, tmp_path)
        home.clip(0, [track(axis(0), 0.0, 20.0)], [says("I like tea very much.", axis(0, 192), 1.0, 5.0)])
        (person,) = store.people()
        with store.transaction():
            store.name_person(person.id, "Anna")
        yield store


def ask_household(
    store: MemoryStore, question: str, language: ScriptedLanguage, switches: ControlSwitches
) -> list[str]:
    """What the model was shown in each round."""
    control = Control(
        Recall(store, embed_words),
        language,
        clock=lambda: NOW,
        zone=ZONE,
        max_rounds=3,
        switches=switches,
    )
    control.answer(question)
    return [call.messages[-1].content for call in language.calls]


def about_anna(store: MemoryStore, switches: ControlSwitches) -> Control:
    recall = Recall(store, lambda texts: embed(texts))
    return Control(recall, None, clock=lambda: START_UTC_S + 3600.0, zone=ZONE, switches=switches)


def test_without_round_zero_the_model_begins_with_nothing_and_code_answers_nothing(
    household: MemoryStore,
) -> None:
    plain = "Who said the washing machine is leaking?"
    assert ask_household(household, plain, ScriptedLanguage([]), ControlSwitches()) == []
    language = ScriptedLanguage(["Reasoning: nothing yet.\n[Search] washing machine", UNKNOWN])
    first, second = ask_household(household, plain, language, ControlSwitches(round_zero=False))
    assert "(none)" in first and "leaking" in second
    language = ScriptedLanguage(["Reasoning: nothing yet.\n[Search] what Bob said yesterday", UNKNOWN])
    _, found = ask_household(
        household, "What did Bob say yesterday?", language, ControlSwitches(round_zero=False)
    )
    assert "today at" in found, "no time of the question filters a search"


def test_without_reasoning_neither_grammar_nor_examples_have_a_line_of_it(household: MemoryStore) -> None:
    for question in ("Who has the drill?", "谁有电钻？"):
        with_it, without = ScriptedLanguage([UNKNOWN]), ScriptedLanguage(["[Answer] I don't know."])
        ask_household(household, question, with_it, ControlSwitches())
        ask_household(household, question, without, ControlSwitches(reasoning=False))
        told = ["\n".join(message.content for message in one.calls[0].messages) for one in (with_it, without)]
        grammars = [one.calls[0].grammar or "" for one in (with_it, without)]
        for word in ("Reasoning", "reasoning", "思考"):
            assert word not in told[1] and word not in grammars[1]
        assert ("Reasoning: " if question.isascii() else "思考：") in grammars[0]
        assert told[1].count("[Answer]") == told[0].count("[Answer]"), "the examples are all there"
    assert "root ::= action\n" in grammars[1]


def test_without_reasoning_an_answer_is_still_read(household: MemoryStore) -> None:
    language = ScriptedLanguage(["[Answer] Bob lent the drill to the neighbour Karl. (memory 1)"])
    control = Control(
        Recall(household, embed_words),
        language,
        clock=lambda: NOW,
        zone=ZONE,
        switches=ControlSwitches(reasoning=False),
    )
    answer = control.answer("Who has the drill?")
    assert answer.text == "Bob lent the drill to the neighbour Karl." and answer.rounds[0].reasoning == ""


def test_without_the_instruction_no_round_is_told_what_to_write(household: MemoryStore) -> None:
    search = ["Reasoning: no.\n[Search] zebra", "Reasoning: no.\n[Search] zebra", UNKNOWN]
    on, off = ScriptedLanguage(search), ScriptedLanguage(search)
    question = "What colour is the zebra?"
    prompts = ask_household(household, question, on, ControlSwitches())
    assert all("rite [Answer]" in prompt for prompt in prompts) and "last round" in prompts[2]
    prompts = ask_household(household, question, off, ControlSwitches(instruction=False))
    whole = "\n".join(message.content for call in off.calls for message in call.messages[1:])
    assert len(prompts) == 3 and "rite [Answer]" not in whole and "last round" not in whole
    assert "You already searched for" in prompts[2], "what came of a search is still told"
    assert "[Search]" not in (off.calls[2].grammar or ""), "the last round must answer all the same"


def test_without_semantic_memory_no_conclusion_is_found_or_answered_from(anna: MemoryStore) -> None:
    whole, without = about_anna(anna, ControlSwitches()), about_anna(anna, ControlSwitches(semantic=False))
    assert "Anna likes tea" in whole.answer("What does Anna like?").text
    answer = without.answer("What does Anna like?")
    assert answer.method != "computed" and "likes tea" not in answer.text
    with anna.transaction():
        line = "Green tea calms people."
        anna.add_node(
            "semantic",
            line,
            clip_id=1,
            start_utc_s=START_UTC_S,
            end_utc_s=START_UTC_S,
            vectors={"text": embed([line])[0]},
        )
    assert line in whole.answer("What calms people?").text
    assert line not in without.answer("What calms people?").text


def test_without_equivalences_a_voice_and_a_face_are_two_people(anna: MemoryStore) -> None:
    (person,) = anna.people()
    assert person.face_ids and person.voice_ids
    whole, without = (
        about_anna(anna, ControlSwitches()),
        about_anna(anna, ControlSwitches(equivalences=False)),
    )
    assert whole.answer("When did you last see Anna?").text.startswith("I last saw Anna")
    assert "do not remember ever seeing Anna" in without.answer("When did you last see Anna?").text
    assert without.answer("When did you last hear Anna speak?").text.startswith("I last heard Anna")
    assert len(anna.traces()) == 3 and anna.people() == [person], "asked of a copy, told in the memory itself"
    apart = anna.apart().people()
    assert sorted((one.name, one.face_ids, one.voice_ids) for one in apart if one.name) == [
        ("Anna", (), person.voice_ids)
    ]
    assert {(one.face_ids, one.voice_ids) for one in apart if not one.name} == {(person.face_ids, ())}
    assert anna.apart().votes() == {} and anna.votes() != {}


def test_the_copy_without_equivalences_follows_the_memory(anna: MemoryStore) -> None:
    (person,) = anna.people()
    assert {one.name for one in anna.apart().people()} == {"Anna", None}
    with anna.transaction():
        anna.name_person(person.id, "Zoe")
    assert {one.name for one in anna.apart().people()} == {"Zoe", None}
