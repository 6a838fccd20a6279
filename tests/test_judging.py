"""How benchmarks judge answers: LoCoMo's token F1, words that must stand in an answer, and the model judge."""

import pytest

from offline_tools.bench.judging import ModelJudge, holds, is_exact, locomo_f1, parts_f1, token_f1
from tests.scripted_language import ScriptedLanguage


@pytest.mark.parametrize(
    ("answer", "truth", "f1"),
    [
        ("An adoption agency", "Adoption agencies", 1.0),  # articles and endings do not count
        ("7 May, 2023", "7 May 2023", 1.0),
        ("She went on 7 May 2023", "7 May 2023", 2 * 3 / (6 + 3)),
        ("the the dog", "dog dog", 2 * 1 / (1 + 2)),  # each word as often as it stands in both
        ("a cat", "dog", 0.0),
        ("", "dog", 0.0),
    ],
)
def test_token_f1(answer: str, truth: str, f1: float) -> None:
    assert token_f1(answer, truth) == pytest.approx(f1)


def test_several_parts_are_each_compared_with_the_best_part_of_the_answer() -> None:
    assert parts_f1("gym, church, homeless shelter", "homeless shelter, gym, church") == 1.0
    assert parts_f1("the gym", "homeless shelter, gym, church") == pytest.approx(1 / 3)


def test_each_category_of_locomo_is_counted_in_its_way() -> None:
    assert locomo_f1(1, "gym", "church, gym", abstained=False) == 0.5
    assert locomo_f1(4, "gym", "church, gym", abstained=False) == pytest.approx(2 / 3)
    assert locomo_f1(3, "yes", "Yes; she said so often", abstained=False) == 1.0
    assert locomo_f1(4, "yes", "Yes; she said so often", abstained=False) < 0.5
    assert locomo_f1(5, "I don't know.", "", abstained=True) == 1.0
    assert locomo_f1(5, "self-care", "", abstained=False) == 0.0
    assert locomo_f1(2, "I don't know about 2022.", "2022", abstained=True) == 0.0


def test_words_that_must_stand_in_an_answer() -> None:
    assert is_exact("The dogs", "dog") and not is_exact("two dogs", "dog")
    assert holds("The platform is x4, and 小明得了九十五分。", ["x four", "九十五"])
    assert not holds("The platform is x5.", ["x four"])


@pytest.mark.parametrize(
    ("truth", "answer", "right"),
    [
        ("7 May 2023", "She went on Sunday 7 May, 2023.", True),
        ("7 May 2023", "She went on Monday 8 May 2023.", False),
        ("May, 2023", "On 27 May 2023.", True),
        ("August 2023", "Four months ago.", False),
        ("His car broke down", "John said that his car broke down.", True),
        ("in the cellar", "What they did was great.", False),
        ("两只山羊", "他很高兴。", False),
    ],
)
def test_words_and_dates_that_settle_it_are_not_asked_about(truth: str, answer: str, right: bool) -> None:
    verdict = ModelJudge(ScriptedLanguage([])).verdict("What?", truth, answer)
    assert (verdict.right, verdict.reply) == (right, "by code")


@pytest.mark.parametrize(
    ("truth", "answer"),
    [
        ("The week before 9 June 2023", "From 29 May to 4 June 2023."),
        ("Yes", "Yes, she did."),
        ("Likely no", "She would not."),
        ("Hoodies", "This hoodie is of a limited edition."),
        ("four", "They saw 4 of them."),
        ("两只山羊", "Two goats."),
    ],
)
def test_what_words_do_not_settle_is_asked(truth: str, answer: str) -> None:
    assert ModelJudge(ScriptedLanguage(["yes"])).verdict("What?", truth, answer).right


def test_a_model_that_is_not_small_is_asked_about_other_words_too() -> None:
    case = ("Where is it?", "in the attic", "up under the roof")
    assert not ModelJudge(ScriptedLanguage(["yes"])).verdict(*case).right
    assert ModelJudge(ScriptedLanguage(["yes"]), small=False).verdict(*case).right


def test_the_model_judges_and_its_prompt_is_kept() -> None:
    language = ScriptedLanguage(["yes", "no"])
    judge = ModelJudge(language)
    verdict = judge.verdict("What do they eat?", "herring", "Fish, namely herring.")
    assert verdict.right and verdict.reply == "yes"
    assert verdict.prompt.endswith("Right answer: herring\nAnswer given: Fish, namely herring.")
    assert not judge.verdict("What do they eat?", "herring", "Bread and no herring.").right
    assert not judge.verdict("What do they eat?", "herring", " ").right and len(language.calls) == 2
    assert "yes" in (language.calls[0].grammar or "")
