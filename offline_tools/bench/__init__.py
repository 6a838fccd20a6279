"""Benchmarks: one module a subject, each printing a table and one JSON line."""
