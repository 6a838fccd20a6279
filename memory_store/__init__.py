"""The memory graph in one SQLite file with vector indexes; knows no sensor and no prompt."""
