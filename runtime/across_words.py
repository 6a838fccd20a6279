"""What of a question a memory in the other language says, word by word, by a dictionary.

Vectors find such memories (runtime/across_languages.py) and prove nothing; words do.
"""

from __future__ import annotations

from models.dictionary import Dictionary
from runtime.grounding import Language, asking_words, content_terms, found_terms


class AcrossWords:
    """Looks words up, a text and a line of a memory at a time."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary

    def said_in(self, line: str, text: str, language: Language) -> str:
        """The words of a text in this language that a line in the other one says, as they stand in the text."""
        return self._chinese(line, text) if language == "zh" else self._english(line, text)

    def first_word(self, text: str) -> str:
        """The word that a Chinese text begins with; "" where none is known."""
        return next((text[: word.end] for word in self._dictionary.words_in(text) if word.start == 0), "")

    def in_english(self, text: str) -> str:
        """The words that a Chinese text may be in English, to search with."""
        senses = [sense for word in self._dictionary.words_in(text) for sense in word.senses]
        return " ".join(dict.fromkeys(term for sense in senses for term in content_terms(sense)))

    def _english(self, line: str, text: str) -> str:
        senses = " ".join(sense for word in self._dictionary.words_in(line) for sense in word.senses)
        return " ".join(found_terms(content_terms(text), senses))

    def _chinese(self, line: str, text: str) -> str:
        """The text with spaces for what the line does not say; words that only ask stay beside what it says."""
        words = [
            word for word in self._dictionary.words_in(text) if content_terms(text[word.start : word.end])
        ]
        said = {word for word in words if any(_stands_in(sense, line) for sense in word.senses)}
        edges = {edge for word in said for edge in (word.start, word.end)}
        for word in words:
            if text[word.start : word.end] in asking_words() and edges & {word.start, word.end}:
                said.add(word)
        kept = [" "] * len(text)
        for word in said:
            kept[word.start : word.end] = text[word.start : word.end]
        return " ".join("".join(kept).split())


def _stands_in(sense: str, line: str) -> bool:
    """Whether a line holds a sense: the word that it is about and half of all ("flower vase", "to break in two").

    One of small words alone ("every day", "to do") it holds where it holds them all.
    """
    terms = content_terms(sense)
    words = terms or sense.removeprefix("to ").split()
    found = found_terms(words, line)
    head = 0 if sense.startswith("to ") else -1
    return words[head] in found and len(found) >= len(words) * (0.5 if terms else 1.0)
