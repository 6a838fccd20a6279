"""The timeline: what happened when, by whom, with the nodes that say so."""

import json
from dataclasses import dataclass, replace

from memory_store.database import Database, Row
from memory_store.filters import NodeFilter, evidence_condition
from memory_store.identity import Identity
from memory_store.records import Node, TimelineKind, TimelineRow
from memory_store.search import Search
from memory_store.tags import Tag, replace_tags

_NOBODY: tuple[None, None] = (None, None)
_KIND_OF_EVENT: dict[str, TimelineKind] = {"seen": "seen", "heard": "heard"}


@dataclass(frozen=True)
class Timeline:
    """Reads episodic and semantic nodes as rows of a timeline.

    A grounded node whose provenance says event "seen" or "heard" gives a row of that kind for each of its
    actors (`mentions` edges with detail "actor"); every other node gives one row of kind "noted", which
    carries a person where it has one actor, or mentions one person alone.
    """

    database: Database
    search: Search
    identity: Identity

    def rows(self, condition: NodeFilter, limit: int | None) -> list[TimelineRow]:
        """Rows in the order of time; a limit keeps the latest. Spans are those inside of the filter."""
        with self.database.snapshot():
            labels = self.identity.labels()
            # Without a beginning a row starts where its node does, so that the latest nodes give the latest rows.
            nodes_wanted = limit if condition.after_utc_s is None and condition.before_clip is None else None
            while True:
                nodes = self.search.select(condition, nodes_wanted)
                rows = self._read(nodes, condition, labels)
                if nodes_wanted is None or limit is None or len(rows) >= limit or len(nodes) < nodes_wanted:
                    break
                nodes_wanted = 4 * max(nodes_wanted, 1)
        rows.sort(key=lambda row: (row.start_utc_s, row.end_utc_s, row.evidence, row.person_id or 0))
        kept = rows if limit is None else rows[max(0, len(rows) - limit) :]

        def label(tag: Tag) -> str | None:
            return labels.get(tag.node_id, _NOBODY)[1]

        return [replace(row, text=replace_tags(row.text, label)) for row in kept]

    def _read(
        self, nodes: list[Node], condition: NodeFilter, labels: dict[int, tuple[int, str]]
    ) -> list[TimelineRow]:
        person_id = None if condition.person_id is None else self.identity.living(condition.person_id)
        spans = self._spans(nodes, condition)
        mentioned = self._mentioned(nodes)
        return [
            TimelineRow(start, end, clip_id, who, label, kind, node.text, (node.id,))
            for node in nodes
            if node.text  # a model's answer that could not be read tells of nothing
            for start, end, clip_id in [spans.get(node.id, (node.start_utc_s, node.end_utc_s, node.clip_id))]
            for kind, who, label in _readings(node, mentioned.get(node.id, []), labels, person_id)
        ]

    def _spans(self, nodes: list[Node], condition: NodeFilter) -> dict[int, tuple[float, float, int]]:
        """From where to where, and from which clip on, each node's evidence lies inside of the filter."""
        evidence = evidence_condition(condition, self.database)
        passing, parameters = ("1", ()) if evidence is None else (evidence.text, evidence.parameters)
        rows = self.database.rows(
            f"""SELECT nc.node_id, nc.clip_id, nc.start_utc_s AS start, nc.end_utc_s AS end
            FROM node_clips nc JOIN clips c ON c.id = nc.clip_id
            WHERE nc.node_id IN (SELECT value FROM json_each(?)) AND {passing} ORDER BY nc.start_utc_s, c.id""",
            (json.dumps([node.id for node in nodes]), *parameters),
        )
        spans: dict[int, tuple[float, float, int]] = {}
        for row in rows:
            start, end, clip_id = spans.get(row["node_id"], (row["start"], row["end"], row["clip_id"]))
            spans[row["node_id"]] = (start, max(end, row["end"]), clip_id)
        return spans

    def _mentioned(self, nodes: list[Node]) -> dict[int, list[Row]]:
        rows = self.database.rows(
            """SELECT source, target, detail FROM edges
            WHERE relation = 'mentions' AND source IN (SELECT value FROM json_each(?)) ORDER BY id""",
            (json.dumps([node.id for node in nodes]),),
        )
        found: dict[int, list[Row]] = {}
        for row in rows:
            found.setdefault(row["source"], []).append(row)
        return found


_Reading = tuple[TimelineKind, int | None, str | None]


def _readings(
    node: Node, mentioned: list[Row], labels: dict[int, tuple[int, str]], asked: int | None
) -> list[_Reading]:
    """What rows a node gives: kind, person id and label of each."""
    actors = dict.fromkeys(
        labels.get(row["target"], _NOBODY) for row in mentioned if row["detail"] == "actor"
    )
    kind = (
        _KIND_OF_EVENT.get(str(node.provenance.get("event")))
        if node.provenance.get("source") == "grounded"
        else None
    )
    if kind is not None:
        found: list[_Reading] = [(kind, who, label) for who, label in actors or {_NOBODY: None}]
        return [reading for reading in found if asked is None or reading[1] == asked]
    people = {labels[row["target"]] for row in mentioned if row["target"] in labels}
    named = {actor for actor in actors if actor[0] is not None} or people
    if asked is not None:
        named = {person for person in people if person[0] == asked}
    who, label = named.pop() if len(named) == 1 else _NOBODY
    return [("noted", who, label)]
