"""Pictures and sound on their way into training rows: to a model of one's own, and of a real video."""

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from offline_tools.chatml import Row, read_rows
from offline_tools.chosen_model import open_model
from offline_tools.synthesize.__main__ import main
from offline_tools.synthesize.annotate import Annotators, StageFailed, annotate
from offline_tools.synthesize.material import Material, Sound
from tests.chat_server import Reply, chat_server, said
from tests.recordings import SHARED_MEDIA, picture, tone
from tests.remembered import made_up
from tests.tiny_omni import write_mmproj, write_text_model

pytest.importorskip("networkx", reason="needs the training extra: make setup-training")
pytestmark = pytest.mark.training


def test_an_omni_model_of_ones_own_is_asked_with_pictures_and_sound(tmp_path: Path) -> None:
    """A tiny random one: it takes the media, and what it writes within the grammar is nonsense, named as such."""
    write_text_model(tmp_path / "tiny.gguf")
    write_mmproj(tmp_path / "eyes.gguf")
    language = open_model(f"{tmp_path / 'tiny.gguf'},{tmp_path / 'eyes.gguf'}", threads=1)
    told = made_up([(0, 4, 1)], [(0, 4, 2)])
    jpeg = cv2.imencode(".jpg", np.ascontiguousarray(picture(3, 112, 112)))[1].tobytes()
    sound = Sound(0.0, tone(4))
    material = Material(told, (jpeg,), (), sound, {}, {})
    try:
        models = Annotators(language, language, language, True, True, max_tokens=40)
        with pytest.raises(StageFailed, match=r"(captions|episodic|semantic \(\w+\)): tiny wrote"):
            annotate(material, models, {})
        deaf = Annotators(None, open_model(f"{tmp_path / 'tiny.gguf'}", threads=1), language, True, True)
        with pytest.raises(StageFailed, match=r"episodic: .*picture"):
            annotate(material, deaf, {})
        deaf.merge.close()
    finally:
        language.close()


@pytest.mark.timeout(300)
@pytest.mark.skipif(
    not (SHARED_MEDIA / "streams/visitors_day1.mp4").exists(), reason="the shared media folder is not here"
)
def test_the_rows_of_a_real_video(tmp_path: Path) -> None:
    """Captions, pictures and sound go to the models; the rows have video, sound, faces and voices that decode."""
    asked: list[dict[str, Any]] = []

    def answered(body: dict[str, Any]) -> Reply:
        asked.append(body)
        if len(body["messages"]) == 1:
            return said("A person looks into the camera.")
        parts = body["messages"][-1]["content"]
        tag = parts[-1]["text"].partition("<face_")[2].partition(">")[0]
        key = "event" if "what happened" in body["messages"][0]["content"] else "fact"
        return said(json.dumps({key: f"<face_{tag}> reads code words into the camera."}))

    out = tmp_path / "rows.jsonl"
    with chat_server(answered) as server:
        arguments = ["--replay", str(SHARED_MEDIA / "streams/visitors_day1.mp4"), "--out", str(out),
                     "--captions", f"{server.url}#eye", "--merge", f"{server.url}#ear"]  # fmt: skip
        assert main([*arguments, "--least-votes", "1"]) == 0
        rows: list[Row] = read_rows(out)
        assert len(rows) == 3
        for row in rows:
            kinds = [(medium.kind, bool(medium.tag)) for medium in row.turns[1].media]
            assert kinds[:2] == [("video", False), ("audio", False)]
            assert ("image", True) in kinds and ("audio", True) in kinds
            assert row.answer.count("equivalence") >= 2
        merge = next(body for body in asked if len(body["messages"]) == 2)
        kinds = [part["type"] for part in merge["messages"][-1]["content"]]
        assert kinds == ["image_url"] * 4 + ["input_audio", "text"]
        assert sum(len(body["messages"]) == 1 for body in asked) == 12
        kept = next((tmp_path / "rows.memories").iterdir())
        again = ["--memory", str(kept), "--out", str(tmp_path / "own.jsonl"), "--allow", "unknown"]
        assert main([*again, "--captions", "none", "--merge", f"{server.url}#ear", "--least-votes", "1"]) == 0
    own = read_rows(tmp_path / "own.jsonl")
    assert [row.id for row in own] == [row.id for row in rows]  # the same clips, of what the robot kept
    for row in own:
        kinds = [(medium.kind, bool(medium.tag)) for medium in row.turns[1].media]
        assert kinds[0] == ("image", False) and ("image", True) in kinds and ("video", False) not in kinds
