"""Facts in Chinese sentences: what people say that they like, have, are, plan, or no longer do.

Questions, suppositions, reports of what others said and everything half said are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from memory_store.records import Triple
from runtime.fact_claim import FactClaim
from runtime.grounding import normalise

_CLAUSE = re.compile(r"[，,。！!；;：:、]\s*(?=[我他她它<现以过曾原从不但可]|就|改)|[。！!；;]")
_COUNT = r"[一二两三四五六七八九十几\d]+"
_MOST = 10  # characters of an object


class ChineseFacts:
    """The rules of prompts/facts.zh.yaml."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self._raw = raw
        self._verbs = raw["verbs"]
        self._verb = re.compile("|".join(sorted(self._verbs, key=len, reverse=True)))
        self._adverb = re.compile(raw["adverbs"])
        self._past = re.compile(rf"(?:{raw['past']})")
        self._now = re.compile(rf"(?:{raw['now']})")
        self._barred = re.compile(rf"{raw['hedges']}|[“”\"]")
        self._question = re.compile(raw["question"])
        self._quoting = re.compile(raw["quoting"])
        self._lead = re.compile(rf"^(?:(?:{raw['lead']})[，,]?\s*)+")
        self._empty = re.compile(raw["empty"])
        self._relations, self._kin_forms = raw["relations"], raw["kin_forms"]
        kin = raw["kin"]
        self._kin = re.compile(rf"我(?:的)?(?P<kin>{kin})(?P<rest>.+)$")
        self._called = re.compile(
            rf"我(?:的|家的|家)?(?P<what>{kin}|{raw['pets']})(?:的名字)?(?:叫|名叫|名字叫)(?P<name>[\u4e00-\u9fff]{{1,4}}|[A-Z][a-z]+)$"
        )
        self._is_kin = re.compile(rf"(?P<name>[\u4e00-\u9fff]{{2,4}}?|[A-Z][a-z]+)是我(?:的)?(?P<kin>{kin})$")
        self._kin_of = re.compile(
            rf"是(?P<name>(?!(?:{kin})的)[\u4e00-\u9fff]{{2,4}}?|[A-Z][a-z]+)的(?P<kin>{kin})$"
        )
        self._not_a_name = re.compile(raw["not_a_name"])
        self._favourite = re.compile(
            rf"我?最喜欢的(?P<what>{'|'.join(raw['favourites'])})是(?P<object>[\w\u4e00-\u9fff]{{1,10}})$"
        )
        self._thing = re.compile(
            rf"(?P<count>(?:{_COUNT})?(?:{raw['measures']})?)(?P<thing>[\u4e00-\u9fff]{{0,3}}?(?:{raw['belongings']}))"
            r"(?:[，,]?(?:叫|名叫)(?P<name>[\u4e00-\u9fff]{1,4}|[A-Z][a-z]+))?$"
        )
        self._time = re.compile(raw["time_words"])

    def claims(self, sentence: str) -> Iterator[FactClaim]:
        """What one sentence says of the speaker and of theirs."""
        sentence = re.sub(r"\s+", "", sentence)
        if self._question.search(sentence) or self._barred.search(sentence):
            return
        subject: str | None = None
        told = ""
        for part in _CLAUSE.split(sentence):
            clause = self._lead.sub("", part.strip("，,。！!；; "), count=1) if part else ""
            if not clause or self._quoting.search(told):
                continue
            told += clause
            subject, rest = self._subject(clause, subject)
            yield from self._of_mine(clause)
            if subject is None:
                continue
            for claim in self._predicate(rest):
                yield replace(claim, triple=replace(claim.triple, subject=subject), language="zh")

    def _subject(self, clause: str, before: str | None) -> tuple[str | None, str]:
        """Of whom a clause tells: "" for the speaker, their kin, None for anybody else; and what it tells."""
        tag = re.match(r"<(?:face|voice)_\d+>(?P<rest>.+)$", clause)
        if tag:
            return "", tag["rest"]
        kin = self._kin.match(clause)
        if kin:
            return self._relation(kin["kin"]), kin["rest"]
        own = re.match(
            r"(?P<when>现在|以前|过去|曾经|从前|原来|如今)?(?:我们家|我们|我家|我)(?!的)(?P<rest>.+)$", clause
        )
        if own:
            return "", (own["when"] or "") + own["rest"]
        goes_on = before is not None and re.match(r"(?:但|但是|可是)?(?:现在|如今|以前|改|不再|就)", clause)
        return (before, re.sub(r"^(?:但是|但|可是)", "", clause)) if goes_on else (None, clause)

    def _of_mine(self, clause: str) -> Iterator[FactClaim]:
        if called := self._called.match(clause):
            if called["what"] in self._relations or called["what"] in self._kin_forms:
                yield self._claim(self._relation(called["what"]), 1, called["name"])
            else:
                yield self._claim("has", 1, f"{called['what']}{called['name']}")
        elif who := self._is_kin.match(clause):
            if not re.match(r"[他她它这那你我]", who["name"]):
                yield self._claim(self._relation(who["kin"]), 1, who["name"])
        elif favourite := self._favourite.match(clause):
            relation = f"favourite {self._raw['favourites'][favourite['what']]}"
            yield self._claim(relation, 1, favourite["object"])
        elif day := re.match(r"我的?生日是(?P<day>.*[月号日].*)$", clause):
            yield self._claim("born_on", 1, day["day"])

    def _predicate(self, rest: str) -> Iterator[FactClaim]:
        polarity, changed, habit = 1, False, False
        while rest:
            if match := self._past.match(rest):
                polarity, changed = -polarity, True
            elif match := self._now.match(rest):
                changed = True
            elif match := re.match(r"(?:已经)?(?:再也不|不再)", rest):
                polarity, changed = -polarity, True
            elif match := re.match(r"(?:从来不|从不|不太|并不|不|没)(?!过)", rest):
                polarity = -polarity
            elif match := self._adverb.match(rest):
                pass
            else:
                break
            habit = (
                habit or re.match(self._raw["habits"], match.group()) is not None or changed or polarity < 0
            )
            rest = rest[match.end() :]
        ended = polarity < 0 and rest.endswith("了")
        yield from self._said(rest.removesuffix("了"), polarity, changed or ended, habit)

    def _said(self, rest: str, polarity: int, changed: bool, habit: bool) -> Iterator[FactClaim]:
        if match := re.match(r"(?:正)?在(?:.{2,8}?)?(?P<rest>(?:学习|主修).+)$", rest):
            rest = match["rest"]
        if match := re.match(r"对(?P<what>.{1,8}?)(?P<no>不)?(?:严重)?过敏$", rest):
            yield self._claim(
                "allergic_to", -polarity if match["no"] else polarity, match["what"], changed=changed
            )
        elif match := re.match(r"在(?P<where>.{2,12}?)(?:工作|上班)$", rest):
            yield self._claim("works_at", polarity, match["where"], changed=changed)
        elif match := re.match(r"(?:已经)?搬(?:到|去|家到)了?(?P<where>[\u4e00-\u9fffA-Za-z]{2,8})$", rest):
            yield self._claim("lives_in", polarity, match["where"], changed=True)
        elif (match := self._kin_of.match(rest)) and not self._not_a_name.match(match["name"]):
            yield self._claim(f"{self._relation(match['kin'])} of", polarity, match["name"])
        elif match := re.match(r"是(?:一名|一位|一个|个|名)?(?P<what>[\u4e00-\u9fff]{2,8})$", rest):
            yield from self._being(match["what"], polarity, changed)
        elif match := re.match(rf"(?:今年|快)?(?P<age>{_COUNT})岁(?:了)?$", rest):
            yield self._claim("age", polarity, match["age"])
        elif rest in ("抽烟", "吸烟"):
            yield self._claim("smokes", polarity, "烟", changed=changed)
        elif match := re.match(r"(?:出生在|出生于|生于)(?P<when>.+)$", rest):
            dated = re.search(r"[年月号日]", match["when"])
            yield self._claim("born_on" if dated else "from", polarity, match["when"])
        elif rest in self._raw["qualities"] or f"{rest}了" in self._raw["qualities"]:
            word = rest if rest in self._raw["qualities"] else f"{rest}了"
            yield self._quality(word, polarity, changed)
        elif plan := self._plan(rest):
            yield self._claim("plans", polarity, plan)
        elif match := self._verb.match(rest):
            if match.group() in self._raw["habit_verbs"].split() and not habit:
                return
            yield from self._verbal(match.group(), rest[match.end() :], polarity, changed)

    def _verbal(self, verb: str, said: str, polarity: int, changed: bool) -> Iterator[FactClaim]:
        relation, sign = self._verbs[verb]
        if relation == "has":
            thing = self._thing.match(said)
            if thing:
                name = f"（{thing['name']}）" if thing["name"] else ""
                yield self._claim("has", polarity, f"{thing['count']}{thing['thing']}{name}", changed=changed)
            return
        place = relation in ("lives_in", "from")  # 上海 begins with a word that is empty elsewhere
        said = re.sub(r"^(?:上了|过|了)", "", said)
        if relation in ("likes", "prefers"):  # to like eating dumplings is to like dumplings
            said = re.sub(r"^(?:吃|喝)(?=.)", "", said)
        for words in re.split(r"[和、与跟]", said):
            if (
                1 <= len(words) <= _MOST
                and not self._empty.match(words.removeprefix("上") if place else words)
                and not re.search(r"[你您他她它我，,]", words)
            ):
                yield self._claim(relation, polarity * sign, words, changed=changed)

    def _being(self, what: str, polarity: int, changed: bool) -> Iterator[FactClaim]:
        if "的" not in what and re.fullmatch(rf"[\u4e00-\u9fff]{{0,4}}(?:{self._raw['professions']})", what):
            yield self._claim("works_as", polarity, what, changed=changed)
        elif what in self._raw["qualities"]:
            yield self._quality(what, polarity, changed)
        elif re.fullmatch(r"[\u4e00-\u9fff]{2,4}人", what) and not re.match(r"[这那好坏男女老大]", what):
            yield self._claim("from", polarity, what.removesuffix("人"), changed=changed)

    def _quality(self, word: str, polarity: int, changed: bool) -> FactClaim:
        claim = self._claim("is", polarity, word.removeprefix("已经").removesuffix("了"), changed=changed)
        return replace(claim, triple=replace(claim.triple, object=self._raw["qualities"][word]))

    def _plan(self, rest: str) -> str:
        """What somebody is going to do, or ""."""
        match = re.match(r"(?P<when>.*?)(?:打算|准备|计划)(?P<what>.{2,14})$", rest)
        if match:
            return match["when"] + match["what"]
        match = re.match(r"(?P<when>.{2,8}?)(?:要|会|想)?(?P<what>去.{2,12})$", rest)
        return rest if match and self._time.fullmatch(match["when"].strip("我，")) else ""

    def _relation(self, kin: str) -> str:
        return str(self._relations[self._kin_forms.get(kin, kin)])

    def _claim(self, relation: str, polarity: int, words: str, *, changed: bool = False) -> FactClaim:
        return FactClaim(Triple(relation, normalise(words), polarity, "", words), changed, language="zh")
