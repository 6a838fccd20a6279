"""Objects that are met again, where and in which pictures they were seen, and which of them are let go."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from memory_store.database import Database
from memory_store.graph import Graph, node_of_row
from memory_store.records import Exemplar, Node
from memory_store.vectors import Vectors, decoded

SPACE = "object"
_KEPT = ("belongs_to", "gift_from")
_LATEST = 256  # of an object's newest ties this many are looked at for the latest picture


@dataclass(frozen=True)
class KnownObject:
    """An object with an id of its own; `clips` is 1 where it was seen in one clip only, 2 for two and more."""

    node: Node
    clips: int

    @property
    def id(self) -> int:
        """Its node's id."""
        return self.node.id

    @property
    def label(self) -> str:
        """What kind of thing it is."""
        return str(self.node.provenance["class"])

    @property
    def tentative(self) -> bool:
        """Whether it was seen in one clip only."""
        return self.clips < 2


@dataclass(frozen=True)
class Sighting:
    """An object in a picture: `object_id` is None where only its class was told, `spot` says where it was.

    box: x, y, width, height as shares of the picture, None where the picture does not say; held: in somebody's hand.
    """

    image: Node
    label: str
    object_id: int | None
    spot: Mapping[str, Any]
    box: tuple[float, float, float, float] | None
    held: bool


