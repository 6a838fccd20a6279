"""Episodes for training are the robot's own answering, led from outside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from memory_store.records import VectorSpace
from memory_store.store import MemoryStore
from models.language import Message
from offline_tools.train.episodes import Episode, MakeControl, Memories, Reply, play
from offline_tools.train.errors import TrainingError
from offline_tools.train.rl_questions import TrainingQuestion, read_questions
from runtime.control import Control
from runtime.recall import Recall
from tests.household import NOW, ZONE, embed_words, open_household
from tests.scripted_language import ScriptedLanguage
from tests.training.search_task import ROOMS, SPACE, last_word, make_control, open_memories, write_memories

SEARCH = "Reasoning: nothing yet.\n[Search] {}"
ANSWER = "Reasoning: memory 1 says so.\n[Answer] The password is sunflower seven. (memory 1)"


@pytest.fixture
def measure() -> ScriptedLanguage:
    return ScriptedLanguage([])


@pytest.fixture
def task(tmp_path: Path) -> Iterator[tuple[Memories, tuple[TrainingQuestion, ...]]]:
    questions = read_questions(write_memories(tmp_path, 2, seed=1), tmp_path).questions
    memories = open_memories(tmp_path)
    yield memories, questions
    memories.close()


def texts(messages: Sequence[Message]) -> list[tuple[str, str]]:
    return [(one.role, one.content) for one in messages]


def wise_turn(messages: Sequence[Message]) -> str:
    word = last_word(messages)
    return f"[Answer] {word}" if word in ROOMS else f"[Search] {word}"


def played_wisely(episode: Episode) -> Episode:
    while not episode.finished:
        episode.reply(wise_turn(episode.prompt()), 3)
    return episode


def test_who_searches_on_finds_every_answer_and_the_evidence(
    task: tuple[Memories, tuple[TrainingQuestion, ...]], measure: ScriptedLanguage
) -> None:
    memories, questions = task
    kept, answered = memories.for_a_model(questions)
    assert (len(kept), answered) == (12, 0)
    for question in kept:
        played = played_wisely(memories.episode(question, measure)).played()
        assert played.told.lower() == played.written == question.answer
        assert len(played.rounds) == len(question.evidence)
        assert set(question.evidence) <= played.clips
        assert played.written_tokens == 3 * len(played.rounds)


def test_the_model_is_shown_what_the_robot_would_show_it(tmp_path: Path, measure: ScriptedLanguage) -> None:
    searches = [SEARCH.format(one) for one in ("wifi code", "wifi code", "wifi password")]
    replies = [*searches, ANSWER]
    question = "How do I get on the internet?"

    def control(store: MemoryStore, language: ScriptedLanguage | None) -> Control:
        return Control(Recall(store, embed_words), language, clock=lambda: NOW, zone=ZONE)

    robot = ScriptedLanguage(replies)
    with open_household(tmp_path / "home") as store:
        answer = control(store, robot).answer(question)
    assert [one.action for one in answer.rounds] == ["search", "search", "search", "answer"]
    memories = household_memories(tmp_path, lambda store, _: control(store, None))
    episode = memories.episode(TrainingQuestion("q", "home", question, "sunflower seven"), measure)
    shown, grammars = [], []
    for reply in replies:
        shown.append(texts(episode.prompt()))
        grammars.append(episode.grammar())
        episode.reply(reply, 9)
    memories.close()
    assert shown == [texts(call.messages) for call in robot.calls]
    assert grammars == [call.grammar for call in robot.calls]
    assert episode.played().told == answer.text
    assert any("Change your perspective" in text for one in shown for _, text in one[-1:])


def household_memories(root: Path, make: MakeControl) -> Memories:
    return Memories(root, [VectorSpace("text", 64, "words")], make)


def test_what_code_answers_teaches_no_model(tmp_path: Path, measure: ScriptedLanguage) -> None:
    open_household(tmp_path / "home").close()
    memories = household_memories(
        tmp_path, lambda store, clock: Control(Recall(store, embed_words), None, clock=clock, zone=ZONE)
    )
    by_code = TrainingQuestion("a", "home", "When did you last see Grandma Liu?", "13:45", asked_utc_s=NOW)
    by_model = TrainingQuestion("b", "home", "How do I get on the internet?", "sunflower", asked_utc_s=NOW)
    assert memories.for_a_model([by_code, by_model]) == ([by_model], 1)
    with pytest.raises(TrainingError, match="question a is answered by code"):
        memories.episode(by_code, measure)
    with pytest.raises(TrainingError, match="question c: "):
        memories.episode(TrainingQuestion("c", "home", "?" * 3000, "x"), measure)
    memories.close()


def test_five_rounds_are_all_there_are(
    task: tuple[Memories, tuple[TrainingQuestion, ...]], measure: ScriptedLanguage
) -> None:
    memories, questions = task
    episode = memories.episode(questions[0], measure)
    rounds = 0
    while not episode.finished:
        episode.reply("[Search] pot", 3)
        rounds += 1
    assert rounds == 5
    assert "last" in episode.played().rounds[-1].prompt
    assert (episode.played().told, episode.played().written) == ("", "")


def test_nothing_is_found_from_the_clip_on_before_which_it_is_asked(
    task: tuple[Memories, tuple[TrainingQuestion, ...]], measure: ScriptedLanguage
) -> None:
    memories, questions = task
    question = questions[0]  # its links were written last one first
    first, last = question.evidence[0], question.evidence[-1]
    for before, found in ((last, {first}), (first, set()), (None, set(question.evidence))):
        asked = replace(question, before_clip=before)
        played = played_wisely(memories.episode(asked, measure)).played()
        assert played.clips & set(question.evidence) == found
    with pytest.raises(TrainingError, match="no clip 999"):
        memories.episode(replace(question, before_clip=999), measure)


def test_two_times_of_one_memory_can_be_asked_side_by_side(
    task: tuple[Memories, tuple[TrainingQuestion, ...]], measure: ScriptedLanguage
) -> None:
    memories, questions = task
    question = questions[0]
    asked = [replace(question, before_clip=one) for one in (question.evidence[-1], None)] * 2
    episodes = [memories.episode(one, measure) for one in asked]
    for _ in range(5):
        for episode in episodes:
            if not episode.finished:
                episode.reply(wise_turn(episode.prompt()), 3)
    assert [bool(one.played().told) for one in episodes] == [False, True, False, True]


def test_episodes_of_one_question_share_round_zero_and_nothing_else(
    task: tuple[Memories, tuple[TrainingQuestion, ...]], measure: ScriptedLanguage
) -> None:
    memories, questions = task
    one, other = memories.episodes(questions[1], measure, 2)
    before = texts(other.prompt())
    assert texts(one.prompt()) == before
    played_wisely(one)
    assert texts(other.prompt()) == before
    assert played_wisely(other).played().told == one.played().told


def test_memories_beyond_what_may_stay_open_are_closed_between_draws(
    tmp_path: Path, measure: ScriptedLanguage
) -> None:
    questions = read_questions(write_memories(tmp_path, 4, seed=2), tmp_path).questions
    memories = Memories(tmp_path, [SPACE], make_control, most_open=2)
    for question in questions:
        assert played_wisely(memories.episode(question, measure)).played().told
        memories.rest()
    assert len(memories._open) == 2
    memories.close()


def test_a_process_without_episodes_asks_as_often_as_the_others(
    task: tuple[Memories, tuple[TrainingQuestion, ...]], measure: ScriptedLanguage
) -> None:
    calls: list[int] = []

    def player(prompts: Sequence[Sequence[int]]) -> list[Reply]:
        calls.append(len(prompts))
        return [Reply("[Search] pot", (1, 2)) for _ in prompts]

    answers = iter([True, True, True, False])
    assert play([], lambda messages: [len(messages)], player, anybody=lambda here: next(answers)) == []
    assert calls == [1, 1, 1]
