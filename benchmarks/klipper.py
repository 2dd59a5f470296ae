"""Klipper's own calibration of a linear Delta, and that machine with deviations in NumPy.

Klipper's `delta.py`, `delta_calibrate.py` and `mathutil.py` are imported unchanged from a folder; they are
under the GPL and no part of nacelle.
"""

import importlib
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
from scipy.spatial.transform import Rotation

RADIUS, ARM, BED = 120.0, 250.0, 90.0  # mm
ANGLES = (210.0, 330.0, 90.0)
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
      elbow-a: {type: spherical, parent: carriage, child: rod-a, at: [0, $half, 0], guess: [0, 0.8, 0, 0.6]}
      elbow-b: {type: spherical, parent: carriage, child: rod-b, at: [0, -$half, 0], guess: [0, 0.8, 0, 0.6]}
    closures:
      wrist-a: {type: spherical, parent: rod-a, at: [$rod, 0, 0], child: tool, child_at: [$plate, $half, 0]}
      wrist-b: {type: spherical, parent: rod-b, at: [$rod, 0, 0], child: tool, child_at: [$plate, -$half, 0]}
legs:
  - {repeat: leg, names: [a, b, c], placements: [{angle: 210 deg}, {angle: 330 deg}, {angle: 90 deg}]}
"""


# The same with a length for the rods of each tower: what deviates in it is what Klipper's model has.
PLAIN_DELTA = (
    LINEAR_DELTA.replace("rod: 250 mm", "rod_a: 250 mm, rod_b: 250 mm, rod_c: 250 mm")
    .replace("  leg:\n", "  leg:\n    parameters: {rod: 250 mm}\n")
    .partition("legs:\n")[0]
    + "legs:\n"
    + "".join(
        f"  - {{repeat: leg, names: [{leg}], with: {{rod: $rod_{leg}}},\n"
        f"     placements: [{{angle: {angle:g} deg}}]}}\n"
        for leg, angle in zip("abc", ANGLES, strict=True)
    )
)


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
            length = off.get(f"{leg}.wrist-{rod}.predecessor.x", 0.0) + off.get(f"number.rod_{leg}", 0.0)
            lengths.append(0.25 + length)
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


def klipper_points():
    """Klipper's default points to probe (7, 2), mm."""
    angles, part = np.radians(90.0 + 60.0 * np.arange(6)), np.array([0.95, 0.90, 0.85, 0.70, 0.75, 0.80])
    return BED * np.concatenate(
        [np.zeros((1, 2)), np.stack([part * np.cos(angles), part * np.sin(angles)], 1)]
    )
