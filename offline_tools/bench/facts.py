"""Facts: how many of those read from the LoCoMo dialogues are right, and which cosines tell same facts from others.

Each dialogue's turns are read as heard speech, and its observations as a model's lines. Every fact was judged by
reading it beside its sentence (facts_judged.yaml); rules were made on the dialogues of even number, and those of odd
number were looked at last. Needs no model but, for the cosines, the installed text embedding.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from models.errors import ModelError
from models.manifest import Manifest
from offline_tools.bench.report import BenchmarkError, media, print_report
from runtime.compose import Parts, text_embedder
from runtime.config import Settings
from runtime.fact_claim import FactClaim
from runtime.fact_reading import facts_in

HERE = Path(__file__).parent


@dataclass(frozen=True)
class ReadFact:
    """A fact, and where it was read: "3 D4:11 likes dancing +"."""

    dialogue: int
    key: str
    spoken: bool
    sentence: str


def main(arguments: list[str]) -> int:
    """Print the tables; with --show the facts that nobody judged yet."""
    parser = argparse.ArgumentParser(prog="bench facts", description=__doc__)
    parser.add_argument(
        "--show", action="store_true", help="list the facts that are not judged yet, and the wrong ones"
    )
    options = parser.parse_args(arguments)
    dialogues = json.loads(media("benchmarks/locomo10.json").read_text(encoding="utf-8"))
    judged: dict[str, bool] = yaml.safe_load((HERE / "facts_judged.yaml").read_text(encoding="utf-8"))
    read = [fact for number, dialogue in enumerate(dialogues) for fact in _read(number, dialogue)]
    if options.show:
        for fact in read:
            if not judged.get(fact.key, False):
                print(f"{fact.key}\n    {fact.sentence}")
    rows, figures = _precision(read, judged)
    more_rows, more_figures = _cosines()
    print_report("facts", [*rows, *more_rows], {**figures, **more_figures})
    return 0


def _read(number: int, dialogue: dict[str, Any]) -> Iterator[ReadFact]:
    talk = dialogue["conversation"]
    names = {talk["speaker_a"].casefold(), talk["speaker_b"].casefold()}
    for session in sorted(key for key in talk if isinstance(talk[key], list)):
        for turn in talk[session]:
            for claim in facts_in(turn["text"]):
                if not claim.by_name or claim.triple.subject in names:
                    yield ReadFact(number, _key(number, turn["dia_id"], claim), True, turn["text"])
    for session, told in sorted(dialogue["observation"].items()):
        for who, lines in sorted(told.items()):
            for text, _ in lines:
                tagged = text.replace(who, "<face_1>", 1) if text.startswith(who) else text
                for claim in facts_in(tagged):
                    if not claim.by_name:
                        place = f"{session.removesuffix('_observation')} {who}"
                        yield ReadFact(number, _key(number, place, claim), False, text)


def _key(number: int, place: str, claim: FactClaim) -> str:
    triple = claim.triple
    subject = f"{triple.subject}: " if triple.subject else ""
    sign = "+" if triple.polarity > 0 else "no longer" if claim.changed else "-"
    return f"{number} {place} {subject}{triple.relation} {triple.object} {sign}"


def _precision(
    read: list[ReadFact], judged: dict[str, bool]
) -> tuple[list[tuple[str, str, str]], dict[str, Any]]:
    rows, figures = list[tuple[str, str, str]](), dict[str, Any]()
    for spoken, kind in ((True, "heard"), (False, "third_person")):
        for odd, half in ((0, "made_on"), (1, "other")):
            facts = [fact for fact in read if fact.spoken == spoken and fact.dialogue % 2 == odd]
            known = [judged[fact.key] for fact in facts if fact.key in judged]
            right = sum(known) / len(known) if known else 0.0
            unjudged = len(facts) - len(known)
            name = f"{kind.replace('_', ' ')}, {'rules made on these' if half == 'made_on' else 'other half'}"
            told = f"{right:.3f} of {len(known)}" + (f", {unjudged} not judged" if unjudged else "")
            rows.append((f"facts that are right: {name}", told, ">= 0.9"))
            figures[f"{kind}_{half}"] = {
                "facts": len(facts),
                "judged": len(known),
                "precision": round(right, 4),
            }
    return rows, figures


def _cosines() -> tuple[list[tuple[str, str, str]], dict[str, Any]]:
    parts = Parts(Settings(), Manifest.load())
    model = parts.text_entry
    try:
        embedder = text_embedder(parts)
    except ModelError as error:
        raise BenchmarkError(str(error)) from error
    pairs = yaml.safe_load((HERE / "fact_pairs.yaml").read_text(encoding="utf-8"))
    found: dict[str, list[float]] = {}
    for name, listed in pairs.items():
        one, other = (embedder.embed_passage([pair[side] for pair in listed]) for side in (0, 1))
        found[name] = [float(cosine) for cosine in np.sum(one * other, axis=1)]
    threshold = model.thresholds["same_triple"]
    rows, figures = list[tuple[str, str, str]](), dict[str, Any](threshold=threshold)
    for name, cosines in found.items():
        joined = sum(cosine >= threshold for cosine in cosines)
        told = f"{joined} of {len(cosines)} ({min(cosines):.3f} to {max(cosines):.3f})"
        rows.append(
            (f"joined at {threshold}: {name.replace('_', ' ')}", told, "0" if "different" in name else "")
        )
        figures[name] = {"joined": joined, "pairs": len(cosines)}
    return rows, figures
