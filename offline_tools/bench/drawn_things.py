"""Drawn household things: each has a look of its own that stays the same while view, light and surroundings vary."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
CLASSES = ("cup", "bottle", "book", "vase")

_SIDE_PX = 384  # things are drawn this large, then made smaller
_PATTERNS = ("plain", "stripes", "dots", "band", "mark")


@dataclass(frozen=True)
class Thing:
    """What one thing looks like, whichever way it is seen. Colours are blue, green, red."""

    label: str
    body: tuple[int, int, int]
    second: tuple[int, int, int]
    pattern: str
    slimness: float
    taper: float
    mark: int


def thing(label: str, number: int, *, seed: int = 0) -> Thing:
    """Thing `number` of a class; the same arguments give the same thing."""
    chance = np.random.default_rng((seed, CLASSES.index(label), number))
    return Thing(
        label=label,
        body=_colour(chance),
        second=_colour(chance),
        pattern=_PATTERNS[int(chance.integers(len(_PATTERNS)))],
        slimness=float(chance.uniform(0.75, 1.25)),
        taper=float(chance.uniform(0.0, 0.22)),
        mark=int(chance.integers(0, 1 << 30)),
    )


def twin(one: Thing) -> Thing:
    """A thing of the same form and nearly the same colour, with another pattern: the other cup of a pair."""
    chance = np.random.default_rng((one.mark, 1))
    off = chance.integers(-24, 25, 3)
    body = tuple(int(np.clip(value + change, 0, 255)) for value, change in zip(one.body, off, strict=True))
    patterns = [pattern for pattern in _PATTERNS if pattern != one.pattern]
    return replace(
        one,
        body=(body[0], body[1], body[2]),
        second=_colour(chance),
        pattern=patterns[int(chance.integers(len(patterns)))],
        mark=int(chance.integers(0, 1 << 30)),
    )


def _colour(chance: np.random.Generator) -> tuple[int, int, int]:
    hue, saturation, value = chance.uniform(), chance.uniform(0.0, 0.9), chance.uniform(0.3, 0.95)
    red, green, blue = colorsys.hsv_to_rgb(hue, saturation, value)
    return round(blue * 255), round(green * 255), round(red * 255)


def view(
    one: Thing, room: Image, seed: int, *, at: tuple[float, float] | None = None, height_px: int | None = None
) -> tuple[Image, tuple[float, float, float, float]]:
    """The thing in a picture of a room: the picture, and the box (x, y, width, height) a detector might give.

    Everything that varies between two looks at a thing is drawn from `seed`: size, turn, tilt, place, colour and
    strength of the light, blur, noise, and how far the box is off.
    """
    chance = np.random.default_rng((one.mark, seed))
    colours, opacity = _drawn(one, chance)
    height = height_px or int(chance.integers(36, 110))
    scale = height / _SIDE_PX
    size = max(8, round(colours.shape[1] * scale)), max(8, height)
    small = np.asarray(cv2.resize(colours, size, interpolation=cv2.INTER_AREA), np.float32)
    opacity = np.asarray(cv2.resize(opacity, size, interpolation=cv2.INTER_AREA), np.float32)
    picture = room.astype(np.float32)
    rows, columns = picture.shape[0] - size[1], picture.shape[1] - size[0]
    spot = at or (float(chance.uniform(0.05, 0.95)), float(chance.uniform(0.3, 0.95)))
    left, top = round(spot[0] * columns), round(spot[1] * rows)
    part = picture[top : top + size[1], left : left + size[0]]
    part[:] = small * opacity[..., np.newaxis] + part * (1 - opacity[..., np.newaxis])
    lit = _lit(picture, chance)
    inside = np.argwhere(opacity > 0.3)
    (y0, x0), (y1, x1) = inside.min(axis=0), inside.max(axis=0) + 1
    return lit, _off((left + x0, top + y0, x1 - x0, y1 - y0), chance)


def _lit(picture: NDArray[np.float32], chance: np.random.Generator) -> Image:
    """The picture in another light, through another lens."""
    tint = 1.0 + chance.uniform(-0.08, 0.08, 3).astype(np.float32)
    lit = picture * tint * float(chance.uniform(0.65, 1.25))
    blurred = cv2.GaussianBlur(lit, (0, 0), float(chance.uniform(0.3, 1.0)))
    noise = chance.normal(0.0, float(chance.uniform(1.0, 5.0)), picture.shape)
    return np.asarray(np.clip(blurred + noise, 0, 255), np.uint8)


def _off(
    box: tuple[float, float, float, float], chance: np.random.Generator
) -> tuple[float, float, float, float]:
    """The box as a detector gives it: up to a tenth of its size off on every side."""
    x, y, width, height = box
    left, top, right, bottom = chance.uniform(-0.1, 0.1, 4)
    return (
        float(x + left * width),
        float(y + top * height),
        float(width * (1 + right - left)),
        float(height * (1 + bottom - top)),
    )


def _drawn(one: Thing, chance: np.random.Generator) -> tuple[Image, NDArray[np.float32]]:
    """Colours and opacity of the thing, turned and tilted."""
    colours = np.zeros((_SIDE_PX, _SIDE_PX, 3), np.uint8)
    opacity = np.zeros((_SIDE_PX, _SIDE_PX), np.uint8)
    turn = float(chance.uniform(-1.0, 1.0))
    outline = _outline(one)
    cv2.fillPoly(opacity, [outline], 255, cv2.LINE_AA)
    colours[:] = _surface(one, turn)
    if one.label == "cup":
        _handle(one, turn, colours, opacity)
    shade = 0.72 + 0.4 * np.sin(np.linspace(0.15, 2.6, _SIDE_PX)) ** 2  # round, lit from one side
    if chance.uniform() < 0.5:
        shade = shade[::-1]
    if one.label != "book":
        colours = np.clip(colours * shade[np.newaxis, :, np.newaxis], 0, 255).astype(np.uint8)
    tilt = cv2.getRotationMatrix2D((_SIDE_PX / 2, _SIDE_PX / 2), float(chance.uniform(-8, 8)), 0.95)
    side = (_SIDE_PX, _SIDE_PX)
    return (
        np.asarray(cv2.warpAffine(colours, tilt, side), np.uint8),
        (cv2.warpAffine(opacity, tilt, side) / 255).astype(np.float32),
    )


def _outline(one: Thing) -> NDArray[np.int32]:
    half = {"cup": 0.3, "bottle": 0.16, "book": 0.34, "vase": 0.22}[one.label] * one.slimness
    waist = half * (1 - one.taper)
    if one.label == "bottle":
        right = [(0.35 * half, 0.04), (0.35 * half, 0.24), (half, 0.38), (half, 0.96)]
    elif one.label == "vase":
        right = [(waist, 0.04), (0.55 * half, 0.2), (half, 0.55), (0.6 * half, 0.96)]
    else:
        top = 0.2 if one.label == "cup" else 0.06
        right = [(half, top), (waist if one.label == "cup" else half, 0.94)]
    points = [(0.5 + x, y) for x, y in right] + [(0.5 - x, y) for x, y in reversed(right)]
    return (np.array(points) * _SIDE_PX).astype(np.int32)


def _surface(one: Thing, turn: float) -> Image:
    """The pattern as it shows when the thing is turned: what is round shows another part of it."""
    surface = np.empty((_SIDE_PX, _SIDE_PX, 3), np.uint8)
    surface[:] = one.body
    chance = np.random.default_rng(one.mark)
    shift = round((0.0 if one.label == "book" else 0.25 * turn) * _SIDE_PX)
    if one.pattern == "stripes":
        width = int(chance.integers(24, 60))
        for left in range(-_SIDE_PX, 2 * _SIDE_PX, 2 * width):
            cv2.rectangle(surface, (left + shift, 0), (left + width + shift, _SIDE_PX), one.second, -1)
    elif one.pattern == "dots":
        radius = int(chance.integers(10, 26))
        for x in range(-_SIDE_PX, 2 * _SIDE_PX, 3 * radius):
            for y in range(0, _SIDE_PX, 3 * radius):
                cv2.circle(surface, (x + shift, y), radius, one.second, -1, cv2.LINE_AA)
    elif one.pattern == "band":
        top = int(chance.integers(120, 260))
        cv2.rectangle(surface, (0, top), (_SIDE_PX, top + int(chance.integers(30, 90))), one.second, -1)
    elif one.pattern == "mark":
        points = chance.uniform(0.3, 0.7, (6, 2)) * _SIDE_PX + np.array([shift, 0.0])
        cv2.fillPoly(surface, [points.astype(np.int32)], one.second, cv2.LINE_AA)
    return surface


def _handle(one: Thing, turn: float, colours: Image, opacity: Image) -> None:
    side = 1 if turn >= 0 else -1
    reach = 0.3 * one.slimness * abs(turn)
    centre = round((0.5 + side * 0.3 * one.slimness) * _SIDE_PX), round(0.55 * _SIDE_PX)
    axes = max(4, round(0.5 * reach * _SIDE_PX)), round(0.2 * _SIDE_PX)
    span = (-90, 90) if side > 0 else (90, 270)
    for canvas, colour in ((colours, one.body), (opacity, 255)):
        cv2.ellipse(canvas, centre, axes, 0, *span, colour, 26, cv2.LINE_AA)
