"""A clip read as a multimodal event."""

from pathlib import Path

import pytest

from memory_store.errors import UnknownId
from memory_store.records import VectorSpace
from memory_store.store import MemoryStore
from tests.vectors import axis


def test_an_event_is_a_view_over_the_rows_of_its_clip(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path, [VectorSpace("text", 8, "t"), VectorSpace("face", 128, "f")]) as store:
        with store.transaction():
            clip = store.add_clip(
                source_key="a", source_name="t", start_utc_s=0.0, end_utc_s=30.0, place="kitchen"
            )
            other = store.add_clip(source_key="b", source_name="t", start_utc_s=30.0, end_utc_s=60.0)
            face = store.add_node("face", "", clip_id=clip, start_utc_s=0.0, end_utc_s=5.0)
            store.add_exemplar(face, "face", axis(0), quality=100.0, clip_id=clip)
            person = store.create_person()
            store.bind(person, face)
            lines = [
                store.add_node(
                    "episodic", text, clip_id=clip, start_utc_s=start_s, end_utc_s=end_s,
                    provenance={"source": "grounded", "event": event}, vectors={"text": axis(number, 8)},
                )
                for number, (event, text, start_s, end_s) in enumerate(
                    [("seen", f"<face_{face}> is in view.", 0.0, 5.0), ("heard", f"<face_{face}> says: hi", 1.0, 2.5)]
                )
            ]  # fmt: skip
            for line in lines:
                store.add_edge(line, face, "mentions", detail="actor")
            store.add_node(
                "image",
                "",
                clip_id=clip,
                start_utc_s=1.0,
                end_utc_s=1.0,
                provenance={"file": {"path": "media/1.jpg"}},
            )
            store.add_node("episodic", "elsewhere", clip_id=other, start_utc_s=31.0, end_utc_s=32.0)
        event = store.event(clip)
        assert event.clip.place == "kitchen"
        assert event.modalities == ("video", "audio", "text")
        assert event.entities == (person,)
        assert [node.text for node in event.nodes if node.kind == "episodic"] == [
            f"<face_{face}> is in view.", f"<face_{face}> says: hi",
        ]  # fmt: skip
        assert {(edge.source, edge.target) for edge in event.relations} == {(line, face) for line in lines}
        assert event.stats["person_count"] == event.stats["faces_seen"] == event.stats["utterances"] == 1
        assert event.stats["speech_s"] == pytest.approx(1.5) and event.stats["seen_s"] == pytest.approx(5.0)
        assert event.vectors["text"].shape == (2, 8) and event.vectors["face"].shape == (1, 128)
        assert event.media == ({"path": "media/1.jpg"},)
        assert store.event(other).entities == ()
        with pytest.raises(UnknownId):
            store.event(99)
