"""What was heard of a person's name, as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from memory_store.records import NameEvidence, Person
from runtime.name_evidence import standing


def names_json(person: Person, evidence: Sequence[NameEvidence]) -> dict[str, object]:
    """What a person's name may be, how much each name weighs, and every piece."""
    own = [one for one in evidence if one.person_id == person.id]
    heard = [
        {
            "name": one.name,
            "weight": one.weight,
            "source": one.source,
            "clip": one.clip_id,
            "memory": one.node_id,
        }
        for one in own
    ]
    found = standing(own)
    maybe = found.maybe if person.name is None else None
    return {"name_evidence": {"maybe": maybe, "weights": found.weights, "heard": heard}}
