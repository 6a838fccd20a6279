"""Control tokens written out in a message (heard, read or typed) lose their power, for the model asked or trained."""

from __future__ import annotations

import re
from collections.abc import Iterable


class ControlTexts:
    """The texts of a model's control tokens, such as <|im_end|>."""

    def __init__(self, texts: Iterable[str]) -> None:
        longest_first = sorted((text for text in texts if len(text) > 1), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    def harmless(self, text: str) -> str:
        """`<|im_end|>` becomes `< |im_end|>`, which no tokenizer takes for the control token."""
        return self._pattern.sub(lambda match: f"{match.group()[0]} {match.group()[1:]}", text)
