"""What the tests of the evaluation ask: a small LoCoMo file of two dialogues, and a scripted model that knows a bit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memory_store.records import VectorSpace
from models.errors import ModelError
from models.language import LanguageModel, Message
from offline_tools.evaluate.chosen_models import Chosen
from offline_tools.evaluate.evaluation import Tools, evaluate
from offline_tools.evaluate.memories import TextModel
from offline_tools.evaluate.options import parse
from runtime.recall import Recall, RecallLimits
from tests.household import embed_words

TEXT = TextModel(
    "words",
    [VectorSpace("text", 64, "words")],
    embed_words,
    embed_words,
    lambda store: Recall(store, embed_words, limits=RecallLimits(similarity_floor=0.5)),
)


def sample(name: str, place: str) -> dict[str, Any]:
    """A dialogue about a pump that hangs at a place, and three questions: one has no answer."""
    return {
        "sample_id": name,
        "conversation": {
            "speaker_a": "Anna",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Anna", "dia_id": "D1:1", "text": "Where did you put the bicycle pump?"},
                {"speaker": "Bob", "dia_id": "D1:2", "text": f"The bicycle pump hangs behind the {place}."},
                {"speaker": "Bob", "dia_id": "D1:3", "text": "My dentist appointment is on Tuesday at four."},
            ],
        },
        "qa": [
            {
                "question": "Where does the bicycle pump hang?",
                "answer": f"at the {place}",
                "category": 4,
                "evidence": ["D1:2"],
            },
            {
                "question": "What day is the dentist appointment?",
                "answer": "a Tuesday",
                "category": 1,
                "evidence": ["D1:3"],
            },
            {
                "question": "What is the cat called?",
                "adversarial_answer": "Tom",
                "category": 5,
                "evidence": [],
            },
        ],
    }


def locomo_file(folder: Path) -> Path:
    """Two dialogues with six questions."""
    path = folder / "locomo.json"
    path.write_text(json.dumps([sample("one", "boiler"), sample("two", "wardrobe")]), encoding="utf-8")
    return path


def reply(messages: Sequence[Message]) -> str | ModelError:
    """What a model that can read writes to each kind of prompt."""
    system, asked = messages[0].content, messages[-1].content
    if system.startswith("You check"):
        truth, _, answer = asked.rpartition("Right answer: ")[2].partition("\nAnswer given: ")
        return "yes" if truth.split()[-1].lower() in answer.lower() else "no"
    if system.startswith("Shorten"):
        return asked.rpartition("Answer: ")[2].removeprefix("It hangs ").rstrip(".")
    told = ""
    if "pump hang?" in asked:
        told = "It hangs behind the boiler." if "boiler" in asked else "It hangs behind the wardrobe."
    elif "dentist appointment?" in asked:
        told = "It is on Tuesday."
    if "You answer from" not in system:
        return told or "I don't know."
    word = "dentist" if "dentist appointment?" in asked else "behind the"
    cited = next((line[1] for line in asked.splitlines() if word in line and line[:1] == "["), "1")
    return (
        f"Reasoning: there.\n[Answer] {told} (memory {cited})"
        if told
        else "Reasoning: no.\n[Answer] I don't know."
    )


class Bench:
    """Runs evaluations with scripted models by name."""

    def __init__(self, folder: Path, models: dict[str, LanguageModel]) -> None:
        self.folder = folder
        self.models = models

    def run(self, *arguments: str, text: TextModel = TEXT) -> int:
        """`python -m offline_tools.evaluate` with these arguments, over these models."""
        return evaluate(parse([*arguments, "--out", str(self.folder / "runs"), "--quiet"]), self.tools(text))

    def tools(self, text: TextModel = TEXT) -> Tools:
        @contextmanager
        def opened(model: Chosen, limit_s: float) -> Iterator[LanguageModel | None]:
            yield self.models[model.name] if model.choice != "none" else None

        return Tools(lambda: text, opened, "abc1234", clock=lambda: 0.0)

    def rows(self, name: str, run: str = "*") -> list[dict[str, Any]]:
        """The lines of a file of the runs whose folder matches."""
        return [
            json.loads(line)
            for path in sorted((self.folder / "runs").glob(f"*/{run}/{name}"))
            for line in path.read_text(encoding="utf-8").splitlines()
        ]

    def result(self, run: str = "*") -> dict[str, Any]:
        """The results of the one run whose folder matches."""
        (found,) = self.results(run)
        return found

    def results(self, run: str = "*") -> list[dict[str, Any]]:
        """The results of the runs whose folder matches."""
        paths = sorted((self.folder / "runs").glob(f"*/{run}/results.json"))
        return [dict(json.loads(path.read_text(encoding="utf-8"))) for path in paths]
