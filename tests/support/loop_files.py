"""Files with closed loops, imported and compared with the engine that owns their format, as a table.

    PYTHONPATH=tests python -m support.loop_files FOLDER_OR_FILE... [--states N]

For each MJCF, URDF and SDF file: what comes in, in which time, how far joint frames were moved, or why it is
refused. MuJoCo reads MJCF, Pinocchio URDF; both are asked for poses, Jacobians, M and bias alone, so that
joints may be written otherwise in the two. At random closed states with the bases N of the rates that the
robot's closures leave free and T of the engine's rates that move its bodies alike (least squares),

    closures    what T leaves of the twists of all bodies and of the engine's closures
    M           N^T M N against T^T M_e T
    bias        N^T (M a + h) against T^T (M_e a_e + h_e), for accelerations that N needs at rates N z

each over its largest entry. Inertia of rotors is left out of both.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

import mujoco as mj
import numpy as np
import pinocchio as pin

import nacelle
from nacelle.errors import DescriptionError
from nacelle.exchange.closing import closing_pairs
from nacelle.exchange.graph import ExchangeReport, UniqueNames
from nacelle.exchange.mjcf.read import compile_mjcf
from nacelle.exchange.urdf.gepetto import NO_CLOSURE_FILE, read_closure_file
from nacelle.exchange.urdf.read import read_urdf
from nacelle.exchange.xml import read_xml
from nacelle.kinematics.mechanism.assembly import assemble, integrate_tree, rate_scale, scaled_closures
from nacelle.kinematics.mechanism.far_assembly import close_from_far
from nacelle.model.robot import Robot, body_parameters
from nacelle.spatial.inertia import inertia_matrix
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array
from nacelle.tree.closure import closure_bias, closure_state
from nacelle.tree.spanning_tree import NumericTree, point_acceleration, tree_velocity
from support import mujoco_files, pinocchio_files

# Singular values below this part of the largest belong to closures that repeat others.
_RANK = 1e-9
# The same where frames were corrected.
_ROUNDED = 1e-4
# How far states are from the assembly, rad or over the size.
_AWAY = 0.2


@dataclass(frozen=True, eq=False)
class Motion:
    """A body's pose and its twist and acceleration [linear; angular] at its origin, base axes."""

    pose: Pose
    J: Array
    bias: Array


class Tree:
    """A robot at a state: M, h and the motions of its bodies for all rates of its tree."""

    def __init__(self, robot: Robot, platform: Pose, q: Array, u: Array) -> None:
        """Place it."""
        self.motion = NumericTree(robot).motion(platform, q)
        self.velocity = tree_velocity(robot, self.motion, u)
        self.robot, self.u = robot, u
        self.state = closure_state(robot, self.motion)

    def body(self, index: int) -> Motion:
        """How a body moves."""
        pose, twist, rate = (
            self.motion.poses[index],
            self.velocity.twists[index],
            self.velocity.biases[index],
        )
        bias = np.concatenate([point_acceleration(twist, rate, pose.p), rate[3:]])
        return Motion(pose, self.motion.jacobian(index), bias)

    def equations(self) -> tuple[Array, Array]:
        """M (rates, rates) and h (rates,), with gravity and without rotors."""
        M, h = np.zeros((len(self.u), len(self.u))), np.zeros(len(self.u))
        g = np.asarray(self.robot.gravity, dtype=float)
        for index in range(1, len(self.robot.bodies)):
            body = self.body(index)
            p = np.asarray(body_parameters(self.robot, index), dtype=float)
            R, J = body.pose.R, body.J
            first, I = R @ p[1:4], R @ inertia_matrix(p) @ R.T
            spatial = np.block([[p[0] * np.eye(3), -skew(first)], [skew(first), I]])
            w = (J @ self.u)[3:]
            a = body.bias - np.concatenate([g, np.zeros(3)])
            wrench = spatial @ a + np.concatenate([np.cross(w, np.cross(w, first)), np.cross(w, I @ w)])
            M, h = M + J.T @ spatial @ J, h + J.T @ wrench
        return M, h


