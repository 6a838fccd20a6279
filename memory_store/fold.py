"""Texts without their differences of case, width and composition: Élodie, ÉLODIE and E with an accent put behind it.

A name must be found however it is written, and what stands around it must stay as it was.
"""

import re
import unicodedata
from collections.abc import Iterator

_DOT_ABOVE = "\u0307"  # what is left of İ


def fold(text: str) -> str:
    """The text to be compared: NFKC, no case (ß is ss), one apostrophe, one i (IŞIL, Işıl and İlknur, ilknur)."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return folded.replace("i" + _DOT_ABOVE, "i").replace("ı", "i").replace("’", "'")


def replace_folded(pattern: re.Pattern[str], text: str, by: str) -> str:
    """The text with `by` wherever the pattern matches what `fold` makes of it."""
    folded = fold(text)
    if not pattern.search(folded):
        return text
    if text.isascii():
        places = [(place, place + 1) for place in range(len(text))]
    else:
        folded, places = _placed(text)
    told, after = "", 0
    for match in pattern.finditer(folded):
        if match.end() > match.start():
            told += text[after : places[match.start()][0]] + by
            after = places[match.end() - 1][1]
    return told + text[after:]


def _placed(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The folded text, and of each of its characters where what it was folded from begins and ends."""
    folded, places = "", []
    for start, end in _characters(text):
        part = fold(text[start:end])
        folded += part
        places += [(start, end)] * len(part)
    return folded, places


def _characters(text: str) -> Iterator[tuple[int, int]]:
    """Where each character begins and ends, with the accents and parts of syllables that are put behind it."""
    start = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or not _goes_on(text[place]):
            yield start, place
            start = place


def _goes_on(character: str) -> bool:
    whole = unicodedata.normalize("NFKD", character)[0]
    return unicodedata.combining(whole) != 0 or "\u1160" <= whole <= "\u11ff"
