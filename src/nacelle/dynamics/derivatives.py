"""Exact derivatives of the dynamics, from the traced program.

The physics is traced and differentiated on its graph, where a solve is one node; the result is compiled and
kept like any other function. With respect to the pose derivatives are along the tangent,

    d f / d pose [:, k]  =  d/de f(x (+) e e_k),

n columns for the n entries of the reduced twist: translations, small rotations about the base's axes, joints
of the nacelle. What iteration finds moves with the pose, y = y(x): dy follows from the closing equations (the
implicit function theorem), and that is what the joint rates say, since u = U v.

One program serves all: the balance R = F(x, v, a) - A^T tau - L(x) along the reduced twist, A = J_r^-1, L
what external wrenches give (constant in base axes, so it changes with the pose alone). Where R = 0,

    inverse   A^T dtau = dR        forward   M da = -dR        a held pose   dR/dpose e = -R.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from nacelle.compile import Compiled, compile_function
from nacelle.dynamics.external import along_twist, checked_wrenches
from nacelle.dynamics.formulations.bodies import mass_matrix
from nacelle.dynamics.formulations.tree import generalised_force
from nacelle.dynamics.forward import forward_dynamics
from nacelle.dynamics.inverse import inverse_dynamics, rates_of
from nacelle.dynamics.settings import Settings
from nacelle.dynamics.state import state_at
from nacelle.errors import KinematicsError
from nacelle.kinematics.actuation import actuator_drifts, actuator_rows
from nacelle.kinematics.flags import failed
from nacelle.kinematics.functions import closing_step, inverse_jacobian
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.motion import solved
from nacelle.kinematics.native import native
from nacelle.kinematics.shapes import of_actuators, of_pose, of_twist, of_unknowns
from nacelle.kinematics.tree.configuration import configuration
from nacelle.kinematics.tree.rates import equations, respond, selections
from nacelle.model.joint import Primitive
from nacelle.model.numbers.parameters import GROUPS
from nacelle.model.robot import Robot
from nacelle.program.derivative import forward, reverse
from nacelle.program.graph import Graph
from nacelle.program.symbol import Symbol, node_of
from nacelle.spatial.physics import physics
from nacelle.spatial.rotation import quat_product, skew
from nacelle.spatial.scalar import Array, Scalar, pack
from nacelle.spatial.solve import solve, solve_batch

Kind = Literal["inverse", "forward"]


# ---- the tangent


def coordinate_rates(robot: Robot, mechanism: Mechanism, x: Array, y: Array) -> tuple[Array, Array]:
    """All rates u (rates, n) and those of the chart's dependent numbers (d, n) at unit rates of x.

    For the quaternion these are the components of the angular velocity. Without tilts beside parasitic
    motion they are the rates at unit entries of the reduced twist.
    """
    now = configuration(robot, mechanism, x, y)
    given, dependent = selections(mechanism)
    size = mechanism.chart_size
    if mechanism.parasitic:
        m = robot.platform_nv
        rest = y[:size]
        own = mechanism.chart.dependent_twists(x, rest)
        joints = [k for k, rate in enumerate(mechanism.dependent) if rate >= m]
        tail = np.zeros((mechanism.nw - m, size))
        dependent = np.concatenate([np.concatenate([own, tail]), dependent[:, joints]], axis=1)
        given = np.concatenate([mechanism.chart.twists(x, rest), given[m:]])
    found = respond(mechanism, equations(robot, mechanism, now.motion), given, dependent)
    return found.u, found.dependent[:size]


def has_tilts(mechanism: Mechanism) -> bool:
    """Whether the rates of x are not the reduced twist: tilts as plain numbers beside parasitic motion."""
    return mechanism.parasitic and 0 < len(mechanism.chart.turns) < 3


@physics(x=of_pose, y=of_unknowns)
def tangent(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """How x (nx, n) and y (ny, n) change along the entries of the reduced twist; and T, v = T x'."""
    mechanism, layout, n = mechanism_of(robot), mechanism_of(robot).layout, robot.motion.n
    T: Array = np.eye(n)
    inverse: Array = np.eye(n)
    changes: list[Array] = []
    if mechanism.ny or has_tilts(mechanism):
        u, rest = coordinate_rates(robot, mechanism, x, y)
        if has_tilts(mechanism):
            T = np.stack([u[rate] for rate in mechanism.independent])
            inverse = solve(T, np.eye(n))
        changes = [*(rest @ inverse), *_joint_changes(robot, mechanism, y, u @ inverse)]
    rows: list[Array] = []
    for name in layout.x_names:
        if layout.quaternion is not None and name == "qx":
            quat, w = x[layout.quaternion], np.eye(n)[layout.angular]
            turned = [0.5 * quat_product(pack([*column, 0.0]), quat) for column in w.T]
            rows += list(np.stack(turned, axis=1))
        elif layout.quaternion is None or name not in ("qy", "qz", "qw"):
            rows.append(inverse[layout.v_index(name)])
    return {"x": np.stack(rows), "y": np.stack(changes) if changes else np.zeros((0, n)), "T": T}


