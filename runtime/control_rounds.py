"""The rounds of a question: a language model reasons, searches and answers, and its answer is judged."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from models.errors import ModelError
from models.language import Completion, LanguageModel
from runtime.answer import Action, Evidence, Method, Picture, Round, Search
from runtime.asked_for import lack_of
from runtime.control_turn import PromptMeasure, RoundPrompt, Turn, build_prompt, read_turn, turn_grammar
from runtime.evidence_pool import EvidencePool
from runtime.evidence_words import shown_line
from runtime.grounding import content_terms, coverage
from runtime.judge import (
    MIN_GROUNDED,
    as_told,
    fault_of,
    is_to_the_point,
    quotes_answer,
    says_unknown,
    told_as_heard,
)
from runtime.privacy import Audience
from runtime.prompts import Prompt
from runtime.question import Question
from runtime.quotes import quote_in
from runtime.recall import Recall
from runtime.say import Speech


@dataclass(frozen=True)
class ControlLimits:
    """reply_tokens: the most a model may write in a round; shown: the most memories it is shown at a time."""

    reply_tokens: int = 140
    shown: int = 8
    quoted: int = 2
    round_timeout_s: float = 300.0


@dataclass(frozen=True)
class Said:
    """An answer before it is written down."""

    text: str
    evidence: tuple[Evidence, ...]
    method: Method
    confidence: float
    abstained: bool = False
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class Rounds:
    """The rounds so far; each is told to whoever follows the answer."""

    told: Callable[[Round], None] | None
    done: list[Round] = field(default_factory=list)

    def add(self, one: Round) -> None:
        self.done.append(one)
        if self.told is not None:
            self.told(one)


@dataclass(frozen=True)
class Opened:
    """A question after round 0: what the free search found, or what code already says to it."""

    question: Question
    speech: Speech
    pool: EvidencePool
    notes: list[str]
    audience: Audience
    first: Search | None = None
    said: Said | None = None

    def copied(self) -> "Opened":
        """The same, for rounds of its own."""
        return replace(self, pool=self.pool.copied(), notes=list(self.notes))


class ModelRounds:
    """A question's rounds, one at a time: what a model is shown next, and what becomes of what it wrote.

    Whoever has the model leads them: the robot (`ask`), and offline training, so that both show the same prompts.
    labels: what all persons known are called now; said: the answer that stood judgement; unknown: whether the model
    said that it knows none, or ran out of rounds.
    """

    def __init__(
        self,
        opened: Opened,
        recall: Recall,
        prompt: Prompt,
        limits: ControlLimits,
        max_rounds: int,
        labels: Callable[[], list[str]],
    ) -> None:
        self._opened = opened
        self._recall = recall
        self._prompt = prompt
        self._limits = limits
        self._max_rounds = max_rounds
        self._labels = labels
        self._number = 1
        self._hint = ""
        self.finished = max_rounds < 1
        self.said: Said | None = None
        self.unknown = max_rounds < 1
        self.pointed: Evidence | None = None

    @property
    def reasons(self) -> bool:
        """Whether a line of reasoning is asked for before each action."""
        return bool(self._prompt.sentences["reasoning"])

    @property
    def _last(self) -> bool:
        return self._number == self._max_rounds

    def show(self, measure: PromptMeasure) -> RoundPrompt:
        """The prompt of the next round, that fits the model's context. Raises ModelError."""
        instruction = self._prompt.sentences["last" if self._last else "instruction"]
        return build_prompt(
            self._prompt,
            self._opened.question.text,
            list(self._opened.pool.items.values()),
            [part for part in (self._hint, instruction) if part],
            self._opened.speech,
            measure,
            reply_tokens=self._limits.reply_tokens,
            max_shown=self._limits.shown,
        )

    def grammar(self, shown: RoundPrompt) -> str:
        """What the next turn may be, as GBNF."""
        return turn_grammar(self._prompt, len(shown.shown), last=self._last)

    def take(self, shown: RoundPrompt, completion: Completion) -> Round:
        """What became of the model's turn; after an answer, or the last round, all is finished."""
        turn = read_turn(self._prompt, completion.text)
        entry = _round(self._number, turn.action, turn, self._hint, shown, completion)
        if turn.action == "search" and not self._last:
            search, self._hint = self._search_again(turn.content)
            self._number += 1
            return replace(entry, search=search)
        self.finished = True
        self.said, rejected = self._judge(turn, shown)
        self.unknown = turn.action == "answer" and says_unknown(turn.content)
        return replace(entry, rejected=rejected)

    def fail(self, shown: RoundPrompt) -> Round:
        """The round in which the model itself failed, which ends all."""
        self.finished = True
        return _round(self._number, "failed", Turn("unreadable", "", "", ()), self._hint, shown, None)

    def ask(self, language: LanguageModel, rounds: Rounds) -> None:
        """Lead the model through its rounds."""
        while not self.finished:
            number, shown = self._number, RoundPrompt((), (), (), 0)
            try:
                shown = self.show(language)
                completion = language.complete(
                    shown.messages,
                    max_tokens=self._limits.reply_tokens,
                    grammar=self.grammar(shown),
                    timeout_s=self._limits.round_timeout_s,
                )
            except ModelError as error:
                self._opened.notes.append(f"The language model failed in round {number}: {error}")
                rounds.add(self.fail(shown))
                return
            entry = self.take(shown, completion)
            rounds.add(entry)
            if entry.rejected:
                self._opened.notes.append(
                    f"The model's answer of round {number} was not taken: {entry.rejected}."
                )

    def _search_again(self, query: str) -> tuple[Search | None, str]:
        """The model's own search, and what to tell it when that was asked before or found nothing new."""
        pool, sentences = self._opened.pool, self._prompt.sentences
        if pool.has_asked(query):
            return None, sentences["repeated"].format(searches="; ".join(pool.queries.values()))
        found, search = self._recall.search(query, self._opened.question, self._opened.audience)
        terms = tuple(content_terms(query))
        pool.related.update(item.id for item in found if terms and self._recall.is_about(item, terms))
        if pool.add(query, found) == 0:
            return search, sentences["empty"].format(search=query)
        return search, ""

    def _judge(self, turn: Turn, shown: RoundPrompt) -> tuple[Said | None, str]:
        if turn.action != "answer":
            return None, "it holds no action that can be read"
        if says_unknown(turn.content):
            return None, ""
        question, speech = self._opened.question, self._opened.speech
        cited, fault = self._proof(turn, shown)
        if fault:
            if lack_of(turn.content, question, self._labels()):
                self.pointed = _copied_from(turn, shown, speech)
            return None, fault
        labels = self._labels()
        if told_as_heard(turn.content, cited, question, labels) and not quotes_answer(cited, question):
            return None, "it is in the words of a memory that does not answer"
        lines = "\n".join(shown_line(item, speech) for item in cited)
        asked = coverage(question.terms, lines) if question.terms else 1.0
        text = as_told(turn.content, cited, question, labels, speech)
        return Said(text, cited, "model", 0.5 + 0.4 * asked), ""

    def _proof(self, turn: Turn, shown: RoundPrompt) -> tuple[tuple[Evidence, ...], str]:
        """The memories that bear the answer out: those it cites, else the best one shown that does; or the fault.

        Small models answer rightly and cite the neighbouring number, so the citation is checked and not believed.
        """
        question, pool = self._opened.question, self._opened.pool
        labels = self._labels()
        cited = _cited(turn, shown)
        first_fault = ""
        for proof in (cited, *((item,) for item in reversed(shown.shown))):
            fault = fault_of(
                turn.content, proof, [self._line(item, turn.content) for item in proof], question, labels
            )
            if not fault and not any(item.id in pool.strong | pool.related for item in proof):
                fault = "the memories it cites are not about the question"
            sought = any(item.id in pool.related for item in proof)
            if not fault and not sought and not is_to_the_point(turn.content, proof, question):
                fault = "it tells of something else"
            if not fault:
                return proof, ""
            first_fault = first_fault or fault
        return (), first_fault

    def _line(self, item: Evidence, text: str) -> str:
        """A memory as the model saw it, with the words of its answer that it says in another language."""
        line, language = shown_line(item, self._opened.speech), self._opened.question.language
        if self._recall.words is None or item.translated is None:
            return line
        return f"{line} {self._recall.words.said_in(quote_in(item.line) or item.line, text, language)}"


