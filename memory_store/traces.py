"""Traces: how each question was answered, kept so that an answer can be explained later."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from memory_store.database import Database, Row
from memory_store.errors import InvalidValue, UnknownId
from memory_store.records import Trace


@dataclass(frozen=True)
class Traces:
    """Saving and reading traces."""

    database: Database
    clock: Callable[[], float]

    def save(self, question: str, answer: str, trace: Mapping[str, Any]) -> int:
        """Keep a trace; raises InvalidValue where it is not JSON."""
        try:
            text = json.dumps(trace, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InvalidValue(
                f"a trace that is not JSON ({error}): use numbers, text, lists, mappings"
            ) from error
        values = {"created_utc_s": self.clock(), "question": question, "answer": answer, "trace": text}
        return self.database.insert("traces", values)

    def select(self, limit: int | None = None) -> list[Trace]:
        """Traces, oldest first; a limit keeps the latest."""
        sql = "SELECT * FROM traces ORDER BY id DESC LIMIT ?"
        return [_trace(row) for row in reversed(self.database.rows(sql, (-1 if limit is None else limit,)))]

    def get(self, trace_id: int) -> Trace:
        """One trace; raises UnknownId."""
        row = self.database.row("SELECT * FROM traces WHERE id = ?", (trace_id,))
        if row is None:
            raise UnknownId(f"no trace {trace_id} in this memory")
        return _trace(row)


def _trace(row: Row) -> Trace:
    return Trace(row["id"], row["created_utc_s"], row["question"], row["answer"], json.loads(row["trace"]))
