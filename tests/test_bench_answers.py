"""The benchmark of LoCoMo's questions: which are drawn, how they are asked, and how a stopped run goes on."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from models.language import Message
from offline_tools.bench import kept_completions, locomo_read
from offline_tools.bench.answer_methods import Answered
from offline_tools.bench.dialogues import Dialogue, Session
from offline_tools.bench.judging import Verdict
from offline_tools.bench.kept_completions import KeptCompletions, TimeIsUp, tally
from offline_tools.bench.locomo_answers import _figures
from offline_tools.bench.locomo_questions import LocomoQuestion, sampled
from offline_tools.bench.locomo_run import METHODS, Judged, Plan, ask_dialogue
from tests.scripted_language import ScriptedLanguage
from tests.test_bench_recall import MODELS, TALK

PUMP = LocomoQuestion("talk:0", "talk", 4, "Where is the bicycle pump?", "behind the boiler")
CAT = LocomoQuestion("talk:1", "talk", 5, "What is the name of Anna's cat?", "")


def samples() -> list[dict[str, object]]:
    """Three dialogues with 40 questions of category 4, 20 of 1 and 10 of 5 each."""
    asked = [(4, 40), (1, 20), (5, 10)]
    return [
        {
            "sample_id": f"conv-{number}",
            "qa": [
                {"question": f"{number} {category} {place}", "category": category, "answer": 7}
                for category, count in asked
                for place in range(count)
            ],
        }
        for number in range(3)
    ]


def test_the_same_questions_are_drawn_each_time_from_all_dialogues_in_proportion() -> None:
    drawn = sampled(samples(), 42)
    assert drawn == sampled(samples(), 42) and len({one.id for one in drawn}) == 42
    assert Counter(one.category for one in drawn) == {4: 24, 1: 12, 5: 6}
    for category in (4, 1, 5):
        assert len({one.dialogue for one in drawn if one.category == category}) == 3
    assert {one.answer for one in drawn if one.category == 5} == {""}
    assert {one.answer for one in drawn if one.category == 4} == {"7"}
    assert len(sampled(samples(), 1000)) == 210
    assert set(sampled(samples(), 21)) < set(drawn), "a smaller draw is part of a larger one"


def test_a_completion_is_computed_once_and_a_torn_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEARSIGHT_CACHE", str(tmp_path))
    ask = [Message("user", "What?")]
    first = KeptCompletions(ScriptedLanguage(["This.", "That."])).complete(ask, max_tokens=9)
    (file,) = (tmp_path / "completions").iterdir()
    with file.open("a") as opened:
        opened.write('\n{"key": "torn')
    again = KeptCompletions(ScriptedLanguage(["That."]), limit_s=0.0)
    assert again.complete(ask, max_tokens=9) == first
    for changed in ({"max_tokens": 8}, {"max_tokens": 9, "grammar": 'root ::= "a"'}):
        with pytest.raises(TimeIsUp):
            again.complete(ask, **changed)  # type: ignore[arg-type]
    later = KeptCompletions(ScriptedLanguage(["That."]))
    assert later.complete(ask, max_tokens=8).text == "That."
    assert KeptCompletions(ScriptedLanguage([])).complete(ask, max_tokens=8).text == "That."


def test_published_completions_are_found_by_whoever_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEARSIGHT_CACHE", str(tmp_path / "mine"))
    monkeypatch.setattr(kept_completions, "PUBLISHED", tmp_path / "published")
    asks = [[Message("user", text)] for text in ("One?", "Two?", "三？")]
    first = KeptCompletions(ScriptedLanguage(["1.", "2.", "三。"]))
    told = [first.complete(ask, max_tokens=9) for ask in asks]
    first.complete(asks[0], max_tokens=9)
    assert (first.computed, first.kept) == (3, 0) and first.publish().is_file()
    monkeypatch.setenv("HEARSIGHT_CACHE", str(tmp_path / "yours"))
    second = KeptCompletions(ScriptedLanguage(["4."]))
    assert [second.complete(ask, max_tokens=9) for ask in asks] == told
    second.complete([Message("user", "Four?")], max_tokens=9)
    assert tally([None, second], publish=True) == (1, 3)
    monkeypatch.setenv("HEARSIGHT_CACHE", str(tmp_path / "theirs"))
    third = KeptCompletions(ScriptedLanguage([]))
    assert third.complete([Message("user", "Four?")], max_tokens=9).text == "4."
    assert third.complete(asks[2], max_tokens=9) == told[2], "what was published before stays"


def reply(messages: Sequence[Message]) -> str:
    """What a model that knows of the boiler writes to each kind of prompt."""
    system, asked = messages[0].content, messages[-1].content
    if system.startswith("You check"):
        return "yes" if "boiler" in asked.rpartition("Answer given")[2] else "no"
    if system.startswith("Shorten"):
        return "behind the boiler"
    if "cat?" in asked + system:
        begun = "Reasoning: no.\nAction: [Answer]\nContent: " if "Action:" in asked else ""
        return f"{begun}I don't know."
    if "You answer from" in system:
        number = next(line[1] for line in asked.splitlines() if "boiler" in line)
        return f"Reasoning: there.\n[Answer] It hangs behind the boiler. (memory {number})"
    if "Action:" in asked:
        return "Reasoning: there.\nAction: [Answer]\nContent: It hangs behind the boiler."
    return "It hangs behind the boiler."


def test_every_method_answers_and_is_judged() -> None:
    language = ScriptedLanguage(reply)
    judged, whole = ask_dialogue(TALK, [PUMP, CAT], Plan(METHODS), MODELS, language)
    assert whole and len(judged) == 8 and {one.method for one in judged} == set(METHODS)
    for one in judged:
        assert one.f1 == 1.0 and one.verdict.right, one
        assert one.answered.abstained == (one.question == CAT)
        assert one.short == ("behind the boiler" if one.question == PUMP else one.answered.text)
    figures = _figures(judged, METHODS)
    assert figures["1 to 5"]["robot"] == {"n": 2, "f1": 1.0, "right": 1.0, "abstained": 0.5}
    assert figures["1 to 4"]["dialogue"]["n"] == 1 and "2 temporal" not in figures
    prompts = [call.messages[-1].content for call in language.calls]
    whole_dialogue = [prompt for prompt in prompts if "Anna: Where did you put the bicycle pump?" in prompt]
    assert len(whole_dialogue) == 2 and prompts.index(whole_dialogue[1]) == 1 + prompts.index(
        whole_dialogue[0]
    )
    assert "[shows a picture: a red pump on a wall]" in whole_dialogue[0]


def test_a_wrong_answer_is_judged_wrong_and_an_abstention_is_right_only_where_there_is_no_answer() -> None:
    language = ScriptedLanguage(
        lambda messages: "no" if "You check" in messages[0].content else "The cellar."
    )
    judged, _ = ask_dialogue(TALK, [PUMP, CAT], Plan(["one shot"]), MODELS, language)
    assert [(one.verdict.right, one.f1) for one in judged] == [(False, 0.0), (False, 0.0)]
    language = ScriptedLanguage(lambda messages: "I don't know.")
    judged, _ = ask_dialogue(TALK, [PUMP, CAT], Plan(["one shot"]), MODELS, language)
    assert [(one.verdict.right, one.f1) for one in judged] == [(False, 0.0), (True, 1.0)]


def test_a_run_without_time_tells_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARSIGHT_CACHE", str(tmp_path))
    ask_dialogue(TALK, [PUMP], Plan(METHODS), MODELS, KeptCompletions(ScriptedLanguage(reply)))
    stopped = KeptCompletions(ScriptedLanguage([]), limit_s=0.0)
    judged, whole = ask_dialogue(TALK, [PUMP], Plan(METHODS), MODELS, stopped)
    assert whole and len(judged) == 4
    judged, whole = ask_dialogue(TALK, [PUMP, CAT], Plan(METHODS), MODELS, stopped)
    assert not whole and judged == []


def test_of_a_dialogue_that_is_too_long_the_latest_part_is_kept() -> None:
    language = ScriptedLanguage(lambda messages: "I don't know.", context_tokens=900)
    begun = TALK.sessions[1].start_utc_s
    days = [Session(begun + day * 86400.0, TALK.sessions[day % 2].turns) for day in range(2, 8)]
    long = Dialogue("talk", days, [], begun + 9 * 86400.0)
    ask_dialogue(long, [CAT], Plan(["dialogue"]), MODELS, language)
    (call,) = language.calls
    assert language.count_tokens(call.messages) + call.max_tokens <= 900
    prompt = call.messages[-1].content
    assert prompt.count("The flight leaves at nine") >= 30 and prompt.count("Where did you put") < 3


def test_what_a_person_read_is_told_beside_the_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    def judged(id: str, category: int, text: str, *, right: bool, abstained: bool = False) -> Judged:
        question = LocomoQuestion(id, "conv-1", category, "What is it?", "a cup")
        return Judged("robot", question, Answered(text, abstained), text, Verdict(right, "", ""))

    given = [
        judged("1", 4, "A cup.", right=True),
        judged("2", 4, "A plate.", right=True),
        judged("3", 4, "A bowl.", right=False),
        judged("4", 4, "I don't know.", right=False, abstained=True),
        judged("5", 5, "A cup.", right=False),
    ]
    read = {locomo_read.key_of("1", "A cup."): True, locomo_read.key_of("2", "A plate."): False}
    monkeypatch.setattr(locomo_read, "verdicts", lambda: read)
    told = locomo_read.rows_of(given, ["robot"])
    assert told == {"robot": "1 of 4, 1 unread; judge agrees on 1 of 2"}
    assert locomo_read.rows_of([], ["robot"]) == {}
