"""`python -m offline_tools.synthesize validate ROWS --truth TRUTH`: how right and how complete the rows' answers are.

TRUTH is a file of the same rows whose answers a person has written or corrected. The anchors for equivalence F1, from
the paper's evaluation of memorization models, are 0.627 and 0.846.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from memory_store.tags import find_tags, replace_tags
from models.errors import ModelError
from models.language import LanguageModel, Message
from offline_tools.bench.report import print_report
from offline_tools.chatml import Row, read_rows
from offline_tools.endpoint import EndpointRefused
from offline_tools.errors import OfflineToolError
from runtime.salvage import salvage

ANCHORS = (0.627, 0.846)
Kind = Literal["episodic", "semantic"]
Verdict = bool | None  # None: a judge gave no usable word
_JUDGE = (
    "You compare statements about one short clip. Is the claim borne out by the statements, fully and with the same "
    "people? Answer with one word, yes or no.\nStatements:\n{statements}\nClaim: {claim}"
)


class Matcher(Protocol):
    """Says of each claim whether some statements bear it out."""

    def borne_out(self, claims: Sequence[str], statements: Sequence[str]) -> list[Verdict]: ...


@dataclass(frozen=True)
class Similar:
    """By text vectors: a statement with the same tags and at least that similarity. embed: (n, d), length 1."""

    embed: Callable[[Sequence[str]], NDArray[np.float32]]
    same: float

    def borne_out(self, claims: Sequence[str], statements: Sequence[str]) -> list[Verdict]:
        if not claims or not statements:
            return [False] * len(claims)
        like = self.embed([_bare(one) for one in claims]) @ self.embed([_bare(one) for one in statements]).T
        tags = [set(find_tags(one)) for one in statements]
        return [
            any(
                set(find_tags(claim)) == there and likeness >= self.same
                for there, likeness in zip(tags, row, strict=True)
            )
            for claim, row in zip(claims, like, strict=True)
        ]


@dataclass(frozen=True)
class Judged:
    """By a language model's yes or no."""

    model: LanguageModel
    timeout_s: float = 120.0

    def borne_out(self, claims: Sequence[str], statements: Sequence[str]) -> list[Verdict]:
        if not statements:
            return [False] * len(claims)
        return [self._asked(claim, "\n".join(statements)) for claim in claims]

    def _asked(self, claim: str, statements: str) -> Verdict:
        text = _JUDGE.replace("{statements}", statements).replace("{claim}", claim)
        try:
            done = self.model.complete([Message("user", text)], max_tokens=8, timeout_s=self.timeout_s)
        except EndpointRefused:
            raise
        except ModelError:
            return None
        word = done.text.strip().strip("\"'.*").lower()
        return True if word.startswith("yes") else False if word.startswith("no") else None


@dataclass
class Counted:
    """Of how many claims how many are right."""

    right: int = 0
    all: int = 0
    unjudged: int = 0

    def add(self, verdicts: Sequence[Verdict]) -> None:
        """Count verdicts; what nobody judged counts neither way."""
        self.right += sum(verdict is True for verdict in verdicts)
        self.all += sum(verdict is not None for verdict in verdicts)
        self.unjudged += sum(verdict is None for verdict in verdicts)

    @property
    def share(self) -> float | None:
        return self.right / self.all if self.all else None


@dataclass
class Quality:
    """Precision and recall of episodic and semantic lines, and how the equivalences agree."""

    precision: dict[Kind, Counted] = field(
        default_factory=lambda: {"episodic": Counted(), "semantic": Counted()}
    )
    recall: dict[Kind, Counted] = field(
        default_factory=lambda: {"episodic": Counted(), "semantic": Counted()}
    )
    pairs_right: int = 0
    pairs_given: int = 0
    pairs_true: int = 0
    missing: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    @property
    def equivalence_f1(self) -> float | None:
        """None where there is no equivalence anywhere."""
        both = self.pairs_given + self.pairs_true
        return 2 * self.pairs_right / both if both else None