def _joint_changes(robot: Robot, mechanism: Mechanism, y: Array, u: Array) -> list[Array]:
    """Changes of the iterated joints' coordinates, rows (n,), at rates u (rates, n) of the tree."""
    changes: list[Array] = []
    start = mechanism.chart_size
    for j in mechanism.iterated_joints:
        rate = robot.platform_nv + robot.v_slices[j].start
        for primitive in robot.joints[j].primitives:
            if primitive is Primitive.BALL:
                quat = y[start : start + 4]
                turned = [0.5 * quat_product(quat, pack([*w, 0.0])) for w in u[rate : rate + 3].T]
                changes += list(np.stack(turned, axis=1))
            else:
                changes.append(u[rate])
            start, rate = start + primitive.nq, rate + primitive.nv
    return changes


# ---- derivatives of traced values


class Tape:
    """Derivatives on the graph of a trace: of values, by arrays of inputs or along the tangent of the pose.

    Attributes:
        seeds: for each entry of the reduced twist, how the inputs x and y move along it.
    """

    def __init__(self, robot: Robot, x: Array, y: Array) -> None:
        """Start where x is an array of traced inputs."""
        self.graph: Graph = x[0].graph
        self.robot, self.x, self.y = robot, x, y
        moves = tangent(robot, x, y)
        self.T, self.X = moves["T"], moves["x"]
        columns = np.concatenate([moves["x"], moves["y"]]).T
        self.seeds = [self.seed(np.concatenate([x, y]), column) for column in columns]

    def seed(self, inputs: Array, direction: Array) -> dict[int, int]:
        """A direction in the space of some inputs."""
        pairs = zip(inputs, (node_of(self.graph, entry) for entry in direction), strict=True)
        return {symbol.index: node for symbol, node in pairs if self.graph.values[node] != 0.0}

    def along(self, value: Array, seeds: Sequence[Mapping[int, int]]) -> Array:
        """Derivatives of an array along directions, a last dimension."""
        nodes = [node_of(self.graph, entry) for entry in np.ravel(value)]
        columns = [forward(self.graph, nodes, dict(seed)) for seed in seeds]
        rows = [[self._symbol(column[k]) for column in columns] for k in range(len(nodes))]
        return np.array(rows, dtype=object).reshape(*np.shape(value), len(seeds))

    def by_pose(self, value: Array) -> Array:
        """Derivatives along the tangent of the pose."""
        return self.along(value, self.seeds)

    def by(self, value: Array, inputs: Array) -> Array:
        """Derivatives by an array of inputs."""
        return self.along(value, [self.seed(inputs[k : k + 1], np.ones(1)) for k in range(len(inputs))])

    def by_parameters(self, value: Array, p: Array, geometry: bool) -> Array:
        """Derivatives by many inputs, row by row; what iteration finds moves with the geometry."""
        direct = self._rows(value, np.concatenate([p, self.y]))
        J = direct[:, : len(p)]
        if geometry and len(self.y):
            # A step of Newton is -r_y^-1 r: where the loops are closed its derivative by p is dy/dp.
            step = closing_step(self.robot, self.y, self.x)["dy"]
            J = J + direct[:, len(p) :] @ self._rows(step, p)
        return np.asarray(J)

    def turn(self, v: Array) -> Array:
        """K (n, n): along a motion the tangent turns, de/dt = dv + K e.

        For rotation matrices K e = w x e; for tilts it follows from v = T x'.
        """
        n, layout = len(v), mechanism_of(self.robot).layout
        K: Array = np.zeros((n, n))
        if layout.angular is not None:
            K = K.astype(object)
            K[layout.angular, layout.angular] = skew(v[layout.angular])
        elif has_tilts(mechanism_of(self.robot)):
            slopes = self.by_pose(self.T)
            rate = self.X @ v
            K = (slopes @ v) @ self.X - np.stack([slopes[:, :, k] @ rate for k in range(n)], axis=1)
        return K

    def _rows(self, value: Array, inputs: Array) -> Array:
        one = self.graph.const(1.0)
        wanted = [symbol.index for symbol in inputs]
        rows = [reverse(self.graph, {node_of(self.graph, entry): one}, wanted) for entry in value]
        return np.array([[self._symbol(node) for node in row] for row in rows], dtype=object)

    def _symbol(self, node: int | None) -> Scalar:
        return 0.0 if node is None else Symbol(self.graph, node)


