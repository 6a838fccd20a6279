"""What the searches for one question have found so far."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from runtime.answer import Evidence
from runtime.grounding import normalise


@dataclass
class EvidencePool:
    """All evidence found so far, each node once as it was first found, and the searches that found it.

    strong: ids of what is about the question. related: ids of what a search of the model's own found for good;
    it may answer from them, although they share nothing with the question ("How do I get on the internet?" and
    the wifi password).
    """

    items: dict[int, Evidence] = field(default_factory=dict)
    queries: dict[str, str] = field(default_factory=dict)
    strong: set[int] = field(default_factory=set)
    related: set[int] = field(default_factory=set)

    def add(self, query: str, evidence: Sequence[Evidence]) -> int:
        """Take evidence in; how many of it were new."""
        self.queries.setdefault(normalise(query), query)
        new = [item for item in evidence if item.id not in self.items]
        self.items.update((item.id, item) for item in new)
        return len(new)

    def copied(self) -> "EvidencePool":
        """The same, to be searched on by itself."""
        return EvidencePool(dict(self.items), dict(self.queries), set(self.strong), set(self.related))

    def has_asked(self, query: str) -> bool:
        return normalise(query) in self.queries
