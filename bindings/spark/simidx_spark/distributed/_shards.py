"""An engine of processes that share only a folder, such as the tasks of a job array."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from simidx import FileError, OptionError
from simidx_spark.distributed._messages import Batches

#: Reads the batches of a part.
Part = Callable[[], Batches]

#: Seconds between two looks at the folder.
POLL = 0.2

#: Seconds after which a manifest that another process has begun must be complete.
WRITING = 10.0


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Gives a name to write to, and renames the file when it is complete: under ``path`` it is whole or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(f".{glob.escape(path.name)}.{'?' * 32}.partial"):
        # A process that was killed cannot remove it.
        left.unlink(missing_ok=True)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")
    try:
        yield partial
        with open(partial, "rb") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


class Result:
    """The result of a stage for a part, which one of the processes makes; of one place if ``place`` is not ``None``."""

    def __init__(self, shards: Shards, path: Path, part: int, place: int | None = None) -> None:
        self._shards, self._path, self._part, self._place = shards, path, part, place

    def of(self, place: int) -> Result:
        """Returns the messages in it that are for a place."""
        return Result(self._shards, self._path, self._part, place)

    def __call__(self) -> Batches:
        self._shards.wait_for(self._path, self._part)
        with pa.memory_map(str(self._path)) as file, pa.ipc.open_file(file) as reader:
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                if self._place is not None:
                    batch = batch.filter(pc.equal(batch.column("place"), self._place))
                yield batch


class Shards:
    """One of ``count`` processes that run the same steps, each for its share of the parts.

    A result that is in the folder is not made again, so a process that is started again goes on where it stopped.
    """

    def __init__(self, folder: Path, shard: int, count: int, wait: float) -> None:
        self._folder, self._shard, self._count, self._wait = folder, shard, count, wait
        self._step = 0
        folder.mkdir(parents=True, exist_ok=True)
        # Its time is that of the last progress of any process.
        self._progress = folder / "progress"
        self._progress.touch()
        self._touched = time.monotonic()

    def owns(self, part: int) -> bool:
        """Returns whether this process makes a part."""
        return part % self._count == self._shard

    def wait_for(self, path: Path, part: int) -> None:
        """Waits for a result of another process, as long as any process makes progress."""
        seen, since = None, time.monotonic()
        while not path.exists():
            now = self._progress.stat().st_mtime_ns
            if now != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() >= since + self._wait:
                shard = f"start shard {part % self._count}/{self._count} again"
                raise FileError(f"{path} is not there, and no shard made progress for {self._wait:g} s: {shard}")
            time.sleep(POLL)

    def _noted(self, batches: Batches) -> Batches:
        """Shows the other processes that this one makes progress, at most once a second."""
        for batch in batches:
            if time.monotonic() >= self._touched + 1:
                self._progress.touch()
                self._touched = time.monotonic()
            yield batch

    def map(self, data: list[list[Part]], stage: Any) -> list[list[Part]]:
        """Runs a stage on the parts of this process that are not there yet."""
        folder = self._folder / f"{self._step:05}-{type(stage).__name__}"
        self._step += 1
        made: list[list[Part]] = []
        for number, part in enumerate(data):
            path = folder / f"{number:05}.arrow"
            if self.owns(number) and not path.exists():
                with whole(path) as partial, pa.ipc.new_file(str(partial), stage.schema) as writer:
                    batches = self._noted(batch for read in part for batch in read())
                    for batch in self._noted(stage(batches)):
                        writer.write_batch(batch)
            made.append([Result(self, path, number)])
        return made

    def by_place(self, data: list[list[list[Part]]], places: int) -> list[list[Part]]:
        """Brings messages of equal place to one part."""
        results = [result for some in data for part in some for result in part if isinstance(result, Result)]
        return [[result.of(place) for result in results] for place in range(places)]

    def collect(self, data: list[list[Part]]) -> list[dict[str, Any]]:
        """Returns all rows, when the other processes have made theirs."""
        return [row for part in data for read in part for batch in read() for row in batch.to_pylist()]

    def keep(self, data: list[list[Part]]) -> list[list[Part]]:
        """Returns data as they are: files."""
        return data


def agree(path: Path, manifest: dict[str, Any]) -> str:
    """Writes what a run is about, and returns a hash of it; refuses to go on if another run has written there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(manifest, indent=1) + "\n"
    # A rename would replace the manifest of a faster process, which may be about another run.
    with suppress(FileExistsError), open(path, "x") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    there = _manifest(path)
    other = [name for name in manifest if there.get(name) != manifest[name]]
    if other:
        raise OptionError(f"{path.parent} belongs to a run with other {', '.join(other)}: choose a new folder")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _manifest(path: Path) -> dict[str, Any]:
    """Reads a manifest, of which no beginning is JSON, when the process that writes it is done."""
    until = time.monotonic() + WRITING
    while True:
        with suppress(ValueError):
            there = json.loads(path.read_bytes())
            if isinstance(there, dict):
                return there
        if time.monotonic() >= until:
            raise FileError(f"{path} is damaged: delete {path.parent}, and start all shards again")
        time.sleep(POLL)