# ---- what is compiled


def balance_derivatives(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    a: Array,
    tau: Array,
    z: Array,
    p: Array,
    wrench: Array,
    *,
    groups: tuple[str, ...] = (),
    friction: bool = True,
    smooth: float | None = None,
    loaded: tuple[int, ...] = (),
    active: bool = False,
) -> dict[str, Array]:
    """The balance R = F - A^T tau - L with M, A and its derivatives, and the derivatives of A z; traced only.

    `wrench` (k, 6) acts from outside on the k `loaded` bodies or tools. With `active` the derivatives of the
    actuators' accelerations A a + drift, and the turn of the tangent.
    """
    if groups:
        robot = robot.with_symbols(p, *groups)
    state = state_at(robot, x, y, v)
    A = actuator_rows(robot, state.now.motion) @ state.moving.U
    R = generalised_force(state, a, Settings(friction, smooth)) - A.T @ tau
    R = R - along_twist(state, dict(zip(loaded, wrench, strict=True)))
    tape = Tape(robot, x, y)
    found = {"R": R, "M": mass_matrix(state), "A": A, "gates": state.margins()}
    found |= {"pose": tape.by_pose(R), "twist": tape.by(R, v), "A_pose": tape.by_pose(A @ z)}
    if groups:
        geometry = "geometry" in groups
        found["parameters"] = tape.by_parameters(R, p, geometry)
        if geometry:
            found["A_parameters"] = tape.by_parameters(A @ z, p, geometry)
    if active:
        drift = actuator_drifts(robot, state.now.motion, state.moving.velocity, state.moving.drift)
        rates = A @ a + pack(drift)
        found |= {"active": rates, "active_pose": tape.by_pose(rates), "active_twist": tape.by(rates, v)}
        found["turn"] = tape.turn(v)
    return found


@lru_cache(maxsize=128)
def _compiled(robot: Robot, options: tuple[tuple[str, Any], ...]) -> Compiled:
    chosen = dict(options)
    groups = chosen.get("groups", ())
    shapes = {
        "x": of_pose(robot),
        "y": of_unknowns(robot),
        "v": of_twist(robot),
        "a": of_twist(robot),
        "tau": of_actuators(robot),
        "z": of_twist(robot),
        "p": (len(robot.parameter_names(*groups)) if groups else 0,),
        "wrench": (len(chosen.get("loaded", ())), 6),
    }
    # Minimising so long a program takes longer than it saves.
    return compile_function(balance_derivatives, robot, inputs=shapes, options=chosen, minimised=False)


