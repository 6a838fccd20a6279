"""The household benchmark: script and questions are sound, scoring and judging can go either way."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from models.language import Completion
from offline_tools.bench.answer_methods import Answered
from offline_tools.bench.household_questions import (
    TYPES,
    HouseholdQuestion,
    is_of,
    is_right,
    load_questions,
    overlaps,
)
from offline_tools.bench.household_run import Given, judge_all
from offline_tools.bench.household_script import SCRIPT, load_script
from offline_tools.bench.household_tables import figures_of, rows_of
from offline_tools.bench.kept_completions import TimeIsUp
from offline_tools.bench.report import BenchmarkError
from tests.scripted_language import ScriptedLanguage

CAKE = HouseholdQuestion(
    "q1",
    "multi_detail",
    "tune",
    "What did Nora make?",
    (("lemon cake",), ("balcony", "terrace")),
    ("n_cake",),
)
NOBODY = HouseholdQuestion("q2", "unanswerable", "report", "Who brought the pizza?")
ANSWER = Answered(
    "A lemon cake; it is on the balcony.", False, model_calls=1, prompt_tokens=9, cached_tokens=2
)


def test_the_questions_fit_the_script_and_are_of_all_kinds() -> None:
    script = load_script()
    questions = load_questions(script).questions
    assert len(questions) >= 120 and len({scene.at.date() for scene in script.scenes}) >= 3
    kinds = Counter(question.type for question in questions)
    assert set(kinds) == set(TYPES) and min(kinds.values()) >= 8
    assert sum(question.language == "zh" for question in questions) >= 30
    splits = {question.split for question in questions if question.type == "temporal"}
    assert splits == {"tune", "report", "practice"}
    assert len({(question.ask, question.then) for question in questions}) == len(questions)


def test_what_does_not_fit_together_is_told_all_at_once(tmp_path: Path) -> None:
    document = yaml.safe_load(SCRIPT.read_text(encoding="utf-8"))
    shot = document["scenes"][0]["shots"][1]
    shot["people"], shot["lines"][0]["who"] = ["anna", "zoe"], "ben"
    broken = tmp_path / "script.yaml"
    broken.write_text(yaml.safe_dump(document, allow_unicode=True), encoding="utf-8")
    with pytest.raises(
        BenchmarkError, match=r"mon_anna names zoe.*a_name is said by ben, who is not in view"
    ):
        load_script(broken)
    asked = {
        "id": "q1",
        "type": "person",
        "split": "tune",
        "ask": "Who?",
        "keys": [["a"]],
        "evidence": ["none"],
    }
    file = tmp_path / "questions.yaml"
    file.write_text(
        yaml.safe_dump({"asked_at": "2026-03-06T10:00:00", "questions": [asked]}), encoding="utf-8"
    )
    with pytest.raises(BenchmarkError, match="q1 names none, which is not in the script"):
        load_questions(load_script(), file)


@pytest.mark.parametrize(
    ("keys", "answer", "right"),
    [
        ((("lemon cake",), ("balcony",)), "A Lemon Cake, on the balcony table.", True),
        ((("lemon cake",), ("balcony",)), "A lemon cake.", False),
        ((("ben",),), "It was on the bench.", False),
        ((("potato*",),), "Salmon with potatoes.", True),
        ((("three", "3"),), "on Tuesday 3 March 2026 at 08:15, Anna says that she has cats.", False),
        ((("three", "3"),), "She has 3 cats.", True),
        ((("march 3", "3 march"),), "on Tuesday 3 March 2026 at 08:15", True),
        ((("five", "5"),), "昨天 14:05 她说了。", False),
        ((("绿茶",),), "小美喜欢喝绿茶。", True),
    ],
)
def test_an_answer_holds_its_keys_as_words(
    keys: tuple[tuple[str, ...], ...], answer: str, right: bool
) -> None:
    question = replace(CAKE, keys=keys)
    assert is_right(question, answer, abstained=False) is right
    assert not is_right(question, answer, abstained=True)


def test_only_declining_is_right_where_there_is_no_answer() -> None:
    assert is_right(NOBODY, "I don't know.", abstained=True)
    assert not is_right(NOBODY, "Nora brought the pizza.", abstained=False)
    said = replace(NOBODY, keys=(("nothing",),))
    assert is_right(said, "Nora said nothing on Wednesday.", abstained=False)


def test_a_memory_is_of_a_line_when_it_shares_its_moment_and_words() -> None:
    line = "I put the car keys in the drawer under the microwave."
    assert is_of('Ben says: "Put the car keys in the drawer under the microwave."', line)
    assert not is_of("Ben is in view.", line)
    assert is_of("小美说：“我喜欢和绿茶”", "我喜欢喝绿茶。") and not is_of("小美在。", "我喜欢喝绿茶。")
    assert overlaps(0.0, 4.0, 4.5, 9.0) and not overlaps(0.0, 4.0, 6.0, 9.0)


class OneReply(ScriptedLanguage):
    """A model whose time is up after one reply."""

    def complete(self, *args: Any, **kwargs: Any) -> Completion:
        if self.calls:
            raise TimeIsUp
        return super().complete(*args, **kwargs)


def test_a_model_judges_what_was_answered_and_nothing_else() -> None:
    declined, loose = Answered("I don't know.", True), Answered("Some cake, outside.", False)
    given = [Given(CAKE, loose), Given(CAKE, declined), Given(NOBODY, declined), Given(NOBODY, ANSWER)]
    given.append(Given(replace(CAKE, keys=(("balcony",),)), ANSWER))
    judge = ScriptedLanguage(["no"])
    assert [one.judged for one in judge_all(given, judge)] == [False, False, True, False, True]
    assert len(judge.calls) == 1 and "lemon cake, balcony" in judge.calls[0].messages[-1].content
    cut_short = judge_all([Given(CAKE, loose), Given(CAKE, loose)], OneReply(["yes"]))
    assert [one.judged for one in cut_short] == [True, None]
    assert figures_of(cut_short)["judged"] == 1.0 and figures_of(cut_short)["not_judged"] == 1


def test_the_table_tells_false_answers_apart_from_wrong_ones() -> None:
    declined = Answered("I don't know.", True, model_calls=3)
    good = figures_of(
        [Given(CAKE, ANSWER, ("n_cake",), ("n_cake",), True), Given(NOBODY, declined, judged=True)]
    )
    assert (good["exact"], good["judged"], good["false_answers"], good["unanswered"]) == (1.0, 1.0, 0.0, 0.0)
    assert (good["evidence_cited"], good["model_calls"], good["tokens_read"]) == (1.0, 2.0, 3.5)
    invented = Answered("Nora did.", False)
    bad = figures_of([Given(CAKE, declined, judged=False), Given(NOBODY, invented, judged=False)])
    assert (bad["exact"], bad["judged"], bad["false_answers"], bad["unanswered"]) == (0.0, 0.0, 1.0, 1.0)
    assert bad["evidence_found"] == 0.0 and json.dumps(bad)
    rows = {what.strip(): (measured, target) for what, measured, target in rows_of("robot", bad)}
    assert rows["false answers to unanswerable questions"] == ("1.000", "≤ .10")
    assert bad["splits"]["report"]["false_answers"] == 1.0
