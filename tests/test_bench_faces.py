"""The face benchmark's arithmetic, on people made of vectors with chosen similarities."""

from models.face_quality import FaceQuality
from offline_tools.bench.face_photos import Photo, PhotoSet
from offline_tools.bench.face_widths import AtWidth, recognised_small, width_rows
from offline_tools.bench.faces import evaluated
from runtime.gallery import MatchRule
from tests.vectors import axis, near

SHARP = FaceQuality(sharpness=200.0, width_px=120.0, roll_deg=0.0, yaw=0.0)
RULE = MatchRule(match=0.5, unsure=0.45, margin=0.05)


def photographed(person: int, similarity: float) -> list[Photo]:
    base = axis(person)
    vectors = [near(base, similarity, 64 + number) for number in range(6)]
    return [Photo(f"p{person}", f"{number}.jpg", vector, SHARP) for number, vector in enumerate(vectors)]


def test_people_far_apart_are_all_recognised_and_no_stranger_is() -> None:
    people = {f"p{person}": photographed(person, 0.95) for person in range(6)}
    result = evaluated(people, [axis(40), axis(41)], RULE, draws=2)
    assert result.shipped.true_accept == result.held_out.true_accept == 1.0
    assert result.shipped.own == 6 * 3 * 2
    assert result.shipped.strangers == 2 * 2
    assert result.shipped.strangers_taken == result.shipped.pairs_accepted == 0
    assert result.equal_error_rate == 0.0
    assert 0.4 < min(result.chosen) <= max(result.chosen) < 0.5


def test_strangers_who_look_like_residents_are_counted_and_raise_the_threshold() -> None:
    people = {f"p{person}": photographed(person, 0.95) for person in range(4)}
    doubles = [near(axis(0), 0.8, 50), near(axis(1), 0.8, 51)]
    result = evaluated(people, doubles, RULE, draws=1)
    assert result.shipped.strangers_taken == 2
    assert result.shipped.pairs_accepted == 2
    assert result.reference.strangers_taken == 2
    assert max(result.chosen) > 0.8


def test_small_faces_that_are_not_found_count_as_not_recognised_and_the_other_half_as_strangers() -> None:
    whole = PhotoSet({f"p{person}": photographed(person, 0.95) for person in range(4)}, 0)
    found = {
        name: photos[:5] for name, photos in whole.people.items()
    }  # of each, one is lost when it is shrunk
    outcomes = [recognised_small(whole, PhotoSet(found, 4), [], 0, half, RULE, 0.5) for half in (0, 1)]
    for outcome in outcomes:
        assert outcome.own == 2 * 3
        assert outcome.recognised + 2 >= outcome.own and outcome.taken_for_another == 0
        assert outcome.strangers == 2 * 5 and outcome.strangers_taken == 0
    assert sum(outcome.recognised for outcome in outcomes) < 12
    rows = width_rows([AtWidth(16, 0.8, outcomes[0]), AtWidth(24, 1.0, outcomes[1])], gate_px=20)
    assert [row[0] for row in rows] == ["LFW 16 px wide, below the gate", "LFW 24 px wide"]
