"""Means, intervals and differences of an evaluation, how a judge's reply is read, and which option an answer means."""

from __future__ import annotations

import numpy as np
import pytest

from offline_tools.bench.answer_methods import Answered
from offline_tools.evaluate.answers import Given
from offline_tools.evaluate.judge import Judge, verdict_in
from offline_tools.evaluate.multiple_choice import option_meant
from offline_tools.evaluate.questions import Question
from offline_tools.evaluate.sampling import drawn
from offline_tools.evaluate.statistics import difference, estimate
from tests.scripted_language import ScriptedLanguage

CHOICE = Question(
    "q", "v", "How many goats are there?", "C", ("count",), options=("One.", "Two goats.", "Three.")
)


def given(text: str, *, abstained: bool = False, choice: str | None = None) -> Given:
    return Given("q", Answered(text, abstained), None, choice, None, None, "", "", "", "")


def test_an_interval_covers_the_truth_as_often_as_it_says() -> None:
    """Memories differ among one another more than their questions do, which an interval over questions ignores."""
    chance = np.random.default_rng(3)
    covered, wider, trials = 0, 0, 100
    for _ in range(trials):
        rates = chance.beta(2, 2, size=30)
        names = [f"m{place}" for place in range(30) for _ in range(10)]
        values = (chance.random(300) < np.repeat(rates, 10)).astype(float).tolist()
        found = estimate(values, names)
        alone = estimate(values, [str(place) for place in range(300)])
        assert found is not None and alone is not None
        covered += found.low <= 0.5 <= found.high
        wider += found.high - found.low > alone.high - alone.low
    assert 0.87 <= covered / trials <= 0.99
    assert wider > 0.9 * trials


def test_estimates_are_the_same_each_time_and_hold_their_mean() -> None:
    values, names = [1.0, 0.0, 1.0, 1.0], ["a", "a", "b", "b"]
    found = estimate(values, names)
    assert found == estimate(values, names) and found is not None
    assert (
        found.mean == 0.75 and found.low == 0.5 and found.high == 1.0 and (found.n, found.memories) == (4, 2)
    )
    assert estimate([], []) is None
    one = estimate([1.0, 0.0], ["a", "a"])
    assert one is not None and (one.low, one.high, one.memories) == (0.0, 1.0, 1)
    assert estimate([1.0], ["a"]) is not None


def test_differences_are_paired_by_question() -> None:
    ours = {"1": 1.0, "2": 0.0, "3": 1.0, "5": 1.0}
    base = {"1": 0.0, "2": 0.0, "3": 1.0, "4": 1.0}
    found = difference(ours, base, dict.fromkeys("12345", "m"))
    assert found is not None and found.n == 3 and found.mean == pytest.approx(1 / 3)
    shifted = difference({k: v + 0.5 for k, v in base.items()}, base, dict.fromkeys("1234", "m"))
    assert shifted is not None and shifted.low == shifted.high == 0.5, (
        "what is the same everywhere has no spread"
    )
    assert difference({"9": 1.0}, base, {"9": "m"}) is None


@pytest.mark.parametrize(
    ("reply", "right"),
    [
        ("yes", True), ("No.", False), (" YES\n", True), ("**No**, since…", False), ("yes, they agree", True),
        ("<think>They say no, but…</think>\n\nyes", True), ("<think>so long that it was cut, yes", None),
        ("", None), ("maybe", None), ("The answer is yes", None), ("nope", None), ("yesterday", None), ("不", None),
    ],
)  # fmt: skip
def test_a_reply_says_yes_or_no_or_nothing(reply: str, right: bool | None) -> None:
    assert verdict_in(reply) is right


def test_rules_and_words_come_before_the_judge() -> None:
    nobody = Judge(ScriptedLanguage([]), {"name": "x"})
    truth = Question("q", "m", "Where?", "behind the boiler", ("a",))
    assert nobody.ruling(truth, given("It hangs behind the boiler.")).by == "code"
    assert nobody.ruling(truth, given("I don't know", abstained=True)).right is False
    assert nobody.ruling(truth, given("  ")).right is False
    nothing = Question("q", "m", "Where?", "", ("a",))
    assert nobody.ruling(nothing, given("Nobody said.", abstained=True)).right is True
    assert nobody.ruling(nothing, given("There.")).right is False
    assert nobody.ruling(CHOICE, given("Three", choice="C")).right is True
    assert nobody.ruling(CHOICE, given("Two", choice="B")).right is False
    assert nobody.ruling(CHOICE, given("?", choice="")).right is False


def test_each_right_answer_counts_and_is_told_to_the_judge() -> None:
    several = Question("q", "m", "Where?", "by the stairs", ("a",), also_right=("near the door", "door"))
    judge = ScriptedLanguage(["yes"])
    assert Judge(judge, {"name": "x"}).ruling(several, given("Near the door.")).by == "code"
    assert Judge(judge, {"name": "x"}).ruling(several, given("At the entrance.")).right is True
    assert "Right answer: by the stairs (or: near the door; door)" in judge.calls[0].messages[-1].content
    everything = ScriptedLanguage(["no"])
    ruling = Judge(everything, {"name": "x"}, code_first=False).ruling(several, given("Near the door."))
    assert (ruling.right, ruling.by) == (False, "model")


