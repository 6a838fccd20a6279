"""Questions with a picture or a sound: who or what it is, the gates, what is refused, and that nothing is kept."""

from __future__ import annotations

import os
import wave
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from memory_store.store import MemoryStore
from models.manifest import Manifest
from runtime import compose
from runtime.answer import Answer
from runtime.answering import Asked
from runtime.compose_enroll import match_rules
from runtime.compose_shown import senses, shown_reader
from runtime.config import PrivacySettings, Settings
from runtime.control import Control
from runtime.conversation import Conversations
from runtime.enroll import Sample, enroll
from runtime.media_files import MediaFiles
from runtime.media_query import picture_query, sound_query
from runtime.object_views import distinct, look_at
from runtime.question import read_question
from runtime.question_time import Household
from runtime.recall import Recall
from runtime.say import Speech
from runtime.shown import Shown
from runtime.shown_answers import answer_about_shown
from runtime.shown_question import ShownAsked, read_shown_question
from runtime.shown_reader import ShownError
from tests.household import NOW, ZONE
from tests.pictures import fetched_model
from tests.recordings import SHARED_MEDIA
from tests.vectors import axis

LFW = SHARED_MEDIA / "faces" / "lfw"
LIBRISPEECH = SHARED_MEDIA / "speech" / "librispeech"
MODELS = ("yunet", "sface", "silero-vad", "campplus-zh-en", "ssd-mobilenet-v2-coco", "mobilenet-v3-small")


class Home:
    """Anna, Bob and the twins Tim and Tom, by a photo and a recording each; Anna was seen at 10 and heard at 11."""

    def __init__(self, parts: compose.Parts, store: MemoryStore) -> None:
        self.store, self.senses, self.reader = store, senses(parts), shown_reader(parts)
        self.photos = [sorted(person.iterdir()) for person in sorted(LFW.iterdir())[:4]]
        self.voices = [sorted(speaker.rglob("*.flac")) for speaker in sorted(LIBRISPEECH.iterdir())[:4]]
        files, rules = MediaFiles(parts.settings.data_dir), match_rules(parts)
        for name, number in (("Anna", 0), ("Bob", 1), ("Tim", 2), ("Tom", 2)):
            photo, voice = self.photos[number], self.voices[number]
            samples = [
                Sample("face", picture_query(parts, photo[0], ()).vector, 100.0, photo[0]),
                Sample("voice", sound_query(parts, voice[0]).vector, 5.0, voice[0]),
            ]
            enroll(store, files, samples, name=name, person=None, rules=rules, now_utc_s=NOW - 9e5)
        self.anna = next(person for person in store.people() if person.name == "Anna")
        self._remember(f"<face_{self.anna.face_ids[0]}> is in view.", "seen", NOW - 8 * 3600)
        said = f'<voice_{self.anna.voice_ids[0]}> says: "The keys are in the bowl."'
        self._remember(said, "heard", NOW - 7 * 3600)

    def _remember(self, text: str, event: str, at_s: float) -> None:
        with self.store.transaction():
            clip = self.store.add_clip(
                source_key=event, source_name="day", start_utc_s=at_s, end_utc_s=at_s + 30
            )
            line = self.store.add_node(
                "episodic", text, clip_id=clip, start_utc_s=at_s, end_utc_s=at_s + 3,
                provenance={"source": "grounded", "event": event},
            )  # fmt: skip
            node = int(text[text.index("_") + 1 : text.index(">")])
            self.store.add_edge(line, node, "mentions", detail="actor")

    def know(self, image: NDArray[np.uint8]) -> None:
        """Remember the cup of a picture, and one keyframe that shows it."""
        views, _ = look_at(self.senses.looks(), image, distinct(self.senses.objects().detect(image)))
        cup = next(view for view in views if view.box.label == "cup")
        at_s = NOW - 6 * 3600
        with self.store.transaction():
            clip = self.store.add_clip(
                source_key="cup", source_name="day", start_utc_s=at_s, end_utc_s=at_s + 30, place="hall"
            )
            when = {"clip_id": clip, "start_utc_s": at_s, "end_utc_s": at_s}
            node = self.store.add_node("object", "cup", provenance={"class": "cup"}, **when)
            self.store.add_exemplar(node, "object", cup.vector, quality=1.0, clip_id=clip)
            told = {
                "id": node,
                "class": "cup",
                "box": [0, 0, 1, 1],
                "spot": {"relation": "on", "anchor": "dining table"},
            }
            file = {"path": "media/clips/1.jpg", "sha256": "", "bytes": 1}
            shows = {"source": "keyframe", "objects": [told], "file": file}
            image_id = self.store.add_node("image", "", provenance=shows, **when)
            self.store.add_edge(image_id, node, "mentions", detail="in_view")

    def ask(self, text: str, privacy: PrivacySettings | None = None, **media: bytes) -> Answer:
        control = Control(
            Recall(self.store, lambda texts: np.stack([axis(1, 384) for _ in texts])),
            None,
            clock=lambda: NOW,
            zone=ZONE,
        )
        talks = Conversations(control, self.store, Household(ZONE), lambda: NOW, privacy, self.reader)
        return talks.answer(Asked(text, **media))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    for model in MODELS:
        fetched_model(model)
    if not LFW.is_dir() or not LIBRISPEECH.is_dir():
        pytest.skip(f"the shared recordings are not here: {SHARED_MEDIA}")
    settings = Settings(data_dir=tmp_path_factory.mktemp("memory"))
    parts = compose.Parts(settings, Manifest.load())
    with compose.open_store(parts) as store:
        yield Home(parts, store)


