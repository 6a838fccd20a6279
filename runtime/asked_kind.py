"""What kind of thing a question asks for ("which seat", "what country"), and whether a memory says no more of it."""

import re
from collections.abc import Sequence

from runtime.asked_patterns import ASKS_COLOUR, ASKS_OF_TIME
from runtime.grounding import content_terms, stem

_AUXILIARY = (
    r"(?:is|are|was|were|do|does|did|has|have|had|will|would|can|could|should|might|may|must)(?:n['’]t)?"
)
_WHICH = re.compile(rf"\bwhich (?P<kind>(?!{_AUXILIARY}\b)[\w-]+)(?= (?:{_AUXILIARY})\b)", re.IGNORECASE)
_BARE = re.compile(r"\b(?:the|an?|my|our|your|his|her|their|some|any|those|these)\s+$", re.IGNORECASE)
_QUALIFIES = re.compile(
    r"\s+(?:called|named|of|from|with|about|by|for|in|on|at|is|are|was|were|that|which)\b|\s*[:,]\s*\w",
    re.IGNORECASE,
)
_ASKED_VERB = re.compile(
    r"^(?!how (?:did|do|does|will|can|could|should)\b).*\b(?:did|does|do|will|can|could|should|must)\b"
    r" [^?]*?\b(?P<verb>get|take|bring)\b",
    re.IGNORECASE,
)
# Asked what kind of thing something is, or somebody has or gets: a memory that does not name the kind proves nothing.
_LIGHT_VERB = re.compile(
    r"^(?:what|which) [\w-]+ (?:is|are|was|were)\b(?!.*\bfrom\b)"
    r"|\b(?:have|has|had|leave|leaves?|left|go|goes|went|gets?|got|comes?|came|takes?|took|gives?|gave|brings?|brought)\b",
    re.IGNORECASE,
)
# "What country is she from", "which type of bird did he see": the country and the bird are asked for.
_KIND = re.compile(
    rf"\b(?:what|which)(?: (?:type|kind|sort|style|brand|name|piece|form)s? of(?: an?)?)?"
    rf" (?P<kind>(?!{_AUXILIARY}\b)[\w-]+(?: (?!{_AUXILIARY}\b|in\b|of\b|for\b|from\b|at\b|on\b)[\w-]+){{0,2}})"
    rf"(?: (?:in|of|for|from|at|on) [^?]*?)? {_AUXILIARY}\b"
    r"|\b(?:in|of|for|from|at|on|by|with) (?:what|which) (?P<last>[\w-]+)\W*$",
    re.IGNORECASE,
)


def kind_asked(question: str) -> frozenset[str]:
    """The words for what kind of thing is asked for ("what country"), which an answer names without saying them."""
    return frozenset(
        word for match in _KIND.finditer(question) for word in content_terms(match["kind"] or match["last"])
    )


def asks_what_is_had(question: str) -> bool:
    """Whether a question asks which of a kind something is, or somebody has: no verb tells what ties the two."""
    if not kind_asked(question) or ASKS_OF_TIME.search(question) or ASKS_COLOUR.search(question):
        return False
    return _LIGHT_VERB.search(question) is not None


def only_names_kind(question: str, quotes: Sequence[str]) -> bool:
    """Whether quotations name the kind that is asked for and say no more of it: "the flowers" for "which flowers"."""
    kinds = [match["kind"] for match in _WHICH.finditer(question) if match["kind"]]
    if not kinds:
        return False
    kind = stem(kinds[0].split()[-1].casefold())
    told = " ".join(quotes)
    said = [word for word in re.finditer(r"[\w'’-]+", told) if stem(word.group().casefold()) == kind]
    return bool(said) and all(
        _BARE.search(told[: word.start()]) is not None and _QUALIFIES.match(told, word.end()) is None
        for word in said
    )


def asked_verb(question: str) -> str:
    """The main verb of an English question, where it says little and must be told all the same: "did she get it"."""
    match = _ASKED_VERB.search(question)
    return match["verb"] if match else ""
