"""What of a stream could not be read, and which of its pictures are whole.

A decoder conceals damage, goes on predicting from what it made up, and says nothing of the pictures that follow. They
are whole again from the next key frame on.
"""

from dataclasses import dataclass, field
from typing import Any

from av.video.frame import PictureType

LONGEST_WAIT = (
    300  # pictures; a stream refreshed bit by bit has no key frames, and encoders set one every 250
)
MOST_HELD = 16  # pictures, the deepest reordering that H.264 knows


@dataclass(slots=True)
class Damage:
    """What one pass over a stream left out.

    dependent_frames: pictures left out since they were predicted from damaged ones; last_pts: of the latest picture
    left out; lost_ticks: for how many ticks of the frame rate there is no picture because of all this.
    """

    broken_packets: int = 0
    corrupt_frames: int = 0
    dependent_frames: int = 0
    last_pts: int | None = None
    lost_ticks: int = 0
    read_errors: list[str] = field(default_factory=list)
    ended_s: float = 0.0

    @property
    def pieces(self) -> int:
        """How many packets and frames were left out."""
        return self.broken_packets + self.corrupt_frames + self.dependent_frames


class WholePictures:
    """Lets the whole pictures of one stream pass, in the order in which a decoder gives them out.

    A run of B pictures is held back until the picture after it is known: they may hang on that one.
    """

    def __init__(self, damage: Damage) -> None:
        self._damage = damage
        self._held: list[Any] = []
        self._waits_for = 0  # pictures to leave out at most, until a key frame
        self._broken_pts: int | None = None

    def broke(self, pts: int | None) -> None:
        """A packet stamped `pts` could not be decoded, or its picture is corrupt."""
        self._waits_for = LONGEST_WAIT
        if pts is not None:
            self._broken_pts = pts if self._broken_pts is None else max(pts, self._broken_pts)

    def after(self, picture: Any) -> list[Any]:
        """The pictures that are known to be whole now that this one came out of the decoder."""
        if picture.is_corrupt:
            self._damage.corrupt_frames += 1
            self._damage.last_pts = picture.pts
            self.broke(picture.pts)
            for held in self.rest():
                self._leave_out(held)
            return []
        if self._waits_for and not self._ends_the_damage(picture):
            self._leave_out(picture)
            return self.rest()
        if picture.pict_type == PictureType.B and len(self._held) < MOST_HELD:
            self._held.append(picture)
            return []
        return [*self.rest(), picture]

    def rest(self) -> list[Any]:
        """What is still held back, at the end of the stream."""
        held, self._held = self._held, []
        return held

    def _ends_the_damage(self, picture: Any) -> bool:
        self._waits_for -= 1
        # the decoder holds pictures back: a key frame from before the damage may come out after it
        later = picture.pts is None or self._broken_pts is None or picture.pts > self._broken_pts
        if picture.key_frame and later:
            self._waits_for = 0
        if not self._waits_for:
            self._broken_pts = None
        return not self._waits_for

    def _leave_out(self, picture: Any) -> None:
        self._damage.dependent_frames += 1
        self._damage.last_pts = picture.pts
