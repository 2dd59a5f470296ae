"""Kinematics in C next to LinuxCNC's: `python benchmarks/kinematics_peers.py [--samples N] [--json]`.

LinuxCNC's modules genhexkins, rotarydeltakins and lineardeltakins, as Debian's package linuxcnc-uspace has
built them, and the C that nacelle exports for robots of the same geometry (gcc, flags of the package's
Makefile) run in one process, in turn. A million poses lie

    path    on a smooth path, sampled each millisecond at the speed limits of LinuxCNC's simulated machines
    jumps   at random in the workspace, each far from the one before
    far     the same in a wider workspace, up to its singularities: poses past one, by the sign of det J, are
            taken to the centre (hexapod)

and so do the joint sets that belong to them. Every call of forward kinematics starts from the last result.

    drives  joint sets at random in a wide range (Deltas): legs folded the other way, out of reach

    ns          a call, median over blocks
    iterations  most in one call
    closure     distance of the joints given from those of the pose returned, computed with 64-bit mantissas;
                largest, m (of angles times the arm's length)
    lost        calls that were refused, though a solution is there (drives: or none is)
    wrong       results with a good status on another branch: not the pose that continuation from the start
                leads to, which is the pose drawn, as no singularity lies between (drives: the legs, as they
                are assembled, do not have these joints there)
"""

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from timing import processor, say

import nacelle

MODULES = Path(os.environ.get("LINUXCNC_MODULES", "/usr/lib/linuxcnc/modules"))
BLOCK = 10_000
INCH = 0.0254
FLAGS = ("-std=c99", "-O3", "-fno-math-errno", "-fno-trapping-math")

# ---- robots of the same geometry

# Anchors of genhexkins' default machine, inches: base, platform.
BASE = np.array(
    [[-22.95, 13.25], [22.95, 13.25], [22.95, 13.25], [0.0, -26.5], [0.0, -26.5], [-22.95, 13.25]]
)
PLATFORM = np.array(
    [[-1.0, 11.5], [1.0, 11.5], [10.459, -4.884], [9.459, -6.616], [-9.459, -6.616], [-10.459, -4.884]]
)

HEXAPOD = """
format: nacelle/1
name: hexapod
motion: se3
gravity: 0 0 -9.81 m/s^2
reference: {position: 0 0 20 in}
platform: {name: platform, mass: 1 kg, inertia: 1 1 1 kg*m^2}
templates:
  leg:
    parameters: {A: null, B: null}
    bodies:
      tube: {mass: 1 kg, inertia: 1 1 1 kg*m^2}
      rod: {mass: 1 kg, inertia: 1 1 1 kg*m^2}
    joints:
      cardan: {type: universal, parent: base, child: tube, at: $A, axes: [x, y]}
      strut: {type: prismatic, parent: tube, child: rod, axis: z, guess: 29.7 in, actuator: {name: drive}}
    closures:
      ball: {type: spherical, parent: rod, child: platform, child_at: $B}
legs:
  - repeat: leg
    table:
""" + "\n".join(
    f"      - {{name: leg{k}, A: {a[0]} {a[1]} 0 in, B: {b[0]} {b[1]} 0 in}}"
    for k, (a, b) in enumerate(zip(BASE, PLATFORM, strict=True))
)

ROTARY = """
format: nacelle/1
name: rotary
motion: xyz
gravity: 0 0 -9.81 m/s^2
reference: {position: 0 0 -12 in}
platform: {type: point, name: foot, mass: 1 kg}
templates:
  leg:
    branch: 1
    bodies:
      thigh: {mass: 1 kg, inertia: 1 1 1 kg*m^2}
      shin: {}
    joints:
      hip:
        type: revolute
        parent: base
        child: thigh
        at: 4 0 0 in
        axis: y
        guess: 20 deg
        actuator: {name: motor}
      knee: {type: universal, parent: thigh, child: shin, at: 10 0 0 in, axes: [y, z], guess: [80 deg, 0 deg]}
    closures:
      ankle: {type: spherical, parent: shin, at: 14 0 0 in, child: foot}
legs:
  - repeat: leg
    placements:
      - {angle: -90 deg, axis: z}
      - {angle: 30 deg, axis: z}
      - {angle: 150 deg, axis: z}
"""

