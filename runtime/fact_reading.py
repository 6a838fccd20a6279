"""Reads facts from what was said and from a language model's lines, and puts facts into words.

What is done with them is left to runtime/facts.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from memory_store.records import Triple
from runtime.fact_claim import FactClaim
from runtime.facts_en import EnglishFacts
from runtime.facts_zh import ChineseFacts
from runtime.name_claims_en import EnglishNames

LONGEST_TEXT = 2000  # characters of one line that are read

_SENTENCE_END = re.compile(r"(?<=[!?。！？…;；])\s*|(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<=\.)\s+|\n")
_HAN = re.compile(r"[\u3400-\u9fff]")


def facts_in(text: str) -> tuple[FactClaim, ...]:
    """The distinct facts of one line, in the order of the text."""
    english, chinese = _rules()
    found: dict[tuple[object, ...], FactClaim] = {}
    for sentence in _SENTENCE_END.split(text[:LONGEST_TEXT]):
        sentence = sentence.strip()
        reader = chinese if _HAN.search(sentence) else english
        for claim in reader.claims(sentence):
            triple = claim.triple
            key = (claim.by_name, triple.subject, triple.relation, triple.object, triple.polarity)
            if triple.object:
                found.setdefault(key, claim)
    return tuple(found.values())


def told(triple: Triple, who: str, language: str, *, changed: bool = False) -> str:
    """A fact as a sentence; one denied, and `changed`, as what was so once: "Anna used to like tea."."""
    phrases = _words(language)["phrases"]
    forms = phrases.get(triple.relation, phrases["kin_of" if triple.relation.endswith(" of") else "other"])
    form = forms[0] if triple.polarity > 0 else forms[2 if changed else 1]
    return _fill(form, triple, who, language)


def _fill(form: str, triple: Triple, who: str, language: str) -> str:
    relation = relation_word(triple.relation.removesuffix(" of"), language)
    return str(form).format(who=whose(who, triple.subject, language), object=triple.words, relation=relation)


def whose(who: str, kin: str, language: str) -> str:
    """Somebody, or somebody of theirs: "Anna's brother"."""
    if not kin:
        return who
    return f"{who}的{relation_word(kin, 'zh')}" if language == "zh" else f"{who}'s {kin}"


def relation_word(relation: str, language: str) -> str:
    """A relation that is named by a noun ("brother", "favourite colour") in a language."""
    if language != "zh":
        return relation
    raw = _words("zh")
    kin = {english: chinese for chinese, english in reversed(raw["relations"].items())}
    favourites = {
        f"favourite {english}": f"最喜欢的{chinese}" for chinese, english in raw["favourites"].items()
    }
    return str({**kin, **favourites, **raw["relation_words"]}.get(relation, relation))


def noun_relations() -> tuple[str, ...]:
    """The relations that name somebody of a person, in English: brother, wife …"""
    return tuple(dict.fromkeys(_words("zh")["relations"].values()))


@cache
def _words(language: str) -> Mapping[str, Any]:
    path = Path(__file__).parent / "prompts" / f"facts.{language}.yaml"
    raw: Mapping[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return raw


@cache
def _rules() -> tuple[EnglishFacts, ChineseFacts]:
    path = Path(__file__).parent / "prompts" / "names.en.yaml"
    names = EnglishNames(yaml.safe_load(path.read_text(encoding="utf-8")))
    return EnglishFacts(_words("en"), names), ChineseFacts(_words("zh"))


def asked_for(topic: str, language: str) -> tuple[list[str], int] | None:
    """The relations that the verb or noun of a question asks for, and whether for or against (0: both)."""
    table: Mapping[str, tuple[list[str], int]] = _words(language)["asked"]
    low = topic.casefold().strip()
    for word in (low, low.removesuffix("s"), low.removesuffix("ies") + "y"):
        if word in table:
            return table[word]
    return None


def kin_in(topic: str, language: str) -> tuple[str, str]:
    """Somebody of a person's whom a question's topic begins with, as a relation, and the rest; "" for nobody."""
    raw = _words(language)
    match = re.match(rf"(?:{raw['kin']})(?![a-z])", topic.casefold().removesuffix("s"))
    if match is None:
        return "", topic
    word = raw["kin_forms"].get(match.group(), match.group())
    rest = topic[match.end() :].strip()
    relation = raw["relations"].get(word, "") if language == "zh" else word
    return relation, "" if rest == "s" else rest.removeprefix("现在")


def is_eaten_or_drunk(verb: str, triple: Triple) -> bool:
    """Whether a fact may answer a question for food or drink, which liking anything else does not."""
    raw = _words("en")
    kind = {"drink": "drinks", "喝": "drinks", "eat": "foods", "吃": "foods"}.get(verb)
    if kind is None or triple.relation not in ("likes", "prefers", "allergic_to"):
        return True
    words = triple.object.split()
    return any(word in words or (_HAN.match(word) and word in triple.object) for word in raw[kind].split())
