"""Conversations: what was asked and answered before, follow-ups that lean on it, and corrections in words."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from memory_store.errors import ChangeContradicted, InvalidValue, UnknownId
from memory_store.records import Person
from memory_store.store import MemoryStore
from runtime.answer import Answer, Evidence
from runtime.answering import Asked
from runtime.config import PrivacySettings
from runtime.control import Control
from runtime.follow_up import Before, made_whole
from runtime.grounding import language_of
from runtime.privacy import Audience, audience_of
from runtime.question import check_question
from runtime.question_time import Household
from runtime.say import Speech
from runtime.shown_reader import ShownError, ShownReader
from runtime.shown_turn import ShownTurn, shown_turn
from runtime.spoken_correction import Correction, person_called, read_correction

FORGOTTEN_AFTER_S = 600.0
MOST_CONVERSATIONS = 100

_Key = tuple[str, int | None]  # a conversation, and before which clip the memory is asked


@dataclass
class _Talk:
    """One conversation. corrections: rows of the history that were made in it and stand."""

    last: Answer
    corrections: list[int]


class Conversations:
    """Answers with what was said before in mind. Used from the one thread that owns the store."""

    def __init__(
        self,
        control: Control,
        store: MemoryStore,
        household: Household,
        clock: Callable[[], float],
        privacy: PrivacySettings | None = None,
        shown: ShownReader | None = None,
    ) -> None:
        self._control = control
        self._store = store
        self._household = household
        self._clock = clock
        self._privacy = privacy or PrivacySettings()
        self._shown = shown
        self._talks: OrderedDict[_Key, _Talk] = OrderedDict()

    def answer(self, asked: Asked) -> Answer:
        """The answer to a question, or to a correction of the answer before.

        A question to the memory before a clip is of another conversation than one to the memory of now. Raises
        QuestionError, ShownError, UnknownId.
        """
        key = None if asked.conversation is None else (asked.conversation, asked.before_clip)
        text, talk = check_question(asked.text), self._talk(key)
        audience = self._audience(asked)
        correction = read_correction(asked.text) if talk is not None else None
        if asked.picture is not None or asked.sound is not None:
            turn = self._look(asked, text, audience)  # it stands for itself: nothing before is leant on
        elif talk is not None and correction is not None:
            return self._corrected(text, asked, correction, talk)
        else:
            turn = ShownTurn(text if talk is None else self._whole(text, talk.last, asked.before_clip))
        notes = [*turn.notes, f"Asked as {asked.text!r}."] if turn.text != text else turn.notes
        answer = self._control.answer(
            turn.text,
            asker=asked.asker,
            on_round=asked.on_round,
            notes=notes,
            audience=audience,
            about=turn.answer,
            before_clip=asked.before_clip,
        )
        self._remember(key, answer)
        return answer

    def _look(self, asked: Asked, text: str, audience: Audience) -> ShownTurn:
        if audience.scope == "none":  # whom nothing is told, nobody is shown to either
            return ShownTurn(text)
        if self._shown is None:
            raise ShownError("pictures and sounds cannot be asked about here")
        return shown_turn(self._shown, self._memory(asked.before_clip), asked, text)

    def _memory(self, before_clip: int | None) -> MemoryStore:
        return self._store if before_clip is None else self._store.as_of(before_clip)

    def _audience(self, asked: Asked) -> Audience:
        asker = None if asked.asker is None else self._store.person(asked.asker)
        return audience_of(self._privacy, asker, self._store.witnessed, spoken=asked.spoken)

    def _talk(self, key: _Key | None) -> _Talk | None:
        if key is None:
            return None
        talk = self._talks.get(key)
        if talk is not None and self._clock() - talk.last.asked_utc_s > FORGOTTEN_AFTER_S:
            del self._talks[key]
            return None
        return talk

    def _remember(self, key: _Key | None, answer: Answer) -> None:
        if key is None:
            return
        before = self._talks.pop(key, None)
        self._talks[key] = _Talk(answer, before.corrections if before else [])
        while len(self._talks) > MOST_CONVERSATIONS:
            self._talks.popitem(last=False)

    def _whole(self, text: str, last: Answer, before_clip: int | None) -> str:
        people = self._memory(before_clip).people()
        now = self._clock() if before_clip is None else self._store.clip(before_clip).start_utc_s
        before = Before(
            question=last.question,
            asked=tuple(person for person in people if person.id in last.about),
            told=tuple(person for person in people if person.label in last.persons),
            time=last.time_range[2] if last.time_range else "",
        )
        return made_whole(text, before, people, now, self._household)

    def _corrected(self, text: str, asked: Asked, correction: Correction, talk: _Talk) -> Answer:
        now = self._clock()
        speech = Speech(language_of(text), self._household.zone, now)
        if self._audience(asked).scope != "all":
            said = speech.phrase("correction_stranger")
        elif asked.before_clip is not None:
            said = speech.phrase("correction_past")
        elif correction.kind == "undo":
            said = self._undo(talk, speech)
        else:
            said = self._correct(correction, talk, speech)
        answer = replace(
            talk.last, question=text, language=speech.language, text=said, rounds=(), first_search=None, notes=(),
            method="computed", abstained=False, confidence=1.0, model_calls=0, duration_s=0.0, asker=asked.asker,
            asked_utc_s=now, persons=(), trace_id=None, about=talk.last.about,
        )  # fmt: skip
        kept = self._control.keep(answer)
        talk.last = replace(talk.last, asked_utc_s=now)
        return kept

    def _correct(self, correction: Correction, talk: _Talk, speech: Speech) -> str:
        lines = [item for item in talk.last.evidence if self._tells_of_one(item)]
        if len(lines) != 1:
            if not lines:
                return speech.phrase("correction_none")
            first = lines[0].id
            return speech.phrase("correction_many", count=len(lines), first=first, name=correction.name)
        called = person_called(correction.name, self._store.people())
        if len(called) > 1:
            return speech.phrase("correction_who", count=len(called), name=correction.name)
        try:
            if correction.kind == "was_not":
                return self._was_not(lines[0], correction.name, called, talk, speech)
            return self._was(lines[0], correction.name, called, talk, speech)
        except (InvalidValue, UnknownId):
            return speech.phrase("correction_same", person=correction.name)

    def _was(self, line: Evidence, name: str, called: tuple[Person, ...], talk: _Talk, speech: Speech) -> str:
        with self._store.transaction():
            if called:
                person_id = called[0].id
            else:
                person_id = self._store.create_person(tentative=False)
                self._store.name_person(person_id, name, source="resident")
            self._store.reassign_line(line.id, person_id)
        talk.corrections.append(self._store.history()[-1].id)
        return speech.phrase("correction_done", person=self._store.person(person_id).label)

    def _was_not(
        self, line: Evidence, name: str, called: tuple[Person, ...], talk: _Talk, speech: Speech
    ) -> str:
        if not called or called[0].label not in self._store.render(line.text):
            return speech.phrase("correction_other", name=name)
        with self._store.transaction():
            self._store.reassign_line(line.id, None)
        talk.corrections.append(self._store.history()[-1].id)
        return speech.phrase("correction_not", person=called[0].label)

    def _undo(self, talk: _Talk, speech: Speech) -> str:
        if not talk.corrections:
            return speech.phrase("correction_nothing")
        try:
            with self._store.transaction():
                self._store.undo(talk.corrections.pop())
        except (ChangeContradicted, UnknownId):
            return speech.phrase("correction_nothing")
        return speech.phrase("correction_undone")

    def _tells_of_one(self, item: Evidence) -> bool:
        """Whether a correction can be about it: a line in which somebody is seen or heard."""
        return item.kind == "episodic" and item.text != self._store.render(item.text)
