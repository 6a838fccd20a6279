"""The one error base of the export."""

from offline_tools.errors import OfflineToolError


class ExportError(OfflineToolError):
    """A checkpoint cannot be converted, quantized or packed; the message says which step, why, and what to do."""
