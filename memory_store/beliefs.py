"""What is believed of somebody: facts that cannot both hold, weighed against each other by evidence and recency."""

import json
import math
from collections.abc import Collection
from dataclasses import dataclass, replace

from memory_store.database import Database, Row
from memory_store.facts import CHANGED, Facts, is_rival, triple_of
from memory_store.identity import Identity
from memory_store.records import Belief

HALF_LIFE_S = (
    30 * 86400.0
)  # a statement counts half as much after this time, against the newest of its rivals
HEARSAY = 0.5  # what others say of somebody counts half of what they say themselves


@dataclass(frozen=True)
class Beliefs:
    """Reads beliefs; everything is as it was before a clip where one is given."""

    database: Database
    facts: Facts
    identity: Identity

    def of(
        self,
        person_id: int | None,
        *,
        names: Collection[str] = (),
        relations: Collection[str] | None = None,
    ) -> list[Belief]:
        """All that was said of a person, and of whoever is called so, with what holds now marked; oldest first.

        Of facts that cannot both hold the one with the most support is current. Support: the sum, over the clips
        that say so, of weight x 2^(-(T - t) / HALF_LIFE_S), with t the time of the clip's statement and T that of
        the newest among the rivals. What was said before a rival's statement of a change ("not any more", "now")
        does not count. Equal support: the later statement, then the later node.
        """
        nodes = [] if person_id is None else [one.node_id for one in self.identity.bindings(person_id)]
        with self.database.snapshot():
            groups: dict[tuple[object, ...], list[Row]] = {}
            for row in self.facts.rows_about(nodes, names, relations):
                hearsay = row["subject_id"] is None
                key = (
                    hearsay,
                    "" if hearsay else row["subject"],
                    row["relation"],
                    row["object"],
                    row["polarity"],
                )
                groups.setdefault(key, []).append(row)
            read = [self._belief(group) for group in groups.values()]
        found = [belief for belief in read if belief is not None]
        judged = [_judged(one, found) for one in found]
        return sorted(judged, key=lambda one: (one.first_utc_s, one.node_ids))

    def _belief(self, group: list[Row]) -> Belief | None:
        """One thing said, whichever faces and voices of the person it was tied to; None: no clip says so."""
        nodes = json.dumps([row["node_id"] for row in group])
        hearsay = group[0]["subject_id"] is None
        clips = self.database.rows(
            """SELECT nc.clip_id, max(nc.weight) AS weight, max(nc.end_utc_s) AS time FROM node_clips nc
            WHERE nc.node_id IN (SELECT value FROM json_each(?)) GROUP BY nc.clip_id ORDER BY time, nc.clip_id""",
            (nodes,),
        )
        if not clips:
            return None
        lines = self.database.rows(
            """SELECT e.target, e.detail, n.end_utc_s FROM edges e JOIN nodes n ON n.id = e.target
            WHERE e.source IN (SELECT value FROM json_each(?)) AND e.relation = 'derived_from'
            AND n.clip_id IN (SELECT value FROM json_each(?)) ORDER BY n.start_utc_s, n.id""",
            (nodes, json.dumps([row["clip_id"] for row in clips])),
        )
        triple, share = triple_of(group[0]), HEARSAY if hearsay else 1.0
        return Belief(
            node_ids=tuple(sorted(row["node_id"] for row in group)),
            line_ids=tuple(dict.fromkeys(row["target"] for row in lines)),
            triple=replace(triple, subject="") if hearsay else triple,
            hearsay=hearsay,
            statements=tuple((row["time"], row["weight"] * share) for row in clips),
            changed_utc_s=max((row["end_utc_s"] for row in lines if row["detail"] == CHANGED), default=None),
            support=0.0,
            current=True,
        )


def _judged(one: Belief, found: list[Belief]) -> Belief:
    rivals = _rivals(one, found)
    newest = max(other.last_utc_s for other in (one, *rivals))

    def rank(belief: Belief) -> tuple[float, float, tuple[int, ...]]:
        return _support(belief, _rivals(belief, found), newest), belief.last_utc_s, belief.node_ids

    mine = rank(one)
    return replace(one, support=mine[0], current=all(mine > rank(other) for other in rivals))


def _rivals(one: Belief, found: list[Belief]) -> list[Belief]:
    return [other for other in found if is_rival(one.triple, other.triple)]


def _support(one: Belief, rivals: list[Belief], newest_utc_s: float) -> float:
    changes = [rival.changed_utc_s for rival in rivals if rival.changed_utc_s is not None]
    since = max(changes, default=-math.inf)
    counted = [(time, weight) for time, weight in one.statements if time >= since]
    return math.fsum(weight * math.exp2((time - newest_utc_s) / HALF_LIFE_S) for time, weight in counted)