def differentiate(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    a: Array,
    tau: Array,
    z: Array | None = None,
    *,
    external: Mapping[str, Any] | None = None,
    **options: Any,
) -> dict[str, Array]:
    """Run `balance_derivatives`, with external wrenches as in `inverse_dynamics`."""
    groups = options.get("groups", ())
    p = robot.parameter_vector(*groups) if groups else np.zeros(0)
    given = checked_wrenches(robot, external)
    options["loaded"] = tuple(sorted(given))
    wrench = np.zeros((0, 6))
    if given:
        wrench = np.stack(np.broadcast_arrays(*(given[body] for body in sorted(given))), axis=-2)
    arrays = (x, y, v, a, tau, np.zeros(robot.motion.n) if z is None else z, p, wrench)
    key = tuple((name, value) for name, value in options.items() if value is not None and value != ())
    return dict(_compiled(robot, key)(*arrays))


# ---- the public API


@dataclass(frozen=True, eq=False)
class DynamicsDerivatives:
    """Derivatives of inverse or forward dynamics.

    m is the number of actuators (inverse) or n (forward).

    Attributes:
        kind: "inverse" or "forward".
        value: actuator forces (..., actuators), or accelerations (..., n).
        pose: (..., m, n), by translations, small rotations about the base's axes, joints of the nacelle.
        twist: (..., m, n), by the reduced twist.
        acceleration: (..., m, n), by the acceleration; None for forward dynamics.
        force: (..., m, actuators), by the actuator forces; None for inverse dynamics.
        parameters: (..., m, numbers), by the robot's numbers; None if none were asked for.
        parameter_names: their names.
        flags: for every state what was found (`Flag`).
        numbers: (..., m, numbers), by the free numbers of the description; None if none were asked for.
        number_names: their names.
    """

    kind: str
    value: Array
    pose: Array
    twist: Array
    acceleration: Array | None
    force: Array | None
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
        x: reduced poses (..., nx).
        v: reduced twists (..., n); zero if None.
        w: what is given beside: the acceleration (..., n) for kind "inverse", the actuator forces
            (..., actuators) for kind "forward"; zero if None.
        kind: "inverse" (actuator forces are differentiated) or "forward" (accelerations are).
        parameters: group or groups of the robot's numbers to differentiate by: "inertia", "friction",
            "drive", "payload", "gravity", "geometry". Bodies without any inertia stay without; of the
            geometry entries of rotation matrices count as independent numbers.
        numbers: group or groups of the free numbers (`robot.numbers`) to differentiate by: lengths, angles,
            masses as the description has them, each with all that follows from it.
        external: wrenches on bodies, as in `inverse_dynamics`; constant in base axes, whatever the pose.
        friction: whether friction counts.
        smooth: rate over which Coulomb friction changes its sign smoothly; if None, its derivative is 0 at
            every rate, and at rest there is none.

    Raises:
        KinematicsError: if shapes or names are wrong, or a single state is not finite.
        UnreachableError, SingularError: as in `inverse_dynamics`.
    """
    if kind not in ("inverse", "forward"):
        raise KinematicsError(f"kind is 'inverse' or 'forward', not {kind!r}")
    asked = (parameters,) if isinstance(parameters, str) else tuple(parameters or ())
    names = robot.parameter_names(*asked) if asked else ()
    free = (numbers,) if isinstance(numbers, str) else tuple(numbers or ())
    slopes = robot.numbers.jacobian(*free) if free else np.zeros((len(robot.parameter_names()), 0))
    places = _places(robot)
    groups = tuple(g for g in GROUPS if g in asked or np.any(slopes[places[g]]))
    options = {"smooth": None} | Settings(friction, smooth).options
    z = None
    if kind == "inverse":
        v, a = rates_of(robot, v, w)
        balanced = inverse_dynamics(robot, x, v, a, external=external, friction=friction, smooth=smooth)
        poses, y, tau, flags = balanced.x, balanced.y, balanced.force, balanced.flags
        if len(robot.actuators) > robot.motion.n:
            # The forces of least norm are A z.
            A = native(inverse_jacobian, robot)(poses, y)["J"]
            z = np.einsum("...ij,...j->...i", np.linalg.pinv(np.nan_to_num(A)), tau)
    else:
        v, _ = rates_of(robot, v, None)
        tau = checked_forces(robot, w)
        moved = forward_dynamics(robot, x, v, tau, external=external, friction=friction, smooth=smooth)
        a, flags = moved.acceleration, moved.flags
        poses, y, _ = solved(robot, x, v, tau)
    found = differentiate(robot, poses, y, v, a, tau, z, external=external, groups=groups, **options)
    bad = failed(flags)
    for value in found.values():
        value[bad] = np.nan
    A, M = found["A"], found["M"]
    wanted = [name for name in ("pose", "twist", "parameters") if name in found]
    by: dict[str, Array]
    if kind == "inverse":
        shifts = {} if z is None else {"pose": "A_pose", "parameters": "A_parameters"}
        by = {name: balanced_forces(A, found[name], found.get(shifts.get(name, ""))) for name in wanted}
        by["input"] = balanced_forces(A, M, None)
    else:
        by = {name: -solve_batch(M, found[name]) for name in wanted}
        by["input"] = solve_batch(M, np.swapaxes(A, -1, -2))
    by |= _by_numbers(robot, by.pop("parameters", None), groups, asked, slopes if free else None)
    return DynamicsDerivatives(
        kind,
        tau if kind == "inverse" else a,
        by["pose"],
        by["twist"],
        by["input"] if kind == "inverse" else None,
        by["input"] if kind == "forward" else None,
        by.get("parameters"),
        names,
        flags,
        by.get("numbers"),
        robot.numbers.names(*free) if free else (),
    )


def _places(robot: Robot) -> dict[str, slice]:
    """Where each group of numbers is in the robot's vector of parameters."""
    ends = np.cumsum([0, *(len(robot.parameter_names(group)) for group in GROUPS)]).tolist()
    return {group: slice(a, b) for group, a, b in zip(GROUPS, ends, ends[1:], strict=False)}


