"""Answers that the timeline holds for certain: who said what, who was here, when somebody was last seen, how many."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from memory_store.records import Node, NodeKind, Person, TimelineRow
from memory_store.store import MemoryStore
from memory_store.tags import find_tags
from runtime.across_words import AcrossWords
from runtime.grounding import content_terms, coverage, language_of, squash
from runtime.question import Question
from runtime.quotes import quote_in, speaker_in
from runtime.say import Speech

MAX_QUOTES = 5
MAX_EVIDENCE = 12
EXACT = 0.95
MIN_EXACT_CHARACTERS = 6
MIN_LIKENESS = 0.85
LIKENESS_MARGIN = 0.04
_EPISODIC: tuple[NodeKind, ...] = ("episodic",)


@dataclass(frozen=True)
class ComputedAnswer:
    """A sentence and the nodes that prove it; confidence in [0, 1]; pictures: the image nodes to show with it."""

    text: str
    node_ids: tuple[int, ...]
    confidence: float
    pictures: tuple[int, ...] = ()


def answer_from_timeline(
    store: MemoryStore, question: Question, speech: Speech, words: AcrossWords | None = None
) -> ComputedAnswer | None:
    """The computed answer, or None when the question has no plain form or the timeline does not settle it.

    words: what tells whether words were said in the other language.
    """
    match question.intent:
        case "who_said":
            return _who_said(store, question, speech, words)
        case "what_said":
            return _what_said(store, question, speech, words)
        case "last_seen" | "last_heard" | "first_seen" | "first_heard":
            return _when_met(store, question, speech)
        case "present" | "count":
            return _who_was_here(store, question, speech)
        case "company":
            return _company(store, question, speech)
        case "was_present":
            return _was_here(store, question, speech)
    return None


def _rows(store: MemoryStore, question: Question, person: Person | None = None) -> list[TimelineRow]:
    rows = store.timeline(
        person_id=person.id if person else None,
        after_utc_s=question.time.start_utc_s if question.time else None,
        before_utc_s=question.time.end_utc_s if question.time else None,
    )
    return sorted(rows, key=lambda row: (row.start_utc_s, row.end_utc_s, row.evidence))


def _met(rows: Iterable[TimelineRow]) -> list[TimelineRow]:
    return [row for row in rows if row.kind in ("seen", "heard")]


def _when_words(question: Question, speech: Speech) -> str:
    return question.time.phrase if question.time else speech.phrase("whenever")


def _who_said(
    store: MemoryStore, question: Question, speech: Speech, words: AcrossWords | None
) -> ComputedAnswer | None:
    """Who said these words: the quotes that match best, so that the answer shows what was really heard."""
    start, end = (question.time.start_utc_s, question.time.end_utc_s) if question.time else (None, None)
    found = None
    if question.whole_topic != question.topic:  # "on Tuesday" may be part of what was said
        found = _quotes_like(store, question.whole_topic, None, None)
    if found is None or found[1] < EXACT:
        found = _quotes_like(store, question.topic, start, end)
    if found is None and words is not None and question.language == "zh":
        found = _quotes_across(store, question.topic, start, end, words)
        if found is None and content_terms(question.whole_topic) != content_terms(question.topic):
            found = _quotes_across(store, question.whole_topic, None, None, words)
    if found is None:
        return None
    nodes = found[0][-MAX_QUOTES:]
    parts = [
        speech.phrase(
            "who_said",
            person=_speaker(store, node.text, speech),
            quote=store.render(quote_in(node.text) or ""),
            time=speech.moment(node.start_utc_s),
        )
        for node in nodes
    ]
    return ComputedAnswer(speech.sentences(parts), tuple(node.id for node in nodes), found[1])


def _quotes_like(
    store: MemoryStore, topic: str, after_utc_s: float | None, before_utc_s: float | None
) -> tuple[list[Node], float] | None:
    """The nodes, by time, whose quotes match the topic best, and how sure that is."""
    if not squash(topic):
        return None
    hits = store.search_node(
        text=topic, kinds=_EPISODIC, after_utc_s=after_utc_s, before_utc_s=before_utc_s, k=40
    )
    quotes = {hit.node.id: quote for hit in hits if (quote := quote_in(hit.node.text)) is not None}
    match = _match_of(topic, set(quotes.values()))
    if match is None:
        return None
    nodes = [hit.node for hit in hits if quotes.get(hit.node.id) in match[0]]
    return sorted(nodes, key=lambda node: (node.start_utc_s, node.id)), match[1]


def _quotes_across(
    store: MemoryStore, topic: str, after_utc_s: float | None, before_utc_s: float | None, words: AcrossWords
) -> tuple[list[Node], float] | None:
    """The same for quotes in English that say all words of a Chinese topic."""
    terms = content_terms(topic)
    hits = store.search_node(
        text=words.in_english(topic),
        kinds=_EPISODIC,
        after_utc_s=after_utc_s,
        before_utc_s=before_utc_s,
        k=40,
    )
    found = []
    for hit in hits if terms else ():
        quote = quote_in(hit.node.text)
        if quote and coverage(terms, f"{quote} {words.said_in(quote, topic, 'zh')}") == 1.0:
            found.append(hit.node)
    return (sorted(found, key=lambda node: (node.start_utc_s, node.id)), 0.6) if found else None


def _match_of(topic: str, quotes: set[str]) -> tuple[set[str], float] | None:
    """The quotes that hold the topic and how sure that is: word by word, by all content words, or nearly so.

    Speech recognition writes "x4" for "x four" and now and then mishears a word, so the nearest quote counts
    when it is much like the topic and no other is as much.
    """
    wanted, terms = squash(topic), content_terms(topic)
    exact = {quote for quote in quotes if len(wanted) >= MIN_EXACT_CHARACTERS and wanted in squash(quote)}
    if exact:
        return exact, EXACT
    by_words = {quote for quote in quotes if terms and coverage(terms, quote) == 1.0}
    if by_words:
        return by_words, 0.8
    ranked = sorted(
        ((SequenceMatcher(None, wanted, squash(quote), autojunk=False).ratio(), quote) for quote in quotes),
        reverse=True,
    )
    if not ranked or ranked[0][0] < MIN_LIKENESS:
        return None
    if len(ranked) > 1 and ranked[0][0] - ranked[1][0] < LIKENESS_MARGIN:
        return None
    return {ranked[0][1]}, 0.6


def _speaker(store: MemoryStore, text: str, speech: Speech) -> str:
    """The current name of whoever a grounded line quotes."""
    tags = find_tags(speaker_in(text) or "")
    person = store.person_of(tags[0].node_id) if tags else None
    return person.label if person is not None else speech.phrase("someone")


def _what_said(
    store: MemoryStore, question: Question, speech: Speech, words: AcrossWords | None
) -> ComputedAnswer | None:
    """The quotes of the persons asked about, latest last; with a topic only those that share a content word."""
    terms = content_terms(question.topic)
    if question.topic and not terms:
        return None
    parts: list[str] = []
    node_ids: list[int] = []
    for person in question.persons:
        quotes = [
            (row, quote)
            for row in _rows(store, question, person)
            if row.kind == "heard" and (quote := _row_quote(store, row)) is not None
        ]
        if terms:
            quotes = [
                (row, quote)
                for row, quote in quotes
                if coverage(terms, f"{quote} {_across(quote, question, words)}") >= 0.5
            ]
            if not quotes:
                return None
        if not quotes:
            parts.append(speech.phrase("said_none", person=person.label, when=_when_words(question, speech)))
            continue
        shown = quotes[-MAX_QUOTES:]
        told = [
            speech.phrase("quote", text=quote, time=speech.moment(row.start_utc_s)) for row, quote in shown
        ]
        parts.append(
            speech.phrase("said", person=person.label, quotes=speech.phrase("quote_join").join(told))
        )
        if len(shown) < len(quotes):
            parts.append(speech.phrase("said_more", count=len(quotes) - len(shown)))
        node_ids += [node_id for row, _ in shown for node_id in row.evidence[:1]]
    return ComputedAnswer(speech.sentences(parts), tuple(node_ids), 0.9)


def _across(quote: str, question: Question, words: AcrossWords | None) -> str:
    """The words of what is asked about that a quote says in the other language."""
    if words is None or language_of(quote) == question.language:
        return ""
    return words.said_in(quote, question.topic, question.language)


def _row_quote(store: MemoryStore, row: TimelineRow) -> str | None:
    for node_id in row.evidence:
        quote = quote_in(store.node(node_id).text)
        if quote is not None:
            return store.render(quote)
    return quote_in(row.text)


def _when_met(store: MemoryStore, question: Question, speech: Speech) -> ComputedAnswer | None:
    """When the persons were first or last seen or heard."""
    order, _, sense = str(question.intent).partition("_")
    parts: list[str] = []
    node_ids: list[int] = []
    for person in question.persons:
        rows = [row for row in _rows(store, question, person) if row.kind == sense]
        if not rows:
            parts.append(speech.phrase(f"never_{sense}", person=person.label))
            continue
        row = rows[0] if order == "first" else max(rows, key=lambda row: row.end_utc_s)
        moment = speech.moment(row.start_utc_s if order == "first" else row.end_utc_s)
        parts.append(speech.phrase(f"{order}_{sense}", person=person.label, time=moment))
        node_ids += row.evidence[:2]
    return ComputedAnswer(speech.sentences(parts), tuple(node_ids), 0.9)


def _who_was_here(store: MemoryStore, question: Question, speech: Speech) -> ComputedAnswer:
    """The persons met in the time asked about, in the order of their coming, and how many they are."""
    rows = _rows(store, question)
    when = _when_words(question, speech)
    if not rows:
        return ComputedAnswer(speech.phrase("no_memories", when=when), (), 0.5)
    first: dict[int, TimelineRow] = {}
    nameless = [row for row in _met(rows) if row.person_id is None]
    for row in _met(rows):
        if row.person_id is not None:
            first.setdefault(row.person_id, row)
    parts: list[str] = []
    labels = [row.person or f"person_{person_id}" for person_id, row in first.items()]
    if not labels:
        parts.append(speech.phrase("present_none", when=when))
    elif question.intent == "count":
        count = speech.phrase("count_one" if len(labels) == 1 else "count_many", count=len(labels))
        parts.append(speech.phrase("count", count=count, when=when, persons=speech.enumeration(labels)))
    else:
        parts.append(speech.phrase("present", persons=speech.enumeration(labels), when=when))
    if nameless:
        parts.append(speech.phrase("unidentified", count=len(nameless)))
    return ComputedAnswer(speech.sentences(parts), _first_evidence([*first.values(), *nameless]), 0.9)


def _company(store: MemoryStore, question: Question, speech: Speech) -> ComputedAnswer | None:
    """Who was met at the same moments as the persons asked about; None where those were not there at all."""
    met = _met(_rows(store, question))
    asked = {person.id for person in question.persons}
    theirs = [row for row in met if row.person_id in asked]
    if not theirs:
        return None
    when = _when_words(question, speech)
    who = speech.enumeration([person.label for person in question.persons])
    others: dict[int, tuple[TimelineRow, TimelineRow]] = {}
    for row in met:
        if row.person_id is not None and row.person_id not in asked:
            meeting = next((own for own in theirs if _share_a_moment(own, row)), None)
            if meeting is not None:
                others.setdefault(row.person_id, (row, meeting))
    if not others:
        return ComputedAnswer(
            speech.phrase("company_none", person=who, when=when), _first_evidence(theirs), 0.7
        )
    labels = [row.person or f"person_{person_id}" for person_id, (row, _) in others.items()]
    times = dict.fromkeys(speech.moment(row.start_utc_s) for row, _ in others.values())
    text = speech.phrase(
        "company",
        person=who,
        persons=speech.enumeration(labels),
        when=when,
        time=speech.enumeration(list(times)),
    )
    return ComputedAnswer(text, _first_evidence([row for pair in others.values() for row in pair]), 0.9)


def _share_a_moment(one: TimelineRow, other: TimelineRow) -> bool:
    return one.start_utc_s < other.end_utc_s and other.start_utc_s < one.end_utc_s


def _was_here(store: MemoryStore, question: Question, speech: Speech) -> ComputedAnswer:
    """Yes with the times, or no, for each person asked about."""
    parts: list[str] = []
    shown: list[TimelineRow] = []
    when = _when_words(question, speech)
    for person in question.persons:
        rows = _met(_rows(store, question, person))
        if not rows:
            parts.append(speech.phrase("was_absent", person=person.label, when=when))
            continue
        times = list(dict.fromkeys(speech.moment(row.start_utc_s) for row in rows))
        told = speech.enumeration([times[0], times[-1]] if len(times) > 1 else times)
        parts.append(speech.phrase("was_present", person=person.label, when=when, time=told))
        shown += [rows[0], rows[-1]] if len(rows) > 1 else rows
    return ComputedAnswer(speech.sentences(parts), _first_evidence(shown), 0.9)


def _first_evidence(rows: Sequence[TimelineRow]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(node_id for row in rows for node_id in row.evidence[:1]))[:MAX_EVIDENCE]
