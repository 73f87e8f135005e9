"""The exceptions of simidx."""

from __future__ import annotations


class Error(Exception):
    """What simidx raises: all other exceptions here are of this class."""

    #: Records that ``Collection.add_many`` had added before it failed.
    added: int | None = None


class FormatError(Error, ValueError):
    """A file is not an index, needs a newer simidx, or is damaged."""

    #: ``"not-simidx"``, ``"unsupported"`` or ``"damaged"``.
    kind: str = "damaged"
    #: Number of the rule of the file format that the file breaks.
    rule: int | None = None
    #: Bytes from the start of the file, where one place is to blame.
    offset: int | None = None
    #: The table concerned, where it is one.
    table: int | None = None
    #: The block of that table, where it is one.
    block: int | None = None


class FileError(Error, OSError):
    """The operating system refused to read or write a file."""


class FileMissingError(FileError, FileNotFoundError):
    """A file or its folder is not there."""


class LockedError(FileError):
    """A collection is open elsewhere, in this process or in another one."""


class InputError(Error, ValueError):
    """Fingerprints, ids or texts cannot be used as they are. The message says what to do."""


class InputTypeError(InputError, TypeError):
    """Fingerprints, ids or texts have a type that is not understood. The message says what to do."""


class IdExistsError(InputError):
    """An id has a record with another fingerprint, and the collection replaces no records."""


class OptionError(Error, ValueError):
    """An option is out of its range, or does not go with another."""

    #: Name of the option, where the library names one.
    option: str | None = None


class OptionTypeError(OptionError, TypeError):
    """An option has a type that is not understood."""


class LimitError(Error):
    """The work does not fit the memory or the limit that it was given."""


class ClosedError(Error, ValueError):
    """An index or a collection was used after it had been closed."""


class InternalError(Error, RuntimeError):
    """A fault of simidx itself."""
