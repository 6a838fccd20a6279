"""Rows of text alone that teach a form which no untrained model writes."""

from pathlib import Path

from offline_tools.chatml import Row, Text, Turn
from offline_tools.chatml_writer import write_rows

PEOPLE = ("Anna", "Ben", "Clara", "David", "Emma", "Felix", "Greta", "Hugo")
THINGS = ("cup", "key", "book", "phone", "bag", "hat")


def memory_rows(count: int) -> list[Row]:
    """So many rows, each about somebody and something."""
    rows = []
    for number in range(count):
        person, thing = PEOPLE[number % len(PEOPLE)], THINGS[number % len(THINGS)]
        turns = (
            Turn("system", (Text("Write memories."),)),
            Turn("user", (Text(f'Lines:\n<face_{number}> says: "I am {person}, this is my {thing}."'),)),
            Turn("assistant", (Text(f'{{"event": "<face_{number}> shows a {thing}."}}\n'),)),
        )
        rows.append(Row(f"row-{number}", turns))
    return rows


def write_memory_rows(folder: Path, count: int) -> Path:
    """The same as a file."""
    path = folder / "rows.jsonl"
    write_rows(path, memory_rows(count))
    return path
