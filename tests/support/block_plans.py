"""Plans of blocks that tests evaluate in threads, in processes and on clusters."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.errors import AssemblyError
from nacelle.studies.executors import run_blocks
from nacelle.studies.folder import Columns, ResultFolder

ROWS = 40
COLUMNS = {"x": "float64", "y": "float64", "status": "int64", "reason": "str"}


@dataclass(frozen=True)
class Quadratic:
    """y = x² of ROWS values a block.

    Attributes:
        key: of the plan.
        count: blocks.
        sleep: seconds that a block takes.
        trace: file to which every process appends its number when it prepares the plan.
        fails: block that fails.
        kills: block that ends its process, as one does that takes all memory.
    """

    key: str
    count: int = 12
    sleep: float = 0.0
    trace: Path | None = None
    fails: int = -1
    kills: int = -1

    @property
    def exponent(self) -> float:
        """What is expensive to prepare: kept, but without a lock, as Python's `cached_property` has none."""
        if "prepared" not in self.__dict__:
            if self.trace is not None:
                time.sleep(0.02)
                with self.trace.open("a") as file:
                    file.write(f"{os.getpid()}\n")
            self.__dict__["prepared"] = 2.0
        return float(self.__dict__["prepared"])

    def evaluate(self, k: int) -> Columns:
        exponent = self.exponent
        time.sleep(self.sleep)
        if k == self.fails:
            # Its class needs more than the message, so that it cannot be unpickled as it is.
            raise AssemblyError("loop 3 stays open", {"loop 3": 0.1})
        if k == self.kills:
            os._exit(1)
        x = (k * ROWS + np.arange(ROWS)) / 7.0
        x[k % ROWS] = np.nan
        reasons = np.where(np.isnan(x), f"block {k}: not a number, µ", "")
        return {"x": x, "y": x**exponent, "status": np.where(np.isnan(x), 6, 0), "reason": reasons}

    def metadata(self) -> dict[str, Any]:
        """What study.json says."""
        versions = {"nacelle": "0.1.0", "numpy": "2.4.6"}
        study = {"study": {"variables": {"x": [0, 1]}, "seed": 3}, "versions": versions}
        robot = {"hash": "5f2a", "text": "name: delta\n" * 40}
        return {"key": self.key, "blocks": self.count, "columns": COLUMNS, **study, "robot": robot}


def block_bytes(folder: Path) -> dict[str, bytes]:
    """Files of blocks, whatever else is in their folder."""
    return {path.name: path.read_bytes() for path in sorted((folder / "blocks").iterdir())}


if __name__ == "__main__":
    # A process that runs a study: python -m support.block_plans FOLDER KEY COUNT SLEEP.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    place, key, count, sleep = sys.argv[1:]
    plan = Quadratic(key, int(count), float(sleep))
    with ResultFolder.open(Path(place), plan.metadata()) as results:
        print("open", flush=True)
        run_blocks(plan, results.missing_blocks(), results.write, threads=2)