LINEAR = """
format: nacelle/1
name: linear
motion: xyz
gravity: 0 0 -9.81 m/s^2
reference: {position: 0 0 0 mm}
platform: {type: point, name: effector, mass: 1 kg}
templates:
  leg:
    bodies:
      carriage: {mass: 1 kg, inertia: 1 1 1 kg*m^2}
      rod: {}
    joints:
      slide:
        type: prismatic
        parent: base
        child: carriage
        at: 130.25 0 0 mm
        axis: z
        guess: 235.4 mm
        actuator: {name: motor}
      cardan: {type: universal, parent: carriage, child: rod, axes: [x, y], guess: [0 deg, 29 deg]}
    closures:
      ball: {type: spherical, parent: rod, at: 0 0 -269 mm, child: effector}
legs:
  - repeat: leg
    placements:
      - {angle: 90 deg, axis: z}
      - {angle: 210 deg, axis: z}
      - {angle: 330 deg, axis: z}
"""


def rotations(degrees):
    """Rotation matrices (N, 3, 3) of roll, pitch and yaw (N, 3), R = Rz Ry Rx."""
    (sa, sb, sc), (ca, cb, cc) = (f(np.radians(degrees)).T for f in (np.sin, np.cos))
    rows = [
        [cb * cc, sa * sb * cc - ca * sc, ca * sb * cc + sa * sc],
        [cb * sc, sa * sb * sc + ca * cc, ca * sb * sc - sa * cc],
        [-sb, sa * cb, ca * cb],
    ]
    return np.moveaxis(np.array(rows), -1, 0)


def quaternions(degrees):
    """Quaternions xyzw (N, 4) of roll, pitch and yaw (N, 3)."""
    (sa, sb, sc), (ca, cb, cc) = (f(0.5 * np.radians(degrees)).T for f in (np.sin, np.cos))
    return np.column_stack(
        [
            sa * cb * cc - ca * sb * sc,
            ca * sb * cc + sa * cb * sc,
            ca * cb * sc - sa * sb * cc,
            ca * cb * cc + sa * sb * sc,
        ]
    )


def matrices(quat):
    """Rotation matrices (N, 3, 3) of quaternions xyzw (N, 4) of any length."""
    x, y, z, w = (quat / np.sqrt(np.sum(quat**2, axis=1, keepdims=True))).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), -1, 0)


def strut_lengths(p, R):
    """Of the hexapod (N, 6), m, from positions (N, 3), m, and orientations (N, 3, 3)."""
    a, b = (np.column_stack([corners, np.zeros(6)]).astype(p.dtype) * INCH for corners in (BASE, PLATFORM))
    return np.sqrt(np.sum((p[:, None] + np.einsum("nij,kj->nki", R, b) - a) ** 2, axis=2))


def is_beyond(values, length, centre):
    """Which poses (N, 6) of the hexapod lie past a singularity: det J has another sign than at the centre."""
    a, b = (np.column_stack([points, np.zeros(6)]) * INCH for points in (BASE, PLATFORM))

    def side(poses):
        arms = np.einsum("nij,kj->nki", rotations(poses[:, 3:]), b)
        struts = poses[:, None, :3] * length + arms - a
        return np.sign(np.linalg.det(np.concatenate([struts, np.cross(arms, struts)], axis=2)))

    return side(values) != side(np.array([centre], dtype=float))


def hip_angles(p, _):
    """Of the rotary delta (N, 3), rad."""
    result = []
    for degrees in (-90.0, 30.0, 150.0):
        c, s = np.cos(np.radians(p.dtype.type(degrees))), np.sin(np.radians(p.dtype.type(degrees)))
        u, v, z = c * p[:, 0] + s * p[:, 1] - 4 * INCH, c * p[:, 1] - s * p[:, 0], p[:, 2]
        # 2 l (u cos q - z sin q) = l^2 + u^2 + v^2 + z^2 - r^2
        l, r = p.dtype.type(10 * INCH), p.dtype.type(14 * INCH)
        h = (l * l + u * u + v * v + z * z - r * r) / (2 * l)
        rho = np.sqrt(u * u + z * z)
        result.append(np.arctan2(-z, u) - np.arccos(h / rho))
    return np.stack(result, axis=1)


def carriages(p, _):
    """Of the linear delta (N, 3), m."""
    r, rod, result = p.dtype.type(0.13025), p.dtype.type(0.269), []
    for degrees in (90.0, 210.0, 330.0):
        angle = np.radians(p.dtype.type(degrees))
        u, v = p[:, 0] - r * np.cos(angle), p[:, 1] - r * np.sin(angle)
        result.append(p[:, 2] + np.sqrt(rod * rod - u * u - v * v))
    return np.stack(result, axis=1)


