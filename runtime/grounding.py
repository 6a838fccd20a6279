"""Which words of a text carry its content, and how much of one text stands in another, for English and Chinese."""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal

import yaml
from lemminflect import getAllLemmas

Language = Literal["en", "zh"]

_WORD = re.compile(r"[^\W_\u3400-\u9fff]+(?:['’][^\W_\u3400-\u9fff]+)?")
_HAN_RUN = re.compile(r"[\u3400-\u9fff]+")
_HAN_POSSESSIVE = re.compile(r"(?<=[\u3400-\u9fff])'s\b")
_PERSON = re.compile(r"person_\d+", re.IGNORECASE)
_STEM_CHARACTERS = 5


@cache
def _word_lists() -> dict[str, str]:
    path = Path(__file__).parent / "prompts" / "light_words.yaml"
    return {str(key): str(value) for key, value in yaml.safe_load(path.read_text(encoding="utf-8")).items()}


@cache
def _light_words() -> tuple[frozenset[str], re.Pattern[str]]:
    """English words and Chinese sequences that prove nothing when they are found."""
    chinese = sorted(_word_lists()["zh"].split(), key=len, reverse=True)
    return frozenset(_word_lists()["en"].split()), re.compile("|".join(map(re.escape, chinese)))


@cache
def asking_words() -> frozenset[str]:
    """Content words that only ask for something: an answer need not hold the "often" of "how often"."""
    return frozenset(_word_lists()["asking"].split())


def is_everyday_word(name: str) -> bool:
    """Whether a name is also a common English word, so that only its capital tells them apart."""
    return name.casefold() in _light_words()[0] or name.casefold() in _word_lists()["names"].split()


def language_of(text: str) -> Language:
    """Chinese when at least a third as many Han characters as Latin words stand in it, else English."""
    han = sum(len(run) for run in _HAN_RUN.findall(text))
    latin = len(_WORD.findall(text))
    return "zh" if han and han * 3 >= latin else "en"


def normalise(text: str) -> str:
    """Compatibility forms folded, lower case, punctuation turned into single spaces."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(character if character.isalnum() or character in "_'" else " " for character in folded)
    return " ".join(kept.split())


def content_terms(text: str) -> list[str]:
    """The content of a text: English words without light ones, Chinese character pairs without light words."""
    light_english, light_chinese = _light_words()
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    folded = _HAN_POSSESSIVE.sub(" ", folded)
    terms = _PERSON.findall(folded)
    folded = _PERSON.sub(" ", folded)
    for word in _WORD.findall(folded):
        bare = word.removesuffix("'s")
        if bare not in light_english and word not in light_english:
            terms.append(bare)
    for run in _HAN_RUN.findall(light_chinese.sub(" ", folded)):
        if len(run) == 1:
            terms.append(run)
        terms.extend(run[index : index + 2] for index in range(len(run) - 1))
    return list(dict.fromkeys(terms))


def is_only_noun(word: str) -> bool:
    """Whether an English word is a noun and nothing else."""
    return list(getAllLemmas(word.casefold())) == ["NOUN"]


def _lemma(word: str) -> str:
    """The base form of an English word: "buy" for "bought", "cookie" for "cookies"; unknown words lose an ending."""
    lemmas = getAllLemmas(word) if word.isascii() else {}
    for kind in ("VERB", "NOUN", "ADJ", "ADV"):
        if kind in lemmas:
            return str(lemmas[kind][0])
    for ending in ("ing", "ies", "ed", "es", "en", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


@lru_cache(8192)
def stem(word: str) -> str:
    """A crude common start of an English word's forms; numbers, names of persons and Chinese stay whole."""
    if any(character.isdigit() for character in word) or _HAN_RUN.match(word):
        return word
    word = _lemma(word)
    if len(word) > len("four"):
        word = word.replace("our", "or")  # "favourite" and "favorite"
    word = word.rstrip("ey")[:_STEM_CHARACTERS] if len(word) > 3 else word
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word  # "dropped" and "drop"


def found_terms(terms: Iterable[str], text: str) -> list[str]:
    """Those of the terms that stand in the text: English by stem, Chinese as they are."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    stems = {stem(word.removesuffix("'s")) for word in _WORD.findall(_PERSON.sub(" ", folded))}
    stems.update(_PERSON.findall(folded))
    return [term for term in terms if (term in folded if _HAN_RUN.match(term) else stem(term) in stems)]


def coverage(terms: Iterable[str], text: str) -> float:
    """The share of the terms that stand in the text; 0.0 when there are no terms."""
    wanted = list(terms)
    return len(found_terms(wanted, text)) / len(wanted) if wanted else 0.0


def squash(text: str) -> str:
    """A text for literal comparison: normalised, number words as digits, no spaces, so that "x four" is "x4"."""
    numbers = _word_lists()["numbers"].split()
    words = [str(numbers.index(word)) if word in numbers else word for word in normalise(text).split()]
    return "".join(words)
