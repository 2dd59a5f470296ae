"""Exact derivatives of the dynamics, from the traced program.

A trace is a list of operations z_k = f_k(z_i, z_j), among them solves. With a direction, dz of the inputs,
every operation adds

    forward   dz_k = (df_k/dz_i) dz_i + (df_k/dz_j) dz_j            a column of the Jacobian for a direction
    reverse   c_i += c_k df_k/dz_i                                  a row for a value, from the end backwards

so few directions (the pose, the twist) are pushed forward, and many inputs (the robot's numbers) are pulled
back; the result is compiled and kept like any other function. One residual is enough for all, that of the
equations of motion along the reduced twist (n,), base axes, SI units,

    R = F(x, v, a) - A^T tau - L(x),      F = M a + h(x, v),      A = J_r^-1,

M mass matrix, h bias, L what external wrenches give (constant in base axes, so it changes with the pose
alone). At an operating point R = 0: inverse dynamics gives tau (actuators,) where a = dv/dt (n,) is given,
forward dynamics a otherwise. There

    inverse   A^T dtau = dR        forward   M da = -dR        a held pose   dR/dpose e = -R.

A function of the pose is differentiated along its tangent, the n entries of the reduced twist: translations,
small rotations about the base's axes, joints of the platform,

    d f / d pose [:, k]  =  d/de f(x (+) e e_k).

x' = X v, of a quaternion [w, 0] o q / 2. Passive coordinates move with the pose, y = y(x): dy follows from
the closure equations r(y, p) = 0 (the implicit function theorem), and that is what the joint rates say, since
u = U v; by other inputs dy/dp = -r_y^-1 r_p is the derivative of Newton's step.

By pose and twist the program holds one direction, which is an input: run over the 2n directions it gives all
columns. For a hexapod (`gough-stewart`) 15930 operations at the point and 19170 of a direction are compiled
instead of 111815 with all directions in one program; 246000 run for a state, twice as many, which counts in
large batches alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from nacelle.compile import Compiled, compile_function
from nacelle.dynamics.external import (
    check_forces,
    check_wrenches,
    project_wrenches,
)
from nacelle.dynamics.forward import forward_dynamics
from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.dynamics.physics import ALL_TERMS, Physics
from nacelle.dynamics.state import state_at
from nacelle.dynamics.tree_form import generalised_force, mass_matrix
from nacelle.errors import KinematicsError
from nacelle.kinematics.flags import Flagged, has_failed
from nacelle.kinematics.kinematic_model import has_tilt_coordinates, inverse_jacobian, pose_tangent
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.pose_input import check_twist_and_derivative
from nacelle.kinematics.samples import input_samples
from nacelle.kinematics.shapes import actuators_shape, pose_shape, twist_shape, unknowns_shape
from nacelle.kinematics.solve.newton_steps import loop_closing_step
from nacelle.kinematics.underactuated import require_driven, undriven_coordinates
from nacelle.model.numbers import GROUPS
from nacelle.model.robot import Robot
from nacelle.program.derivative import forward, reverse
from nacelle.program.graph import Graph
from nacelle.program.identities.values import PreciseInputs
from nacelle.program.trace import Symbol, node_of
from nacelle.results import HasTable
from nacelle.spatial.physics import gather_arguments
from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array, Scalar, pack
from nacelle.spatial.solve import solve_batch
from nacelle.tree.actuation import actuator_biases


class OperatingPoint(NamedTuple):
    """States (...) that satisfy the equations of motion.

    Attributes:
        x: reduced poses (..., nx).
        y: passive coordinates, solved numerically (..., ny).
        v: reduced twists (..., n).
        a: their derivatives (..., n).
        tau: actuator forces (..., actuators), N or N m.
    """

    x: Array
    y: Array
    v: Array
    a: Array
    tau: Array


# What a physics function declares for a point, field by field.
POINT_SHAPES = {
    "x": pose_shape,
    "y": unknowns_shape,
    "v": twist_shape,
    "a": twist_shape,
    "tau": actuators_shape,
}

takes_operating_point = gather_arguments(OperatingPoint, len(OperatingPoint._fields))


def operating_point(
    robot: Robot,
    x: Any,
    v: Any,
    *,
    a: Any = None,
    tau: Any = None,
    external: Mapping[str, Any] | None = None,
    physics: Physics = ALL_TERMS,
    guess: Any = None,
) -> tuple[OperatingPoint, Array]:
    """The operating point at an acceleration (zero if None), or at actuator forces if given; and its flags.

    Coordinates that nothing drives accelerate as the forces let them.

    Raises:
        KinematicsError, UnreachableError, SingularError: as in `inverse_dynamics`.
    """
    v, a = check_twist_and_derivative(robot, v, a)
    terms = {"friction": physics.friction, "smooth": physics.smooth}
    options: dict[str, Any] = {"external": external, "guess": guess, **terms}
    if tau is None:
        held = inverse_dynamics(robot, x, v, a, free=undriven_coordinates(robot), **options)
        a = a if held.a is None else held.a
        return OperatingPoint(held.x, held.y, v, a, held.tau), held.flags
    tau = check_forces(robot, tau)
    driven = forward_dynamics(robot, x, v, tau, **options)
    return OperatingPoint(driven.x, driven.y, v, driven.a, tau), driven.flags


# ---- derivatives on the graph of a trace, by inputs or along the tangent of the pose


class DerivativeTape:
    """Derivatives on the graph of a trace: of values, by arrays of inputs or along the tangent of the pose.

    Attributes:
        seeds: for each entry of the reduced twist, how the inputs x and y move along it.
    """

    def __init__(self, robot: Robot, x: Array, y: Array) -> None:
        """Start where x is an array of traced inputs."""
        self.graph: Graph = x[0].graph
        self.robot, self.x, self.y = robot, x, y
        moves = pose_tangent(robot, x, y)
        self.T, self.X, self.Y = moves["T"], moves["x"], moves["y"]
        columns = np.concatenate([moves["x"], moves["y"]]).T
        self.seeds = [self.seed(np.concatenate([x, y]), column) for column in columns]

    def seed(self, inputs: Array, direction: Array) -> dict[int, int]:
        """A direction (k,) in the space of inputs (k,), as nodes of the graph by input, without zeros."""
        pairs = zip(inputs, (node_of(self.graph, entry) for entry in direction), strict=True)
        return {symbol.index: node for symbol, node in pairs if self.graph.values[node] != 0.0}

    def along(self, value: Array, seeds: Sequence[Mapping[int, int]]) -> Array:
        """Derivatives of an array (...) along k directions: (..., k)."""
        nodes = [node_of(self.graph, entry) for entry in np.ravel(value)]
        columns = [forward(self.graph, nodes, dict(seed)) for seed in seeds]
        rows = [[self._symbol(column[k]) for column in columns] for k in range(len(nodes))]
        return np.array(rows, dtype=object).reshape(*np.shape(value), len(seeds))

    def derivatives_by_pose(self, value: Array) -> Array:
        """Derivatives of an array (...) along the tangent of the pose: (..., n), per m or rad, base axes."""
        return self.along(value, self.seeds)

    def derivatives_by(self, value: Array, inputs: Array) -> Array:
        """Derivatives of an array (...) by an array of inputs (k,): (..., k)."""
        return self.along(value, [self.seed(inputs[k : k + 1], np.ones(1)) for k in range(len(inputs))])

    def derivatives_by_parameters(self, value: Array, p: Array, geometry: bool) -> Array:
        """Derivatives (values, inputs) by many inputs; passive coordinates move with the geometry."""
        direct = self._rows(value, np.concatenate([p, self.y]))
        J = direct[:, : len(p)]
        if geometry and len(self.y):
            # A step of Newton is -r_y^-1 r: where the loops are closed its derivative by p is dy/dp.
            step = loop_closing_step(self.robot, self.y, self.x)["dy"]
            J = J + direct[:, len(p) :] @ self._rows(step, p)
        return np.asarray(J)

    def tangent_rotation(self, v: Array) -> Array:
        """K (n, n): along a motion the tangent turns, de/dt = dv + K e.

        For rotation matrices K e = w x e; for tilts it follows from v = T x'.
        """
        n, layout = len(v), mechanism_of(self.robot).layout
        K: Array = np.zeros((n, n))
        if layout.angular is not None:
            K = K.astype(object)
            K[layout.angular, layout.angular] = skew(v[layout.angular])
        elif has_tilt_coordinates(mechanism_of(self.robot)):
            slopes = self.derivatives_by_pose(self.T)
            rate = self.X @ v
            K = (slopes @ v) @ self.X - np.stack([slopes[:, :, k] @ rate for k in range(n)], axis=1)
        return K

    def _rows(self, value: Array, inputs: Array) -> Array:
        unit_seed = self.graph.const(1.0)
        indices = [symbol.index for symbol in inputs]
        rows = [reverse(self.graph, {node_of(self.graph, entry): unit_seed}, indices) for entry in value]
        return np.array([[self._symbol(node) for node in row] for row in rows], dtype=object)

    def _symbol(self, node: int | None) -> Scalar:
        return 0.0 if node is None else Symbol(self.graph, node)


Kind = Literal["inverse", "forward"]


class _Residual:
    """The residual R = F - A^T tau - L (n,) at a point, and what it is made of; traced only.

    Attributes:
        R: the residual.
        A: J_r^-1 (actuators, n).
        rates: the actuators' accelerations A a + bias.
    """

    def __init__(
        self,
        robot: Robot,
        point: OperatingPoint,
        wrench: Array,
        *,
        physics: Physics = ALL_TERMS,
        loaded: tuple[int, ...] = (),
    ) -> None:
        """Make it where `wrench` (k, 6) acts from outside on the k `loaded` bodies or tools."""
        x, y, v, a, tau = point
        self.robot, self.a = robot, a
        self.state = state_at(robot, x, y, v)
        self.A = self.state.inverse_jacobian
        self.R = generalised_force(self.state, a, physics) - self.A.T @ tau
        self.R = self.R - project_wrenches(self.state, dict(zip(loaded, wrench, strict=True)))

    @property
    def rates(self) -> Array:
        now, moving = self.state.now, self.state.moving
        return self.A @ self.a + pack(actuator_biases(self.robot, now.motion, moving.velocity, moving.bias))

    def values(self, active: bool) -> dict[str, Array]:
        """R, M, A and the margins; with `active` the actuators' accelerations."""
        results = {"R": self.R, "M": mass_matrix(self.state), "A": self.A, "margins": self.state.margins()}
        return results | ({"active": self.rates} if active else {})


