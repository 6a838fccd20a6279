"""Reads the lines that quote speech: what was said, and by whom."""

import re

_SAYS = re.compile(r'^(?P<who>[^"“]{0,120}?)(?: says: "|说：“)(?P<quote>.*)["”]\.?\s*$', re.DOTALL)

# The point of "Dr. Weber" ends no sentence.
_SENTENCE = re.compile(r"(?:(?<=\b[DM]r)\.|(?<=\bMs)\.|(?<=\bMrs)\.|[^.!?。！？])*[.!?。！？]*")
_REQUEST = re.compile(
    r"^\W*(?:\w+,\s+)?(?:please|can you|could you|would you|will you|let's|let us|don't|do not|never|remember to)\b"
    r"|^\W*(?:请|帮|别|不要|记得|麻烦|我们去|让我们)",
    re.IGNORECASE,
)
_OF_OTHERS = re.compile(r"^\W*(?:(?:he|she|they)\b|[他她](?!自己))", re.IGNORECASE)
_FIRST_PERSON = re.compile(r"\bI\b|(?i:\b(?:my|mine|me|we|our)\b)|我|咱")
_QUESTION = re.compile(r"[?？]\s*$|[吗呢][。.]?\s*$")


def quote_in(line: str) -> str | None:
    """What a grounded line quotes as said, or None."""
    match = _SAYS.search(line)
    return match["quote"] if match else None


def speaker_in(line: str) -> str | None:
    """Whom a grounded line quotes, as it names them, or None."""
    match = _SAYS.search(line)
    return match["who"] if match else None


def sentences_in(quote: str) -> list[str]:
    """The sentences of a quote, with their marks."""
    return [part.strip() for part in _SENTENCE.findall(quote) if part.strip(" .,")]


def asks(sentence: str) -> bool:
    """Whether a sentence is a question."""
    return _QUESTION.search(sentence) is not None


def states_something(sentence: str) -> bool:
    """Whether a sentence says how something is: a question or a request does not."""
    return not (asks(sentence) or _REQUEST.search(sentence))


def only_asks(line: str) -> bool:
    """Whether a line quotes somebody who asks and says nothing besides: that answers no question."""
    quote = quote_in(line)
    return bool(quote) and all(asks(sentence) for sentence in sentences_in(quote or ""))


def of_the_speaker(text: str) -> bool:
    """Whether a text speaks of whoever says it."""
    return _FIRST_PERSON.search(text) is not None


def tells_of_others(sentence: str) -> bool:
    """Whether a sentence tells of somebody else than its speaker, whom it does not name: "He will be 71"."""
    return _OF_OTHERS.search(sentence) is not None and not of_the_speaker(sentence)
