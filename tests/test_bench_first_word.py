"""The benchmark of the first word: the stages of a turn add up, and a sound loses only the silence at its end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from models.synthesis import SpeechSynthesizer
from offline_tools.bench.first_word import STAGES, _spoken, _stages
from runtime.answer import Round
from runtime.conversing import SpokenTurn
from tests.answers import plain_answer
from tests.pictures import fetched_model

ROUND = Round(1, "answer", "", "", (), "", "", (), None, "", "", 10, 0, 5, 1.5)


def test_the_stages_of_a_turn_add_up() -> None:
    answer = replace(plain_answer("in the bowl"), rounds=(ROUND, ROUND))
    turn = SpokenTurn("where?", "in the bowl", answer, 9.8, 11.0, 11.25, 11.5, 15.0, 15.75)
    stages = _stages(turn, 10.0)
    assert stages == {
        "end of speech": 1.0, "recognition": 0.25, "addressed, by whom": 0.25, "round 0 and judge": 0.5, "model": 3.0,
        "first sentence": 0.75, "all": 5.75,
    }  # fmt: skip
    assert sum(stages[stage] for stage in STAGES[:-1]) == stages["all"]
    refused = _stages(replace(turn, answer=None, first_sound_s=None), 10.0)
    assert refused["model"] == refused["first sentence"] == 0.0 and refused["all"] == 5.0


def test_a_question_ends_with_its_last_sound() -> None:
    sound = _spoken(SpeechSynthesizer(fetched_model("piper-joe")), "Where are the keys?")
    assert np.abs(sound[-160:]).max() > np.abs(sound).max() / 200
    assert len(sound) / 16000 == pytest.approx(1.0, abs=0.5)
