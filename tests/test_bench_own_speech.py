"""The robot's own voice under an unsteady noise in a room, and residents who go on after it has ended."""

import numpy as np
import pytest

from models.voices import Span, VoiceActivity
from offline_tools.bench.own_speech import Told, Voices, measured
from offline_tools.bench.spoiled_sound import Condition, household_sounds, read_sound
from runtime.own_speech import OwnSpeech
from tests.pictures import fetched_model, media
from tests.test_own_speech import _spoken


@pytest.mark.parametrize("snr_db", [20.0, 5.0])
def test_own_sentences_are_known_and_residents_are_left_whole(snr_db: float) -> None:
    resident = read_sound(media("speech/strangers/200-124139-0000.flac"))
    voices = Voices([_spoken(1)], [resident])
    activity = VoiceActivity(fetched_model("silero-vad"))
    told = measured(voices, Condition(snr_db, True), household_sounds(), activity)
    assert (told.own, told.known) == (4, 4)
    assert (told.after, told.after_lost, told.over_lost) == (4, 0, 0)
    assert told.over_kept_s > 0.7 * told.over_s > 0


def test_speech_that_goes_on_while_the_robot_says_nothing_is_somebodys() -> None:
    rng = np.random.default_rng(11)
    sound = (np.repeat(rng.uniform(0.05, 1.0, 20), 1600) * rng.normal(0, 0.3, 32000)).astype(np.float32)
    own = OwnSpeech()
    own.played(sound, 16000, 1.0)
    heard = rng.normal(0, 0.001, 6 * 16000).astype(np.float32)
    heard[16000 : 16000 + len(sound)] += np.clip(sound, -1, 1)
    found = own.sort(heard, 0.0, [Span(1.0, 5.0)])
    assert found.own and found.own[0].end_s == pytest.approx(3.2, abs=0.25)
    assert [round(one.end_s, 1) for one in found.others] == [5.0]


def test_counts_of_scenes_add_up() -> None:
    assert Told(own=1, known=1) + Told(own=2, over=3) == Told(own=3, known=1, over=3)
