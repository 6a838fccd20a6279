"""Forgetting a person: which rows go, which are told anew without them, and a receipt of it all.

Nothing of it can be undone. Files beside the database are named in the receipt and left to the caller.
"""

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from memory_store.database import Database
from memory_store.facts import Facts
from memory_store.forget_history import history_of
from memory_store.graph import Graph
from memory_store.identity import Identity
from memory_store.records import ForgetReceipt, Node
from memory_store.tags import Tag, find_tags
from memory_store.tentative import SOMEBODY, without_tags

_SHORTEST_QUOTE = 8  # characters: shorter ones ("yes", "thank you") are everybody's
_WORD = re.compile(r"[^\W\d_]{4,}|[\u3400-\u9fff]{2}")


@dataclass(frozen=True)
class Traits:
    """What a text can betray somebody by: ids, names that are nobody else's, and what they said."""

    person_ids: frozenset[int]
    node_ids: frozenset[int]
    names: tuple[str, ...]
    quotes: tuple[str, ...]
    shared_names: tuple[str, ...]

    def names_in(self, text: str) -> bool:
        """Whether a name, tag or label of theirs stands in the text."""
        labels = re.findall(r"\bperson_(\d+)\b", text)
        return (
            any(name_pattern(name).search(text) for name in self.names)
            or any(tag.node_id in self.node_ids for tag in find_tags(text))
            or any(int(label) in self.person_ids for label in labels)
        )

    def quoted_in(self, text: str) -> bool:
        """Whether something they said stands in the text."""
        return any(quote in text for quote in self.quotes)


def name_pattern(name: str) -> re.Pattern[str]:
    """Finds a name as a whole word, whatever its case; Chinese names anywhere."""
    start, end = (r"(?<!\w)" if name[0].isascii() else ""), (r"(?!\w)" if name[-1].isascii() else "")
    return re.compile(start + re.escape(name) + end, re.IGNORECASE)