@takes_operating_point
def residual_at_point(
    robot: Robot, wrench: Array, point: OperatingPoint, *, active: bool = False, **options: Any
) -> dict[str, Array]:
    """R, M and A, and how the pose moves along its tangent: X (nx, n), Y (ny, n); traced only.

    With `active` the actuators' accelerations, and the turn of the tangent.
    """
    results = _Residual(robot, point, wrench, **options).values(active)
    tape = DerivativeTape(robot, point.x, point.y)
    results |= {"X": tape.X, "Y": tape.Y}
    return results | ({"turn": tape.tangent_rotation(point.v)} if active else {})


@takes_operating_point
def residual_along(
    robot: Robot,
    z: Array,
    direction: Array,
    wrench: Array,
    point: OperatingPoint,
    *,
    active: bool = False,
    **options: Any,
) -> dict[str, Array]:
    """Derivatives of R, of A z and, with `active`, of A a + bias along [dx; dy; dv]; traced only."""
    residual = _Residual(robot, point, wrench, **options)
    tape = DerivativeTape(robot, point.x, point.y)
    seed = tape.seed(np.concatenate([point.x, point.y, point.v]), direction)
    values = {"R": residual.R, "Az": residual.A @ z} | ({"active": residual.rates} if active else {})
    return {name: tape.along(value, [seed])[..., 0] for name, value in values.items()}


