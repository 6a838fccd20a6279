"""Answers a question: round 0 by code, then rounds of reasoning and search with a language model, then judgement."""

import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Literal
from zoneinfo import ZoneInfo

from memory_store.errors import DatabaseBusy, ReadOnlyStorage, StorageFull
from models.language import LanguageModel
from runtime.answer import Answer, Evidence, Round, Search
from runtime.control_rounds import ControlLimits, ModelRounds, Opened, Rounds, Said
from runtime.control_switches import ControlSwitches, switched
from runtime.evidence_pool import EvidencePool
from runtime.evidence_words import holds_always, quoted_line, speaks_of
from runtime.fact_answers import answer_from_facts
from runtime.grounding import coverage, found_terms
from runtime.heard import trust_last
from runtime.judge import quotes_answer
from runtime.name_evidence import maybe_names
from runtime.object_answers import answer_about_objects
from runtime.pictures import pictures_of
from runtime.privacy import EVERYBODY, Audience
from runtime.prompts import Language, Prompt, load_prompt
from runtime.question import Question, is_named, read_question, unresolved_question
from runtime.question_time import Household, TimeRange
from runtime.quotes import only_asks
from runtime.recall import Recall
from runtime.relatives import relative_of
from runtime.say import Speech
from runtime.shown_turn import ComputeShown
from runtime.timeline_answers import MAX_EVIDENCE, answer_from_timeline

Policy = Literal["abstain", "best_effort"]


