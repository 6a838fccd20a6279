"""The rounds of a question: a language model reasons, searches and answers, and its answer is judged."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from models.errors import ModelError
from models.language import Completion, LanguageModel
from runtime.answer import Action, Evidence, Method, Picture, Round, Search
from runtime.control_switches import ControlSwitches, switched
from runtime.control_turn import RoundPrompt, Turn, build_prompt, read_turn, turn_grammar
from runtime.evidence_pool import EvidencePool
from runtime.evidence_words import shown_line
from runtime.grounding import content_terms, coverage
from runtime.judge import as_told, fault_of, says_unknown
from runtime.privacy import Audience
from runtime.prompts import Prompt, load_prompt
from runtime.question import Question
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


class ModelRounds:
    """Asks the model up to `max_rounds` times. labels: what all persons known are called now."""

    def __init__(
        self,
        recall: Recall,
        language: LanguageModel,
        limits: ControlLimits,
        max_rounds: int,
        labels: Callable[[], list[str]],
        switches: ControlSwitches,
    ) -> None:
        self._recall = recall
        self._language = language
        self._limits = limits
        self._max_rounds = max_rounds
        self._labels = labels
        self._switches = switches

    def ask(
        self,
        question: Question,
        speech: Speech,
        pool: EvidencePool,
        rounds: Rounds,
        notes: list[str],
        audience: Audience,
    ) -> tuple[Said | None, bool]:
        """Up to max_rounds rounds; the answer that stood judgement, if any, and whether the model knows none."""
        prompt = switched(load_prompt("control", question.language), self._switches)
        hint = ""
        for number in range(1, self._max_rounds + 1):
            last = number == self._max_rounds
            hints = [part for part in (hint, prompt.sentences["last" if last else "instruction"]) if part]
            shown = RoundPrompt((), (), (), 0)
            try:
                shown = build_prompt(
                    prompt,
                    question.text,
                    list(pool.items.values()),
                    hints,
                    speech,
                    self._language,
                    reply_tokens=self._limits.reply_tokens,
                    max_shown=self._limits.shown,
                )
                completion = self._language.complete(
                    shown.messages,
                    max_tokens=self._limits.reply_tokens,
                    grammar=turn_grammar(prompt, len(shown.shown), last=last),
                    timeout_s=self._limits.round_timeout_s,
                )
            except ModelError as error:
                notes.append(f"The language model failed in round {number}: {error}")
                rounds.add(_round(number, "failed", Turn("unreadable", "", "", ()), hint, shown, None))
                return None, False
            turn = read_turn(prompt, completion.text)
            entry = _round(number, turn.action, turn, hint, shown, completion)
            if turn.action == "search" and not last:
                search, hint = self._search_again(prompt, turn.content, question, pool, audience)
                rounds.add(replace(entry, search=search))
                continue
            said, rejected = self._judge(turn, question, speech, shown, pool)
            rounds.add(replace(entry, rejected=rejected))
            if rejected:
                notes.append(f"The model's answer of round {number} was not taken: {rejected}.")
            return said, turn.action == "answer" and says_unknown(turn.content)
        return None, True

    def _search_again(
        self, prompt: Prompt, query: str, question: Question, pool: EvidencePool, audience: Audience
    ) -> tuple[Search | None, str]:
        """The model's own search, and what to tell it when that was asked before or found nothing new."""
        if pool.has_asked(query):
            return None, prompt.sentences["repeated"].format(searches="; ".join(pool.queries.values()))
        found, search = self._recall.search(query, question, audience)
        terms = tuple(content_terms(query))
        pool.related.update(item.id for item in found if terms and self._recall.is_about(item, terms))
        if pool.add(query, found) == 0:
            return search, prompt.sentences["empty"].format(search=query)
        return search, ""

    def _judge(
        self, turn: Turn, question: Question, speech: Speech, shown: RoundPrompt, pool: EvidencePool
    ) -> tuple[Said | None, str]:
        if turn.action != "answer":
            return None, "it holds no action that can be read"
        if says_unknown(turn.content):
            return None, ""
        cited, fault = self._proof(turn, question, speech, shown, pool)
        if fault:
            return None, fault
        lines = "\n".join(shown_line(item, speech) for item in cited)
        asked = coverage(question.terms, lines) if question.terms else 1.0
        text = as_told(turn.content, cited, question, self._labels(), speech)
        return Said(text, cited, "model", 0.5 + 0.4 * asked), ""

    def _proof(
        self, turn: Turn, question: Question, speech: Speech, shown: RoundPrompt, pool: EvidencePool
    ) -> tuple[tuple[Evidence, ...], str]:
        """The memories that bear the answer out: those it cites, else the best one shown that does; or the fault.

        Small models answer rightly and cite the neighbouring number, so the citation is checked and not believed.
        """
        labels = self._labels()
        cited = _cited(turn, shown)
        first_fault = ""
        for proof in (cited, *((item,) for item in reversed(shown.shown))):
            fault = fault_of(
                turn.content, proof, [shown_line(item, speech) for item in proof], question, labels
            )
            if not fault and not any(item.id in pool.strong | pool.related for item in proof):
                fault = "the memories it cites are not about the question"
            if not fault:
                return proof, ""
            first_fault = first_fault or fault
        return (), first_fault


def _cited(turn: Turn, shown: RoundPrompt) -> tuple[Evidence, ...]:
    return tuple(shown.shown[number - 1] for number in turn.cited if 1 <= number <= len(shown.shown))


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