def _cited(turn: Turn, shown: RoundPrompt) -> tuple[Evidence, ...]:
    return tuple(shown.shown[number - 1] for number in turn.cited if 1 <= number <= len(shown.shown))


def _copied_from(turn: Turn, shown: RoundPrompt, speech: Speech) -> Evidence | None:
    """The memory shown that holds most of the words of the model's turn, if it holds as many as a proof must."""
    terms = content_terms(f"{turn.reasoning} {turn.content}")
    held = [(coverage(terms, shown_line(item, speech)), item) for item in shown.shown]
    share, best = max(held, key=lambda one: one[0], default=(0.0, None))
    return best if share >= MIN_GROUNDED else None


def _round(
    number: int, action: Action, turn: Turn, hint: str, shown: RoundPrompt, completion: Completion | None
) -> Round:
    return Round(
        number=number,
        action=action,
        reasoning=turn.reasoning,
        content=turn.content,
        cited=tuple(item.id for item in _cited(turn, shown)),
        rejected="",
        hint=hint,
        left_out=tuple(item.id for item in shown.left_out),
        search=None,
        prompt="\n".join(f"{message.role}: {message.content}" for message in shown.messages),
        raw=completion.text if completion else "",
        prompt_tokens=completion.prompt_tokens if completion else 0,
        cached_tokens=completion.cached_tokens if completion else 0,
        generated_tokens=completion.generated_tokens if completion else 0,
        duration_s=round(completion.duration_s, 4) if completion else 0.0,
    )
