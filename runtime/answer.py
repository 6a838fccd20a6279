"""The records of an answer: its text, the evidence under it, and every round and search that led to it."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

Method = Literal["computed", "model", "extractive"]
Action = Literal["search", "answer", "unreadable", "failed"]


@dataclass(frozen=True)
class Evidence:
    """One memory that was found: `text` with tags as stored, `line` with current names; times in UTC seconds.

    asked: the question, as its asker's line, that was heard just before this line was said; "" where none was.
    spoken_to: who spoke next, whom a "you" of this line most likely means; "" where nobody did.
    across: of a memory of another language than the question, how much more like it that is than others are.
    translated: the question's words that it says in that language; None where no dictionary was asked.
    bare: the line without things of somebody else's than the question asks for; "" where that is the line.
    """

    id: int
    clip_id: int | None
    kind: str
    start_utc_s: float
    end_utc_s: float
    text: str
    line: str
    score: float
    similarity: float | None
    matched_by: tuple[str, ...]
    asked: str = ""
    spoken_to: str = ""
    across: float | None = None
    translated: str | None = None
    bare: str = ""

    @property
    def words(self) -> str:
        """The line with the question before it, whose words it need not repeat, and what it says across languages."""
        return " ".join(part for part in (self.asked, self.bare or self.line, self.translated) if part)


@dataclass(frozen=True)
class Search:
    """One search of the memory: what was asked, under which filters, whether it was widened, what came back."""

    query: str
    filters: str
    widened: bool
    found: tuple[int, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True)
class Round:
    """One call of the model: the prompt it saw, what it wrote, what was made of it and what that cost.

    number: from 1, since round 0 is the free search; cited and left_out are evidence ids; hint: what the model
    was told besides the instruction; rejected: why its answer was not taken, or "".
    """

    number: int
    action: Action
    reasoning: str
    content: str
    cited: tuple[int, ...]
    rejected: str
    hint: str
    left_out: tuple[int, ...]
    search: Search | None
    prompt: str
    raw: str
    prompt_tokens: int
    cached_tokens: int
    generated_tokens: int
    duration_s: float


@dataclass(frozen=True)
class Picture:
    """A picture that belongs to an answer: its node, its file under the data directory with its hash, when, where."""

    id: int
    file: str
    sha256: str
    utc_s: float
    place: str


@dataclass(frozen=True)
class Answer:
    """What the robot says to a question, and why.

    persons: labels of those named in the text; method: who made the text (the timeline, the language model, or a
    plain quotation); confidence: in [0, 1], 0 when abstained; notes: what went differently than usual, one
    sentence each; trace_id: the row that `save_trace` wrote; about: ids of the persons that the question names;
    before_clip: the clip before which the memory was asked, None for the memory of now.
    """

    question: str
    language: str
    text: str
    evidence: tuple[Evidence, ...]
    persons: tuple[str, ...]
    method: Method
    abstained: bool
    confidence: float
    first_search: Search | None
    rounds: tuple[Round, ...]
    notes: tuple[str, ...]
    time_range: tuple[float, float, str] | None
    asker: int | None
    model_calls: int
    duration_s: float
    asked_utc_s: float
    pictures: tuple[Picture, ...] = ()
    trace_id: int | None = None
    about: tuple[int, ...] = ()
    before_clip: int | None = None

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values, as it is kept in the trace and printed with --json."""
        return asdict(self)
