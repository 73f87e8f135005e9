"""Steps for datatrove: near-duplicates by fingerprints, for its own ``MinhashDedupFilter``.

``SimidxSignature`` takes the place of ``MinhashDedupSignature``, and ``SimidxCluster`` that of ``MinhashDedupBuckets``
and ``MinhashDedupCluster``. Copy this file next to your program.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
from datatrove.io import get_datafolder
from datatrove.pipeline.base import PipelineStep

import simidx
from simidx import Pipeline

#: Documents that are fingerprinted together.
_BATCH = 10_000
_SUFFIX = ".simidx"


class SimidxSignature(PipelineStep):
    """First step: the fingerprints of the documents of each task, in an index file for each task.

    The file of task 7 is ``000007.simidx``. The id of a document is the number of the task times 2^32 plus the position
    of the document in the task. Documents without a feature that counts are left out, since they cannot be compared.
    The files can be searched, merged, and passed to ``SimidxCluster`` as ``against``.
    """

    type = "🫂 - DEDUP"
    name = "🔎 simidx fingerprints"

    def __init__(
        self,
        output_folder: Any,
        pipeline: str | Pipeline = "web",
        *,
        width: int = 64,
        k: int = 3,
        memory: int | str | None = None,
        threads: int | None = 1,
    ) -> None:
        """Set the folder and the pipeline; ``k`` is the distance that the tables of the files are chosen for."""
        super().__init__()
        self.output_folder: Any = get_datafolder(output_folder)
        self.pipeline: Pipeline = pipeline if isinstance(pipeline, Pipeline) else Pipeline(pipeline, width=width)
        self.k = k
        self.memory = memory
        self.threads = threads

    def run(self, data: Iterable[Any], rank: int = 0, world_size: int = 1) -> None:
        """Fingerprint the documents of a task."""
        documents = iter(data)
        values, numbers, seen = [], [], 0
        while texts := [document.text for document in islice(documents, _BATCH)]:
            with self.track_time():
                found, mask = self.pipeline.fingerprints_and_features(texts, threads=self.threads)
                rows = np.flatnonzero(mask)
                values.append(found[rows])
                numbers.append((rows + seen).astype(np.uint64))
                seen += len(texts)
                self.stat_update("total", value=len(texts))
                self.stat_update("without_features", value=len(texts) - len(rows))
        with self.track_time(), tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "one.simidx")
            ids = np.concatenate([np.zeros(0, np.uint64), *numbers]) + np.uint64(rank << 32)
            fingerprints = np.concatenate(values) if values else self.pipeline.fingerprints([])
            made = simidx.build(
                path,
                fingerprints,
                ids,
                self.k,
                memory=self.memory,
                width=self.pipeline.width,
                pipeline=self.pipeline,
                threads=self.threads,
            )
            made.close()
            with (
                open(path, "rb") as source,
                self.output_folder.open(f"{rank:06d}{_SUFFIX}", mode="wb") as target,
            ):
                shutil.copyfileobj(source, target)


class SimidxCluster(PipelineStep):
    """Second step, in one task: writes the documents to remove to the files that ``MinhashDedupFilter`` reads.

    Two documents are in one cluster if steps of at most ``k`` bits link them. The first document of a cluster is kept:
    that of the lowest task, and in it the first. With ``against``, which is index files or an open index, a cluster is
    removed if any of its documents is near a fingerprint there. The outcome does not depend on threads or memory.
    """

    type = "🫂 - DEDUP"
    name = "🔎 simidx clusters"

    def __init__(
        self,
        input_folder: Any,
        output_folder: Any,
        k: int = 3,
        *,
        against: Any = None,
        save_cluster_id: bool = False,
        save_cluster_size: bool = False,
        memory: int | str | None = None,
        threads: int | None = None,
    ) -> None:
        """Set the folders and the distance."""
        super().__init__()
        self.input_folder: Any = get_datafolder(input_folder)
        self.output_folder: Any = get_datafolder(output_folder)
        self.k = k
        self.against = against
        self.save_cluster_id = save_cluster_id
        self.save_cluster_size = save_cluster_size
        self.memory = memory
        self.threads = threads

    def run(self, data: Iterable[Any] | None = None, rank: int = 0, world_size: int = 1) -> None:
        """Find the clusters of the documents of all tasks, and write the documents to remove."""
        if world_size != 1:
            raise ValueError(f"{world_size} tasks: clusters are found in one task, over the files of all")
        with self.track_time():
            fingerprints, ids = self._records()
            labels = simidx.clusters(fingerprints, self.k, memory=self.memory, threads=self.threads)
            self._write(ids, labels, self._is_known(fingerprints, labels))

    def _records(self) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint64]]:
        """Return the fingerprints and ids of all files, ordered by id."""
        names = sorted(self.input_folder.list_files(glob_pattern=f"*{_SUFFIX}"))
        if not names:
            raise FileNotFoundError(f"no {_SUFFIX} file in {self.input_folder.path}: run SimidxSignature first")
        values, ids = [], []
        for name in names:
            with self._local(name) as path, simidx.open(path) as index:
                found, numbers = index.records()
                values.append(found)
                ids.append(np.asarray(numbers, np.uint64))
        numbers = np.concatenate(ids)
        order = np.argsort(numbers, kind="stable")
        return np.concatenate(values)[order], numbers[order]

    @contextmanager
    def _local(self, name: str) -> Iterator[str]:
        """Return the local path of a file, which is copied from elsewhere if necessary."""
        path = os.path.join(self.input_folder.path, name)
        if os.path.exists(path):
            yield path
            return
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "one.simidx")
            with self.input_folder.open(name, mode="rb") as source, open(path, "wb") as target:
                shutil.copyfileobj(source, target)
            yield path

    def _is_known(self, fingerprints: npt.NDArray[Any], labels: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Check for each document whether any document of its cluster is near an existing one."""
        known = np.zeros(len(labels), np.bool_)
        if self.against is not None:
            index = self.against if isinstance(self.against, simidx.Index) else simidx.open(self.against)
            hits = index.contains(fingerprints, self.k, threads=self.threads)
            known[labels[hits]] = True
        return known[labels]

    def _write(
        self, ids: npt.NDArray[np.uint64], labels: npt.NDArray[np.int64], is_known: npt.NDArray[np.bool_]
    ) -> None:
        rows = np.arange(len(labels))
        sizes = np.bincount(labels, minlength=len(labels))[labels]
        is_removed = is_known | (labels != rows)
        in_cluster = is_known | (sizes > 1)
        members = np.flatnonzero(in_cluster)
        # Clusters are numbered in the order of their first documents.
        _, numbers = np.unique(labels[members], return_inverse=True)
        tasks = (ids >> np.uint64(32)).astype(np.int64)
        documents = (ids & np.uint64(2**32 - 1)).astype("<u4")
        self.stat_update("duplicates", value=len(members))
        self.stat_update("to_remove", value=int(is_removed.sum()))
        self.stat_update("clusters", value=int(numbers.max()) + 1 if len(numbers) else 0)
        cluster_of = np.zeros(len(labels), "<u4")
        cluster_of[members] = numbers
        for task in np.unique(tasks[members]).tolist():
            of_task = members[tasks[members] == task]
            removed = of_task[is_removed[of_task]]
            if len(removed):
                self._put(f"{task:06d}.remove", documents[removed])
            if self.save_cluster_id:
                self._put(f"{task:06d}.clusters", np.stack([documents[of_task], cluster_of[of_task]], axis=1))
            if self.save_cluster_size:
                of_sizes = sizes[of_task].astype("<u4")
                self._put(f"{task:06d}.sizes", np.stack([documents[of_task], of_sizes], axis=1))

    def _put(self, name: str, numbers: npt.NDArray[Any]) -> None:
        with self.output_folder.open(name, mode="wb") as file:
            file.write(numbers.astype("<u4").tobytes())
