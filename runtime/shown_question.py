"""Reads what a question asks of the picture or sound that comes with it, and puts the person's name for "she"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from memory_store.records import Person
from runtime.follow_up import with_person
from runtime.grounding import language_of
from runtime.object_kinds import find_kinds
from runtime.object_question import Ask

About = Literal["identity", "person", "thing", "nothing"]

_SOMEBODY = r"(?:person|man|woman|boy|girl|guy|lady|gentleman|child|kid|visitor|guest|one|face|voice|speaker)"
_MEDIA = r"(?:picture|photo|image|video|recording|sound|clip)"
_HERE = rf"(?: (?:in|on) (?:this|that|the) {_MEDIA}| here| there| speaking| talking| called)*"
_IDENTITY_EN = re.compile(
    rf"^(?:please |can you |could you |do you know |tell me )*"
    rf"(?:who(?:['’]s| is| are| was| were|m) (?:(?:this|that|these|those|the|it|he|she|they)(?: {_SOMEBODY}s?| people)?"
    rf"|speaking|talking|in|on)(?: is)?{_HERE}(?: (?:the |this |that )?{_MEDIA})?"
    rf"|who (?:said|says|spoke|speaks|is saying|has said) (?:this|that|it|these words)?"
    rf"|who (?:this|that|he|she|it|they)(?: {_SOMEBODY})? (?:is|are|was)|who am I"
    rf"|whose (?:voice|face|picture|photo) (?:is|was) (?:this|that|it)|whose (?:voice|face) (?:this|that|it) is)$"
    rf"|^do you (?:know|recogni[sz]e) (?:(?:this|that|the) {_SOMEBODY}|this|that|him|her|them|me)$"
    rf"|^what(?:['’]s| is) (?:his|her|their|the|this|(?:this|that) {_SOMEBODY}['’]s) name$",
    re.IGNORECASE,
)
_IDENTITY_ZH = re.compile(
    r"(?:[这那个位些人他她们是的在有叫说讲话了过呀啊呢请问你知道认识句里上中]|声音|照片|图片|录音)*谁"
    r"(?:[这那个位些人他她们是的在有叫说讲话了过呀啊呢句里上中]|声音|照片|图片|录音)*"
    r"|你?(?:认识|认得)(?:[这那]个?(?:人|位|男人|女人|孩子)?|他|她|我)吗?|(?:他|她|[这那]个?(?:人|位))叫什么(?:名字)?|我是谁"
)
_WHOSE_ZH = re.compile(r"是谁的$|^谁的|属于谁")
_VOICE_ZH = re.compile(r"声音|照片|图片|脸|录音")
_PERSON_EN = re.compile(rf"\b(?:this|that) {_SOMEBODY}\b(?P<own>['’]s)?", re.IGNORECASE)
_PERSON_ZH = re.compile(r"[这那](?:个|位)?(?:人|男人|女人|先生|女士|客人|孩子|男孩|女孩|位)")
_PRONOUN = re.compile(r"\b(?:she|he|him|her|hers|his|they|them|their|theirs)\b|他|她", re.IGNORECASE)
_IN_PICTURE = re.compile(
    rf"\b(?:in|on|of|from) (?:this|that|the) {_MEDIA}\b"
    r"|[这那](?:张|个|段)?(?:照片|图片|图|录音)(?:里|上|中)?",
    re.IGNORECASE,
)
_THING = re.compile(
    r"\b(?:this|that|these|those|it|its)\b|它|[这那](?:个|只|把|本|条|台|件|张|瓶|杯|些)?", re.IGNORECASE
)
_ASKS: tuple[tuple[Ask, str], ...] = (
    ("gave", r"\bwho\b.*\b(?:gave|bought|brought)\b|\bwho\b.*\bfrom$|谁(?:送|给|买)"),
    ("whose", r"\bwhose\b|\bwho (?:owns|owned)\b|\bbelongs? to\b|谁的|属于谁"),
    ("has", r"\bwho (?:has|had|have|took|takes|holds|held|uses|used)\b|谁(?:在)?(?:拿|用|借)"),
    ("look", r"\blooks? like\b|什么样"),
)


@dataclass(frozen=True)
class ShownAsked:
    """What is asked of it; ask: of a thing, where it is unless something else; labels: the classes it names."""

    about: About
    ask: Ask = "where"
    labels: tuple[str, ...] = ()


def read_shown_question(text: str, medium: str) -> ShownAsked:
    """What a question asks of the picture or sound that comes with it."""
    plain = " ".join(text.split()).strip(" ?？!！.。,，")
    chinese = language_of(plain) == "zh"
    if chinese:
        plain = re.sub(r"[\s，,]", "", plain)
    labels = tuple(label for _, _, label in find_kinds(plain))
    whose = chinese and _WHOSE_ZH.search(plain) and not _VOICE_ZH.search(plain)
    if not labels and not whose:
        identity = _IDENTITY_ZH.fullmatch(plain) if chinese else _IDENTITY_EN.search(plain)
        if identity:
            return ShownAsked("identity")
    outside = _IN_PICTURE.sub(" ", plain)
    if _PERSON_EN.search(outside) or _PERSON_ZH.search(outside) or _PRONOUN.search(outside):
        return ShownAsked("person")
    if medium == "picture" and _THING.search(outside):
        asks = [ask for ask, form in _ASKS if re.search(form, plain, re.IGNORECASE)]
        return ShownAsked("thing", asks[0] if asks else "where", labels)
    return ShownAsked("person" if medium == "sound" and _THING.search(outside) else "nothing")


def bound(text: str, person: Person, unique: bool) -> str:
    """The question with the person's name for every word that points at them; `unique`: nobody else has the name."""
    label = person.label if unique else f"person_{person.id}"
    text = _PERSON_EN.sub(lambda match: label + (match["own"] or ""), text)
    return with_person(_PERSON_ZH.sub(label, text), label)
