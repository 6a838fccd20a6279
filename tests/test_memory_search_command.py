"""`hearsight memory search`: filters, words, a picture and a sound as the query, and what is refused."""

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from memory_store import MemoryStore, VectorSpace
from models.appearance import AppearanceEmbedder
from models.manifest import Manifest
from runtime.cli import main
from tests.memory_samples import SATURDAY_UTC_S, add_clip, add_line
from tests.pictures import fetched_model
from tests.recordings import SHARED_MEDIA

LFW = SHARED_MEDIA / "faces" / "lfw"
LIBRISPEECH = SHARED_MEDIA / "speech" / "librispeech"


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    directory = tmp_path / "memory"
    with MemoryStore.open(directory, [VectorSpace("text", 8, "made-up")]) as store, store.transaction():
        clips = [add_clip(store, number, place=place) for number, place in enumerate(("kitchen", "hall"))]
        add_line(store, "The kettle whistles.", clips[0])
        line = add_line(store, "The cup stands here.", clips[1])
        span = {"clip_id": clips[1], "start_utc_s": SATURDAY_UTC_S, "end_utc_s": SATURDAY_UTC_S}
        cup = store.add_node("object", "", provenance={"class": "cup"}, **span)  # type: ignore[arg-type]
        store.add_edge(line, cup, "mentions")
    return directory


def search(memory: Path, capsys: pytest.CaptureFixture[str], *arguments: object) -> list[dict[str, Any]]:
    capsys.readouterr()
    status = main(["memory", "search", *map(str, arguments), "--data-dir", str(memory), "--json"])
    printed = capsys.readouterr()
    assert status == 0, printed
    found: list[dict[str, Any]] = json.loads(printed.out)
    return found


def test_filters_alone_give_the_latest(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def texts(*arguments: object) -> list[str]:
        return [hit["text"] for hit in search(memory, capsys, *arguments)]

    assert texts("--place", "Kitchen") == ["The kettle whistles."]
    assert texts("--class", "cup", "--kind", "episodic") == ["The cup stands here."]
    assert texts("--before-clip", 2) == texts("--clip", 1) == ["The kettle whistles."]
    assert texts("--after", "2200-01-01") == []
    assert len(texts("--k", 2)) == 2


def test_the_lines_tell_of_things_without_text(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "search", "--kind", "object", "--data-dir", str(memory)]) == 0
    assert capsys.readouterr().out.rstrip().endswith("object    cup")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--k", "0"], "from 1 to 1000"),
        ([" "], "words to look for are empty"),
        (["--person", "Nobody"], "nobody is called"),
        (["--before-clip", "99"], "no clip 99"),
        (["--after", "soon"], "--after"),
        (["--picture", "missing.jpg"], "missing.jpg"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    memory: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["memory", "search", *arguments, "--data-dir", str(memory)]) == 1
    assert words in capsys.readouterr().err


def test_words_find_by_meaning(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fetched_model("multilingual-e5-small")
    (hit,) = search(memory, capsys, "Does the kettle whistle?")
    assert hit["text"] == "The kettle whistles." and hit["matched_by"] == ["text"]


def test_a_picture_and_a_sound_find_who_they_are_of(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for model in ("yunet", "sface", "silero-vad", "campplus-zh-en"):
        fetched_model(model)
    if not LFW.is_dir() or not LIBRISPEECH.is_dir():
        pytest.skip(f"the shared recordings are not here: {SHARED_MEDIA}")
    photos = [sorted(person.iterdir()) for person in sorted(LFW.iterdir())[:2]]
    voices = [sorted(speaker.rglob("*.flac")) for speaker in sorted(LIBRISPEECH.iterdir())[:2]]
    ids = []
    for name, shown, heard in zip(("Anna", "Bob"), photos, voices, strict=True):
        enrol = ["people", "enroll", name, "--photo", str(shown[0]), "--voice", str(heard[0])]
        assert main([*enrol, "--data-dir", str(memory), "--json"]) == 0
        ids.append(json.loads(capsys.readouterr().out)["person"])
    for person, shown, heard in zip(ids, photos, voices, strict=True):
        best = search(memory, capsys, "--picture", shown[1], "--kind", "face", "--k", 1)[0]
        assert f"face_{best['id']}" in person["faces"]
        best = search(memory, capsys, "--sound", heard[1], "--kind", "voice", "--k", 1)[0]
        assert f"voice_{best['id']}" in person["voices"]


def test_a_picture_without_a_face_finds_the_pictures_that_look_like_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fetched_model("yunet")
    embedder = AppearanceEmbedder(fetched_model("mobilenet-v3-small"))
    entry = Manifest.load().default("appearance")
    rooms = [_room(seed) for seed in range(4)]
    spaces = [VectorSpace("image", entry.dimension, entry.id)]
    with MemoryStore.open(tmp_path, spaces) as store, store.transaction():
        clips = [add_clip(store, number) for number in range(len(rooms))]
        images = [
            store.add_node(
                "image", "", clip_id=clip, start_utc_s=SATURDAY_UTC_S, end_utc_s=SATURDAY_UTC_S,
                vectors={"image": vector}, provenance={"file": {"path": f"media/{clip}.jpg"}},
            )
            for clip, vector in zip(clips, embedder.embed(rooms), strict=True)
        ]  # fmt: skip
    for room, image, clip in zip(rooms[:2], images, clips, strict=False):
        asked = tmp_path / "asked.png"
        cv2.imwrite(str(asked), cv2.resize(room[8:-8, 12:-4], None, fx=0.8, fy=0.8) // 10 * 9)
        best, second, *_ = search(tmp_path, capsys, "--picture", asked)
        assert (best["id"], best["clip"]) == (image, clip)
        assert best["similarity"] > second["similarity"]
        (only,) = search(tmp_path, capsys, "--picture", asked, "--before-clip", clips[1])
        assert only["id"] == images[0]


def _room(seed: int) -> np.ndarray:
    """A picture of flat patches in which no face is found."""
    patches = np.random.default_rng(seed).integers(30, 255, (3, 5, 3), dtype=np.uint8)
    return np.asarray(cv2.resize(patches, (320, 192), interpolation=cv2.INTER_NEAREST), np.uint8)
