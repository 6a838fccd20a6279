"""What a question asks for (a time, a number, a place …), and whether a text tells it, as far as words show."""

import re
from collections.abc import Sequence

from runtime import asked_patterns as patterns
from runtime.grounding import asking_words, content_terms, coverage, is_only_noun, language_of, stem
from runtime.question import Question
from runtime.quotes import sentences_in
from runtime.time_words_en import ENGLISH


def asks_price(question: str) -> bool:
    """Whether a question asks how much something costs, so that no answer need repeat "pay" or "cost"."""
    return patterns.ASKS_PRICE.search(question) is not None


def tells_colour(text: str) -> bool:
    """Whether a text names a colour."""
    return patterns.TELLS_COLOUR.search(text) is not None


def asks_who(question: str) -> bool:
    """Whether a question asks for somebody."""
    return bool(patterns.ASKS_WHO.search(question) or patterns.ASKS_WHOM.search(question))


def asks_for_name(question: str) -> bool:
    """Whether a question asks who, so that an answer names somebody."""
    return patterns.ASKS_WHO.search(question) is not None


def is_time(text: str) -> bool:
    """Whether a text is nothing but a time."""
    return patterns.TELLS_WHEN.fullmatch(text) is not None


def holds_other(before: str) -> bool:
    """Whether what stands before a thing in a sentence makes it the place of something else."""
    return re.search(f"{patterns.HOLDS}$", before, re.IGNORECASE) is not None


def lack_of(text: str, question: Question, labels: Sequence[str], quotes: Sequence[str] = ()) -> str:
    """What the question asks for and an answer does not tell, whatever memory it rests on; else "".

    quotes: of the memories it cites, any of which may tell of somebody where it is asked for whom.
    """
    if untold := _untold(question, _beyond(text, question), text, (text, *quotes)):
        return untold
    if not _counted(question.text, quotes or (text,)):
        return "it counts something else"
    if quotes and not _named(question, quotes):
        return "it tells no name"
    if quotes and not _said(question.text, quotes):
        return "it tells of nothing that was said"
    if not _reasons(question.text, (text, *quotes)):
        return "it tells no reason"
    if _unplaced(question, (text, *quotes)):
        return "it tells no place"
    if patterns.ASKS_DAY.search(question.text) and not patterns.TELLS_DAY.search(_beyond(text, question)):
        return "it tells no day"
    return "it adds nothing to the question" if _adds_nothing(text, question, labels) else ""


def unquoted(question: Question, quotes: Sequence[str], beside: Sequence[str]) -> bool:
    """Whether quotations do not tell what a question asks for: a place, a number of what is counted, what was said …

    beside: these and those quoted with them, any of which may tell who somebody is, or what somebody said.
    """
    if _unplaced(question, quotes) or not _said(question.text, quotes):
        return True
    if not (_counted(question.text, quotes) and _named(question, beside)):
        return True
    if not _reasons(question.text, beside):
        return True
    if patterns.ASKS_HOW.search(question.text) and not any(map(patterns.TELLS_HOW.search, beside)):
        return True
    told = " ".join(quotes)
    times = f"{told} just now" if _just_was(question, told) else told
    return _untold(question, times, told, beside) != ""


def _adds_nothing(text: str, question: Question, labels: Sequence[str]) -> bool:
    """Whether an answer only says its question again, or adds but a time where none is asked for.

    labels: of all persons known; to name one of them is something where it is asked who.
    """
    if patterns.ASKS_WHETHER.search(question.text):
        return False
    if asks_who(question.text) and any(label not in question.text and label in text for label in labels):
        return False
    timed = patterns.ASKS_OF_TIME.search(question.text) is not None
    kept = text if timed else patterns.TIMES.sub(" ", text)
    for label in labels:
        if _calls(question, label, labels):
            kept = kept.replace(label, " ")
    return not any(_is_new(term, question.text) for term in content_terms(kept))


def _calls(question: Question, label: str, labels: Sequence[str]) -> bool:
    """Whether a question calls somebody by the beginning of a name, as "Mel" is Melanie where nobody is named Mel."""
    words = re.findall(r"[A-Z][a-z]{2,}", question.text)
    return any(label.startswith(word) and word not in labels for word in words)


