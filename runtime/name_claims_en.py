"""Names in English sentences: they have a capital letter, and are no word that merely begins with one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from runtime.name_claim import Claim, ClaimKind

LONGEST_NAME = 20  # characters of one part of a name
MOST_PARTS = 3
SHORT_WORDS = 4  # "That sounds great, Anna!": so short a sentence lists nothing

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ADDRESS_END = re.compile(r"[.,!?;:…]|$")


class EnglishNames:
    """The rules of prompts/names.en.yaml."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        relation = f"(?P<relation>{raw['relation']})"
        self._openers: list[tuple[ClaimKind, re.Pattern[str]]] = [
            (kind, re.compile(r"(?<!\w)" + pattern.replace("{relation}", relation), re.IGNORECASE))
            for kind in ("not_self", "self", "third")
            for pattern in raw[kind]
        ]
        self._this_is = re.compile(rf"(?<!\w)(?:{'|'.join(raw['self_if_speaking'])})", re.IGNORECASE)
        self._speaking = _whole(rf"\s+(?:{raw['speaking']})\b")
        self._lead = re.compile(rf"(?:^|[,;:—-]\s*|\b(?:{raw['lead']})\s+)$", re.IGNORECASE)
        self._follow = _whole(rf"\s*(?:$|[.,!;:…—\"”-]|(?:{raw['follow']})\b)")
        self._doubt = _whole(
            r"\s*\?|\s+(?:and|or)\s+[^\W\d_]+['’]s\b|,\s*(?:right|really|or what|or|am i|aren['’]t i)\b[^,]*\?"
        )
        self._quoting = re.compile(rf"\b(?:{raw['quoting']})\b|[\"“]\s*$", re.IGNORECASE)
        self._supposing = re.compile(rf"\b(?:{raw['supposing']})\b", re.IGNORECASE)
        self._greeting = _whole(
            rf"(?:(?:{raw['answer']}),?\s+)?(?:{raw['greeting']}|{raw['answer']})\s+(?=[^\W\d_])"
        )
        self._answer = _whole(rf"(?:(?:{raw['answer']}),?\s+)+")
        self._asked = _whole(rf",\s*(?:{raw['asked']})\b")
        self._addressed = re.compile(rf"\b(?:{raw['addressed']})\b", re.IGNORECASE)
        self._not_names = frozenset(raw["not_names"].split())
        self._names_like_words = frozenset(raw["names_like_words"].split())

    def claims(self, sentence: str) -> Iterator[Claim]:
        """What one sentence says of names."""
        if _mostly_capitals(sentence):
            return
        introduced = list(self._introductions(sentence))
        yield from introduced
        name = self._addressee(sentence)
        if name and all(name != claim.name for claim in introduced):
            yield Claim("address", name)

    def _introductions(self, sentence: str) -> Iterator[Claim]:
        for kind, opener in self._openers:
            for match in opener.finditer(sentence):
                name, after = self.name_at(sentence[match.end() :])
                before = sentence[: match.start()]
                if not name or self._doubt.match(after) or not self._follow.match(after):
                    continue
                relation = (match.groupdict().get("relation") or "").casefold()
                yield from self._judged(kind, name, relation, before)
        for match in self._this_is.finditer(sentence):
            name, after = self.name_at(sentence[match.end() :])
            if name and self._speaking.match(after):
                yield from self._judged("self", name, "", sentence[: match.start()])

    def _judged(self, kind: ClaimKind, name: str, relation: str, before: str) -> Iterator[Claim]:
        """The claim, unless the words before it make it another's words, a supposition or a part of something else."""
        if kind == "third":
            if not self._quoting.search(before) and (self._lead.search(before) or _asks_to_meet(before)):
                yield Claim(kind, name, relation)
        elif self._quoting.search(before):
            yield Claim("quoted", name)
        elif not self._supposing.search(before) and self._lead.search(before):
            yield Claim(kind, name, relation)

    def _addressee(self, sentence: str) -> str:
        """Whom a sentence calls by name, at its start, after a greeting or at its end."""
        greeting = self._greeting.match(sentence)
        if greeting:
            name, after = self.name_at(sentence[greeting.end() :])
            if name and _ADDRESS_END.match(after):
                return name
        answer = self._answer.match(sentence)
        name, after = self.name_at(sentence[answer.end() if answer else 0 :])
        if name and (self._asked.match(after) or (answer and _goes_on(after))):
            return name
        body, comma, last = sentence.rstrip(" .!?…").rpartition(",")
        name, after = self.name_at(last.strip())
        words = _WORD.findall(body)
        short = len(words) <= SHORT_WORDS
        if not comma or not name or after or not words or not (short or self._addressed.search(body)):
            return ""
        listed = len(words) > 1 and words[-1][:1].isupper() and words[-1] != "I"
        return "" if listed or self._quoting.search(body) else name

    def name_at(self, text: str) -> tuple[str, str]:
        """The name that a text begins with, and what follows it; "" where it begins with none."""
        parts: list[str] = []
        end = 0
        for match in _WORD.finditer(text):
            between = text[end : match.start()]
            if between not in ("" if not parts else " ",) or len(parts) == MOST_PARTS:
                break
            if not self.is_name(match.group()):
                if match.group()[0].isupper() and match.group() != "I":
                    return "", text  # a title, or a name of something else
                break
            parts.append(match.group())
            end = match.end()
        return " ".join(parts), text[end:]

    def is_name(self, word: str) -> bool:
        plain = word.replace("’", "'")
        low = plain.casefold()
        if not plain[0].isupper() or plain.isupper() or not 2 <= len(plain) <= LONGEST_NAME:
            return False
        if low in self._names_like_words:
            return True
        if low in self._not_names or low.endswith("'s") or low.partition("'")[0] in self._not_names:
            return False
        return not (len(low) > 5 and low.endswith(("ly", "ing", "ed", "ese", "ish")))


def _whole(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _asks_to_meet(before: str) -> bool:
    return bool(re.search(r"\b(?:i['’]d|i would|i|we['’]d|we)\s*$", before, re.IGNORECASE))


def _goes_on(after: str) -> bool:
    """Whether a sentence goes on after a name and a comma, and not with another name of a list."""
    match = re.match(r"(?:,\s*(\w+)|[.!?]?$)", after)
    return match is not None and (match[1] is None or match[1].islower() or match[1] == "I")


def _mostly_capitals(sentence: str) -> bool:
    """Titles and shouted text, where a capital letter tells nothing."""
    words = [word for word in _WORD.findall(sentence)[1:] if word != "I"]
    return len(words) > 3 and sum(word[0].isupper() for word in words) > 0.7 * len(words)
