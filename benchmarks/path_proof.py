"""Processor time of proofs of whole motions: a spline of one second through four poses, after the first call.

python benchmarks/path_proof.py [ROBOT ...]
"""

from __future__ import annotations

import sys
import time

import numpy as np

import nacelle
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import quat_exp, quat_multiply
from nacelle.trajectory import BSpline, Trajectory

ROBOTS = ("palida", "h4", "delta")
REPEATS = 5


def spline(robot: Robot, size: float = 0.03) -> Trajectory:
    """A motion of one second through four poses near the reference."""
    x0, layout = mechanism_of(robot).reference[0], mechanism_of(robot).layout
    rng, points = np.random.default_rng(0), []
    scale = np.where(np.array(layout.units) == "m", robot.size, 3.0)
    for _ in range(4):
        x = x0 + size * rng.uniform(-1.0, 1.0, len(x0)) * scale
        if layout.quaternion is not None:
            turn = quat_exp(3.0 * size * rng.uniform(-1.0, 1.0, 3))
            x[layout.quaternion] = quat_multiply(turn, x0[layout.quaternion])
        points.append(x)
    return BSpline(np.array(points), motion=robot.motion, duration=1.0)


def main(names: list[str]) -> None:
    """Print a line a robot."""
    for name in names or ROBOTS:
        robot = nacelle.load(name)
        path = spline(robot)
        proof = nacelle.prove(robot, path)
        times = []
        for _ in range(REPEATS):
            start = time.process_time()
            proof = nacelle.prove(robot, path)
            times.append(time.process_time() - start)
        verdict = "proved" if proof.proved else "not proved"
        print(f"{name}: {verdict}, {len(proof.times) - 1} intervals, {1e3 * min(times):.1f} ms")


if __name__ == "__main__":
    main(sys.argv[1:])