class MujocoFile:
    """An MJCF file in MuJoCo."""

    def __init__(self, path: Path) -> None:
        """Compile it, without what is no equation of rigid bodies."""
        read = compile_mjcf(path, ExchangeReport())
        self.model = read.model
        for what in ("dof_armature", "tendon_armature", "actuator_armature"):
            getattr(self.model, what)[:] = 0.0
        for bit in ("CONTACT", "LIMIT", "FRICTIONLOSS"):
            self.model.opt.disableflags |= int(getattr(mj.mjtDisableBit, f"mjDSBL_{bit}"))
        self.model.opt.jacobian = mj.mjtJacobian.mjJAC_DENSE
        self.data = mj.MjData(self.model)
        self.q = self.model.qpos0.copy()
        self.names = {name: b for b, name in enumerate(read.bodies) if b}
        self.file = mujoco_files.File(self.model, None)

    def place(self, q: Array, u: Array) -> None:
        """Go to a state."""
        self.data.qpos[:], self.data.qvel[:] = q, u
        mj.mj_forward(self.model, self.data)

    def integrate(self, q: Array, step: Array) -> Array:
        """Coordinates after a step of the rates."""
        result = q.copy()
        mj.mj_integratePos(self.model, result, step, 1.0)
        return result

    def body(self, index: int) -> Motion:
        """How a body moves."""
        model, data = self.model, self.data
        J, dot = np.zeros((6, model.nv)), np.zeros((6, model.nv))
        mj.mj_jacBody(model, data, J[:3], J[3:], index)
        mj.mj_jacDot(model, data, dot[:3], dot[3:], data.xpos[index], index)
        pose = Pose(data.xmat[index].reshape(3, 3).copy(), data.xpos[index].copy())
        return Motion(pose, J, dot @ data.qvel)

    def closures(self) -> tuple[Array, Array]:
        """Rows J (m, rates) and J' u."""
        return mujoco_files.constraint_rows(self.file)

    def gaps(self) -> tuple[Array, Array]:
        """Rows (m, rates) and what the closures leave open (m,), as MuJoCo measures it."""
        data = self.data
        return data.efc_J.reshape(-1, self.model.nv)[: data.ne], data.efc_pos[: data.ne]

    def equations(self) -> tuple[Array, Array]:
        """M and h."""
        M = np.zeros((self.model.nv, self.model.nv))
        mj.mj_fullM(self.model, self.data, M)
        return M, self.data.qfrc_bias.copy()


class PinocchioFile:
    """A URDF with its loops in Pinocchio; frames that close loops are looked up by their names there."""

    def __init__(self, path: Path, side: Path | None) -> None:
        """Load the file, and close its loops."""
        with TemporaryDirectory() as folder:
            file = pinocchio_files.File(_with_world(path, Path(folder)), None, side)
        closures = NO_CLOSURE_FILE if side is None else read_closure_file(side)
        graph = read_urdf(read_xml(path), path, side=closures)
        names = {frame.name for frame in file.model.frames}
        for first, second in closing_pairs(names) if side is None else ():
            file.add_loop(first, second, pinocchio_files.POINT)
        for k, link in enumerate(graph.closures if side is None else ()):
            if link.name.startswith("closing_"):
                continue
            ends = []
            for end, body, at in (("a", link.parent, link.at), ("b", link.child, link.child_at)):
                name = "universe" if body == "base" else _name_like(body, names)
                file.add_frame(f"loop{k}{end}", name, pin.SE3(at.R, at.p))
                ends.append(f"loop{k}{end}")
            held = pinocchio_files.POINT if link.spherical else _held(link.axes)
            file.add_loop(*ends, held)
        for coupling in graph.couplings:
            file.ratios.append((coupling.joint, coupling.follows))
        self.file, self.model = file, file.model
        self.q, self.nv = pin.neutral(file.model), file.model.nv
        self.names = {
            frame.name: file.model.getFrameId(frame.name, frame.type)
            for frame in file.model.frames
            if frame.type == pin.FrameType.BODY
        }

    def place(self, q: Array, u: Array) -> None:
        """Go to a state."""
        self.state = q, u
        self.file.place(q, u, np.zeros(self.model.nv))

    def integrate(self, q: Array, step: Array) -> Array:
        """Coordinates after a step of the rates."""
        return pin.integrate(self.model, q, step)

    def body(self, index: int) -> Motion:
        """How a body moves."""
        model, data, axes = self.model, self.file.data, pin.LOCAL_WORLD_ALIGNED
        X = data.oMf[index]
        J = pin.getFrameJacobian(model, data, index, axes)
        bias = pin.getFrameClassicalAcceleration(model, data, index, axes).vector
        return Motion(Pose(X.rotation.copy(), X.translation.copy()), J.copy(), bias.copy())

    def closures(self) -> tuple[Array, Array]:
        """Rows J (m, rates) and J' u."""
        J, bias, _ = self.file.rows()
        return J, bias

    def gaps(self) -> tuple[Array, Array]:
        """Rows (m, rates) and what the closures of frames leave open (m,)."""
        J, _, gaps = self.file.rows()
        return J[: len(gaps)], gaps

    def equations(self) -> tuple[Array, Array]:
        """M and h."""
        q, u = self.state
        self.model.armature[:] = 0.0
        M = pin.crba(self.model, self.file.data, q)
        return np.triu(M) + np.triu(M, 1).T, pin.nonLinearEffects(self.model, self.file.data, q, u)


