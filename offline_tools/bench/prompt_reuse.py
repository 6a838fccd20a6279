"""Prompt tokens that need not be evaluated again: between rounds and questions, and in a process that has just started.

`python -m offline_tools.bench prompt_reuse`: twenty questions to a small memory, three times: with a new process for
each question and nothing kept; with a new process each and the evaluated head of the prompt in a file; with one
process for all. Answers at temperature 0 are the same in all three, which is checked.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from memory_store.store import MemoryStore
from models.language_process import LanguageProcess
from models.manifest import Manifest
from offline_tools.bench.report import print_report
from runtime import compose, compose_answers
from runtime.answer import Answer
from runtime.config import Settings
from runtime.control import Control

NOW_UTC_S = 1_777_712_400.0
SAID = (
    "I put the car keys in the blue bowl by the door.", "My dentist appointment is on Tuesday at four.",
    "The washing machine is leaking again, we must call the plumber.", "I lent the drill to our neighbour Karl.",
    "Our flight to Lisbon leaves on the twelfth of December.", "I really don't like mushrooms on pizza.",
    "The wifi password is sunflower seven.", "There is a parcel for you from the post office.",
    "The violin lesson was moved to Thursday.", "Grandma is bringing apple cake on Sunday.",
    "The passport is in the top drawer of the desk.", "The cat must not eat cheese, it gets sick from it.",
    "The rent is paid until the end of March.", "I hid the present for Leo behind the bookshelf.",
    "The doctor told me to take two tablets every evening.", "The heating engineer comes on Monday morning.",
    "The bicycle has a flat tyre.", "We ran out of coffee and flour.",
    "The key of the cellar hangs behind the calendar.",
    "My sister's train arrives at half past six.",
)  # fmt: skip
QUESTIONS = (
    "Where could one find the car keys?", "When does Bob have to go to the dentist?", "Why do we need a plumber?",
    "Which neighbour borrowed the drill?", "When do we fly to Lisbon?", "Which topping does Anna dislike?",
    "How do I get on the internet?", "Where did the parcel come from?", "On which day is the violin lesson now?",
    "What is Grandma going to bring?", "In which drawer is the passport kept?", "What makes the cat sick?",
    "Until when is the rent paid?", "What is hidden behind the bookshelf?", "How many tablets should be taken?",
    "Which day does the heating engineer come?", "What happened to the bicycle?", "What should be bought?",
    "What is the name of the dog?", "How much did the new sofa cost?",
)  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """What the model's calls for some questions cost; later_calls, kept_later: of a question's second call and on."""

    calls: int
    prompt_tokens: int
    kept_tokens: int
    generated_tokens: int
    seconds: float
    later_calls: int
    kept_later: int


def main(arguments: list[str]) -> int:
    """Print the tokens and seconds of the three ways."""
    parser = argparse.ArgumentParser(prog="prompt_reuse")
    parser.add_argument("--model", default="qwen2.5-coder-0.5b", help="entry of the model manifest")
    parser.add_argument("--questions", type=int, default=len(QUESTIONS))
    parser.add_argument("--threads", type=int, default=Settings().models.language_threads)
    options = parser.parse_args(arguments)
    questions = QUESTIONS[: options.questions]
    rows, figures = [], dict[str, Any]()
    told: list[list[str]] = []
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        for name, heads, one_process in (
            ("nothing kept", None, False),
            ("the head in a file", root / "heads", False),
            ("one process", None, True),
        ):
            process = _process(options.model, options.threads, heads)
            answers = _asked(
                root / name, process, questions, warm=bool(heads) or one_process, anew=not one_process
            )
            cost = _cost(answers)
            told.append([answer.text for answer in answers])
            figures[name.replace(" ", "_")] = vars(cost)
            rows.append((name, _in_words(cost, len(questions)), ""))
    same = told[0] == told[1] == told[2]
    rows.append(("answers the same", str(same), "True"))
    print_report("prompt_reuse", rows, {"model": options.model, **figures, "same_answers": same})
    return 0 if same else 1


def _process(model: str, threads: int, heads: Path | None) -> LanguageProcess:
    entry = Manifest.load().entry(model)
    path = entry.require(Settings().models.dir) / entry.main_file
    return LanguageProcess(path, threads=threads, heads_dir=heads, model_sha256=entry.files[0].sha256 or "")


def _asked(
    directory: Path, language: LanguageProcess, questions: Sequence[str], *, warm: bool, anew: bool
) -> list[Answer]:
    """The answers over a memory of their own. warm: the first is asked before; anew: each by a process of its own."""
    parts = compose.Parts(Settings(data_dir=directory), Manifest.load())
    with compose.open_store(parts) as store:
        embedder = compose.text_embedder(parts)
        _remember(store, embedder)
        recall = compose_answers.recall(parts, store, embedder.embed_query)
        control = Control(recall, language, clock=lambda: NOW_UTC_S, zone=ZoneInfo("UTC"))
        answers = []
        try:
            if warm:
                control.answer(questions[0])
            for question in questions:
                if anew:
                    language.close()
                answers.append(control.answer(question))
        finally:
            language.close()
    return answers


def _remember(store: MemoryStore, embedder: Any) -> None:
    with store.transaction():
        for number, said in enumerate(SAID):
            at_s = NOW_UTC_S - 3600.0 * (len(SAID) - number)
            clip = store.add_clip(
                source_key=str(number), source_name="bench", start_utc_s=at_s, end_utc_s=at_s + 30
            )
            store.add_node(
                "episodic", f'Somebody says: "{said}"', clip_id=clip, start_utc_s=at_s, end_utc_s=at_s + 4,
                provenance={"source": "grounded", "event": "heard", "said": said},
                vectors={"text": embedder.embed_passage([said])[0]},
            )  # fmt: skip


def _cost(answers: Sequence[Answer]) -> Cost:
    rounds = [one for answer in answers for one in answer.rounds]
    later = [one for answer in answers for one in answer.rounds[1:]]
    return Cost(
        calls=len(rounds),
        prompt_tokens=sum(one.prompt_tokens for one in rounds),
        kept_tokens=sum(one.cached_tokens for one in rounds),
        generated_tokens=sum(one.generated_tokens for one in rounds),
        seconds=round(sum(one.duration_s for one in rounds), 1),
        later_calls=len(later),
        kept_later=sum(one.cached_tokens for one in later),
    )


def _in_words(cost: Cost, questions: int) -> str:
    share = cost.kept_tokens / cost.prompt_tokens if cost.prompt_tokens else 0.0
    return (
        f"{cost.calls} calls, {cost.prompt_tokens} prompt tokens, {cost.kept_tokens} of them kept ({share:.0%}),"
        f" {cost.generated_tokens} generated; {cost.seconds / questions:.1f} s a question"
    )
