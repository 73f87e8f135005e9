"""The location of segments: a folder, or anything that ``pyarrow.fs`` or fsspec opens under a URI."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import socket
import stat
import tempfile
import time
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.fs as fs

from simidx import FileError

#: The list of the segments of a set, which is written last.
MANIFEST = "manifest.simidx-set"

#: The start and the end of the name of a manifest that was replaced, while its segments may still be read.
REPLACED = ("replaced-", ".simidx-set")

#: The suffix of incomplete files.
UNFINISHED = ".unfinished-"


#: The name of a file while the library writes it.
TEMPORARY = (".simidx-", ".tmp")

#: Bytes of the footer of an index file.
FOOTER = 40

#: Seconds after which a file that nobody reads or writes is abandoned.
ABANDONED = 24 * 3600.0


class Segment(NamedTuple):
    """An index file of a set: its name, and its content id."""

    name: str
    content: str


class Store:
    """A folder of segments."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        parts = urlsplit(self.path)
        if parts.scheme == "file":
            if parts.netloc not in ("", "localhost"):
                raise FileError(f"{self.path}: a folder of {parts.netloc} cannot be opened from here")
            self.path = unquote(parts.path)
        elif parts.scheme == "memory":
            raise FileError(f"{self.path}: the memory of a process is not seen by the others; use a shared folder")
        elif parts.scheme and not self.path.lower().startswith(f"{parts.scheme}://"):
            raise FileError(
                f"{self.path}: {parts.scheme}: without // is not understood; pass a folder, or a URL such as s3://… "
                "that pyarrow or fsspec opens"
            )
        self.path = self.path.rstrip("/") or "/"
        self.is_local = parts.scheme in ("", "file")
        if self.is_local:
            self.path = os.path.abspath(self.path)

    def _system(self) -> tuple[Any, str]:
        """Returns the file system of the folder, and its name there."""
        if self.is_local:
            return fs.LocalFileSystem(), self.path
        try:
            system, base = fs.FileSystem.from_uri(self.path)
            return system, base
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            pass
        try:
            import fsspec

            other, base = fsspec.core.url_to_fs(self.path)
        except (ImportError, ValueError) as error:
            raise FileError(f"{self.path}: neither pyarrow nor fsspec opens it: {error}") from error
        return fs.PyFileSystem(fs.FSSpecHandler(other)), base

    def prepare(self) -> None:
        """Creates the folder."""
        system, base = self._system()
        system.create_dir(base, recursive=True)

    def unfinished(self) -> str:
        """Returns a unique path of a file to create: on the same disk if this is a local folder."""
        if self.is_local and not os.path.isdir(self.path):
            raise FileError(
                f"{self.path}: there is no such folder on {socket.gethostname()}: build in a folder that all machines "
                "share, or in an object store"
            )
        return os.path.join(self.path if self.is_local else _own_folder(), f"{UNFINISHED}{uuid.uuid4().hex}.simidx")

    def put(self, local: str, name: str) -> None:
        """Moves a file to its name here, atomically if this is local or an object store."""
        if self.is_local:
            os.replace(local, os.path.join(self.path, name))
            return
        system, base = self._system()
        try:
            # The name identifies the bytes. An upload that fails may leave a part, and must not replace them.
            if system.get_file_info(f"{base}/{name}").size == os.path.getsize(local):
                return
            with open(local, "rb") as source, system.open_output_stream(f"{base}/{name}") as sink:
                shutil.copyfileobj(source, sink, 8 << 20)
        finally:
            os.unlink(local)

    def write(self, name: str, data: bytes) -> None:
        """Writes a small file, atomically if this is local or an object store."""
        if self.is_local:
            temp = os.path.join(self.path, f"{UNFINISHED}{uuid.uuid4().hex}")
            with open(temp, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temp, os.path.join(self.path, name))
            return
        system, base = self._system()
        # Object stores show an object only when it is complete.
        with system.open_output_stream(f"{base}/{name}") as sink:
            sink.write(data)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Makes other jobs wait that call this for the same local folder. Elsewhere there are no locks."""
        if not self.is_local:
            yield
            return
        folder = os.open(self.path, os.O_RDONLY)
        try:
            # Some file systems of a network have no locks either.
            with contextlib.suppress(OSError):
                fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def read(self, name: str) -> bytes | None:
        """Returns the bytes of a small file; ``None`` if it does not exist."""
        system, base = self._system()
        if system.get_file_info(f"{base}/{name}").type == fs.FileType.NotFound:
            return None
        with system.open_input_stream(f"{base}/{name}") as source:
            data: bytes = source.read()
            return data

    def names(self) -> list[tuple[str, float, int]]:
        """Returns the files here, the seconds since each was changed, and its length."""
        now = time.time()
        if self.is_local and not os.path.isdir(self.path):
            raise FileError(f"{self.path}: there is no such folder")
        system, base = self._system()
        infos = system.get_file_info(fs.FileSelector(base))
        files = [info for info in infos if info.type == fs.FileType.File]
        return sorted(
            (info.base_name, now - info.mtime.timestamp() if info.mtime else 0.0, info.size or 0) for info in files
        )

    def require(self, files: dict[str, int]) -> None:
        """Refuses to go on unless all files with these names exist, each with its length."""
        lengths = {name: length for name, _, length in self.names()}
        missing = [name for name in files if name not in lengths]
        if missing:
            raise FileError(
                f"{self.path}: {len(missing)} of {len(files)} segments are not here, such as {missing[0]}: if each "
                "machine has such a folder of its own, build in one that all share, or in an object store"
            )
        for name, length in files.items():
            if lengths[name] != length:
                raise FileError(
                    f"{self.path}: {name} has {lengths[name]} bytes, where {length} were written; build again"
                )

    def delete(self, name: str) -> None:
        """Removes a file."""
        system, base = self._system()
        system.delete_file(f"{base}/{name}")

    def fetch(self, segment: Segment) -> str:
        """Returns the local path of a segment. One from elsewhere is copied once for each way it was built."""
        if self.is_local:
            return os.path.join(self.path, segment.name)
        system, base = self._system()
        with system.open_input_file(f"{base}/{segment.name}") as source:
            build = build_id(source)
            kept = os.path.join(_own_folder(), f"{segment.content}-{build}.simidx")
            with contextlib.suppress(FileNotFoundError):
                # It stays while it is used.
                os.utime(kept, ns=(time.time_ns(), os.stat(kept).st_mtime_ns))
                return kept
            source.seek(0)
            temp = os.path.join(_own_folder(), f"{UNFINISHED}{uuid.uuid4().hex}.simidx")
            try:
                with open(temp, "w+b") as copy:
                    shutil.copyfileobj(source, copy, 8 << 20)
                    if build_id(copy) != build:
                        raise FileError(f"{self.path}/{segment.name}: it was replaced while it was copied; try again")
                os.replace(temp, kept)
            finally:
                if os.path.exists(temp):
                    os.unlink(temp)
        return kept


def build_id(file: Any) -> str:
    """Returns the checksum of the directory of an index file, and the length of the file.

    The content id identifies the records, which may have been built in several ways. These two differ between the ways.
    """
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - FOOTER))
    footer: bytes = file.read(FOOTER)
    return footer[12:24].hex()


def is_unfinished(name: str) -> bool:
    """Returns whether a file with this name is incomplete, of a task or of the library in it."""
    return name.startswith(UNFINISHED) or (name.startswith(TEMPORARY[0]) and name.endswith(TEMPORARY[1]))


def is_replaced(name: str) -> bool:
    """Returns whether a file with this name is a manifest that was replaced."""
    return name.startswith(REPLACED[0]) and name.endswith(REPLACED[1])


def _own_folder() -> str:
    """Returns this user's folder for copied and unfinished segments, in which other users must not write.

    Removes files that have not been used for `ABANDONED` seconds: copies, and what killed tasks left.
    """
    folder = os.path.join(tempfile.gettempdir(), f"simidx-segments-{os.getuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    about = os.lstat(folder)
    if about.st_uid != os.getuid() or about.st_mode & 0o022 or not stat.S_ISDIR(about.st_mode):
        raise FileError(f"{folder}: others can write there; remove it, or set TMPDIR to a folder of your own")
    for entry in os.scandir(folder):
        # Another task may remove the same file.
        with contextlib.suppress(FileNotFoundError):
            about = entry.stat()
            if time.time() - max(about.st_atime, about.st_mtime) > ABANDONED:
                os.unlink(entry.path)
    return folder