def _with_world(path: Path, folder: Path) -> Path:
    """The file for Pinocchio, which has no world that is not a link, and one root alone."""
    document = ElementTree.parse(path)
    robot = document.getroot()
    links = {link.get("name") for link in robot.findall("link")}
    joints = robot.findall("joint")
    parents, children = (
        {end.get("link") for joint in joints for end in joint.findall(tag)} for tag in ("parent", "child")
    )
    if "world" not in parents - links:
        return path
    ElementTree.SubElement(robot, "link", name="world")
    for root in links - children:
        joint = ElementTree.SubElement(robot, "joint", name=f"{root}-floats", type="floating")
        ElementTree.SubElement(joint, "parent", link="world")
        ElementTree.SubElement(joint, "child", link=str(root))
    document.write(folder / path.name)
    return folder / path.name


def _name_like(body: str, names: Sequence[str] | set[str]) -> str:
    return next(name for name in names if UniqueNames().new(name, "body") == body)


def _held(axes: Sequence[nacelle.exchange.graph.Axis]) -> Array:
    """Directions (6, k) of a relative twist that a joint with these axes holds, from its second frame."""
    free = [
        np.concatenate([np.zeros(3), a.direction] if a.turns else [a.direction, np.zeros(3)]) for a in axes
    ]
    return np.linalg.svd(np.array(free).reshape(-1, 6), full_matrices=True)[2][len(free) :].T


Engine = MujocoFile | PinocchioFile


def body_pairs(robot: Robot, names: dict[str, int]) -> list[tuple[int, int]]:
    """Bodies of a robot and of an engine with the same name; the name of a leg is a prefix or is left out."""
    clean: dict[str, int] = {}
    for name, index in names.items():
        clean.setdefault(UniqueNames().new(name, "body"), index)
    pairs = []
    for k, body in enumerate(robot.bodies[1:], start=1):
        leg, _, short = body.name.rpartition(".")
        candidates = [f"{leg}{mark}{short}" for mark in "-_"] if leg else []
        index = next((clean[name] for name in (*candidates, short) if name in clean), None)
        if index is not None:
            pairs.append((k, index))
    return pairs


@dataclass(frozen=True)
class Comparison:
    """Largest relative errors over all states, and how many bodies were compared."""

    closures: float
    M: float
    bias: float
    bodies: int


def states(robot: Robot, count: int) -> Iterator[tuple[Pose, Array, Array]]:
    """Closed configurations near the assembly, and rates (rates, n) that the closures leave free there."""
    rng, start = np.random.default_rng(11), assemble(robot)
    while count:
        N = free_rates(robot, start.closures)
        step = N @ rng.normal(size=N.shape[1])
        step *= _AWAY * rng.uniform() / max(float(np.max(np.abs(step / rate_scale(robot)))), 1e-300)
        near = close_from_far(robot, [integrate_tree(robot, start.platform, start.q_tree, step)])
        yield near.platform, near.q_tree, free_rates(robot, near.closures)
        count -= 1


def free_rates(robot: Robot, closures: nacelle.tree.closure.ClosureState) -> Array:
    """A basis of the rates that closures leave free, m/s and rad/s."""
    rows = scaled_closures(robot, closures)
    if not len(rows):
        return np.diag(rate_scale(robot))
    _, s, Vt = np.linalg.svd(rows)
    return rate_scale(robot)[:, None] * Vt[int(np.sum(s > _RANK * s[0])) :].T


def compare(robot: Robot, engine: Engine, count: int, rank: float = 1e-12) -> Comparison:
    """Compare a robot with its file in an engine; singular values below the rank are digits of the file."""
    pairs = body_pairs(robot, engine.names)
    rng, worst = np.random.default_rng(5), np.zeros(3)
    for platform, q, N in states(robot, count):
        z = rng.normal(size=N.shape[1])
        tree = Tree(robot, platform, q, N @ z)
        move_engine(engine, tree, pairs, rank)
        bodies = [(tree.body(k), engine.body(index)) for k, index in pairs]
        J_e, _ = engine.closures()
        rows = np.concatenate([*(theirs.J for _, theirs in bodies), J_e])
        right = np.concatenate([*(ours.J @ N for ours, _ in bodies), np.zeros((len(J_e), N.shape[1]))])
        T = np.linalg.lstsq(rows, right, rcond=rank)[0]
        left = np.max(np.abs(rows @ T - right)) / np.max(np.abs(right))
        engine.place(engine.q, T @ z)
        J_e, bias_e = engine.closures()
        a = accelerations(tree)
        motions = [(tree.body(k), engine.body(index)) for k, index in pairs]
        needed = np.concatenate([*(o.bias + o.J @ a - t.bias for o, t in motions), -bias_e])
        a_e = np.linalg.lstsq(rows, needed, rcond=rank)[0]
        (M, h), (M_e, h_e) = tree.equations(), engine.equations()
        ours, theirs = N.T @ (M @ a + h), T.T @ (M_e @ a_e + h_e)
        # Forces that balance are no measure of their rounding.
        inertia = float(np.max(np.abs(N.T @ M @ N)))
        size = max(float(np.max(np.abs(N.T) @ np.abs(M @ a + h))), inertia * float(z @ z))
        errors = (
            left,
            np.max(np.abs(N.T @ M @ N - T.T @ M_e @ T)) / inertia,
            np.max(np.abs(ours - theirs)) / size,
        )
        worst = np.maximum(worst, errors)
    return Comparison(*(float(value) for value in worst), len(pairs))


