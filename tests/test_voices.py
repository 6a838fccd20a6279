"""Speech found, speakers told apart, utterances made, voices recognised."""

from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import ModelError
from models.utterances import alone
from models.voices import (
    Span,
    SpeakerTurns,
    Turn,
    Utterance,
    VoiceActivity,
    VoiceEmbedder,
    utterances,
)
from offline_tools.bench.conversation import compose
from offline_tools.bench.diarization_error import Speaking, diarization_error
from tests.pictures import fetched_model
from tests.sounds import BAD_AUDIO, RATE_HZ, Samples, noise, recording, silence, tone, visitors


@pytest.fixture(scope="module")
def activity() -> VoiceActivity:
    return VoiceActivity(fetched_model("silero-vad"))


@pytest.fixture(scope="module")
def embedder() -> VoiceEmbedder:
    return VoiceEmbedder(fetched_model("campplus-zh-en"))


@pytest.fixture(scope="module")
def speaker_turns(embedder: VoiceEmbedder) -> SpeakerTurns:
    return SpeakerTurns(fetched_model("pyannote-segmentation-3"), embedder)


@pytest.mark.parametrize("sound", [silence(3), noise(3), tone(3), silence(0), silence(0.01)])
def test_no_speech_where_nobody_speaks(activity: VoiceActivity, sound: Samples) -> None:
    assert activity.spans(sound) == []


@pytest.mark.parametrize("kind", BAD_AUDIO)
def test_bad_audio_is_refused_by_all(
    activity: VoiceActivity, speaker_turns: SpeakerTurns, embedder: VoiceEmbedder, kind: str
) -> None:
    for call in (activity.spans, speaker_turns.turns, embedder.embed):
        with pytest.raises(ModelError, match="audio"):
            call(BAD_AUDIO[kind])


def test_a_missing_model_says_how_to_get_it(tmp_path: Path, embedder: VoiceEmbedder) -> None:
    for open_part in (VoiceActivity, VoiceEmbedder, lambda directory: SpeakerTurns(directory, embedder)):
        with pytest.raises(ModelError, match="hearsight models fetch"):
            open_part(tmp_path)


def test_speech_lies_within_the_recording_and_survives_clipping(activity: VoiceActivity) -> None:
    speech = recording("speech/jfk.flac")
    duration_s = speech.size / RATE_HZ
    for loudness in (1.0, 2.5 / float(np.abs(speech).max())):
        spans = activity.spans(speech * np.float32(loudness))
        assert sum(span.end_s - span.start_s for span in spans) > 6.0
        assert spans[0].start_s >= 0.0
        assert spans[-1].end_s <= duration_s
        assert all(left.end_s <= right.start_s for left, right in pairwise(spans))


def test_a_longer_silence_is_needed_to_cut_when_asked_for(activity: VoiceActivity) -> None:
    speech = recording("speech/jfk.flac")
    patient = VoiceActivity(fetched_model("silero-vad"), min_silence_s=2.0)
    assert len(patient.spans(speech)) < len(activity.spans(speech))


def test_each_visitor_sentence_is_an_utterance_of_its_own(
    activity: VoiceActivity, speaker_turns: SpeakerTurns
) -> None:
    sound, spoken = visitors()
    found = utterances(activity.spans(sound), speaker_turns.turns(sound))
    assert len(found) == len(spoken)
    for utterance, segment in zip(found, spoken, strict=True):
        assert segment.start_s <= utterance.start_s < utterance.end_s <= segment.end_s
        assert not utterance.overlapped


def test_two_voices_take_turns(speaker_turns: SpeakerTurns) -> None:
    first_voice = recording("speech/librispeech/367/367-130732-0001.flac")[: 4 * RATE_HZ]
    second_voice = recording("speech/jfk.flac")[: 4 * RATE_HZ]
    turns = speaker_turns.turns(np.concatenate([first_voice, second_voice]))
    first = {turn.speaker for turn in turns if turn.end_s < 4.0}
    second = {turn.speaker for turn in turns if turn.start_s > 4.0}
    assert len(first) == len(second) == 1
    assert first.isdisjoint(second)


def test_people_whose_voices_are_alike_are_told_apart_throughout_a_conversation(
    activity: VoiceActivity, speaker_turns: SpeakerTurns
) -> None:
    names = ("1998/1998-15444-0001", "3331/3331-159605-0001", "1688/1688-142285-0002")
    voices = {name[:4]: recording(f"speech/librispeech/{name}.flac") for name in names}
    talk = compose(3, voices, activity)
    turns = [Speaking(turn.start_s, turn.end_s, turn.speaker) for turn in speaker_turns.turns(talk.samples)]
    assert len({turn.who for turn in turns}) == 3
    assert diarization_error(talk.truth, turns, 30.0, collar_s=0.25).rate < 0.12


def test_speech_on_top_of_speech_is_overlapped(speaker_turns: SpeakerTurns) -> None:
    def crowded_s(sound: Samples) -> float:
        return sum(turn.end_s - turn.start_s for turn in speaker_turns.turns(sound) if turn.overlapped)

    assert crowded_s(recording("diarization/ami_trn08.flac")) > 2.0
    assert crowded_s(recording("speech/jfk.flac")) < 0.3


