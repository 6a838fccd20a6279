"""Whether the robot is being spoken to by its name, and what is asked besides it.

Speech recognition writes an unusual name as it pleases ("Her site", "Hercite"), so names are compared by their sound.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

SOUNDS_ALIKE = 0.85  # "Here, sit" is at 0.80 of "Hearsight", "Her site" at 1
_CALL = re.compile(
    r"^(?:(?:hey|hi|hello|ok|okay|oh|yo|a|ay|eh|excuse me|please)\b[\s,.!]*|(?:嘿|喂|你好|哈喽|请问)[，,\s]*)+",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_MARKS = " ,.!?;:，。！？；：、-—\"'“”"
_MOST_WORDS = 3
# espeak-ng's American English in classes: a vowel and the r after it are one sound, and so are the two of a diphthong.
_SOUNDS = (
    ("aɪ", "A"), ("eɪ", "E"), ("oʊ", "O"), ("aʊ", "W"), ("ɔɪ", "Y"),
    ("ɪɹ", "R"), ("ɛɹ", "R"), ("ɜɹ", "R"), ("ɜ", "R"), ("ɚ", "R"), ("iɹ", "R"), ("ʊɹ", "R"),
    ("ᵻ", "ɪ"), ("ɐ", "ə"), ("ʌ", "ə"), ("ɾ", "t"),
)  # fmt: skip
_UNHEARD = re.compile(r"[ˈˌː\s]|\([a-z-]+\)")

_LEAD = r"^(?:(?:so|and|but|well|okay|ok|hey|hi|hello|please|tell me|um|uh)\b[\s,]*)*"
_ASKS = re.compile(
    _LEAD + r"(?:(?:who|whom|whose|what|when|where|which|why|how)(?:['’]s|['’]re)?\s+\w+"
    r"|(?:did|do|does|is|are|was|were|has|have|had|can|could)\s+\w+\s+\w+).*\?$",
    re.IGNORECASE,
)
_TELL = re.compile(
    _LEAD.replace("|tell me", "")
    + r"(?:tell|remind|show)\s+me\s+(?:who|what|when|where|which|why|how|about|of)\b",
    re.IGNORECASE,
)
_ASKS_ZH = re.compile(
    r"(?:谁|什么|哪|几|多少|怎么|为什么|是不是|有没有).*[?？。]?$|[吗呢][?？。]?$|^(?:请)?告诉我"
)

Pronounce = Callable[[Sequence[str]], Sequence[str]]


class Address:
    """Knows the names that the robot listens to. pronounce: the phonemes (IPA, American English) of each text."""

    def __init__(self, names: Sequence[str], pronounce: Pronounce) -> None:
        self._pronounce = pronounce
        self._sounds = [_classes(sound) for sound in pronounce([name for name in names if name.isascii()])]
        self._written = [name.casefold() for name in names if not name.isascii()]
        self._spelled = {name.casefold() for name in names if name.isascii()}

    def question(self, text: str) -> str | None:
        """What is said to the robot; "" for its name alone, None where it is not spoken to.

        The name stands first, perhaps after a call like "hey", or last, after a comma. Raises ModelError where
        nothing can be pronounced.
        """
        whole = text.strip().lstrip(_MARKS)
        rest = _CALL.sub("", whole)
        for name in self._written:  # Chinese: no spaces after a name
            if rest.casefold().startswith(name):
                return _sentence(rest[len(name) :])
        candidates = [*_after_name(whole), *(_after_name(rest) if rest != whole else []), *_before_name(rest)]
        if not candidates or not self._sounds:
            return None
        for written, asked in candidates:  # recognised as it is written: no need to compare sounds
            if written.casefold() in self._spelled:
                return _sentence(asked)
        sounds = self._pronounce([written for written, _ in candidates])
        for sound, (_, asked) in zip(sounds, candidates, strict=True):
            if any(_alike(_classes(sound), name) for name in self._sounds):
                return _sentence(asked)
        return None


def reads_as_question(text: str) -> bool:
    """Whether a text ends in a question that begins as one, or asks to be told something: what a robot may be asked.

    Of somebody who only looks at the robot, so in doubt it does not: "Really?" and "You know?" are no questions.
    """
    last = text.strip().rstrip('"”’ ')
    asked = re.split(r"(?<=[.!?。！？])\s*(?=\S)", last)[-1]
    return bool(_ASKS.match(asked) or _TELL.match(asked) or _ASKS_ZH.search(asked))


def wake_name(model: str) -> str:
    """What a wake word model listens for, as a name without the call before it: "hey_jarvis_v0.1" is "jarvis"."""
    words = re.sub(r"[_\s]*v?\d[\d.]*$", "", model).replace("_", " ").strip()
    return _CALL.sub("", words) or words


def _after_name(text: str) -> list[tuple[str, str]]:
    """What may be a name at the beginning, and what follows it."""
    words = list(_WORD.finditer(text))[:_MOST_WORDS]
    return [
        (" ".join(word[0] for word in words[:count]), text[words[count - 1].end() :])
        for count in range(1, len(words) + 1)
        if text[: words[count - 1].end()].isascii()
    ]


def _before_name(text: str) -> list[tuple[str, str]]:
    """What may be a name at the end, after the last comma."""
    head, comma, tail = text.rpartition("，" if "，" in text else ",")
    words = _WORD.findall(tail)
    return [(" ".join(words), head)] if comma and tail.isascii() and 1 <= len(words) <= _MOST_WORDS else []


def _classes(phonemes: str) -> str:
    sounds = _UNHEARD.sub("", phonemes)
    for written, sound in _SOUNDS:
        sounds = sounds.replace(written, sound)
    return sounds


def _alike(one: str, other: str) -> bool:
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= SOUNDS_ALIKE


def _sentence(text: str) -> str:
    said = text.lstrip(_MARKS).rstrip(" ,;:，；：、-—")
    return said if any(character.isalnum() for character in said) else ""
