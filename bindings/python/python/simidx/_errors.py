"""The exceptions of simidx."""

from __future__ import annotations


class Error(Exception):
    """The base class of all exceptions of simidx."""

    #: Records that ``Collection.add_many`` had added before it failed.
    added: int | None = None


class FormatError(Error, ValueError):
    """A file is not an index, needs a newer simidx, or is damaged."""

    #: ``"not-simidx"``, ``"unsupported"`` or ``"damaged"``.
    kind: str = "damaged"
    #: Number of the rule of the file format that the file breaks.
    rule: int | None = None
    #: Place of the fault in bytes from the start of the file, if there is one place.
    offset: int | None = None
    #: The table with the fault, if there is one.
    table: int | None = None
    #: The block with the fault, if there is one.
    block: int | None = None


class FileError(Error, OSError):
    """The operating system failed to read or write a file."""


class FileMissingError(FileError, FileNotFoundError):
    """A file or its folder does not exist."""


class LockedError(FileError):
    """A collection is open elsewhere, in this process or in another one."""


class InputError(Error, ValueError):
    """Fingerprints, ids or texts are invalid. The message gives a remedy."""


class InputTypeError(InputError, TypeError):
    """Fingerprints, ids or texts have an unsupported type. The message gives a remedy."""


class IdExistsError(InputError):
    """An id has a record with another fingerprint, and the collection does not replace records."""


class OptionError(Error, ValueError):
    """An option is out of its range, or conflicts with another."""

    #: Name of the option, if the library gives one.
    option: str | None = None


class OptionTypeError(OptionError, TypeError):
    """An option has an unsupported type."""


class LimitError(Error):
    """The work does not fit the memory or another limit."""


class ClosedError(Error, ValueError):
    """An index or a collection was used after it had been closed."""


class InternalError(Error, RuntimeError):
    """An internal error of simidx."""