@dataclass(frozen=True)
class Machine:
    """A module, the robot of the same geometry, and where it moves.

    Attributes:
        module: its name.
        text: the description of the robot.
        length: the module's unit of length, m.
        centre: of its poses, in its units and degrees (3 or 6).
        span: how far they go from it.
        far: the same in the wider workspace; empty without one.
        drives: range of joints drawn at random, m or rad; empty without one.
        speed: along the path, units and degrees a second.
        joints: exact joints of poses, m or rad.
        unit: of the module's joints, m or rad.
        arm: what angles of joints are multiplied by, m; 1 for lengths.
    """

    module: str
    text: str
    length: float
    centre: tuple
    span: tuple
    far: tuple
    drives: tuple
    speed: tuple
    joints: object
    unit: float
    arm: float

    @property
    def rotates(self):
        return len(self.centre) == 6

    def poses(self, kind, count):
        """Poses (N, 9) of LinuxCNC, and those of nacelle (N, nx)."""
        rng = np.random.default_rng(1)
        size, span = len(self.centre), np.array(self.far if kind == "far" else self.span)
        if kind != "path":
            away = rng.uniform(-1.0, 1.0, (count, size))
        else:
            # Two sines for each coordinate, as fast as the machine may go, one millisecond apart.
            t = 1e-3 * np.arange(count)[:, None]
            w = np.array(self.speed) / span * rng.uniform(0.6, 1.0, size)
            away = 0.6 * np.sin(w * t) + 0.4 * np.sin(1.3 * np.sqrt(2.0) * w * t + 1.0)
        values = np.array(self.centre) + span * away
        if kind == "far":
            values[is_beyond(values, self.length, self.centre)] = self.centre
        poses = np.zeros((count, 9))
        poses[:, :size] = values
        x = values[:, :3] * self.length
        return poses, np.column_stack([x, quaternions(values[:, 3:])]) if self.rotates else x


MACHINES = (
    Machine("genhexkins", HEXAPOD, INCH, (0, 0, 20, 0, 0, 0), (5, 5, 5, 15, 15, 15), (8, 8, 6, 25, 25, 25),
            (), (10,) * 3 + (20,) * 3, strut_lengths, INCH, 1.0),
    Machine("rotarydeltakins", ROTARY, INCH, (0, 0, -13), (3, 3, 3), (), (-1.0, 2.5), (10,) * 3,
            hip_angles, np.pi / 180.0, 10 * INCH),
    Machine("lineardeltakins", LINEAR, 1e-3, (0, 0, 50), (60, 60, 50), (), (0.0, 0.6), (250,) * 3,
            carriages, 1e-3, 1.0),
)  # fmt: skip


# ---- both in one library


