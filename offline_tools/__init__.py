"""Workstation tools: scene composition, benchmarks, training, evaluation and export."""
