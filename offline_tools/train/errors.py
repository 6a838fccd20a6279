"""The one error base of training: what is wrong, with which value, and what to do."""


class TrainingError(Exception):
    """A recipe, a row, a checkpoint or the machine does not allow a training to be run as asked."""
