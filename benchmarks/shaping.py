"""Residual vibration after a motion: modes along the path against the best fixed ZV and ZVD shapers.

    python benchmarks/shaping.py [ROBOT ...] [--exudyn]

Each robot moves along one line in one given time. Amplitudes of the platform after the stop are measured on
the elastic plant (nonlinear, with friction and gravity), over one second. "zv" and "zvd" are the best of
all fixed frequencies and of four laws that they shape: searched with the linear model, then on the plant.
"zv, pose" and "zvd, pose" follow the first frequency along the path. With --exudyn all is done
without friction, and the same motions run in Exudyn as well, with beams of finite elements. Nothing is
asserted.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import time
from pathlib import Path as File
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(File(__file__).parents[1] / "tests"))

import numpy as np
from scipy.optimize import minimize_scalar

import nacelle
from nacelle.elastic.path_vibration import PathVibration
from nacelle.elastic.shaping import amplitudes, residual_vibration, shape_motion
from nacelle.errors import NacelleError
from nacelle.model.robot import Robot
from nacelle.trajectory import Line
from nacelle.trajectory.along_path import Path
from nacelle.trajectory.shaping import Retimed, ShapedTiming
from nacelle.trajectory.timing import Quintic, read_timing


class Case(NamedTuple):
    """A line and a time."""

    start: list[float]
    end: list[float]
    duration: float


CASES = {
    "delta-flexible": Case([-0.2, 0.05, -0.6], [0.25, -0.05, -0.65], 0.45),
    "fivebar-flexible": Case([-0.12, 0.25], [0.12, 0.33], 0.15),
}
LAWS = ("quintic", "cubic", "trapezoid", "bang-bang")
MODES, FREQUENCIES, SEARCHES = 3, 24, 8


def best_fixed(model: PathVibration, shaper: str, duration: float) -> tuple[float, str, Retimed]:
    """Frequency, law and motion of the best fixed shaper."""
    f = model.frequencies
    grid = np.geomspace(0.7 * f[:, 0].min(), 2.0 * f[:, 1].max(), FREQUENCIES)
    found = []
    for law in LAWS:
        for k, frequency in enumerate(grid):
            try:
                timing = ShapedTiming(read_timing(law, 1.0, None, None), shaper, frequency, duration)
            except NacelleError:
                continue
            left = amplitudes(model.residual(model.samples(timing, duration, MODES), MODES)).sum()
            found.append((float(left), law, k))
    best = None
    for law in LAWS:
        rows = sorted(row for row in found if row[1] == law)
        if not rows or rows[0][0] > 1.3 * min(found)[0]:
            continue
        k = rows[0][2]

        def motion(frequency: float, law: str = law) -> Retimed:
            timing = ShapedTiming(read_timing(law, 1.0, None, None), shaper, frequency, duration)
            return Retimed(model.path, timing)

        def left_by(frequency: float) -> float:
            try:
                return residual_vibration(model.robot, motion(frequency), after=0.4).amplitude
            except NacelleError:
                return np.inf

        low, high = grid[max(k - 1, 0)], grid[min(k + 1, FREQUENCIES - 1)]
        answer = minimize_scalar(left_by, bounds=(low, high), method="bounded", options={"maxiter": SEARCHES})
        if best is None or answer.fun < best[0]:
            best = (float(answer.fun), float(answer.x), law)
    assert best is not None
    return (
        best[1],
        best[2],
        Retimed(model.path, ShapedTiming(read_timing(best[2], 1.0, None, None), shaper, best[1], duration)),
    )


def without_friction(robot: Robot) -> Robot:
    """The robot without friction, which the model in Exudyn has not."""
    joints = [
        dataclasses.replace(joint, friction=tuple(() for _ in joint.friction)) for joint in robot.joints
    ]
    return dataclasses.replace(robot, joints=tuple(joints))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robots", nargs="*", default=list(CASES), help=", ".join(CASES))
    parser.add_argument("--exudyn", action="store_true", help="measure in Exudyn, too (minutes)")
    chosen = parser.parse_args()
    for name in chosen.robots:
        robot, (start, end, T) = nacelle.load(name), CASES[name]
        if chosen.exudyn:
            robot = without_friction(robot)
        path = Path(Line(start, end, motion=robot.motion, duration=1.0))
        model = PathVibration(robot, path)
        first = model.frequencies[:, 0]
        begun = time.process_time()
        shaped = shape_motion(robot, path, T)
        spent = time.process_time() - begun
        motions = {"quintic": Retimed(path, Quintic(T)), "modes": shaped.trajectory}
        notes = {"quintic": "", "modes": f"{spent:.0f} s of processor time"}
        for shaper in ("zv", "zvd"):
            frequency, law, motion = best_fixed(model, shaper, T)
            motions[shaper], notes[shaper] = motion, f"{frequency:.2f} Hz, {law}"
            for law in LAWS:
                try:
                    follows = shape_motion(robot, path, T, shaper=shaper, law=law)
                except NacelleError as error:
                    notes.setdefault(f"{shaper}, pose", str(error))
                    continue
                motions[f"{shaper}, pose, {law}"], notes[f"{shaper}, pose, {law}"] = follows.trajectory, ""
        print(
            f"\n{name}, {start} to {end}, {T:g} s; first frequency {first.min():.2f} to {first.max():.2f} Hz"
        )
        print("| law | mm on the plant | over that of modes | use of drives | |")
        left = {key: residual_vibration(robot, motion).amplitude for key, motion in motions.items()}
        for key, motion in motions.items():
            use = max(
                max(load.peak_force / load.force_limit, load.peak_speed / load.speed_limit)
                for load in nacelle.dynamics.size_motors(robot, motion, rate=2000.0).loads
            )
            print(
                f"| {key} | {1e3 * left[key]:.4f} | {left[key] / left['modes']:.1f} | {use:.2f} "
                f"| {notes[key]} |",
                flush=True,
            )
        if chosen.exudyn:
            from support.flexible.exudyn_path import exudyn_residual

            for key in ("quintic", "zv", "zvd", "modes"):
                print(f"| {key}, Exudyn | {1e3 * exudyn_residual(robot, motions[key]):.4f} |", flush=True)


if __name__ == "__main__":
    main()
