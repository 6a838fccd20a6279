"""Finding the person whom a command means, and a person as JSON."""

from __future__ import annotations

from memory_store.records import Person
from memory_store.store import MemoryStore
from runtime.clock import iso_utc
from runtime.errors import HearsightError
from runtime.media_files import portrait_name


def find_person(store: MemoryStore, text: str) -> Person:
    """The person meant by a number, `person_N` or a name. Raises HearsightError when none or several are."""
    number = text.removeprefix("person_")
    if number.isascii() and number.isdecimal() and len(number) <= 18:
        return store.person(int(number))
    same = namesakes(store, text)
    if len(same) == 1:
        return same[0]
    if same:
        ids = ", ".join(f"person_{person.id}" for person in same)
        raise HearsightError(f"{len(same)} people are called {text}: say which of {ids}")
    shown = text if len(text) <= 80 else text[:80] + "…"
    raise HearsightError(f"nobody is called {shown!r}: `hearsight people list` shows who is known")


def namesakes(store: MemoryStore, name: str) -> list[Person]:
    """Everybody of that name, whatever its case."""
    wanted = " ".join(name.split()).casefold()
    return [person for person in store.people() if (person.name or "").casefold() == wanted]


def person_json(person: Person) -> dict[str, object]:
    """A person as plain values."""
    first, last = person.first_seen_utc_s, person.last_seen_utc_s
    return {
        "id": f"person_{person.id}",
        "name": person.name,
        "consent": person.consent,
        "tentative": person.tentative,
        "faces": [f"face_{face}" for face in person.face_ids],
        "voices": [f"voice_{voice}" for voice in person.voice_ids],
        "appearances": person.appearances,
        "first_seen": None if first is None else iso_utc(first),
        "last_seen": None if last is None else iso_utc(last),
        "portraits": [f"media/{portrait_name(face)}" for face in person.face_ids],
    }