@takes_operating_point
def residual_derivatives(
    robot: Robot,
    z: Array,
    p: Array,
    wrench: Array,
    point: OperatingPoint,
    *,
    groups: tuple[str, ...],
    **options: Any,
) -> dict[str, Array]:
    """R, and derivatives of R and A z by the robot's numbers p of the `groups`; traced only."""
    robot = robot.with_symbols(p, *groups)
    residual = _Residual(robot, point, wrench, **options)
    tape = DerivativeTape(robot, point.x, point.y)
    geometry = "geometry" in groups
    results = {"R": residual.R, "parameters": tape.derivatives_by_parameters(residual.R, p, geometry)}
    if geometry:
        results["A_parameters"] = tape.derivatives_by_parameters(residual.A @ z, p, geometry)
    return results


@lru_cache(maxsize=128)
def _compile_residual(
    function: Callable[..., Any], robot: Robot, names: tuple[str, ...], **options: Any
) -> Compiled:
    groups = options.get("groups", ())
    point = {name: shape(robot) for name, shape in POINT_SHAPES.items()}
    shapes = {
        "z": twist_shape(robot),
        "p": (len(robot.parameter_names(*groups)) if groups else 0,),
        "direction": (sum(math.prod(point[name]) for name in "xyv"),),
        "wrench": (len(options.get("loaded", ())), 6),
    }
    inputs = {name: shapes[name] for name in names} | point

    def states(robot: Robot, shapes: Mapping[str, tuple[int, ...]]) -> PreciseInputs | None:
        """States of the robot, with its own numbers, at which the program is checked."""
        numbers = list(map(Decimal, robot.parameter_vector(*groups).tolist())) if groups else []
        return input_samples(robot, shapes, derived=lambda *_: {"p": numbers})

    # Minimising so long a program takes longer than it saves.
    return compile_function(function, robot, inputs=inputs, options=options, minimise=False, states=states)


