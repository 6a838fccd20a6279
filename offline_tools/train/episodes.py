"""One Search/Answer episode over a real memory with the robot's own prompts, for training and evaluation alike.

What the model is shown, how its turn is read, what a search finds and whether an answer stands is the robot's code
(runtime/control.py); whoever has the model writes the turns: TRL's trainer, verl's servers, or an evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from memory_store.errors import MemoryStoreError
from memory_store.records import VectorSpace
from memory_store.store import MemoryStore
from models.language import Completion, Message
from offline_tools.train.errors import TrainingError
from offline_tools.train.rl_questions import TrainingQuestion
from runtime.answer import Round
from runtime.control import Control
from runtime.control_rounds import ModelRounds, Opened
from runtime.control_turn import PromptMeasure, RoundPrompt
from runtime.question import QuestionError

MakeControl = Callable[[MemoryStore, Callable[[], float]], Control]


@dataclass(frozen=True)
class Played:
    """An episode when it is over.

    told: what the robot would tell, "" where the answer did not stand or none was given; written: the model's answer
    as it wrote it, "" where there is none; unknown: whether it said that it does not know; clips: those whose memories
    any search found, round 0 included; first: ids of the memories that round 0 found; reasons: whether the prompt asks
    for a line of reasoning; written_tokens: of all rounds together.
    """

    question: TrainingQuestion
    rounds: tuple[Round, ...]
    told: str
    written: str
    unknown: bool
    clips: frozenset[int]
    first: frozenset[int]
    reasons: bool
    written_tokens: int


class Episode:
    """A question's rounds: `prompt` and `reply` in turn until it is `finished`."""

    def __init__(
        self, question: TrainingQuestion, control: Control, opened: Opened, measure: PromptMeasure
    ) -> None:
        """opened: the question after round 0, for this episode alone."""
        self.question = question
        self._opened = opened
        self._rounds: ModelRounds = control.rounds(opened)
        self._measure = measure
        self._shown: RoundPrompt | None = None
        self._done: list[Round] = []

    @property
    def finished(self) -> bool:
        return self._rounds.finished

    def prompt(self) -> tuple[Message, ...]:
        """What the model is shown in the round at hand, as long as it is not replied to."""
        if self._shown is None:
            self._shown = self._rounds.show(self._measure)
        return self._shown.messages

    def grammar(self) -> str:
        """GBNF of what the robot lets a model write in the round at hand."""
        self.prompt()
        assert self._shown is not None
        return self._rounds.grammar(self._shown)

    def reply(self, text: str, tokens: int) -> Round:
        """Take the model's turn, of that many tokens."""
        self.prompt()
        assert self._shown is not None
        completion = Completion(text, 0, 0, tokens, 0.0, "stop")
        self._done.append(self._rounds.take(self._shown, completion))
        self._shown = None
        return self._done[-1]

    def played(self) -> Played:
        """What came of it so far."""
        last = self._done[-1] if self._done else None
        items = self._opened.pool.items.values()
        return Played(
            question=self.question,
            rounds=tuple(self._done),
            told=self._rounds.said.text if self._rounds.said else "",
            written=last.content if last and last.action == "answer" else "",
            unknown=self._rounds.unknown,
            clips=frozenset(item.clip_id for item in items if item.clip_id is not None),
            first=frozenset(self._opened.first.found if self._opened.first else ()),
            reasons=self._rounds.reasons,
            written_tokens=sum(one.generated_tokens for one in self._done),
        )


