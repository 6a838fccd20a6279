"""Searches the memory for a question: exact filters first, words and vectors inside them, and how strong a hit is.

How hits are ranked is memory_store/ranking.py; `python -m offline_tools.bench locomo_recall` measures the two together.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from memory_store.records import Hit, Node, NodeKind, Person
from memory_store.store import MemoryStore
from memory_store.tags import find_tags
from runtime.across_languages import LanguageShift, others
from runtime.across_words import AcrossWords
from runtime.answer import Evidence, Search
from runtime.evidence_words import question_before
from runtime.grounding import content_terms, coverage, language_of
from runtime.heard import trust_last
from runtime.pictures import picture_words
from runtime.privacy import EVERYBODY, Audience
from runtime.question import Question
from runtime.quotes import only_asks, quote_in, speaker_in
from runtime.whose import without_others_lives, without_others_things

EmbedQuery = Callable[[list[str]], NDArray[np.float32]]

_SOMEBODY = {"en": "somebody", "zh": "有人"}
_MOST_ACROSS = 3
_HAN = "\u3400-\u9fff"
_KINDS: tuple[NodeKind, ...] = ("episodic", "semantic")
_TEMPLATE_TOKEN = re.compile(
    r"<\|[^<>|]{0,40}\|?>?|</?s>|<(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>", re.IGNORECASE
)
_ACTION = re.compile(r"\[\s*(/?\s*(?:answer|search))\s*\]", re.IGNORECASE)


@dataclass(frozen=True)
class RecallLimits:
    """How much is searched and what counts as a strong hit.

    similarity_floor: cosine from which a memory counts as being about the question without sharing a word with
    it; it belongs to the embedding model. word_floor: share of the question's content words that a memory must
    hold to count by words alone; word_bonus: how much of the similarity all of them make up for.
    similarity_floor_zh: the floor where question and memory are Chinese. across_strong, across_near: how much more like
    the question a memory of another language must be than others of its language to be about it, and to be told where
    nothing is; of the model too.
    """

    hits: int = 8
    similarity_floor: float = 0.83
    word_floor: float = 0.6
    word_floor_named: float = 0.5
    word_bonus: float = 0.1
    similarity_floor_zh: float = 0.83
    across_strong: float = 1.0
    across_near: float = 1.0


class Recall:
    """Finds evidence. Used from the one thread that owns the store."""

    def __init__(
        self,
        store: MemoryStore,
        embed_query: EmbedQuery,
        *,
        limits: RecallLimits | None = None,
        kinds: Sequence[NodeKind] = _KINDS,
        shift: LanguageShift | None = None,
        words: AcrossWords | None = None,
    ) -> None:
        """shift: what finds memories of another language, where the text model knows several.

        words: what tells which of a question's words they say; without it their likeness alone counts.
        """
        self.store = store
        self.limits = limits or RecallLimits()
        self.words = words
        self._embed_query = embed_query
        self._kinds = kinds
        self._shift = shift

    def _over(self, store: MemoryStore, kinds: Sequence[NodeKind]) -> "Recall":
        return Recall(
            store, self._embed_query, limits=self.limits, kinds=kinds, shift=self._shift, words=self.words
        )

    def apart(self) -> "Recall":
        """The same over the memory in which no face and no voice are one person."""
        return self._over(self.store.apart(), self._kinds)

    def as_of(self, clip_id: int) -> "Recall":
        """The same over the memory as it was before a clip. Raises UnknownId."""
        return self._over(self.store.as_of(clip_id), self._kinds)

    def without_semantic(self) -> "Recall":
        """The same that finds only what happened, and nothing that was concluded from it."""
        return self._over(self.store, ("episodic",))

    def search(
        self, query: str, question: Question, audience: Audience = EVERYBODY
    ) -> tuple[list[Evidence], Search]:
        """Evidence for the query among what the question's time allows and the audience may hear, best first.

        The time is never widened. What concerns the persons named counts more; others may have told of them too, so
        nothing is left out for that. Where nothing strong is tied to these persons, the best that is comes first,
        and the record of the search says so.
        """
        persons = [person.id for person in question.persons]
        # a question that says nothing but names and times is about these persons' own memories
        vector = self._embed_query([without_names(query, question, _SOMEBODY[question.language])])[0]
        hits = self._hits(query, vector, question, None if question.terms else persons)
        evidence = [self._asked_for(self._evidence(hit), question) for hit in hits]
        widened = bool(persons and question.terms) and not any(
            _is_tied(item, question) and self.is_strong(item, question) for item in evidence
        )
        if widened:
            tied = [
                self._asked_for(self._evidence(hit), question)
                for hit in self._hits(query, vector, question, persons)
            ]
            known = {item.id for item in tied}
            evidence = tied + [item for item in evidence if item.id not in known]
        if self._shift and question.terms:
            across = self._across(query, vector, question, self._shift, evidence)
            known = {item.id for item in across}
            evidence = across + [item for item in evidence if item.id not in known]
        told = audience.may_hear(item.id for item in evidence)
        evidence = [self._in_conversation(item, audience) for item in evidence if item.id in told]
        return evidence, Search(
            query=query,
            filters=_filters_in_words(question),
            widened=widened,
            found=tuple(item.id for item in evidence),
            scores=tuple(round(item.score, 4) for item in evidence),
        )

    def is_strong(self, item: Evidence, question: Question) -> bool:
        """Whether a memory is really about the question, not only the nearest of all."""
        tied = _is_tied(item, question)
        if not question.terms:
            return tied or bool(question.time and not question.persons)
        return self.is_about(item, question.terms, named=tied)

    def is_about(self, item: Evidence, terms: Sequence[str], *, named: bool = False) -> bool:
        """Whether a memory holds enough of the terms, or is like enough to the query that found it.

        named: the question names a person, and the memory concerns them.
        """
        if item.across is not None and item.across >= self.limits.across_strong:
            return True
        shared = coverage(terms, item.words)
        if shared >= (self.limits.word_floor_named if named else self.limits.word_floor):
            return True
        if item.across is not None or only_asks(item.line):  # a question much like this one answers nothing
            return False
        chinese = language_of(" ".join(terms)) == "zh" == language_of(quote_in(item.line) or item.line)
        floor = self.limits.similarity_floor_zh if chinese else self.limits.similarity_floor
        return (item.similarity or 0.0) + self.limits.word_bonus * shared >= floor

    def is_near(self, item: Evidence) -> bool:
        """Whether a memory of another language may be told where nothing is known to be about the question."""
        return item.across is not None and item.across >= self.limits.across_near

    def _across(
        self,
        query: str,
        vector: NDArray[np.float32],
        question: Question,
        shift: LanguageShift,
        own: Sequence[Evidence],
    ) -> list[Evidence]:
        """The best memories of another language than the question's: by the words they say of it, and by likeness.

        Where something strong is among the question's `own`, only what says more of its words than any of these.
        """
        strong = any(self.is_strong(item, question) for item in own)
        if strong and self.words is None:
            return []
        hits = self.store.search_node(
            text=self.words.in_english(query) or None if self.words and question.language == "zh" else None,
            vector=shift.moved(vector, question.language),
            space="text",
            kinds=self._kinds,
            after_utc_s=question.time.start_utc_s if question.time else None,
            before_utc_s=question.time.end_utc_s if question.time else None,
            k=self.limits.hits * 4,
        )
        score = max((one.score for one in own), default=0.0)
        found = [
            self._asked_for(self._evidence(one.hit, one.lead), question)
            for one in others(hits, question.language)
        ]
        found = [replace(item, score=max(item.score, score)) for item in found]
        said = {item.id: coverage(question.terms, item.translated or "") for item in found}
        found.sort(key=lambda item: -said[item.id])  # the most alike of these first, as they come
        if strong:
            least = max(coverage(question.terms, item.words) for item in own)
            found = [item for item in found if said[item.id] > max(least, self.limits.word_floor)]
        return found[:_MOST_ACROSS]

    def _asked_for(self, item: Evidence, question: Question) -> Evidence:
        """The same with what of it counts for this question: without others' things, and across languages."""
        bare = without_others_things(item.line, question, self.words)
        bare = without_others_lives(bare, question, self.words)
        item = replace(item, bare="" if bare == item.line else bare)
        line = quote_in(item.line) or item.line
        if self.words is None or language_of(line) == question.language:
            return item
        told = self.words.said_in(quote_in(bare) or bare, question.text, question.language)
        # "Wifi" is in no dictionary: what is that much like the question and says some of it says the rest.
        if item.across is not None and item.across >= self.limits.across_strong and content_terms(told):
            told = question.text
        return replace(item, translated=told)

    def _in_conversation(self, item: Evidence, audience: Audience) -> Evidence:
        """The same with the question that it answers and who spoke next, where the audience may hear those too."""
        before, after = self.store.heard_before(item.id), self.store.heard_after(item.id)
        if before is not None and audience.may_hear([before.id]):
            asked = question_before(item.text, before.text)
            item = replace(item, asked=as_data(self.store.render(asked)) if asked else "")
        if after is not None and audience.may_hear([after.id]):
            item = replace(item, spoken_to=speaker_in(self.store.render(after.text)) or "")
        return item

    def evidence_of(self, node_ids: Iterable[int]) -> list[Evidence]:
        """The nodes as evidence, for what was computed rather than searched."""
        return [
            self._evidence(
                Hit(node=self.store.node(node_id), score=1.0, similarity=None, matched_by=("filter",))
            )
            for node_id in node_ids
        ]

    def _hits(
        self, query: str, vector: NDArray[np.float32], question: Question, only: Sequence[int] | None
    ) -> list[Hit]:
        """The best memories; `only`: of these persons, where there are any. vector: of the query, without names."""
        hits: list[Hit] = []
        persons: Sequence[int | None] = only or (None,)
        for person_id in persons:
            hits += self.store.search_node(
                text=without_names(query, question, " "),
                vector=vector,
                space="text",
                kinds=self._kinds,
                person_id=person_id,
                favour=[person.id for person in question.persons],
                after_utc_s=question.time.start_utc_s if question.time else None,
                before_utc_s=question.time.end_utc_s if question.time else None,
                k=self.limits.hits * (4 if question.terms else 1),
            )
        if question.terms:  # that somebody was in view answers no question about something
            hits = [hit for hit in hits if hit.node.provenance.get("event") != "seen"]
        hits = _best(hits, len(hits))
        # However often a screen repeats itself, others' words come first.
        hits.sort(key=lambda hit: trust_last(hit.node.text, question.text))
        return self._not_told_twice(hits[: 2 * self.limits.hits])[: self.limits.hits]

    def _not_told_twice(self, hits: list[Hit]) -> list[Hit]:
        """The hits without facts that were read from another hit: what was really said is the better evidence."""
        found = {hit.node.id for hit in hits}

        def restates(node: Node) -> bool:
            edges = self.store.edges(node.id) if node.kind == "semantic" else ()
            return any(edge.relation == "derived_from" and edge.target in found for edge in edges)

        return [hit for hit in hits if not restates(hit.node)]

    def _evidence(self, hit: Hit, across: float | None = None) -> Evidence:
        node = hit.node
        return Evidence(
            id=node.id,
            clip_id=node.clip_id,
            kind=node.kind,
            start_utc_s=node.start_utc_s,
            end_utc_s=node.end_utc_s,
            text=node.text,
            line=as_data(self.store.render(node.text) or picture_words(node.provenance)),
            score=hit.score,
            similarity=hit.similarity,
            matched_by=hit.matched_by,
            across=across,
        )


