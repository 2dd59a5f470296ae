"""Velocities and accelerations of all bodies and all joints, from the motion of the platform.

All rates u of the tree are linear in the reduced twist v (`nacelle.kinematics.configuration`), and so are
twists V and accelerations of bodies, with C_k the columns of the rates that move body k:

    u = U v,     u' = U a + bias,     V_k = C_k u,     V_k' = C_k u' + bias_k

`evaluated` runs any such function at states: poses checked, y solved, outputs, dense ones where pivots
are weak, flags.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.flags import Flag, Flagged, has_failed
from nacelle.kinematics.kinematic_model import pose_tangent
from nacelle.kinematics.limits import angle_mask
from nacelle.kinematics.margins import failure_error, margin_flags
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.pose_input import check_poses, check_twist_and_derivative
from nacelle.kinematics.solve.ill_conditioned import PivotedFunction, reevaluate_with_pivoting
from nacelle.kinematics.solve.one_state import single_sample
from nacelle.kinematics.solve.unknowns import search_start, solve_unknowns
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.results import Plottable
from nacelle.spatial.rotation import quat_exp, quat_multiply
from nacelle.spatial.scalar import Array
from nacelle.tree.actuation import unwrap_path


@dataclass(frozen=True, eq=False, repr=False)
class BodyMotion(Flagged, Plottable):
    """How all bodies move.

    Attributes:
        robot: the robot.
        twist: [v; w] (..., bodies, 6) of each body at its frame's origin, base axes, m/s and rad/s.
        acceleration: its time derivative (..., bodies, 6), m/s^2 and rad/s^2.
        flags: for every sample what was found (`Flag`).
    """

    robot: Robot
    twist: Array
    acceleration: Array
    flags: Array


@dataclass(frozen=True, eq=False, repr=False)
class JointMotion(Flagged, Plottable):
    """How all joints of the tree move.

    Attributes:
        robot: the robot.
        q_tree: coordinates (..., nq): rad, m, quat_xyzw.
        rate: rates (..., nv), rad/s or m/s; of spherical joints the angular velocity in successor axes.
        acceleration: derivatives of the rates (..., nv), rad/s^2 or m/s^2.
        actuators: coordinates, rates and accelerations of the actuators (..., actuators).
        flags: for every sample what was found (`Flag`).
    """

    robot: Robot
    q_tree: Array
    rate: Array
    acceleration: Array
    actuators: tuple[Array, Array, Array]
    flags: Array

    def as_path(self) -> JointMotion:
        """The same samples, in order, as a path: angles without jumps by whole turns."""
        q = unwrap_path(self.q_tree, angle_mask(self.robot.tree_joints))
        driven = unwrap_path(self.actuators[0], self.robot.revolute_actuators)
        return replace(self, q_tree=q, actuators=(driven, *self.actuators[1:]))


class EvaluatedStates(NamedTuple):
    """A function at states.

    Attributes:
        x: poses (..., nx).
        y: passive coordinates (..., ny).
        results: outputs of the function by name.
        flags: for every state what was found (`Flag`).
    """

    x: Array
    y: Array
    results: dict[str, Array]
    flags: Array


def evaluate_function(
    function: Callable[..., Any],
    robot: Robot,
    x: Any,
    *others: Array,
    load: Callable[[Array, Array], Array] | None = None,
    guess: Any = None,
    options: Mapping[str, Any] | None = None,
    pivoted: PivotedFunction | None = None,
) -> EvaluatedStates:
    """Evaluate a physics function of (x, y, ...) with an output "margins" at states, natively, and flag them.

    Args:
        function: the physics function.
        robot: the robot.
        x: reduced poses (..., nx).
        *others: its other inputs, with checked last dimensions.
        load: gives its last input at (x, y), where that depends on the pose.
        guess: start of the iteration, as in `inverse_kinematics`.
        options: keyword arguments of the function that shape the program.
        pivoted: what takes over at weak states (`ill_conditioned`); the dense margins alone if None.

    Raises:
        KinematicsError, UnreachableError, SingularError: as `settle` does.
    """
    options = options or {}
    if load is None:
        sample = single_sample(function, robot, **options)(x, guess, *others)
        if sample is not None:
            return EvaluatedStates(*sample, sample.flags)
    poses, y, flags = solve_loops(robot, x, *others, guess=guess)
    if load is not None:
        others = (*others, load(poses, y))
    outputs = compile_native(function, robot, **options)(poses, y, *others)
    outputs = reevaluate_with_pivoting(robot, outputs, (poses, y, *others), flags, pivoted)
    outputs.pop("pivot", None)
    flags = np.broadcast_to(flags, outputs["margins"].shape[:-1]).copy()
    return EvaluatedStates(poses, y, apply_flags(robot, poses, outputs, flags), flags)


def solve_loops(robot: Robot, x: Any, *others: Array, guess: Any = None) -> tuple[Array, Array, Array]:
    """Take poses and solve passive coordinates: (x, y, flags), the flags with the common batch shape."""
    poses, valid = check_poses(robot, x)
    try:
        batch = np.broadcast_shapes(poses.shape[:-1], *(array.shape[:-1] for array in others))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in (poses, *others))
        raise KinematicsError(f"the batch dimensions do not broadcast: {shapes}") from None
    y, branch = solve_unknowns(mechanism_of(robot), poses, search_start(robot, guess))
    flags = np.where(valid, branch, int(Flag.INVALID))
    for array in others:
        finite = np.all(np.isfinite(array), axis=-1)
        flags = flags | np.where(finite, 0, int(Flag.INVALID))
    return poses, y, np.broadcast_to(flags, batch).copy()


def apply_flags(robot: Robot, x: Array, outputs: dict[str, Array], flags: Array) -> dict[str, Array]:
    """Flag samples out of reach or near a serial singularity, and set the results of failed ones to NaN.

    Raises:
        UnreachableError: if there is only one sample, and it is out of reach.
        SingularError: if there is only one sample, and a leg is at a serial singularity.
        KinematicsError: if there is only one sample, and it is not finite.
    """
    margins = outputs["margins"]
    results = [value for name, value in outputs.items() if name != "margins"]
    finite = np.ones(flags.shape, dtype=bool)
    for value in results:
        finite &= np.all(np.isfinite(value), axis=tuple(range(flags.ndim, value.ndim)))
    flags |= margin_flags(margins, flags)
    flags |= np.where(finite | has_failed(flags), 0, int(Flag.SINGULAR))
    bad = has_failed(flags)
    if flags.ndim == 0 and bad:
        if flags & int(Flag.INVALID):
            raise KinematicsError("a velocity, an acceleration or a force is not finite")
        raise failure_error(robot, x, margins, flags)
    for value in results:
        value[bad] = np.nan
    return outputs


def body_motion(robot: Robot, x: Any, v: Any = None, a: Any = None) -> BodyMotion:
    """Twists V_k = C_k U v and accelerations V_k' of all bodies at their origins, base axes.

    V_b = J_b v and its derivative J_b a + bias.

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, in the base frame.
        v: reduced twists (..., n), m/s and rad/s, base axes; zero if None.
        a: their derivatives (..., n), m/s^2 and rad/s^2 in base axes; zero if None.

    Returns:
        Twists [v; omega] and their derivatives (..., bodies, 6) at the origins of the bodies, base frame,
        m/s, rad/s, m/s^2, rad/s^2.

    Raises:
        KinematicsError: if shapes are wrong or a single sample is not finite.
        UnreachableError: if a single pose is out of reach; in a batch it is flagged.
    """
    v, a = check_twist_and_derivative(robot, v, a)
    state = evaluate_function(kinematic_model.body_motions, robot, x, v, a)
    return BodyMotion(robot, state.results["twist"], state.results["acceleration"], state.flags)


def joint_motion(robot: Robot, x: Any, v: Any = None, a: Any = None, *, guess: Any = None) -> JointMotion:
    """Coordinates, rates q' = U v, accelerations q'' = U a + bias of the tree's joints and of the actuators.

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, in the base frame.
        v: reduced twists (..., n), m/s and rad/s, base axes; zero if None.
        a: their derivatives (..., n), m/s^2 and rad/s^2 in base axes; zero if None.
        guess: solutions near by, as in `inverse_kinematics`: angles continue theirs.

    Returns:
        Coordinates (..., nq) in rad, m and quat_xyzw, rates and accelerations (..., nv) per s and s^2; those
        of spherical joints are angular velocities in the successor's frame.

    Raises:
        KinematicsError: if shapes are wrong or a single sample is not finite.
        UnreachableError: if a single pose is out of reach; in a batch it is flagged.
    """
    v, a = check_twist_and_derivative(robot, v, a)
    state = evaluate_function(kinematic_model.joint_motions, robot, x, v, a, guess=guess)
    outputs = state.results
    active = (outputs["active"], outputs["active_rate"], outputs["active_acceleration"])
    return JointMotion(robot, outputs["q"], outputs["rate"], outputs["acceleration"], active, state.flags)


def integrate_pose(robot: Robot, x: Array, step: Array, *, guess: Any = None) -> Array:
    """Integrate poses by steps e along their tangent: x + X e, quaternions exp(e_rotation) q, X = dx/de.

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, in the base frame.
        step: e (..., n): translations (m) and a rotation vector (rad) in base axes, then joints of the
            platform.
        guess: solutions at poses near by, as in `inverse_dynamics`.

    Returns:
        Poses (..., nx), m and quat_xyzw or rad, in the base frame.
    """
    layout = layout_of(robot.motion)
    poses, y, _ = solve_loops(robot, x, guess=guess)
    X = compile_native(pose_tangent, robot)(poses, y)["x"]
    result = poses + np.einsum("...ij,...j->...i", X, step)
    if layout.quaternion is not None and layout.angular is not None:
        quat = quat_multiply(quat_exp(step[..., layout.angular]), poses[..., layout.quaternion])
        result[..., layout.quaternion] = quat
    return np.asarray(result)


def twist_from_rates(robot: Robot, x: Array, dx: Array, ddx: Array) -> tuple[Array, Array]:
    """Reduced twist and acceleration (..., n) from the rates of the coordinates of x and their derivatives.

    For a quaternion the rates are the angular velocity. They differ only for tilts with parasitic motion.
    """
    if not kinematic_model.has_tilt_coordinates(mechanism_of(robot)):
        return dx, ddx
    poses, y, _ = solve_loops(robot, x)
    outputs = compile_native(kinematic_model.coordinate_motions, robot)(poses, y, dx, ddx)
    return np.asarray(outputs["v"]), np.asarray(outputs["a"])
