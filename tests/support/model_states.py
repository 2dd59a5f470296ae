"""States of the workspace as the inputs of named models: pose, elements or encoders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.dynamics.forward import mass_matrix
from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.dynamics.jacobian import jacobian
from nacelle.dynamics.models import Model
from nacelle.kinematics.jacobian import NEAR_CONDITIONING, conditioning, scaled_inverse
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.margins import leg_condition
from nacelle.kinematics.motion import joint_motion, solve_loops
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.shapes import twist_scales
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.papers.elements.state import elements_at
from nacelle.verify.states import integrate_poses, random_states

Array = np.ndarray

# How far singularities are sought, robot sizes and rad together, and how exactly where they begin to be near.
_FAR, _HALVINGS = 2.0, 11


@dataclass(frozen=True, eq=False)
class Sample:
    """Random states of a robot's workspace.

    Attributes:
        robot: the robot.
        x: reduced poses.
        y: what iteration found.
        v: reduced twists.
        a: their derivatives.
        tau: actuator forces: those of the motion, each changed by about 30 %.
        condition: of the scaled Jacobian.
    """

    robot: Robot
    x: Array
    y: Array
    v: Array
    a: Array
    tau: Array
    condition: Array

    def leg_condition(self) -> Array:
        """Condition number of the worst leg's own Jacobian."""
        return leg_condition(inverse_kinematics(self.robot, self.x, limits=False).margins)

    def inertia_condition(self) -> Array:
        """Condition number of the mass matrix, lengths counted in the robot's size."""
        unit = twist_scales(self.robot)
        return np.asarray(1.0 / conditioning(mass_matrix(self.robot, self.x) * np.outer(unit, unit)))


def sample(robot: Robot, count: int, seed: int = 0, *, friction: bool = True, near: float = 0.0) -> Sample:
    """Draw different states of the workspace on the branch of the reference, ten thousand at a time.

    Args:
        robot: the robot.
        count: how many.
        seed: of the draw.
        friction: whether the actuator forces overcome friction.
        near: part of the poses that is moved towards a singularity, to where it begins to be flagged.
    """
    drawn = [
        random_states(robot, min(10_000, count - start), seed + start) for start in range(0, count, 10_000)
    ]
    x, v, a, push = (np.concatenate([getattr(d, name) for d in drawn]) for name in ("x", "v", "a", "push"))
    rng = np.random.default_rng([seed, 1])
    some = np.flatnonzero(rng.uniform(size=count) < near)
    x[some] = towards_singularities(robot, x[some], rng)
    assert len(np.unique(x, axis=0)) == count
    y = solve_loops(robot, x)[1]
    condition = 1.0 / jacobian(robot, x).conditioning
    tau = inverse_dynamics(robot, x, v, a, formulation="tree", friction=friction).tau * push
    return Sample(robot, x, np.broadcast_to(y, (count, y.shape[-1])), v, a, tau, condition)


def towards_singularities(robot: Robot, x: Array, rng: np.random.Generator) -> Array:
    """Poses (states, nx) moved in random directions, most of the way to where the next singularity is near.

    What is left of the way is between a third and a thousandth, at random in its logarithm; limits of
    joints do not count. A pose stays where no pose on its way can be used.
    """
    count, n = len(x), robot.motion.n
    step = rng.normal(size=(count, n))
    step *= _FAR * twist_scales(robot) / np.linalg.norm(step, axis=1, keepdims=True)
    usable, not_usable = np.zeros((count, 1)), np.ones((count, 1))
    for _ in range(_HALVINGS):
        middle = 0.5 * (usable + not_usable)
        good = _regular_samples(robot, integrate_poses(robot, x, middle * step))[:, None]
        usable, not_usable = np.where(good, middle, usable), np.where(good, not_usable, middle)
    part = usable * (1.0 - 10.0 ** rng.uniform(-3.0, -0.5, (count, 1)))
    found = integrate_poses(robot, x, part * step)
    return np.where(_regular_samples(robot, found)[:, None], found, x)


def _regular_samples(robot: Robot, x: Array) -> Array:
    """Which poses are on the branch of the reference, and near no singularity that is flagged."""
    found = inverse_kinematics(robot, x, limits=False)
    J = compile_native(inverse_jacobian, robot)(x, found.y)["J"]
    with np.errstate(invalid="ignore"):
        return np.asarray((found.flags == 0) & (conditioning(scaled_inverse(robot, J)) > NEAR_CONDITIONING))


def inputs_of(model: Model, states: Sample) -> dict[str, Array]:
    """The inputs of a model at states, by name."""
    robot, x = states.robot, states.x
    reported = {"x": x, "y": states.y, "v": states.v, "a": states.a, "tau": states.tau}
    if "q" in model.inputs:
        moved = joint_motion(robot, x, states.v, states.a).actuators
        reported |= dict(zip(("q", "q_dot", "q_ddot"), moved, strict=True))
    if not set(model.inputs) <= set(reported):
        reported |= elements_at(robot, x, states.y, states.v, states.a)
    return {name: reported[name] for name in model.inputs}