def differentiate(
    robot: Robot,
    point: OperatingPoint,
    z: Array | None = None,
    *,
    external: Mapping[str, Any] | None = None,
    groups: tuple[str, ...] = (),
    active: bool = False,
    physics: Physics = ALL_TERMS,
) -> dict[str, Array]:
    """The residual with M and A, its derivatives and those of A z, with external wrenches.

    Args:
        robot: the robot.
        point: where.
        z: constant (..., n); zero if None.
        external: wrenches on bodies, as in `inverse_dynamics`.
        groups: of the robot's numbers by which is differentiated, too.
        active: whether the actuators' accelerations and the turn of the tangent are asked for.
        physics: what the equations of motion include.

    Returns:
        R (..., n), M, A, margins; "pose" and "twist" (..., n, n) of R, "A_pose" of A z; "active" with
        "active_pose" and "active_twist", "turn"; "parameters" (..., n, numbers) and "A_parameters".
    """
    wrenches = check_wrenches(robot, external)
    options: dict[str, Any] = {"physics": physics}
    wrench = np.zeros((0, 6))
    if wrenches:
        options["loaded"] = tuple(sorted(wrenches))
        wrench = np.stack(np.broadcast_arrays(*(wrenches[body] for body in sorted(wrenches))), axis=-2)
    z = np.zeros(robot.motion.n) if z is None else z
    point_options = options | {"active": True} if active else options
    results = dict(_compile_residual(residual_at_point, robot, ("wrench",), **point_options)(wrench, *point))
    X, Y = results.pop("X"), results.pop("Y")
    along = _compile_residual(residual_along, robot, ("z", "direction", "wrench"), **point_options)
    n = robot.motion.n
    # The 2n directions, a sample each: along the tangent of the pose, then by the entries of the twist.
    batch = X.shape[:-2]
    directions = np.zeros((*batch, 2 * n, X.shape[-2] + Y.shape[-2] + n))
    directions[..., :n, :-n] = np.swapaxes(np.concatenate([X, Y], axis=-2), -1, -2)
    directions[..., n:, -n:] = np.eye(n)
    changes = along(
        z[..., None, :],
        directions,
        wrench[..., None, :, :],
        *(np.asarray(part)[..., None, :] for part in point),
    )
    columns = {name: np.swapaxes(value, -1, -2) for name, value in changes.items()}
    results |= {
        "pose": columns["R"][..., :n],
        "twist": columns["R"][..., n:],
        "A_pose": columns["Az"][..., :n],
    }
    if active:
        results |= {"active_pose": columns["active"][..., :n], "active_twist": columns["active"][..., n:]}
    if groups:
        by_parameters = _compile_residual(
            residual_derivatives, robot, ("z", "p", "wrench"), groups=groups, **options
        )
        results |= by_parameters(z, robot.parameter_vector(*groups), wrench, *point)
    return results