class Memories:
    """The memories that questions are asked of, each as it was when it is asked; at most `most_open` stay open.

    Of use from one thread. Questions of one memory at different times have stores of their own, since a store keeps
    one past at a time.
    """

    def __init__(
        self, root: Path, spaces: Sequence[VectorSpace], make_control: MakeControl, *, most_open: int = 64
    ) -> None:
        self.root = root
        self._spaces = spaces
        self._make_control = make_control
        self._most_open = most_open
        self._open: dict[tuple[object, ...], tuple[MemoryStore, Control]] = {}

    def episode(self, question: TrainingQuestion, measure: PromptMeasure) -> Episode:
        """A new episode. Raises TrainingError where the question cannot be asked, or code answers it."""
        return self.episodes(question, measure, 1)[0]

    def episodes(self, question: TrainingQuestion, measure: PromptMeasure, count: int) -> list[Episode]:
        """As many new episodes of one question, which share round 0. Raises TrainingError as `episode` does."""
        control = self._control(question)
        opened = self._opened(control, question)
        if opened.said is not None:
            raise TrainingError(f"question {question.id} is answered by code, not by a model")
        return [Episode(question, control, opened.copied(), measure) for _ in range(count)]

    def for_a_model(self, questions: Iterable[TrainingQuestion]) -> tuple[list[TrainingQuestion], int]:
        """The questions that code does not answer by itself, and how many it does. Raises TrainingError."""
        kept: list[TrainingQuestion] = []
        answered = 0
        for question in questions:
            if self._opened(self._control(question), question).said is None:
                kept.append(question)
            else:
                answered += 1
            self.rest()
        return kept, answered

    def rest(self) -> None:
        """Close what was opened longest ago, beyond what may stay open; no episode may be under way."""
        while len(self._open) > self._most_open:
            store, _ = self._open.pop(next(iter(self._open)))
            store.close()

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1][0].close()

    def _control(self, question: TrainingQuestion) -> Control:
        key = (question.memory, question.before_clip, question.asked_utc_s)
        if key not in self._open:
            try:
                self._open[key] = self._entered(question)
            except MemoryStoreError as error:
                raise TrainingError(f"question {question.id}, memory {question.memory}: {error}") from error
        self._open[key] = self._open.pop(key)  # used last
        return self._open[key][1]

    def _opened(self, control: Control, question: TrainingQuestion) -> Opened:
        try:
            return control.open(question.question)
        except QuestionError as error:
            raise TrainingError(f"question {question.id}: {error}") from error

    def _entered(self, question: TrainingQuestion) -> tuple[MemoryStore, Control]:
        with ExitStack() as undo:
            store = MemoryStore.open(self.root / question.memory, self._spaces)
            undo.callback(store.close)
            asked_utc_s = question.asked_utc_s
            if asked_utc_s is None:
                asked_utc_s = max((clip.end_utc_s for clip in store.clips()), default=0.0)
            moment = asked_utc_s
            control = self._make_control(store, lambda: moment).at(question.before_clip)
            undo.pop_all()
        return store, control


@dataclass(frozen=True)
class Reply:
    """One turn of a model. ids: its tokens, the one that ends it included; logprobs: where the engine tells them."""

    text: str
    ids: tuple[int, ...]
    logprobs: tuple[float, ...] | None = None


class Player(Protocol):
    """Whoever writes the turns: one reply for each prompt, in order."""

    def __call__(self, prompts: Sequence[Sequence[int]]) -> list[Reply]: ...


class Encode(Protocol):
    """A chat template: the token ids of a prompt, up to where the reply begins."""

    def __call__(self, messages: Sequence[Message]) -> list[int]: ...


@dataclass
class Transcript:
    """The token ids of an episode's rounds: prompt and reply of each."""

    episode: Episode
    prompts: list[list[int]] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)


def play(
    episodes: Sequence[Episode],
    encode: Encode,
    player: Player,
    *,
    anybody: Callable[[bool], bool] = lambda here: here,
) -> list[Transcript]:
    """Play episodes side by side, round by round, to their ends.

    anybody: whether any process of several still plays; then each calls its player as often as the others do, since a
    model that is spread over them answers all or none. One without an episode asks something for nothing.
    """
    transcripts = [Transcript(episode) for episode in episodes]
    spare = encode((Message("user", "-"),))
    while True:
        live = [one for one in transcripts if not one.episode.finished]
        if not anybody(bool(live)):
            return transcripts
        prompts = [encode(one.episode.prompt()) for one in live]
        replies = player(prompts or [spare])
        for one, prompt, reply in zip(live, prompts, replies, strict=bool(prompts)):
            one.prompts.append(prompt)
            one.replies.append(reply)
            one.episode.reply(reply.text, len(reply.ids))
