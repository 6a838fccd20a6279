"""Which runs an evaluation consists of: samples of questions, and the ways and models that answer them."""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import cache

from offline_tools.bench.report import code_key
from offline_tools.evaluate.asking import Variant
from offline_tools.evaluate.chosen_models import Chosen, chosen
from offline_tools.evaluate.memories import TextModel
from offline_tools.evaluate.questions import Dataset
from offline_tools.evaluate.runs import Plan
from offline_tools.evaluate.sampling import drawn
from runtime.control import Policy
from runtime.control_switches import ControlSwitches

_CODE = (
    "memory_store",
    "models",
    "runtime",
    *(
        f"offline_tools/bench/{name}"
        for name in (
            "answer_methods.py",
            "answer_prompts.yaml",
            "dialogues.py",
            "reference_loop.py",
            "whole_dialogue.py",
        )
    ),
    *(
        f"offline_tools/evaluate/{name}"
        for name in ("asking.py", "memories.py", "multiple_choice.py", "prompts.py", "prompts.yaml")
    ),
)


def samples_of(dataset: Dataset, options: argparse.Namespace) -> dict[int, frozenset[str]]:
    """By seed the ids that it draws; empty where all are asked."""
    if options.questions is None or options.questions >= len(dataset.questions):
        return {}
    return {
        seed: frozenset(
            question.id
            for question in drawn(
                dataset.questions,
                options.questions,
                seed,
                type_of=lambda one: one.types[0],
                memory_of=lambda one: one.memory,
            )
        )
        for seed in options.seeds
    }


def plans_of(
    options: argparse.Namespace,
    dataset: Dataset,
    samples: dict[int, frozenset[str]],
    text: TextModel,
) -> list[tuple[Chosen, list[Plan]]]:
    """By model the runs it is to answer; the first of all is what the others are compared with."""
    asked = set().union(*samples.values())
    questions = tuple(one for one in dataset.questions if not samples or one.id in asked)
    only: tuple[Policy, ...] = ("abstain",)
    ways = [
        Variant(method, policy)
        for method in (["robot", *options.methods] if options.ablate else options.methods)
        for policy in (options.policy if method == "robot" else only)
    ]
    base, variants = ways[0], {_title(variant): variant for variant in ways}
    for name in options.ablate:
        variant = replace(
            Variant("robot", options.policy[0]), switches=replace(ControlSwitches(), **{name: False})
        )
        variants[f"{_title(variant)} without {name.replace('_', ' ')}"] = variant
    about = {
        "seeds": list(samples),
        "text_model": text.name,
        "facts": text.facts is not None,
        "code_sha256": _code(),
    }
    planned: list[tuple[Chosen, list[Plan]]] = []
    titles = set(variants)
    for place, choice in enumerate([options.model, *options.control_model]):
        model = chosen(choice, options.context_tokens)
        title = f"{_title(base)}, {model.name}"
        if title in titles and place:
            title = f"{title} ({place})"  # another file of the same name
        titles.add(title)
        told = {title: base} if place else variants
        plans = [
            Plan(name, dataset, questions, variant, model.about, about) for name, variant in told.items()
        ]
        planned.append((model, plans))
    return planned


def _title(variant: Variant) -> str:
    guesses = variant.method == "robot" and variant.policy == "best_effort"
    return f"{variant.method.replace('_', ' ')}{', best effort' if guesses else ''}"


@cache
def _code() -> str:
    """A hash of all code and prompts that answers depend on."""
    return code_key(*_CODE)[:16]
