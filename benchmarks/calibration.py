"""Calibration: `python benchmarks/calibration.py [--klipper FOLDER] [--machines N]`.

Against Klipper: machines of a linear Delta are drawn at random within tolerances: towers off the circle and
tilted, rods of a pair unequal in length, ball joints off their places on carriages and effector, endstops.
A probe measures the bed's height at Klipper's points; then distances on Klipper's printed artefact, too.
Both calibrate from the same numbers: Klipper's own `calculate_params` with its coordinate descent,
unchanged (its `delta.py`, `delta_calibrate.py` and `mathutil.py` in FOLDER), and nacelle with these
tolerances; then again on machines that deviate only in what Klipper's model has: places of towers, a length
of rods and an endstop for each. Errors over the bed, root mean squares over points and machines, in z, and
in x and y in the base that fits best: a probe cannot tell where the machine stands on the bed. The bound is
what the data say of machines so drawn: trace(L C L^T) over the bed, C = (J^T J + T^-2)^-1, L the nozzle by
the parameters.

Against SciPy: a hexapod with 42 parameters at 100 poses of a tracker, once by nacelle, once by
`scipy.optimize.least_squares` with finite differences over the same parameters and residuals, forward
kinematics by Newton's method in NumPy, pose by pose and all poses at once. CPU times of one thread, taken in
turn; and the whole calibration, with the cache of programs warm and, in a process of its own, empty.

The machines that are measured are those of the same NumPy, rods and struts by Newton's method.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

sys.path.insert(0, str(Path(__file__).parent))

from klipper import BED, LINEAR_DELTA, PLAIN_DELTA, Klipper, close_struts, delta_positions, klipper_points
from timing import results_in_turn

import nacelle
from nacelle.calibration import (
    Campaign,
    Pairs,
    Tracker,
    calibrate,
    choose_parameters,
    drawn_poses,
    encoders_of,
    known_parameters,
)
from nacelle.calibration.calibration import covariance_of
from nacelle.calibration.fit import System, fit
from nacelle.calibration.poses import platform_rates


def cpu(function, *arguments):
    start = time.process_time()
    result = function(*arguments)
    return time.process_time() - start, result


def close_pose(base, platform, lengths, p, R):
    """The same for one pose p (3,), R (3, 3), as one writes it first."""
    J = np.empty((6, 6))
    for _ in range(20):
        arms = platform @ R.T
        d = p + arms - base
        now = np.sqrt(np.sum(d * d, axis=1))
        if np.abs(now - lengths).max() < 1e-13:
            break
        J[:, :3] = d / now[:, None]
        J[:, 3:] = np.cross(arms, J[:, :3])
        step = np.linalg.solve(J, lengths - now)
        p, R = p + step[:3], Rotation.from_rotvec(step[3:]).as_matrix() @ R
    return p, R


HEIGHT_NOISE, DISTANCE_NOISE, READING_NOISE = 5e-6, 10e-6, 1e-7
TOLERANCES = {
    "*.rail.predecessor.[xy]": 0.5e-3,
    "*.rail.predecessor.r[xy]": 2e-3,
    "*.elbow-?.predecessor.[xyz]": 0.1e-3,
    "*.wrist-?.predecessor.x": 0.2e-3,
    "*.wrist-?.successor.[xyz]": 0.1e-3,
    "zero.*": 0.3e-3,
}
# What Klipper's model has: places of towers, a length of rods and an endstop for each.
PLAIN = {"*.rail.predecessor.[xy]": 0.5e-3, "number.rod_?": 0.2e-3, "zero.*": 0.3e-3}


def parameters_of(robot, tolerances):
    """Those that deviate, and their tolerances (P,)."""
    known = known_parameters(robot, encoders_of(robot, READING_NOISE))
    parameters = choose_parameters(known, [f"{name}={tolerance}" for name, tolerance in tolerances.items()])
    return parameters, np.array([item.tolerance for item in parameters])


def disc(step):
    """Points (S, 2) of the bed on a square grid, mm."""
    grid = np.stack(np.meshgrid(*[np.arange(-BED, BED + 1.0, step)] * 2), axis=-1).reshape(-1, 2)
    return grid[np.linalg.norm(grid, axis=1) <= BED]


def in_best_frame(errors, points):
    """Errors (S, 3, ...) without rigid motions of points (S, 2) in the plane."""
    M = np.zeros((len(points), 2, 3))
    M[:, :, :2], M[:, 0, 2], M[:, 1, 2] = np.eye(2), -points[:, 1], points[:, 0]
    M, plane, result = M.reshape(-1, 3), errors[:, :2].reshape(2 * len(points), -1), errors.copy()
    result[:, :2] -= (M @ (np.linalg.pinv(M) @ plane)).reshape(errors[:, :2].shape)
    return result


def delta_campaign(robot, q, heights, distances):
    """A campaign of heights (N,) at the first of carriages' heights q (S, 3), distances of pairs after."""
    values = np.full((len(q), 1), np.nan)
    values[: len(heights), 0] = heights
    probe = Tracker(values, HEIGHT_NOISE, coordinates=("z",), tolerance=(0.0,) * 6, name="probe")
    ends = np.arange(len(heights), len(q)).reshape(-1, 2)
    pairs = (Pairs(ends, distances[:, None], DISTANCE_NOISE),) if len(distances) else ()
    return Campaign(robot, q, encoders_of(robot, READING_NOISE), (probe,), pairs)