def _by_numbers(
    robot: Robot, found: Array | None, groups: tuple[str, ...], asked: tuple[str, ...], slopes: Array | None
) -> dict[str, Array]:
    """Derivatives by the groups of parameters asked for, and by free numbers, from those by some groups.

    df/d(number) = sum over parameters of df/d(parameter) d(parameter)/d(number).
    """
    if found is None:
        return {}
    places = _places(robot)
    sizes = [places[group].stop - places[group].start for group in groups]
    parts = dict(zip(groups, np.split(found, np.cumsum(sizes)[:-1], axis=-1), strict=True))
    result = {}
    if asked:
        result["parameters"] = np.concatenate([parts[group] for group in asked], axis=-1)
    if slopes is not None:
        result["numbers"] = found @ np.concatenate([slopes[places[group]] for group in groups])
    return result


def balanced_forces(A: Array, dR: Array, shift: Array | None) -> Array:
    """Changes of the actuator forces from those of the balance: A^T dtau = dR, of least norm.

    Of redundant actuators tau = A z, so dtau = dA z + A dz, with dA z the shift.
    """
    A_T = np.swapaxes(A, -1, -2)
    if A.shape[-2] == A.shape[-1]:
        return solve_batch(A_T, dR)
    if shift is None:
        return np.asarray(A @ solve_batch(A_T @ A, dR))
    return np.asarray(shift + A @ solve_batch(A_T @ A, dR - A_T @ shift))


def checked_forces(robot: Robot, tau: Any) -> Array:
    """Take actuator forces (..., actuators); zero if None.

    Raises:
        KinematicsError: if the shape is wrong.
    """
    count = len(robot.actuators)
    forces = np.zeros(count) if tau is None else np.asarray(tau, dtype=float)
    if forces.shape[-1:] != (count,):
        raise KinematicsError(
            f"{robot.name} has {count} actuators, so tau has the shape (..., {count}), got {forces.shape}"
        )
    return forces
