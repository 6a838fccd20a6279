"""The one error base of training: what is wrong, with which value, and what to do."""

from offline_tools.errors import OfflineToolError


class TrainingError(OfflineToolError):
    """A recipe, a row, a checkpoint or the machine does not allow a training to be run as asked."""