@dataclass(frozen=True)
class Objects:
    """Reads and writes objects, places and the pictures that show them, inside the caller's transaction."""

    database: Database
    graph: Graph
    vectors: Vectors

    def known(self, labels: Collection[str] | None = None) -> list[KnownObject]:
        """The objects with an id, or those of some classes, by id."""
        rows = self.database.rows(
            """SELECT n.id, (SELECT count(*) FROM (SELECT 1 FROM node_clips WHERE node_id = n.id LIMIT 2)) AS clips
            FROM nodes n WHERE n.kind = 'object' AND json_extract(n.provenance, '$.any') IS NULL
            AND (?1 IS NULL OR n.text IN (SELECT value FROM json_each(?1))) ORDER BY n.id""",
            (None if labels is None else json.dumps(sorted(labels)),),
        )
        return [KnownObject(self.graph.node(row["id"]), row["clips"]) for row in rows]

    def exemplars(self, labels: Collection[str]) -> list[Exemplar]:
        """The stored looks of the objects of some classes, oldest first."""
        space = self.vectors.space(SPACE)
        rows = self.database.rows(
            """SELECT v.id, v.node_id, v.clip_id, v.quality, v.vector FROM nodes n JOIN vectors v ON v.node_id = n.id
            WHERE n.kind = 'object' AND n.text IN (SELECT value FROM json_each(?)) AND v.space = ? AND v.model = ?
            AND v.exemplar = 1 ORDER BY v.id""",
            (json.dumps(sorted(labels)), space.name, space.model),
        )
        return [
            Exemplar(row["id"], row["node_id"], None, space.name, vector, row["quality"], row["clip_id"])
            for row, vector in zip(rows, decoded(rows, space.dimension), strict=True)
        ]

    def some(self, label: str, at_utc_s: float) -> int:
        """The node that stands for any object of a class, for what is seen and cannot be told apart."""
        return self._found_or_added("object", label, {"class": label, "any": True}, at_utc_s)

    def class_node(self, label: str) -> int | None:
        """The node that `some` made for a class, or None."""
        row = self.database.row(
            """SELECT id FROM nodes WHERE kind = 'object' AND text = ?
            AND json_extract(provenance, '$.any') IS NOT NULL""",
            (label,),
        )
        return None if row is None else int(row["id"])

    def place(self, text: str, provenance: Mapping[str, Any], at_utc_s: float) -> int:
        """The place with this text and provenance."""
        return self._found_or_added("place", text, provenance, at_utc_s)

    def _found_or_added(self, kind: str, text: str, provenance: Mapping[str, Any], at_utc_s: float) -> int:
        stored = json.dumps(provenance, ensure_ascii=False)
        row = self.database.row(
            "SELECT id FROM nodes WHERE kind = ? AND text = ? AND provenance = ?", (kind, text, stored)
        )
        if row is not None:
            self.database.write(
                """UPDATE nodes SET end_utc_s = max(end_utc_s, ?1), last_seen_utc_s = max(last_seen_utc_s, ?1),
                start_utc_s = min(start_utc_s, ?1), first_seen_utc_s = min(first_seen_utc_s, ?1) WHERE id = ?2""",
                (at_utc_s, row["id"]),
            )
            return int(row["id"])
        return self.graph.add_node(
            "place" if kind == "place" else "object",
            text,
            clip_id=None,
            start_utc_s=at_utc_s,
            end_utc_s=at_utc_s,
            provenance=provenance,
            vectors={},
        )

    def sightings(
        self,
        node_ids: Collection[int],
        *,
        after_utc_s: float | None = None,
        before_utc_s: float | None = None,
        limit: int = 1,
    ) -> list[Sighting]:
        """The latest pictures that show one of the objects, within a span of time, latest first.

        Without a span, of each object only what was tied to it last is looked at, so that it takes the same time
        however often it was seen.
        """
        latest = _LATEST if after_utc_s is None and before_utc_s is None else -1
        ids: list[int] = []
        for node_id in node_ids:
            sql = "SELECT id FROM edges WHERE target = ? AND relation = 'mentions' ORDER BY id DESC LIMIT ?"
            ids += [row["id"] for row in self.database.rows(sql, (node_id, latest))]
        rows = self.database.rows(
            """SELECT i.id, e.target, e.detail FROM edges e JOIN nodes i ON i.id = e.source
            WHERE e.id IN (SELECT value FROM json_each(?1)) AND i.kind = 'image'
            AND json_extract(i.provenance, '$.source') = 'keyframe' AND (?2 IS NULL OR i.start_utc_s >= ?2)
            AND (?3 IS NULL OR i.start_utc_s < ?3) ORDER BY i.start_utc_s DESC, i.id DESC, e.id LIMIT ?4""",
            (json.dumps(ids), after_utc_s, before_utc_s, limit),
        )
        found = []
        for row in rows:
            image, target = self.graph.node(row["id"]), self.graph.node(row["target"])
            found.append(_sighting(image, target, held=row["detail"] == "held_by"))
        return found

    def latest_image(self, before_utc_s: float, place: str) -> Node | None:
        """The newest keyframe of a place before a moment."""
        row = self.database.row(
            """SELECT i.* FROM nodes i JOIN clips c ON c.id = i.clip_id WHERE i.kind = 'image' AND i.start_utc_s < ?
            AND c.place = ? AND json_extract(i.provenance, '$.source') = 'keyframe'
            ORDER BY i.start_utc_s DESC, i.id DESC LIMIT 1""",
            (before_utc_s, place),
        )
        return None if row is None else node_of_row(row)

    def portraits(self, object_ids: Collection[int]) -> list[Node]:
        """The pictures that stand for some objects, oldest first."""
        rows = self.database.rows(
            """SELECT target AS id FROM edges WHERE source IN (SELECT value FROM json_each(?))
            AND relation = 'entity_link' AND detail = 'portrait' ORDER BY target""",
            (json.dumps(sorted(object_ids)),),
        )
        return [self.graph.node(row["id"]) for row in rows]

    def told_of(self, object_id: int, details: Collection[str]) -> list[tuple[int, str]]:
        """The lines that tell something of an object ("belongs_to", "held_by"), each with what, oldest first."""
        rows = self.database.rows(
            """SELECT e.source, e.detail FROM edges e JOIN nodes n ON n.id = e.source WHERE e.target = ?
            AND e.relation = 'mentions' AND e.detail IN (SELECT value FROM json_each(?)) AND n.kind = 'episodic'
            ORDER BY e.id""",
            (object_id, json.dumps(sorted(details))),
        )
        return [(row["source"], row["detail"]) for row in rows]

    def remove(self, node_ids: Collection[int]) -> tuple[str, ...]:
        """Delete objects with their portraits, or pictures; the files to delete."""
        portraits = self.portraits(node_ids)
        own = [self.graph.node(node_id) for node_id in sorted(node_ids)]
        gone = {node.id: node for node in (*portraits, *own)}
        self.database.write(
            "DELETE FROM nodes WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(sorted(gone)),)
        )
        return tuple(
            str(node.provenance["file"]["path"]) for node in gone.values() if "file" in node.provenance
        )

    def expired(self, before_utc_s: float, limit: int) -> list[int]:
        """Which objects are to go: seen in one clip only, before a moment; and what is beyond `limit`, by id.

        Of the latter those seen in one clip only go first, then those not seen for longest; what somebody said to
        whom it belongs, or from whom it is, never goes.
        """
        known = self.known()
        old = [one for one in known if one.tentative and one.node.last_seen_utc_s < before_utc_s]
        gone = {one.id for one in old if not self.told_of(one.id, _KEPT)}
        rest = sorted(
            (one for one in known if one.id not in gone),
            key=lambda one: (not one.tentative, one.node.last_seen_utc_s, one.id),
        )
        for one in rest:
            if len(known) - len(gone) <= limit:
                break
            if not self.told_of(one.id, _KEPT):
                gone.add(one.id)
        return sorted(gone)


def _sighting(image: Node, node: Node, *, held: bool) -> Sighting:
    """What a picture's own list says of an object: class, id, and where it was."""
    label = str(node.provenance.get("class", node.text))
    own = None if node.provenance.get("any") else node.id
    for told in image.provenance.get("objects", ()):
        if told.get("id") == own and (own is not None or told.get("class") == label):
            x, y, width, height = told["box"]
            box = (float(x), float(y), float(width), float(height))
            return Sighting(image, str(told["class"]), own, told.get("spot", {}), box, held)
    return Sighting(image, label, own, {}, None, held)
