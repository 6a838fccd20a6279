"""Of whom a line tells: "my car", said by Nora, is no car of Anna's, and "he will be 71" nothing about its speaker."""

from __future__ import annotations

import re
from functools import partial

from runtime.across_words import AcrossWords
from runtime.grounding import content_terms, coverage, language_of
from runtime.heard import is_named_speaker
from runtime.question import Question
from runtime.quotes import quote_in, sentences_in, speaker_in, tells_of_others

_HAN = "\u3400-\u9fff"
_SAID = re.compile(
    rf"\b(?P<whose>my|your) (?P<thing>(?:[\w-]+ ){{0,2}}[\w-]+)|(?P<whose_zh>[我你您])的(?P<thing_zh>[{_HAN}]{{1,4}})",
    re.IGNORECASE,
)
# "My father's birthday" is not the speaker's.
_KINS = re.compile(r"\b(?:my|your|our|his|her|their) (?P<owner>\w+)['’]s (?P<thing>[\w-]+)", re.IGNORECASE)
_ASKED = rf"(?:['’]s (?P<thing>(?:[\w-]+ ){{0,2}}[\w-]+)|的(?P<thing_zh>[{_HAN}]{{1,4}}))"


def without_others_things(line: str, question: Question, words: AcrossWords | None) -> str:
    """A line without things of somebody else's than the question asks for by their owner's name ("Anna's car").

    What a speaker who is known calls "my" is theirs, and what they call "your" is not. words: finds what a thing is
    called in the other language.
    """
    speaker = speaker_in(line)
    if not is_named_speaker(speaker):
        return line
    for owner in {person.label for person in question.persons}:
        for asked in re.finditer(re.escape(owner) + _ASKED, question.text):
            thing = asked["thing"] or _first_word(asked["thing_zh"], words)
            line = _KINS.sub(partial(_kins, thing=thing, question=question, words=words), line)
            line = _SAID.sub(partial(_kept, thing=thing, by_owner=owner == speaker, words=words), line)
    return line


def without_others_lives(line: str, question: Question, words: AcrossWords | None) -> str:
    """A line of somebody's whom the question names, without what they say of "him" or "her" alone.

    It stays where the rest of the line says a word of the question: then that is whom they speak of.
    """
    speaker, quote = speaker_in(line), quote_in(line)
    if quote is None or speaker not in {person.label for person in question.persons}:
        return line
    of_others = [sentence for sentence in sentences_in(quote) if tells_of_others(sentence)]
    rest = line
    for sentence in of_others:
        rest = rest.replace(sentence, " ")
    said = quote_in(rest) or ""
    if words is not None and language_of(quote) != question.language:
        said = words.said_in(said, question.text, question.language)
    return line if coverage(question.terms, said) else rest


def _first_word(text: str, words: AcrossWords | None) -> str:
    """The thing of which a Chinese question goes on to ask; without a dictionary its first characters."""
    return (words.first_word(text) if words else "") or text[:2]


def _kins(said: re.Match[str], *, thing: str, question: Question, words: AcrossWords | None) -> str:
    """What is said of a thing of somebody's family, or a space where the question asks for none of theirs."""
    owner, named, language = said["owner"], said["thing"], language_of(thing)
    if words is not None and language_of(named) != language:
        owner = words.said_in(owner, question.text, language)
        named = words.said_in(named, thing, language)
    others = coverage(content_terms(thing), named) and not coverage(question.terms, owner)
    return " " if others else said.group()


def _kept(said: re.Match[str], *, thing: str, by_owner: bool, words: AcrossWords | None) -> str:
    """What is said of a thing, or the words behind it where it is the one asked for and somebody else's."""
    if ((said["whose"] or said["whose_zh"]).casefold() in ("my", "我")) == by_owner:
        return said.group()
    terms = content_terms(thing)
    parts = re.findall(
        rf"[{_HAN}]|[^{_HAN}]+?(?: |$)", said["thing"] or said["thing_zh"]
    )  # its words, one by one
    for end in range(1, len(parts) + 1):
        named = "".join(parts[:end])
        if words is not None and language_of(named) != language_of(thing):
            named = words.said_in(named, thing, language_of(thing))
        if coverage(terms, named):
            return " " + "".join(parts[end:])
    return said.group()