# ---- at the public API


@dataclass(frozen=True, eq=False, repr=False)
class DynamicsDerivatives(Flagged, HasTable):
    """Derivatives of inverse or forward dynamics.

    m is the number of actuators (inverse) or n (forward).

    Attributes:
        kind: "inverse" or "forward".
        value: actuator forces (..., actuators), or accelerations (..., n).
        x: (..., m, n), by translations, small rotations about the base's axes, joints of the platform.
        v: (..., m, n), by the reduced twist.
        a: (..., m, n), by the acceleration; None for forward dynamics.
        tau: (..., m, actuators), by the actuator forces; None for inverse dynamics.
        parameters: (..., m, numbers), by the robot's numbers; None if none were required.
        parameter_names: their names.
        flags: for every state what was found (`Flag`).
        numbers: (..., m, numbers), by the free numbers of the description; None if none were required.
        number_names: their names.
    """

    kind: str
    value: Array
    x: Array
    v: Array
    a: Array | None
    tau: Array | None
    parameters: Array | None
    parameter_names: tuple[str, ...]
    flags: Array
    numbers: Array | None = None
    number_names: tuple[str, ...] = ()


def dynamics_derivatives(
    robot: Robot,
    x: Any,
    v: Any = None,
    w: Any = None,
    *,
    kind: Kind = "inverse",
    parameters: str | Sequence[str] | None = None,
    numbers: str | Sequence[str] | None = None,
    external: Mapping[str, Any] | None = None,
    friction: bool = True,
    smooth: float | None = None,
) -> DynamicsDerivatives:
    """Differentiate inverse or forward dynamics, exactly.

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, in the base frame.
        v: reduced twists (..., n), m/s and rad/s in base axes; zero if None.
        w: what is also given: the acceleration (..., n) for kind "inverse", the actuator forces
            (..., actuators) for kind "forward"; zero if None.
        kind: "inverse" (actuator forces are differentiated) or "forward" (accelerations are).
        parameters: group or groups of the robot's numbers to differentiate by: "inertia", "friction",
            "drive", "payload", "gravity", "geometry". Bodies without any inertia stay without; of the
            geometry entries of rotation matrices count as independent numbers.
        numbers: group or groups of the free numbers (`robot.numbers`) to differentiate by: lengths, angles,
            masses as the description has them, each with all that follows from it.
        external: wrenches [f; n] (..., 6), N and N m in base axes, by name of the body or tool.
        friction: whether friction counts.
        smooth: rate over which Coulomb friction changes its sign smoothly; if None, its derivative is 0 at
            every rate, and not defined at rest.

    Returns:
        Derivatives (..., actuators or n, n) by pose, twist and acceleration or force, in SI units of their
        quotient, e.g. N m/rad.

    Raises:
        KinematicsError: if shapes or names are wrong, or a single state is not finite.
        UnreachableError, SingularError, UnderactuatedError: as in `inverse_dynamics`.
    """
    if kind not in ("inverse", "forward"):
        raise KinematicsError(f"kind is 'inverse' or 'forward', not {kind!r}")
    required = (parameters,) if isinstance(parameters, str) else tuple(parameters or ())
    names = robot.parameter_names(*required) if required else ()
    free = (numbers,) if isinstance(numbers, str) else tuple(numbers or ())
    slopes = robot.numbers.jacobian(*free) if free else np.zeros((len(robot.parameter_names()), 0))
    slices = _group_slices(robot)
    groups = tuple(g for g in GROUPS if g in required or np.any(slopes[slices[g]]))
    options: dict[str, Any] = {"external": external, "physics": Physics(friction, smooth)}
    inverse = kind == "inverse"
    if inverse:
        require_driven(robot, "derivatives of inverse dynamics need")
    forces = None if inverse else check_forces(robot, w)
    point, flags = operating_point(robot, x, v, a=w if inverse else None, tau=forces, **options)
    z = _least_norm_factor(robot, point) if inverse else None
    results = differentiate(robot, point, z, groups=groups, **options)
    for value in results.values():
        value[has_failed(flags)] = np.nan
    by = _inverse_derivatives(results, shifted=z is not None) if inverse else _forward_derivatives(results)
    by |= _number_derivatives(robot, by.pop("parameters", None), groups, required, slopes if free else None)
    return DynamicsDerivatives(
        kind,
        point.tau if inverse else point.a,
        by["pose"],
        by["twist"],
        by["input"] if inverse else None,
        None if inverse else by["input"],
        by.get("parameters"),
        names,
        flags,
        by.get("numbers"),
        robot.numbers.names(*free) if free else (),
    )


