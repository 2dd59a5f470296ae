"""How many modules and functions of the package five walks visit, at first and with programs at hand.

`PYTHONPATH=tests python -m support.walks` prints the table; a checkout's own `src` is the one on the path.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from types import CodeType, FrameType

import numpy as np

from support.last_bits import forget_everything


def visited_modules(walk: Callable[[], object]) -> set[CodeType]:
    """The functions of the package that a call runs, without lambdas and comprehensions."""
    found: set[CodeType] = set()
    inside = f"{os.sep}nacelle{os.sep}"

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and inside in frame.f_code.co_filename and frame.f_code.co_name[0] != "<":
            found.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        walk()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def walks() -> dict[str, Callable[[], object]]:
    """The five walks, each a call without arguments, of a Delta; a motion is measured beforehand."""
    import nacelle
    from nacelle.identification.experiment import Experiment

    robot = nacelle.load("delta")
    x = nacelle.reference_pose(robot)
    rest = [0.0] * robot.motion.n
    circle = nacelle.Circle(x, 0.05, motion=robot.motion, speed=0.6, acceleration=6.0, timing="trapezoid")
    law = nacelle.control.controller(robot, "cf-rb", period=1e-3, bandwidth=20.0)
    amplitudes = 0.02 * np.random.default_rng(1).normal(size=(2, 3, robot.motion.n))
    motion = nacelle.trajectory.Fourier(x, *amplitudes, motion=robot.motion, frequency=0.8)
    measured = Experiment(robot, motion, periods=2).run(seed=1).measurement
    return {
        "load": lambda: nacelle.load("delta"),
        "inverse kinematics": lambda: nacelle.inverse_kinematics(robot, x),
        "inverse dynamics": lambda: nacelle.inverse_dynamics(robot, x, rest, rest),
        "identify": lambda: nacelle.identification.identify(robot, measured, allow=("misfit",)),
        "closed loop": lambda: nacelle.control.closed_loop(
            robot, law, circle, options=nacelle.control.LoopOptions(settle=0.05)
        ),
    }


def main() -> None:
    """Print modules and functions of every walk: in a fresh process with an empty cache, and again."""
    if len(sys.argv) > 1:
        walk = walks()[sys.argv[1]]
        # What the walks need beforehand is forgotten again: each is the first one with an empty cache.
        os.environ["NACELLE_CACHE"] = tempfile.mkdtemp(dir=os.environ["NACELLE_CACHE"])
        forget_everything()
        for run in (visited_modules(walk), visited_modules(walk)):
            print(len({code.co_filename for code in run}), len(run))
        return
    print(f"{'walk':20}{'first time':>28}{'again':>28}")
    for name in ("load", "inverse kinematics", "inverse dynamics", "identify", "closed loop"):
        with tempfile.TemporaryDirectory() as folder:
            settings = {**os.environ, "NACELLE_CACHE": folder}
            command = [sys.executable, "-m", "support.walks", name]
            out = subprocess.run(command, env=settings, check=True, capture_output=True, text=True).stdout
        counts = [f"{m} modules, {n} functions" for m, n in (line.split() for line in out.splitlines())]
        print(f"{name:20}{counts[0]:>28}{counts[1]:>28}")


if __name__ == "__main__":
    main()
