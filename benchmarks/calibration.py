"""Calibration: `python benchmarks/calibration.py [--klipper FOLDER] [--machines N]`.

Against Klipper: machines of a linear Delta are drawn at random within tolerances: towers off the circle and
tilted, rods of a pair unequal in length, ball joints off their places on carriages and effector, endstops. A
probe measures the bed's height at Klipper's points; then distances on Klipper's printed artefact, too. Both
calibrate from the same numbers: Klipper's own `calculate_params` with its coordinate descent, unchanged (its
`delta.py`, `delta_calibrate.py` and `mathutil.py` in FOLDER; GPL, no part of nacelle), and nacelle with these
tolerances. Errors over the bed, root mean squares over points and machines, in z, and in x and y in the base
that fits best: a probe cannot tell where the machine stands on the bed. The bound is what the data say of
machines so drawn: trace(L C L^T) over the bed, C = (J^T J + T^-2)^-1, L the nozzle by the parameters.

Against SciPy: a hexapod with 42 parameters at 100 poses of a tracker, once by nacelle, once by
`scipy.optimize.least_squares` with finite differences over the same parameters and residuals, forward
kinematics by Newton's method in NumPy, pose by pose and all poses at once. CPU times of one thread, taken in
turn; and the whole calibration, with the cache of programs warm and, in a process of its own, empty.

The machines that are measured are those of the same NumPy, rods and struts by Newton's method.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import importlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

sys.path.insert(0, str(Path(__file__).parent))

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


# ---- rods and struts in NumPy


def close_struts(base, platform, lengths, p, R):
    """Poses p (S, 3), R (S, 3, 3) at which struts between points (..., 6, 3) have lengths (..., 6)."""
    for _ in range(20):
        arms = np.einsum("sij,kj->ski", R, platform)
        d = p[:, None] + arms - base
        now = np.linalg.norm(d, axis=2)
        if np.abs(now - lengths).max() < 1e-13:
            break
        u = d / now[:, :, None]
        J = np.concatenate([u, np.cross(arms, u)], axis=2)
        step = np.linalg.solve(J, (lengths - now)[:, :, None])[:, :, 0]
        p, R = p + step[:, :3], Rotation.from_rotvec(step[:, 3:]).as_matrix() @ R
    return p, R


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


# ---- a linear Delta, and Klipper

HEIGHT_NOISE, DISTANCE_NOISE, READING_NOISE = 5e-6, 10e-6, 1e-7
RADIUS, ARM, BED = 120.0, 250.0, 90.0  # mm
ANGLES = (210.0, 330.0, 90.0)
TOLERANCES = {
    "*.rail.predecessor.[xy]": 0.5e-3,
    "*.rail.predecessor.r[xy]": 2e-3,
    "*.elbow-?.predecessor.[xyz]": 0.1e-3,
    "*.wrist-?.predecessor.x": 0.2e-3,
    "*.wrist-?.successor.[xyz]": 0.1e-3,
    "zero.*": 0.3e-3,
}
LINEAR_DELTA = """\
format: nacelle/1
name: linear-delta
motion: xyz
gravity: 0 0 -9.81 m/s^2
reference: {position: 0 0 0 m}
constants: {rod: 250 mm, half: 25 mm, rail: 155 mm, plate: 35 mm}
platform: {name: tool, mass: 0.3 kg, inertia: {xx: 0.0003 kg*m^2, yy: 0.0003 kg*m^2, zz: 0.0005 kg*m^2}}
templates:
  leg:
    bodies:
      carriage: {mass: 0.3 kg, inertia: {xx: 0.0003 kg*m^2, yy: 0.0003 kg*m^2, zz: 0.0003 kg*m^2}}
      rod-a: &rod {mass: 0.02 kg, inertia: {xx: 0.0000002 kg*m^2, yy: 0.0001 kg*m^2, zz: 0.0001 kg*m^2}}
      rod-b: *rod
    joints:
      rail: {type: prismatic, parent: base, child: carriage, at: [$rail, 0, 0], axis: z, guess: 219 mm,
             actuator: {name: motor}}
      elbow-a: {type: spherical, parent: carriage, child: rod-a, at: [0, $half, 0], guess: [0, 1, 0, 0.6]}
      elbow-b: {type: spherical, parent: carriage, child: rod-b, at: [0, -$half, 0], guess: [0, 1, 0, 0.6]}
    closures:
      wrist-a: {type: spherical, parent: rod-a, at: [$rod, 0, 0], child: tool, child_at: [$plate, $half, 0]}
      wrist-b: {type: spherical, parent: rod-b, at: [$rod, 0, 0], child: tool, child_at: [$plate, -$half, 0]}
