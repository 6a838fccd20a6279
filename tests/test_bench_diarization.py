"""Diarization error and wrong names, on meetings of a few strokes."""

from pathlib import Path

import numpy as np
import pytest

from offline_tools.bench.diarization import Excerpt, Names, two_at_once, wrong_names
from offline_tools.bench.diarization_error import Speaking, best_pairing, diarization_error, read_rttm

TRUTH = [Speaking(0.0, 4.0, "anna"), Speaking(4.0, 8.0, "bob"), Speaking(7.0, 8.0, "anna")]


def test_a_perfect_guess_under_other_names_has_no_error() -> None:
    guess = [Speaking(one.start_s, one.end_s, {"anna": 7, "bob": 3}[str(one.who)]) for one in TRUTH]
    error = diarization_error(TRUTH, guess, 10.0)
    assert error.rate == 0.0
    assert error.speech_s == pytest.approx(9.0)


def test_missed_made_up_and_confused_speech_each_count() -> None:
    guess = [Speaking(0.0, 5.0, 1), Speaking(5.0, 9.0, 2)]
    error = diarization_error(TRUTH, guess, 10.0)
    assert error.missed_s == pytest.approx(1.0)
    assert error.made_up_s == pytest.approx(1.0)
    assert error.confused_s == pytest.approx(1.0)
    assert error.rate == pytest.approx(3 / 9)


def test_a_collar_forgives_what_lies_near_a_boundary_only() -> None:
    guess = [Speaking(0.2, 4.2, 1), Speaking(4.2, 7.0, 2), Speaking(7.0, 8.0, 1), Speaking(7.0, 8.0, 2)]
    assert diarization_error(TRUTH, guess, 10.0).rate == pytest.approx(0.4 / 9, abs=1e-6)
    assert diarization_error(TRUTH, guess, 10.0, collar_s=0.25).rate == 0.0


def test_speech_given_to_nobody_is_confused_not_right() -> None:
    error = diarization_error(TRUTH[:1], [Speaking(0.0, 4.0, None)], 10.0)
    assert (error.missed_s, error.confused_s) == (0.0, pytest.approx(4.0))


def test_nothing_said_and_nothing_guessed_is_no_error() -> None:
    assert diarization_error([], [], 10.0).rate == 0.0
    assert diarization_error(TRUTH, [], 10.0).rate == pytest.approx(1.0)


def test_the_best_pairing_is_not_the_greedy_one() -> None:
    assert best_pairing(np.array([[10, 9], [9, 1]])) == 18


def test_wrong_names_are_utterances_whose_id_stands_for_somebody_else() -> None:
    told = [Speaking(0.0, 4.0, 1), Speaking(4.0, 6.0, 1), Speaking(6.0, 7.0, None), Speaking(9.0, 9.5, 1)]
    assert wrong_names(TRUTH, told) == Names(ids=1, named=3, wrong=2, unnamed=1)


def test_rttm_lines_that_are_not_speakers_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "a.rttm"
    file.write_text("SPKR-INFO a 1 <NA>\nSPEAKER a 1 1.5 2.0 <NA> <NA> anna <NA> <NA>\n\n", "utf-8")
    assert read_rttm(file) == [Speaking(1.5, 3.5, "anna")]


def test_two_at_once_are_counted_where_found_missed_and_made_up() -> None:
    told = [Speaking(0.0, 4.0, 1), Speaking(3.5, 7.5, 2), Speaking(7.0, 7.5, 1)]
    excerpt = Excerpt("a", 10.0, TRUTH, {"turns": told})
    assert two_at_once([excerpt, excerpt]) == pytest.approx((1.0, 2.0, 1.0))
