"""Long made-up lives of an identifier: what must hold after many clips, in few of them and in a soak."""

import numpy as np
from numpy.typing import NDArray

from tests.identified_clips import BLURRED, CLIP_S, SHARP, Household, says, track
from tests.vectors import axis, near


def unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """The vector with length 1."""
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def _noisy(vector: NDArray[np.float32], generator: np.random.Generator, amount: float) -> NDArray[np.float32]:
    noise = unit(generator.normal(size=vector.size).astype(np.float32))
    return unit(vector + np.float32(amount) * noise)


def drift_and_passers_by(household: Household, *, clips: int, passers_by: int) -> None:
    """One person whose looks drift by 0.25 and back, and strangers who are seen once, half of them blurred."""
    generator = np.random.default_rng(3)
    anna = axis(0)
    ids = set()
    for number in range(clips):
        turn = float(np.sin(2 * np.pi * number / clips))
        looks = near(anna, 1.0 - 0.25 * abs(turn), 1 if turn > 0 else 2)
        tracks = [track(_noisy(looks, generator, 0.3))]
        for passer in range(number * passers_by // clips, (number + 1) * passers_by // clips):
            stranger = unit(generator.normal(size=128).astype(np.float32))
            start_s = 10.0 + 3.0 * (passer % 6)
            tracks.append(track(stranger, start_s, start_s + 2.0, BLURRED if passer % 2 else SHARP))
        ids.add(household.clip(tracks).faces[0].face_id)
    assert None not in ids and len(ids) <= 2
    with household.store.transaction():
        household.store.expire_tentative(household.store.clips(limit=1)[0].start_utc_s + CLIP_S + 1.0)
    assert {node.id for node in household.store.nodes(kinds=["face"])} == ids
    assert household.store.check() == []


class Family:
    """Six people with faces and voices, of whom a few are met in each clip."""

    def __init__(self) -> None:
        self._generator = np.random.default_rng(11)
        self._faces = [unit(self._generator.normal(size=128).astype(np.float32)) for _ in range(6)]
        self._voices = [unit(self._generator.normal(size=192).astype(np.float32)) for _ in range(6)]
        self.seen: dict[int, set[int | None]] = {number: set() for number in range(6)}
        self.heard: dict[int, set[int | None]] = {number: set() for number in range(6)}

    def clip(self, household: Household) -> None:
        """Two people, one after the other, in one clip; now and then a third talks off-screen."""
        first, second, third = self._generator.permutation(6)[:3]
        speech = []
        tracks = []
        for person, start_s in ((first, 0.0), (second, 10.0)):
            tracks.append(track(_noisy(self._faces[person], self._generator, 0.6), start_s, start_s + 8.0))
            voice = _noisy(self._voices[person], self._generator, 0.6)
            speech.append(says(voice, start_s + 1.0, start_s + 4.0))
        if self._generator.random() < 0.2:
            speech.append(says(_noisy(self._voices[third], self._generator, 0.6), 15.0, 17.5))
        who = household.clip(tracks, speech)
        for person, face in zip((first, second), who.faces, strict=True):
            self.seen[int(person)].add(face.face_id)
        for person, one in zip((first, second, third), who.speech, strict=False):
            self.heard[int(person)].add(one.voice_id)

    def check(self, household: Household) -> None:
        """Everybody has one face id and one voice id, and both are one person."""
        people = household.store.people()
        assert len(people) == 6 and household.store.check() == []
        for number in range(6):
            (face,), (voice,) = self.seen[number], self.heard[number]
            assert household.store.owner_of(face) == household.store.owner_of(voice)  # type: ignore[arg-type]
