"""What a run leaves behind for each question, a line each: the answer, and what judges said of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from offline_tools.bench.answer_methods import Answered


@dataclass(frozen=True)
class Given:
    """A question's answer as it stands in a run's answers.jsonl.

    short: in the few words that token F1 is counted on; choice: the letter of the option that it means; cited, found:
    of the question's evidence what stands under the answer, and what was found for it at all, None where the
    annotations name none; failure: what went wrong with the model meanwhile; refused: why the question could not be
    asked at all; fingerprint: of the memory that was asked; commit: of the code; removable: how much of the memory
    ablations can take away.
    """

    id: str
    answered: Answered
    short: str | None
    choice: str | None
    cited: float | None
    found: float | None
    failure: str
    refused: str
    fingerprint: str
    commit: str
    removable: dict[str, int] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.answered.text

    @property
    def abstained(self) -> bool:
        return self.answered.abstained

    @property
    def digest(self) -> str:
        """A hash of all of it that is judged."""
        told = repr((self.text, self.abstained, self.choice))
        return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:16]


@dataclass(frozen=True)
class Verdict:
    """What a judge, by its name, said of the answer with this digest; see `Ruling`."""

    id: str
    judge: str
    digest: str
    right: bool | None
    by: str
    prompt: str
    reply: str
    reason: str
    attempts: int
    score: float | None = None
