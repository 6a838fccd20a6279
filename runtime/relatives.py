"""Relatives named by their relation: "Ben's brother" in a question is Leo, where the memory says who that is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from memory_store.records import Person
from memory_store.store import MemoryStore
from runtime.fact_reading import kin_in
from runtime.grounding import language_of

Relative = Callable[[Person, str], Person | None]
_ASKS_WHO = re.compile(
    r"^(?:who(?:['’]s| is| are| was)|what(?:['’]s| is) the name of|谁是)\W*$", re.IGNORECASE
)


def relative_of(store: MemoryStore, person: Person, relation: str) -> Person | None:
    """Whom the memory knows as somebody's brother, daughter and so on; None for nobody, and for more than one."""
    told = {
        belief.triple.object.casefold()
        for belief in store.beliefs(
            person.id, names=[person.name] if person.name else [], relations=(relation,)
        )
        if belief.current and belief.triple.polarity > 0 and not belief.triple.subject
    }
    found = [one for one in store.people() if one.name and one.name.casefold() in told]
    return found[0] if len(found) == 1 else None


def with_relatives_named(
    text: str, people: Sequence[Person], pattern_of: Callable[[str], re.Pattern[str]], relative: Relative
) -> str:
    """The question with such a relative called by name; one that asks who the relative is stays as it is."""
    chinese = language_of(text) == "zh"
    for person in people:
        for match in list(pattern_of(person.name).finditer(text)) if person.name else ():
            behind = text[match.end() :]
            relation, rest = kin_in(behind.lstrip(" 的"), "zh" if chinese else "en")
            rest_at = behind.rfind(rest) if rest else len(behind)
            if not relation or rest_at < 0 or _ASKS_WHO.match(text[: match.start()]):
                continue
            meant = relative(person, relation)
            if meant is not None and meant.name:
                gap = "" if chinese or behind[rest_at:].startswith(("'", "’", "?")) else " "
                return f"{text[: match.start()]}{meant.name}{gap}{behind[rest_at:]}"
    return text
