"""Decides whether an answer is right: by rule, by code where words settle it, else by a language model.

The model is asked for yes or no, or for a mark. The prompt for yes or no stands in offline_tools/bench/judging.py,
those for rubrics and marks in prompts.yaml. A judge that fails or answers anything else is asked a few more times; then
the answer is not judged, and the evaluation goes on.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from models.errors import ModelError
from models.language import LanguageModel, Message
from offline_tools.bench.judging import GRAMMAR, judge_messages, plainly, without_moments
from offline_tools.endpoint import EndpointRefused
from offline_tools.evaluate.answers import Given
from offline_tools.evaluate.prompts import framed, written
from offline_tools.evaluate.questions import Question

TEMPERATURES = (0.0, 0.3, 0.7)  # of one try after the other: at 0 the same nonsense would come again
MARKS = "root ::= [1-5]"
GOOD = 0.75  # the score, of a mark of 4, from which an answer counts as right
_REPLY_TOKENS = 8
_REPLY_TOKENS_FREE = 1024  # for a model whose reply no grammar holds, and which may think aloud first
_THOUGHT = re.compile(r"<think>.*?(?:</think>|$)", re.DOTALL)
_MARK = re.compile(r"\W*(?:your mark\W+|mark\W+)?([1-5])(?!\d|\.\d)", re.IGNORECASE)
_VERDICT = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Ruling:
    """What came of judging an answer. right: None where it is not judged; by: "rule", "code" or "model".

    prompt, reply: of the model; reason: why it is not judged; attempts: how often the model was asked; score: from 0 to
    1, of an answer that is marked.
    """

    right: bool | None
    by: str
    prompt: str = ""
    reply: str = ""
    reason: str = ""
    attempts: int = 0
    score: float | None = None


class Judge:
    """Judges answers. language: None decides by rule and code alone; about: what the record says of the model."""

    def __init__(
        self,
        language: LanguageModel | None,
        about: dict[str, Any],
        *,
        code_first: bool = True,
        attempts: int = 3,
        timeout_s: float = 300.0,
        holds_grammar: bool = True,
    ) -> None:
        """code_first: words that settle it are not asked about; holds_grammar: the model's reply is a yes or a no."""
        self._language = language
        self._code_first = code_first
        self._attempts = attempts
        self._timeout_s = timeout_s
        self._tokens = _REPLY_TOKENS if holds_grammar else _REPLY_TOKENS_FREE
        self._about = about

    @property
    def about(self) -> dict[str, Any]:
        """Which judge this is; two with the same may be compared."""
        digest = hashlib.sha256(self.prompt.encode()).hexdigest()[:16]
        return {
            **self._about,
            "code_first": self._code_first,
            "moments": "left out",
            "prompt_sha256": digest,
        }

    @property
    def prompt(self) -> str:
        """What the model is asked, with the case left open."""
        open_case = ("{question}", "{truth}", "{answer}")
        return "\n".join(written(frame(*open_case)) for frame in (judge_messages, _rubric_case, _mark_case))

    @property
    def name(self) -> str:
        """A short name with a hash of all that it is."""
        told = hashlib.sha256(repr(sorted(self.about.items())).encode()).hexdigest()[:8]
        return f"{self._about['name']} {told}"

    def ruling(self, question: Question, given: Given, *, ask: bool = True) -> Ruling:
        """Whether an answer is right. ask: also the model. Never raises for what that does, only TimeIsUp."""
        by_rule = _by_rule(question, given)
        if by_rule is not None:
            return _settled(question, by_rule, "rule")
        truths = (question.answer, *question.also_right)
        if self._code_first and not question.rubric:
            found = [plainly(truth, given.text) for truth in truths]
            if True in found:
                return _settled(question, True, "code")
            if None not in found:
                return _settled(question, False, "code")
        if self._language is None or not ask:
            return Ruling(None, "model", reason="not asked")
        return self._asked(self._language, _case(question, truths, given), marked=question.marked)

    def _asked(self, language: LanguageModel, messages: list[Message], *, marked: bool) -> Ruling:
        prompt = written(messages)
        reply, reason, attempt = "", "", 0
        for attempt in range(1, self._attempts + 1):
            try:
                completion = language.complete(
                    messages,
                    max_tokens=self._tokens,
                    grammar=MARKS if marked else GRAMMAR,
                    temperature=TEMPERATURES[min(attempt, len(TEMPERATURES)) - 1],
                    timeout_s=self._timeout_s,
                )
            except EndpointRefused as error:
                reason = str(error)
                break
            except ModelError as error:
                reason = str(error)
                continue
            reply = completion.text
            score = mark_in(reply) if marked else None
            right = verdict_in(reply) if not marked else None if score is None else score >= GOOD
            if right is not None:
                return Ruling(right, "model", prompt, reply, "", attempt, score)
            reason = f"{'no mark from 1 to 5' if marked else 'neither yes nor no'}: {reply[:200]!r}"
        return Ruling(None, "model", prompt, reply, reason, attempt)


def verdict_in(reply: str) -> bool | None:
    """What a reply says: its first word, after any thoughts, is yes or no; else None."""
    found = _VERDICT.match(_THOUGHT.sub("", reply))
    return None if found is None else found[1].lower() == "yes"


def mark_in(reply: str) -> float | None:
    """The mark, 1 to 5, that a reply begins with after any thoughts, as a share from 0 to 1; else None."""
    found = _MARK.match(_THOUGHT.sub("", reply))
    return None if found is None else (int(found[1]) - 1) / 4


def _settled(question: Question, right: bool, by: str) -> Ruling:
    return Ruling(right, by, score=float(right) if question.marked else None)


def _by_rule(question: Question, given: Given) -> bool | None:
    """An abstention is right where there is no answer, and nowhere else; an option is right if it is the answer."""
    if not question.answerable:
        return given.abstained
    if question.options:
        return given.choice == question.answer
    return False if given.abstained or not given.text.strip() else None


def _case(question: Question, truths: Sequence[str], given: Given) -> list[Message]:
    """What the judge is asked; the answer on one line, so that nothing in it reads as a line of the case."""
    frame = _rubric_case if question.rubric else _mark_case if question.marked else judge_messages
    return frame(question.text, _told(truths), without_moments(" ".join(given.text.split()), truths))


def _rubric_case(question: str, truth: str, answer: str) -> list[Message]:
    return framed("rubric", question=question, truth=truth, answer=answer[:2000])


def _mark_case(question: str, truth: str, answer: str) -> list[Message]:
    return framed("mark", question=question, truth=truth, answer=answer[:2000])


def _told(truths: Sequence[str]) -> str:
    return truths[0] if len(truths) == 1 else f"{truths[0]} (or: {'; '.join(truths[1:])})"
