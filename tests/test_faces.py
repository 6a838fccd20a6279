"""Faces found, aligned, rated and told apart."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from models.errors import ModelError
from models.face_quality import face_quality
from models.faces import FaceBox, FaceDetector, FaceEmbedder, align_face
from tests.pictures import BAD_PICTURES, Image, drawn_face, fetched_model, media, on_canvas

TEMPLATE = np.array([[38.3, 51.7], [73.5, 51.5], [56.0, 71.7], [41.5, 92.4], [70.7, 92.2]], np.float32)
MATCH = 0.50  # the threshold that stands in the manifest


@pytest.fixture(scope="module")
def detector() -> FaceDetector:
    return FaceDetector(fetched_model("yunet"))


@pytest.fixture(scope="module")
def embedder() -> FaceEmbedder:
    return FaceEmbedder(fetched_model("sface"))


def _turned(degrees: float, scale: float, shift: tuple[float, float]) -> NDArray[np.float32]:
    angle = np.deg2rad(degrees)
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return np.asarray(scale * TEMPLATE @ rotation.T + shift, dtype=np.float32)


def _box(landmarks: NDArray[np.float32], width: float = 100.0) -> FaceBox:
    return FaceBox(0.0, 0.0, width, width, 0.9, landmarks)


@pytest.mark.parametrize(("degrees", "scale"), [(0, 1.0), (25, 2.0), (-40, 0.8), (170, 1.5)])
def test_alignment_puts_the_landmarks_on_the_template(degrees: float, scale: float) -> None:
    landmarks = _turned(degrees, scale, (260, 240))
    image = np.zeros((500, 500, 3), np.uint8)
    for x, y in landmarks:
        cv2.circle(image, (round(float(x)), round(float(y))), 4, (255, 255, 255), -1)
    crop = align_face(image, landmarks)
    assert crop.shape == (112, 112, 3)
    assert crop.dtype == np.uint8
    assert all(crop[round(float(y)), round(float(x))].min() > 128 for x, y in TEMPLATE)
    assert (crop > 128).mean() < 0.2


def test_alignment_does_not_mirror() -> None:
    image = np.zeros((300, 300, 3), np.uint8)
    landmarks = _turned(0, 1.0, (80, 80))
    cv2.circle(image, (round(float(landmarks[0, 0])), round(float(landmarks[0, 1]))), 6, (255, 255, 255), -1)
    assert align_face(image, landmarks)[:, :56].sum() > align_face(image, landmarks)[:, 56:].sum()


@pytest.mark.parametrize(
    "landmarks",
    [np.zeros((5, 2)), np.zeros((4, 2)), np.full((5, 2), np.nan)],
    ids=["one point", "four", "nan"],
)
def test_alignment_refuses_bad_landmarks(landmarks: NDArray[np.float32]) -> None:
    with pytest.raises(ModelError, match="landmarks"):
        align_face(np.zeros((50, 50, 3), np.uint8), landmarks)


def test_quality_measures_roll_yaw_width_and_sharpness() -> None:
    crop = align_face(drawn_face(100), _turned(0, 1.0, (24, 20)))
    level, leaning = (face_quality(crop, _box(_turned(degrees, 1.0, (0, 0)), 61.0)) for degrees in (0, 30))
    assert abs(level.roll_deg) < 1
    assert leaning.roll_deg == pytest.approx(30, abs=1)
    assert level.width_px == 61.0
    assert abs(level.yaw) < 0.05
    assert leaning.yaw == pytest.approx(level.yaw, abs=0.01)
    sideways = TEMPLATE.copy()
    sideways[2, 0] += 15
    assert face_quality(crop, _box(sideways)).yaw > 0.7
    blurred = np.asarray(cv2.GaussianBlur(crop, (0, 0), 3), dtype=np.uint8)
    assert face_quality(blurred, _box(TEMPLATE)).sharpness < level.sharpness / 4


@pytest.mark.parametrize(("height", "width", "top", "left"), [(288, 360, 60, 90), (721, 1283, 300, 700)])
def test_a_face_is_found_where_it_is(
    detector: FaceDetector, height: int, width: int, top: int, left: int
) -> None:
    face = drawn_face(100)
    alone = detector.detect(face)
    placed = detector.detect(on_canvas(face, height, width, top, left))
    assert len(alone) == len(placed) == 1
    assert np.abs(placed[0].landmarks - alone[0].landmarks - (left, top)).max() < 5
    assert placed[0].x == pytest.approx(alone[0].x + left, abs=8)
    assert placed[0].width == pytest.approx(alone[0].width, rel=0.15)


def test_two_faces_are_two_and_none_is_none(detector: FaceDetector) -> None:
    canvas = on_canvas(drawn_face(100), 300, 500, 40, 20)
    canvas[60:220, 300:460] = drawn_face(100)
    boxes = detector.detect(canvas)
    assert sorted(box.x > 250 for box in boxes) == [False, True]
    assert all(0.7 <= box.score <= 1 for box in boxes)
    assert detector.detect(np.zeros((240, 320, 3), np.uint8)) == []
    noise = np.random.default_rng(1).integers(0, 256, (240, 320, 3), dtype=np.uint8)
    assert detector.detect(noise) == []


@pytest.mark.parametrize("shape", [(1, 1), (1, 900), (31, 33), (700, 1)])
def test_odd_sizes_are_no_fault(detector: FaceDetector, shape: tuple[int, int]) -> None:
    assert detector.detect(np.zeros((*shape, 3), np.uint8)) == []


def test_a_face_of_eight_pixels_is_found_or_not_but_never_a_fault(
    detector: FaceDetector, embedder: FaceEmbedder
) -> None:
    scene = np.full((480, 640, 3), 128, np.uint8)
    face = cv2.resize(drawn_face(80), (13, 13), interpolation=cv2.INTER_AREA)
    scene[200:213, 300:313] = face
    for picture in (scene, face):
        for box in detector.detect(picture):
            crop = align_face(picture, box.landmarks)
            assert face_quality(crop, box).width_px < 20
            assert np.isfinite(embedder.embed([crop])).all()


@pytest.mark.parametrize("name", BAD_PICTURES)
def test_what_is_no_picture_is_refused(detector: FaceDetector, embedder: FaceEmbedder, name: str) -> None:
    with pytest.raises(ModelError, match="picture"):
        detector.detect(BAD_PICTURES[name])
    with pytest.raises(ModelError, match="picture"):
        embedder.embed([BAD_PICTURES[name]])


def test_embedding_has_length_one_keeps_order_and_wants_crops(embedder: FaceEmbedder) -> None:
    crops = [np.random.default_rng(seed).integers(0, 256, (112, 112, 3), dtype=np.uint8) for seed in (1, 2)]
    vectors = embedder.embed(crops)
    assert vectors.shape == (2, 128)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert embedder.embed(crops[::-1]) == pytest.approx(vectors[::-1], abs=1e-5)
    assert embedder.embed([]).shape == (0, 128)
    with pytest.raises(ModelError, match="112 x 112"):
        embedder.embed([np.zeros((100, 112, 3), np.uint8)])


def test_a_model_file_cut_short_is_named(tmp_path: Path) -> None:
    for entry, kind in (("yunet", FaceDetector), ("sface", FaceEmbedder)):
        directory = tmp_path / entry
        shutil.copytree(fetched_model(entry), directory)
        (file,) = directory.glob("*.onnx")
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        with pytest.raises(ModelError, match=f"{file.name}.*verify"):
            kind(directory)
        file.unlink()
        with pytest.raises(ModelError, match=f"{file.name}.*missing"):
            kind(directory)


def _best_face(detector: FaceDetector, image: Image) -> Image:
    boxes = detector.detect(image)
    assert boxes, "no face was found"
    middle = np.array(image.shape[1::-1]) / 2

    def distance(box: FaceBox) -> float:
        return float(np.hypot(*(box.landmarks.mean(axis=0) - middle)))

    return align_face(image, min(boxes, key=distance).landmarks)


def test_photographs_of_the_same_person_are_closer(detector: FaceDetector, embedder: FaceEmbedder) -> None:
    people = sorted(media("faces/lfw").iterdir())[:6]
    crops = [
        _best_face(detector, np.asarray(cv2.imread(str(photo)), dtype=np.uint8))
        for person in people
        for photo in sorted(person.glob("*.jpg"))[:4]
    ]
    vectors = embedder.embed(crops).reshape(len(people), 4, 128)
    similar = np.einsum("aid,bjd->abij", vectors, vectors)
    for number in range(len(people)):
        others = np.delete(similar[number], number, axis=0)
        assert others.max() < MATCH
        best = [max(similar[number, number, i, j] for j in range(4) if j != i) for i in range(4)]
        assert min(best) > others.max()


def _frames(path: Path, times_s: list[float]) -> Iterator[Image]:
    with av.open(str(path)) as container:
        wanted = iter(times_s)
        time_s = next(wanted)
        for frame in container.decode(video=0):
            if frame.time is not None and frame.time >= time_s:
                yield np.asarray(frame.to_ndarray(format="bgr24"), dtype=np.uint8)
                if (following := next(wanted, None)) is None:
                    return
                time_s = following


def test_thirteen_visitors_are_told_apart(detector: FaceDetector, embedder: FaceEmbedder) -> None:
    segments = json.loads(media("streams/visitors_day1.gt.json").read_text())["segments"]
    middles = [(segment["start_s"] + segment["end_s"]) / 2 for segment in segments]
    crops = [_best_face(detector, frame) for frame in _frames(media("streams/visitors_day1.mp4"), middles)]
    vectors = embedder.embed(crops)
    names = np.array([segment["person"] for segment in segments])
    similar = vectors @ vectors.T
    same = names[:, np.newaxis] == names
    assert len(crops) == 26
    assert similar[~same].max() < MATCH < similar[same].min()
