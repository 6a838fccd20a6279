"""The numbered migrations of the schema, one a module: append-only, a published one is never edited."""

from memory_store.migrations import (
    m001_schema,
    m002_corrections,
    m003_vote_days,
    m004_name_evidence,
    m005_forgotten,
    m006_facts,
    m008_words,
    m009_vector_cache,
    m010_clip_marks,
    m011_heard_lines,
    m012_clock_steps,
    m013_span_lengths,
)
from memory_store.migrations.registry import APPLICATION_ID, migrations

__all__ = [
    "APPLICATION_ID",
    "m001_schema",
    "m002_corrections",
    "m003_vote_days",
    "m004_name_evidence",
    "m005_forgotten",
    "m006_facts",
    "m008_words",
    "m009_vector_cache",
    "m010_clip_marks",
    "m011_heard_lines",
    "m012_clock_steps",
    "m013_span_lengths",
    "migrations",
]
