"""The words of a text as the text index holds them, the same for what is stored and for what is asked.

Changing `indexed_words` needs a migration that builds the index anew.
"""

import re
import unicodedata

_HAN_LIKE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"  # written without spaces
_TAG = r"<([a-z]{1,20})_(\d{1,18})>"
_PIECE = re.compile(rf"{_TAG}|([{_HAN_LIKE}]+)")
_TOKEN = re.compile(rf"{_TAG}|([{_HAN_LIKE}]+)|([^\W_{_HAN_LIKE}]+)")
# Words that say nothing about what is looked for, with what is left of "don't", "we're" and "Anna's".
_STOP = re.compile(
    "a|about|all|also|am|an|and|any|are|as|at|be|been|being|but|by|can|could|d|did|didn|do|does|doesn|doing|don|"
    "for|from|had|hadn|has|hasn|have|haven|having|he|her|hers|him|his|how|i|if|in|into|is|isn|it|its|ll|m|me|my|"
    "no|not|of|on|or|our|re|s|she|should|shouldn|so|some|t|than|that|the|their|them|then|there|these|they|this|"
    "those|to|us|ve|was|wasn|we|were|weren|what|when|where|which|who|whom|whose|why|will|with|won|would|wouldn|"
    "you|your|yours"
)
_HAN_STOP = re.compile(
    "为什么|什么时候|什么|哪里|哪儿|哪个|怎么|怎样|多少|几个|有没有|是不是|[的了吗呢吧啊谁]"
)


def indexed_words(text: str) -> str:
    """The text for a tokenizer that splits at spaces and punctuation.

    Chinese, Japanese and Korean, which have no spaces, become pairs of characters and the last one alone, so that a
    word of two is a term, and one character the beginning of a term; `<face_12>` becomes the one word `face12`.
    """

    def piece(match: re.Match[str]) -> str:
        if match[1]:
            return f" {match[1]}{match[2]} "
        return f" {' '.join([*_pairs(match[3]), match[3][-1]])} "

    return _PIECE.sub(piece, unicodedata.normalize("NFKC", text))


def tag_term(kind: str, node_id: int) -> str:
    """The term that finds a tag."""
    return f'"{kind}{node_id}"'


def terms_of(question: str) -> tuple[str, ...]:
    """The terms of a question, each an expression of FTS5's query language; nothing in it is read as syntax.

    Words without content are left out, unless there are no others.
    """
    found: list[str] = []
    rest: list[str] = []
    for kind, number, han, word in _TOKEN.findall(unicodedata.normalize("NFKC", question).lower()):
        if kind:
            found.append(tag_term(kind, int(number)))
        elif han:
            parts = [part for part in _HAN_STOP.split(han) if len(part) > 1]
            found += [f'"{pair}"' for part in parts for pair in _pairs(part)]
            rest += [f'"{han}"*'] if len(han) == 1 else [f'"{pair}"' for pair in _pairs(han)]
        elif _STOP.fullmatch(word):
            rest.append(f'"{word}"')
        else:
            found.append(f'"{word}"')
    return tuple(dict.fromkeys(found or rest))


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)]
