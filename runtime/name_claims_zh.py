"""Names in Chinese sentences, which no letter marks: they have the shape of a name and are no common word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from runtime.name_claim import Claim, ClaimKind

_SIMPLIFIED = str.maketrans(
    "說這嗎個認識們紹講問喊寫對謝樣請過來給媽爺嬸鄰", "说这吗个认识们绍讲问喊写对谢样请过来给妈爷婶邻"
)
_HAN = re.compile(r"[\u3400-\u9fff]")
_LATIN_NAME = re.compile(r"[A-Z][a-z]{1,19}(?![A-Za-z])")
_PAUSE = "，,、：:；;。！？!?.…"


class ChineseNames:
    """The rules of prompts/names.zh.yaml."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        relation = f"(?P<relation>{raw['relation']})"
        kinds: tuple[tuple[str, ClaimKind, bool], ...] = (
            ("not_self", "not_self", True),
            ("self_loose", "self", True),
            ("self_strict", "self", False),
            ("third", "third", True),
        )
        self._openers = [
            (kind, loose, re.compile(pattern.replace("{relation}", relation)))
            for key, kind, loose in kinds
            for pattern in raw[key]
        ]
        self._lead = re.compile(rf"(?:^|[，,、：:；;“\"「])\s*(?:{raw['lead']})*\s*$")
        self._end = re.compile(rf"(?:{raw['particles']})?(?=\s*(?:$|[{_PAUSE}”\"」]|{raw['follow']}|\s))")
        self._question = re.compile(r"\s*(?:吗|[?？])")
        self._quoting = re.compile(f'{raw["quoting"]}|[“"「]')
        self._supposing = re.compile(raw["supposing"])
        self._answer = re.compile(rf"(?:(?:{raw['answer']})[，,]\s*)+")
        self._greeted = re.compile(rf"(?:{raw['greeting']})\s*(?=[A-Z\u3400-\u9fff])")
        self._asked = re.compile(rf"[，,]\s*(?:{raw['asked']})")
        self._addressed = re.compile(rf"(?:{raw['greeting']})$|[你您]")
        self._surnames = frozenset(raw["surnames"])
        self._double_surnames = frozenset(raw["double_surnames"].split())
        self._given = frozenset(raw["given"])
        self._barred = frozenset(raw["never_in_names"])
        self._trades = frozenset(raw["endings_of_trades"])
        self._not_names = frozenset(raw["not_names"].split())

    def claims(self, sentence: str) -> Iterator[Claim]:
        """What one sentence says of names."""
        if not _HAN.search(sentence):
            return
        plain = sentence.translate(_SIMPLIFIED)
        introduced = list(self._introductions(plain))
        yield from introduced
        name = self._addressee(plain.rstrip(" 。.!！?？…"))
        if name and all(name != claim.name for claim in introduced):
            yield Claim("address", name)

    def _introductions(self, sentence: str) -> Iterator[Claim]:
        for kind, loose, opener in self._openers:
            for match in opener.finditer(sentence):
                name, after = self._name(sentence[match.end() :].lstrip(), loose=loose)
                before = sentence[: match.start()]
                if not name or self._question.match(after):
                    continue
                if self._quoting.search(before):
                    if kind != "third":
                        yield Claim("quoted", name)
                elif not self._supposing.search(before) and self._lead.search(before):
                    yield Claim(kind, name, match.groupdict().get("relation") or "")

    def _addressee(self, sentence: str) -> str:
        greeted = self._greeted.match(sentence)
        if greeted:
            name, after = self._name(sentence[greeted.end() :])
            if name and (not after or after[0] in _PAUSE):
                return name
        answer = self._answer.match(sentence)
        rest = sentence[answer.end() :] if answer else sentence
        name, after = self._name(rest)
        if name and (self._asked.match(after) or (answer and (not after or after[0] in "，,"))):
            return name
        if re.match(r"[小阿].你", rest) and rest[:2] not in self._not_names and rest[1] not in self._barred:
            return rest[:2]
        parts = re.split("[，,]", sentence)
        name, after = self._name(parts[-1].strip())
        called = len(parts) > 1 and name and not after and self._addressed.search(parts[-2])
        return name if called else ""

    def _name(self, text: str, *, loose: bool = False) -> tuple[str, str]:
        """The name that a text begins with, and what follows it; "" where it begins with none."""
        latin = _LATIN_NAME.match(text)
        if latin:
            after = text[latin.end() :]
            ended = self._end.match(after)
            return (latin.group(), after[ended.end() :]) if ended else ("", text)
        for length in (4, 3, 2):
            name, after = text[:length], text[length:]
            if len(name) < length or not all(map(_HAN.match, name)):
                continue
            ended = self._end.match(after)
            if ended and self._is_name(name, loose=loose):
                return name, after[ended.end() :]
        return "", text

    def _is_name(self, name: str, *, loose: bool) -> bool:
        if name in self._not_names or name[:2] in self._not_names or self._barred & set(name):
            return False
        if name[:2] in self._double_surnames:
            return len(name) in (3, 4)
        if len(name) == 4:
            return False
        if len(name) == 3:
            return name[0] in self._surnames and (loose or name[2] not in self._trades)
        shaped = name[0] in "小老阿" or name[0] == name[1] or name[0] in self._surnames
        return shaped or loose or set(name) <= self._given
