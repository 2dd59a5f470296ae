"""What the check of programs costs: its part of the time of first calls, robot by robot.

    python benchmarks/checks.py                  # fivebar, delta, palida, quattro
    python benchmarks/checks.py h4 --rounds 5
    python benchmarks/checks.py delta-flexible prrrp fivebar-flexible delta --models implicit

Every round starts with an empty cache: the program is made, compiled and checked, then loaded from the cache.
`implicit` is the loop of implicit steps (Radau IIA): of links that bend where the robot has such, else rigid.
Times are of processors, the compiler's process included, so that other work on the machine does not count.
The check is all that a program without one would not take: the physics as it is written, the traced and
the minimised program at the states, the loop in NumPy, and what is compiled at the states.
Medians over the rounds; shares are of one and the same run.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import nacelle
from nacelle.compile import Specification, cache, compile_function, compile_irk5, drivers, specification
from nacelle.dynamics import model_functions
from nacelle.elastic.plant import elastic_plant
from nacelle.emit.jit import compiler
from nacelle.emit.store import Store
from nacelle.model.robot import Robot
from nacelle.simulation.rigid_plant import rigid_plant

MODELS = ("inverse", "forward", "inertia", "regressor", "implicit")
# Measured from outside: the package has no hook for it, and needs none.
CHECKS = (
    (Specification, "_check"),
    (specification, "evaluate_program"),
    (drivers, "numpy_kernel"),
    (cache, "_loop_check"),
    (cache, "_disagreement_reason"),
)


def processor_time() -> float:
    """Processor time of this process and of the compiler's, s."""
    first = compiler.default()
    processes = [one.pid for one in (first, first.second())]
    ticks = 0
    for pid in filter(None, processes):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


class Stopwatch:
    """Processor time, s, of functions, of which one may call another."""

    def __init__(self) -> None:
        self.spent, self._depth = 0.0, 0

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with its time added."""

        def call(*given: Any, **named: Any) -> Any:
            start = time.process_time()
            self._depth += 1
            try:
                return function(*given, **named)
            finally:
                self._depth -= 1
                if not self._depth:
                    self.spent += time.process_time() - start

        return call


@contextmanager
def measured_checks() -> Iterator[Stopwatch]:
    """The time that checks take meanwhile."""
    watch = Stopwatch()
    with ExitStack() as patches:
        for home, name in CHECKS:
            patches.enter_context(mock.patch.object(home, name, watch.timed(getattr(home, name))))
        yield watch


def compile_model(robot: Robot, model: str, store: Store) -> None:
    """Compile a model of a robot, or load it from the cache."""
    if model != "implicit":
        compile_function(getattr(model_functions, model), robot, cache=store)
        return
    bends = any(body.section for body in robot.bodies)
    plant = elastic_plant(robot, friction=False) if bends else rigid_plant(robot, friction=False)
    compile_irk5(plant.model.flow, plant.robot, options=dict(plant.options), cache=store)


def one_round(robot: Robot, model: str) -> tuple[float, float, float]:
    """Processor time, s, of a first call, of the check in it, and of loading the program from the cache."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        with measured_checks() as watch:
            start = processor_time()
            compile_model(robot, model, store)
            whole = processor_time() - start
        start = processor_time()
        compile_model(robot, model, store)
        return whole, watch.spent, processor_time() - start


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description="what the check of programs costs")
    parser.add_argument("robots", nargs="*", default=["fivebar", "delta", "palida", "quattro"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    chosen = parser.parse_args()
    compiler.default().start()
    print("robot            model       first call  check     share (spread)          from the cache")
    for name in chosen.robots:
        robot = nacelle.load(name)
        for model in chosen.models:
            whole, spent, loaded = np.array([one_round(robot, model) for _ in range(chosen.rounds)]).T
            share = 100.0 * spent / whole
            print(
                f"{name:16s} {model:10s} {np.median(whole):8.2f} s {1e3 * np.median(spent):6.0f} ms "
                f"{np.median(share):7.1f} % ({np.min(share):.1f} to {np.max(share):.1f}) "
                f"{1e3 * np.median(loaded):12.0f} ms",
                flush=True,
            )


if __name__ == "__main__":
    main()
