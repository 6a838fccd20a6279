"""Answers a question: round 0 by code, then rounds of reasoning and search with a language model, then judgement."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal
from zoneinfo import ZoneInfo

from memory_store.errors import DatabaseBusy, ReadOnlyStorage, StorageFull
from models.errors import ModelError
from models.language import Completion, LanguageModel
from runtime.answer import Action, Answer, Evidence, Method, Picture, Round, Search
from runtime.control_turn import RoundPrompt, Turn, build_prompt, evidence_line, read_turn, turn_grammar
from runtime.evidence_pool import EvidencePool
from runtime.fact_answers import answer_from_facts
from runtime.grounding import content_terms, coverage, found_terms
from runtime.judge import as_told, fault_of, says_unknown
from runtime.name_evidence import maybe_names
from runtime.object_answers import answer_about_objects
from runtime.pictures import pictures_of
from runtime.prompts import Prompt, load_prompt
from runtime.question import Question, is_named, read_question
from runtime.question_time import Household
from runtime.recall import Recall
from runtime.say import Speech
from runtime.timeline_answers import answer_from_timeline

Policy = Literal["abstain", "best_effort"]


@dataclass(frozen=True)
class ControlLimits:
    """reply_tokens: the most a model may write in a round; shown: the most memories it is shown at a time."""

    reply_tokens: int = 140
    shown: int = 6
    quoted: int = 2
    round_timeout_s: float = 300.0


@dataclass(frozen=True)
class _Said:
    """An answer before it is written down."""

    text: str
    evidence: tuple[Evidence, ...]
    method: Method
    confidence: float
    abstained: bool = False
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class _Rounds:
    """The rounds so far; each is told to whoever follows the answer."""

    told: Callable[[Round], None] | None
    done: list[Round] = field(default_factory=list)

    def add(self, one: Round) -> None:
        self.done.append(one)
        if self.told is not None:
            self.told(one)


class Control:
    """Answers questions over a memory. Blocking, and used from the one thread that owns the recall's store.

    clock: now, in UTC seconds; timer: seconds of any origin, for durations. policy: "abstain" says honestly that
    nothing is known; "best_effort" quotes the nearest memories instead.
    """

    def __init__(
        self,
        recall: Recall,
        language: LanguageModel | None,
        *,
        clock: Callable[[], float],
        zone: ZoneInfo,
        household: Household | None = None,
        max_rounds: int = 5,
        policy: Policy = "abstain",
        limits: ControlLimits | None = None,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._recall = recall
        self._store = recall.store
        self._language = language
        self._clock = clock
        self._zone = zone
        self._household = household or Household(zone)
        self._max_rounds = max_rounds
        self._policy = policy
        self._limits = limits or ControlLimits()
        self._timer = timer

    def answer(
        self,
        text: str,
        *,
        asker: int | None = None,
        on_round: Callable[[Round], None] | None = None,
        notes: Sequence[str] = (),
    ) -> Answer:
        """The answer, already in the store's traces. asker: id of the person who asks; notes: to begin with.

        Raises QuestionError.
        """
        started, now = self._timer(), self._clock()
        question = read_question(
            text,
            self._store.people(),
            self._store.person_of,
            now,
            self._zone,
            asker=asker,
            maybe=maybe_names(self._store.name_evidence()),
            household=self._household,
        )
        speech = Speech(question.language, self._zone, now)
        notes = [*notes, *question.hearsay]
        if question.ahead:
            notes.append(f"{question.ahead.phrase!r} lies ahead: what was said of it is searched.")
        rounds = _Rounds(on_round)
        first: Search | None = None
        said = self._without_search(question, speech)
        if said is None:
            pool = EvidencePool()
            found, first = self._recall.search(question.text, question)
            pool.add(question.text, found)
            pool.strong.update(item.id for item in found if self._recall.is_strong(item, question))
            if first.widened:
                notes.append("Nothing strong is tied to the persons named: everything was searched.")
            said = self._with_search(question, speech, pool, rounds, notes)
        answer = Answer(
            question=question.text,
            language=question.language,
            text=said.text,
            evidence=said.evidence,
            persons=self._persons_in(said.text),
            method=said.method,
            abstained=said.abstained,
            confidence=round(said.confidence, 3),
            first_search=first,
            rounds=tuple(rounds.done),
            notes=tuple(notes),
            time_range=(
                (question.time.start_utc_s, question.time.end_utc_s, question.time.phrase)
                if question.time
                else None
            ),
            asker=asker,
            model_calls=sum(item.action != "failed" for item in rounds.done),
            duration_s=round(self._timer() - started, 4),
            asked_utc_s=now,
            pictures=said.pictures,
            about=tuple(person.id for person in question.persons),
        )
        return self.keep(answer)

    def keep(self, answer: Answer) -> Answer:
        """The answer with its trace; where no trace can be kept, it is still an answer, and says so."""
        try:
            with self._store.transaction():
                trace_id = self._store.save_trace(answer.question, answer.text, answer.to_json())
        except (ReadOnlyStorage, StorageFull, DatabaseBusy) as error:
            return replace(answer, notes=(*answer.notes, f"No trace of this answer was kept: {error}."))
        return replace(answer, trace_id=trace_id)

    def _without_search(self, question: Question, speech: Speech) -> _Said | None:
        if question.unknown and not question.persons:
            text = speech.phrase("unknown_person", names=speech.enumeration(list(question.unknown)))
            return _Said(text, (), "computed", 0.0, abstained=True)
        if question.unclear_time:
            words, reason = question.unclear_time
            text = speech.phrase("unclear_time", words=words, reason=speech.phrase(f"time_{reason}"))
            return _Said(text, (), "computed", 0.0, abstained=True)
        computed = (
            answer_about_objects(self._store, question, speech)
            or answer_from_timeline(self._store, question, speech)
            or answer_from_facts(self._store, question, speech)
        )
        if computed is None:
            return None
        evidence = tuple(self._recall.evidence_of(computed.node_ids))
        pictures = pictures_of(self._store, computed.pictures)
        return _Said(computed.text, evidence, "computed", computed.confidence, pictures=pictures)

    def _with_search(
        self, question: Question, speech: Speech, pool: EvidencePool, rounds: _Rounds, notes: list[str]
    ) -> _Said:
        if self._language is None:
            return self._extract(question, speech, pool, "no_model")
        accepted, unknown = self._ask_model(self._language, question, speech, pool, rounds, notes)
        if accepted is not None:
            return accepted
        failed = any(item.action == "failed" for item in rounds.done)
        return self._extract(
            question, speech, pool, "unknown_model" if unknown and not failed else "extractive"
        )

    def _ask_model(
        self,
        language: LanguageModel,
        question: Question,
        speech: Speech,
        pool: EvidencePool,
        rounds: _Rounds,
        notes: list[str],
    ) -> tuple[_Said | None, bool]:
        """Up to max_rounds rounds; the answer that stood judgement, if any, and whether the model knows none."""
        prompt = load_prompt("control", question.language)
        hint = ""
        for number in range(1, self._max_rounds + 1):
            last = number == self._max_rounds
            hints = [part for part in (hint, prompt.sentences["last" if last else "instruction"]) if part]
            shown = build_prompt(
                prompt,
                question.text,
                list(pool.items.values()),
                hints,
                speech,
                language,
                reply_tokens=self._limits.reply_tokens,
                max_shown=self._limits.shown,
            )
            try:
                completion = language.complete(
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
                search, hint = self._search_again(prompt, turn.content, question, pool)
                rounds.add(replace(entry, search=search))
                continue
            said, rejected = self._judge(turn, question, speech, shown, pool)
            rounds.add(replace(entry, rejected=rejected))
            if rejected:
                notes.append(f"The model's answer of round {number} was not taken: {rejected}.")
            return said, turn.action == "answer" and says_unknown(turn.content)
        return None, True

    def _search_again(
        self, prompt: Prompt, query: str, question: Question, pool: EvidencePool
    ) -> tuple[Search | None, str]:
        """The model's own search, and what to tell it when that was asked before or found nothing new."""
        if pool.has_asked(query):
            return None, prompt.sentences["repeated"].format(searches="; ".join(pool.queries.values()))
        found, search = self._recall.search(query, question)
        terms = tuple(content_terms(query))
        pool.related.update(item.id for item in found if terms and self._recall.is_about(item, terms))
        if pool.add(query, found) == 0:
            return search, prompt.sentences["empty"].format(search=query)
        return search, ""

    def _judge(
        self, turn: Turn, question: Question, speech: Speech, shown: RoundPrompt, pool: EvidencePool
    ) -> tuple[_Said | None, str]:
        if turn.action != "answer":
            return None, "it holds no action that can be read"
        if says_unknown(turn.content):
            return None, ""
        cited, fault = self._proof(turn, question, speech, shown, pool)
        if fault:
            return None, fault
        lines = "\n".join(evidence_line(item, speech) for item in cited)
        asked = coverage(question.terms, lines) if question.terms else 1.0
        text = as_told(turn.content, cited, question, self._labels(), speech)
        return _Said(text, cited, "model", 0.5 + 0.4 * asked), ""

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
                turn.content, proof, [evidence_line(item, speech) for item in proof], question, labels
            )
            if not fault and not any(item.id in pool.strong | pool.related for item in proof):
                fault = "the memories it cites are not about the question"
            if not fault:
                return proof, ""
            first_fault = first_fault or fault
        return (), first_fault

    def _extract(self, question: Question, speech: Speech, pool: EvidencePool, key: str) -> _Said:
        """The best memories quoted as they are, or an honest "I don't know" when none is about the question."""
        ranked = sorted(
            pool.items.values(),
            key=lambda item: (-coverage(question.terms, item.line), -item.score, item.id),
        )
        strong = [item for item in ranked if item.id in pool.strong]
        if not strong and self._policy == "best_effort":
            strong = ranked
        if not strong:
            return _Said(_unknown(question, speech, pool), (), "extractive", 0.0, abstained=True)
        chosen = sorted(strong[: self._limits.quoted], key=lambda item: (item.start_utc_s, item.id))
        lines = [
            speech.phrase("line", time=speech.moment(item.start_utc_s), text=speech.memory(item.line))
            for item in chosen
        ]
        abstained = key == "unknown_model" and self._policy == "abstain"
        text = speech.phrase(key, lines=speech.phrase("line_join").join(lines))
        return _Said(text, tuple(chosen), "extractive", 0.0 if abstained else 0.4, abstained)

    def _labels(self) -> list[str]:
        return [person.label for person in self._store.people()]

    def _persons_in(self, text: str) -> tuple[str, ...]:
        return tuple(label for label in dict.fromkeys(self._labels()) if is_named(label, text))


def _unknown(question: Question, speech: Speech, pool: EvidencePool) -> str:
    """An honest "I don't know" that names the words which stand in nothing that was found."""
    found = found_terms(question.terms, "\n".join(item.line for item in pool.items.values()))
    words = [term for term in question.terms if term not in found]
    when = {"when": question.time.phrase} if question.time else {}
    key = "unknown_then" if when else "unknown"
    if question.language == "zh" or not words:
        return speech.phrase(f"{key}_bare", **when)
    return speech.phrase(key, topic=speech.enumeration([f'"{word}"' for word in words[:4]]), **when)


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
