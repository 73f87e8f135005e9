"""An engine of processes that share only a folder, such as the tasks of a job array."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Gives a name to write to, and renames the file when it is complete: under ``path`` it is whole or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{uuid.uuid4().hex}.partial")
    try:
        yield partial
        with open(partial, "rb") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


class Result:
    """The result of a stage for a part, which one of the processes makes; of one place if ``place`` is not ``None``."""

    def __init__(self, path: Path, owner: int, wait: float, place: int | None = None) -> None:
        self.path, self.owner, self.wait, self.place = path, owner, wait, place

    def __call__(self) -> Batches:
        until = time.monotonic() + self.wait
        while not self.path.exists():
            if time.monotonic() >= until:
                raise FileError(f"{self.path} is not there after {self.wait:g} s: shard {self.owner} has to make it")
            time.sleep(POLL)
        with pa.memory_map(str(self.path)) as file, pa.ipc.open_file(file) as reader:
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                if self.place is not None:
                    batch = batch.filter(pc.equal(batch.column("place"), self.place))
                yield batch


class Shards:
    """One of ``count`` processes that run the same steps, each for its share of the parts.

    A result that is in the folder is not made again, so a process that is started again goes on where it stopped.
    """

    def __init__(self, folder: Path, shard: int, count: int, wait: float) -> None:
        self._folder, self._shard, self._count, self._wait = folder, shard, count, wait
        self._step = 0

    def owns(self, part: int) -> bool:
        """Returns whether this process makes a part."""
        return part % self._count == self._shard

    def map(self, data: list[list[Part]], stage: Any) -> list[list[Part]]:
        """Runs a stage on the parts of this process that are not there yet."""
        folder = self._folder / f"{self._step:05}-{type(stage).__name__}"
        self._step += 1
        made: list[list[Part]] = []
        for number, part in enumerate(data):
            path = folder / f"{number:05}.arrow"
            if self.owns(number) and not path.exists():
                with whole(path) as partial, pa.ipc.new_file(str(partial), stage.schema) as writer:
                    for batch in stage(batch for read in part for batch in read()):
                        writer.write_batch(batch)
            made.append([Result(path, number % self._count, self._wait)])
        return made

    def by_place(self, data: list[list[list[Part]]], places: int) -> list[list[Part]]:
        """Brings messages of equal place to one part."""
        results = [result for some in data for part in some for result in part if isinstance(result, Result)]
        return [[Result(r.path, r.owner, r.wait, place) for r in results] for place in range(places)]

    def collect(self, data: list[list[Part]]) -> list[dict[str, Any]]:
        """Returns all rows, when the other processes have made theirs."""
        return [row for part in data for read in part for batch in read() for row in batch.to_pylist()]

    def keep(self, data: list[list[Part]]) -> list[list[Part]]:
        """Returns data as they are: files."""
        return data


def agree(folder: Path, manifest: dict[str, Any]) -> None:
    """Writes what a run is about, or refuses to go on with another one in its folder."""
    path = folder / "manifest.json"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        mine = folder / f".{uuid.uuid4().hex}.partial"
        mine.write_text(json.dumps(manifest, indent=1) + "\n")
        try:
            os.link(mine, path)
        except FileExistsError:
            # Another shard was faster.
            pass
        finally:
            mine.unlink()
    there = json.loads(path.read_text())
    other = [name for name in manifest if there.get(name) != manifest[name]]
    if other:
        raise OptionError(f"{folder} is the state of a run with other {', '.join(other)}: choose a new folder")
