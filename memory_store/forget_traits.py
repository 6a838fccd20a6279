"""What a text can betray somebody by, and how a text is told without it."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from memory_store.fold import fold, replace_folded
from memory_store.name_rule import name_pattern
from memory_store.tags import find_tags
from memory_store.tentative import SOMEBODY

SHORTEST_QUOTE = 8  # characters: shorter ones ("yes", "thank you") are everybody's


@dataclass(frozen=True)
class Traits:
    """Ids, names that are nobody else's, and what somebody said, none shorter than SHORTEST_QUOTE.

    shared_names: names of theirs that others bear too.
    """

    person_ids: frozenset[int]
    node_ids: frozenset[int]
    names: tuple[str, ...]
    quotes: tuple[str, ...]
    shared_names: tuple[str, ...]

    def names_in(self, text: str) -> bool:
        """Whether a name, tag or label of theirs stands in the text."""
        labels = re.findall(r"\bperson_(\d+)\b", text)
        return (
            self.named_in(text)
            or any(tag.node_id in self.node_ids for tag in find_tags(text))
            or any(int(label) in self.person_ids for label in labels)
        )

    def named_in(self, text: str) -> bool:
        """Whether a name of theirs stands in the text, in whatever case or width."""
        folded = fold(text)
        return any(name_pattern(name).search(folded) for name in self.names)

    def quoted_in(self, text: str) -> bool:
        """Whether something they said stands in the text."""
        quotes = self._quotes_by_start
        return bool(quotes) and any(
            text.startswith(quote, place)
            for place in range(len(text) - SHORTEST_QUOTE + 1)
            for quote in quotes.get(text[place : place + SHORTEST_QUOTE], ())
        )

    @cached_property
    def _quotes_by_start(self) -> dict[str, list[str]]:
        """Somebody may have said a hundred thousand sentences: only those that begin as a text goes on are compared."""
        found: dict[str, list[str]] = {}
        for quote in self.quotes:
            found.setdefault(quote[:SHORTEST_QUOTE], []).append(quote)
        return found


def without_names(value: Any, names: tuple[str, ...]) -> Any:
    """A text, or the texts within lists and mappings, with names replaced by "somebody"."""
    if isinstance(value, str):
        for name in names:
            value = replace_folded(name_pattern(name), value, SOMEBODY)
        return value
    if isinstance(value, dict):
        return {key: without_names(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [without_names(item, names) for item in value]
    return value


def file_name_without(file_name: str, names: tuple[str, ...]) -> str:
    """A recording's name with names replaced; in it digits and underscores end a word, and so does a blank or dash."""
    letters = r"[^\W\d_]"
    for name in map(fold, names):
        parts = r"[\s_.\-]*".join(re.escape(part) for part in re.split(r"[\s_.\-]+", name) if part)
        start, end = (
            (rf"(?<!{letters})" if name[0].isascii() else ""),
            (rf"(?!{letters})" if name[-1].isascii() else ""),
        )
        if parts:
            file_name = replace_folded(re.compile(start + parts + end), file_name, SOMEBODY)
    return file_name


def texts_in(value: Any) -> list[str]:
    """All texts within lists and mappings."""
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in items for text in texts_in(item)]


def cited_ids(value: Any) -> set[int]:
    """The ids of memories that a trace cites."""
    if isinstance(value, list):
        return {number for item in value for number in cited_ids(item)}
    if not isinstance(value, dict):
        return set()
    own = {value["id"]} if isinstance(value.get("id"), int) else set()
    return own | {number for item in value.values() for number in cited_ids(item)}
