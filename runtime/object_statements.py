"""What people said of where a thing is: statements only, no questions, requests or television speech."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory_store.records import Node, NodeKind
from memory_store.store import MemoryStore
from runtime.asked_for import holds_other
from runtime.grounding import coverage
from runtime.object_kinds import find_kinds, names_of
from runtime.object_question import ObjectQuestion, goes_on
from runtime.question import Question, is_named
from runtime.quotes import quote_in, sentences_in, states_something

_EPISODIC: tuple[NodeKind, ...] = ("episodic",)
_PLACED = re.compile(
    r"\b(?:put|left|leave|keep|kept|placed?|stored?|hid(?:den)?|hung|dropped|is|are|was|were|lies?|lying|sits?|stands?"
    r"|'s|'re)\b.*\b(?:in|on|under|at|by|behind|beside|next|near|inside|into|onto|upstairs|downstairs|here|over"
    r"|above|below|between|with)\b|(?:放|搁|落|留|忘|挂|藏|收|摆|塞)(?:在|到|进)|在.{1,12}(?:里|上|下|边|面|旁|中|间|头)",
    re.IGNORECASE,
)

_OWN = re.compile(r"\b(?:my|mine|our|ours|I['’]m)\b|我的|我家", re.IGNORECASE)


def time_span(question: Question) -> tuple[float | None, float | None]:
    """The span of time that a question names, in UTC seconds."""
    return (question.time.start_utc_s, question.time.end_utc_s) if question.time else (None, None)


def statements(
    store: MemoryStore, question: Question, asked: ObjectQuestion, terms: Sequence[str]
) -> list[Node]:
    """What people said of where the thing is, latest first; of those asked about where they said something."""
    after, before = time_span(question)
    hits = store.search_node(
        text=" ".join(dict.fromkeys((*terms, *names_of(asked.label)))),
        kinds=_EPISODIC,
        after_utc_s=after,
        before_utc_s=before,
        k=60,
    )
    found = [hit.node for hit in hits if _says_where(hit.node, asked, terms)]
    found.sort(key=lambda node: (-node.start_utc_s, -node.id))
    own = [node for node in found if asked.owners and _speaker_id(store, node) in asked.owners]
    return own or [node for node in found if not (asked.owners and _of_speaker(store, node, question))]


def _of_speaker(store: MemoryStore, node: Node, question: Question) -> bool:
    """Whether a line tells of what is the speaker's own, and names none of those who are asked about."""
    quote = quote_in(store.render(node.text)) or ""
    return bool(_OWN.search(quote)) and not any(is_named(one.label, quote) for one in question.persons)


def _says_where(node: Node, asked: ObjectQuestion, terms: Sequence[str]) -> bool:
    quote = quote_in(node.text)
    if quote is None or node.provenance.get("speech_source") == "screen":
        return False
    for sentence in sentences_in(quote):
        mentions = [
            sentence[:start]
            for start, end, label in find_kinds(sentence)
            if asked.label and label == asked.label and not goes_on(sentence[end:])
        ]
        if mentions and all(map(holds_other, mentions)):
            continue
        if not (mentions or (terms and coverage(terms, sentence) == 1.0)):
            continue
        if states_something(sentence) and _PLACED.search(sentence):
            return True
    return False


def _speaker_id(store: MemoryStore, node: Node) -> int | None:
    actors = [
        edge.target for edge in store.edges(node.id) if edge.source == node.id and edge.detail == "actor"
    ]
    person = store.person_of(actors[0]) if actors else None
    return None if person is None else person.id
