"""Meta-clips are cut where exactly one face and one voice are alone together, and nowhere else."""

from memory_store.tags import Tag
from offline_tools.remembered import Stretch
from offline_tools.synthesize.meta_clips import MetaClip, meta_clips
from tests.remembered import made_up

ANNA, ANNAS_VOICE = Tag("face", 1), Tag("voice", 2)


def test_a_short_monologue_is_one() -> None:
    clip = made_up([(2, 6, 1)], [(2.5, 5, 2)])
    assert list(meta_clips(clip)) == [MetaClip(ANNA, ANNAS_VOICE, 2, 6)]


def test_people_one_after_another_are_cut_apart() -> None:
    clip = made_up([(0, 3, 1), (3, 6, 5)], [(0.2, 2.8, 2), (3.2, 5.8, 6)])
    assert [(one.face.node_id, one.voice.node_id) for one in meta_clips(clip)] == [(1, 2), (5, 6)]


def test_a_long_monologue_is_cut_into_pieces_of_at_most_5_s() -> None:
    found = list(meta_clips(made_up([(0, 12, 1)], [(0, 12, 2)])))
    assert [(one.start_s, one.end_s) for one in found] == [(0, 4), (4, 8), (8, 12)]


def test_times_are_the_sources() -> None:
    found = list(meta_clips(made_up([(90, 94, 1)], [(91, 94, 2)], start_s=90, end_s=120)))
    assert found == [MetaClip(ANNA, ANNAS_VOICE, 90, 94)]


def test_a_second_face_a_second_voice_or_a_stranger_spoils_it() -> None:
    assert not list(meta_clips(made_up([(0, 4, 1), (0, 4, 3)], [(0, 4, 2)])))
    assert not list(meta_clips(made_up([(0, 4, 1)], [(0, 2, 2), (2, 4, 9)])))
    assert not list(meta_clips(made_up([(0, 4, 1), (0, 4, None)], [(0, 4, 2)])))
    assert not list(meta_clips(made_up([(0, 4, 1)], [(0, 2, 2), (2, 4, None)])))
    assert not list(meta_clips(made_up([], [(0, 4, 2)])))
    assert not list(meta_clips(made_up([(0, 4, 1)], [])))


def test_a_breath_of_somebody_else_does_not_spoil_it() -> None:
    clip = made_up([(0, 4, 1)], [(0, 0.4, 9), (0.5, 4, 2)])
    assert list(meta_clips(clip)) == [MetaClip(ANNA, ANNAS_VOICE, 0, 4)]


def test_a_face_that_speaks_in_an_unknown_voice_is_none() -> None:
    clip = made_up([(0, 4, 1)], [])
    told_by_sight = Stretch(0, 4, ANNA)  # "<face_1> says": nobody knows the voice
    assert not list(meta_clips(type(clip)(clip.clip, clip.lines, clip.seen, (told_by_sight,))))


def test_speech_of_a_screen_is_nobodys() -> None:
    clip = made_up([(0, 4, 1)], [])
    film = Stretch(0, 4, ANNAS_VOICE, on_screen=True)
    assert not list(meta_clips(type(clip)(clip.clip, clip.lines, clip.seen, (film,))))
