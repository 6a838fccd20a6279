"""The benchmark of facts: its judgements fit what is read today."""

import json

import pytest
import yaml

from offline_tools.bench import facts
from offline_tools.bench.report import MEDIA


def test_every_fact_read_from_real_talk_is_judged_and_few_are_wrong() -> None:
    path = MEDIA / "benchmarks" / "locomo10.json"
    if not path.exists():
        pytest.skip("shared media are not here: ../shared/media/benchmarks/locomo10.json")
    judged = yaml.safe_load((facts.HERE / "facts_judged.yaml").read_text(encoding="utf-8"))
    dialogues = json.loads(path.read_text(encoding="utf-8"))[3:4]
    read = [fact for dialogue in dialogues for fact in facts._read(3, dialogue)]
    assert len(read) > 20
    assert [fact.key for fact in read if fact.key not in judged] == [], "judge these: bench facts --show"
    _, figures = facts._precision(read, judged)
    assert figures["heard_other"]["precision"] >= 0.9 and figures["third_person_other"]["precision"] >= 0.9


def test_precision_counts_only_what_was_judged() -> None:
    read = [facts.ReadFact(1, key, True, "") for key in ("a", "b", "c", "d")]
    rows, figures = facts._precision(read, {"a": True, "b": True, "c": False})
    assert figures["heard_other"] == {"facts": 4, "judged": 3, "precision": 0.6667}
    assert rows[1][1] == "0.667 of 3, 1 not judged"
