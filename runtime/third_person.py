"""Turns what somebody said of themselves into a line about them: "my keys" becomes "<face_12>'s keys"."""

import re
from collections.abc import Sequence

from memory_store.tags import Tag, find_tags, replace_tags
from runtime.grounding import content_terms, coverage
from runtime.quotes import quote_in, speaker_in

_OTHERS = re.compile(r"(?i:\b(?:we|our|ours|us|you|your|yours)\b)|我们|咱|你|您")
_SELF = re.compile(r"\bI\b|(?i:\b(?:my|mine|me)\b)|我(?!们)")
_LEAD = re.compile(r"^<(?:face|voice)_\d+>\s*(?:是|说[:：]?|says?(?: that)?[:,]?)?\s*(?=I\b|(?i:my\b)|我)")
_VERBS = {
    "don't": "does not",
    "am": "is",
    "have": "has",
    "'m": " is",
    "'ve": " has",
    "'ll": " will",
    "'d": " would",
}


def in_third_person(text: str, clip_lines: Sequence[str]) -> str | None:
    """The line with I, my, 我 … replaced by the tag of the one who said it.

    None where that cannot be told: it speaks of "we" or "you", or not exactly one person's words hold all of it.
    """
    if _OTHERS.search(text):
        return None
    text = _LEAD.sub("", text)
    terms = content_terms(replace_tags(text, lambda tag: " "))
    speakers: dict[Tag, None] = {}
    for line in clip_lines:
        quote, tags = quote_in(line), find_tags(speaker_in(line) or "")
        if quote is not None and len(tags) == 1 and terms and coverage(terms, quote) == 1.0:
            speakers[tags[0]] = None
    if len(speakers) != 1 or set(find_tags(text)) - set(speakers):
        return None
    who = str(next(iter(speakers)))
    text = re.sub(
        r"\bI(?P<gap> (?:really |also |still |never |always )?|(?='))(?P<verb>don't|am|have|'m|'ve|'ll|'d)(?!\w)",
        lambda match: f"{who}{match['gap']}{_VERBS[match['verb']]}",
        text,
    )
    text = re.sub(r"(?i:\b(?:my|mine)\b)", f"{who}'s", text)
    return _SELF.sub(who, text)
