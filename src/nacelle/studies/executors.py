"""Evaluating the blocks of a study: in threads of this process, or by the workers of a Dask cluster.

    dask scheduler                         on one machine
    dask worker tcp://scheduler:8786       on many, with the same version of nacelle
    run_blocks(plan, folder.missing_blocks(), folder.write, address="tcp://scheduler:8786")

Blocks are evaluated anywhere and in any order, and kept in the caller's thread as they come. What ends the
run (an error, an interrupt, a lost scheduler) costs the blocks under way; those that are kept stay. A lost
worker costs time alone: the scheduler gives its blocks to others.

Up to `_AHEAD` blocks for each thread are under way, so memory and losses are those of a few blocks. The
caller chooses their size: seconds of work, megabytes of results. A block that a thread of this process has
begun runs to its end, and the process with it.

Whoever reaches a Dask scheduler can run code on its workers: keep it in a network of your own, or use TLS.
"""

from __future__ import annotations

import logging
import platform
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cache
from queue import Empty, SimpleQueue
from statistics import median
from typing import Any, NamedTuple, Protocol

import numpy as np

from nacelle.compile.packed import package_hash
from nacelle.distribution import install_command
from nacelle.errors import StudyError, StudyWarning, format_count
from nacelle.progress import task
from nacelle.studies.folder import Columns

# Blocks under way for each thread: one is evaluated, others wait to be evaluated or kept.
_AHEAD = 3
# Seconds between questions how many threads a cluster has; seconds to wait for a scheduler, and for workers.
_POLL, _CONNECT, _PATIENCE = 1.0, 15.0, 60.0
# Plans that a process keeps; blocks whose times an estimate takes.
_PLANS_KEPT, _TIMES = 4, 100
# How often a cluster tries a failure again; results that are fetched from it at a time.
_RETRIES, _FETCHERS = 2, 8


class BlockPlan(Protocol):
    """A study divided into blocks of variants; small when it is pickled (texts and numbers).

    A process evaluates blocks by one copy for a key, in several threads; the first block alone, as the copy
    may keep what it prepares for it.
    """

    @property
    def key(self) -> str:
        """Hash of everything that decides the results."""

    @property
    def count(self) -> int:
        """How many blocks."""

    def evaluate(self, k: int) -> Columns:
        """Columns of block `k`, all of one length; the same wherever it is evaluated."""


class Environment(NamedTuple):
    """Versions that results depend on: a hash of nacelle's source, Python, NumPy, architecture."""

    source: str
    python: str
    numpy: str
    machine: str


class BlockResult(NamedTuple):
    """Columns of a block, seconds that it took, and where it was evaluated."""

    columns: Columns
    seconds: float
    environment: Environment


_Future = Future[BlockResult]


@dataclass(frozen=True)
class Estimate:
    """What is left of a run.

    Attributes:
        tasks: blocks that are not kept yet.
        seconds: that it takes to evaluate them.
        memory: bytes of results that are under way at most.
    """

    tasks: int
    seconds: float
    memory: int


def estimate(tasks: int, threads: int, seconds: Sequence[float], size: int) -> Estimate:
    """Estimate what is left of a run.

    Args:
        tasks: blocks that are not kept yet.
        threads: that evaluate them.
        seconds: times of blocks; the median counts, as the first block of a process takes longer.
        size: bytes of the largest result so far.
    """
    rounds = tasks / max(1, min(threads, tasks))
    return Estimate(tasks, rounds * median(seconds), min(tasks, _AHEAD * threads) * size)


