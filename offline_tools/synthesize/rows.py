"""Makes the training rows of one recording: which of its clips, with which answer, in the order of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from drivers.media import DriverError
from memory_store.store import MemoryStore
from memory_store.tags import Tag
from offline_tools.chatml import Part, Row, Text, Turn
from offline_tools.chatml_writer import RowWriter
from offline_tools.consent import ConsentRule
from offline_tools.errors import OfflineToolError
from offline_tools.remembered import RememberedClip, remembered_clips
from offline_tools.synthesize.annotate import Annotation, Annotators, annotate
from offline_tools.synthesize.equivalence import VotingRule, face_of_voices
from offline_tools.synthesize.material import Material
from offline_tools.synthesize.meta_clips import meta_clips
from offline_tools.synthesize.row_media import write_media
from runtime.errors import HearsightError
from runtime.grounding import language_of
from runtime.prompts import load_prompt
from runtime.quotes import quote_in


@dataclass(frozen=True)
class Recorded:
    """One recording: its name for people, its memory, and what gives the media of a clip of it."""

    name: str
    store: MemoryStore
    material: Callable[[RememberedClip], Material]


@dataclass(frozen=True)
class Rules:
    """What is made into rows. give_up_after: that many clips failing one after another end the run; 0: never."""

    consent: ConsentRule
    voting: VotingRule = field(default_factory=VotingRule)
    give_up_after: int = 20


@dataclass(eq=False)
class Tally:
    """What became of the clips. skipped: a model failed, the next run tries again; rejected: a rule says no."""

    written: int = 0
    known: int = 0
    skipped: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    order: list[str] = field(default_factory=list)
    failing: int = 0

    def reject(self, where: str, kind: str, why: str) -> None:
        """Count a clip that a rule leaves out."""
        self.counts[f"rejected_{kind}"] += 1
        self.rejected.append(f"{where}: {why}")

    def skip(self, where: str, why: str) -> None:
        """Count a clip whose models or media failed."""
        self.counts["skipped"] += 1
        self.failing += 1
        self.skipped.append(f"{where}: {why}")


def make_rows(recorded: Recorded, models: Annotators, rules: Rules, writer: RowWriter, tally: Tally) -> None:
    """Write a row for each clip that gives one and has none yet; the others are counted and named.

    Raises OfflineToolError where rows cannot be written or too many clips fail in a row, EndpointRefused.
    """
    clips = list(remembered_clips(recorded.store))
    faces = face_of_voices((meta for clip in clips for meta in meta_clips(clip)), rules.voting)
    for told in _usable(recorded, clips, faces, rules, tally):
        row_id = row_id_of(told)
        tally.order.append(row_id)
        if row_id in writer.known:
            tally.known += 1
            continue
        where = _where(recorded, told)
        try:
            material = recorded.material(told)
            annotation = annotate(material, models, faces)
        except (OfflineToolError, DriverError, HearsightError) as error:
            tally.skip(where, str(error))
            if 0 < rules.give_up_after <= tally.failing:
                raise OfflineToolError(
                    f"{tally.failing} clips one after another gave no row, the last one {tally.skipped[-1]}; "
                    "what was written is kept, the same command goes on"
                ) from error
            continue
        tally.failing = 0
        media = write_media(writer.folder, row_id, material)
        writer.append(_row(row_id, recorded, told, annotation, media, models, writer.folder))
        tally.written += 1


def row_id_of(told: RememberedClip) -> str:
    """A row's id: the same for the same clip of the same bytes."""
    return sha256(told.clip.source_key.encode()).hexdigest()[:16]


def _usable(
    recorded: Recorded, clips: list[RememberedClip], faces: dict[Tag, Tag], rules: Rules, tally: Tally
) -> Iterator[RememberedClip]:
    for told in clips:
        where = _where(recorded, told)
        tally.counts["clips"] += 1
        refused = rules.consent.refused(recorded.store, told)
        outside = [one for one in told.heard if not one.on_screen and one.tag not in faces]
        if not told.seen and not told.heard:
            tally.reject(where, "quiet", "nobody is in it")
        elif refused:
            tally.reject(where, "consent", "; ".join(refused))
        elif outside:
            named = ", ".join(dict.fromkeys(str(one.tag or "an unknown voice") for one in outside))
            tally.reject(where, "voice", f"no face is known for {named}")
        else:
            yield told


def _where(recorded: Recorded, told: RememberedClip) -> str:
    return f"{recorded.name}, {told.clip.media_start_s:g} to {told.clip.media_end_s:g} s"


def _row(
    row_id: str,
    recorded: Recorded,
    told: RememberedClip,
    annotation: Annotation,
    media: tuple[Part, ...],
    models: Annotators,
    folder: Path,
) -> Row:
    prompt = load_prompt("describe", language_of(" ".join(quote_in(line) or "" for line in told.lines)))
    user = f"{prompt.sentences['media']}\n{prompt.turn.format(lines=chr(10).join(told.lines))}"
    source: dict[str, Any] = {
        "recording": recorded.name,
        "clip": told.clip.source_key,
        "start_s": told.clip.media_start_s,
        "end_s": told.clip.media_end_s,
        "models": {
            "captions": None if models.captions is None else models.captions.name,
            "merge": models.merge.name,
            "semantic": models.semantic.name,
        },
        "dimensions": [dimension for dimension, _ in annotation.facts],
    }
    turns = (
        Turn("system", (Text(prompt.system),)),
        Turn("user", (*media, Text(user))),
        Turn("assistant", (Text(annotation.as_answer()),)),
    )
    return Row(row_id, turns, source, folder)
