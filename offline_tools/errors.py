"""The base of what the workstation's tools raise."""


class OfflineToolError(Exception):
    """A tool cannot do what it was asked; the message says what, which value, and what to do."""
