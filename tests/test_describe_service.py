"""The describe service: the database is its queue, a model's failure costs one clip's model lines and no more."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np
import pytest

from drivers.sound_file import encode_flac
from memory_store.records import VectorSpace
from memory_store.store import MemoryStore
from models.errors import ModelError
from models.language import LanguageModel, Message
from models.language_process import LanguageProcess
from runtime.binding import MODEL_VOTE, MOST_MODEL_VOTES
from runtime.describe import Describer
from runtime.describe_service import DescribedClip, DescribeService
from runtime.facts import FactLearner
from runtime.media_files import MediaFiles, keyframe_name, sound_name
from runtime.workers import Worker
from tests.scripted_language import ScriptedLanguage
from tests.tiny_omni import write_mmproj, write_text_model
from tests.vectors import axis

REPLY = '{"event": "<face_1> puts the keys in the bowl"}\n{"fact": "<face_1> has the keys"}\n'


def _embed(texts: Sequence[str]) -> np.ndarray:
    """The same text, the same vector; other texts are far away."""
    return np.stack([axis(sum(map(ord, text)) % 100, 128) for text in texts])


class Household:
    """A memory with one person, and clips in which she says something."""

    def __init__(self, directory: Path) -> None:
        self.store = MemoryStore.open(directory, [VectorSpace("text", 128, "t")])
        self.files = MediaFiles(directory)
        self.described: list[DescribedClip] = []
        with self.store.transaction():
            first = self._add_clip(0)
            face = self.store.add_node("face", "", clip_id=first, start_utc_s=0.0, end_utc_s=1.0)
            assert face == 1
            self.store.bind(self.store.create_person(), face)
            self._add_line(first)

    def _add_clip(self, number: int) -> int:
        return self.store.add_clip(
            source_key=f"k{number}", source_name="t", start_utc_s=30.0 * number, end_utc_s=30.0 * number + 30
        )

    def _add_line(self, clip_id: int) -> None:
        self.store.add_node(
            "episodic", '<face_1> says: "I put the keys in the bowl, the bowl has the keys"', clip_id=clip_id,
            start_utc_s=1.0, end_utc_s=2.0, provenance={"source": "grounded", "event": "heard"},
        )  # fmt: skip

    def add_clip(self, number: int) -> None:
        with self.store.transaction():
            self._add_line(self._add_clip(number))

    def describe(self, language: LanguageModel, *, senses: bool = False) -> DescribeService:
        workers = [Worker("store"), Worker("language")]
        service = DescribeService(
            self.store, workers[0], Describer(language, sees=senses, hears=senses), workers[1], self.files, _embed,
            same_fact=0.9, same_event=0.5, facts=FactLearner(self.store, _embed, 0.975), with_media=senses,
            on_described=self.described.append,
        )  # fmt: skip
        service.no_more_clips()
        try:
            asyncio.run(asyncio.wait_for(service.run(), 60))
        finally:
            for worker in workers:
                worker.close()
        return service

    def texts(self, kind: str) -> list[str]:
        nodes = self.store.nodes(kinds=[kind])  # type: ignore[list-item]
        return [node.text for node in nodes if node.provenance["source"] == "model"]


@pytest.fixture
def household(tmp_path: Path) -> Iterator[Household]:
    home = Household(tmp_path)
    yield home
    home.store.close()


def _states(home: Household) -> list[str]:
    return [clip.state for clip in home.store.clips()]


def test_a_clip_that_was_corrected_meanwhile_is_read_anew(household: Household) -> None:
    """A forgotten person does not come back with what the model was writing about them."""
    household.add_clip(1)
    asked: list[str] = []

    def reply(messages: Sequence[Message]) -> str:
        asked.append(messages[-1].content)
        if len(asked) == 1:
            household.store.forget_person(1)
        return REPLY

    household.describe(ScriptedLanguage(reply))
    assert len(asked) == 1 and household.texts("episodic") == household.texts("semantic") == []
    assert _states(household) == ["described", "described"]
    assert household.store.people() == []


def test_lines_are_added_with_their_source_and_the_clip_is_done(household: Household) -> None:
    household.describe(ScriptedLanguage([REPLY], name="scripted"))
    assert household.texts("episodic") == ["<face_1> puts the keys in the bowl"]
    (fact,) = household.store.nodes(kinds=["semantic"])
    assert fact.provenance["model"] == "scripted"
    assert _states(household) == ["described"]
    assert household.described[0].lines[0].startswith("person_1 puts")


def test_a_described_clip_is_not_described_again(household: Household) -> None:
    household.describe(ScriptedLanguage([REPLY]))
    again = ScriptedLanguage([REPLY])
    household.describe(again)
    assert again.calls == [] and len(household.texts("episodic")) == 1


def test_the_same_fact_of_another_clip_gains_weight(household: Household) -> None:
    household.add_clip(1)
    household.describe(ScriptedLanguage([REPLY, REPLY]))
    (fact,) = household.store.nodes(kinds=["semantic"])
    assert fact.weight == 2 and len(household.store.clips_of(fact.id)) == 2
    assert sum(clip.reinforced for clip in household.described) == 1


def test_a_failing_model_costs_one_clip_and_is_told(household: Household) -> None:
    household.add_clip(1)
    replies: list[str | ModelError] = [ModelError("the model's process died"), REPLY]
    service = household.describe(ScriptedLanguage(replies))
    assert _states(household) == ["description_failed", "described"]
    assert "died" in household.described[0].failed
    assert (service.counts["clips"], service.counts["failed"]) == (2, 1)


def test_what_cannot_be_read_is_kept_and_flagged(household: Household) -> None:
    household.describe(ScriptedLanguage(["I am sorry, I can't help with that."]))
    assert _states(household) == ["description_failed"]
    (node,) = [node for node in household.store.nodes(kinds=["episodic"]) if node.provenance.get("broken")]
    assert "sorry" in node.provenance["raw"]


def test_after_a_restart_waiting_clips_are_still_there(household: Household, tmp_path: Path) -> None:
    household.store.close()
    household.store = MemoryStore.open(tmp_path, [VectorSpace("text", 128, "t")])
    household.describe(ScriptedLanguage([REPLY]))
    assert _states(household) == ["described"]


def test_a_model_with_senses_is_given_the_pictures_and_the_sound(household: Household) -> None:
    _add_media(household)
    language = ScriptedLanguage([REPLY])
    household.describe(language, senses=True)
    asked: Message = language.calls[0].messages[-1]
    assert len(asked.images) == 1 and asked.images[0].startswith(b"\xff\xd8")
    assert len(asked.audio) == 1 and asked.audio[0].shape == (16000,)


def test_a_tiny_omni_model_describes_a_clip_in_its_own_process(household: Household, tmp_path: Path) -> None:
    """Random weights write nonsense; what is proved is that pictures and sound go all the way through."""
    _add_media(household)
    model = write_text_model(tmp_path / "tiny.gguf")
    language = LanguageProcess(model, mmproj_path=write_mmproj(tmp_path / "mmproj.gguf"), context_tokens=4096)
    try:
        service = household.describe(language, senses=True)
    finally:
        language.close()
    assert household.described[0].failed in ("", "the model's answer could not be read"), household.described
    assert service.counts["asked"] == 1
    assert service.counts["prompt_tokens"] > 750, "one second of sound alone takes 750 tokens"


def test_an_event_that_the_model_sees_go_on_is_one_memory(household: Household) -> None:
    for number in (1, 2, 3):
        household.add_clip(number)
    for clip_id in (1, 2, 3, 4):
        _add_media(household, clip_id)
    replies = [
        '{"event": "<face_1> is cooking pasta"}', '{"event": "<face_1> is cooking pasta"}',
        '{"event": "<face_1> is not cooking pasta"}', '{"event": "<face_1> is cooking pasta"}',
    ]  # fmt: skip
    household.describe(ScriptedLanguage(replies), senses=True)
    cooking, not_cooking, again = [
        node for node in household.store.nodes(kinds=["episodic"]) if node.provenance["source"] == "model"
    ]
    assert [span.clip_id for span in household.store.spans(cooking.id)] == [1, 2]
    assert (cooking.start_utc_s, cooking.end_utc_s, cooking.weight) == (0.0, 60.0, 2.0)
    assert not_cooking.text == "<face_1> is not cooking pasta" and again.start_utc_s == 90.0


def test_what_was_said_twice_stays_two_memories(household: Household) -> None:
    household.add_clip(1)
    household.describe(ScriptedLanguage([REPLY, REPLY]))
    assert household.texts("episodic") == ["<face_1> puts the keys in the bowl"] * 2


def _add_voice(home: Household, clip_id: int) -> int:
    """A voice of its own person, which says something in the clip."""
    with home.store.transaction():
        voice = home.store.add_node("voice", "", clip_id=clip_id, start_utc_s=0.0, end_utc_s=1.0)
        home.store.bind(home.store.create_person(), voice)
    _say(home, clip_id, voice)
    return voice


def _say(home: Household, clip_id: int, voice: int) -> None:
    with home.store.transaction():
        home.store.add_node(
            "episodic", f'<voice_{voice}> says: "The soup is hot"', clip_id=clip_id, start_utc_s=3.0, end_utc_s=4.0,
            provenance={"source": "grounded", "event": "heard"},
        )  # fmt: skip


def test_an_equivalence_is_a_hint_that_moves_nobody(household: Household) -> None:
    voice = _add_voice(household, 1)
    hint = f'{{"equivalence": ["<face_1>", "<voice_{voice}>"]}}\n'
    household.describe(ScriptedLanguage([REPLY + hint]))
    (edge,) = [edge for edge in household.store.edges(voice) if edge.relation == "equivalence"]
    assert (edge.source, edge.target, edge.detail) == (1, voice, "model")
    assert len(household.store.people()) == 2 and household.store.votes() == {(1, voice): MODEL_VOTE}


def test_an_equivalence_said_in_every_clip_stays_a_weak_vote(household: Household) -> None:
    voice = _add_voice(household, 1)
    hint = f'{{"equivalence": ["<face_1>", "<voice_{voice}>"]}}\n'
    for number in range(1, 8):
        household.add_clip(number)
        _say(household, number + 1, voice)
    service = household.describe(ScriptedLanguage([REPLY + hint] * 8))
    assert household.store.votes() == {(1, voice): MOST_MODEL_VOTES} and service.counts["hints"] == 4
    assert len(household.store.people()) == 2


def test_equivalences_of_the_absent_and_of_those_known_apart_are_refused_and_counted(
    household: Household,
) -> None:
    voice = _add_voice(household, 1)
    with household.store.transaction():
        household.store.add_edge(1, voice, "cannot_link")
    hint = f'{{"equivalence": ["<face_1>", "<voice_{voice}>"]}}\nEquivalence: <face_9>, <voice_{voice}>\n'
    service = household.describe(ScriptedLanguage([REPLY + hint]))
    assert household.store.votes() == {} and service.counts["hints_refused"] == 2


def test_an_answer_that_can_be_read_in_part_is_kept_beside_its_lines(household: Household) -> None:
    household.describe(ScriptedLanguage([f'{{"fact": [[[[[[[[[[[[\ud800\0}}\n{REPLY}']))
    assert household.texts("episodic") == ["", "<face_1> puts the keys in the bowl"] or household.texts(
        "episodic"
    ) == ["<face_1> puts the keys in the bowl", ""]
    assert _states(household) == ["described"] and household.store.search_node(text="fact [[[") == []
    assert household.store.stats()["model_answers_unreadable"] == 0


def test_an_answer_that_cannot_be_read_is_counted_and_not_found(household: Household) -> None:
    household.describe(ScriptedLanguage(["The submarine \ud800 is yellow\0."]))
    stats = household.store.stats()
    assert (stats["model_answers_unreadable"], stats["clips_not_described"]) == (1, 1)
    assert all(row.text for row in household.store.timeline())
    assert household.store.search_node(text="submarine") == []


def _add_media(home: Household, clip_id: int = 1) -> None:
    picture = np.random.default_rng(0).integers(0, 255, (112, 112, 3), dtype=np.uint8)
    jpeg = bytes(cv2.imencode(".jpg", picture)[1])
    write: Callable[[str, bytes], object] = home.files.write
    write(sound_name(clip_id), encode_flac(np.zeros(16000, dtype=np.float32), 16000))
    file = home.files.write(keyframe_name(clip_id, 0), jpeg)
    with home.store.transaction():
        home.store.add_node(
            "image", "", clip_id=clip_id, start_utc_s=1.0, end_utc_s=1.0,
            provenance={"source": "keyframe", "file": file.as_provenance()},
        )  # fmt: skip
