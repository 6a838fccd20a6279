"""CC-CEDICT, the community's Chinese-English dictionary: the published list to a sorted table of plain words, once.

https://cc-cedict.org/wiki/format:syntax describes the list: "traditional simplified [pinyin] /sense/sense/".
"""

import gzip
import re
from pathlib import Path

from models.errors import ModelError

MOST_SENSES = 5  # of one reading: the first are the common ones
MOST_WORDS = 4  # a longer sense explains instead of translating
_ENTRY = re.compile(r"(?P<traditional>\S+) (?P<simplified>\S+) \[[^\]]*\] /(?P<senses>.+)/\s*$")
_ASIDE = re.compile(r"\([^()]*\)|\[[^\]]*\]|\|\S+")
_OF_WORDS = re.compile(
    r"^(?:CL:|surname |(?:old |erhua )?variant of |see |abbr\. |also |used |Taiwan |opposite:)"
    r"|\bclassifier\b|\bKangxi\b",
    re.IGNORECASE,
)
_HAN = re.compile(r"^[\u3400-\u9fff]+$")


def convert(source: Path, target: Path) -> None:
    """Read the gzipped list at `source`, write lines "word TAB sense TAB sense …" sorted by the words' UTF-8 bytes.

    Both scripts are there; words of several readings once, with all their senses. Raises ModelError where the list
    cannot be read.
    """
    try:
        with gzip.open(source, "rt", encoding="utf-8") as lines:
            senses = _senses(lines.read())
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ModelError(f"the dictionary {source} cannot be read: {error}") from error
    if not senses:
        raise ModelError(f"the dictionary {source} holds no entry in CC-CEDICT's form")
    ordered = sorted(senses, key=lambda word: word.encode())
    table = "".join("\t".join([word, *senses[word]]) + "\n" for word in ordered)
    target.write_bytes(table.encode())


def _senses(text: str) -> dict[str, list[str]]:
    """The English senses of every word of Han characters that has some."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        entry = _ENTRY.match(line)
        if entry is None:
            continue
        told = _told(entry["senses"])
        for word in dict.fromkeys((entry["simplified"], entry["traditional"])):
            if told and _HAN.match(word):
                known = found.setdefault(word, [])
                known += [sense for sense in told if sense not in known]
    return found


def _told(senses: str) -> list[str]:
    """The first senses that translate: without what is said of them in brackets, and one for each comma."""
    told: list[str] = []
    for sense in senses.split("/"):
        if _OF_WORDS.search(sense):
            continue
        for part in re.split(r"[;,]", _ASIDE.sub(" ", sense)):
            words = part.split()
            if words and len(words) - (words[0] == "to") <= MOST_WORDS:
                told.append(" ".join(words))
    return list(dict.fromkeys(told))[:MOST_SENSES]
