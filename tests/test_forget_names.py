"""A forgotten name is found in every text however it is written: case, width, composition, between other scripts."""

import re
import unicodedata
from pathlib import Path

import pytest

from memory_store import MemoryStore
from memory_store.fold import fold, replace_folded
from memory_store.forget_traits import Traits, file_name_without, without_names
from memory_store.name_rule import name_pattern
from memory_store.records import Triple
from runtime.forget import forget_person
from runtime.media_files import MediaFiles
from tests.corrected_memory import check_whole, three_people
from tests.memory_samples import add_clip, open_memory


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("Élodie", "ÉLODIE"),
        ("Élodie", "E\u0301lodie"),
        ("ÉLODIE", "e\u0301lodie"),
        ("ÖZGÜR", "özgür"),
        ("Özgür", "ÖZGÜR"),
        ("Işıl", "IŞIL"),
        ("İlknur", "ilknur"),
        ("Frau Straße", "FRAU  STRASSE"),
        ("Ångström", "a\u030angstro\u0308m"),
        ("Anna", "Ａｎｎａ"),
        ("Ｌｅｏ", "leo"),
        ("O'Neill", "O’Neill"),
        ("Νίκος", "ΝΊΚΟΣ"),
        ("ヤマダ", "ﾔﾏﾀﾞ"),
        ("김민수", unicodedata.normalize("NFD", "김민수")),
        ("李雷", "李雷"),
    ],
)
def test_a_name_is_found_however_it_is_written(name: str, written: str) -> None:
    assert (
        without_names(f"So {written}, and 是{written}的 ball", (name,))
        == "So somebody, and 是somebody的 ball"
    )
    assert file_name_without(f"a_{written}.mp4", (name,)) == "a_somebody.mp4"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Anna", "Annabel and Hannah"),
        ("Élo", "Élodie"),
        ("Özg", "Özgür"),
        ("Ed", "Ｅｄｅｎ and Ｕｅｄ"),
        ("Jose", "José and JOSE\u0301"),
        ("Will", "Willем"),
    ],
)
def test_other_words_stay_as_they_are(name: str, text: str) -> None:
    assert without_names(text, (name,)) == text


def test_what_stands_around_a_name_is_kept_to_the_letter() -> None:
    text = "ﬁne Ｃafe\u0301, ÉLODIE… Ⅳ ½"
    assert replace_folded(name_pattern("Élodie"), text, "x") == "ﬁne Ｃafe\u0301, x… Ⅳ ½"
    assert replace_folded(re.compile("i"), "ﬁ", "x") == "x"  # no half of a letter is left
    assert fold("ß İI ı") == "ss ii i"


def test_what_somebody_said_is_found_in_any_text() -> None:
    quotes = ("The blue heron sleeps", "The blue lamp", "12345678")
    traits = Traits(frozenset(), frozenset(), (), quotes, ())
    for text in (
        "He told: The blue lamp.",
        "The blue heron sleeps",
        "x12345678",
        "The blue the blue lampThe blue lamp",
    ):
        assert traits.quoted_in(text) == any(quote in text for quote in quotes) is True
    for text in ("", "The blue", "The blue herons", "1234567", "the blue lamp"):
        assert not traits.quoted_in(text)
    assert not Traits(frozenset(), frozenset(), (), (), ()).quoted_in("The blue lamp")


def _note(store: MemoryStore, text: str, clip_id: int, **provenance: str) -> int:
    start = store.clip(clip_id).start_utc_s
    return store.add_node(
        "semantic", text, clip_id=clip_id, start_utc_s=start, end_utc_s=start + 9,
        provenance={"source": "grounded", **provenance},
    )  # fmt: skip


def _spellings(name: str) -> set[str]:
    wide = "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in name)
    forms = {name, name.upper(), name.lower(), name.swapcase(), wide}
    return forms | {unicodedata.normalize(form, one) for form in ("NFC", "NFD") for one in forms}


@pytest.mark.parametrize("name", ["Élodie", "ÖZGÜR", "Anna Weißmüller", "ＬＥＯＮＩＥ", "欧阳娜娜"])
def test_not_a_byte_of_any_spelling_is_left(tmp_path: Path, name: str) -> None:
    spellings = sorted(_spellings(name))
    with open_memory(tmp_path) as store:
        one, two, _ = three_people(store)
        with store.transaction():
            store.name_person(one.person, name, source="resident")
            clip = add_clip(store, 90)
            lines = {
                _note(store, f"Yesterday {written} came; 昨天{written}来了", clip, said=f"hello {written}")
                for written in spellings
            }
            store.add_node(
                "episodic", f"<voice_{two.voice}> says: hello", clip_id=clip, start_utc_s=9e9, end_utc_s=9e9
            )
            for written in spellings:
                store.save_trace(f"Where is {written}?", "Here.", {"rounds": [{"prompt": f"of {written}"}]})
                store.add_name_evidence(two.person, written, clip, min(lines), 1.0, "addressed")
                triple = Triple("likes", fold(written), 1, fold(written), written)
                store.add_fact(triple, f"{written} likes {written}", min(lines), subject_id=None)
            store.save_trace("When did it rain?", "On Monday", {})
        assert store.search_node(text=spellings[0])
        forget_person(store, MediaFiles(tmp_path), one.person)
        check_whole(store, tmp_path)
        assert [trace.question for trace in store.traces()] == ["When did it rain?"]
        assert not any(spelling in store.node(line).text for line in lines for spelling in spellings)
        assert store.node(min(lines)).text == "Yesterday somebody came; 昨天somebody来了"
    held = b"\n".join(path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file())
    for spelling in (*spellings, fold(name)):
        assert spelling.encode() not in held, spelling