class Pair:
    """A module of LinuxCNC and the exported C, in this process."""

    def __init__(self, machine, folder):
        robot = nacelle.loads(machine.text)
        target = nacelle.io.CTarget(precision="double", self_test=False)
        nacelle.export(robot, "kinematics", out=folder / robot.name, target=target)
        name, package = robot.name, folder / robot.name
        words = {
            "ROBOT_HEADER": f'"{name}.h"',
            "ROBOT_STRUCT": f"{name}_kinematics",
            "ROBOT_RESET": f"{name}_kinematics_reset",
            "ROBOT_FORWARD": f"{name}_forward",
            "ROBOT_INVERSE": f"{name}_inverse",
            "ROBOT_DRIVES": f"{name.upper()}_DRIVES",
            "ROBOT_POSE": f"{name.upper()}_POSE",
        }
        library = folder / f"{name}.so"
        sources = [str(path) for path in sorted(package.glob("src/*.c"))]
        subprocess.run(
            ["gcc", *FLAGS, "-Wall", "-Wextra", "-shared", "-fPIC", "-Wl,-Bsymbolic", f"-I{package}/include",
             *(f"-D{key}={value}" for key, value in words.items()),
             str(Path(__file__).with_suffix(".c")), *sources, "-lm", "-o", str(library)],
            check=True,
        )  # fmt: skip
        self.machine, self.robot, self.iterations, self._rooms = machine, robot, None, {}
        self.library = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        for function in ("run_forward", "run_inverse", "run_peer_forward", "run_peer_inverse"):
            getattr(self.library, function).restype = ctypes.c_double
        self.module = ctypes.CDLL(str(MODULES / f"{machine.module}.so"))
        if self.module.rtapi_app_main() != 0:
            raise SystemExit(f"{machine.module} does not start")
        # The first call starts from what the module has kept, and that is nothing.
        self.peer_forward(np.zeros((1, 9)), np.zeros(9))
        self.library.pin_value.restype = ctypes.c_void_p
        self.iterations = self.library.pin_value(f"{machine.module}.max-iterations".encode())

    def _room(self, n, columns=None, kind=float):
        """An array for results (n,) or (n, columns), in memory that has been touched before."""
        shape = BLOCK if columns is None else (BLOCK, columns)
        return self._rooms.setdefault((columns, kind), np.zeros(shape, kind))[:n]

    def peer_forward(self, q, last):
        """Seconds, poses (N, 9), statuses, iterations."""
        n, m = q.shape
        poses, status, taken = self._room(n, 9), self._room(n, kind=np.int32), 1
        seconds = self.library.run_peer_forward(
            self.module.kinematicsForward, n, m, *map(at, (q, last, poses, status))
        )
        if self.iterations is not None:
            counter = ctypes.c_uint.from_address(self.iterations)
            taken, counter.value = counter.value, 0
        return seconds, poses, status, taken

    def peer_inverse(self, poses, m):
        q, status = self._room(len(poses), m), self._room(len(poses), kind=np.int32)
        seconds = self.library.run_peer_inverse(
            self.module.kinematicsInverse, len(poses), m, *map(at, (poses, q, status))
        )
        return seconds, q, status

    def forward(self, q, nx):
        x, (status, taken) = self._room(len(q), nx), self._room(len(q), 2, np.int32).reshape(2, -1)
        return self.library.run_forward(len(q), *map(at, (q, x, status, taken))), x, status, taken

    def inverse(self, x, m):
        q, status = self._room(len(x), m), self._room(len(x), kind=np.int32)
        return self.library.run_inverse(len(x), *map(at, (x, q, status))), q, status


def at(array):
    return ctypes.c_void_p(array.ctypes.data)


# ---- rows


@dataclass
class Row:
    """What is collected of one implementation in one direction."""

    times: list
    worst: int = 0
    closure: float = 0.0
    lost: int = 0
    wrong: int = 0

    def add(self, seconds, error, is_good, is_same, taken=1):
        self.times.append(seconds / len(error) * 1e9)
        self.worst = max(self.worst, int(np.max(taken)))
        right = is_good & is_same
        self.closure = float(np.maximum(self.closure, error[right].max(initial=0.0)))
        self.lost += int(np.sum(~is_good))
        self.wrong += int(np.sum(is_good & ~is_same))

    @property
    def data(self):
        closure = None if np.isnan(self.closure) else self.closure
        return {"ns": round(float(np.median(self.times)), 1), "iterations": self.worst,
                "closure": closure, "lost": self.lost, "wrong": self.wrong}  # fmt: skip


def measure(pair, kind, samples):
    """Rows by (direction, who) of poses of a kind."""
    machine, long = pair.machine, np.longdouble
    m = len(pair.robot.actuators)
    if kind == "drives":
        return measure_drives(pair, samples)
    poses, x = machine.poses(kind, samples)
    nx = x.shape[1]
    last = poses[0].copy()
    pair.library.reset()
    pair.inverse(x[:1], m)
    rows = {key: Row([]) for key in ((d, who) for d in ("inverse", "forward") for who in ("peer", "nacelle"))}

    def exact(p, R):
        return machine.joints(p.astype(long), R)

    for begin in range(0, samples, BLOCK):
        block = slice(begin, min(begin + BLOCK, samples))
        xs, ps = np.ascontiguousarray(x[block]), np.ascontiguousarray(poses[block])
        R = matrices(xs[:, 3:].astype(long)) if machine.rotates else None
        truth = exact(xs[:, :3], R)
        q = np.ascontiguousarray(truth.astype(float))
        q_peer = np.ascontiguousarray((truth / long(machine.unit)).astype(float))
        R_peer = rotations(ps[:, 3:6].astype(long)) if machine.rotates else None
        truth_peer = exact(ps[:, :3].astype(long) * long(machine.length), R_peer) / long(machine.unit)
        seconds, result, status = pair.inverse(xs, m)
        error = np.max(np.abs(result - truth), axis=1) * machine.arm
        rows["inverse", "nacelle"].add(seconds, error, status <= 1, error < 1e-6)
        seconds, result, status = pair.peer_inverse(ps, m)
        error = np.max(np.abs(result - truth_peer), axis=1) * machine.unit * machine.arm
        rows["inverse", "peer"].add(seconds, error, status == 0, error < 1e-6)
        seconds, result, status, taken = pair.forward(q, nx)
        closing = exact(result[:, :3], matrices(result[:, 3:].astype(long)) if machine.rotates else None) - q
        error = np.max(np.abs(closing), axis=1) * machine.arm
        rows["forward", "nacelle"].add(seconds, error, status <= 1, same(result, xs), taken)
        seconds, result, status, taken = pair.peer_forward(q_peer, last)
        R = rotations(result[:, 3:6].astype(long)) if machine.rotates else None
        back = exact(result[:, :3].astype(long) * long(machine.length), R) / long(machine.unit)
        error = np.max(np.abs(back - q_peer), axis=1) * machine.unit * machine.arm
        pose = np.column_stack([result[:, :3] * machine.length, quaternions(result[:, 3:6])[:, : nx - 3]])
        rows["forward", "peer"].add(seconds, error, status == 0, same(pose, xs), taken)
    return {key: row.data for key, row in rows.items()}


