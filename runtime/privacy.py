"""Who is told what: the household's policy for residents, children, guests and voices that nobody knows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from memory_store.records import Person
from runtime.config import PrivacySettings, Scope

Role = Literal["resident", "child", "guest", "unknown", "typed"]


def role_of(asker: Person | None, *, spoken: bool, children: Collection[str]) -> Role:
    """What an asker is in the household. Who was met but never enrolled is a guest until a resident says otherwise.

    Only a voice proves who asks: in writing anybody can say to be somebody.
    """
    if not spoken:
        return "typed"
    if asker is None:
        return "unknown"
    if asker.consent == "do_not_remember":
        return "unknown"
    if asker.name is not None and asker.name.casefold() in {name.casefold() for name in children}:
        return "child"
    return "resident" if asker.consent == "resident" else "guest"


@dataclass(frozen=True)
class Audience:
    """Who listens to an answer, and which memories may be told to them.

    scope: "all"; "own": those that concern the asker or happened while they were there; "none".
    """

    scope: Scope
    asker: int | None
    witnessed: Callable[[int, Sequence[int]], Collection[int]]

    def may_hear(self, node_ids: Iterable[int]) -> set[int]:
        """Those of some memories that may be told."""
        wanted = list(node_ids)
        if self.scope == "all":
            return set(wanted)
        if self.scope == "none" or self.asker is None:
            return set()
        return set(self.witnessed(self.asker, wanted))


EVERYBODY = Audience("all", None, lambda _asker, node_ids: node_ids)


def audience_of(
    settings: PrivacySettings,
    asker: Person | None,
    witnessed: Callable[[int, Sequence[int]], Collection[int]],
    *,
    spoken: bool,
) -> Audience:
    """The audience that an asker is under the household's policy."""
    role = role_of(asker, spoken=spoken, children=settings.children)
    scopes: dict[Role, Scope] = {
        "resident": settings.resident,
        "child": settings.child,
        "guest": settings.guest,
        "unknown": settings.unknown,
        "typed": settings.typed,
    }
    return Audience(scopes[role], None if asker is None else asker.id, witnessed)
