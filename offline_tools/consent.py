"""Whose pictures and words may leave a memory for a dataset: by each person's consent, and nobody's by default.

Residents have agreed to be remembered; guests and people whom nobody has introduced have not been asked, and whoever
said "do not remember me" is in no dataset whatever is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, cast, get_args

from memory_store.records import Consent, Person
from memory_store.store import MemoryStore
from memory_store.tags import Tag
from offline_tools.errors import OfflineToolError
from offline_tools.remembered import RememberedClip

Allowed = Literal["resident", "guest", "unknown"]


@dataclass(frozen=True)
class ConsentRule:
    """Which consents suffice. People whom the memory cannot tell who they are count as unknown."""

    allowed: frozenset[Consent] = frozenset({"resident"})

    def allows(self, person: Person | None) -> bool:
        """Whether somebody may be in a dataset; None: nobody knows who it is."""
        consent: Consent = "unknown" if person is None else person.consent
        return consent != "do_not_remember" and consent in self.allowed

    def refused(self, store: MemoryStore, clip: RememberedClip) -> list[str]:
        """Why a clip may not be used as it is, a reason for each person; empty where it may."""
        reasons = []
        for tag in clip.tags:
            person = store.person_of(tag.node_id)
            if not self.allows(person):
                consent = "unknown" if person is None else person.consent
                label = "nobody known" if person is None else person.label
                reasons.append(f"{tag} is {label}, whose consent is {consent}")
        if clip.has_strangers and "unknown" not in self.allowed:
            reasons.append("somebody whom nobody knows is in it")
        return reasons

    def refused_tags(self, store: MemoryStore, tags: Iterable[Tag]) -> frozenset[Tag]:
        """Those of some faces and voices that may not be shown or heard."""
        return frozenset(tag for tag in tags if not self.allows(store.person_of(tag.node_id)))


EVERYBODY = ConsentRule(frozenset({"resident", "guest", "unknown"}))


def consent_rule(also: Iterable[str]) -> ConsentRule:
    """Residents and whoever else is named. Raises OfflineToolError for what is no consent that can be allowed."""
    wanted = list(also)
    for name in wanted:
        if name not in get_args(Allowed):
            raise OfflineToolError(f"{name!r} cannot be allowed: give some of {', '.join(get_args(Allowed))}")
    return ConsentRule(frozenset({"resident", *cast("list[Allowed]", wanted)}))
