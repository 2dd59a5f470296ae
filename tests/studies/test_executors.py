"""Blocks of studies in threads, in processes that are ended, and on a Dask cluster whose parts are ended."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import nacelle
from nacelle.errors import StudyError, StudyWarning
from nacelle.progress import report_progress_to
from nacelle.studies import executors
from nacelle.studies.executors import Environment, Estimate, check_environment, estimate, run_blocks
from nacelle.studies.folder import Columns, ResultFolder
from support.block_plans import Quadratic, block_bytes
from support.dask_cluster import cluster, free_port


class Kept(dict[int, Columns]):
    """Blocks that are kept, in the order in which they come.

    Args:
        events: what is done when so many blocks are kept.
    """

    def __init__(self, events: dict[int, Callable[[], object]] | None = None) -> None:
        self.events, self.threads = events or {}, set[threading.Thread]()

    def keep(self, k: int, columns: Columns) -> None:
        assert k not in self
        self[k] = columns
        self.threads.add(threading.current_thread())
        self.events.get(len(self), lambda: None)()


def local_bytes(folder: Path, plan: Quadratic) -> dict[str, bytes]:
    """Blocks of a run in this process that nothing ends."""
    quick = Quadratic(plan.key, plan.count)
    with ResultFolder.open(folder, quick.metadata()) as results:
        run_blocks(quick, results.missing_blocks(), results.write, threads=2)
    return block_bytes(folder)


# ---- threads


def test_all_blocks_are_kept_in_this_thread() -> None:
    plan, kept = Quadratic("all", count=20), Kept()
    run_blocks(plan, [7, 3, *range(10, 20)], kept.keep, threads=3)
    assert sorted(kept) == [3, 7, *range(10, 20)]
    assert kept.threads == {threading.current_thread()}
    np.testing.assert_array_equal(kept[3]["y"], plan.evaluate(3)["x"] ** 2)


def test_a_plan_is_prepared_once_in_a_process(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    for _ in range(2):
        run_blocks(Quadratic("once", trace=trace), range(12), Kept().keep, threads=4)
    assert trace.read_text() == f"{os.getpid()}\n"
    # A process keeps few plans.
    for k in range(10):
        run_blocks(Quadratic(f"plan {k}", 1), [0], Kept().keep)
    assert len(executors._PLANS) <= executors._PLANS_KEPT


def test_few_blocks_are_under_way() -> None:
    begun = list[int]()

    class Counting(Quadratic):
        def evaluate(self, k: int) -> Columns:
            begun.append(k)
            return super().evaluate(k)

    ahead = list[int]()

    def keep(*_: object) -> None:
        time.sleep(0.005)
        ahead.append(len(begun) - len(ahead))

    run_blocks(Counting("counting", 40), range(40), keep, threads=2)
    assert len(ahead) == 40
    assert 2 < max(ahead) <= executors._AHEAD * 2


def test_a_block_that_fails() -> None:
    kept = Kept()
    with pytest.raises(StudyError, match="block 5 of 12 failed: AssemblyError: loop 3 stays open"):
        run_blocks(Quadratic("fails", sleep=0.01, fails=5), range(12), kept.keep, threads=2)
    assert {0, 1} <= set(kept)
    assert 5 not in kept


def test_a_plan_whose_first_block_fails_goes_on() -> None:
    """The block that prepares a plan is evaluated alone; one that fails leaves the others their turn."""
    plan = Quadratic("first", count=3, fails=0)
    for k in range(2):
        with pytest.raises(StudyError, match="block 0"):
            run_blocks(plan, [0], Kept().keep)
        kept = Kept()
        run_blocks(plan, [k + 1], kept.keep)
        assert set(kept) == {k + 1}


def test_a_block_that_cannot_be_kept() -> None:
    def refuse(*_: object) -> None:
        raise StudyError("the disk is full")

    begun = time.monotonic()
    with pytest.raises(StudyError, match="the disk is full"):
        run_blocks(Quadratic("refused", count=1000, sleep=0.02), range(1000), refuse, threads=2)
    assert time.monotonic() - begun < 5.0


def test_estimates() -> None:
    # 10 blocks of 2 s by 4 threads; the first one has taken longer.
    assert estimate(10, 4, [30.0, 2.0, 2.0], 1000) == Estimate(10, 5.0, 10_000)
    assert estimate(100, 4, [2.0], 1000).memory == executors._AHEAD * 4 * 1000
    assert estimate(2, 4, [3.0], 8).seconds == 3.0
    assert estimate(0, 4, [3.0], 8) == Estimate(0, 0.0, 0)
    assert estimate(5, 0, [3.0], 8).seconds == 15.0


class Listener:
    """Keeps what is reported."""

    def __init__(self) -> None:
        self.reports = list[str | float]()

    def begin(self, description: str) -> None:
        self.reports.append(description)

    def part(self, fraction: float) -> None:
        self.reports.append(fraction)

    def end(self) -> None:
        self.reports.append("end")


def test_progress_and_estimates_are_reported() -> None:
    listener, estimates = Listener(), list[Estimate]()
    with report_progress_to(listener):
        run_blocks(Quadratic("reports", 4, 0.01), range(4), Kept().keep, on_estimate=estimates.append)
    assert listener.reports == ["4 blocks of the study", 0.25, 0.5, 0.75, 1.0, "end"]
    assert [left.tasks for left in estimates] == [3, 2, 1, 0]
    assert 0.02 <= estimates[1].seconds < 1.0
    block = sum(array.nbytes for array in Quadratic("reports").evaluate(0).values())
    assert estimates[0].memory == 3 * block


# ---- processes that are ended


@contextmanager
def running(folder: Path, plan: Quadratic) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs a study and has kept some blocks."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    words = [str(folder), plan.key, str(plan.count), str(plan.sleep)]
    command = [sys.executable, "-m", "support.block_plans", *words]
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": path}, stderr=subprocess.PIPE) as process:
        try:
            limit = time.monotonic() + 30.0
            while len(list(folder.glob("blocks/block-*"))) < 3:
                assert time.monotonic() < limit
                assert process.poll() is None
                time.sleep(0.01)
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_study_that_is_ended_is_resumed(tmp_path: Path, number: signal.Signals) -> None:
    plan, folder = Quadratic("ended", count=60, sleep=0.05), tmp_path / "ended"
    with running(folder, plan) as process:
        process.send_signal(number)
        assert process.wait(timeout=5.0) in (-number, 128 + number)
        assert process.stderr is not None
        assert (
            process.stderr.read().rstrip().endswith(b"KeyboardInterrupt" if number == signal.SIGINT else b"")
        )
    quick = Quadratic(plan.key, plan.count)
    with ResultFolder.open(folder, quick.metadata()) as results:
        missing = results.missing_blocks()
        assert 0 < len(missing) <= 57
        assert not results.damaged
        run_blocks(quick, missing, results.write, threads=2)
    assert block_bytes(folder) == local_bytes(tmp_path / "local", plan)


# ---- a Dask cluster


@pytest.mark.slow
def test_a_cluster_loses_a_worker_and_its_scheduler(tmp_path: Path) -> None:
    """The files are in the end those of a run in this process that nothing ends."""
    trace, folder = tmp_path / "trace", tmp_path / "study"
    plan = Quadratic("cluster", count=40, sleep=0.02, trace=trace)
    expected = local_bytes(tmp_path / "local", plan)
    with cluster(tmp_path, 2) as dask, ResultFolder.open(folder, plan.metadata()) as results:
        # Both workers evaluate blocks, so that those of the one that is ended are lost.
        trace.touch()
        limit = time.monotonic() + 20.0
        while len(trace.read_text().split()) < 2:
            assert time.monotonic() < limit
            run_blocks(plan, range(4), Kept().keep, address=dask.address)
        kept = Kept({5: dask.workers[0].kill, 20: dask.scheduler.kill})

        def keep(k: int, columns: Columns) -> None:
            results.write(k, columns)
            kept.keep(k, columns)

        with pytest.raises(StudyError, match=rf"scheduler at {dask.address} was lost .*run the study again"):
            run_blocks(plan, results.missing_blocks(), keep, address=dask.address)
        assert dask.workers[0].wait(timeout=5.0) == -signal.SIGKILL
        assert 20 <= len(kept) < 40
        assert len(results.missing_blocks()) == 40 - len(kept)
        dask.scheduler.wait()
        dask.start_scheduler()
        dask.start_worker()
        run_blocks(plan, results.missing_blocks(), keep, address=dask.address)
        # Every process has prepared the plan once, of which there was one copy.
        prepared = (tmp_path / "trace").read_text().split()
        assert len(prepared) == len(set(prepared)) == 3
        assert str(os.getpid()) not in prepared
    assert block_bytes(folder) == expected


@pytest.mark.slow
def test_clusters_that_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    # Another version of nacelle, as a worker may have it.
    other = tmp_path / "other"
    shutil.copytree(
        Path(nacelle.__file__).parent, other / "nacelle", ignore=shutil.ignore_patterns("__pycache__")
    )
    with (other / "nacelle" / "errors.py").open("a") as file:
        file.write("# A change.\n")

    def error(plan: Quadratic) -> str:
        with pytest.raises(StudyError) as caught:
            run_blocks(plan, range(plan.count), Kept().keep, address=dask.address)
        return str(caught.value)

    with cluster(tmp_path, 0) as dask:
        monkeypatch.setattr(executors, "_PATIENCE", 0.5)
        assert "no worker has been at" in error(Quadratic("no worker"))
        monkeypatch.undo()
        dask.start_worker()
        failing = error(Quadratic("failing", fails=2))
        assert failing == "block 2 of 12 failed: AssemblyError: loop 3 stays open"
        # Dask suspects all blocks that were with the worker.
        assert re.match(r"block \d+ failed: KilledWorker", error(Quadratic("killing", kills=3)))
        dask.start_worker(PYTHONPATH=os.pathsep.join([str(other), *filter(None, sys.path)]))
        assert "a worker has another version of nacelle" in error(Quadratic("version"))
        # It is there now, and is found before anything is evaluated.
        assert "worker tcp://127.0.0.1" in error(Quadratic("version"))


def test_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    here = executors.environment()
    check_environment("worker a", here)
    with pytest.warns(StudyWarning, match=r"worker b has .*machine='riscv64'.*last digits"):
        check_environment("worker b", here._replace(machine="riscv64"))
    with pytest.raises(StudyError, match=r"worker c has another version of nacelle.*install the same one"):
        check_environment("worker c", here._replace(source="0"))
    with pytest.raises(StudyError, match=r"or none.*No module named 'nacelle'"):
        check_environment("worker d", ModuleNotFoundError("No module named 'nacelle'"))
    assert isinstance(here, Environment)


class Impatient(threading.Event):
    """What a wait with a time limit is on a busy machine: it ends before anything has happened."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(None if timeout is None else 0.0)


def test_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    utils = pytest.importorskip("distributed").utils
    monkeypatch.setattr(utils, "threading", SimpleNamespace(**vars(threading) | {"Event": Impatient}))
    monkeypatch.setattr(executors, "_CONNECT", 0.1)
    for address in (f"tcp://127.0.0.1:{free_port()}", "tcp://127.0.0.1", "nonsense://x"):
        with pytest.raises(StudyError, match=f"no Dask scheduler answers at {address} "):
            run_blocks(Quadratic("nowhere"), [0], Kept().keep, address=address)
        # Nobody is asked where there is nothing to do.
        run_blocks(Quadratic("nowhere"), [], Kept().keep, address=address)


def test_dask_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(StudyError, match=r"nacelle-robotics\[cluster\]"):
        run_blocks(Quadratic("optional"), [0], Kept().keep, address="tcp://127.0.0.1:1")
