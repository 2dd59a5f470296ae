"""A robot beside the one that came back from a file: forces of its drives by the same public functions.

States go over through the bodies, as in `support.exported_files`; the coordinates of the robot that came
back are joints of its own, and forces and free accelerations are compared at these.
`PYTHONPATH=tests python -m support.round_trips [ROBOT...]` prints the errors of the library through MJCF.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import nacelle
from nacelle.exchange.graph import UniqueNames
from nacelle.kinematics.mechanism.assembly import assemble, integrate_tree
from nacelle.kinematics.mechanism.chart import Chart
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.underactuated import undriven_coordinates
from nacelle.model.platform import AXES
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array
from nacelle.tree.spanning_tree import point_acceleration, tree_kinematics, tree_velocity
from nacelle.verify.states import random_states
from support.exported_files import (
    Kinematics,
    actuator_names,
    body_mapping,
    coordinates,
    match_bodies,
    stack_bodies,
    without_losses,
)
from support.library import NAMES, library_robot


class Tree:
    """The tree of a robot as a file: coordinates are [position; rotation by rows; joints]."""

    def __init__(self, robot: Robot, names: list[str]) -> None:
        """Of a robot that came back from a file whose bodies have these names."""
        self.robot = robot
        self.names = [_name_in_file(body.name, names) for body in robot.bodies]
        self.nv = robot.platform_nv + robot.nv
        found = assemble(robot)
        assert not found.open
        self.start = _pack_configuration(found.platform, found.q_tree)
        self.drives: dict[str, int] = {}

    def moved(self, q: Array, step: Array) -> Array:
        """Coordinates moved by a step of rates."""
        return _pack_configuration(*integrate_tree(self.robot, *_unpack_configuration(q), step))

    def kinematics(self, q: Array, u: Array) -> Kinematics:
        """Of all bodies."""
        motion = tree_kinematics(self.robot, *_unpack_configuration(q))
        moving = tree_velocity(self.robot, motion, u)
        biases = [
            np.concatenate([point_acceleration(twist, bias, pose.p), bias[3:]])
            for twist, bias, pose in zip(moving.twists, moving.biases, motion.poses, strict=True)
        ]
        J = np.stack([motion.jacobian(body) for body in range(len(self.robot.bodies))])
        return Kinematics(list(motion.poses), J, np.stack(biases))

    def dynamics(self, q: Array, u: Array) -> tuple[Array, Array, Array]:
        """Not needed: the robot has functions for it."""
        raise NotImplementedError


def _name_in_file(name: str, names: list[str]) -> str:
    """The name of a body in the file; that of the base for what was fixed to it."""
    short = name.rpartition(".")[2]
    # Legs whose names are taken are numbered.
    plain = re.sub(r"-\d+\.", ".", name).replace(".", "-")
    # A word of descriptions is not a body's name.
    word = short.removesuffix("-2")
    # Joints of SDF are not named as bodies are.
    joint = plain.removesuffix("-joint")
    candidates = (name.replace(".", "-"), short, plain, word, joint, short.removesuffix("-joint"))
    found = [given for given in candidates if given in names]
    return found[0] if found else "base" if name in ("base", "ground") else f"{name}-carrier"


def bodies_of(robot: Robot, names: list[str]) -> dict[int, int]:
    """For bodies of a file, by their names, those of the robot that came back from it."""
    own = {_name_in_file(body.name, names): k for k, body in enumerate(robot.bodies)}
    return match_bodies({name: k for name, k in own.items() if name in names}, names)


def _pack_configuration(platform: Pose, q: Array) -> Array:
    return np.concatenate([platform.p, np.ravel(platform.R), q])


def _unpack_configuration(q: Array) -> tuple[Pose, Array]:
    return Pose(q[3:12].reshape(3, 3), q[:3]), q[12:]


def errors(
    robot: Robot, again: Robot, states: int = 5, seed: int = 0, drives: str = "actuators"
) -> dict[str, float]:
    """Largest relative errors of poses, forces and free accelerations over random states.

    Args:
        robot: the robot.
        again: the one that came back.
        states: how many.
        seed: of the states.
        drives: whether drives of the file are named after "actuators" or after their "joints".
    """
    robot = without_losses(robot)
    drawn = random_states(robot, states, seed)
    inverse = nacelle.inverse_dynamics(robot, drawn.x, drawn.v, drawn.a, free=undriven_coordinates(robot))
    a = drawn.a if inverse.a is None else inverse.a
    bodies = nacelle.inverse_kinematics(robot, drawn.x).bodies
    motion = nacelle.kinematics.body_motion(robot, drawn.x, drawn.v, a)
    given = UniqueNames(("base",))
    tree = Tree(again, [given.new(body.name, "body") for body in robot.bodies])
    own = body_mapping(robot, tree.names)
    named = [drive.name.replace(".", "-") for drive in robot.actuators]
    if drives == "joints":
        named = actuator_names(robot)
    # How far a rod has spun about itself nothing feels: of its rotation the axis counts.
    seen = {spin.body: np.array(spin.axis) for leg in mechanism_of(robot).legs for spin in leg.spins}
    worst = {"poses": 0.0, "forces": 0.0, "accelerations": 0.0}
    for k in range(states):
        q = coordinates(tree, own, bodies.R[k], bodies.p[k], tree.start)
        q = _unwind_couplings(again, q)
        J = stack_bodies(tree.kinematics(q, np.zeros(tree.nv)).jacobian, own)
        u = np.linalg.lstsq(J, np.concatenate([motion.twist[k, b] for b in own.values()]), rcond=1e-10)[0]
        bias = stack_bodies(tree.kinematics(q, u).bias, own)
        wanted = np.concatenate([motion.acceleration[k, b] for b in own.values()]) - bias
        u_dot = np.linalg.lstsq(J, wanted, rcond=1e-10)[0]
        x, v, x_dot = _reduced_state(again, q, u, u_dot)
        there = nacelle.inverse_kinematics(again, x).bodies
        for number, body in own.items():
            gap = (
                np.abs((there.R[number] - bodies.R[k, body]) @ seen.get(body, np.eye(3))).max(),
                np.abs(there.p[number] - bodies.p[k, body]).max(),
            )
            worst["poses"] = max(worst["poses"], *map(float, gap))
        back = nacelle.inverse_dynamics(again, x, v, x_dot, free=undriven_coordinates(again))
        order = [named.index(_name_in_file(drive.name, named)) for drive in again.actuators]
        assert sorted(order) == list(range(len(named)))
        force = inverse.tau[k]
        error = np.max(np.abs(back.tau - force[order])) / np.max(np.abs(force))
        worst["forces"] = max(worst["forces"], float(error))
        if back.a is not None:
            error = np.max(np.abs(back.a - x_dot)) / np.max(np.abs(x_dot))
            worst["accelerations"] = max(worst["accelerations"], float(error))
    return worst


def _unwind_couplings(robot: Robot, q: Array) -> Array:
    """Angles by so many turns that couplings hold: poses do not show turns; the fastest joint has most."""
    q = q.copy()
    for _ in range(3):
        for coupling in (robot.joints[k] for k in robot.couplings):
            q_indices = [12 + robot.q_slices[j].start for j, _ in coupling.terms]
            factors = np.array([factor for _, factor in coupling.terms])
            turning = [robot.joints[j].primitives[0].is_rotation for j, _ in coupling.terms]
            fast = min(np.flatnonzero(turning), key=lambda k: abs(factors[k]))
            left = (factors @ q[q_indices] - coupling.offset) / factors[fast]
            q[q_indices[fast]] -= 2.0 * np.pi * round(left / (2.0 * np.pi))
    return q


def _reduced_state(robot: Robot, q: Array, u: Array, u_dot: Array) -> tuple[Array, Array, Array]:
    """Reduced pose, twist and acceleration of a state of the tree."""
    platform, joints = _unpack_configuration(q)
    x = Chart(robot).coordinates(platform)[0]
    indices = []
    for name in robot.motion.coordinates:
        if name in AXES:
            indices.append(AXES.index(name))
        else:
            joint = robot.joint(name)
            x[layout_of(robot.motion).x_index(name)] = joints[robot.q_slices[joint].start]
            indices.append(robot.platform_nv + robot.v_slices[joint].start)
    return x, u[indices], u_dot[indices]


def main(names: list[str]) -> None:
    """Print the errors of robots of the library that were written as MJCF and read back."""
    for name in names or NAMES:
        robot = library_robot(name)
        with TemporaryDirectory() as folder:
            file = Path(folder) / "robot.xml"
            nacelle.export_robot(robot, "mjcf", out=file)
            found = errors(robot, nacelle.import_robot(file).robot)
        print(name, *(f"{what} {error:.1e}" for what, error in found.items()), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
