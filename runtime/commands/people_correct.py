"""`hearsight people merge, split, not, undo`: corrections, each of which can be undone."""

from __future__ import annotations

import argparse
import re

from memory_store.history import HistoryRow
from memory_store.records import Node
from memory_store.store import MemoryStore
from runtime.commands import session
from runtime.commands.people_find import find_person, person_json
from runtime.errors import HearsightError
from runtime.media_files import MediaFiles, portrait_name

_NODE = re.compile(r"<?(?:face_|voice_)?(\d+)>?", re.ASCII)


def add_to(verbs: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verbs to the command line."""
    merge = verbs.add_parser("merge", parents=[shared], help="two people are one")
    merge.add_argument("keep", help="who stays: number, person_N or name")
    merge.add_argument("gone", help="who becomes part of them")
    merge.set_defaults(command=merge_people)
    split = verbs.add_parser("split", parents=[shared], help="one person is two")
    split.add_argument("person", help="number, person_N or name")
    split.add_argument("nodes", nargs="*", metavar="NODE", help="face_N or voice_N that is somebody else's")
    split.add_argument("--lines", nargs="+", default=[], metavar="ID", help="memories about somebody else")
    split.set_defaults(command=split_person)
    wrong = verbs.add_parser("not", parents=[shared], help="that is not them")
    wrong.add_argument("what", metavar="LINE_OR_NODE", help="number of a memory, face_N or voice_N")
    wrong.add_argument("person", nargs="?", help="who it is not")
    wrong.add_argument("--is", dest="other", metavar="PERSON", help="who it is")
    wrong.add_argument("--clip", type=int, metavar="N", help="only what the memory was in this clip")
    wrong.set_defaults(command=not_them)
    undo = verbs.add_parser("undo", parents=[shared], help="undo the last correction, or change N")
    undo.add_argument("number", nargs="?", type=int, metavar="N", help="as `people show` lists it")
    undo.set_defaults(command=undo_change)


def merge_people(options: argparse.Namespace) -> int:
    """Make two people one."""
    with session.opened(options) as (_, store):
        keep, gone = find_person(store, options.keep), find_person(store, options.gone)
        with store.transaction():
            store.merge_people(keep.id, gone.id, source="resident")
        removed = store.history(keep.id)[-1].detail["removed_links"]
        person = store.person(keep.id)
        told = f"person_{gone.id} is now part of person_{keep.id} ({person.label})."
        if removed:
            told += f" {len(removed)} notes that they were different people were taken away."
        _tell(options, store, told, person.id, removed_links=removed)
    return 0


def split_person(options: argparse.Namespace) -> int:
    """Make two people of one."""
    if bool(options.nodes) == bool(options.lines):
        raise HearsightError("say what is somebody else's: either faces and voices (face_N), or --lines ID …")
    with session.opened(options) as (_, store):
        person = find_person(store, options.person)
        with store.transaction():
            if options.nodes:
                new = store.split(person.id, [node_number(text) for text in options.nodes])
            else:
                new = store.split_lines(person.id, [node_number(text) for text in options.lines])
        _tell(options, store, f"person_{new} is somebody else than {person.label} now.", new)
    return 0


def not_them(options: argparse.Namespace) -> int:
    """Take a line, a face or a voice from a person."""
    with session.opened(options) as (_, store):
        node = store.node(node_number(options.what))
        other = None if options.other is None else find_person(store, options.other).id
        is_node = node.kind in ("face", "voice")
        if is_node and options.clip is not None:
            raise HearsightError("--clip is about a memory: a face or voice is taken from a person whole")
        if options.person is not None:
            _require_named(store, node.id, find_person(store, options.person).id, is_node=is_node)
        was = _named(store, node.id) if not is_node else []
        with store.transaction():
            if is_node:
                other = store.take_node(node.id, other)
            else:
                store.reassign_line(node.id, other, clip_id=options.clip)
        whose = "nobody known" if other is None else store.person(other).label
        what = f"{node.kind}_{node.id}" if is_node else f"Memory {node.id}"
        if options.clip is not None:
            what = f"What memory {node.id} was in clip {options.clip}"
        told = f"{what} is {whose}'s now." if is_node else f"{what} is about {whose} now."
        line = "" if is_node else store.render(store.node(node.id).text)
        also = [one for person in was for one in _of_same_clip(store, node, person, options.clip)]
        if also:
            line += (
                f" Of the same clip, memories {', '.join(map(str, also))} were told of them as well: look."
            )
        memory = None if is_node else node.id
        _tell(options, store, f"{told} {line}".strip(), other, memory=memory, also=also)
    return 0


def undo_change(options: argparse.Namespace) -> int:
    """Undo the last correction, or a certain change."""
    with session.opened(options) as (parts, store):
        with store.transaction():
            undone = store.undo(options.number)
        _drop_portraits(store, MediaFiles(parts.settings.data_dir), undone)
        assert undone.undone_by is not None
        told = f"Change {undone.id} ({undone.action}) is undone; `people undo {undone.undone_by}` brings it back."
        _tell(options, store, told, None, undone=undone.id, action=undone.action, change=undone.undone_by)
    return 0


def node_number(text: str) -> int:
    """The number in `face_12`, `<voice_13>` or `12`. Raises HearsightError."""
    match = _NODE.fullmatch(text)
    if match is None or len(match[1]) > 18:
        raise HearsightError(f"{text!r} is no memory, face or voice: give a number, face_N or voice_N")
    return int(match[1])


def _named(store: MemoryStore, line_id: int) -> list[int]:
    """The people whom a line names."""
    people = [store.person_of(edge.target) for edge in store.edges(line_id) if edge.relation == "mentions"]
    return sorted({person.id for person in people if person is not None})


def _of_same_clip(store: MemoryStore, line: Node, person_id: int, clip_id: int | None) -> list[int]:
    """What a language model wrote about a person in the clip of a line, perhaps because of that line."""
    clip_id = line.clip_id if clip_id is None else clip_id
    nodes = store.nodes(kinds=["episodic", "semantic"], person_id=person_id, clip_id=clip_id)
    return [node.id for node in nodes if node.id != line.id and node.provenance.get("source") == "model"]


def _require_named(store: MemoryStore, node_id: int, person_id: int, *, is_node: bool) -> None:
    owner = store.person_of(node_id)
    concerned = {node.id for node in store.nodes(person_id=person_id)} if not is_node else set()
    if (owner is None or owner.id != person_id) and node_id not in concerned:
        raise HearsightError(f"{node_id} is not {store.person(person_id).label}'s: nothing to take away")


def _drop_portraits(store: MemoryStore, files: MediaFiles, undone: HistoryRow) -> None:
    """The portraits of faces that an undone enrolment had made."""
    if undone.action == "enroll":
        known = {node.id for node in store.nodes(kinds=["face"])}
        for node_id in undone.detail["node_ids"]:
            if node_id not in known:
                files.delete(f"media/{portrait_name(node_id)}")


def _tell(
    options: argparse.Namespace, store: MemoryStore, told: str, person_id: int | None, **more: object
) -> None:
    if options.json:
        person = None if person_id is None else person_json(store.person(person_id))
        change = store.history()[-1].id
        session.print_json({"told": told, "person": person, "change": change, **more})
        return
    print(told if "brings it back" in told else f"{told} `hearsight people undo` takes that back.")
