"""Reads the lines that quote speech: what was said, and by whom."""

import re

_SAYS = re.compile(r'^(?P<who>[^"“]{0,120}?)(?: says: "|说：“)(?P<quote>.*)["”]\.?\s*$', re.DOTALL)


def quote_in(line: str) -> str | None:
    """What a grounded line quotes as said, or None."""
    match = _SAYS.search(line)
    return match["quote"] if match else None


def speaker_in(line: str) -> str | None:
    """Whom a grounded line quotes, as it names them, or None."""
    match = _SAYS.search(line)
    return match["who"] if match else None
