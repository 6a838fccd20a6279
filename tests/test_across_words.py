"""Words between Chinese and English: the table made of the published list, what a line says, and answers by it."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from memory_store.records import VectorSpace
from memory_store.store import MemoryStore
from models.convert_cedict import convert
from models.dictionary import Dictionary
from models.errors import ModelError
from models.language import Message
from models.manifest import Manifest
from runtime import compose
from runtime.across_languages import LanguageShift
from runtime.across_words import AcrossWords
from runtime.answer import Answer
from runtime.compose import Parts
from runtime.config import ModelSettings, Settings
from runtime.control import Control
from runtime.recall import Recall, RecallLimits
from tests.household import NOW, ZONE, Moment, remember
from tests.pictures import fetched_model
from tests.scripted_language import ScriptedLanguage

LIST = """# CC-CEDICT
#! version=1
水管工 水管工 [shui3 guan3 gong1] /plumber/
水龍頭 水龙头 [shui3 long2 tou2] /faucet/tap/
修理 修理 [xiu1 li3] /to repair/to fix/to prune/to trim/(coll.) to sort sb out/to fix sb/
里斯本 里斯本 [Li3 si1 ben3] /Lisbon, capital of Portugal/
住 住 [zhu4] /to live/to dwell/to stay/
花 花 [Hua1] /surname Hua/
花 花 [hua1] /flower/blossom/CL:朵[duo3]/to spend (money, time)/
花瓶 花瓶 [hua1 ping2] /flower vase/(fig.) female employee considered to be just a pretty face/
做 做 [zuo4] /to make/to produce/to do/
每天 每天 [mei3 tian1] /every day/everyday/
壞 坏 [huai4] /bad/spoiled/broken/
車 车 [che1] /car/vehicle/
停 停 [ting2] /to stop/to park (a car)/
狗 狗 [gou3] /dog/CL:隻|只[zhi1],條|条[tiao2]/
鍋爐 锅炉 [guo1 lu2] /boiler/
舊 旧 [jiu4] /old/opposite: new 新/
喜歡 喜欢 [xi3 huan5] /to like/to be fond of/
餃子 饺子 [jiao3 zi5] /dumpling/
星期四 星期四 [Xing1 qi1 si4] /Thursday/
來 来 [lai2] /to come/to arrive/
只 只 [zhi1] /classifier for birds/
壞了 坏了 [huai4 le5] /shoot!/gosh!/oh, no!/
T恤 T恤 [T xu4] /T-shirt/
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """The table made of a few entries."""
    source, target = tmp_path / "list.gz", tmp_path / "words.tsv"
    source.write_bytes(gzip.compress(LIST.encode()))
    convert(source, target)
    return target


@pytest.fixture
def words(table: Path) -> AcrossWords:
    return AcrossWords(Dictionary(table))


def test_the_table_is_sorted_and_holds_what_translates(table: Path) -> None:
    rows = table.read_bytes().splitlines()
    assert rows == sorted(rows, key=lambda row: row.split(b"\t")[0])
    dictionary = Dictionary(table)
    for word, senses in (
        ("里斯本", ("Lisbon", "capital of Portugal")),
        ("花", ("flower", "blossom", "to spend")),
        ("花瓶", ("flower vase",)),  # the figure of speech explains, and is too long to translate
        ("狗", ("dog",)),
        ("水龍頭", ("faucet", "tap")),  # in both scripts
        ("水龙头", ("faucet", "tap")),
        ("旧", ("old",)),
    ):
        assert dictionary.senses(word)[: len(senses)] == senses, word
    for word in ("只", "T恤", "水", "", "飞机", "\t", "dog"):
        assert dictionary.senses(word) == (), word


def test_the_longest_words_of_a_text_are_found(table: Path) -> None:
    text = "水管工修理水龙头，花瓶。"
    found = [text[word.start : word.end] for word in Dictionary(table).words_in(text)]
    assert found == ["水管工", "修理", "水龙头", "花瓶"]


@pytest.mark.parametrize("made", [b"", b"not gzip", gzip.compress(b"no entry\n"), gzip.compress(b"\xff\xfe")])
def test_a_list_that_is_none_is_refused(tmp_path: Path, made: bytes) -> None:
    source = tmp_path / "list.gz"
    source.write_bytes(made)
    with pytest.raises(ModelError, match="dictionary"):
        convert(source, tmp_path / "words.tsv")


def test_a_table_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty.tsv").write_bytes(b"")
    for name in ("absent.tsv", "empty.tsv"):
        with pytest.raises(ModelError, match=name):
            Dictionary(tmp_path / name)


@pytest.mark.parametrize(
    ("line", "text", "said"),
    [
        ("The plumber repaired the tap.", "水管工修理水龙头花了多少钱？", "水管工修理水龙头"),
        ("He lives in Lisbon.", "谁住在里斯本？", "住 里斯本"),
        ("I broke the green vase.", "花瓶在哪里？", "花瓶"),
        ("The flowers are red.", "花瓶在哪里？", ""),
        ("I live here every day.", "他每天做什么？", "每天做"),  # what only asks stays beside what is said
        ("I live here.", "他每天做什么？", ""),
        ("It is broken.", "什么坏了？", "坏了"),
        ("I will do it.", "他每天做什么？", "做"),
    ],
)
def test_what_an_english_line_says_of_a_chinese_question(
    words: AcrossWords, line: str, text: str, said: str
) -> None:
    assert words.said_in(line, text, "zh") == said


def test_what_a_chinese_line_says_of_an_english_question(words: AcrossWords) -> None:
    assert words.said_in("锅炉旧了", "Is the boiler old or new?", "en") == "boiler old"
    assert words.said_in("花了很多", "Who spent the money?", "en") == "spent"
    assert set(words.in_english("水管工修理").split()) >= {"plumber", "repair", "fix"}


