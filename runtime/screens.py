"""Rectangles in view whose picture changes all at once while the room around them does not: screens."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CHANGED = 20.0  # grey levels by which a cell of the thumbnail changes at a cut
WIDER = 1.1  # than high: people who come and go are not
LARGEST = 0.5  # of the view: more than this is the robot that turned, or a lamp
SMALLEST_CELLS = 24
FILLED = 0.5  # of the rectangle, must have changed,
MOST_INSIDE = 0.6  # and this share of all that changed lies in it
CORNERS = 0.4  # and of each corner's cells this share: somebody who comes or goes leaves the upper ones empty
LINE = 0.4  # a row or column belongs to it that changed this much beside the one that changed most
SAME_RECTANGLE = 0.8  # intersection over union of two cuts of one screen
LEAST_CUTS = 3
CUT_GAP_S = 0.5
REMEMBERED_S = 180.0  # within which the cuts of one screen must come; a talk on television is cut this seldom


@dataclass(frozen=True)
class Rectangle:
    """In pixels of the picture."""

    x: float
    y: float
    width: float
    height: float

    def overlap(self, other: Rectangle) -> float:
        """Intersection over union."""
        width = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        height = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        if width <= 0 or height <= 0:
            return 0.0
        return width * height / (self.width * self.height + other.width * other.height - width * height)

    def holds(self, other: Rectangle, slack: float = 0.1) -> bool:
        """Whether another lies inside, but for this share of its own size."""
        aside, above = slack * other.width, slack * other.height
        return (
            other.x >= self.x - aside
            and other.y >= self.y - above
            and other.x + other.width <= self.x + self.width + aside
            and other.y + other.height <= self.y + self.height + above
        )


@dataclass(frozen=True)
class Screen:
    """Where a screen is, and when in this clip its picture was cut, in media times."""

    place: Rectangle
    cuts_s: tuple[float, ...]


class ScreenFinder:
    """Collects the sudden changes of a source. A screen may be cut once a clip only, so they are kept for a while."""

    def __init__(self) -> None:
        self._cuts: list[tuple[float, Rectangle]] = []
        self._now_s = self._clip_s = -math.inf

    def add(
        self,
        time_s: float,
        before: NDArray[np.float32],
        after: NDArray[np.float32],
        width_px: int,
        height_px: int,
    ) -> None:
        """Look at the thumbnails (rows, columns) of two frames in a row; the picture's size is in pixels."""
        if time_s < self._now_s:  # another source, or the same from its beginning
            self._cuts, self._clip_s = [], -math.inf
        self._now_s = time_s
        difference = after - before
        changed = np.abs(difference - np.median(difference)) > CHANGED
        count = int(changed.sum())
        if count < SMALLEST_CELLS or count > LARGEST * changed.size:
            return
        top, bottom = _stretch(changed.sum(axis=1))
        left, right = _stretch(changed[top : bottom + 1].sum(axis=0))
        if top == 0 or left == 0 or bottom == changed.shape[0] - 1 or right == changed.shape[1] - 1:
            return  # people reach the lower edge; a screen that is only partly in view is not told from them
        inside = changed[top : bottom + 1, left : right + 1]
        if float(inside.mean()) < FILLED or int(inside.sum()) < MOST_INSIDE * count:
            return
        if min(float(corner.mean()) for corner in _corners(inside)) < CORNERS:
            return
        across, down = width_px / changed.shape[1], height_px / changed.shape[0]
        place = Rectangle(
            left * across,
            top * down,
            (right - left + 1) * across,
            (bottom - top + 1) * down,
        )
        if place.width >= WIDER * place.height:
            self._cuts.append((time_s, place))

    def found(self) -> tuple[Screen, ...]:
        """End a clip: the rectangles cut in it, and at least three times by now, those with most cuts first."""
        self._cuts = [cut for cut in self._cuts if cut[0] >= self._now_s - REMEMBERED_S]
        since_s, self._clip_s = self._clip_s, self._now_s
        screens: list[Screen] = []
        left = list(self._cuts)
        while left:
            groups = [[cut for cut in left if place.overlap(cut[1]) >= SAME_RECTANGLE] for _, place in left]
            best = max(groups, key=len)
            times = _apart([time_s for time_s, _ in best])
            if len(times) < LEAST_CUTS:
                break
            sides = np.array([[one.x, one.y, one.width, one.height] for _, one in best])
            x, y, width, height = (float(side) for side in np.median(sides, axis=0))
            now = tuple(time_s for time_s in times if time_s > since_s)
            if now:
                screens.append(Screen(Rectangle(x, y, width, height), now))
            left = [cut for cut in left if cut not in best]
        return tuple(screens)


def _corners(inside: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
    """The four corners, a quarter of the height and of the width each."""
    rows, columns = (max(1, -(-size // 4)) for size in inside.shape)
    return [
        inside[:rows, :columns],
        inside[:rows, -columns:],
        inside[-rows:, :columns],
        inside[-rows:, -columns:],
    ]


def _stretch(counts: NDArray[np.int_]) -> tuple[int, int]:
    """First and last of the rows or columns in which much changed."""
    much = np.flatnonzero(counts >= LINE * counts.max())
    return int(much[0]), int(much[-1])


def _apart(times: list[float]) -> tuple[float, ...]:
    kept: list[float] = []
    for time_s in times:
        if not kept or time_s - kept[-1] >= CUT_GAP_S:
            kept.append(time_s)
    return tuple(kept)
