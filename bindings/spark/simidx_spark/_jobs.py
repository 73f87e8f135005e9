"""Jobs: their names in the interface of Spark and in the log, and what they persist."""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
import time
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from pyspark.sql import DataFrame

P = ParamSpec("P")
R = TypeVar("R")

LOG = logging.getLogger("simidx_spark")

#: The property of a thread that the interface of Spark shows next to what the thread runs.
DESCRIPTION = "spark.job.description"


class Job:
    """A call, and what it has persisted: freed once no DataFrame that the call returned is referenced any more."""

    def __init__(self, name: str, df: Any) -> None:
        self.name = name
        self.persisted: list[DataFrame] = []
        self._context: Any = None
        # Spark Connect has no context, and what is not a DataFrame is refused later.
        with contextlib.suppress(Exception):
            self._context = getattr(df, "sparkSession", df).sparkContext
            self._before = self._context.getLocalProperty(DESCRIPTION)
        weakref.finalize(self, _free_apart, self.persisted).atexit = False

    def stage(self, name: str) -> None:
        """Logs a stage, and describes by it what Spark runs from now on."""
        LOG.info("%s: %s", self.name, name)
        if self._context is not None:
            self._context.setLocalProperty(DESCRIPTION, f"simidx {self.name}: {name}")

    def end(self) -> None:
        """Restores the description from before the call."""
        # The session may have ended; an error of the call is then the one to raise.
        with contextlib.suppress(Exception):
            if self._context is not None:
                self._context.setLocalProperty(DESCRIPTION, self._before)

    def release(self, but: DataFrame | None = None) -> None:
        """Frees what is persisted, except one DataFrame."""
        _free([df for df in self.persisted if df is not but])
        self.persisted[:] = [df for df in self.persisted if df is but]


def _free(persisted: list[DataFrame]) -> None:
    while persisted:
        # The session may have ended.
        with contextlib.suppress(Exception):
            persisted.pop().unpersist()


def _free_apart(persisted: list[DataFrame]) -> None:
    # Garbage is also collected in the middle of a call to the JVM, whose connection belongs to its thread.
    if persisted:
        threading.Thread(target=_free, args=(persisted,), daemon=True).start()


#: The call that runs.
running: ContextVar[Job] = ContextVar("running")

#: The jobs whose results are referenced.
_JOBS: weakref.WeakSet[Job] = weakref.WeakSet()


def job(call: Callable[P, R]) -> Callable[P, R]:
    """Makes a job of each call of a function whose first argument is a DataFrame, or a session."""

    @functools.wraps(call)
    def called(*args: P.args, **given: P.kwargs) -> R:
        start = time.monotonic()
        made = Job(call.__name__, args[0] if args else given.get("df", given.get("session")))
        before = running.set(made)
        try:
            result = call(*args, **given)
        except BaseException:
            made.release()
            raise
        finally:
            running.reset(before)
            made.end()
        LOG.info("%s: returned after %.1f s", made.name, time.monotonic() - start)
        for df in _frames(result):
            vars(df)["simidx job"] = made
            _JOBS.add(made)
        return result

    return called


def _frames(result: Any) -> list[DataFrame]:
    return [df for df in (result if isinstance(result, tuple) else (result,)) if isinstance(df, DataFrame)]


def release(*results: Any) -> None:
    """Frees what these results have persisted, or without arguments what all have. They are then computed again."""
    of_results = [vars(df).get("simidx job") for result in results for df in _frames(result)]
    for made in of_results if results else list(_JOBS):
        if made is not None:
            made.release()
