"""Which names a person may have: short, one line, printable; any script and emoji are fine."""

import re
import unicodedata
from functools import lru_cache

from memory_store.errors import InvalidValue
from memory_store.fold import fold

LONGEST_NAME = 80
_AN_ID = re.compile(r"(?:person_)?\d+", re.ASCII)
# Folded letters of scripts with upper and lower case, which set words apart (Latin, Greek, Cyrillic, Armenian), digits.
_CASED = r"[a-z0-9_\u00df-\u024f\u0370-\u058f\u1e00-\u1fff]"
_BIDIRECTIONAL = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def checked_name(name: str, whose: str) -> str:
    """The name with its spaces made single; raises InvalidValue, which says for whom it was."""
    checked = " ".join(name.split())
    if not checked:
        raise InvalidValue(f"an empty name for {whose}: give a name, or None to take it away")
    if len(checked) > LONGEST_NAME:
        raise InvalidValue(
            f"a name of {len(checked)} characters for {whose}: at most {LONGEST_NAME} are kept"
        )
    for character in checked:
        if unicodedata.category(character) in ("Cc", "Cs", "Co") or character in _BIDIRECTIONAL:
            raise InvalidValue(
                f"a name with the control character U+{ord(character):04X} for {whose}: leave it out"
            )
    if _AN_ID.fullmatch(checked):
        raise InvalidValue(f"the name {checked!r} for {whose} reads like an id: choose another")
    return checked


@lru_cache(maxsize=256)
def name_pattern(name: str) -> re.Pattern[str]:
    """Finds a name in what `fold` makes of a text: as a whole word where its script parts words, else anywhere."""
    words = [re.escape(word) for word in fold(name).split()]
    start = rf"(?<!{_CASED})" if re.match(_CASED, fold(name)) else ""
    end = rf"(?!{_CASED})" if re.search(rf"{_CASED}$", fold(name)) else ""
    return re.compile(start + r"\s+".join(words) + end)
