"""What a sentence says of somebody, before it is known who speaks."""

from __future__ import annotations

from dataclasses import dataclass

from memory_store.records import Triple


@dataclass(frozen=True)
class FactClaim:
    """A fact about the speaker, somebody of theirs (`triple.subject` "brother"), or, `by_name`, somebody called so.

    changed: the sentence itself says that it was otherwise before; language: whose words the object is in.
    """

    triple: Triple
    changed: bool = False
    by_name: bool = False
    language: str = "en"
