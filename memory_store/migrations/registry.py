"""The list that the migrations enter themselves into, in the order of their numbers."""

from sqlite_utils.migrations import Migrations

APPLICATION_ID = 0x48454152  # "HEAR": tells a Hearsight memory from any other SQLite file

migrations = Migrations("memory_store")