_VARIABLES = ("pose", "twist", "parameters")


def _least_norm_factor(robot: Robot, point: OperatingPoint) -> Array | None:
    """Z (..., n) of redundant actuators, whose forces of least norm are tau = A z; None for the others."""
    if len(robot.actuators) <= robot.motion.n:
        return None
    A = compile_native(inverse_jacobian, robot)(point.x, point.y)["J"]
    return np.asarray(np.einsum("...ij,...j->...i", np.linalg.pinv(np.nan_to_num(A)), point.tau))


def _inverse_derivatives(results: Mapping[str, Array], *, shifted: bool) -> dict[str, Array]:
    """Derivatives of the actuator forces by pose, twist, parameters and acceleration: A^T dtau = dR."""
    A = results["A"]
    shifts = {name: results.get(f"A_{name}") if shifted else None for name in _VARIABLES}
    by = {name: force_derivatives(A, results[name], shifts[name]) for name in _VARIABLES if name in results}
    return by | {"input": force_derivatives(A, results["M"], None)}


def _forward_derivatives(results: Mapping[str, Array]) -> dict[str, Array]:
    """Derivatives of the acceleration by pose, twist, parameters and actuator forces: M da = -dR."""
    M = results["M"]
    by = {name: -solve_batch(M, results[name]) for name in _VARIABLES if name in results}
    return by | {"input": solve_batch(M, np.swapaxes(results["A"], -1, -2))}


def _group_slices(robot: Robot) -> dict[str, slice]:
    """Where each group of numbers is in the robot's vector of parameters."""
    ends = np.cumsum([0, *(len(robot.parameter_names(group)) for group in GROUPS)]).tolist()
    return {group: slice(a, b) for group, a, b in zip(GROUPS, ends, ends[1:], strict=False)}


def _number_derivatives(
    robot: Robot,
    results: Array | None,
    groups: tuple[str, ...],
    required: tuple[str, ...],
    slopes: Array | None,
) -> dict[str, Array]:
    """Derivatives by the groups of parameters required, and by free numbers, from those by some groups.

    df/d(number) = sum over parameters of df/d(parameter) d(parameter)/d(number).
    """
    if results is None:
        return {}
    slices = _group_slices(robot)
    sizes = [slices[group].stop - slices[group].start for group in groups]
    parts = dict(zip(groups, np.split(results, np.cumsum(sizes)[:-1], axis=-1), strict=True))
    result = {}
    if required:
        result["parameters"] = np.concatenate([parts[group] for group in required], axis=-1)
    if slopes is not None:
        result["numbers"] = results @ np.concatenate([slopes[slices[group]] for group in groups])
    return result


def force_derivatives(A: Array, dR: Array, shift: Array | None) -> Array:
    """Changes of the actuator forces from those of the residual: A^T dtau = dR, of least norm.

    Of redundant actuators tau = A z, so dtau = dA z + A dz, with dA z the shift.
    """
    A_T = np.swapaxes(A, -1, -2)
    if A.shape[-2] == A.shape[-1]:
        return solve_batch(A_T, dR)
    if shift is None:
        return np.asarray(A @ solve_batch(A_T @ A, dR))
    return np.asarray(shift + A @ solve_batch(A_T @ A, dR - A_T @ shift))