def test_a_rubric_is_judged_by_what_it_asks_for() -> None:
    rubric = Question("q", "m", "What to cook?", "Anna has no oven.", ("preference",), rubric=True)
    judge = ScriptedLanguage(["yes"])
    ruling = Judge(judge, {"name": "x"}).ruling(rubric, given("Anna has no oven, so a soup."))
    assert (ruling.right, ruling.by) == (True, "model"), "words never settle a rubric"
    case = judge.calls[0].messages
    assert case[0].content.startswith("You check an answer to a question against a note")
    assert (
        "takes into account: Anna has no oven.\nAnswer given: Anna has no oven, so a soup."
        in case[-1].content
    )
    assert [message.content for message in case if message.role == "assistant"] == ["yes", "no"]


def test_answers_that_are_marked_have_a_score() -> None:
    marked = Question(
        "q", "m", "What is there?", "a red toolbox", ("object",), also_right=("a box",), marked=True
    )
    language = ScriptedLanguage(["4", "2", "**Mark:** 5, since they agree", "7", "5.5", "none", "3."])
    judge = Judge(language, {"name": "x"}, attempts=1)
    rulings = [judge.ruling(marked, given("Something red.")) for _ in range(7)]
    assert [(one.right, one.score) for one in rulings] == [
        (True, 0.75), (False, 0.25), (True, 1.0), (None, None), (None, None), (None, None),
        (False, 0.5),
    ]  # fmt: skip
    assert rulings[3].reason == "no mark from 1 to 5: '7'" and language.calls[0].grammar == "root ::= [1-5]"
    by_code = judge.ruling(marked, given("There is a red toolbox."))
    assert (by_code.right, by_code.by, by_code.score) == (True, "code", 1.0)
    silent = judge.ruling(marked, given("I don't know", abstained=True))
    assert (silent.right, silent.score) == (False, 0.0)


@pytest.mark.parametrize(
    ("answer", "truth", "asked"),
    [
        ("Ben works as a nurse (on Monday 2 March 2026 at 07:40).", "nurse", "Ben works as a nurse."),
        ("小美喜欢绿茶（2026年3月2日16:30）。不喜欢咖啡（昨天19:20）。", "绿茶", "小美喜欢绿茶。不喜欢咖啡。"),
        ("He left (on Monday 2 March 2026 at 07:40).", "on Monday", "He left (on Monday 2 March 2026 at 07:40)."),
        ("He left (on Monday 2 March 2026 at 07:40).", "2 March", "He left (on Monday 2 March 2026 at 07:40)."),
        ("他走了（2026年3月2日星期一16:30）。", "星期一", "他走了（2026年3月2日星期一16:30）。"),
        ("In the kitchen (the small one).", "kitchen", "In the kitchen (the small one)."),
        ("(yesterday at 19:20)", "a cup", "(yesterday at 19:20)"),
    ],
)  # fmt: skip
def test_when_a_memory_is_from_is_kept_from_the_judge_unless_the_truth_is_a_time(
    answer: str, truth: str, asked: str
) -> None:
    language = ScriptedLanguage(["no"])
    judge = Judge(language, {"name": "x"}, code_first=False)
    judge.ruling(Question("q", "m", "What?", truth, ("t",)), given(answer))
    assert language.calls[0].messages[-1].content.endswith(f"Answer given: {asked}")


def test_two_judges_are_one_only_if_all_of_them_is_the_same() -> None:
    one = Judge(None, {"name": "x", "sha256": "1"})
    assert one.name == Judge(ScriptedLanguage([]), {"name": "x", "sha256": "1"}).name
    others = [
        Judge(None, {"name": "x", "sha256": "2"}),
        Judge(None, {"name": "x", "sha256": "1"}, code_first=False),
    ]
    assert len({one.name, *(other.name for other in others)}) == 3


def test_an_answer_means_the_option_that_has_its_words_or_that_a_model_names() -> None:
    nobody = ScriptedLanguage([])
    assert option_meant(CHOICE, Answered("Two goats", False), nobody) == "B", "no model is needed for that"
    assert option_meant(CHOICE, Answered("I don't know", True), nobody) == ""
    assert option_meant(CHOICE, Answered("There are three of them", False), None) == "C"
    assert option_meant(CHOICE, Answered("It is blue", False), None) == ""
    language = ScriptedLanguage(["A", "(C)", "B. Two goats.", "Certainly", ""])
    asked = Answered("A pair, I think", False)
    assert [option_meant(CHOICE, asked, language) for _ in range(5)] == ["A", "C", "B", "", ""]
    assert language.calls[0].grammar == 'root ::= "A" | "B" | "C"'
    assert "Options:\nA. One.\nB. Two goats.\nC. Three." in language.calls[0].messages[-1].content


def test_samples_keep_the_shares_of_types_and_take_memories_in_turn() -> None:
    items = [
        (kind, f"m{place % 5}", place)
        for kind, count in (("a", 60), ("b", 30), ("c", 10))
        for place in range(count)
    ]
    for count in (10, 50):
        found = drawn(items, count, 3, type_of=lambda one: one[0], memory_of=lambda one: one[1])
        assert found == drawn(items, count, 3, type_of=lambda one: one[0], memory_of=lambda one: one[1])
        kinds = [one[0] for one in found]
        assert [kinds.count(kind) for kind in "abc"] == [6 * count // 10, 3 * count // 10, count // 10]
        assert len({one[1] for one in found}) == 5 and found == sorted(found, key=items.index)
    other = drawn(items, 50, 4, type_of=lambda one: one[0], memory_of=lambda one: one[1])
    assert other != found
