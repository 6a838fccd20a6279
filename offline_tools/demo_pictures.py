"""The pictures of the demo scene: a drawn room, people cut out of their portraits, and a slow camera."""

import math
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]

WIDTH_PX, HEIGHT_PX = 640, 360
_ROOM_WIDTH_PX, _ROOM_HEIGHT_PX = 736, 414
_FACE_WIDTH_PX = 116.0  # in the room, before the camera zooms in
_ENTER_S = 0.7


class CutOut:
    """A person without the background of the portrait: colours, opacity (h, w, 1), and where the face is."""

    def __init__(self, path: Path, face: tuple[int, int, int, int]) -> None:
        picture = cv2.imread(str(path))
        if picture is None:
            raise ValueError(f"{path} is not a picture")
        scale = _FACE_WIDTH_PX / face[2]
        picture = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        x, y, width, height = (value * scale for value in face)
        bottom = min(picture.shape[0], round(y + height * 2.2))
        self.image: Image = np.asarray(picture[:bottom], np.uint8)
        self.face_centre = x + width / 2, y + height / 2
        self._face = x, y, width, height
        self.opacity = _silhouette(self.image, (x, y, width, height))

    def _talking(self, opening: float) -> Image:
        """The person with the jaw let down, 0 closed to 1 wide open."""
        if opening <= 0.0:
            return self.image
        x, y, width, height = self._face
        mouth, drop = y + 0.8 * height, 0.09 * height * opening
        rows, columns = (np.asarray(axis, np.float32) for axis in np.indices(self.image.shape[:2]))
        below = np.clip((rows - mouth) / 4.0, 0.0, 1.0) * np.clip(
            (y + 1.4 * height - rows) / (0.5 * height), 0.0, 1.0
        )
        beside = np.exp(-(((columns - x - width / 2) / (0.3 * width)) ** 2))
        source = np.asarray(rows - drop * below * beside, np.float32)
        moved = cv2.remap(self.image, columns, source, cv2.INTER_LINEAR)
        centre = round(x + width / 2), round(mouth + drop / 2)
        axes = round(0.15 * width), max(1, round(0.6 * drop))
        cv2.ellipse(moved, centre, axes, 0, 0, 360, (38, 30, 62), -1, cv2.LINE_AA)
        return np.asarray(moved, np.uint8)

    def paste(self, room: Image, left: float, top: float, opening: float = 0.0) -> None:
        """Blend the person into `room` in place; `opening` of the mouth from 0 to 1."""
        height, width = self.image.shape[:2]
        rows = slice(max(0, math.floor(top)), min(room.shape[0], math.ceil(top) + height + 1))
        columns = slice(max(0, math.floor(left)), min(room.shape[1], math.ceil(left) + width + 1))
        if rows.start >= rows.stop or columns.start >= columns.stop:
            return
        shift = np.array([[1, 0, left - columns.start], [0, 1, top - rows.start]], np.float32)
        size = columns.stop - columns.start, rows.stop - rows.start
        colours = cv2.warpAffine(self._talking(opening), shift, size, flags=cv2.INTER_LINEAR)
        opacity = cv2.warpAffine(self.opacity, shift, size, flags=cv2.INTER_LINEAR)[..., np.newaxis]
        behind = room[rows, columns]
        room[rows, columns] = (colours * opacity + behind * (1.0 - opacity)).astype(np.uint8)


def draw_room() -> Image:
    """Return an empty kitchen: wall, window, a shelf with a blue bowl, a table with a cup."""
    room = np.zeros((_ROOM_HEIGHT_PX, _ROOM_WIDTH_PX, 3), np.uint8)
    shade = np.linspace(1.05, 0.85, _ROOM_HEIGHT_PX)[:, np.newaxis, np.newaxis]
    room[:] = np.clip(np.array([172, 200, 208]) * shade, 0, 255).astype(np.uint8)
    grain = np.random.default_rng(7).normal(0.0, 4.0, room.shape[:2])[..., np.newaxis]
    room[:] = np.clip(room + cv2.GaussianBlur(grain, (0, 0), 1.0)[..., np.newaxis] * 2.0, 0, 255)
    cv2.rectangle(room, (40, 50), (190, 220), (235, 240, 240), -1)
    cv2.rectangle(room, (48, 58), (182, 212), (225, 190, 140), -1)
    cv2.ellipse(room, (115, 230), (90, 60), 0, 180, 360, (90, 150, 90), -1)
    cv2.rectangle(room, (40, 212), (190, 222), (235, 240, 240), -1)
    cv2.line(room, (115, 58), (115, 212), (235, 240, 240), 5)
    cv2.rectangle(room, (530, 130), (710, 140), (60, 95, 140), -1)
    cv2.rectangle(room, (530, 140), (710, 144), (40, 65, 100), -1)
    cv2.ellipse(room, (590, 106), (36, 24), 0, 0, 180, (190, 90, 40), -1, cv2.LINE_AA)
    cv2.ellipse(room, (590, 106), (36, 6), 0, 0, 360, (220, 130, 80), -1, cv2.LINE_AA)
    for left, height, colour in ((640, 52, (60, 70, 160)), (656, 46, (80, 130, 70)), (671, 56, (60, 60, 60))):
        cv2.rectangle(room, (left, 129 - height), (left + 12, 129), colour, -1)
    cv2.rectangle(room, (0, 350), (_ROOM_WIDTH_PX, _ROOM_HEIGHT_PX), (58, 92, 138), -1)
    cv2.rectangle(room, (0, 350), (_ROOM_WIDTH_PX, 355), (80, 120, 170), -1)
    cv2.rectangle(room, (84, 322), (116, 362), (235, 235, 240), -1)
    cv2.ellipse(room, (100, 322), (16, 4), 0, 0, 360, (40, 60, 90), -1, cv2.LINE_AA)
    cv2.ellipse(room, (122, 340), (9, 10), 0, -90, 90, (235, 235, 240), 4, cv2.LINE_AA)
    return room


