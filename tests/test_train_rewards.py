"""What episodes are worth: the verdict, the form, partial credit, bonuses, length; and judges that fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.errors import ModelError
from offline_tools.train.episodes import Played
from offline_tools.train.rewards import (
    JudgeFailed,
    bonuses,
    exact_judge,
    form_fault,
    model_judge,
    overlong,
    reward_of,
)
from offline_tools.train.rl_questions import TrainingQuestion
from offline_tools.train.rl_recipe import BonusSettings, RewardSettings
from runtime.answer import Action, Round, Search
from tests.scripted_language import ScriptedLanguage

QUESTION = TrainingQuestion("q", "home", "Where is the red cup", "on the shelf", evidence=(3, 4))
EXACT = RewardSettings(judge="exact")


def turn(number: int, action: Action, raw: str, found: tuple[int, ...] | None = None) -> Round:
    search = None if found is None else Search("cup", "none", False, found, (0.5,) * len(found))
    content = raw.partition("] ")[2]
    return Round(number, action, "So.", content, (), "", "", (), search, "prompt", raw, 9, 0, 3, 0.0)


SEARCHED = turn(1, "search", "Reasoning: So.\n[Search] cup", (7, 8))
ANSWERED = turn(2, "answer", "Reasoning: So.\n[Answer] on the shelf")
PLAYED = Played(
    question=QUESTION,
    rounds=(SEARCHED, ANSWERED),
    told="On the shelf",
    written="on the shelf",
    unknown=False,
    clips=frozenset({3, 9}),
    first=frozenset({7}),
    reasons=True,
    written_tokens=20,
)


def test_a_right_answer_is_worth_one_and_any_other_nothing() -> None:
    assert reward_of(PLAYED, EXACT, exact_judge).total == 1.0
    wrong = replace(PLAYED, told="In the sink", written="in the sink")
    assert reward_of(wrong, EXACT, exact_judge).total == 0.0


def test_what_the_robot_would_not_tell_is_worth_nothing_unless_grounding_is_off() -> None:
    untold = replace(PLAYED, told="")
    assert reward_of(untold, EXACT, exact_judge).total == 0.0
    assert reward_of(untold, RewardSettings(judge="exact", grounded=False), exact_judge).total == 1.0


def test_where_nobody_can_know_only_that_is_right() -> None:
    unanswerable = replace(PLAYED, question=replace(QUESTION, answer=""))
    assert reward_of(unanswerable, EXACT, exact_judge).total == 0.0
    honest = replace(unanswerable, told="", written="I don't know.", unknown=True)
    assert reward_of(honest, EXACT, exact_judge).total == 1.0
    assert reward_of(replace(honest, question=QUESTION), EXACT, exact_judge).total == 0.0


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"rounds": (SEARCHED, turn(2, "unreadable", "on the shelf"))}, "round 2 holds no action"),
        (
            {"rounds": (SEARCHED, replace(ANSWERED, raw="So.\n[Search] x\n[Answer] y"))},
            "round 2 holds more than one action",
        ),
        ({"rounds": (replace(SEARCHED, reasoning=""), ANSWERED)}, "round 1 gives no reasoning"),
        ({"rounds": (SEARCHED, replace(SEARCHED, number=5))}, "round 5 was the last and holds no answer"),
        ({"written": "with <face_3>"}, "names an id"),
        ({"written": "with voice_12"}, "names an id"),
    ],
)
def test_a_fault_of_form_is_named_and_costs_all(change: dict[str, object], fault: str) -> None:
    faulty = replace(PLAYED, **change)  # type: ignore[arg-type]
    assert fault in form_fault(faulty)
    assert reward_of(faulty, RewardSettings(kind="graded", judge="exact"), exact_judge).total == 0.0


def test_without_a_prompt_that_asks_for_reasoning_none_is_missed() -> None:
    bare = replace(PLAYED, rounds=(replace(SEARCHED, reasoning=""), ANSWERED), reasons=False)
    assert form_fault(PLAYED) == form_fault(bare) == ""


def test_partial_credit_is_for_words_and_evidence_and_stays_below_right() -> None:
    graded = RewardSettings.model_validate(
        {"kind": "graded", "judge": "exact", "graded": {"words": 0.4, "evidence": 0.2}}
    )
    near = replace(PLAYED, told="On the table", written="on the table")
    reward = reward_of(near, graded, exact_judge)
    assert not reward.right
    assert reward.total == pytest.approx(0.4 * 0.5 + 0.2 * 0.5)  # "on" of two words; one clip of two
    assert reward_of(PLAYED, graded, exact_judge).total == 1.0
    silent = replace(near, written="I don't know.", unknown=True, clips=frozenset({3, 4}))
    assert reward_of(silent, graded, exact_judge).total == pytest.approx(0.2)


def test_bonuses_are_off_by_default_and_count_what_they_say() -> None:
    empty, repeated = turn(2, "search", "[Search] cup", (8, 7)), turn(3, "search", "[Search] cup")
    bad = turn(4, "unreadable", "hm")
    played = replace(PLAYED, rounds=(SEARCHED, empty, repeated, bad), written="<face_1> and <face_2>")
    assert bonuses(played, BonusSettings()) == 0.0
    settings = BonusSettings(id_tag=-0.2, unreadable=-0.3, search=0.1, empty_search=-0.15)
    assert bonuses(played, settings) == pytest.approx(2 * -0.2 + -0.3 + 3 * 0.1 + 2 * -0.15)


def test_length_is_punished_softly_by_what_the_model_wrote() -> None:
    assert [overlong(tokens, 100, 200) for tokens in (0, 100, 150, 200, 900)] == [0.0, 0.0, -0.5, -1.0, -1.0]
    settings = RewardSettings(judge="exact", overlong_from=10, overlong_to=30)
    reward = reward_of(PLAYED, settings, exact_judge)
    assert (reward.judged, reward.total) == (1.0, 0.5)


def test_the_judge_may_write_a_sentence_but_must_say_yes_or_no() -> None:
    said = ScriptedLanguage(["Yes, they agree.", "NO.", "perhaps", "maybe"])
    judge = model_judge(said, 5.0)
    assert judge("Where?", "attic", "up under the roof")
    assert not judge("Where?", "attic", "in the cellar")
    with pytest.raises(JudgeFailed, match="wrote 'maybe' where yes or no"):
        judge("Where?", "attic", "somewhere else")


def test_a_judge_that_is_late_once_is_asked_again_and_then_given_up() -> None:
    late = ModelError("no answer within 5 s")
    assert model_judge(ScriptedLanguage([late, "yes"]), 5.0)("Where?", "attic", "under the roof")
    with pytest.raises(JudgeFailed, match="gave no verdict on 'under the roof': no answer within 5 s"):
        model_judge(ScriptedLanguage([late, late]), 5.0)("Where?", "attic", "under the roof")