class Control:
    """Answers questions over a memory. Blocking, and used from the one thread that owns the recall's store.

    clock: now, in UTC seconds; timer: seconds of any origin, for durations. policy: "abstain" says honestly that
    nothing is known; "best_effort" quotes the nearest memories instead. switches, prompt_of: for researchers.
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
        switches: ControlSwitches | None = None,
        prompt_of: Callable[[Language], Prompt] | None = None,
    ) -> None:
        self._switches = switches or ControlSwitches()
        self._recall = recall if self._switches.semantic else recall.without_semantic()
        self._store = recall.store
        self._language = language
        self._clock = clock
        self._zone = zone
        self._household = household or Household(zone)
        self._max_rounds = max_rounds
        self._policy = policy
        self._limits = limits or ControlLimits()
        self._timer = timer
        self._prompt_of = prompt_of or partial(load_prompt, "control")

    def answer(
        self,
        text: str,
        *,
        asker: int | None = None,
        on_round: Callable[[Round], None] | None = None,
        notes: Sequence[str] = (),
        audience: Audience = EVERYBODY,
        about: ComputeShown | None = None,
        before_clip: int | None = None,
    ) -> Answer:
        """The answer, already in the store's traces.

        asker: id of the person who asks; notes: to begin with; audience: what may be told, by default all; about: what
        answers from the picture or sound that came with the question; before_clip: as it would have been answered when
        this clip began. Raises QuestionError, and UnknownId for a clip that nobody knows.
        """
        answer = self.at(before_clip)._answered(text, asker, on_round, notes, audience, about)
        return self.keep(replace(answer, asked_utc_s=self._clock(), before_clip=before_clip))

    def at(self, before_clip: int | None) -> "Control":
        """The same as it would have answered when this clip began (None: now), apart where equivalences are off.

        Raises UnknownId.
        """
        memory = self
        if before_clip is not None:
            began_utc_s = self._store.clip(before_clip).start_utc_s
            memory = memory._over(self._recall.as_of(before_clip), lambda: began_utc_s)
        if not self._switches.equivalences:
            memory = memory._over(memory._recall.apart(), memory._clock)
        return memory

    def _over(self, recall: Recall, clock: Callable[[], float]) -> "Control":
        """The same over a memory that was made of this one."""
        over = copy(self)
        over._recall, over._store, over._clock = recall, recall.store, clock
        return over

    def _answered(
        self,
        text: str,
        asker: int | None,
        on_round: Callable[[Round], None] | None,
        notes: Sequence[str],
        audience: Audience,
        about: ComputeShown | None,
    ) -> Answer:
        """The answer, not yet in the traces."""
        started, rounds = self._timer(), Rounds(on_round)
        opened = self.open(text, asker=asker, notes=notes, audience=audience, about=about)
        question, speech = opened.question, opened.speech
        said = opened.said or self._with_search(opened, rounds)
        return Answer(
            question=question.text,
            language=question.language,
            text=said.text,
            evidence=said.evidence,
            persons=self._persons_in(said.text),
            method=said.method,
            abstained=said.abstained,
            confidence=round(said.confidence, 3),
            first_search=opened.first,
            rounds=tuple(rounds.done),
            notes=tuple(opened.notes),
            time_range=(
                (question.time.start_utc_s, question.time.end_utc_s, question.time.phrase)
                if question.time
                else None
            ),
            asker=asker,
            model_calls=sum(item.action != "failed" for item in rounds.done),
            duration_s=round(self._timer() - started, 4),
            asked_utc_s=speech.now_utc_s,
            pictures=said.pictures,
            about=tuple(person.id for person in question.persons),
        )

    def open(
        self,
        text: str,
        *,
        asker: int | None = None,
        notes: Sequence[str] = (),
        audience: Audience = EVERYBODY,
        about: ComputeShown | None = None,
    ) -> Opened:
        """Round 0: the question read, and answered by code or searched for. Raises QuestionError."""
        now = self._clock()
        question = self._read(text, asker, now)
        speech = Speech(question.language, self._zone, now)
        pool, told = EvidencePool(), [*notes, *question.hearsay]
        if question.ahead:
            told.append(f"{question.ahead.phrase!r} lies ahead: what was said of it is searched.")
        if question.unclear_time and not question.needs_time:
            told.append(f"{question.unclear_time[0]!r} is no time known here: its words are searched.")
        said = self._refused(audience, speech) or self._without_search(question, speech, audience, about)
        first = None
        if said is None and self._switches.round_zero:
            first = self._first_search(question, pool, told, audience)
        return Opened(question, speech, pool, told, audience, first, said)

    def rounds(self, opened: Opened) -> ModelRounds:
        """The rounds of a question that code did not answer, not yet begun."""
        prompt = switched(self._prompt_of(opened.question.language), self._switches)
        return ModelRounds(opened, self._recall, prompt, self._limits, self._max_rounds, self._labels)

    def _read(self, text: str, asker: int | None, now_utc_s: float) -> Question:
        if not self._switches.round_zero:
            return unresolved_question(text)
        return read_question(
            text,
            self._store.people(),
            self._store.person_of,
            now_utc_s,
            self._zone,
            asker=asker,
            maybe=maybe_names(self._store.name_evidence()),
            household=self._household,
            relative=partial(relative_of, self._store),
        )

    def _first_search(
        self, question: Question, pool: EvidencePool, notes: list[str], audience: Audience
    ) -> Search:
        """The search for the question itself, which costs no call of the model."""
        found, first = self._recall.search(question.text, question, audience)
        pool.add(question.text, found)
        strong = [item for item in found if self._recall.is_strong(item, question)]
        if ahead := question.ahead:
            strong = [
                item for item in strong if holds_always(item) or speaks_of(item, ahead, self._household)
            ]
        if question.time and not strong:
            strong = self._told_of(question, question.time, pool, notes, audience)
        pool.strong.update(item.id for item in strong)
        if first.widened:
            notes.append("Nothing strong is tied to the persons named: everything was searched.")
        return first

    def _told_of(
        self, question: Question, time: TimeRange, pool: EvidencePool, notes: list[str], audience: Audience
    ) -> list[Evidence]:
        """What was said of the time asked about at other times ("tomorrow I must work"), and is about the question."""
        ever = replace(question, time=None)
        found, _ = self._recall.search(question.text, ever, audience)
        told = [
            item
            for item in found
            if self._recall.is_strong(item, ever) and speaks_of(item, time, self._household)
        ]
        if pool.add(question.text, told):
            notes.append(f"What was said at other times of {time.phrase!r} is taken as well.")
        return told

    def keep(self, answer: Answer) -> Answer:
        """The answer with its trace; where no trace can be kept, it is still an answer, and says so."""
        try:
            with self._store.transaction():
                trace_id = self._store.save_trace(answer.question, answer.text, answer.to_json())
        except (ReadOnlyStorage, StorageFull, DatabaseBusy) as error:
            return replace(answer, notes=(*answer.notes, f"No trace of this answer was kept: {error}."))
        return replace(answer, trace_id=trace_id)

    def _refused(self, audience: Audience, speech: Speech) -> Said | None:
        """Nothing is told to whom the household tells nothing, not even that nothing is known."""
        return Said(speech.phrase("private"), (), "computed", 0.0, True) if audience.scope == "none" else None

    def _without_search(
        self, question: Question, speech: Speech, audience: Audience, about: ComputeShown | None
    ) -> Said | None:
        if question.unknown and not question.persons:
            text = speech.phrase("unknown_person", names=speech.enumeration(list(question.unknown)))
            return Said(text, (), "computed", 0.0, abstained=True)
        if question.needs_time:
            words, reason = question.needs_time
            text = speech.phrase("unclear_time", words=words, reason=speech.phrase(f"time_{reason}"))
            return Said(text, (), "computed", 0.0, abstained=True)
        computed = (
            (about and about(self._store, question, speech))
            or answer_about_objects(self._store, question, speech)
            or answer_from_timeline(self._store, question, speech, self._recall.words)
            or (self._switches.semantic and answer_from_facts(self._store, question, speech))
        )
        if not computed:
            return None
        shown = (*computed.node_ids, *computed.pictures)
        if audience.may_hear(shown) != set(shown) or (
            audience.scope != "all" and (len(computed.node_ids) >= MAX_EVIDENCE or not computed.node_ids)
        ):  # beyond MAX_EVIDENCE not all that it rests on is named, and "never" tells of everything
            return Said(speech.phrase("private_part"), (), "computed", 0.0, abstained=True)
        evidence = tuple(self._recall.evidence_of(computed.node_ids))
        pictures = pictures_of(self._store, computed.pictures)
        return Said(
            computed.text, evidence, "computed", computed.confidence, computed.confidence == 0.0, pictures
        )

    def _with_search(self, opened: Opened, rounds: Rounds) -> Said:
        if self._language is None:
            return self._extract(opened, "no_model")
        model = self.rounds(opened)
        model.ask(self._language, rounds)
        return (
            model.said
            or self._pointed_at(model, opened)
            or self._extract(opened, "model", declined=model.unknown)
        )

    def _pointed_at(self, model: ModelRounds, opened: Opened) -> Said | None:
        """The memory whose words a model gave as its reason, where that answers and its own answer does not."""
        memory, question = model.pointed, opened.question
        if memory is None or trust_last(memory.line, question.text):
            return None
        answers = quotes_answer([memory], question, pointed=True)
        return self._quoted([memory], opened, "model") if answers else None

    def _extract(self, opened: Opened, key: Literal["model", "no_model"], *, declined: bool = False) -> Said:
        """The best memories quoted as they are: an answer where their words bear that out, else after "I don't know".

        declined: the model itself did not know.
        """
        question, speech, pool = opened.question, opened.speech, opened.pool
        ranked = sorted(
            pool.items.values(),
            key=lambda item: (
                only_asks(item.line),
                -coverage(question.terms, item.words),
                -item.score,
                item.id,
            ),
        )
        strong = [item for item in ranked if item.id in pool.strong]
        strong = [item for item in strong if not trust_last(item.line, question.text)] or strong
        if not strong and self._policy == "best_effort":
            strong = ranked
        near = strong or [item for item in ranked if self._recall.is_near(item)]
        if not near:
            return Said(_unknown(question, speech, pool), (), "extractive", 0.0, abstained=True)
        chosen = sorted(near[: self._limits.quoted], key=lambda item: (item.start_utc_s, item.id))
        if self._policy == "best_effort" or (strong and not declined and quotes_answer(chosen, question)):
            return self._quoted(chosen, opened, key)
        return self._quoted(chosen, opened, key, abstained=True)

    def _quoted(
        self,
        chosen: Sequence[Evidence],
        opened: Opened,
        key: Literal["model", "no_model"],
        *,
        abstained: bool = False,
    ) -> Said:
        """Memories as they are, as the answer or after "I don't know"."""
        speech = opened.speech
        lines = speech.phrase("line_join").join(quoted_line(item, speech) for item in chosen)
        text = speech.phrase(f"{'near' if abstained else 'quoted'}_{key}", lines=lines)
        return Said(text, tuple(chosen), "extractive", 0.0 if abstained else 0.4, abstained=abstained)

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