def measure_drives(pair, samples):
    """Rows of forward kinematics at joint sets anywhere."""
    machine, m = pair.machine, len(pair.robot.actuators)
    joints = np.random.default_rng(2).uniform(*machine.drives, (samples, m))
    rows = {("forward", who): Row([]) for who in ("peer", "nacelle")}
    pair.library.reset()
    for begin in range(0, samples, BLOCK):
        q = np.ascontiguousarray(joints[begin : begin + BLOCK])
        results = {
            "nacelle": (*pair.forward(q, 3), 1.0),
            "peer": (*pair.peer_forward(q / machine.unit, np.zeros(9)), machine.length),
        }
        for who, (seconds, x, status, _, unit) in results.items():
            good = status == 0 if who == "peer" else status <= 1
            with np.errstate(invalid="ignore"):
                off = machine.joints(x[:, :3].astype(np.longdouble) * unit, None) - q
                if machine.arm != 1.0:
                    off -= 2.0 * np.pi * np.round(off / (2.0 * np.pi))
                is_same = np.max(np.abs(off), axis=1) < 1e-6
            # At the legs' singularities joints are known to the root of rounding: errors are not compared.
            rows["forward", who].add(seconds, np.full(len(q), np.nan), good, is_same)
    return {key: row.data for key, row in rows.items()}


def same(x, y):
    """Whether poses (N, nx) are the same, to 1e-6 m and rad."""
    sign = np.sign(np.sum(x[:, 3:] * y[:, 3:], axis=1))[:, None]
    off = np.column_stack([x[:, :3] - y[:, :3], sign * x[:, 3:] - y[:, 3:]])
    return np.max(np.abs(off), axis=1) < 1e-6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--module", action="append", help="only this one")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    machines = [m for m in MACHINES if not options.module or m.module in options.module]
    missing = [m.module for m in machines if not (MODULES / f"{m.module}.so").is_file()]
    if missing:
        raise SystemExit(f"{', '.join(missing)}: not in {MODULES}; install Debian's linuxcnc-uspace")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for machine in machines:
            pair = Pair(machine, Path(folder))
            more = [kind for kind in ("far", "drives") if getattr(machine, kind)]
            for kind in ("path", "jumps", *more):
                say(machine.module, kind)
                for (direction, who), row in measure(pair, kind, options.samples).items():
                    name = machine.module if who == "peer" else "nacelle"
                    results.append(
                        {"machine": machine.module, "poses": kind, "direction": direction, "who": name, **row}
                    )
    if options.json:
        print(json.dumps({"processor": processor(), "samples": options.samples, "rows": results}, indent=1))
        return
    print(f"{processor()}; {options.samples} poses and joint sets of a kind")
    line = "{:6s} {:8s} {:16s} {:>7s} {:>10s} {:>10s} {:>7s} {:>7s}"
    print(line.format("poses", "", "", "ns", "iterations", "closure, m", "lost", "wrong"))
    for row in results:
        closure = "-" if row["closure"] is None else f"{row['closure']:.1e}"
        numbers = (f"{row['ns']:.0f}", row["iterations"], closure, row["lost"], row["wrong"])
        print(line.format(row["poses"], row["direction"], row["who"], *map(str, numbers)))


if __name__ == "__main__":
    sys.exit(main())