def as_data(text: str) -> str:
    """Remembered text as one harmless line: no chat template tokens, no action marks, no control characters."""
    text = "".join(character if character.isprintable() else " " for character in text)
    while _TEMPLATE_TOKEN.search(text):
        text = _TEMPLATE_TOKEN.sub(" ", text)
    return " ".join(_ACTION.sub(r"(\1)", text).split())


def _best(hits: Sequence[Hit], count: int) -> list[Hit]:
    """The best hits, each node once, ties by node id."""
    best: dict[int, Hit] = {}
    for hit in sorted(hits, key=lambda hit: (-hit.score, hit.node.id)):
        best.setdefault(hit.node.id, hit)
    return list(best.values())[:count]


def is_of(item: Evidence, person: Person) -> bool:
    """Whether a memory is of somebody: they were seen, spoke or are told of as a person, not only called by name."""
    own = {*person.face_ids, *person.voice_ids}
    return any(tag.node_id in own for tag in find_tags(item.text))


def _is_tied(item: Evidence, question: Question) -> bool:
    """Whether a memory is of one of the persons whom the question names."""
    return any(is_of(item, person) for person in question.persons)


def without_names(query: str, question: Question, word: str) -> str:
    """The query with another word for each person named, or as it is where nothing else stands in it.

    A name finds whoever is called by it ("Thanks, Anna!"), and few of a person's own lines hold their name: with
    names in it, the vector of a question is nearer to such calls than to any answer.
    """
    told = query
    for person in question.persons:
        bounded = rf"(?<![^\W{_HAN}]){re.escape(person.label)}(?:['’]s)?(?![^\W{_HAN}])"
        told = re.sub(bounded, word, told, flags=re.IGNORECASE)
    rest = told.replace(word, " ")
    return " ".join(told.split()) if any(character.isalnum() for character in rest) else query


def _filters_in_words(question: Question) -> str:
    parts = [f"person {person.id}" for person in question.persons]
    if question.time:
        parts.append(
            f"from {question.time.start_utc_s:.0f} to {question.time.end_utc_s:.0f} ({question.time.phrase})"
        )
    return ", ".join(parts) or "none"
