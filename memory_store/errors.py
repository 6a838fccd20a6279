"""The errors of the memory store: what is wrong, which value, and what to do about it."""


class MemoryStoreError(Exception):
    """Base of every error the memory store raises."""


class DuplicateClip(MemoryStoreError):
    """A clip with this source key is already remembered."""


class UnknownId(MemoryStoreError):
    """An id, relation, kind or vector space that this memory does not hold."""


class InvalidValue(MemoryStoreError):
    """A value that may not be stored: not finite, out of range, of the wrong kind."""


class InvalidVector(InvalidValue):
    """A vector of the wrong dimension, with NaN or infinity in it, or of length zero."""


class IdentityConflict(MemoryStoreError):
    """A binding or merge that contradicts a cannot-link edge."""


class ChangeContradicted(MemoryStoreError):
    """A change that cannot be undone: it is undone already, or later changes stand against it."""


class TransactionRequired(MemoryStoreError):
    """A write outside of a transaction, or a transaction inside another."""


class DatabaseBusy(MemoryStoreError):
    """Another process held the write lock for longer than the busy timeout."""


class StorageFull(MemoryStoreError):
    """The disk is full; nothing of the running transaction was kept."""


class ReadOnlyStorage(MemoryStoreError):
    """The directory or the file cannot be written."""


class DatabaseUnusable(MemoryStoreError):
    """The file is damaged, or is not a Hearsight memory."""


class NewerSchema(MemoryStoreError):
    """The file was written by a newer Hearsight than this one."""


class BackupUnusable(MemoryStoreError):
    """A backup that is cut short, damaged, or no backup of a Hearsight memory."""
