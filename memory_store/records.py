"""The records of the memory: frozen values as they are read from the database; ids are never reused."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]

NodeKind = Literal["face", "voice", "object", "episodic", "semantic", "procedural", "place", "image"]
Relation = Literal[
    "entity_link", "temporal", "semantic", "equivalence", "mentions", "derived_from", "cannot_link"
]
ClipState = Literal["grounded", "described", "description_failed"]
Consent = Literal["resident", "guest", "unknown", "do_not_remember"]
TimelineKind = Literal["seen", "heard", "noted"]


@dataclass(frozen=True)
class VectorSpace:
    """A space of vectors that may be compared with each other: one purpose, one model, one dimension."""

    name: str
    dimension: int
    model: str


@dataclass(frozen=True)
class Clip:
    """About 30 s of sensing; `source_key` says which media it came from and is unique."""

    id: int
    source_key: str
    source_name: str
    boot_id: str
    media_start_s: float
    media_end_s: float
    start_utc_s: float
    end_utc_s: float
    time_known: bool
    place: str
    has_video: bool
    has_audio: bool
    dropped_frames: int
    audio_gap_s: float
    state: ClipState


@dataclass(frozen=True)
class Node:
    """One thing remembered; its text refers to people only by tags such as `<face_12>`."""

    id: int
    kind: NodeKind
    text: str
    weight: float
    clip_id: int | None
    start_utc_s: float
    end_utc_s: float
    first_seen_utc_s: float
    last_seen_utc_s: float
    tier: str
    provenance: Mapping[str, Any]


@dataclass(frozen=True)
class Span:
    """What a node was in one clip: from when to when, and the weight that the clip gave it."""

    clip_id: int
    start_utc_s: float
    end_utc_s: float
    weight: float


@dataclass(frozen=True)
class Edge:
    """A directed relation between two nodes; `detail` says more (`actor`, `held_by`, `on` …)."""

    id: int
    source: int
    target: int
    relation: Relation
    detail: str
    weight: float
    created_utc_s: float
    last_activated_utc_s: float
    activation_count: int


@dataclass(frozen=True)
class Person:
    """Somebody, with the faces and voices bound to them; `appearances` counts clips they were met in."""

    id: int
    name: str | None
    consent: Consent
    tentative: bool
    face_ids: tuple[int, ...]
    voice_ids: tuple[int, ...]
    first_seen_utc_s: float | None
    last_seen_utc_s: float | None
    appearances: int

    @property
    def label(self) -> str:
        """The name, or `person_<id>` while nobody has given one."""
        return self.name or f"person_{self.id}"


@dataclass(frozen=True)
class NameEvidence:
    """A name that was heard for a person, and how much that counts; below 0 it speaks against the name.

    source: how it was said ("self", "address", "third", "not_self", "quoted"); node_id: the line that holds it.
    """

    id: int
    person_id: int
    name: str
    weight: float
    source: str
    clip_id: int
    node_id: int
    created_utc_s: float


@dataclass(frozen=True, eq=False)
class Exemplar:
    """One stored example of a face or a voice; `vector` has shape (dimension,), length 1, read-only."""

    id: int
    node_id: int
    person_id: int | None
    space: str
    vector: Vector
    quality: float
    clip_id: int | None


@dataclass(frozen=True, eq=False)
class Negative:
    """A vector that a resident said is not of the face or voice `node_id`; shape (dimension,), length 1."""

    id: int
    node_id: int
    vector: Vector


@dataclass(frozen=True)
class Binding:
    """A face or voice and who gave it to its person; a resident's word is pinned: votes never move it."""

    node_id: int
    kind: NodeKind
    source: Literal["code", "resident"]

    @property
    def pinned(self) -> bool:
        """Whether a resident bound it."""
        return self.source == "resident"


@dataclass(frozen=True)
class Triple:
    """What a sentence says of somebody, by normalised words: "likes", "tea", 1; polarity -1: that it is not so.

    subject: "" for the one it is about themselves, "brother" for somebody of theirs, a name where no face or voice is
    meant; words: the object as it was said.
    """

    relation: str
    object: str
    polarity: int = 1
    subject: str = ""
    words: str = ""


@dataclass(frozen=True)
class Belief:
    """One thing said of somebody, with all that speaks for it.

    node_ids: the facts that hold it; line_ids: the lines they were read from, by time; hearsay: somebody else said
    so; statements: (UTC seconds, weight) of each clip, by time; changed_utc_s: when a line last said that it had been
    otherwise before; support and current: see `Beliefs.of`.
    """

    node_ids: tuple[int, ...]
    line_ids: tuple[int, ...]
    triple: Triple
    hearsay: bool
    statements: tuple[tuple[float, float], ...]
    changed_utc_s: float | None
    support: float
    current: bool

    @property
    def first_utc_s(self) -> float:
        """When it was first said."""
        return self.statements[0][0]

    @property
    def last_utc_s(self) -> float:
        """When it was last said."""
        return self.statements[-1][0]


@dataclass(frozen=True)
class Hit:
    """A node found. `score` orders the hits; `similarity` is the raw cosine, None where none was compared.

    `matched_by` holds "vector" and/or "text", "context" alone where what was said around it was found, or "filter"
    alone where nothing but filters was asked.
    """

    node: Node
    score: float
    similarity: float | None
    matched_by: tuple[str, ...]


@dataclass(frozen=True)
class ClipHit:
    """A clip found, with the hits inside it that found it, best first."""

    clip: Clip
    score: float
    nodes: tuple[Hit, ...]


@dataclass(frozen=True)
class TimelineRow:
    """One line of what happened; `text` has current names, `evidence` holds node ids."""

    start_utc_s: float
    end_utc_s: float
    clip_id: int | None
    person_id: int | None
    person: str | None
    kind: TimelineKind
    text: str
    evidence: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Event:
    """A clip read as a multimodal event, a view over its rows (DESIGN section 3, MEV).

    entities: ids of the persons met in it; relations: the edges of its nodes; stats: "person_count",
    "faces_seen", "utterances", "speech_s", "seen_s" and "lines"; vectors: by space, (n, dimension), those of its
    nodes and exemplars; media: file references as they stand in the provenance of its nodes.
    """

    clip: Clip
    modalities: tuple[str, ...]
    entities: tuple[int, ...]
    nodes: tuple[Node, ...]
    relations: tuple[Edge, ...]
    stats: Mapping[str, float]
    vectors: Mapping[str, Vector]
    media: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class ForgetReceipt:
    """What went when a person was forgotten; it holds no name of theirs.

    counts: rows by what they were. files: pictures to delete, as their nodes named them; face_ids: whose portraits
    to delete; sound_clip_ids: the clips whose sound to delete. shared_names: names left in texts because somebody
    else bears them too. scrubbed: whether the database file was rewritten and its log emptied.
    """

    person_id: int
    counts: Mapping[str, int]
    files: tuple[str, ...]
    face_ids: tuple[int, ...]
    sound_clip_ids: tuple[int, ...]
    shared_names: tuple[str, ...]
    scrubbed: bool


@dataclass(frozen=True)
class Trace:
    """How one question was answered: every round, search and score, as the asker recorded it."""

    id: int
    created_utc_s: float
    question: str
    answer: str
    trace: Mapping[str, Any]