class Household:
    """Questions to a few lines; vectors prove nothing here."""

    def __init__(
        self, store: MemoryStore, words: AcrossWords | None, language: ScriptedLanguage | None = None
    ) -> None:
        recall = Recall(store, _alike, limits=RecallLimits(similarity_floor=2.0, similarity_floor_zh=2.0),
                        shift=LanguageShift(_alike), words=words)  # fmt: skip
        self._control = Control(recall, language, clock=lambda: NOW, zone=ZONE)

    def ask(self, question: str) -> Answer:
        return self._control.answer(question)


def _alike(texts: list[str]) -> np.ndarray:
    return np.tile(np.array([0.6, 0.8], np.float32), (len(texts), 1))


SAID = (
    Moment(28, "08:00", "Anna", "The plumber repaired the tap. It cost eighty euros."),
    Moment(28, "09:00", "Bob", "My red car is parked in front of the house."),
    Moment(28, "10:00", "Anna", "I can walk your dog in the park, Bob."),
    Moment(28, "11:00", "小明", "锅炉旧了，我喜欢饺子。"),
    Moment(28, "12:00", "Bob", "He lives in Lisbon."),
    Moment(28, "12:30", "Bob", "The plumber comes on Thursday."),
    Moment(28, "12:40", "Anna", "The old boiler is loud."),
    Moment(28, "13:00", "Bob", "I paid ninety dollars for a lamp."),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore.open(tmp_path / "memory", [VectorSpace("text", 2, "alike")], clock=lambda: NOW) as store:
        remember(store, _alike, SAID)
        yield store


@pytest.mark.parametrize(
    ("question", "holds"),
    [
        ("水管工修理水龙头花了多少钱？", "eighty euros"),
        ("谁住在里斯本？", "Lisbon"),
        ("Bob的车停在哪里？", "in front of the house"),
        ("谁说水管工修理了水龙头？", "Anna"),
        ("谁说水管工星期四来？", "comes on Thursday"),  # which says nothing of when that was said
        ("Anna关于水龙头说了什么？", "repaired the tap"),
        ("Is the boiler old?", "锅炉旧了"),
    ],
)
def test_words_bear_an_answer_out_across_languages(
    store: MemoryStore, words: AcrossWords, question: str, holds: str
) -> None:
    answer = Household(store, words).ask(question)
    assert holds in answer.text and not answer.abstained, answer.text
    unaided = Household(store, None).ask(question)
    assert holds not in unaided.text or unaided.abstained, unaided.text


@pytest.mark.parametrize(
    "question",
    [
        "Anna的车停在哪里？",  # it is Bob's
        "Anna的狗在哪里？",  # Anna says "your dog"
        "水管工喜欢吃什么？",
        "谁修理了锅炉？",  # no line says both
        "花瓶多少钱？",
    ],
)
def test_what_words_do_not_bear_out_is_not_known(
    store: MemoryStore, words: AcrossWords, question: str
) -> None:
    answer = Household(store, words).ask(question)
    assert answer.abstained, answer.text


def test_who_said_what_is_computed_across_languages(store: MemoryStore, words: AcrossWords) -> None:
    for question in ("谁说水管工星期四来？", "Anna关于水龙头说了什么？"):
        assert Household(store, words).ask(question).method == "computed"


def test_who_said_it_then_is_not_who_said_it_on_another_day(store: MemoryStore, words: AcrossWords) -> None:
    household = Household(store, words)
    assert "repaired the tap" in household.ask("昨天谁说水管工修理了水龙头？").text
    for question in ("今天谁说水管工修理了水龙头？", "谁说今天水管工修理了水龙头？"):
        answer = household.ask(question)
        assert answer.abstained and "repaired" not in answer.text, answer.text


def test_what_the_questions_own_language_says_is_enough(store: MemoryStore, words: AcrossWords) -> None:
    answer = Household(store, words).ask("锅炉旧吗？")
    assert "锅炉旧了" in answer.text and all(item.across is None for item in answer.evidence)


def test_a_model_may_answer_in_the_questions_language(store: MemoryStore, words: AcrossWords) -> None:
    def reply(messages: Sequence[Message]) -> str:
        line = next(line for line in messages[-1].content.splitlines() if "repaired" in line)
        return f"思考：有。\n[Answer] 水管工修理了水龙头。（记忆 {line[1 : line.index(']')]}）"

    answer = Household(store, words, ScriptedLanguage(reply)).ask("水管工修理了什么？")
    assert answer.text == "水管工修理了水龙头。" and answer.method == "model", answer.rounds
    unaided = Household(store, None, ScriptedLanguage(reply)).ask("水管工修理了什么？")
    assert unaided.method != "model"


def test_one_language_needs_no_dictionary(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    manifest = Manifest.load()
    for languages, needed in ((("en", "zh"), True), (("en",), False), (("zh", "de"), False)):
        settings = Settings(models=ModelSettings(dir=tmp_path, speech_languages=languages))
        assert (("dictionary", None) in compose.needed_models(settings)) is needed
        caplog.clear()
        assert compose.across_words(Parts(settings, manifest)) is None  # its file is missing here
        assert ("by likeness alone" in caplog.text) is needed


def test_the_fetched_dictionary() -> None:
    directory = fetched_model("cc-cedict")
    words = AcrossWords(Dictionary(directory / "words.tsv"))
    line = "The doorbell is broken again, please knock on the door."
    assert "门铃坏" in words.said_in(line, "谁说门铃坏了？", "zh")
    assert words.said_in("我把雨伞放在门后面了", "Where is the umbrella?", "en") == "umbrella"
