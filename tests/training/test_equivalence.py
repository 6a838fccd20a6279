"""The face-voice dictionary: made-up votes, and a real stream of people who come and speak one after another."""

from pathlib import Path

import pytest

from memory_store.tags import Tag
from offline_tools.bench.meta_clips import memorized, read_truth, score
from offline_tools.synthesize.equivalence import VotingRule, face_of_voices
from offline_tools.synthesize.meta_clips import MetaClip
from tests.recordings import SHARED_MEDIA

pytest.importorskip("networkx", reason="needs the training extra: make setup-training")
pytestmark = pytest.mark.training


def votes(*counts: tuple[int, int, int]) -> list[MetaClip]:
    """(face, voice, how often met)."""
    return [
        MetaClip(Tag("face", face), Tag("voice", voice), 0, 1) for face, voice, n in counts for _ in range(n)
    ]


def told(clips: list[MetaClip], rule: VotingRule | None = None) -> dict[int, int]:
    return {voice.node_id: face.node_id for voice, face in face_of_voices(clips, rule).items()}


def test_two_meetings_tell_and_one_does_not() -> None:
    assert told(votes((1, 2, 2), (3, 4, 1))) == {2: 1}
    assert told(votes((3, 4, 1)), VotingRule(least=1)) == {4: 3}
    assert told([]) == {}


def test_a_single_wrong_meeting_is_noise() -> None:
    assert told(votes((1, 2, 5), (1, 4, 1), (3, 4, 5), (3, 2, 1))) == {2: 1, 4: 3}


def test_a_narrator_who_is_heard_with_everybody_is_nobody() -> None:
    assert told(votes((1, 9, 2), (2, 9, 2), (3, 9, 2))) == {}


def test_a_listener_who_is_always_in_view_is_not_everybodys_face() -> None:
    assert told(votes((1, 6, 2), (1, 7, 2), (1, 8, 2))) == {}


def test_a_voice_keeps_its_one_best_face_and_a_tie_tells_nothing() -> None:
    assert told(votes((1, 2, 6), (3, 2, 3))) == {2: 1}
    assert told(votes((1, 2, 3), (3, 2, 3))) == {}


def test_a_voice_with_two_ids_keeps_both() -> None:
    assert told(votes((1, 2, 3), (1, 4, 3))) == {2: 1, 4: 1}


def test_the_share_is_the_rules() -> None:
    clips = votes((1, 2, 6), (3, 2, 4), (3, 4, 10))
    assert told(clips, VotingRule(share=0.5)) == {2: 1, 4: 3}
    assert told(clips, VotingRule(share=0.7)) == {4: 3}


@pytest.mark.timeout(300)
@pytest.mark.skipif(
    not (SHARED_MEDIA / "streams/visitors_day1.mp4").exists(), reason="the shared media folder is not here"
)
def test_the_true_map_of_a_real_stream_is_found(tmp_path: Path) -> None:
    """13 people, 4 of whom appear more than once: only those can have an edge of weight above 1."""
    stream = SHARED_MEDIA / "streams/visitors_day1.mp4"
    clips, truth = memorized(stream, tmp_path), read_truth(stream)
    paper = score(clips, truth, VotingRule())
    assert paper.precision >= 0.95
    assert paper.recall_met_twice >= 0.75 and paper.voices >= 3
    every = score(clips, truth, VotingRule(least=1))
    assert every.precision >= 0.95 and every.recall >= 0.9
