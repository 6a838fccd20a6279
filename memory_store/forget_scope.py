"""Which rows tell of somebody who is to be forgotten, and which of them others share."""

import json
import re
from collections.abc import Collection, Iterator

from memory_store.database import Database
from memory_store.facts import Facts
from memory_store.fold import fold
from memory_store.forget_traits import SHORTEST_QUOTE, Traits, without_names
from memory_store.graph import Graph
from memory_store.identity import Identity
from memory_store.name_rule import name_pattern
from memory_store.records import Node
from memory_store.tags import Tag, find_tags

_WORD = re.compile(r"[^\W\d_]{4,}|[\u3400-\u9fff]{2}")


class ForgetScope:
    """Reads only; what is done with the rows is left to `forget`."""

    def __init__(self, database: Database, graph: Graph, identity: Identity, facts: Facts) -> None:
        self._database = database
        self._graph = graph
        self._identity = identity
        self._facts = facts

    def traits(self, persons: list[int], node_ids: Collection[int]) -> Traits:
        """What betrays these persons, who have these faces and voices."""
        nodes = frozenset(node_ids)
        names = self._names(persons)
        others = {fold(person.name or "") for person in self._identity.people() if person.id not in persons}
        own = tuple(name for name in names if fold(name) not in others)
        shared = tuple(name for name in names if fold(name) in others)
        said = {
            str(line.provenance.get("said", "")) for line in map(self._graph.node, self._acted_alone(nodes))
        }
        quotes = tuple(sorted(quote for quote in said if len(quote) >= SHORTEST_QUOTE))
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

    def lines(self, traits: Traits) -> tuple[set[int], set[int]]:
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
            named = without_names(own, traits.names) != own
            if line.kind in ("object", "place"):  # it stays, without its links to them
                told_anew |= {line.id} if named else set()
                continue
            written_by_model = line.provenance.get("source") != "grounded"
            if (tied or (named and written_by_model)) and not self._people(others):
                gone.add(line.id)
            elif named or (tied and line.kind != "image"):
                told_anew.add(line.id)
        gone |= self._told_by_models(traits, gone) | self._facts.naming(traits.names)
        return gone, told_anew - gone

    def _concerned(self, traits: Traits) -> Iterator[Node]:
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
        tags = [str(Tag(kind, node)) for node in traits.node_ids for kind in ("face", "voice")]
        names = [name_pattern(name) for name in traits.names]
        for row in self._database.stream("SELECT id, text || ' ' || provenance AS told FROM nodes"):
            told = row["told"]
            if any(tag in told for tag in tags) or any(name.search(fold(told)) for name in names):
                found.add(row["id"])
        yield from (self._graph.node(node_id) for node_id in sorted(found - traits.node_ids))

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
        for clip_id in self.clips_heard(traits):
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

    def clips_heard(self, traits: Traits) -> set[int]:
        """Clips with sound of theirs."""
        rows = self._database.rows(
            """SELECT DISTINCT nc.clip_id FROM node_clips nc JOIN edges e ON e.source = nc.node_id
            JOIN nodes n ON n.id = e.source WHERE e.relation = 'mentions' AND e.detail = 'actor'
            AND json_extract(n.provenance, '$.event') = 'heard'
            AND e.target IN (SELECT value FROM json_each(?))""",
            (json.dumps(sorted(traits.node_ids)),),
        )
        return {row["clip_id"] for row in rows}

    def clips_alone(self, traits: Traits) -> list[int]:
        """Clips in which they and nobody else known were met."""
        rows = self._database.rows(
            """SELECT nc.clip_id FROM node_clips nc JOIN nodes n ON n.id = nc.node_id WHERE n.kind IN ('face', 'voice')
            GROUP BY nc.clip_id HAVING min(nc.node_id IN (SELECT value FROM json_each(?)))""",
            (json.dumps(sorted(traits.node_ids)),),
        )
        return [row["clip_id"] for row in rows]

    def images(self, clip_ids: list[int], gone: Collection[int]) -> list[Node]:
        """The pictures of clips, and those among the nodes that go."""
        sql = """SELECT id FROM nodes WHERE kind = 'image' AND (clip_id IN (SELECT value FROM json_each(?))
            OR id IN (SELECT value FROM json_each(?))) ORDER BY id"""
        rows = self._database.rows(sql, (json.dumps(clip_ids), json.dumps(sorted(gone))))
        return [self._graph.node(row["id"]) for row in rows]
