"""The vector index of one space: a cache of what SQLite holds, exact while small, hnswlib graphs when large.

A graph never changes (segment.py); what is in none is compared one by one, and built into one by a thread.
"""

import os

import numpy as np

from memory_store.database import Database, Row
from memory_store.filters import Allowed
from memory_store.index_build import Building, Job, save, to_merge
from memory_store.index_file import Ids, IndexFile
from memory_store.index_load import built_elsewhere, clean, load, scrubbed
from memory_store.nearest import Near, VectorArray, best_nodes, scan, stored_rows
from memory_store.records import Vector, VectorSpace
from memory_store.segment import Segment
from memory_store.segment_search import SegmentSearch, compared

# So many vectors in no graph are built into one; comparing as many takes 0.6 ms at 384 dimensions on one x86 core.
EXACT_BELOW = 8192
# A graph grows to so many times that by merging: its memory is copied for saving, which stops Python for 60 ms.
_LARGEST = 4
# While so many times more are in no graph, a commit waits this long for the thread; of so many times more, what
# is newest is not kept in memory but read from the database for each query.
_BEHIND = 8
_WAIT_S = 0.05
_READ = 8192  # vectors read at once
_KEPT = 16


class SpaceIndex:
    """Nearest nodes of a space, always as of what the database's connection sees.

    What a graph says is looked up in the database before it is believed, what no graph holds is compared
    exactly, and a file that disagrees with the database is dropped and built anew.
    """

    def __init__(
        self,
        database: Database,
        space: VectorSpace,
        file: IndexFile,
        *,
        exact_below: int = EXACT_BELOW,
    ) -> None:
        self.space = space
        self._database = database
        self._file = file
        self._exact_below = exact_below
        self._kept = _KEPT * exact_below
        self._segments: list[Segment] | None = None  # not loaded yet
        self._tail = VectorArray(space.dimension)
        self._building: Building | None = None
        self._search = SegmentSearch(space.name)
        self._count = self._last_id = self._dead = 0
        self._revision = self._restored = -1
        self._more = False  # whether the tail is not all that is in no graph
        self._uncommitted = False

    def nearest(self, query: Vector, k: int, allowed: Allowed | None) -> list[Near]:
        """The k nodes nearest to a vector of length 1, among the allowed ones, best first."""
        segments = self._synced()
        if self._count == 0 or k < 1:
            return []
        nodes, cosines = self._tail.similarities(query, allowed)
        if self._more:
            after_id = int(self._tail.ids[-1]) if self._tail.count else 0
            more = scan(self._database, self.space, query, after_id=after_id, allowed=allowed)
            nodes, cosines = np.concatenate([nodes, more[0]]), np.concatenate([cosines, more[1]])
        if not segments:
            return best_nodes(nodes, cosines, k)
        held = sum(len(segment.ids) for segment in segments)
        wanted = k if allowed is None else 3 * k * held // (2 * max(1, len(allowed.ids))) + k
        # Comparing a vector of known id costs less than having a graph find one, and loses none: of a million vectors,
        # where a filter lets 1 % pass, the graphs found 0.982 of the nearest; comparing 10,000 takes 7 ms.
        while wanted < (held if allowed is None else len(allowed.ids) // 8):
            found = self._nearest_in_graphs(segments, query, wanted, allowed)
            if found is None:
                break
            near = best_nodes(np.concatenate([nodes, found[0]]), np.concatenate([cosines, found[1]]), k)
            if len(near) == k and near[-1].similarity >= found[2]:
                return near
            wanted *= 4  # several vectors of the same nodes, or such that are not allowed or gone
        compared = self._compared(segments, query, allowed)
        return best_nodes(np.concatenate([nodes, compared[0]]), np.concatenate([cosines, compared[1]]), k)

    def after_commit(self) -> None:
        """See what was committed, and have the thread build what is in no graph."""
        self._uncommitted = False
        self._synced()
        self._build()
        if self._building is not None and self._tail.count > _BEHIND * self._exact_below:
            self._building.wait(_WAIT_S)

    def after_rollback(self) -> None:
        """Forget what was read inside of the transaction."""
        if self._uncommitted:
            self._uncommitted, self._restored = False, -1

    def settle(self, threads: int = 1) -> None:
        """Build and save all there is to build, now; as many graphs at once as there are threads."""
        self._synced()
        self._finish()
        while jobs := self._jobs(threads):
            for building in [Building(job, self._file) for job in jobs]:
                building.wait()
                self._adopt(building)
            if self._more:
                self._check()

    def rebuild(self) -> None:
        """Build the whole index from the database and save it; while the space is small it needs no file."""
        self._finish(stop=True)
        self._segments, self._restored = [], -1
        clean(self._file, self._file.names())
        self._synced()
        self.settle(os.cpu_count() or 1)

    def scrub(self) -> None:
        """Leave nothing of deleted vectors in memory or in the files, which another process may have written."""
        self._finish(stop=True)
        self._segments, self._restored = None, -1
        self._synced()

    def close(self) -> None:
        """Stop building; what is built is saved, without what was deleted."""
        self._finish(stop=True)
        self._search.close()
        if self._segments and not self._database.read_only:
            self._segments = [s if s.stored.name else save(s, self._file) for s in self._segments]
            self._synced()
            if self._missing():
                self._check()

    def _synced(self) -> list[Segment]:
        """The segments, when the tail holds all that is in none of them."""
        row = self._database.row(
            "SELECT count, last_id, revision, restored FROM vector_counts WHERE space = ? AND model = ?",
            (self.space.name, self.space.model),
        )
        count, last_id, revision, restored = (0, 0, 0, 0) if row is None else tuple(row)
        in_write = self._database.in_write
        if self._segments is None:
            self._segments = load(self._database, self._file, last_id)
        known = (self._count, self._last_id, self._revision, self._restored)
        if known != (count, last_id, revision, restored):
            self._uncommitted |= in_write
            self._count = count
            if restored != self._restored or last_id < self._last_id:
                self._restored, self._revision, self._last_id = restored, revision, last_id
                self._check()
            else:
                if revision != self._revision:
                    self._revision = revision
                    self._tail.set_nodes(self._stored(self._tail.ids, "id, node_id"))
                self._extend(last_id)
        if in_write:
            return self._segments
        if self._building is not None and self._building.done:
            self._finish()
            self._build()
        if self._missing() - self._dead > max(self._exact_below, self._held() // 8):
            self._check()
        return self._segments

    def _held(self) -> int:
        return sum(len(segment.ids) for segment in self._segments or ())

    def _missing(self) -> int:
        """How many vectors of the segments are deleted; 0 while that is not known."""
        return 0 if self._more else self._held() + self._tail.count - self._count

    def _extend(self, last_id: int) -> None:
        if last_id > self._last_id and not self._more:
            rows = self._database.rows(
                """SELECT id, node_id, vector FROM vectors WHERE space = ? AND model = ? AND id > ?
                ORDER BY id LIMIT ?""",
                (self.space.name, self.space.model, self._last_id, self._kept - self._tail.count + 1),
            )
            self._more = self._tail.count + len(rows) > self._kept
            self._tail.extend(rows)
        self._last_id = last_id

    def _stored(self, ids: Ids, columns: str) -> list[Row]:
        return stored_rows(self._database, self.space, ids, columns)

    def _check(self) -> None:
        """Compare all ids with the database: fill the tail anew, scrub what is gone."""
        assert self._segments is not None
        sql = "SELECT id FROM vectors WHERE space = ? AND model = ?"
        stored = self._database.ids(sql, (self.space.name, self.space.model))
        covered = np.zeros(len(stored), bool)
        self._segments = [segment.current() for segment in self._segments]
        for segment in self._segments:
            at = np.searchsorted(stored, segment.ids)
            living = at[np.append(stored, -1)[at] == segment.ids]
            covered[living] = True
            segment.alive = len(living)
        bare = stored[~covered]
        self._more = len(bare) > self._kept
        self._tail = VectorArray(self.space.dimension)
        for start in range(0, min(len(bare), self._kept), _READ):
            part = bare[start : min(start + _READ, self._kept)]
            self._tail.extend(self._stored(part, "id, node_id, vector"))
        self._dead = self._held() - sum(segment.alive for segment in self._segments)
        if self._dead and not self._database.in_write and not self._database.read_only:
            self._segments = [scrubbed(segment, stored, self._file) for segment in self._segments]
            self._segments = [segment for segment in self._segments if segment.alive]
            self._dead = self._held() - sum(segment.alive for segment in self._segments)

    def _build(self) -> None:
        if self._building is not None or not (jobs := self._jobs(1)):
            return
        elsewhere = built_elsewhere(self._database, self._file, self._segments or (), self._last_id)
        for segment in elsewhere:
            self._take(segment)
        if elsewhere:
            self._check()  # what a segment that was let go held beside them is in none now
            jobs = self._jobs(1)
        if jobs:
            self._building = Building(jobs[0], self._file)

    def _jobs(self, limit: int) -> list[Job]:
        """What to build next, at once; committed vectors alone are ever built."""
        size, tail = _LARGEST * self._exact_below, self._tail
        if tail.count >= self._exact_below:
            starts = range(0, tail.count, size)[:limit]
            return [
                Job(
                    tail.ids[start : start + size].copy(),
                    tail.vectors[start : start + size].copy(),
                    (),
                    self._restored,
                )
                for start in starts
            ]
        if not (chosen := to_merge(self._segments or (), size)):
            return []
        ids = np.sort(np.concatenate([segment.ids for segment in chosen]))
        sql = "SELECT id FROM vectors WHERE space = ? AND model = ? AND id BETWEEN ? AND ?"
        bounds = (int(ids[0]), int(ids[-1]))
        living = self._database.ids(sql, (self.space.name, self.space.model, *bounds))
        return [Job(np.intersect1d(ids, living, assume_unique=True), None, tuple(chosen), self._restored)]

    def _finish(self, *, stop: bool = False) -> None:
        """Wait for what is being built, or stop it, and take over what came of it."""
        if self._building is not None:
            building, self._building = self._building, None
            if stop:
                building.stop()
            building.wait()
            self._adopt(building)
            if self._more or building.job.restored != self._restored:
                self._check()

    def _adopt(self, building: Building) -> None:
        if building.segment is not None:
            self._take(building.segment)

    def _take(self, segment: Segment) -> None:
        assert self._segments is not None
        self._segments = [*(old for old in self._segments if not old.overlaps(segment)), segment]
        self._tail.keep(np.flatnonzero(~np.isin(self._tail.ids, segment.ids)))

    def _nearest_in_graphs(
        self, segments: list[Segment], query: Vector, wanted: int, allowed: Allowed | None
    ) -> tuple[Ids, Vector, float] | None:
        """Nodes and cosines of the allowed ones of the `wanted` nearest, and the lowest cosine looked at."""
        found = self._search.nearest(segments, query, wanted)
        if found is None:
            return None
        ids, cosines, lowest = found
        node_of = {row[0]: row[1] for row in self._stored(ids, "id, node_id")}
        nodes = np.array([node_of.get(vector_id, 0) for vector_id in ids.tolist()], np.int64)
        kept = nodes > 0 if allowed is None else allowed.contains(nodes)
        return nodes[kept], cosines[kept], lowest

    def _compared(
        self, segments: list[Segment], query: Vector, allowed: Allowed | None
    ) -> tuple[Ids, Vector]:
        """Nodes and cosines of all allowed vectors that are not in the tail."""
        sql, parameters = "FROM vectors", tuple[object, ...]()
        if allowed is not None:
            sql = f"FROM ({allowed.sql.text}) CROSS JOIN vectors ON node_id = value"
            parameters = allowed.sql.parameters
        # As two texts: thousands of rows as objects would have Python collect its garbage, which takes 60 ms.
        row = self._database.row(
            f"""SELECT group_concat(id) AS ids, group_concat(node_id) AS nodes
            FROM (SELECT vectors.id, node_id {sql} WHERE space = ? AND model = ?)""",
            (*parameters, self.space.name, self.space.model),
        )
        if row is None or not row["ids"]:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        ids, nodes = (np.fromstring(row[column], np.int64, sep=",") for column in ("ids", "nodes"))
        bare = ~np.isin(ids, self._tail.ids)
        ids, nodes = ids[bare], nodes[bare]
        at, cosines = compared(segments, ids, query)
        return nodes[at], cosines
