"""Objects found and named, pictures and objects compared by their looks."""

import shutil
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from models.appearance import AppearanceEmbedder
from models.errors import ModelError
from models.objects import LABELS, ObjectDetector
from tests.pictures import BAD_PICTURES, Image, drawn_face, fetched_model, media


@pytest.fixture(scope="module")
def detector() -> ObjectDetector:
    return ObjectDetector(fetched_model("ssd-mobilenet-v2-coco"))


@pytest.fixture(scope="module")
def embedder() -> AppearanceEmbedder:
    return AppearanceEmbedder(fetched_model("mobilenet-v3-small"))


def _frame(relative: str, time_s: float) -> Image:
    with av.open(str(media(relative))) as container:
        container.seek(int(time_s * 1_000_000))
        for frame in container.decode(video=0):
            if frame.time is not None and frame.time >= time_s:
                return np.asarray(frame.to_ndarray(format="bgr24"), dtype=np.uint8)
    raise AssertionError(f"{relative} ends before {time_s} s")


def test_labels_are_coco_s() -> None:
    assert sum(1 for label in LABELS if label) == 80
    assert [LABELS[number] for number in (1, 44, 47, 62, 84, 90)] == [
        *("person", "bottle", "cup", "chair", "book", "toothbrush")
    ]


def test_a_plain_wall_holds_nothing(detector: ObjectDetector) -> None:
    assert detector.detect(np.full((240, 320, 3), 180, np.uint8)) == []


def test_a_person_is_found_where_they_stand(detector: ObjectDetector) -> None:
    boxes = detector.detect(_frame("video/people_one_by_one_silent.mp4", 80.0))
    (person,) = (box for box in boxes if box.label == "person")
    assert person.score > 0.9
    assert person.x == pytest.approx(0.48 * 768, abs=20)
    assert person.x + person.width == pytest.approx(0.67 * 768, abs=20)
    assert detector.detect(_frame("video/people_one_by_one_silent.mp4", 0.0)) == []


def test_boxes_stay_inside_and_come_best_first(embedder: AppearanceEmbedder) -> None:
    eager = ObjectDetector(fetched_model("ssd-mobilenet-v2-coco"), score_threshold=0.02)
    boxes = eager.detect(drawn_face(150))
    assert len(boxes) > 1
    assert [box.score for box in boxes] == sorted((box.score for box in boxes), reverse=True)
    for box in boxes:
        assert box.label in LABELS
        assert box.label
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width <= 240.001
        assert box.y + box.height <= 240.001
    assert eager.detect(drawn_face(150)) == boxes


@pytest.mark.parametrize("name", BAD_PICTURES)
def test_what_is_no_picture_is_refused(
    detector: ObjectDetector, embedder: AppearanceEmbedder, name: str
) -> None:
    with pytest.raises(ModelError, match="picture"):
        detector.detect(BAD_PICTURES[name])
    with pytest.raises(ModelError, match="picture"):
        embedder.embed([BAD_PICTURES[name]])


def test_a_graph_cut_short_or_missing_is_named(tmp_path: Path) -> None:
    directory = tmp_path / "ssd"
    shutil.copytree(fetched_model("ssd-mobilenet-v2-coco"), directory)
    graph = directory / "frozen_inference_graph.pb"
    graph.write_bytes(graph.read_bytes()[:1_000_000])
    with pytest.raises(ModelError, match=r"frozen_inference_graph\.pb.*verify"):
        ObjectDetector(directory)
    graph.unlink()
    with pytest.raises(ModelError, match=r"frozen_inference_graph\.pb.*missing"):
        ObjectDetector(directory)


def test_looks_survive_light_and_size_but_not_another_thing(embedder: AppearanceEmbedder) -> None:
    face = drawn_face(150)
    brighter = np.asarray(cv2.convertScaleAbs(face, alpha=1.1, beta=5), dtype=np.uint8)
    smaller = np.asarray(cv2.resize(face, None, fx=0.7, fy=0.7), dtype=np.uint8)
    stripes = np.zeros((200, 200, 3), np.uint8)
    stripes[::8] = (20, 200, 60)
    vectors = embedder.embed([face, brighter, smaller, stripes])
    assert vectors.shape == (4, 576)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    similar = vectors @ vectors[0]
    assert similar[1:3].min() > 0.9
    assert similar[3] < 0.7
    assert embedder.embed([]).shape == (0, 576)