def compare(rows: Sequence[Row], truth: Sequence[Row], matcher: Matcher) -> Quality:
    """Measure rows against the truth of the same ids; a row that is missing recalls nothing."""
    quality = Quality()
    given = {row.id: row for row in rows}
    quality.unknown = sorted(set(given) - {row.id for row in truth})
    for true in truth:
        row = given.get(true.id)
        if row is None:
            quality.missing.append(true.id)
        said, wanted = _answer("" if row is None else row.answer), _answer(true.answer)
        for kind in ("episodic", "semantic"):
            quality.precision[kind].add(matcher.borne_out(said[kind], wanted[kind]))
            quality.recall[kind].add(matcher.borne_out(wanted[kind], said[kind]))
        pairs, true_pairs = set(said["equivalence"]), set(wanted["equivalence"])
        quality.pairs_right += len(pairs & true_pairs)
        quality.pairs_given += len(pairs)
        quality.pairs_true += len(true_pairs)
    return quality


def main(arguments: Sequence[str]) -> int:
    """Print a table and one JSON line."""
    parser = argparse.ArgumentParser(prog="python -m offline_tools.synthesize validate")
    parser.add_argument("rows", type=Path)
    parser.add_argument("--truth", type=Path, required=True, help="the same rows with true answers")
    parser.add_argument("--judge", metavar="MODEL", help="a language model judges; default: text vectors do")
    options = parser.parse_args(arguments)
    rows, truth = read_rows(options.rows, media=False), read_rows(options.truth, media=False)
    if not {row.id for row in rows} & {row.id for row in truth}:
        raise OfflineToolError(
            f"{options.rows} and {options.truth} have no row in common: their ids must be the same"
        )
    _print(compare(rows, truth, _matcher(options.judge)), options.rows, options.judge or "text vectors")
    return 0


def _matcher(judge: str | None) -> Matcher:
    from models.manifest import Manifest
    from offline_tools.chosen_model import open_model
    from runtime import compose
    from runtime.config import Settings

    if judge is not None:
        return Judged(open_model(judge))
    parts = compose.Parts(Settings(), Manifest.load())
    return Similar(compose.text_embedder(parts).embed_passage, parts.text_entry.thresholds["same_fact"])


def _print(quality: Quality, path: Path, matcher: str) -> None:
    figures: dict[str, object] = {"matcher": matcher}
    rows = []
    for kind in ("episodic", "semantic"):
        for name, counted in (("precision", quality.precision[kind]), ("recall", quality.recall[kind])):
            rows.append((f"{kind} {name}", _shown(counted.share), f"of {counted.all}"))
            figures[f"{kind}_{name}"] = counted.share
    rows.append(("equivalence F1", _shown(quality.equivalence_f1), f"{ANCHORS[0]}, {ANCHORS[1]} (paper)"))
    unjudged = sum(one.unjudged for one in (*quality.precision.values(), *quality.recall.values()))
    figures |= {
        "equivalence_f1": quality.equivalence_f1,
        "unjudged": unjudged,
        "rows_missing": quality.missing,
        "rows_without_truth": quality.unknown,
    }
    rows.append(("lines that nobody judged", str(unjudged), ""))
    rows.append(
        ("true rows missing; rows without truth", f"{len(quality.missing)}; {len(quality.unknown)}", "")
    )
    print_report(f"validate: {path.name}", rows, figures)


def _answer(text: str) -> dict[str, list[str]]:
    read = salvage(text)
    found: dict[str, list[str]] = {"episodic": [], "semantic": []}
    for line in read.lines:
        found[line.kind].append(" ".join(line.text.split()))
    pairs = (" ".join(sorted(str(tag) for tag in find_tags(told))) for told in read.equivalences)
    return {**found, "equivalence": list(dict.fromkeys(pairs))}


def _bare(text: str) -> str:
    return replace_tags(text, lambda tag: "somebody")


def _shown(share: float | None) -> str:
    return "nothing to compare" if share is None else f"{share:.3f}"