def run_blocks(
    plan: BlockPlan,
    missing: Sequence[int],
    keep: Callable[[int, Columns], object],
    *,
    threads: int = 1,
    address: str | None = None,
    on_estimate: Callable[[Estimate], object] | None = None,
) -> None:
    """Evaluate blocks of a plan and keep them as they come.

    Args:
        plan: the plan.
        missing: numbers of the blocks.
        keep: called in this thread with each block's number and columns, such as `ResultFolder.write`.
        threads: of this process; workers of a cluster have their own.
        address: of a Dask scheduler, such as "tcp://10.0.0.1:8786"; None for this process.
        on_estimate: called with what is left, after each block.

    Raises:
        StudyError: if a block fails, a worker has another version of nacelle, or the cluster is lost.
    """
    if not missing:
        return
    waiting, running, ended = deque(missing), dict[_Future, int](), SimpleQueue[_Future]()
    seconds, size = deque[float](maxlen=_TIMES), 0
    executor = _Threads(threads) if address is None else _Cluster(address)
    try:
        with task(f"{format_count(len(missing), 'block')} of the study") as report:
            while waiting or running:
                slots = executor.slots()
                while waiting and len(running) < _AHEAD * slots:
                    k = waiting.popleft()
                    future = executor.submit(plan, k)
                    running[future] = k
                    future.add_done_callback(ended.put)
                try:
                    future = ended.get(timeout=_POLL)
                except Empty:
                    continue
                k, result = running.pop(future), future.result()
                check_environment("a worker", result.environment)
                keep(k, result.columns)
                left = len(waiting) + len(running)
                report(1.0 - left / len(missing))
                seconds.append(result.seconds)
                size = max(size, sum(array.nbytes for array in result.columns.values()))
                if on_estimate is not None:
                    on_estimate(estimate(left, slots, seconds, size))
    finally:
        executor.close()


# ---- in the process that evaluates


class _WarmPlan(NamedTuple):
    """The copy of a plan that a process keeps, with whether its first block is evaluated."""

    plan: BlockPlan
    first: threading.Lock
    ready: threading.Event


_PLANS: dict[str, _WarmPlan] = {}
_PLANS_LOCK = threading.Lock()


@cache
def environment() -> Environment:
    """That of this process."""
    python = ".".join(platform.python_version_tuple()[:2])
    return Environment(package_hash()[:12], python, np.__version__, platform.machine())


def evaluate_block(plan: BlockPlan, k: int) -> BlockResult:
    """Evaluate a block in this process.

    Raises:
        StudyError: if it fails, whatever the reason: an error that every process can unpickle.
    """
    with _PLANS_LOCK:
        warm = _PLANS.setdefault(plan.key, _WarmPlan(plan, threading.Lock(), threading.Event()))
        if len(_PLANS) > _PLANS_KEPT:
            del _PLANS[next(iter(_PLANS))]
    try:
        with ExitStack() as alone:
            if not warm.ready.is_set():
                alone.enter_context(warm.first)
                if warm.ready.is_set():
                    alone.close()
            start = time.perf_counter()
            columns = warm.plan.evaluate(k)
            seconds = time.perf_counter() - start
            warm.ready.set()
    except Exception as error:
        raise StudyError(f"block {k} of {plan.count} failed: {type(error).__name__}: {error}") from error
    return BlockResult(columns, seconds, environment())


@cache
def check_environment(worker: str, there: Environment | Exception) -> None:
    """Compare a worker's environment with that of this process; warn once.

    Raises:
        StudyError: if it has another version of nacelle, or none.
    """
    here = environment()
    if not isinstance(there, Environment) or there.source != here.source:
        raise StudyError(
            f"{worker} has another version of nacelle than this process, or none ({there!r}; here {here}): "
            "install the same one, since the results of two versions differ"
        )
    if there != here:
        message = f"{worker} has {there}, this process {here}: the last digits of its results may differ"
        warnings.warn(StudyWarning(message), stacklevel=4)


# ---- where blocks are evaluated


class _Threads:
    """Threads of this process: native code releases Python's lock."""

    def __init__(self, threads: int) -> None:
        self._pool, self._count = ThreadPoolExecutor(threads, thread_name_prefix="nacelle-study"), threads

    def slots(self) -> int:
        return self._count

    def submit(self, plan: BlockPlan, k: int) -> _Future:
        return self._pool.submit(evaluate_block, plan, k)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