def _jpeg(image: NDArray[np.uint8]) -> bytes:
    return bytes(cv2.imencode(".jpg", image)[1])


def _beside(*paths: Path) -> bytes:
    """Photos of one height beside each other."""
    return _jpeg(np.hstack([np.asarray(cv2.imread(str(path)), np.uint8) for path in paths]))


def _wav(samples: NDArray[np.float32]) -> bytes:
    buffer = BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())
    return buffer.getvalue()


def test_who_is_in_a_picture_is_said_with_when_they_were_last_met(home: Home) -> None:
    before = home.store.stats()["nodes"], len(home.store.exemplars("face"))
    answer = home.ask("Who is this?", picture=home.photos[0][1].read_bytes())
    assert answer.text == "This is Anna. I last saw Anna today at 10:00."
    assert answer.method == "computed" and answer.persons == ("Anna",) and len(answer.evidence) == 1
    assert any(note.startswith("In the picture: Anna (likeness 0.") for note in answer.notes)
    assert home.ask("这是谁？", picture=home.photos[1][3].read_bytes()).text.startswith("这是Bob。")
    stranger = home.ask("Who is this?", picture=home.photos[3][0].read_bytes())
    assert stranger.abstained and stranger.text == "I do not know this person."
    twin = home.ask("Who is this?", picture=home.photos[2][1].read_bytes())
    assert twin.abstained and twin.text == "I am not sure who this is; it may be Tim."
    assert (home.store.stats()["nodes"], len(home.store.exemplars("face"))) == before, "nothing is learned"


@pytest.mark.parametrize(
    ("question", "begins"),
    [
        ("When was she here last?", "I last saw Anna today at 10:00."),
        ("When did you last see this person?", "I last saw Anna today at 10:00."),
        ("What did she say today?", 'Anna said: "The keys are in the bowl."'),
        ("她上次什么时候来的？", "我最后一次看到Anna是今天10:00"),
    ],
)
def test_she_is_whom_the_picture_shows(home: Home, question: str, begins: str) -> None:
    answer = home.ask(question, picture=home.photos[0][1].read_bytes())
    assert answer.text.startswith(begins) and answer.about == (home.anna.id,)


def test_whose_voice_it_is(home: Home) -> None:
    answer = home.ask("Who said this?", sound=home.voices[0][1].read_bytes())
    assert answer.text == "This is Anna's voice. I last heard Anna today at 11:00."
    assert home.ask("这是谁的声音？", sound=home.voices[3][1].read_bytes()).text == "我不认识这个声音。"


def test_several_faces_are_told_from_left_to_right_and_she_may_be_none_of_them(home: Home) -> None:
    both = _beside(home.photos[1][3], home.photos[3][0], home.photos[0][1])
    assert home.ask("Who is that?", picture=both).text == (
        "From left to right I see Bob, somebody I do not know and Anna."
    )
    answer = home.ask("When was she here last?", picture=both)
    assert answer.abstained and answer.text.startswith("I see 3 faces in the picture")


