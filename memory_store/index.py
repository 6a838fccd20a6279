"""The vector index of one space: a cache of what SQLite holds, exact while small, hnswlib when large."""

import json
import logging

import hnswlib
import numpy as np

from memory_store.database import Database, Row
from memory_store.filters import Allowed
from memory_store.index_file import EF_SEARCH, IndexFile, new_index
from memory_store.nearest import Ids, Near, VectorArray, best_nodes, scan
from memory_store.records import Vector, VectorSpace
from memory_store.vectors import decoded

logger = logging.getLogger(__name__)

# Below this many vectors one product over an array in memory is exact, needs no file, and takes 4 ms at
# 20,000 x 384 on one x86 core where hnswlib takes 1.5 ms; on ARM hnswlib has no SIMD path.
EXACT_BELOW = 20_000
# How many vectors one commit adds to an hnswlib index at most, and after how many it is saved.
ADDED_A_COMMIT = 128
SAVED_EVERY = 4096
_SAMPLES = 16


class SpaceIndex:
    """Nearest nodes of a space, always as of what the database's connection sees.

    The file is never trusted: what it lacks is scanned exactly, what the database no longer holds is
    dropped, and where it disagrees it is built anew, a little at each commit.
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
        self._array: VectorArray | None = None
        self._array_uncommitted = False
        self._array_revision = 0
        self._hnsw_revision = -1
        self._hnsw: hnswlib.Index | None = None
        self._hnsw_count = 0
        self._hnsw_last_id = 0
        self._hnsw_deleted: set[int] = set()
        self._unsaved = 0
        self._file_tried = False

    def nearest(self, query: Vector, k: int, allowed: Allowed | None) -> list[Near]:
        """The k nodes nearest to a vector of length 1, among the allowed ones, best first."""
        count, last_id = self._database_state()
        if count == 0 or k < 1:
            return []
        if count < self._exact_below:
            self._drop_hnsw()
            nodes, similarities = self._synced_array(count, last_id).similarities(query, allowed)
            return best_nodes(nodes, similarities, k)
        self._array = None
        if not self._synced_hnsw(count):
            return best_nodes(*scan(self._database, self.space, query, after_id=0, allowed=allowed), k)
        return self._nearest_hnsw(query, k, allowed)

    def after_commit(self) -> None:
        """Bring the cache nearer to what was committed; bounded work, and no error for a cache."""
        self._array_uncommitted = False
        count, _ = self._database_state()
        if count < self._exact_below:
            return
        if not self._synced_hnsw(count):
            self._start_hnsw(count)
        self._add(ADDED_A_COMMIT)
        if self._unsaved >= SAVED_EVERY:
            self.save()

    def after_rollback(self) -> None:
        """Forget what was read inside of the transaction."""
        if self._array_uncommitted:
            self._array, self._array_uncommitted = None, False

    def rebuild(self) -> None:
        """Build the whole index from the database and save it; while the space is small it needs no file."""
        count, _ = self._database_state()
        self._drop_hnsw()
        self._array = None
        try:
            self._file.remove()
        except OSError as error:
            logger.warning("the old vector index of %s was not deleted: %s", self.space.name, error)
        if count >= self._exact_below:
            self._start_hnsw(count)
            while self._add(SAVED_EVERY):
                pass
            self.save()

    def save(self) -> None:
        """Write the index file; a cache that cannot be written is logged and done without."""
        if self._hnsw is None or not self._unsaved:
            return
        if self._hnsw_deleted:  # hnswlib keeps deleted vectors in its file: build one without them
            self._start_hnsw(self._hnsw_count)
            while self._add(SAVED_EVERY):
                pass
        try:
            if self._file.save(self._hnsw, self._hnsw_last_id):
                self._unsaved = 0
        except OSError as error:
            logger.warning("the vector index of %s was not saved: %s", self.space.name, error)

    def _database_state(self) -> tuple[int, int]:
        row = self._database.row(
            "SELECT count, last_id FROM vector_counts WHERE space = ? AND model = ?",
            (self.space.name, self.space.model),
        )
        return (0, 0) if row is None else (row["count"], row["last_id"])

    def _database_revision(self) -> int:
        """A number that changes whenever vectors were deleted, put back or given to other nodes."""
        row = self._database.row(
            "SELECT revision FROM vector_counts WHERE space = ? AND model = ?",
            (self.space.name, self.space.model),
        )
        return 0 if row is None else int(row["revision"])

    def _rows(self, after_id: int, limit: int) -> list[Row]:
        return self._database.rows(
            "SELECT id, node_id, vector FROM vectors WHERE space = ? AND model = ? AND id > ? ORDER BY id LIMIT ?",
            (self.space.name, self.space.model, after_id, limit),
        )

    def _synced_array(self, count: int, last_id: int) -> VectorArray:
        revision = self._database_revision()
        known = self._array if revision == self._array_revision else None
        array = known or VectorArray(self.space.dimension)
        if array.last_id < last_id:
            array.extend(self._rows(array.last_id, -1))
            self._array_uncommitted |= self._database.in_write
        if array.count != count or array.last_id > last_id:  # rows were deleted
            array = VectorArray(self.space.dimension)
            array.extend(self._rows(0, -1))
            self._array_uncommitted |= self._database.in_write
        self._array, self._array_revision = array, revision
        return array

    def _synced_hnsw(self, count: int) -> bool:
        """Whether an hnswlib index agrees with the database up to its last id; loads or drops one."""
        if self._hnsw is None and not self._file_tried:
            self._load_hnsw()
        if self._hnsw is None:
            return False
        revision = self._database_revision()
        if count - self._count_newer() == self._hnsw_count and revision == self._hnsw_revision:
            return True
        if self._database.in_write:  # not committed yet, perhaps never
            return False
        return self._mark_deleted()

    def _count_newer(self) -> int:
        row = self._database.row(
            "SELECT count(*) FROM vectors WHERE space = ? AND model = ? AND id > ?",
            (self.space.name, self.space.model, self._hnsw_last_id),
        )
        return int(row[0]) if row else 0

    def _mark_deleted(self) -> bool:
        """Drop from the index what the database has no more; False where the index itself lacks rows."""
        assert self._hnsw is not None
        rows = self._database.rows(
            "SELECT id FROM vectors WHERE space = ? AND model = ? AND id <= ?",
            (self.space.name, self.space.model, self._hnsw_last_id),
        )
        stored = {row["id"] for row in rows}
        indexed = set(self._hnsw.get_ids_list()) - self._hnsw_deleted
        if not stored <= indexed:
            logger.warning("the vector index of %s lacks rows: it is built anew", self.space.name)
            self._drop_hnsw()
            return False
        for vector_id in indexed - stored:
            self._hnsw.mark_deleted(vector_id)
            self._hnsw_deleted.add(vector_id)
            self._unsaved += 1
        self._hnsw_count, self._hnsw_revision = len(stored), self._database_revision()
        return True

    def _load_hnsw(self) -> None:
        self._file_tried = True
        loaded = self._file.load()
        if isinstance(loaded, str):
            logger.info("no vector index of %s to use, it is built anew: %s", self.space.name, loaded)
            return
        index, sidecar = loaded
        if not self._holds_the_same(index):
            logger.warning("the vector index of %s is of another memory: it is built anew", self.space.name)
            return
        self._hnsw, self._hnsw_count, self._hnsw_last_id = index, sidecar.count, sidecar.last_vector_id
        self._hnsw_deleted, self._unsaved = set(), 0
        self._hnsw_revision = -1  # the file does not say: compared once with what the database holds

    def _holds_the_same(self, index: hnswlib.Index) -> bool:
        """Whether a sample, the newest included, is what the database holds under those ids."""
        ids = sorted(index.get_ids_list())
        sample = {*ids[:: max(1, len(ids) // _SAMPLES)], *ids[-1:]}
        rows = self._database.rows(
            "SELECT id, vector FROM vectors WHERE space = ? AND model = ? AND id IN (SELECT value FROM json_each(?))",
            (self.space.name, self.space.model, json.dumps(sorted(sample))),
        )
        if not rows:
            return False
        indexed = np.asarray(index.get_items([row["id"] for row in rows]), np.float32)
        return bool(np.allclose(indexed, decoded(rows, self.space.dimension), atol=1e-6))

    def _start_hnsw(self, capacity: int) -> None:
        self._hnsw = new_index(self.space, capacity)
        self._hnsw_count, self._hnsw_last_id, self._hnsw_deleted = 0, 0, set()
        self._hnsw_revision = self._database_revision()

    def _drop_hnsw(self) -> None:
        self._hnsw = None

    def _add(self, limit: int) -> int:
        """Add the next vectors; how many."""
        assert self._hnsw is not None
        rows = self._rows(self._hnsw_last_id, limit)
        if rows:
            held = self._hnsw.get_current_count() + len(rows)
            if held > self._hnsw.get_max_elements():
                self._hnsw.resize_index(2 * held)
            ids = [row["id"] for row in rows]
            self._hnsw.add_items(decoded(rows, self.space.dimension), ids, num_threads=1)
            self._hnsw_last_id = ids[-1]
            self._hnsw_count += len(rows)
            self._unsaved += len(rows)
        return len(rows)

    def _nearest_hnsw(self, query: Vector, k: int, allowed: Allowed | None) -> list[Near]:
        """Approximate among what is indexed, exact among what is newer; exact altogether if few are allowed."""
        newer = scan(self._database, self.space, query, after_id=self._hnsw_last_id, allowed=allowed)
        wanted = 4 * k
        if allowed is not None:
            wanted = max(wanted, 2 * k * self._hnsw_count // max(1, len(allowed.ids)))
        while True:
            # Taking a vector out of hnswlib costs about as much as reading one from SQLite, so that looking
            # past what is not allowed pays as long as it takes out fewer than are allowed.
            if allowed is not None and wanted >= len(allowed.ids):
                break
            wanted = min(wanted, self._hnsw_count)
            indexed = self._query_hnsw(query, wanted, allowed)
            if indexed is None:
                break
            nodes = np.concatenate([indexed[0], newer[0]])
            near = best_nodes(nodes, np.concatenate([indexed[1], newer[1]]), k)
            if len(near) == k or wanted == self._hnsw_count:
                return near
            wanted *= 4  # several vectors of the same nodes, or nodes that are not allowed: look further
        return best_nodes(*scan(self._database, self.space, query, after_id=0, allowed=allowed), k)

    def _query_hnsw(self, query: Vector, wanted: int, allowed: Allowed | None) -> tuple[Ids, Vector] | None:
        """Allowed ones of the nearest indexed vectors; None where hnswlib cannot reach as many."""
        assert self._hnsw is not None
        self._hnsw.set_ef(max(EF_SEARCH, 2 * wanted))
        try:
            labels, distances = self._hnsw.knn_query(query, k=wanted, num_threads=1)
        except RuntimeError:
            return None
        rows = self._database.rows(
            "SELECT id, node_id FROM vectors WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(labels[0].tolist()),),
        )
        node_of = {row["id"]: row["node_id"] for row in rows}
        nodes = np.array([node_of.get(label, 0) for label in labels[0].tolist()], np.int64)
        kept = nodes > 0 if allowed is None else np.isin(nodes, allowed.ids)
        return nodes[kept], (1.0 - distances[0][kept]).astype(np.float32)
