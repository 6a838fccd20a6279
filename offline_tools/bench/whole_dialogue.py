"""All of a dialogue that fits in the model's context, as one prompt: what needs no memory at all.

Where it does not fit the latest part is kept, as in LoCoMo's own evaluation. The dialogue stands before the question,
so that questions asked one after another find it evaluated already.
"""

from __future__ import annotations

from collections.abc import Sequence

from offline_tools.bench.answer_methods import Answered, Calls, Setting, fits, framed
from offline_tools.bench.dialogues import Dialogue

_QUESTION_ROOM = "word " * 60  # the longest question asked is shorter


class WholeDialogue:
    """Answers from one dialogue. kept_share: of its turns, how many stand in the prompt."""

    def __init__(self, setting: Setting, dialogue: Dialogue) -> None:
        self._setting = setting
        turns = _turns(setting, dialogue)
        first = self._first_that_fits(turns)
        self._text = _written(turns[first:])
        self.kept_share = 1.0 - first / len(turns)

    def answer(self, question: str, *, asker: int | None = None) -> Answered:
        calls = Calls(self._setting.language)
        messages = framed("one_shot", "en", memories=self._text, question=question)
        return calls.answered(calls.complete(messages, stop=("\n",)), (), ())

    def _first_that_fits(self, turns: Sequence[tuple[str, str]]) -> int:
        low, high = 0, len(turns)
        while low < high:
            middle = (low + high) // 2
            text = _written(turns[middle:])
            messages = framed("one_shot", "en", memories=text, question=_QUESTION_ROOM)
            if fits(self._setting.language, messages):
                high = middle
            else:
                low = middle + 1
        return low


def _turns(setting: Setting, dialogue: Dialogue) -> list[tuple[str, str]]:
    """When, and who said or showed what, in order."""
    told = []
    speech = setting.speech("")
    for session in dialogue.sessions:
        when = speech.moment(session.start_utc_s)
        for turn in session.turns:
            shown = f" [shows a picture: {turn.shown}]" if turn.shown else ""
            told.append((when, f"{turn.speaker}: {turn.text}{shown}"))
    return told


def _written(turns: Sequence[tuple[str, str]]) -> str:
    """The turns as lines, with the time before the first of each session."""
    lines: list[str] = []
    last = ""
    for when, line in turns:
        lines += ([] if when == last else [f"{when}:"]) + [line]
        last = when
    return "\n".join(lines)