def test_what_shows_nobody_is_said_so(home: Home) -> None:
    grey, tiny = np.full((200, 200, 3), 120, np.uint8), cv2.imread(str(home.photos[0][1]))
    assert home.ask("Who is this?", picture=_jpeg(grey)).text == "I see no face in the picture."
    scene = np.full((480, 640, 3), 120, np.uint8)
    scene[200:226, 300:326] = cv2.resize(np.asarray(tiny)[30:130, 30:130], (26, 26))
    assert home.ask("Who is this?", picture=_jpeg(scene)).text in (
        "The face is too small or too blurred for me to tell who it is.",
        "I see no face in the picture.",
    )
    silence = _wav(np.zeros(32000, np.float32))
    assert (
        home.ask("Who said this?", sound=silence).text
        == "I hear too little speech to tell whose voice it is."
    )
    assert "no thing" in home.ask("Where did I last see this?", picture=_jpeg(grey)).text


@pytest.mark.parametrize(
    ("media", "said"),
    [
        ({"picture": b"Milk, bread, eggs"}, "the picture is no photo"),
        ({"picture": b""}, "the picture is empty"),
        ({"picture": bytes(50_000_000)}, "50000000 bytes, and the most is"),
        ({"sound": bytes(50_000_000)}, "50000000 bytes, and the most is"),
        ({"sound": b"Milk, bread, eggs"}, "the sound"),
        ({"picture": b"x", "sound": b"x"}, "not both"),
    ],
)
def test_what_is_no_picture_or_sound_is_refused(home: Home, media: dict[str, bytes], said: str) -> None:
    with pytest.raises(ShownError, match=said) as raised:
        home.ask("Who is this?", **media)
    assert "/proc" not in str(raised.value)


def test_a_picture_that_is_cut_off_or_too_large_is_refused(home: Home) -> None:
    whole = home.photos[0][1].read_bytes()
    with pytest.raises(ShownError, match="only part of one"):
        home.ask("Who is this?", picture=whole[: len(whole) // 2])
    large = bytes(cv2.imencode(".png", np.zeros((9000, 9000), np.uint8))[1])
    with pytest.raises(ShownError, match="more than 64 million pixels"):
        home.ask("Who is this?", picture=large)


def test_whom_nothing_is_told_no_face_is_named_to(home: Home) -> None:
    answer = home.ask("Who is this?", PrivacySettings(typed="none"), picture=home.photos[0][1].read_bytes())
    assert "Anna" not in f"{answer.text} {answer.notes}" and answer.abstained


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("Who's that man in the picture?", "identity"), ("Do you know her?", "identity"),
        ("Can you tell me who this is?", "identity"), ("照片里是谁", "identity"), ("你认识她吗？", "identity"),
        ("What did he say about the keys?", "person"), ("这个人昨天来过吗", "person"),
        ("Where did I last see this?", "thing"), ("Whose is this?", "thing"), ("这是谁的？", "thing"),
        ("Who is this cup from?", "thing"), ("它在哪里", "thing"),
        ("Where are my keys?", "nothing"), ("What is in this picture?", "nothing"),
    ],
)  # fmt: skip
def test_what_is_asked_of_a_picture(question: str, about: str) -> None:
    assert read_shown_question(question, "picture").about == about


def test_of_several_things_one_must_be_named(home: Home) -> None:
    question = read_question("Where is this?", [], lambda _: None, NOW, ZONE)
    shown, asked = Shown("picture", (), ("cup", "book")), ShownAsked("thing")
    answer = answer_about_shown(home.store, question, shown, asked, Speech("en", ZONE, NOW))
    assert answer is not None and "several things (cup and book)" in answer.text and not answer.confidence


def test_where_the_thing_in_a_picture_was_seen(home: Home) -> None:
    coffee = Path(os.environ.get("HEARSIGHT_CACHE", "~/.cache/hearsight")).expanduser() / "demo/coffee.png"
    if not coffee.is_file():
        pytest.skip("the demo scene's pictures are not fetched: run `make demo`")
    data, image = coffee.read_bytes(), np.asarray(cv2.imread(str(coffee)), np.uint8)
    assert home.ask("Where did I last see this?", picture=data).text == "I do not know this cup."
    home.know(image)
    answer = home.ask("Where did I last see this?", picture=data)
    assert answer.text.startswith("I last saw the cup on the dining table (hall), today at 12:00.")
    assert [picture.file for picture in answer.pictures] == ["media/clips/1.jpg"]
    assert home.ask("Who is this?", picture=data).text == "I see no face in the picture."