@cache
def _event_loop() -> Any:
    """Event loop of Dask clients, in a thread of this process for as long as it lasts.

    A client's own counts as failed where a busy machine starts its thread late: the time limit is of the
    connection, not of the thread.
    """
    import asyncio

    from tornado.ioloop import IOLoop

    started: Future[Any] = Future()

    async def serve() -> None:
        started.set_result(IOLoop.current())
        await asyncio.Event().wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    threading.Thread(target=run, name="nacelle-dask", daemon=True).start()
    return started.result()


class _Cluster:
    """Workers of a Dask cluster, which may come and go."""

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
            from distributed.comm import resolve_address
        except ImportError:
            raise StudyError(f"clusters need Dask: {install_command('cluster')}") from None
        self._address, self._threads, self._last_poll, self._seen = address, 0, 0.0, time.monotonic()
        self._pool = ThreadPoolExecutor(_FETCHERS, thread_name_prefix="nacelle-fetch")
        # What Dask logs of a lost scheduler, in long tracebacks, `StudyError` says in a line.
        loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
        self._levels = [(logger, logger.level) for logger in loggers]
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        try:
            # A client is not closed where its address is wrong.
            resolve_address(address)
            self._client = Client(address, loop=_event_loop(), timeout=_CONNECT, set_as_default=False)
            workers = self._client.run(environment, on_error="return")
            for there, worker in {there: worker for worker, there in workers.items()}.items():
                # A worker that is lost meanwhile need not fit.
                if not isinstance(there, OSError):
                    check_environment(f"worker {worker}", there)
        except BaseException as error:
            self.close()
            if not isinstance(error, (OSError, ValueError)):
                raise
            message = f"no Dask scheduler answers at {address} ({error}): start one, or correct the address"
            raise StudyError(message) from None

    def slots(self) -> int:
        """Threads of all workers."""
        now = time.monotonic()
        if now - self._last_poll >= _POLL:
            try:
                self._threads = sum(self._client.nthreads(callback_timeout=_PATIENCE).values())
            except Exception as error:
                raise self._lost_error(error) from error
            self._last_poll = now
        if self._threads:
            self._seen = now
        elif now - self._seen > _PATIENCE:
            raise StudyError(
                f"no worker has been at {self._address} for {_PATIENCE:g} s: start `dask worker`, and run "
                "the study again; blocks that are kept stay"
            )
        return self._threads

    def submit(self, plan: BlockPlan, k: int) -> _Future:
        fetched: _Future = Future()
        remote = self._client.submit(evaluate_block, plan, k, pure=False, retries=_RETRIES)

        def fetch(_: object) -> None:
            # Once the run has ended nobody wants it.
            with suppress(RuntimeError):
                self._pool.submit(self._fetch, k, remote, fetched)

        remote.add_done_callback(fetch)
        return fetched

    def _fetch(self, k: int, remote: Any, fetched: _Future) -> None:
        """Fetch a result; one that is lost with its worker meanwhile is evaluated again, and waited for."""
        try:
            while True:
                try:
                    fetched.set_result(remote.result(timeout=_PATIENCE))
                    return
                except TimeoutError:
                    if self._client.status != "running":
                        raise
        except StudyError as error:
            fetched.set_exception(error)
        except BaseException as error:
            # Several workers were lost while they had the block, say, or one cannot import the plan.
            failure = StudyError(f"block {k} failed: {type(error).__name__}: {error}")
            fetched.set_exception(failure if remote.status == "error" else self._lost_error(error))

    def _lost_error(self, error: BaseException) -> StudyError:
        return StudyError(
            f"the Dask scheduler at {self._address} was lost ({type(error).__name__}): start it and its "
            "workers again, and run the study again; blocks that are kept stay"
        )

    def close(self) -> None:
        with suppress(Exception):
            self._client.close(timeout=_POLL)
        self._pool.shutdown(wait=False, cancel_futures=True)
        for logger, level in self._levels:
            logger.setLevel(level)
