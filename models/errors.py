"""The one error of this package: every fault of a model, its files or its input is a ModelError."""


class ModelError(Exception):
    """The message says what failed, with which file or value, and what to do about it."""
