"""The one error base of the models package."""


class ModelError(Exception):
    """A model file is missing, cut short or wrong, or a model cannot do what it was asked."""


class Preempted(ModelError):
    """A call that could wait was given up for one that could not; made again, it works."""