@pytest.mark.parametrize("duration_s", [0, 0.01, 0.2, 3, 10.5, 31])
def test_nobody_takes_a_turn_in_silence(speaker_turns: SpeakerTurns, duration_s: float) -> None:
    assert speaker_turns.turns(silence(duration_s)) == []


def test_a_change_of_speaker_cuts_a_span() -> None:
    spans = [Span(1.0, 5.0)]
    turns = [Turn(1.1, 3.0, 0, False), Turn(3.2, 4.9, 1, False)]
    assert utterances(spans, turns) == [Utterance(1.0, 3.1, False, 0), Utterance(3.1, 5.0, False, 1)]


def test_short_pauses_of_one_speaker_are_bridged_and_long_ones_not() -> None:
    spans = [Span(0.0, 1.0), Span(1.2, 2.0), Span(3.0, 4.0)]
    turns = [Turn(0.0, 4.0, 7, False)]
    assert utterances(spans, turns) == [Utterance(0.0, 2.0, False, 7), Utterance(3.0, 4.0, False, 7)]


def test_speech_without_a_turn_is_kept() -> None:
    assert utterances([Span(0.0, 1.0)], []) == [Utterance(0.0, 1.0, False, None)]


def test_crumbs_go_to_the_neighbour_and_a_lone_crumb_goes_away() -> None:
    spans = [Span(0.0, 2.0), Span(4.0, 4.1)]
    turns = [Turn(0.0, 1.9, 0, False), Turn(1.9, 2.0, 1, False)]
    assert utterances(spans, turns) == [Utterance(0.0, 2.0, False, 0)]


def test_an_interruption_belongs_to_whoever_began_and_is_marked() -> None:
    spans = [Span(0.0, 6.0)]
    turns = [
        Turn(0.0, 2.0, 0, False),
        Turn(2.0, 4.0, 0, True),
        Turn(2.0, 4.0, 1, True),
        Turn(4.0, 6.0, 1, False),
    ]
    assert utterances(spans, turns) == [Utterance(0.0, 4.0, True, 0), Utterance(4.0, 6.0, False, 1)]


def test_alone_is_what_nobody_else_speaks_over() -> None:
    turns = [
        Turn(0.0, 1.0, 0, False),
        Turn(1.0, 2.0, 0, True),
        Turn(1.0, 2.0, 1, True),
        Turn(2.0, 3.0, 0, False),
    ]
    assert alone(Utterance(0.5, 2.5, True, 0), turns) == [Span(0.5, 1.0), Span(2.0, 2.5)]
    assert alone(Utterance(1.2, 1.8, True, 1), turns) == []
    assert alone(Utterance(2.2, 2.8, False, 0), turns) == [Span(2.2, 2.8)]


_tenths = st.integers(min_value=0, max_value=200)


@given(
    edges=st.sets(_tenths, min_size=2, max_size=20),
    said=st.lists(st.tuples(_tenths, _tenths, st.integers(0, 3))),
)
def test_utterances_never_share_a_moment_and_keep_all_speech(
    edges: set[int], said: list[tuple[int, int, int]]
) -> None:
    times = sorted(edges)
    spans = [Span(start / 10, end / 10) for start, end in zip(times[::2], times[1::2], strict=False)]
    turns = [Turn(min(a, b) / 10, max(a, b) / 10, who, False) for a, b, who in said if a != b]
    found = utterances(spans, turns)
    assert all(left.end_s <= right.start_s + 1e-9 for left, right in pairwise(found))
    for span in spans:
        kept_s = sum(max(0.0, min(u.end_s, span.end_s) - max(u.start_s, span.start_s)) for u in found)
        assert kept_s == pytest.approx(span.end_s - span.start_s) or span.end_s - span.start_s < 0.25


def test_a_voice_is_a_unit_vector_and_the_same_every_time(embedder: VoiceEmbedder) -> None:
    speech = recording("speech/jfk.flac")[: 3 * RATE_HZ]
    vector = embedder.embed(speech)
    assert vector.shape == (192,)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)
    assert np.array_equal(vector, embedder.embed(speech))


def test_a_voice_does_not_depend_on_loudness(embedder: VoiceEmbedder) -> None:
    speech = recording("speech/jfk.flac")[: 3 * RATE_HZ]
    assert embedder.embed(speech) @ embedder.embed(speech * np.float32(0.3)) > 0.95


@pytest.mark.parametrize("sound", [silence(2), noise(0.4), silence(0)])
def test_too_short_or_silent_speech_has_no_voice(embedder: VoiceEmbedder, sound: Samples) -> None:
    with pytest.raises(ModelError, match=r"too short|silence"):
        embedder.embed(sound)


def test_visitors_are_nearest_to_themselves(activity: VoiceActivity, embedder: VoiceEmbedder) -> None:
    sound, spoken = visitors()
    spans = activity.spans(sound)
    vectors = [embedder.embed(sound[round(s.start_s * RATE_HZ) : round(s.end_s * RATE_HZ)]) for s in spans]
    likeness = np.array(vectors) @ np.array(vectors).T - 2 * np.eye(len(vectors))
    people = [segment.person for segment in spoken]
    for number, person in enumerate(people):
        if people.count(person) > 1:
            assert people[int(likeness[number].argmax())] == person
            assert likeness[number].max() > 0.5
    strangers = [likeness[a, b] for a, b in combinations(range(len(people)), 2) if people[a] != people[b]]
    assert max(strangers) < 0.53
