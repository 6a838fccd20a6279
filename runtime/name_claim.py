"""One thing a sentence says of a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ClaimKind = Literal["self", "address", "third", "not_self", "quoted"]


@dataclass(frozen=True)
class Claim:
    """A name as it was said. relation: what an introduced person is said to be ("brother", "弟弟"), or "".

    self: the speaker is called so; not_self: is not; quoted: repeats another's words; address: the one spoken to;
    third: somebody who is introduced.
    """

    kind: ClaimKind
    name: str
    relation: str = ""
