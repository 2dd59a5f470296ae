"""What the check of programs costs: its part of the time of first calls, robot by robot.

    python benchmarks/checks.py                  # fivebar, delta, palida, quattro
    python benchmarks/checks.py h4 --rounds 5

Every round starts with an empty cache: the program is made, compiled and checked, then loaded from the cache.
Medians over the rounds; shares are of one and the same run.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import nacelle
from nacelle.compile import Specification, compile_function
from nacelle.dynamics import model_functions
from nacelle.emit.store import Store
from nacelle.model.robot import Robot

MODELS = ("inverse", "forward", "inertia", "regressor")
_check = Specification._check


def one_round(robot: Robot, model: str) -> tuple[float, float, float]:
    """Seconds of a first call, of the check in it, and of loading the program from the cache."""
    spent = 0.0

    def timed(self: Specification, *given: Any) -> Any:
        nonlocal spent
        start = time.perf_counter()
        found = _check(self, *given)
        spent += time.perf_counter() - start
        return found

    function = getattr(model_functions, model)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        # Measured from outside: the package has no hook for it, and needs none.
        Specification._check = timed  # type: ignore[method-assign]
        try:
            start = time.perf_counter()
            compile_function(function, robot, cache=store)
            whole = time.perf_counter() - start
        finally:
            Specification._check = _check  # type: ignore[method-assign]
        start = time.perf_counter()
        compile_function(function, robot, cache=store)
        return whole, spent, time.perf_counter() - start


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description="what the check of programs costs")
    parser.add_argument("robots", nargs="*", default=["fivebar", "delta", "palida", "quattro"])
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    print("robot          model       first call  check     share (spread)          from the cache")
    for name in chosen.robots:
        robot = nacelle.load(name)
        for model in MODELS:
            whole, spent, loaded = np.array([one_round(robot, model) for _ in range(chosen.rounds)]).T
            share = 100.0 * spent / whole
            print(
                f"{name:14s} {model:10s} {np.median(whole):8.2f} s {1e3 * np.median(spent):6.0f} ms "
                f"{np.median(share):7.1f} % ({np.min(share):.1f} to {np.max(share):.1f}) "
                f"{1e3 * np.median(loaded):12.0f} ms"
            )


if __name__ == "__main__":
    main()
