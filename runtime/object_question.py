"""Questions about things: where, whose, from whom, in whose hand, what it looks like; read by code alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from runtime.asked_for import tells_colour
from runtime.grounding import content_terms
from runtime.object_kinds import find_kinds
from runtime.question import Question

Ask = Literal["where", "look", "gave", "whose", "has"]


@dataclass(frozen=True)
class ObjectQuestion:
    """What is asked of which thing: its class, "" for what the detector does not know; then `terms` name it.

    owners: ids of the persons whose it is said to be; owner_name: a name of nobody known, "" where none is given.
    """

    ask: Ask
    label: str
    terms: tuple[str, ...]
    owners: tuple[int, ...] = ()
    owner_name: str = ""


_FORMS_EN: tuple[tuple[Ask, str], ...] = (
        ("gave", r"^(?:who|whom) (?:gave|bought|brought)\b|^(?:who|whom) (?:is|was|are|were) .*\bfrom$|^from whom\b"),
        ("gave", r"^where did .*\bget\b"),
        ("whose", r"^whose\b|^who (?:owns|owned)\b|^who does .* belong to$|\bbelongs? to whom$"),
        ("has", r"^who (?:has|had|have|took|takes|holds|held|uses|used|(?:is|was) (?:holding|using))\b"),
        ("look", r"\blooks? like$|^(?:please )?(?:show|let) (?:me|us)\b|^what colou?r (?:is|was|are|were)\b"),
        ("where", r"^(?:(?:do you|can you|please|tell me|know|tell us) ?)*where(?:['’]s|\b)"),
        ("where", r"^have you (?:seen|found) (?:my|the|our|your|his|her|\S+['’]s)\b"),
        ("where", r"^when (?:did|have) (?:you|we) (?:last|see|seen)\b.*"),
)  # fmt: skip
_NOT_WHERE = re.compile(
    r"\b(?:from|live[sd]?|work(?:s|ed)?|bought|buy|born|meet|met|say|said|tell|told|travel\w*|study|studied|usually|normally|always|sleeps?|slept)\b"
    r"|从哪|哪里人|哪里来|哪儿来|哪里买|住在|工作|说|睡|通常|总是",
    re.IGNORECASE,
)
_FORMS_ZH: tuple[tuple[Ask, str], ...] = (
    ("gave", r"谁(?:送|给|买)"),
    ("whose", r"是谁的|^谁的|属于谁"),
    ("has", r"谁(?:在)?(?:拿|用|借)"),
    ("look", r"什么样|什么颜色|(?:给|让)我(?:们)?看"),
    ("where", r"哪里|哪儿|在哪|放哪|去哪|搁哪|落哪"),
    ("where", r"^你?(?:有没有|最后(?:一次)?|什么时候)*(?:看到|看见|见过|见到)(?:过|了)?"),
)
_ENGLISH = tuple((ask, re.compile(form, re.IGNORECASE)) for ask, form in _FORMS_EN)
_CHINESE = tuple((ask, re.compile(form)) for ask, form in _FORMS_ZH)
_VERBS = re.compile(
    r"^(?:leave|left|puts?|places?|placed|see|seen|saw|find|found|lose|lost|keep|kept|stored?|hide|hid|gone?|went|last|know"
    r"|tell|show|looks?|like|picture|photo|now|today|currently|放在|放哪|哪里|哪儿|在哪|看到|看见|最后|找到)$"
)
_OWNER_EN = re.compile(r"\b([A-Z][\w-]*(?: [A-Z][\w-]*)?)['’]s\b")
_OWNER_ZH = re.compile(r"([A-Za-z][\w-]*|[\u4e00-\u9fff]{2,4})的$")
_SOMEBODYS = re.compile(r"\b(?:my|the|our|your|his|her|their|\w+['’]s)\s+\w+", re.IGNORECASE)
_LEFT = re.compile(
    r"where(?:['’]s| is| are| was| were| did (?:I|we|you|he|she|they|\S+(?: \S+)?) "
    r"(?:leave|put|place|keep|store|hide|lose|last)\b)|^have you (?:seen|found)\b",
    re.IGNORECASE,
)
_NEXT_WORD = re.compile(r" ([a-z]{3,})\b", re.IGNORECASE)
_THING_ZH = re.compile(r"(?:的?钥匙|盖|套|垫|柜|架|票|门|店|站|牌|灯|卡|袋|桌|箱|轮|锁)")
_FORM = re.compile(r"(?:ed|ing|ly)$", re.IGNORECASE)
_NOBODY = frozenset(("Where", "Who", "What", "That", "There", "It", "Here", "How", "When", "你们", "他们"))


def read_object_question(question: Question) -> ObjectQuestion | None:
    """The question about a thing, or None where it is about something else."""
    text = question.text.strip(" ?？!！.。")
    chinese = question.language == "zh"
    ask = next((ask for ask, form in (_CHINESE if chinese else _ENGLISH) if form.search(text)), None)
    if ask is None or (ask == "where" and _NOT_WHERE.search(text)):
        return None
    found = [kind for kind in find_kinds(text) if not goes_on(text[kind[1] :])]
    label = found[0][2] if found else ""
    if ask == "where" and tells_colour(text):
        label = ""  # sight does not tell the blue cup from others: only what was said of it counts
    terms = tuple(term for term in question.terms if not _VERBS.match(term) and not _is_part(term))
    if not label and (ask != "where" or not terms or not _names_a_thing(text, chinese)):
        return None
    owners = tuple(person.id for person in question.persons)
    name = _owner_name(text[: found[0][0]] if found else text, chinese)
    return ObjectQuestion(ask, label, terms, owners, "" if owners else name)


def goes_on(rest: str) -> bool:
    """Whether the name goes on behind the word for a kind, as in "car keys", 汽车钥匙: it is no thing of that kind."""
    if _THING_ZH.match(rest):
        return True
    word = _NEXT_WORD.match(rest)
    return bool(word and content_terms(word[1]) and not _VERBS.match(word[1]) and not _FORM.search(word[1]))


def _is_part(term: str) -> bool:
    """Whether a pair of Chinese characters is only part of how the question is put."""
    return len(term) == 2 and any(mark in term for mark in "哪放里了吗呢把")


def _names_a_thing(text: str, chinese: bool) -> bool:
    """Whether a question without a known class asks for a thing rather than for somebody or an event."""
    if chinese:
        return any(mark in text for mark in "放搁落")
    return bool(_SOMEBODYS.search(text) and _LEFT.search(text))


def _owner_name(before: str, chinese: bool) -> str:
    match = (_OWNER_ZH if chinese else _OWNER_EN).search(before)
    name = match[1] if match else ""
    return "" if name in _NOBODY or name.startswith(("我", "你")) else name
