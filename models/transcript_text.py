"""Cleans what a speech recogniser wrote: text made up over noise, and phrases repeated over and over."""

import re
from dataclasses import dataclass

_LONGEST_PHRASE = 24
_TIMES = 4
_TIMES_WORD = 6  # "no no no no" is said; ten times the same word is not
_HAN = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"\w")
_STUTTER = re.compile(r"(\S{2,12}?)\1{5,}")  # inside a word: "3.3.3.3.3.3.3"


@dataclass(frozen=True)
class TextLimits:
    """When a recognised text is taken for noise (after Whisper, Radford et al. 2022, section 4.5).

    A text below `min_log_probability` (mean per token) is noise; one below `unsure_log_probability` is noise when
    the model also gives `no_speech` or more to nobody speaking.
    """

    min_log_probability: float = -1.5
    unsure_log_probability: float = -1.2
    no_speech: float = 0.4


def plausible(text: str, limits: TextLimits, *, log_probability: float, no_speech: float) -> bool:
    """Whether `text` may have been said; a text without any letter or digit never was."""
    if _WORD.search(text) is None or log_probability < limits.min_log_probability:
        return False
    return no_speech < limits.no_speech or log_probability >= limits.unsure_log_probability


def without_repeats(text: str) -> str:
    """`text` with a phrase that follows itself four times or more kept once (a single word: six times)."""
    text = _STUTTER.sub(r"\1", text)
    han = _HAN.search(text) is not None
    units = list(text) if han else text.split()
    shortened = _collapsed(units)
    if len(shortened) == len(units):
        return text
    return "".join(shortened) if han else " ".join(shortened)


def _collapsed(units: list[str]) -> list[str]:
    keys = [re.sub(r"\W", "", unit).casefold() or unit for unit in units]
    kept: list[str] = []
    at = 0
    while at < len(units):
        length, times = _repeat(keys, at)
        kept.extend(units[at : at + length])
        at += length * times
    return kept


def _repeat(keys: list[str], at: int) -> tuple[int, int]:
    """Length of the phrase at `at` and how often it stands there in a row; (1, 1) where it is not repeated."""
    for length in range(1, min(_LONGEST_PHRASE, (len(keys) - at) // _TIMES) + 1):
        phrase = keys[at : at + length]
        times = 1
        while keys[at + times * length : at + (times + 1) * length] == phrase:
            times += 1
        if times >= (_TIMES_WORD if length == 1 else _TIMES):
            return length, times
    return 1, 1
