"""Ways to answer that benchmarks compare: what each shows the model, how it ends, and what it counts."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from memory_store.store import MemoryStore
from models.language import Message
from offline_tools.bench.answer_methods import Answered, OneShot, Robot, Setting, shortened
from offline_tools.bench.reference_loop import ReferenceLoop
from runtime.control import Control
from runtime.recall import Recall
from tests.household import NOW, ZONE, embed_words, open_household
from tests.scripted_language import ScriptedLanguage

QUESTION = "Who has the drill now?"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with open_household(tmp_path) as store:
        yield store


def setting(store: MemoryStore, language: ScriptedLanguage) -> Setting:
    return Setting(store, embed_words, language, clock=lambda: NOW, zone=ZONE)


def searching(*replies: str) -> Callable[[Sequence[Message]], str]:
    left = iter(replies)
    return lambda messages: next(left)


def test_the_robots_own_answer_is_told_with_its_cost(store: MemoryStore) -> None:
    language = ScriptedLanguage(["Reasoning: no.\n[Search] drill", "Reasoning: no.\n[Answer] I don't know."])
    control = Control(Recall(store, embed_words), language, clock=lambda: NOW, zone=ZONE)
    answered = Robot(control).answer(QUESTION)
    assert answered.model_calls == 2 and len(answered.prompts) == 2 and answered.abstained
    assert answered.prompt_tokens > answered.cached_tokens > 0 and answered.generated_tokens > 0
    assert set(answered.evidence) <= set(answered.found)


def test_one_shot_shows_the_nearest_lines_the_nearest_last_and_takes_what_comes(store: MemoryStore) -> None:
    language = ScriptedLanguage(["The neighbour Karl has the drill."])
    answered = OneShot(setting(store, language), memories=3).answer(QUESTION)
    assert answered.text == "The neighbour Karl has the drill." and not answered.abstained
    prompt = language.calls[0].messages[-1].content.splitlines()
    assert prompt[3] == 'today at 10:30, Bob says: "I lent the drill to our neighbour Karl."'
    assert prompt[4] == f"Question: {QUESTION}" and len(answered.evidence) == 3
    assert answered.model_calls == 1 and answered.prompt_tokens > 0


def test_one_shot_leaves_out_what_does_not_fit(store: MemoryStore) -> None:
    language = ScriptedLanguage(["I don't know."], context_tokens=500)
    answered = OneShot(setting(store, language)).answer(QUESTION)
    assert answered.abstained and 0 < len(answered.evidence) < 8
    assert "Karl" in language.calls[0].messages[-1].content, "the nearest stays"


def test_the_reference_begins_with_nothing_and_searches_two_clips_at_a_time(store: MemoryStore) -> None:
    search = "Reasoning: nothing yet.\nAction: [Search]\nContent: drill neighbour"
    answer = "Reasoning: there it is.\nAction: [Answer]\nContent: Karl has it."
    language = ScriptedLanguage(searching(search, search, answer))
    answered = ReferenceLoop(setting(store, language), threshold=-1.0).answer(QUESTION)
    assert answered.text == "Karl has it." and answered.model_calls == 3
    first, second, third = ([message.content for message in call.messages[5:]] for call in language.calls)
    assert first[0].startswith(f"Question: {QUESTION}\nSearched knowledge: {{}}")
    assert "I lent the drill to our neighbour Karl." in second[2] and second[2].count("CLIP_") == 2
    assert third[:3] == second and third[4].count("CLIP_") == 2
    assert not set(_clips(second[2])) & set(_clips(third[4])), "what was given is not given again"
    assert all(QUESTION in user and "[Answer] or [Search]" in user for user in third[::2])
    assert ["[Answer]" in (call.grammar or "") for call in language.calls] == [False, True, True]


def _clips(text: str) -> list[str]:
    return [part.split('"')[0] for part in text.split('"CLIP_')[1:]]


def test_the_reference_must_answer_in_its_last_round_and_says_when_nothing_is_found(
    store: MemoryStore,
) -> None:
    lost = "Reasoning: nothing.\nAction: [Search]\nContent: zzz"
    language = ScriptedLanguage(lambda messages: lost)
    answered = ReferenceLoop(setting(store, language), threshold=1.1).answer(QUESTION)
    assert (answered.text, answered.abstained, answered.model_calls) == ("", True, 5)
    assert "from another perspective" in language.calls[1].messages[-1].content
    assert "must be [Answer]" in language.calls[4].messages[-1].content
    assert [("[Search]" in (call.grammar or "")) for call in language.calls] == [True] * 4 + [False]


def test_the_reference_drops_its_oldest_finds_where_the_context_is_full(store: MemoryStore) -> None:
    search = "Reasoning: nothing yet.\nAction: [Search]\nContent: drill neighbour"
    language = ScriptedLanguage(lambda messages: search, context_tokens=1000)
    ReferenceLoop(setting(store, language), threshold=-1.0).answer(QUESTION)
    last = language.calls[-1]
    assert language.count_tokens(last.messages) + last.max_tokens <= 1000
    assert QUESTION in last.messages[-1].content and last.messages[-1].content.count("CLIP_") == 2


def test_chinese_questions_are_asked_in_chinese(store: MemoryStore) -> None:
    language = ScriptedLanguage(["我不知道。", "思考：有。\nAction: [Answer]\nContent: 饺子"])
    assert OneShot(setting(store, language)).answer("晚饭吃什么？").abstained
    answered = ReferenceLoop(setting(store, language)).answer("晚饭吃什么？")
    assert answered.text == "饺子" and "思考" in (language.calls[1].grammar or "")
    assert all("晚饭" in call.messages[0].content + call.messages[-1].content for call in language.calls)


def test_an_answer_is_shortened_by_one_more_call_and_an_abstention_by_none() -> None:
    language = ScriptedLanguage(["Karl"])
    assert shortened(Answered("I don't know.", True), QUESTION, language) == "I don't know."
    assert language.calls == []
    assert shortened(Answered("The neighbour Karl has it.", False), QUESTION, language) == "Karl"
    assert language.calls[0].messages[-1].content.endswith("Answer: The neighbour Karl has it.")