def room_frame(
    room: Image, people: list[CutOut], time_s: float, inside_s: float, left_s: float, speaking: int | None
) -> Image:
    """Return the room with `people` in it, seen by a slowly moving camera.

    inside_s: time since they entered; left_s: time until they have gone; speaking: who nods and moves the mouth.
    """
    view = room.copy()
    for place, person in enumerate(people):
        slide = max(_outside(inside_s), _outside(left_s))
        side = 1.0 if place % 2 == 0 else -1.0
        centre = _ROOM_WIDTH_PX * (place + 1) / (len(people) + 1) + 3.0 * math.sin(0.9 * time_s + place)
        nod = 3.0 * math.sin(7.0 * time_s) if place == speaking else 0.0
        left = centre - person.face_centre[0] + side * slide * _ROOM_WIDTH_PX
        opening = 0.5 + 0.5 * math.sin(17.0 * time_s) * math.cos(4.3 * time_s) if place == speaking else 0.0
        person.paste(view, left, _ROOM_HEIGHT_PX - person.image.shape[0] + 2.0 + nod, opening)
    return look(view, time_s, 0.93)


def look(picture: Image, time_s: float, tightest: float) -> Image:
    """Return a 640 x 360 view of `picture` whose centre and width drift; `tightest` is its least share."""
    height, width = picture.shape[:2]
    widest = min(1.0, height * WIDTH_PX / HEIGHT_PX / width)
    share = widest * (tightest + (1.0 - tightest) * (0.5 + 0.5 * math.cos(0.35 * time_s)))
    view_width, view_height = width * share, width * share * HEIGHT_PX / WIDTH_PX
    left = (width - view_width) * (0.5 + 0.5 * math.sin(0.23 * time_s))
    top = (height - view_height) * (0.5 + 0.5 * math.sin(0.31 * time_s + 1.0))
    scale = WIDTH_PX / view_width
    matrix = np.array([[scale, 0, -left * scale], [0, scale, -top * scale]], np.float32)
    view = cv2.warpAffine(picture, matrix, (WIDTH_PX, HEIGHT_PX), flags=cv2.INTER_LINEAR)
    return np.asarray(view, np.uint8)


def _outside(time_s: float) -> float:
    """Return 1 for a person out of the picture, 0 for one who has arrived, eased in between."""
    share = min(1.0, max(0.0, time_s / _ENTER_S))
    return 1.0 - share * share * (3.0 - 2.0 * share)


def _silhouette(image: Image, face: tuple[float, float, float, float]) -> NDArray[np.float32]:
    """Return the opacity of the person, by GrabCut (Rother et al. 2004) from the place of the face."""
    mask = _guess(image.shape[0], image.shape[1], face)
    cv2.setRNGSeed(1)
    cv2.grabCut(image, mask, None, np.zeros((1, 65)), np.zeros((1, 65)), 4, cv2.GC_INIT_WITH_MASK)  # type: ignore[call-overload]
    person = np.isin(mask, (cv2.GC_FGD, cv2.GC_PR_FGD)).astype(np.uint8)
    _, labels = cv2.connectedComponents(person)
    centre = labels[int(face[1] + face[3] / 2), int(face[0] + face[2] / 2)]
    opacity = (labels == centre).astype(np.float32)
    return np.asarray(cv2.GaussianBlur(opacity, (0, 0), 1.2), np.float32)


def _guess(rows: int, columns: int, face: tuple[float, float, float, float]) -> NDArray[np.uint8]:
    """Return GrabCut's first mask: head and body where they must be, may be and cannot be."""
    width, height = face[2], face[3]
    x, y = face[0] + width / 2, face[1] + height / 2
    mask = np.full((rows, columns), cv2.GC_PR_BGD, np.uint8)

    def body(neck: float, shoulder: float, hip: float, shoulder_y: float, value: int) -> None:
        corners = [
            (-neck, 0.5),
            (neck, 0.5),
            (shoulder, shoulder_y),
            (hip, 9),
            (-hip, 9),
            (-shoulder, shoulder_y),
        ]
        points = [(x + across * width, y + down * height) for across, down in corners]
        cv2.fillPoly(mask, [np.array(points, np.int32)], value)

    def head(across: float, down: float, value: int) -> None:
        cv2.ellipse(mask, (int(x), int(y)), (int(across * width), int(down * height)), 0, 0, 360, value, -1)

    head(0.75, 0.82, cv2.GC_PR_FGD)
    body(0.5, 1.5, 1.8, 1.2, cv2.GC_PR_FGD)
    head(0.45, 0.5, cv2.GC_FGD)
    body(0.3, 0.9, 1.1, 1.4, cv2.GC_FGD)
    mask[: max(0, int(face[1] - 0.45 * height))] = cv2.GC_BGD
    beside = int(y + 0.5 * height)
    mask[:beside, : max(0, int(x - 1.1 * width))] = cv2.GC_BGD
    mask[:beside, int(x + 1.1 * width) :] = cv2.GC_BGD
    return mask
