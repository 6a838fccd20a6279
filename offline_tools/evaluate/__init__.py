"""Asks benchmarks' questions of memories, has the answers judged, and compares; `python -m offline_tools.evaluate`."""