class Forgetting:
    """Deletes one person, inside the caller's transaction."""

    def __init__(self, database: Database, graph: Graph, identity: Identity, facts: Facts) -> None:
        self._facts = facts
        self._database = database
        self._graph = graph
        self._identity = identity

    def person(self, person_id: int) -> ForgetReceipt:
        """Delete a person with everybody merged into them; raises UnknownId."""
        living = self._identity.living(person_id)
        traits = self._traits(living)
        gone, told_anew = self._lines(traits)
        heard = self._clips_heard(traits)
        images = self._images(self._clips_alone(traits))
        doomed = {*traits.node_ids, *gone, *(image.id for image in images)}
        counts = self._counts(doomed, traits)
        counts["lines_deleted"] = len(gone)
        counts["lines_rewritten"] = len(told_anew)
        counts["pictures"] = len(images)
        counts["traces"] = self._delete_traces(traits, {*doomed, *told_anew})
        counts["history"] = self._delete_history(traits, {*doomed, *told_anew})
        for line_id in told_anew:
            self._tell_anew(self._graph.node(line_id), traits)
        counts["name_evidence"] = self._delete_name_evidence(traits, doomed)
        self._delete("nodes", "id", doomed)
        self._delete_persons(traits)
        self._database.write("INSERT INTO nodes_fts (nodes_fts) VALUES ('rebuild')")
        files = tuple(str(image.provenance["file"]["path"]) for image in images if "file" in image.provenance)
        faces = tuple(sorted(traits.node_ids))
        return ForgetReceipt(living, counts, files, faces, tuple(sorted(heard)), traits.shared_names, False)

    def _traits(self, living: int) -> Traits:
        persons = self._identity.with_merged(living)
        nodes = frozenset(binding.node_id for binding in self._identity.bindings(living))
        names = self._names(persons)
        others = {(person.name or "").casefold() for person in self._identity.people() if person.id != living}
        own = tuple(name for name in names if name.casefold() not in others)
        shared = tuple(name for name in names if name.casefold() in others)
        said = {
            str(line.provenance.get("said", "")) for line in map(self._graph.node, self._acted_alone(nodes))
        }
        quotes = tuple(sorted(quote for quote in said if len(quote) >= _SHORTEST_QUOTE))
        return Traits(frozenset(persons), nodes, own, quotes, shared)

    def _names(self, persons: list[int]) -> list[str]:
        """All names that the persons ever had."""
        rows = self._database.rows(
            """SELECT name FROM persons WHERE id IN (SELECT value FROM json_each(?1)) AND name IS NOT NULL UNION
            SELECT json_extract(h.detail, p.value) FROM person_history h,
            json_each('["$.name", "$.previous_name", "$.kept.name", "$.gone.name"]') p
            WHERE h.person_id IN (SELECT value FROM json_each(?1))""",
            (json.dumps(persons),),
        )
        return sorted({row[0] for row in rows if row[0]}, key=lambda name: (-len(name), name))

    def _acted_alone(self, nodes: frozenset[int]) -> list[int]:
        """Lines in which they, and nobody else, were seen or heard."""
        acted = self._database.rows(
            """SELECT source, group_concat(target) AS actors FROM edges WHERE relation = 'mentions'
            AND detail = 'actor' AND source IN (SELECT source FROM edges WHERE relation = 'mentions'
            AND detail = 'actor' AND target IN (SELECT value FROM json_each(?))) GROUP BY source""",
            (json.dumps(sorted(nodes)),),
        )
        return [row["source"] for row in acted if {int(a) for a in row["actors"].split(",")} <= nodes]

    def _lines(self, traits: Traits) -> tuple[set[int], set[int]]:
        """Which lines go, and which are told anew because others share them."""
        gone = set(self._acted_alone(traits.node_ids))
        told_anew: set[int] = set()
        for line in self._concerned(traits):
            if line.id in gone or line.kind in ("face", "voice"):
                continue
            tags = {tag.node_id for tag in find_tags(line.text)}
            edges = [edge for edge in self._graph.edges(line.id) if edge.source == line.id]
            others = (tags | {edge.target for edge in edges}) - traits.node_ids
            tied = tags & traits.node_ids or any(edge.target in traits.node_ids for edge in edges)
            own = {"text": line.text, **line.provenance}
            named = _without_names(own, traits.names) != own
            written_by_model = line.provenance.get("source") != "grounded"
            if (tied or (named and written_by_model)) and not self._people(others):
                gone.add(line.id)
            elif tied or named:
                told_anew.add(line.id)
        gone |= self._told_by_models(traits, gone) | self._facts.naming(traits.names)
        return gone, told_anew - gone

    def _concerned(self, traits: Traits) -> list[Node]:
        """Nodes that an edge ties to the person, and nodes whose text has a tag or a name of theirs."""
        nodes = json.dumps(sorted(traits.node_ids))
        rows = self._database.rows(
            """SELECT source AS id FROM edges WHERE relation <> 'cannot_link'
            AND target IN (SELECT value FROM json_each(?1))
            UNION SELECT target FROM edges WHERE relation <> 'cannot_link'
            AND source IN (SELECT value FROM json_each(?1))""",
            (nodes,),
        )
        found = {row["id"] for row in rows}
        words = [str(Tag(kind, node)) for node in traits.node_ids for kind in ("face", "voice")]
        for word in (*words, *traits.names):
            sql = "SELECT id FROM nodes WHERE instr(lower(text || provenance), lower(?))"
            found |= {row["id"] for row in self._database.rows(sql, (word,))}
        return [self._graph.node(node_id) for node_id in sorted(found - traits.node_ids)]

    def _people(self, node_ids: Collection[int]) -> set[int]:
        sql = (
            "SELECT id FROM nodes WHERE kind IN ('face', 'voice') AND id IN (SELECT value FROM json_each(?))"
        )
        return {row["id"] for row in self._database.rows(sql, (json.dumps(sorted(node_ids)),))}

    def _told_by_models(self, traits: Traits, gone: set[int]) -> set[int]:
        """Lines without a tag that a language model made, mostly of what the person said in that clip."""
        found: set[int] = set()
        said: dict[int | None, set[str]] = {}
        for line in map(self._graph.node, sorted(gone)):
            words = _WORD.findall(str(line.provenance.get("said", "")))
            said.setdefault(line.clip_id, set()).update(map(str.casefold, words))
        for clip_id in self._clips_heard(traits):
            spoken = said.get(clip_id, set())
            rows = self._database.rows(
                """SELECT id FROM nodes WHERE clip_id = ? AND kind IN ('episodic', 'semantic', 'procedural')
                AND json_extract(provenance, '$.source') = 'model'""",
                (clip_id,),
            )
            for node in (self._graph.node(row["id"]) for row in rows):
                if find_tags(node.text) and not traits.quoted_in(node.text):
                    continue
                theirs = [word for word in map(str.casefold, _WORD.findall(node.text)) if word in spoken]
                mostly = 2 * len(theirs) >= len(_WORD.findall(node.text))
                if mostly or "raw" in node.provenance or traits.quoted_in(node.text):
                    found.add(node.id)
        return found

    def _clips_heard(self, traits: Traits) -> set[int]:
        """Clips with sound of theirs."""
        rows = self._database.rows(
            """SELECT DISTINCT nc.clip_id FROM node_clips nc JOIN edges e ON e.source = nc.node_id
            JOIN nodes n ON n.id = e.source WHERE e.relation = 'mentions' AND e.detail = 'actor'
            AND json_extract(n.provenance, '$.event') = 'heard'
            AND e.target IN (SELECT value FROM json_each(?))""",
            (json.dumps(sorted(traits.node_ids)),),
        )
        return {row["clip_id"] for row in rows}

    def _clips_alone(self, traits: Traits) -> list[int]:
        """Clips in which they and nobody else known were met."""
        rows = self._database.rows(
            """SELECT nc.clip_id FROM node_clips nc JOIN nodes n ON n.id = nc.node_id WHERE n.kind IN ('face', 'voice')
            GROUP BY nc.clip_id HAVING min(nc.node_id IN (SELECT value FROM json_each(?)))""",
            (json.dumps(sorted(traits.node_ids)),),
        )
        return [row["clip_id"] for row in rows]

    def _images(self, clip_ids: list[int]) -> list[Node]:
        sql = "SELECT id FROM nodes WHERE kind = 'image' AND clip_id IN (SELECT value FROM json_each(?))"
        return [self._graph.node(row["id"]) for row in self._database.rows(sql, (json.dumps(clip_ids),))]

    def _counts(self, doomed: Collection[int], traits: Traits) -> dict[str, int]:
        listed = json.dumps(sorted(traits.node_ids))
        within = "IN (SELECT value FROM json_each(?1))"
        queries = {
            "faces": f"SELECT count(*) FROM nodes WHERE kind = 'face' AND id {within}",
            "voices": f"SELECT count(*) FROM nodes WHERE kind = 'voice' AND id {within}",
            "exemplars": f"SELECT count(*) FROM vectors WHERE exemplar = 1 AND node_id {within}",
            "votes": f"SELECT count(*) FROM votes WHERE face_id {within} OR voice_id {within}",
        }
        counts = {"persons": len(traits.person_ids)}
        for name, sql in queries.items():
            row = self._database.row(sql, (listed,))
            counts[name] = int(row[0]) if row else 0
        listed = json.dumps(sorted(doomed))
        row = self._database.row(
            f"SELECT count(*) FROM negatives WHERE node_id {within} OR origin_id {within}", (listed,)
        )
        counts["negatives"] = int(row[0]) if row else 0
        row = self._database.row(
            f"SELECT count(*) FROM edges WHERE source {within} OR target {within}", (listed,)
        )
        counts["edges"] = int(row[0]) if row else 0
        return counts

    def _delete_traces(self, traits: Traits, touched: set[int]) -> int:
        gone = []
        for row in self._database.rows("SELECT id, question, answer, trace FROM traces ORDER BY id"):
            trace = json.loads(row["trace"])
            texts = [row["question"], row["answer"], *_texts(trace)]
            if (
                any(traits.names_in(text) or traits.quoted_in(text) for text in texts)
                or _ids(trace) & touched
            ):
                gone.append(row["id"])
        self._delete("traces", "id", gone)
        return len(gone)

    def _delete_history(self, traits: Traits, touched: set[int]) -> int:
        gone = history_of(self._database, traits.person_ids, touched)
        for row in self._database.rows("SELECT id, detail, changes FROM person_history"):
            text = f"{row['detail']} {row['changes']}"
            if traits.quoted_in(text) or any(name_pattern(name).search(text) for name in traits.names):
                gone.add(row["id"])
        self._delete("person_history", "id", gone)
        return len(gone)

    def _tell_anew(self, line: Node, traits: Traits) -> None:
        """The line with "somebody" where it named them."""
        provenance = _without_names(dict(line.provenance), traits.names)
        text = _without_names(without_tags(line.text, traits.node_ids), traits.names)
        values = (text, json.dumps(provenance, ensure_ascii=False), line.id)
        self._database.write("UPDATE nodes SET text = ?, provenance = ? WHERE id = ?", values)

    def _delete_name_evidence(self, traits: Traits, doomed: Collection[int]) -> int:
        write = self._database.write
        within = "IN (SELECT value FROM json_each(?))"
        gone = write(
            f"DELETE FROM name_evidence WHERE person_id {within}", (json.dumps(sorted(traits.person_ids)),)
        ).rowcount
        for column in ("node_id", "subject_id"):
            sql = f"DELETE FROM name_evidence WHERE {column} {within}"
            gone += write(sql, (json.dumps(sorted(doomed)),)).rowcount
        names = json.dumps([name.casefold() for name in traits.names], ensure_ascii=False)
        return gone + write(f"DELETE FROM name_evidence WHERE lower(name) {within}", (names,)).rowcount

    def _delete_persons(self, traits: Traits) -> None:
        within = "IN (SELECT value FROM json_each(?))"
        listed = json.dumps(sorted(traits.person_ids))
        self._database.write(f"UPDATE persons SET merged_into = NULL WHERE id {within}", (listed,))
        self._delete("persons", "id", traits.person_ids)

    def _delete(self, table: str, column: str, ids: Iterable[int]) -> None:
        sql = f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM json_each(?))"
        self._database.write(sql, (json.dumps(sorted(ids)),))


def _without_names(value: Any, names: tuple[str, ...]) -> Any:
    """A text, or the texts within lists and mappings, with names replaced by "somebody"."""
    if isinstance(value, str):
        for name in names:
            value = name_pattern(name).sub(SOMEBODY, value)
        return value
    if isinstance(value, dict):
        return {key: _without_names(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_names(item, names) for item in value]
    return value


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in items for text in _texts(item)]


def _ids(value: Any) -> set[int]:
    """The ids of memories that a trace cites."""
    if isinstance(value, list):
        return {number for item in value for number in _ids(item)}
    if not isinstance(value, dict):
        return set()
    own = {value["id"]} if isinstance(value.get("id"), int) else set()
    return own | {number for item in value.values() for number in _ids(item)}