legs:
  - {repeat: leg, names: [a, b, c], placements: [{angle: 210 deg}, {angle: 330 deg}, {angle: 90 deg}]}
"""


def parameters_of(robot, tolerances):
    """Those that deviate, and their tolerances (P,)."""
    known = known_parameters(robot, encoders_of(robot, READING_NOISE))
    parameters = choose_parameters(known, [f"{name}={tolerance}" for name, tolerance in tolerances.items()])
    return parameters, np.array([item.tolerance for item in parameters])


def delta_positions(parameters, values, q):
    """Where the nozzle of a linear Delta with deviations is (S, 3), carriages at heights q (S, 3), m."""
    off = dict(zip((item.name for item in parameters), values, strict=True))

    def vector(name, axes="xyz"):
        return np.array([off.get(f"{name}.{axis}", 0.0) for axis in axes])

    base, effector, lengths = [], [], []
    for k, leg in enumerate("abc"):
        R_leg = Rotation.from_euler("z", ANGLES[k], degrees=True).as_matrix()
        tilt = Rotation.from_rotvec(vector(f"{leg}.rail.predecessor", ("rx", "ry", "rz"))).as_matrix()
        foot = R_leg @ [0.155, 0.0, 0.0] + vector(f"{leg}.rail.predecessor")
        slide = (q[:, k] + off[f"zero.{leg}.motor"])[:, None] * np.array([0.0, 0.0, 1.0])
        for rod, side in (("a", 0.025), ("b", -0.025)):
            elbow = np.array([0.0, side, 0.0]) + vector(f"{leg}.elbow-{rod}.predecessor")
            base.append(foot + (slide + elbow) @ (tilt @ R_leg).T)
            effector.append(R_leg @ [0.035, side, 0.0] + vector(f"{leg}.wrist-{rod}.successor"))
            lengths.append(0.25 + off[f"{leg}.wrist-{rod}.predecessor.x"])
    start = np.stack([np.zeros(len(q)), np.zeros(len(q)), q.mean(axis=1) - 0.219], axis=1)
    R = np.tile(np.eye(3), (len(q), 1, 1))
    return close_struts(np.stack(base, axis=1), np.array(effector), np.array(lengths), start, R)[0]


class Klipper:
    """Klipper's own calibration, from its folder; lengths in mm."""

    STEP = 0.0125

    def __init__(self, folder):
        """Import it, with empty modules in the place of what has no part in the calculation."""
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(folder))
        for name in ("stepper", "chelper", "queuelogger", "klipper_extras", "klipper_extras.probe"):
            sys.modules[name] = ModuleType(name)
        sys.modules["klipper_extras"].__path__ = [str(folder)]
        mathutil = importlib.import_module("mathutil")
        # In this process: the calculation itself stays as it is.
        mathutil.background_coordinate_descent = lambda _, *args: mathutil.coordinate_descent(*args)
        self.extras = importlib.import_module("klipper_extras.delta_calibrate")
        delta = importlib.import_module("delta")
        self.nominal = delta.DeltaCalibration(RADIUS, list(ANGLES), [ARM] * 3, [300.0] * 3, [self.STEP] * 3)

    def stable(self, q):
        """Its stable positions at carriages' heights q (S, 3), m."""
        return ((self.nominal.abs_endstops - 1e3 * q) / self.STEP).tolist()

    def artefact(self):
        """Carriages' heights (12, 2, 3), m, at the ends of the distances on its printed artefact."""
        names = {"CENTER_DISTS": 6, "CENTER_PILLAR_WIDTHS": 3, "OUTER_DISTS": 6, "OUTER_PILLAR_WIDTHS": 6}
        blank = {"SCALE": (1.0,), **{name: [0.0] * count for name, count in names.items()}}
        ends = np.array([pair[1:] for pair in self.extras.measurements_to_distances(blank, self.nominal)])
        return 1e-3 * (self.nominal.abs_endstops - ends * self.STEP)

    def calibrate(self, q, heights, ends, distances):
        """Its calibration from heights (m) at q and distances between ends (N, 2, 3)."""
        results, silent = [], lambda *args, **kwargs: None
        kinematics = SimpleNamespace(get_calibration=lambda: self.nominal)
        toolhead = SimpleNamespace(get_kinematics=lambda: kinematics)
        analysis = object.__new__(self.extras.DeltaCalibrate)
        analysis.printer = SimpleNamespace(lookup_object=lambda name: toolhead)
        analysis.gcode, analysis.manual_heights = SimpleNamespace(respond_info=silent), []
        analysis.save_state = lambda probe, measured, calibration: results.append(calibration)
        pairs = zip(distances, self.stable(ends[:, 0]), self.stable(ends[:, 1]), strict=True)
        analysis.calculate_params(
            [(1e3 * z, position) for z, position in zip(heights, self.stable(q), strict=True)],
            [(1e3 * d, first, second) for d, first, second in pairs],
        )
        return results[0]

    def positions(self, calibration, q):
        """Where a calibration says that the nozzle is (S, 3), m."""
        return 1e-3 * np.array([calibration.get_position_from_stable(s) for s in self.stable(q)])


