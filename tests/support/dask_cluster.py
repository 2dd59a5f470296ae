"""A Dask cluster of processes on this machine, for tests that end some of them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_HOST = "127.0.0.1"
# Runs a module until its input ends: with the tests, however they end.
_RUN = """import os, runpy, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(1)), daemon=True).start()
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)"""


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])


class Cluster:
    """A scheduler and workers with one thread each.

    Attributes:
        address: of the scheduler; a second one that is started has the same.
        scheduler: its process.
        workers: their processes.
    """

    def __init__(self, folder: Path) -> None:
        port = free_port()
        self._folder, self.address, self.workers = (
            folder,
            f"tcp://{_HOST}:{port}",
            list[subprocess.Popen[bytes]](),
        )
        self.start_scheduler()

    def start_scheduler(self) -> None:
        port = self.address.rpartition(":")[2]
        self.scheduler = self._start("scheduler", "--port", port)

    def start_worker(self, **settings: str) -> None:
        options = ("--nthreads", "1", "--no-nanny", "--memory-limit", "0", "--death-timeout", "20")
        self.workers.append(self._start("worker", self.address, *options, **settings))

    def _start(self, kind: str, *options: str, **settings: str) -> subprocess.Popen[bytes]:
        path = os.pathsep.join(entry for entry in sys.path if entry)
        # Without a dashboard a port for its pages is open all the same.
        common = ("--host", _HOST, "--no-dashboard", "--dashboard-address", f"{_HOST}:0")
        with (self._folder / "cluster.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-c", _RUN, f"distributed.cli.dask_{kind}", *options, *common],
                stdin=subprocess.PIPE,
                cwd=self._folder,
                env=os.environ
                | {"PYTHONPATH": path, "DASK_TEMPORARY_DIRECTORY": str(self._folder)}
                | settings,
                stdout=log,
                stderr=log,
            )

    def close(self) -> None:
        for process in (self.scheduler, *self.workers):
            process.kill()
            process.wait()


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    """A cluster that has ended when the block ends, whatever happens in it."""
    pytest.importorskip("distributed", reason="a cluster needs nacelle-robotics[cluster]")
    running = Cluster(folder)
    try:
        for _ in range(workers):
            running.start_worker()
        yield running
    finally:
        running.close()
