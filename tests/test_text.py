"""Sentences found again by meaning, in English, Chinese and across the two."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from models.errors import ModelError
from models.text import TextEmbedder
from tests.pictures import fetched_model

ENGLISH = (
    ("Who watered the plants?", "<face_1> filled a can and poured water over the ferns in the hall."),
    ("Did anyone feed the cat?", "<face_5> opened a tin of fish for the kitten and filled its bowl."),
    ("Where are the spare keys?", "<face_1> hung the second set of keys on the hook behind the door."),
    ("Who broke the vase?", "<face_6> knocked a flower vase off the shelf and it shattered."),
    ("What sport does the boy play?", "<voice_5> trains football every Tuesday after school."),
    ("When is the dentist appointment?", "<voice_2> said: I have to see the dentist on Thursday at nine."),
)
CHINESE = (
    ("谁给植物浇了水？", "<face_1> 用水壶给走廊里的蕨类植物浇水。"),
    ("有人喂猫了吗？", "<face_5> 打开一罐鱼罐头，装满了小猫的碗。"),
    ("备用钥匙在哪里？", "<face_1> 把第二套钥匙挂在门后的钩子上。"),
    ("谁打碎了花瓶？", "<face_6> 把架子上的花瓶碰倒摔碎了。"),
    ("男孩做什么运动？", "<voice_5> 每个星期二放学后练习足球。"),
    ("什么时候看牙医？", "<voice_2> 说：我星期四九点要去看牙。"),
)


@pytest.fixture(scope="module")
def multilingual() -> TextEmbedder:
    return TextEmbedder(fetched_model("multilingual-e5-small"))


@pytest.fixture(scope="module")
def english() -> TextEmbedder:
    prefix = "Represent this sentence for searching relevant passages: "
    return TextEmbedder(fetched_model("bge-small-en"), query_prefix=prefix, passage_prefix="")


def _hits(
    embedder: TextEmbedder, questions: tuple[tuple[str, str], ...], memories: tuple[tuple[str, str], ...]
) -> int:
    asked = embedder.embed_query([question for question, _ in questions])
    stored = embedder.embed_passage([memory for _, memory in memories])
    return int((np.argmax(asked @ stored.T, axis=1) == np.arange(len(questions))).sum())


def test_questions_find_their_memory(multilingual: TextEmbedder) -> None:
    assert _hits(multilingual, ENGLISH, ENGLISH) == 6
    assert _hits(multilingual, CHINESE, CHINESE) == 6
    assert _hits(multilingual, CHINESE, ENGLISH) >= 5


def test_english_questions_find_their_memory_with_the_alternative(english: TextEmbedder) -> None:
    assert _hits(english, ENGLISH, ENGLISH) >= 5


@pytest.mark.parametrize("which", ["multilingual", "english"])
def test_vectors_do_not_depend_on_their_neighbours(which: str, request: pytest.FixtureRequest) -> None:
    embedder: TextEmbedder = request.getfixturevalue(which)
    memories = [memory for _, memory in ENGLISH]
    together = embedder.embed_passage(memories)
    assert together.shape == (6, 384)
    assert together.dtype == np.float32
    assert np.linalg.norm(together, axis=1) == pytest.approx(1, abs=1e-5)
    assert embedder.embed_passage(memories[::-1])[::-1] == pytest.approx(together, abs=1e-6)


def test_batches_give_the_same_vectors(multilingual: TextEmbedder) -> None:
    batched = TextEmbedder(fetched_model("multilingual-e5-small"), batch_size=4)
    memories = [memory for _, memory in (*ENGLISH, *CHINESE)]
    assert batched.embed_passage(memories) == pytest.approx(multilingual.embed_passage(memories), abs=1e-4)


def test_question_and_passage_have_their_own_prefix(multilingual: TextEmbedder) -> None:
    text = ["the red cup is on the table"]
    query, passage = multilingual.embed_query(text), multilingual.embed_passage(text)
    assert 0.8 < float((query @ passage.T)[0, 0]) < 0.9999


def test_long_texts_are_cut(multilingual: TextEmbedder) -> None:
    short = TextEmbedder(fetched_model("multilingual-e5-small"), max_tokens=16)
    beginning = (
        "the red cup is on the table beside the blue plate and the old lamp near the sofa in the hall "
    )
    cut = short.embed_passage([beginning + "today", beginning + "where a hundred elephants dance " * 20])
    whole = multilingual.embed_passage(
        [beginning + "today", beginning + "where a hundred elephants dance " * 20]
    )
    assert float(cut[0] @ cut[1]) == pytest.approx(1, abs=1e-5)
    assert float(whole[0] @ whole[1]) < 0.99
    assert multilingual.embed_passage(["word " * 5000]).shape == (1, 384)


@pytest.mark.parametrize("texts", [[], [""], ["fine", " \n\t"]], ids=["none", "empty", "blank"])
def test_empty_texts_are_refused(multilingual: TextEmbedder, texts: list[str]) -> None:
    with pytest.raises(ModelError, match="text"):
        multilingual.embed_query(texts)


def test_one_text_in_place_of_a_list_is_refused(multilingual: TextEmbedder) -> None:
    with pytest.raises(ModelError, match="list"):
        multilingual.embed_passage("a single text")


def test_impossible_sizes_are_refused() -> None:
    directory = fetched_model("bge-small-en")
    for max_tokens in (4, 1000):
        with pytest.raises(ModelError, match=f"max_tokens is {max_tokens}"):
            TextEmbedder(directory, max_tokens=max_tokens)
    with pytest.raises(ModelError, match="batch_size is 0"):
        TextEmbedder(directory, batch_size=0)


def test_a_damaged_or_missing_tokenizer_is_named(tmp_path: Path) -> None:
    directory = tmp_path / "bge"
    shutil.copytree(fetched_model("bge-small-en"), directory)
    tokenizer = directory / "tokenizer.json"
    tokenizer.write_bytes(tokenizer.read_bytes()[:1000])
    with pytest.raises(ModelError, match=r"tokenizer\.json.*damaged"):
        TextEmbedder(directory)
    tokenizer.unlink()
    with pytest.raises(ModelError, match=r"tokenizer\.json.*missing"):
        TextEmbedder(directory)