def compare_with_klipper(klipper, machines, points, with_distances, plain=False):
    """Errors (4, 2) over the bed, m, z and xy: as described, Klipper, nacelle, bound; CPU seconds of both."""
    robot, bed = nacelle.loads(PLAIN_DELTA if plain else LINEAR_DELTA), disc(15.0)
    parameters, tolerance = parameters_of(robot, PLAIN if plain else TOLERANCES)
    x, probed = (1e-3 * np.pad(xy, ((0, 0), (0, 1))) for xy in (bed, points))
    q_bed, q = (nacelle.inverse_kinematics(robot, at).q for at in (x, probed))
    ends = klipper.artefact() if with_distances else np.zeros((0, 2, 3))
    q_all = np.concatenate([q, ends.reshape(-1, 3)])
    L = in_best_frame(platform_rates(robot, x, parameters, encoders_of(robot))[:, :3], bed)
    total, seconds = np.zeros((4, 3)), np.zeros(2)
    for machine in range(machines):
        rng = np.random.default_rng(machine)
        values = tolerance * rng.normal(size=len(parameters))
        truth, measured = (delta_positions(parameters, values, heights) for heights in (q_bed, q_all))
        heights = measured[: len(q), 2] + HEIGHT_NOISE * rng.normal(size=len(q))
        printed = measured[len(q) :].reshape(-1, 2, 3)
        distances = np.linalg.norm(printed[:, 1] - printed[:, 0], axis=1)
        distances += DISTANCE_NOISE * rng.normal(size=len(ends))
        first, calibration = cpu(klipper.calibrate, q, heights, ends, distances)
        system = System(delta_campaign(robot, q_all, heights, distances), parameters)
        second, optimum = cpu(fit, system)
        seconds += first, second
        fitted = delta_positions(parameters, optimum.point.values, q_bed)
        for k, positions in enumerate((x, klipper.positions(calibration, q_bed), fitted)):
            total[k] += np.mean(in_best_frame(positions - truth, bed) ** 2, axis=0)
        total[3] += np.mean(np.einsum("sik,kl,sil->si", L, covariance_of(system, optimum), L), axis=0)
    total /= machines
    return np.sqrt(np.stack([total[:, 2], total[:, 0] + total[:, 1]], axis=1)), seconds / machines


def against_klipper(folder, machines):
    klipper = Klipper(folder)
    heads = ("as described", "Klipper", "nacelle", "bound", "Klipper/nacelle", "nacelle/bound", "CPU ms")
    for plain in (False, True):
        kind = "that deviate as Klipper's model can" if plain else "with tolerances"
        print(f"\nlinear Delta, {machines} machines {kind}, errors over the bed, rms, um: z | x and y")
        print(f"{'':24}" + "".join(f"{head:>17}" for head in heads))
        for points in (klipper_points(), disc(25.0)):
            for with_distances in (False, True):
                rms, seconds = compare_with_klipper(klipper, machines, points, with_distances, plain)
                pairs = [*(1e6 * rms), rms[1] / rms[2], rms[2] / rms[3], 1e3 * seconds]
                name = f"{len(points)} heights" + (", 12 distances" if with_distances else "")
                print(f"{name:24}" + "".join(f"{a:9.4g} |{b:6.3g}" for a, b in pairs), flush=True)


# ---- a hexapod, and SciPy

TRACKER_NOISE = np.array([20e-6] * 3 + [1e-4] * 3)
HEXAPOD = {"leg?.1.predecessor.[xyz]": 1e-3, "leg?.ball.successor.[xyz]": 1e-3, "zero.*": 2e-3}


