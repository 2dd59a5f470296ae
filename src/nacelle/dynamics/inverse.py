"""Inverse dynamics: the actuator forces Gamma that a motion needs.

By equal power of the actuators, Gamma . q_a' with q_a' = J_r^-1 v, and of what the motion requires, for every
reduced twist v (n,) ([KI2007] (20), [OAM] (58), [AGH2005] (11)):

    J_r^-T Gamma = F(x, v, dv/dt) - L

F (n,) is what inertia, weight, friction, springs and rotors of bodies and joints require along v, L external
wrenches along it, J_r^-1 (actuators, n) the rates of the actuators from v; N or N m, base axes. States go
through these stages: inputs are checked, one ordinary state is evaluated at once; else iteration solves the
passive coordinates y of the poses, wrenches and preload become a force along v, the formulation's program
finds Gamma, and its margins become flags. With a preload Gamma_0 the least-norm forces hold
F - L - J_r^-T Gamma_0, and Gamma_0 is added: for redundant actuators its internal part remains.

Where nothing drives k motions, A = J_r^-1 has the rank n - k, and of a = dv/dt in M a + h - L = A^T Gamma the
k entries F are unknown and the others G given:

    [A^T, -M_F] [Gamma; a_F] = M_G a_G + h - L                                   n equations

With N (n, k) a basis of what the actuators do not move, A N = 0, the forces drop out:

    (N^T M_F) a_F = -N^T (M_G a_G + h - L),      then   A^T Gamma = M a + h - L   is consistent

and Gamma the solution of least norm where there are more actuators than they drive motions. N^T M_F is
singular where a motion of the named coordinates is perpendicular, in the metric M, to all motions of N: with
C the matrix of cosines between both spaces, N and F made orthonormal in that metric,

    margin = (least singular value of C)^2          1 where they are one space (a free base), 0 if singular
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from nacelle.compile import Compiled
from nacelle.dynamics import evaluation, reference
from nacelle.dynamics.evaluation import MeasuredState, evaluate_measured, external_load
from nacelle.dynamics.external import check_forces
from nacelle.dynamics.physics import Physics, check_positive
from nacelle.dynamics.reference import supported_formulation
from nacelle.errors import KinematicsError, SingularError, UnderactuatedError
from nacelle.kinematics.flags import Flag, Flagged, has_failed
from nacelle.kinematics.jacobian import conditioning, describe_singularity, nearest_kind, scaled_inverse
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.margins import leg_condition
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.motion import apply_flags, solve_loops
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.pose_input import check_twist_and_derivative
from nacelle.kinematics.shapes import jacobian_scales
from nacelle.kinematics.solve.one_state import SingleSample
from nacelle.kinematics.underactuated import (
    coordinate_indices,
    free_coordinates_hint,
    require_driven,
    undriven_coordinates,
)
from nacelle.model.robot import Robot
from nacelle.results import Plottable
from nacelle.spatial.scalar import Array


class FreeMotion(NamedTuple):
    """Forces and accelerations of states (...).

    Attributes:
        tau: of the actuators (..., actuators), N or N m.
        a: derivative of the reduced twist (..., n), with the free entries found.
        margin: how far the free accelerations are from not being determined (...): a squared cosine.
        parallel_margin: squared ratio (...) of the least to the largest rate that the actuators feel.
    """

    tau: Array
    a: Array
    margin: Array
    parallel_margin: Array


class EquationsOfMotion(NamedTuple):
    """The equations of motion M a + b = A^T Gamma of states (...), all finite.

    Attributes:
        M: mass matrix (..., n, n) along the reduced twist.
        b: bias less external loads (..., n), N or N m.
        A: rates of the actuators from the reduced twist (..., actuators, n).
    """

    M: Array
    b: Array
    A: Array


def free_motion(
    robot: Robot, equations: EquationsOfMotion, a: Array, free: tuple[int, ...], weights: Array | None = None
) -> FreeMotion:
    """Solve the equations of motion for the actuators' forces and the accelerations that are left free.

    Args:
        robot: the robot.
        equations: its equations of motion.
        a: derivatives of the reduced twist (..., n); entries of free coordinates do not count.
        free: their places, as many as motions that nothing drives.
        weights: of the actuators (actuators,): sum of weight Gamma^2 is least; all 1 if None.
    """
    M, b, A = equations
    n, indices = robot.motion.n, list(free)
    units = jacobian_scales(robot)[1]
    scale = np.ones(A.shape[-2]) if weights is None else 1.0 / np.sqrt(weights)
    scaled = A * scale[:, None] * units
    prescribed = np.array(a)
    prescribed[..., indices] = 0.0
    left, driven, s = _split_range(scaled, n - len(free))
    N = units[:, None] * left
    right = _multiply(M, prescribed) + b
    forced = np.swapaxes(N, -1, -2) @ M[..., indices]
    with np.errstate(all="ignore"):
        margin = _cosine(N, M, indices) ** 2
        known = np.where(margin[..., None, None] > 0.0, forced, np.eye(len(indices)))
        free_acceleration = np.linalg.solve(known, -_multiply(np.swapaxes(N, -1, -2), right)[..., None])[
            ..., 0
        ]
        acceleration = np.array(np.broadcast_to(prescribed, right.shape))
        acceleration[..., indices] = free_acceleration
        F = units * (_multiply(M, acceleration) + b)
        parallel = (s[..., -1] / s[..., 0]) ** 2 if s.shape[-1] else np.ones(s.shape[:-1])
        force = scale * _multiply(driven, F)
    return FreeMotion(force, acceleration, margin, parallel)


def _split_range(A: Array, rank: int) -> tuple[Array, Array, Array]:
    """Null space (..., n, n - rank) of A (..., m, n), the inverse (..., m, n) of A^T on its range, and s."""
    n = A.shape[-1]
    if not rank:
        batch = A.shape[:-2]
        return np.broadcast_to(np.eye(n), (*batch, n, n)), np.zeros(A.shape), np.zeros((*batch, 0))
    U, s, V = np.linalg.svd(A, full_matrices=True)
    with np.errstate(divide="ignore"):
        inverse = (U[..., :rank] / s[..., None, :rank]) @ V[..., :rank, :]
    return np.swapaxes(V[..., rank:, :], -1, -2), inverse, s[..., :rank]


def _cosine(N: Array, M: Array, free: list[int]) -> Array:
    """Least cosine (...) between motions of N and of the free coordinates, in the metric M."""
    values, vectors = np.linalg.eigh(M)
    root = np.sqrt(np.maximum(values, 0.0))[..., None] * np.swapaxes(vectors, -1, -2)
    first, second = np.linalg.qr(root @ N)[0], np.linalg.qr(root[..., free])[0]
    s = np.linalg.svd(np.swapaxes(first, -1, -2) @ second, compute_uv=False)
    return np.asarray(s[..., -1])


def _multiply(A: Array, v: Array) -> Array:
    return np.asarray(np.einsum("...ij,...j->...i", A, v))


# Squared cosine at which free accelerations are not determined.
SINGULAR_FREE = 1e-20
# Squared ratios: below the first a parallel singularity is near, below the second it is met.
NEAR_PARALLEL = 1e-6
SINGULAR_PARALLEL = 1e-22


@dataclass(frozen=True, eq=False, repr=False)
class InverseDynamics(Flagged, Plottable):
    """Forces of the actuators.

    Attributes:
        robot: the robot.
        x: poses (..., nx).
        y: passive coordinates, solved numerically (..., ny).
        tau: force or torque of every actuator (..., actuators), N or N m, positive along the joint's axis.
        margins: how far every leg, and the platform where it has dependent coordinates, is from a serial
            singularity (..., legs), as in `inverse_kinematics`.
        parallel_margin: how far the pose is from a parallel singularity (...): a squared ratio, 1 at best.
        flags: for every state what was found (`Flag`).
        formulation: which one found them.
        projected: force along the reduced twist, where the formulation found it on the way.
        a: derivative of the reduced twist (..., n) with free coordinates, m/s^2 and rad/s^2; None
            where all of it was given.
    """

    robot: Robot
    x: Array
    y: Array
    tau: Array
    margins: Array
    parallel_margin: Array
    flags: Array
    formulation: str
    projected: Array | None = None
    a: Array | None = None

    @cached_property
    def generalised_force(self) -> Array:
        """Force along the reduced twist (..., n) that the motion requires, N or N m: J_r^-T Gamma."""
        if self.projected is not None:
            return self.projected
        return _project_forces(self.robot, self.x, self.y, self.tau)

    @cached_property
    def condition(self) -> Array:
        """Condition number (...): the larger of that of the scaled Jacobian and of the worst leg's own.

        Forces have lost so much precision near a parallel singularity, and its square near a serial one,
        where a rounding of a length already moves the joints by its condition.
        """
        J = compile_native(inverse_jacobian, self.robot)(self.x, self.y)["J"]
        with np.errstate(divide="ignore"):
            parallel = 1.0 / conditioning(scaled_inverse(self.robot, J))
        return np.maximum(parallel, leg_condition(self.margins))


def inverse_dynamics(
    robot: Robot,
    x: Any,
    v: Any = None,
    a: Any = None,
    *,
    external: Mapping[str, Any] | None = None,
    formulation: str = "auto",
    friction: bool = True,
    smooth: float | None = None,
    weights: Any = None,
    preload: Any = None,
    free: Sequence[str] | str = (),
    guess: Any = None,
) -> InverseDynamics:
    """Find the actuator forces that give the platform, or the mechanism, a motion.

    J_a^T tau = M(x) a + h(x, v) - sum J_b^T w_b ([KI2007] (22)).

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, in the base frame; or an `ElementState`, which has
            its rates, and no other input then.
        v: reduced twists (..., n), m/s and rad/s in base axes; zero if None.
        a: their derivatives (..., n), m/s^2 and rad/s^2 in base axes; zero if None.
        external: wrenches [f; n] (..., 6) that act on bodies or tools from outside, by name, about the origin
            of the body or tool, in base axes, N and N m.
        formulation: "compact", the compact form; "tree", "bodies", "legs", "jourdain" or "elements"; they
            agree. "auto" takes "compact", and "tree" where weights or a preload share the forces.
        friction: whether friction counts.
        smooth: rate (rad/s, m/s) over which Coulomb friction changes its sign smoothly; at once if None.
        weights: of the actuators (actuators,), for redundant actuation: sum of weight force^2 is least.
        preload: forces (..., actuators) whose internal part is added, for redundant actuation.
        free: coordinates whose accelerations are left to the dynamics, as many as motions that nothing drives
            (a free base, a pendulum): `a` has n entries all the same, of which these do not count, and
            `acceleration` of the result has all of them.
        guess: solutions near by, for robots that need iteration: the result before this one in a control
            loop, or one of `inverse_kinematics`, or its y.

    Returns:
        Actuator forces tau (..., actuators), N or N m, force along the reduced twist (..., n), margins and
        flags.

    Raises:
        KinematicsError: if shapes or names are wrong, or a single state is not finite.
        UnreachableError: if a single pose is out of reach; in a batch it is flagged, with NaN.
        SingularError: if a single pose is a parallel singularity, or there the free accelerations are not
            determined; in a batch it is flagged, with NaN.
        UnderactuatedError: if nothing drives some motions, and `free` does not name as many coordinates.
    """
    physics = Physics(friction, smooth)
    if len(free):
        if formulation not in ("auto", "compact"):
            raise KinematicsError("free accelerations are found by the formulation compact")
        if isinstance(x, MeasuredState):
            raise KinematicsError("free accelerations are found from poses, not from elements")
        return _free_inverse(
            robot,
            x,
            v,
            a,
            external=external,
            weights=weights,
            preload=preload,
            free=free,
            guess=guess,
            physics=physics,
        )
    if isinstance(x, MeasuredState):
        others = {"twist v": v, "acceleration a": a, "external wrench": external or None, "guess": guess}
        return _from_measured(robot, x, physics, others | {"weight": weights, "preload": preload})
    v, a = check_twist_and_derivative(robot, v, a)
    shared = weights is not None or preload is not None
    if not (shared or external):
        chosen, evaluate = _single_state_dynamics(robot, formulation, physics)
        sample = evaluate(x, guess, v, a)
        if sample is not None:
            x, y, results = sample
            # Pivots in a fixed order have a figure in the place of the margin.
            fixed = "pivot" in results
            margin = evaluation.parallel_margin(results["pivot"]) if fixed else results["parallel_margin"]
            return InverseDynamics(
                *(robot, x, y, results["force"], results["margins"], margin, sample.flags),
                *(chosen, results.get("generalised")),
            )
    poses, y, flags = solve_loops(robot, x, v, a, guess=guess)
    formulation = _select_formulation(robot, formulation, shared)
    options = {"physics": physics, **_weight_options(robot, weights)}
    held = check_forces(robot, preload, "preload")
    load = external_load(robot, poses, y, external)
    if preload is not None:
        load = load + _project_forces(robot, poses, y, held)
    states = (poses, y, v, a, load)
    if formulation == "compact":
        results = evaluation.evaluate_states("inverse", robot, states, flags, **options)
    else:
        results = dict(_program(robot, formulation, **options)(*states))
    margin = results.pop("parallel_margin")
    flags = flag_parallel_singularities(robot, poses, y, results, margin, flags)
    force = results["force"] if preload is None else results["force"] + held
    force[has_failed(flags)] = np.nan
    return InverseDynamics(
        robot, poses, y, force, results["margins"], margin, flags, formulation, results.get("generalised")
    )


def _free_inverse(
    robot: Robot,
    x: Any,
    v: Any,
    a: Any,
    *,
    external: Mapping[str, Any] | None,
    weights: Any,
    preload: Any,
    free: Sequence[str] | str,
    guess: Any,
    physics: Physics,
) -> InverseDynamics:
    """Forces and the accelerations that are left free: [A^T, -M_F] [Gamma; a_F] = M_G a_G + h - L.

    Arguments as in `inverse_dynamics`.
    """
    indices = free_coordinate_indices(robot, free)
    v, a = check_twist_and_derivative(robot, v, a)
    a = np.array(a)
    a[..., list(indices)] = 0.0
    held = check_forces(robot, preload, "preload")
    state = evaluation.evaluate_at_poses(
        "bias", robot, x, v, guess=guess, outputs="h M A pivot margins", physics=physics
    )
    x, y, results, flags = state
    flags = flags | np.where(np.all(np.isfinite(a), axis=-1), 0, int(Flag.INVALID))
    bad = has_failed(flags)
    M, h, A = (results[name] for name in ("M", "h", "A"))
    b = h - external_load(robot, x, y, external) - np.einsum("...ij,...i->...j", A, held)
    shape = np.broadcast_shapes(flags.shape, b.shape[:-1])
    n = robot.motion.n
    sound = EquationsOfMotion(
        np.where(bad[..., None, None], np.eye(n), M),
        np.where(bad[..., None], 0.0, b),
        np.where(bad[..., None, None], np.eye(*A.shape[-2:]), A),
    )
    shares = _weight_options(robot, weights).get("weights")
    shares = None if shares is None else np.array(shares)
    solution = free_motion(robot, sound, np.nan_to_num(a), indices, shares)
    flags = np.broadcast_to(flags, shape).copy()
    refused = (solution.margin <= SINGULAR_FREE) | (solution.parallel_margin <= SINGULAR_PARALLEL)
    flags |= np.where(refused & ~bad, int(Flag.SINGULAR), 0)
    close = np.minimum(solution.margin, solution.parallel_margin) < NEAR_PARALLEL
    flags |= np.where(close & ~refused & ~bad, int(Flag.NEAR_SINGULAR), 0)
    if not flags.ndim and has_failed(flags):
        raise _undetermined_error(robot, solution, indices, flags)
    force, acceleration = np.array(solution.tau + held), np.array(solution.a)
    force[has_failed(flags)], acceleration[has_failed(flags)] = np.nan, np.nan
    return InverseDynamics(
        *(robot, x, y, force, results["margins"], np.asarray(solution.parallel_margin), flags, "compact"),
        np.einsum("...ij,...i->...j", A, force),
        acceleration,
    )


def _undetermined_error(
    robot: Robot, solution: FreeMotion, indices: tuple[int, ...], flags: Array
) -> KinematicsError:
    """Why a single state has no forces and free accelerations."""
    if flags & int(Flag.INVALID):
        return KinematicsError("an acceleration is not finite")
    names = ", ".join(robot.motion.coordinates[k] for k in indices)
    if solution.margin <= SINGULAR_FREE:
        return SingularError(
            f"{robot.name}: the accelerations of {names} do not follow from those of the others: what the "
            f"actuators leave free does not move them (squared cosine {float(solution.margin):.1e}); leave "
            "other coordinates free",
            "free",
        )
    ratio = float(np.sqrt(solution.parallel_margin))
    return SingularError(
        f"{robot.name}: in this pose the actuators do not drive the motions that they drive elsewhere (least "
        f"rate {ratio:.1e} of the largest)",
        "parallel",
    )


def free_coordinate_indices(robot: Robot, free: Sequence[str] | str) -> tuple[int, ...]:
    """Places in v of the coordinates that are left free.

    Raises:
        KinematicsError: if one is not a coordinate of the motion, or there are more than undriven ones.
        UnderactuatedError: if they are too few.
    """
    indices, left = coordinate_indices(robot, free), undriven_coordinates(robot)
    if not left:
        raise KinematicsError(
            f"the actuators of {robot.name} drive every motion: with free coordinates their forces are not "
            "determined; leave out free="
        )
    if len(indices) != len(left):
        raise UnderactuatedError(
            f"free names {len(indices)} coordinates of {robot.name}, and nothing drives {len(left)} motions "
            f"({', '.join(left)}): name as many",
            left,
        )
    return indices


def _from_measured(
    robot: Robot, state: MeasuredState, physics: Physics, others: Mapping[str, Any]
) -> InverseDynamics:
    """Forces at an element state, flagged by the pose that it has."""
    x, y, results, flags = evaluate_measured("inverse", robot, state, {"physics": physics}, others)
    margin = results.pop("parallel_margin")
    flags = flag_parallel_singularities(robot, x, y, results, margin, flags)
    results["force"][has_failed(flags)] = np.nan
    return InverseDynamics(robot, x, y, results["force"], results["margins"], margin, flags, "compact", None)


def _weight_options(robot: Robot, weights: Any) -> dict[str, Any]:
    """Weights of the actuators as an option of the tree, if there are any.

    Raises:
        KinematicsError: unless every actuator has one above zero.
    """
    if weights is None:
        return {}
    checked = tuple(check_positive(w, "a weight") for w in np.ravel(weights))
    if len(checked) != len(robot.actuators):
        raise KinematicsError(f"{robot.name} has {len(robot.actuators)} actuators, so as many weights")
    return {"weights": checked}


def flag_parallel_singularities(
    robot: Robot, poses: Array, y: Array, results: dict[str, Array], margin: Array, flags: Array
) -> Array:
    """Flags of states by margins; results of failed ones are NaN.

    Args:
        robot: the robot.
        poses: their poses.
        y: passive coordinates.
        results: of the states, and their "margins".
        margin: parallel margins.
        flags: of the iteration.

    Raises:
        SingularError, UnreachableError, KinematicsError: if there is only one state, and it failed.
    """
    flags = np.broadcast_to(flags, np.shape(margin)).copy()
    with np.errstate(invalid="ignore"):
        singular = (margin <= SINGULAR_PARALLEL) & ~has_failed(flags)
        near = (margin < NEAR_PARALLEL) & ~singular & ~has_failed(flags)
    if np.ndim(margin) == 0 and singular:
        kind, legs = nearest_kind(robot, poses, y)
        why = "the forces are not determined" if legs else "where no actuator forces hold the platform"
        raise SingularError(f"{robot.name}: {describe_singularity(kind, legs)}, {why}", kind)
    apply_flags(robot, poses, results, flags)
    flags |= np.where(singular, int(Flag.SINGULAR), 0) | np.where(near, int(Flag.NEAR_SINGULAR), 0)
    return flags


@lru_cache(maxsize=512)
def _single_state_dynamics(robot: Robot, formulation: str, physics: Physics) -> tuple[str, SingleSample]:
    """The formulation of a robot, and inverse dynamics by it at one state, prepared once."""
    formulation = _select_formulation(robot, formulation)
    lowest = None if formulation == "compact" else {"parallel_margin": NEAR_PARALLEL}
    return formulation, SingleSample(robot, lambda: _program(robot, formulation, physics=physics), lowest)


def _program(robot: Robot, formulation: str, **options: Any) -> Compiled:
    """The compiled function of (x, y, v, a, load) that finds the forces."""
    if formulation == "compact":
        return evaluation.compiled_model("inverse", robot, **options)
    return compile_native(reference.inverse, robot, formulation=formulation, **options)


def _project_forces(robot: Robot, x: Array, y: Array, forces: Array) -> Array:
    """Actuator forces (..., actuators) as a force along the reduced twist (..., n): J_r^-T Gamma."""
    A = compile_native(inverse_jacobian, robot)(x, y)["J"]
    return np.asarray(np.einsum("...ij,...i->...j", A, forces))


def _select_formulation(robot: Robot, name: str, shared: bool = False) -> str:
    """The formulation that a robot is computed with; `shared`: with weights or preload of its actuators.

    Raises:
        KinematicsError: if the one that is named cannot be used.
        UnderactuatedError: if nothing drives some motions.
    """
    require_driven(robot, "inverse dynamics needs", free_coordinates_hint)
    if name == "auto":
        name = "tree" if shared else "compact"
    if name != "compact":
        supported_formulation(name, mechanism_of(robot))
    return name
