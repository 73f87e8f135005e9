"""Where segments are: a folder, or whatever ``pyarrow.fs`` or fsspec opens under a URI."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.fs as fs

from simidx._errors import FileError

#: The list of the segments of a set, which is written last.
MANIFEST = "manifest.simidx-set"

#: What files are called that are not complete.
UNFINISHED = ".unfinished-"


class Segment(NamedTuple):
    """An index file of a set: its name, and the identifier of its contents."""

    name: str
    content: str


class Store:
    """A folder of segments."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        path = os.fspath(path)
        parts = urlsplit(path)
        if parts.scheme == "file":
            path = unquote(parts.path)
        self.path = path.rstrip("/") or "/"
        self.is_local = parts.scheme == "file" or "://" not in path
        if self.is_local:
            self.path = os.path.abspath(self.path)

    def _remote(self) -> tuple[Any, str]:
        try:
            system, base = fs.FileSystem.from_uri(self.path)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            import fsspec

            other, base = fsspec.core.url_to_fs(self.path)
            system = fs.PyFileSystem(fs.FSSpecHandler(other))
        return system, base

    def prepare(self) -> None:
        """Makes the folder."""
        if self.is_local:
            os.makedirs(self.path, exist_ok=True)
        else:
            system, base = self._remote()
            system.create_dir(base, recursive=True)

    def build_dir(self) -> str:
        """Where a file is made that will be put here: on the same disk if this is a local folder."""
        return self.path if self.is_local else tempfile.gettempdir()

    def unfinished(self) -> str:
        """The path of a file to make, which is nobody else's."""
        return os.path.join(self.build_dir(), f"{UNFINISHED}{uuid.uuid4().hex}.simidx")

    def put(self, local: str, name: str) -> None:
        """Gives a file its name here, whole or not at all if this is local or an object store. It is moved."""
        if self.is_local:
            os.replace(local, os.path.join(self.path, name))
            return
        system, base = self._remote()
        try:
            with open(local, "rb") as source, system.open_output_stream(f"{base}/{name}") as sink:
                shutil.copyfileobj(source, sink, 8 << 20)
        finally:
            os.unlink(local)

    def write(self, name: str, data: bytes) -> None:
        """Writes a small file, whole or not at all on this machine and in object stores."""
        if self.is_local:
            temp = os.path.join(self.path, f"{UNFINISHED}{uuid.uuid4().hex}")
            with open(temp, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temp, os.path.join(self.path, name))
            return
        system, base = self._remote()
        # Object stores show an object when it is complete.
        with system.open_output_stream(f"{base}/{name}") as sink:
            sink.write(data)

    def read(self, name: str) -> bytes | None:
        """The bytes of a small file; none if it is not there."""
        if self.is_local:
            path = Path(self.path, name)
            return path.read_bytes() if path.exists() else None
        system, base = self._remote()
        if system.get_file_info(f"{base}/{name}").type == fs.FileType.NotFound:
            return None
        with system.open_input_stream(f"{base}/{name}") as source:
            data: bytes = source.read()
            return data

    def names(self) -> list[tuple[str, float]]:
        """The files here, and the seconds since each was changed."""
        now = time.time()
        if self.is_local:
            if not os.path.isdir(self.path):
                raise FileError(f"{self.path}: there is no such folder")
            entries = [entry for entry in os.scandir(self.path) if entry.is_file()]
            return sorted((entry.name, now - entry.stat().st_mtime) for entry in entries)
        system, base = self._remote()
        infos = system.get_file_info(fs.FileSelector(base))
        files = [info for info in infos if info.type == fs.FileType.File]
        return sorted((info.base_name, now - info.mtime.timestamp() if info.mtime else 0.0) for info in files)

    def delete(self, name: str) -> None:
        """Removes a file."""
        if self.is_local:
            os.unlink(os.path.join(self.path, name))
        else:
            system, base = self._remote()
            system.delete_file(f"{base}/{name}")

    def fetch(self, segment: Segment) -> str:
        """The path of a segment on this machine. One from elsewhere is copied once for each machine, and kept."""
        if self.is_local:
            return os.path.join(self.path, segment.name)
        # What has the hash of its contents for a name is never out of date.
        kept = os.path.join(_cache(), f"{segment.content}.simidx")
        if not os.path.exists(kept):
            system, base = self._remote()
            temp = f"{kept}.{uuid.uuid4().hex}"
            try:
                with system.open_input_stream(f"{base}/{segment.name}") as source, open(temp, "wb") as sink:
                    shutil.copyfileobj(source, sink, 8 << 20)
                os.replace(temp, kept)
            finally:
                if os.path.exists(temp):
                    os.unlink(temp)
        return kept


def _cache() -> str:
    """The folder of this user for copies of segments: nobody else may put anything there."""
    folder = os.path.join(tempfile.gettempdir(), f"simidx-segments-{os.getuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    about = os.lstat(folder)
    if about.st_uid != os.getuid() or about.st_mode & 0o022 or not stat.S_ISDIR(about.st_mode):
        raise FileError(f"{folder}: others can write there; remove it, or set TMPDIR to a folder of your own")
    return folder