class Hexapod:
    """A hexapod measured at 100 poses, and its calibration by SciPy; parameters over their tolerances.

    Encoders are exact for SciPy; nacelle knows no such thing, so they have 0.1 um.
    """

    def __init__(self, poses=100):
        """Draw a machine and measure it."""
        rng, robot = np.random.default_rng(7), nacelle.load("gough-stewart")
        self.parameters, self.tolerance = parameters_of(robot, HEXAPOD)
        names = {item.name: k for k, item in enumerate(self.parameters)}
        self.anchors, self.balls = (
            [[names[f"leg{leg}.{frame}.{axis}"] for axis in "xyz"] for leg in range(1, 7)]
            for frame in ("1.predecessor", "ball.successor")
        )
        self.zeros = [names[f"zero.leg{leg}.drive"] for leg in range(1, 7)]
        joints = {joint.name: joint for joint in robot.joints}
        self.b = np.array([joints[f"leg{leg}.1"].frame_predecessor.p for leg in range(1, 7)], float)
        self.a = np.array([joints[f"leg{leg}.ball"].frame_successor.p for leg in range(1, 7)], float)
        self.poses, x = poses, drawn_poses(robot, poses, seed=1)
        self.start = x[:, :3], Rotation.from_quat(x[:, 3:]).as_matrix()
        self.q = nacelle.inverse_kinematics(robot, x, limits=False).q
        p, R = self.predict(rng.normal(size=len(names)))
        self.p = p + TRACKER_NOISE[:3] * rng.normal(size=p.shape)
        self.R = Rotation.from_rotvec(TRACKER_NOISE[3:] * rng.normal(size=p.shape)).as_matrix() @ R
        values = np.concatenate([self.p, Rotation.from_matrix(self.R).as_rotvec()], axis=1)
        coordinates = ("x", "y", "z", "rx", "ry", "rz")
        tracker = Tracker(values, TRACKER_NOISE, coordinates=coordinates, tolerance=(0.0,) * 6)
        self.campaign = Campaign(robot, self.q, encoders_of(robot, READING_NOISE), (tracker,))

    def predict(self, scaled, together=True):
        """Positions and rotations at the readings, all together or one by one."""
        values = scaled * self.tolerance
        b, a = self.b + values[self.anchors], self.a + values[self.balls]
        lengths = self.q + values[self.zeros]
        if together:
            return close_struts(b, a, lengths, *self.start)
        each = [close_pose(b, a, *sample) for sample in zip(lengths, *self.start, strict=True)]
        return tuple(np.array(part) for part in zip(*each, strict=True))

    def residuals(self, scaled, together=True):
        p, R = self.predict(scaled, together)
        off = Rotation.from_matrix(R @ np.swapaxes(self.R, 1, 2)).as_rotvec()
        whitened = np.concatenate([p - self.p, off], axis=1) / TRACKER_NOISE
        return np.concatenate([whitened.ravel(), scaled])

    def by_scipy(self, together=True):
        return least_squares(self.residuals, np.zeros(len(self.tolerance)), args=(together,))


def against_scipy(rounds):
    hexapod = Hexapod()
    campaign, parameters = hexapod.campaign, hexapod.parameters
    ways = {
        "nacelle, fit": lambda: fit(System(campaign, parameters), robust=False),
        "nacelle, calibrate": lambda: calibrate(campaign, parameters),
        "SciPy, poses at once": lambda: hexapod.by_scipy(together=True),
        "SciPy, pose by pose": lambda: hexapod.by_scipy(together=False),
    }
    ways["nacelle, fit"]()
    runs = results_in_turn({name: lambda way=way: cpu(way) for name, way in ways.items()}, rounds)
    best = {name: min(seconds for seconds, _ in series) for name, series in runs.items()}
    print(f"hexapod, {len(parameters)} parameters, {hexapod.poses} poses; CPU seconds, best of {rounds}")
    for name, seconds in best.items():
        print(f"  {name:24}{seconds:9.3f}{seconds / best['nacelle, fit']:9.1f} times the fit")
    ours, theirs = runs["nacelle, fit"][0][1], runs["SciPy, pose by pose"][0][1]
    deviation = np.sqrt(np.diagonal(covariance_of(System(campaign, parameters), ours)))
    off = np.abs(ours.point.values - theirs.x * hexapod.tolerance) / deviation
    print(f"  sums of squares: nacelle {ours.cost:.4f}, SciPy {2.0 * theirs.cost:.4f}")
    print(f"  parameters differ by at most {off.max():.1e} of their deviations")


def whole_process(cache):
    """CPU seconds of calibrating the hexapod in a process of its own, with a cache of programs."""
    code = (
        "import sys; sys.path.insert(0, 'benchmarks'); from calibration import *; h = Hexapod();"
        "print(cpu(lambda: calibrate(h.campaign, h.parameters))[0])"
    )
    environment = {**os.environ, "NACELLE_CACHE": cache}
    command = [sys.executable, "-c", code]
    return float(subprocess.check_output(command, env=environment, cwd=Path(__file__).parents[1], text=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--klipper", metavar="FOLDER", help="of Klipper's delta_calibrate.py and its like")
    parser.add_argument("--machines", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    against_scipy(options.rounds)
    with tempfile.TemporaryDirectory() as cache:
        for name in ("cold", "warm"):
            print(f"  calibrate in a new process, {name} cache: {whole_process(cache):.2f} s CPU", flush=True)
    if options.klipper:
        against_klipper(options.klipper, options.machines)


if __name__ == "__main__":
    main()
