"""A made-up household of two days, English and Chinese, with questions: what the tests of answering remember."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from memory_store.records import VectorSpace
from memory_store.store import MemoryStore
from runtime.grounding import content_terms, stem

ZONE = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 29, 18, 0, tzinfo=ZONE).timestamp()  # a Sunday evening


@dataclass(frozen=True)
class Moment:
    """Somebody seen at a local day and clock time, and what they said then, if anything."""

    day: int
    clock: str
    who: str
    said: str = ""
    note: str = ""

    @property
    def utc_s(self) -> float:
        hour, minute = (int(part) for part in self.clock.split(":"))
        return datetime(2026, 11, self.day, hour, minute, tzinfo=ZONE).timestamp()


@dataclass(frozen=True)
class Ask:
    """A question, pieces that a right answer holds (all of them), pieces that it must not hold; none: abstain."""

    question: str
    holds: tuple[str, ...] = ()
    never: tuple[str, ...] = ()


NAMES = ("Anna", "Bob", "Grandma Liu", "小明", "")  # the last one has never been named

DAY = (
    Moment(28, "08:10", "Anna", "I put the car keys in the blue bowl by the door."),
    Moment(28, "08:12", "Bob", "My dentist appointment is on Tuesday at four."),
    Moment(28, "09:30", "Grandma Liu", "我的血压药放在厨房的白色柜子里。"),
    Moment(28, "12:05", "小明", "我明天下午要去学校踢足球。"),
    Moment(28, "15:20", "Bob", "The washing machine is leaking again, we must call the plumber."),
    Moment(28, "19:40", "Anna", "Our flight to Lisbon leaves on the twelfth of December."),
    Moment(29, "08:05", "Grandma Liu", "今天早上我给花浇了水。"),
    Moment(29, "08:30", "Anna", "I really don't like mushrooms on pizza."),
    Moment(29, "09:15", "小明", "我的数学考试得了九十五分。"),
    Moment(29, "10:30", "Bob", "I lent the drill to our neighbour Karl."),
    Moment(29, "11:00", "", "There is a parcel for you from the post office."),
    Moment(29, "13:45", "Grandma Liu", "晚饭我们吃饺子。"),
    Moment(29, "16:10", "Anna", "The wifi password is sunflower seven."),
    Moment(29, "16:12", "Bob", "Thanks, I will write it on the fridge."),
    Moment(29, "17:00", "Anna", note="In view: cup, laptop."),
)

QUESTIONS = (
    # the timeline holds these for certain
    Ask("Who said the washing machine is leaking again?", ("Bob", "15:20")),
    Ask("What did Anna say about the keys?", ("blue bowl",)),
    Ask("What did Bob say yesterday morning?", ("dentist",), ("washing", "drill")),
    Ask("When did you last see Grandma Liu?", ("13:45",)),
    Ask("Who was here yesterday?", ("Anna", "Bob", "Grandma Liu", "小明"), ("person_",)),
    Ask("How many people were here today?", ("5",)),
    Ask("Did you see 小明 this afternoon?", ("No",)),
    Ask("小明今天说了什么？", ("九十五",), ("足球",)),
    Ask("你最后一次看到Bob是什么时候？", ("16:12",)),
    Ask("昨天有几个人来过？", ("4",)),
    Ask("谁说了给花浇了水？", ("Grandma Liu", "08:05")),
    # the model must read these
    Ask("Where are the car keys?", ("blue bowl",)),
    Ask("When is Bob's dentist appointment?", ("Tuesday",)),
    Ask("What is the wifi password?", ("sunflower",)),
    Ask("Who has the drill now?", ("Karl",)),
    Ask("Which food does Anna dislike on pizza?", ("mushroom",)),
    Ask("When does the flight to Lisbon leave?", ("twelfth",)),
    Ask("Who do we need to call because of the leak?", ("plumber",)),
    Ask("Where did the parcel come from?", ("post office",)),
    Ask("血压药放在哪里？", ("柜子",)),
    Ask("小明的数学考试得了多少分？", ("九十五",)),
    Ask("晚饭吃什么？", ("饺子",)),
    Ask("小明什么时候去踢足球？", ("下午",)),
    Ask("Where is Grandma Liu's medicine?", ("柜子",)),
    Ask("车钥匙在哪里？", ("blue bowl",)),
    # nobody ever said these
    Ask("What is the name of the cat?"),
    Ask("How much did the new sofa cost?"),
    Ask("When is Anna's birthday?"),
    Ask("Who broke the window?"),
    Ask("What did Bob say about the garden?"),
    Ask("小明的老师叫什么名字？"),
    Ask("电视机是谁买的？"),
    Ask("What did person_77 say?"),
)


def grounded_text(tag: str, moment: Moment) -> tuple[str, dict[str, str]]:
    """The line that code writes of a moment, and its provenance."""
    if moment.note:
        return moment.note, {"source": "grounded", "event": "objects"}
    if not moment.said:
        return f"{tag} is in view.", {"source": "grounded", "event": "seen"}
    chinese = any("\u4e00" <= character <= "\u9fff" for character in moment.said)
    text = f"{tag}说：“{moment.said}”" if chinese else f'{tag} says: "{moment.said}"'
    return text, {"source": "grounded", "event": "heard", "said": moment.said}


def remember(
    store: MemoryStore, embed: Callable[[list[str]], NDArray[np.float32]], day: Sequence[Moment] = DAY
) -> dict[str, int]:
    """Write the two days into a store as the daemon would; person ids by name ("" for the one without)."""
    persons: dict[str, int] = {}
    faces: dict[str, int] = {}
    with store.transaction():
        for number, moment in enumerate(day):
            start = moment.utc_s
            clip_id = store.add_clip(
                source_key=f"day:{number}", source_name="day", start_utc_s=start, end_utc_s=start + 30
            )
            if moment.who not in persons:
                persons[moment.who] = store.create_person()
                if moment.who:
                    store.name_person(persons[moment.who], moment.who)
                faces[moment.who] = store.add_node(
                    "face", "", clip_id=clip_id, start_utc_s=start, end_utc_s=start + 1
                )
                store.bind(persons[moment.who], faces[moment.who])
            tag = f"<face_{faces[moment.who]}>"
            for part in (moment,) if moment.note else (replace(moment, said=""), moment):
                text, provenance = grounded_text(tag, part)
                node_id = store.add_node(
                    "episodic",
                    text,
                    clip_id=clip_id,
                    start_utc_s=start,
                    end_utc_s=start + 3,
                    provenance=provenance,
                    vectors={"text": embed([part.said or part.note or "somebody is in view"])[0]},
                )
                if not part.note:
                    store.add_edge(node_id, faces[moment.who], "mentions", detail="actor")
    return persons


def embed_words(texts: list[str]) -> NDArray[np.float32]:
    """Vectors of length 1 that share a direction for every content word shared: stands in for the text model."""
    vectors = np.zeros((len(texts), 64), dtype=np.float32)
    for row, text in zip(vectors, texts, strict=True):
        for term in content_terms(text) or ["nothing"]:
            row[zlib.crc32(stem(term).encode()) % 64] += 1.0
    normalised: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return normalised


def open_household(directory: Path, day: Sequence[Moment] = DAY) -> MemoryStore:
    """A memory of the two days, with word vectors and a clock that stands at NOW."""
    store = MemoryStore.open(directory, [VectorSpace("text", 64, "words")], clock=lambda: NOW)
    remember(store, embed_words, day)
    return store