def heights_of(points):
    """Carriages' heights (S, 3), m, of the description at points (S, 2) of the bed, mm."""
    angles = np.radians(ANGLES)
    towers = RADIUS * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return 1e-3 * np.sqrt(ARM**2 - np.sum((points[:, None] - towers) ** 2, axis=2))


def klipper_points():
    """Klipper's default points to probe (7, 2), mm."""
    angles, part = np.radians(90.0 + 60.0 * np.arange(6)), np.array([0.95, 0.90, 0.85, 0.70, 0.75, 0.80])
    return BED * np.concatenate(
        [np.zeros((1, 2)), np.stack([part * np.cos(angles), part * np.sin(angles)], 1)]
    )


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


def compare_with_klipper(klipper, machines, points, with_distances):
    """Errors (4, 2) over the bed, m, z and xy: as described, Klipper, nacelle, bound; CPU seconds of both."""
    robot, bed = nacelle.loads(LINEAR_DELTA), disc(15.0)
    parameters, tolerance = parameters_of(robot, TOLERANCES)
    q_bed, q = heights_of(bed), heights_of(points)
    ends = klipper.artefact() if with_distances else np.zeros((0, 2, 3))
    q_all = np.concatenate([q, ends.reshape(-1, 3)])
    x = nacelle.forward_kinematics(robot, q_bed).x
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
        for k, positions in enumerate((x[:, :3], klipper.positions(calibration, q_bed), fitted)):
            total[k] += np.mean(in_best_frame(positions - truth, bed) ** 2, axis=0)
        total[3] += np.mean(np.einsum("sik,kl,sil->si", L, covariance_of(system, optimum), L), axis=0)
    total /= machines
    return np.sqrt(np.stack([total[:, 2], total[:, 0] + total[:, 1]], axis=1)), seconds / machines


def against_klipper(folder, machines):
    klipper = Klipper(folder)
    print(f"\nlinear Delta, {machines} machines, errors over the bed, rms, um: z | x and y")
    heads = ("as described", "Klipper", "nacelle", "bound", "Klipper/nacelle", "nacelle/bound", "CPU ms")
    print(f"{'':24}" + "".join(f"{head:>17}" for head in heads))
    for points in (klipper_points(), disc(25.0)):
        for with_distances in (False, True):
            rms, seconds = compare_with_klipper(klipper, machines, points, with_distances)
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
