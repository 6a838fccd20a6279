"""What an episode is worth: the judge's verdict with checks of the form, and the options that recipes turn on."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from models.errors import ModelError
from models.language import LanguageModel
from offline_tools.bench.judging import ModelJudge, is_exact, token_f1
from offline_tools.train.episodes import Played
from offline_tools.train.rl_recipe import BonusSettings, RewardSettings

_ID_TAG = re.compile(r"<?\b(?:face|voice|person|character)_\d+\b>?", re.IGNORECASE)
_MARK = re.compile(r"\[(?:Answer|Search)\]", re.IGNORECASE)
_TRIES = 2

Judge = Callable[[str, str, str], bool]  # question, right answer, answer given; raises JudgeFailed


class JudgeFailed(Exception):
    """No verdict came of a judge: it failed, was late, or wrote neither yes nor no."""


@dataclass(frozen=True)
class Reward:
    """judged: by which groups are equal or not; total: with bonuses and the penalty of length; fault: of form."""

    judged: float
    total: float
    right: bool
    fault: str


def exact_judge(question: str, truth: str, answer: str) -> bool:
    """Whether both have the same words."""
    return is_exact(answer, truth)


def model_judge(language: LanguageModel, timeout_s: float) -> Judge:
    """Asks a model with the benchmarks' own prompt (offline_tools/bench/judging.py), twice where it must."""
    judge = ModelJudge(language, timeout_s, small=False)

    def judged(question: str, truth: str, answer: str) -> bool:
        why = ""
        for _ in range(_TRIES):
            try:
                verdict = judge.verdict(question, truth, answer)
            except ModelError as error:
                why = str(error)
                continue
            if verdict.reply == "by code":
                return verdict.right
            said = re.match(r"\W*(yes|no)\b", verdict.reply, re.IGNORECASE)
            if said is not None:
                return said[1].lower() == "yes"
            why = f"it wrote {verdict.reply[:60]!r} where yes or no was asked for"
        raise JudgeFailed(f"the judge {language.name} gave no verdict on {answer[:60]!r}: {why}")

    return judged


def reward_of(played: Played, settings: RewardSettings, judge: Judge) -> Reward:
    """Raises JudgeFailed."""
    fault = form_fault(played)
    right = not fault and _is_right(played, settings, judge)
    judged = float(right)
    if settings.kind == "graded" and not right and not fault:
        truth = played.question.answer
        words = token_f1(played.written, truth) if played.written and truth and not played.unknown else 0.0
        judged = settings.graded.words * words + settings.graded.evidence * evidence_found(played)
    total = judged + bonuses(played, settings.bonus)
    if settings.overlong_from is not None and settings.overlong_to is not None:
        total += overlong(played.written_tokens, settings.overlong_from, settings.overlong_to)
    return Reward(judged, total, right, fault)


def _is_right(played: Played, settings: RewardSettings, judge: Judge) -> bool:
    if not played.question.answer or played.unknown or not played.written:
        return not played.question.answer and played.unknown
    answer = played.told if settings.grounded else played.written
    return bool(answer) and judge(played.question.question, played.question.answer, answer)


def form_fault(played: Played) -> str:
    """What is wrong with the form of an episode, or ""."""
    for one in played.rounds:
        if one.action == "unreadable":
            return f"round {one.number} holds no action that can be read"
        if len(_MARK.findall(one.raw)) > 1:
            return f"round {one.number} holds more than one action"
        if played.reasons and not one.reasoning:
            return f"round {one.number} gives no reasoning"
    if played.rounds and played.rounds[-1].action != "answer":
        return f"round {played.rounds[-1].number} was the last and holds no answer"
    if _ID_TAG.search(played.written):
        return "the answer names an id instead of a person"
    return ""


def evidence_found(played: Played) -> float:
    """The share of the clips that hold the answer of which any search found something; 0 where none is named."""
    wanted = set(played.question.evidence)
    return len(wanted & played.clips) / len(wanted) if wanted else 0.0


def bonuses(played: Played, settings: BonusSettings) -> float:
    """The sum of what is turned on."""
    searches = [one for one in played.rounds if one.action == "search"]
    known = set(played.first)
    empty = 0
    for one in searches:
        found = set(one.search.found) if one.search is not None else set()
        empty += not found - known
        known |= found
    return (
        settings.id_tag * len(_ID_TAG.findall(played.written))
        + settings.unreadable * sum(one.action == "unreadable" for one in played.rounds)
        + settings.search * len(searches)
        + settings.empty_search * empty
    )


def overlong(written_tokens: int, begins: int, ends: int) -> float:
    """DAPO's soft punishment: 0 up to `begins`, -1 from `ends` on. Counts what the model wrote, and nothing it read."""
    return -min(1.0, max(0.0, (written_tokens - begins) / (ends - begins)))