def accelerations(tree: Tree) -> Array:
    """The smallest accelerations (rates,) that the closures need at the rates of a tree."""
    bias = closure_bias(tree.robot, tree.motion, tree.velocity)
    if not len(bias):
        return np.zeros(len(tree.u))
    S = rate_scale(tree.robot)
    return -S * np.linalg.lstsq(tree.state.jacobian * S, bias, rcond=_RANK)[0]


def move_engine(engine: Engine, tree: Tree, pairs: Sequence[tuple[int, int]], rank: float) -> None:
    """Bring the bodies of an engine to those of a robot, by Newton's method."""
    rest = np.zeros(engine.model.nv)
    for _ in range(100):
        engine.place(engine.q, rest)
        J, gaps = engine.gaps()
        rows, left = [J], [-gaps]
        for k, index in pairs:
            theirs, ours = engine.body(index), tree.motion.poses[k]
            rows.append(theirs.J)
            left += [ours.p - theirs.pose.p, pin.log3(ours.R @ theirs.pose.R.T)]
        step = np.linalg.lstsq(np.concatenate(rows), np.concatenate(left), rcond=rank)[0]
        step /= max(1.0, float(np.max(np.abs(step))) / 0.5)
        engine.q = engine.integrate(engine.q, step)
        if np.max(np.abs(step)) < 1e-14:
            break
    engine.place(engine.q, rest)


# ---- the table


def closure_file(path: Path) -> Path | None:
    """The closure file next to a URDF: of its name, or the only one of its folder."""
    candidates = [file for file in path.parent.glob("*.yaml") if "closed_loop" in file.read_text()]
    same = [file for file in candidates if file.stem == path.stem]
    return (same or candidates or [None])[0] if path.suffix == ".urdf" else None


def loop_files(paths: Sequence[Path]) -> list[Path]:
    """All files of robots in folders."""
    files = [
        file
        for path in paths
        for file in ([path] if path.is_file() else sorted(path.rglob("*")))
        if file.suffix in (".urdf", ".sdf", ".xml")
    ]
    return [file for file in files if file.suffix != ".xml" or "<mujoco" in file.read_text(errors="replace")]


def row(path: Path, count: int, name: str) -> list[str]:
    """The row of a file."""
    start = time.process_time()
    try:
        done = nacelle.import_robot(path, closures=closure_file(path))
    except DescriptionError as error:
        (problem, *_) = error.problems
        where = f"line {problem.line}: " if problem.line else ""
        return [
            name,
            "",
            "",
            "",
            f"{time.process_time() - start:.1f}",
            "",
            f"refused, {where}{problem.message}",
        ]
    seconds = time.process_time() - start
    robot = done.robot
    match = re.search(r"at most ([\d.e+-]+ µm) .*? and ([\d.e+-]+ µrad)", " ".join(done.losses))
    moved = f"{match[1]}, {match[2]}" if match else ""
    errors = ""
    if path.suffix != ".sdf":
        try:
            engine = MujocoFile(path) if path.suffix == ".xml" else PinocchioFile(path, closure_file(path))
            worst = compare(robot, engine, count, _ROUNDED if moved else 1e-12)
            errors = f"{worst.closures:.0e}, {worst.M:.0e}, {worst.bias:.0e}"
        except ValueError as error:
            errors = str(error)
    closed = len(robot.closures) - (not robot.has_platform)
    numbers = [str(len(robot.bodies) - 1 - robot.has_platform), str(closed), f"{robot.motion.n}"]
    return [name, *numbers, f"{seconds:.1f}", moved, errors]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--states", type=int, default=10)
    options = parser.parse_args()
    print("| file | bodies | closures | motions | CPU s | frames moved | errors: closures, M, bias |")
    print("|---|---|---|---|---|---|---|")
    for path in loop_files(options.paths):
        name = "/".join(path.parts[-3:])
        print(f"| {' | '.join(row(path, options.states, name))} |", flush=True)


if __name__ == "__main__":
    main()
