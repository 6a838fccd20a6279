"""Learns facts from what people say in a clip, and from what a language model concluded from it.

Which sentences tell a fact is read by runtime/fact_reading.py. What a screen says, what several say at once and what
nobody known says gives none; what somebody says of another counts only where it names a person who is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_store.records import Node
from memory_store.store import MemoryStore
from memory_store.tags import Tag, find_tags, replace_tags
from runtime.fact_claim import FactClaim
from runtime.fact_reading import facts_in, told
from runtime.grounded import GroundedLine
from runtime.grounding import coverage
from runtime.quotes import quote_in

Embed = Callable[[Sequence[str]], NDArray[np.float32]]

NEVER_THE_SAME = 2.0  # a cosine that no two facts reach
LEAST_CONFIDENCE = 0.4  # of the speech recognizer: what it half understood is no fact
LEAST_COVERAGE = 0.6  # of a model's fact that the words it is read from must hold


@dataclass(frozen=True)
class FactLearner:
    """Writes facts, inside the transaction of the clip; the same lines again add nothing.

    same: cosine from which two facts by one relation are one; it belongs to the embedding model.
    """

    store: MemoryStore
    embed: Embed
    same: float

    def learn(self, lines: Sequence[tuple[int, GroundedLine]]) -> int:
        """Keep what the heard lines of a clip tell; how many facts were new."""
        found: list[tuple[int, int, FactClaim]] = []
        for node_id, line in lines:
            if not _is_told_by_one(line) or self._is_not_to_be_remembered(line.actors[0]):
                continue
            for claim in facts_in(str(line.provenance["said"])):
                if not claim.by_name or self._is_known(claim.triple.subject):
                    found.append((node_id, line.actors[0], claim))
        return self._write(found)

    def learn_from_model(
        self, clip_lines: Sequence[Node], text: str, provenance: Mapping[str, Any]
    ) -> tuple[int, bool] | None:
        """Keep a model's line as a fact, where it is one of somebody who said so; its node and whether it is new."""
        tags = find_tags(text)
        claims = [claim for claim in facts_in(text) if not claim.by_name]
        if len(tags) != 1 or len(claims) != 1:
            return None
        source = self._said_by(clip_lines, tags[0], text)
        if source is None:
            return None
        (claim,) = claims
        vector = self.embed([_meaning(claim)])[0]
        return self.store.add_fact(
            claim.triple,
            text,
            source.id,
            subject_id=tags[0].node_id,
            vector=vector,
            same=self.same,
            changed=claim.changed,
            provenance=provenance,
        )

    def _write(self, found: Sequence[tuple[int, int, FactClaim]]) -> int:
        if not found:
            return 0
        new = 0
        vectors = self.embed([_meaning(claim) for _, _, claim in found])
        for (line_id, speaker, claim), vector in zip(found, vectors, strict=True):
            kind = self.store.node(speaker).kind
            who = str(Tag("voice" if kind == "voice" else "face", speaker))
            new += self.store.add_fact(
                claim.triple,
                _text(claim, who),
                line_id,
                subject_id=None if claim.by_name else speaker,
                vector=vector,
                same=self.same,
                changed=claim.changed,
            )[1]
        return new

    def _is_not_to_be_remembered(self, node_id: int) -> bool:
        person = self.store.person_of(node_id)
        return person is not None and person.consent == "do_not_remember"

    def _is_known(self, name: str) -> bool:
        """Whether exactly one person has that name."""
        return sum((person.name or "").casefold() == name for person in self.store.people()) == 1

    def _said_by(self, clip_lines: Sequence[Node], tag: Tag, text: str) -> Node | None:
        """The heard line of the one named that bears the text out best."""
        owner = self.store.owner_of(tag.node_id)
        words = replace_tags(text, lambda _: " ").split()
        best: tuple[float, int, Node] | None = None
        for line in clip_lines:
            speakers = find_tags(line.text.split(":", 1)[0].split("：", 1)[0])
            quote = quote_in(line.text)
            if quote is None or not speakers or line.provenance.get("speech_source", "room") != "room":
                continue
            if self.store.owner_of(speakers[0].node_id) == owner:
                ranked = (coverage(words, quote), -line.id, line)
                best = ranked if best is None or ranked[:2] > best[:2] else best
        return None if best is None or best[0] < LEAST_COVERAGE else best[2]


def _is_told_by_one(line: GroundedLine) -> bool:
    """Whether a line holds words of one known person in the room."""
    provenance = line.provenance
    return (
        line.event == "heard"
        and len(line.actors) == 1
        and not provenance.get("overlapped")
        and provenance.get("speech_source", "room") == "room"
        and provenance.get("attributed_by") not in (None, "nothing")
        and float(provenance.get("confidence", 1.0)) >= LEAST_CONFIDENCE
    )


def _text(claim: FactClaim, who: str) -> str:
    """The fact as a memory: "<voice_5> likes tea.", "<voice_5> says: leo likes tea." """
    if not claim.by_name:
        return told(claim.triple, who, claim.language, changed=claim.changed)
    name, triple = claim.triple.subject.title(), replace(claim.triple, subject="")
    sentence = told(triple, name, claim.language, changed=claim.changed)
    return f"{who}说{sentence}" if claim.language == "zh" else f"{who} says that {sentence}"


def _meaning(claim: FactClaim) -> str:
    """The fact without whose it is, for the text embedding."""
    if claim.language == "zh":
        return told(replace(claim.triple, subject=""), "有人", "zh", changed=claim.changed)
    return told(replace(claim.triple, subject=""), "Somebody", "en", changed=claim.changed)