def _untold(question: Question, times: str, told: str, people: Sequence[str]) -> str:
    """What a question asks for (a time, a number, a price …) and what may tell it does not; else ""."""
    if patterns.ASKS_WHEN.search(question.text) and not patterns.TELLS_WHEN.search(times):
        return "it tells no time"
    for asks, tells, what in patterns.MEASURES:
        if asks.search(question.text) and not tells.search(told):
            return f"it tells no {what}"
    placed = patterns.TELLS_WHERE.search(patterns.TIMES.sub(" ", told))
    if patterns.ASKS_WHERE.search(question.text) and patterns.TELLS_WHEN.search(times) and not placed:
        return "it tells a time and no place"
    if patterns.ASKS_WHOM.search(question.text) and not any(
        patterns.TELLS_WHOM.search(quote) for quote in people
    ):
        return "it tells of nobody"
    return ""


def _said(question: str, quotes: Sequence[str]) -> bool:
    """Whether one of some quotations tells what was said, where it is asked what somebody told whom."""
    return not patterns.ASKS_SAYING.search(question) or any(map(patterns.TELLS_SAYING.search, quotes))


def _reasons(question: str, texts: Sequence[str]) -> bool:
    """Whether one of some texts tells a reason, where one is asked for."""
    return not patterns.ASKS_WHY.search(question) or any(map(patterns.TELLS_WHY.search, texts))


def _unplaced(question: Question, texts: Sequence[str]) -> bool:
    """Whether no text tells a place, where one is asked for."""
    return patterns.ASKS_WHERE.search(question.text) is not None and not any(
        _places(text, question.terms) for text in texts
    )


def _named(question: Question, quotes: Sequence[str]) -> bool:
    """Whether one of some quotations tells a name, where a question asks for one.

    It does by a word for that, or where it holds a word of the question and one that stands like a name and is not
    asked with. Whoever names themselves ("I am Carl. The plumber is late.") names nobody else.
    """
    if not patterns.ASKS_NAME.search(question.text):
        return True
    asked = [term for term in question.terms if term not in asking_words()]
    for quote in quotes:
        if patterns.TELLS_CALLED.search(quote):
            return True
        if language_of(quote) == question.language and not coverage(asked, quote):
            continue
        of_it = [
            one for one in sentences_in(quote) if coverage(asked, one) or not patterns.INTRODUCES.search(one)
        ]
        told = [match.group() for one in of_it for match in patterns.TELLS_NAME.finditer(one)]
        if any(not (word in question.text or is_time(word)) for word in told):
            return True
        if any(is_only_noun(match["name"]) for one in of_it for match in patterns.BESIDE_NOUN.finditer(one)):
            return True
    return False


def _beyond(text: str, question: Question) -> str:
    """The English words of an answer that do not stand in the question: "in August" tells no time of an August."""
    if question.language == "zh":
        return text
    asked = set(re.findall(r"\w+", question.text.casefold()))
    return " ".join(word for word in re.findall(r"[\w:]+", text) if word.casefold() not in asked)


def _just_was(question: Question, told: str) -> bool:
    """Whether quotations say of what it is asked when it was that it just was: they are told with their time."""
    if not patterns.ASKS_WHEN_IT_WAS.search(question.text):
        return False
    return any(
        language_of(just.group()) == "zh" or ENGLISH.past.match(told.casefold(), just.end())
        for just in patterns.JUST.finditer(told)
    )


def _places(quote: str, things: Sequence[str]) -> bool:
    """Whether a quotation tells a place other than in, on or under what is asked for itself."""
    for thing in things:
        quote = re.sub(rf"{patterns.HOLDS}{re.escape(thing)}\b", " ", quote, flags=re.IGNORECASE)
    return patterns.TELLS_WHERE.search(patterns.TIMES.sub(" ", quote)) is not None


def _counted(question: str, quotes: Sequence[str]) -> bool:
    """Whether what a question asks the number of stands close behind a number, where it asks for one in English."""
    counts = patterns.COUNTS.search(question)
    if counts is None or counts["what"].casefold() == "times":  # which "twice" tells
        return True
    what = re.compile(rf"\W+(?:\w+\W+){{0,2}}{re.escape(stem(counts['what'].casefold()))}", re.IGNORECASE)
    return any(
        what.match(quote, number.end())
        for quote in quotes
        for number in patterns.TELLS_NUMBER.finditer(quote)
    )


def _is_new(term: str, question: str) -> bool:
    """Whether a term of an answer does not stand in its question; a Chinese pair, where a character of it is new."""
    if language_of(term) == "zh":
        return any(character not in question for character in term)
    return not coverage((term,), question)
