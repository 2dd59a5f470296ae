"""Compare a robot with the same robot in other engines, and the report of it.

The engine's side is made from the description and from the engine alone. Of nacelle's it takes the state at
which to look: coordinates of the tree's joints, its rates and their derivatives. These are then computed
again from the engine's closures, so they are compared too. Projection on the closures

    A^T Gamma = G^T tau,    G^T M G a = A^T Gamma - G^T (tau at a = 0)

uses the engine's forces tau and mass matrix M of the tree, and G from its closures.

The report of a comparison: agreement of every quantity with every engine, and the worst state.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.shapes import twist_scales
from nacelle.kinematics.underactuated import coordinate_indices, undriven_coordinates
from nacelle.model.platform import AXES
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.progress import task
from nacelle.results import Plottable
from nacelle.spatial.scalar import Array
from nacelle.verify import ours
from nacelle.verify.engine import ENGINES, Engine, TreeSnapshot, TreeState, VerifyError, engine_builder
from nacelle.verify.loops import (
    AxisMotion,
    ClosureAtState,
    Efforts,
    Projection,
    closure_constraint,
    closure_projection,
    coupling_constraint,
    independent_rates,
    joint_efforts,
    tree_axes,
)
from nacelle.verify.states import RandomStates, random_states


@dataclass(frozen=True)
class Quantity:
    """How well one quantity agrees.

    Attributes:
        name: of the quantity.
        error: largest relative error over the states: largest difference over the largest entry.
        tolerance: what is allowed.
        state: number of the state with the largest error.
    """

    name: str
    error: float
    tolerance: float
    state: int

    @property
    def ok(self) -> bool:
        """Whether it agrees; an error that is no number does not."""
        return bool(self.error <= self.tolerance)


@dataclass(frozen=True)
class EngineReport:
    """The agreement with one engine.

    Attributes:
        engine: its name.
        version: its version.
        quantities: what was compared.
        notes: what was left out, and why.
    """

    engine: str
    version: str
    quantities: tuple[Quantity, ...]
    notes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether everything agrees."""
        return all(quantity.ok for quantity in self.quantities)

    def __getitem__(self, name: str) -> Quantity:
        """A quantity by name."""
        return {quantity.name: quantity for quantity in self.quantities}[name]


@dataclass(frozen=True, eq=False)
class WorstState:
    """The state where the agreement is worst, measured by what is allowed.

    Attributes:
        engine: the engine.
        quantity: the quantity.
        number: of the state.
        x: reduced pose.
        v: reduced twist.
        a: its derivative.
        condition: condition number of the scaled Jacobian.
    """

    engine: str
    quantity: str
    number: int
    x: Array
    v: Array
    a: Array
    condition: float


@dataclass(frozen=True, eq=False)
class Report(Plottable):
    """What other engines say of a robot.

    Attributes:
        robot: name of the robot.
        hash: of the robot.
        states: number of states compared.
        seed: of the states.
        rejected: how many poses were left out, by reason.
        engines: the agreement with every engine.
        worst: the state where it is worst.
        condition: the largest condition number of the scaled Jacobian.
    """

    robot: str
    hash: str
    states: int
    seed: int
    rejected: dict[str, int]
    engines: tuple[EngineReport, ...]
    worst: WorstState
    condition: float

    @property
    def ok(self) -> bool:
        """Whether everything agrees with every engine."""
        return all(engine.ok for engine in self.engines)

    def __getitem__(self, engine: str) -> EngineReport:
        """The agreement with an engine by name."""
        return {report.engine: report for report in self.engines}[engine]

    def text(self) -> str:
        """The report for a terminal."""
        left = ", ".join(f"{count} {reason}" for reason, count in self.rejected.items()) or "none"
        lines = [
            f"{self.robot}  {self.hash[:16]}",
            f"{self.states} states (seed {self.seed}), scaled condition up to {self.condition:.3g}; "
            f"poses left out: {left}",
            "",
        ]
        names = list(dict.fromkeys(q.name for engine in self.engines for q in engine.quantities))
        wide = max(map(len, names))
        heads = [f"{engine.engine} {engine.version}" for engine in self.engines]
        lines.append(f"{'largest relative error':{wide}}  {'allowed':>8}" + _table_cells(heads))
        for name in names:
            quantities = [_quantity_named(engine, name) for engine in self.engines]
            allowed = next(q.tolerance for q in quantities if q is not None)
            cells = ["-" if q is None else f"{q.error:.1e}{'' if q.ok else ' FAILS'}" for q in quantities]
            lines.append(f"{name:{wide}}  {allowed:>8.0e}" + _table_cells(cells))
        worst = self.worst
        lines += [
            "",
            f"worst: {worst.quantity} with {worst.engine} in state {worst.number}, "
            f"scaled condition {worst.condition:.3g}",
            *(
                f"  {name} = {_vector_text(value)}"
                for name, value in (("x", worst.x), ("v", worst.v), ("a", worst.a))
            ),
        ]
        for engine in self.engines:
            lines += [f"{engine.engine}: {note}" for note in engine.notes]
        lines.append("agrees" if self.ok else "DOES NOT AGREE")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data, for `--json`."""
        worst = self.worst
        motion = {name: getattr(worst, name).tolist() for name in ("x", "v", "a")}
        return {
            **vars(self),
            "ok": self.ok,
            "engines": [
                {
                    **vars(engine),
                    "ok": engine.ok,
                    "quantities": [
                        {**vars(q), "error": q.error if math.isfinite(q.error) else None, "ok": q.ok}
                        for q in engine.quantities
                    ],
                    "notes": list(engine.notes),
                }
                for engine in self.engines
            ],
            "worst": {
                "engine": worst.engine,
                "quantity": worst.quantity,
                "state": worst.number,
                **motion,
                "condition": worst.condition,
            },
        }


def _quantity_named(engine: EngineReport, name: str) -> Quantity | None:
    return next((q for q in engine.quantities if q.name == name), None)


def _table_cells(texts: list[str]) -> str:
    return "".join(f"  {text:>18}" for text in texts)


def _vector_text(values: Array) -> str:
    return "[" + ", ".join(repr(float(value)) for value in values) + "]"


# ---- compare a robot with the same robot in other engines


KINEMATICS = 1e-11
DYNAMICS = 1e-9


def verify(
    robot: Robot, against: str | Iterable[str] = ("pinocchio", "mujoco"), states: int = 20, seed: int = 0
) -> Report:
    """Compare kinematics, inverse and forward dynamics and energies with other engines at random states.

    Args:
        robot: the robot.
        against: engines: "pinocchio", "mujoco", several of them, or "all".
        states: number of states.
        seed: of the states.

    Raises:
        VerifyError: if there is no such engine, its package is missing, or the robot cannot be compared.
        AssemblyError: if the robot's loops do not close.
        KinematicsError: if its motion does not fit.
    """
    return compare(robot, robot, against, states, seed)


def compare(
    robot: Robot, engine_robot: Robot, against: str | Iterable[str], states: int, seed: int
) -> Report:
    """Compare a robot with another one in the engines; the same one, but for tests of the comparison."""
    names = _engine_names(against)
    builders = [engine_builder(name) for name in names]
    if states < 1:
        raise VerifyError(f"a comparison needs at least one state, not {states}")
    if seed < 0:
        raise VerifyError(f"a seed is zero or above, not {seed}")
    mechanism_of(robot)
    with task(f"building {robot.name} in {', '.join(names)}"):
        engines = [build(engine_robot) for build in builders]
    with task("sampling random states"):
        samples = random_states(robot, states, seed)
    with task("computing kinematics"):
        kinematics = ours.compute_kinematics(robot, samples)
    with task("computing dynamics"):
        dynamics = ours.compute_dynamics(robot, samples)
    reports = []
    for engine in engines:
        errors = _Errors()
        with task(f"comparing with {engine.name}") as report:
            for k in range(states):
                view = _engine_view(engine, engine_robot, kinematics.tree_state(k, samples))
                _compare_kinematics(errors, k, view, engine_robot, kinematics, samples)
                _compare_dynamics(errors, k, view, engine_robot, engine, dynamics)
                report((k + 1) / states)
        notes = list(engine.notes)
        if errors.lacks_inertia:
            notes.append("forward dynamics is left out: the robot has no inertia in some direction")
        reports.append(EngineReport(engine.name, engine.version, errors.quantities(), tuple(notes)))
    return Report(
        robot=robot.name,
        hash=robot.hash,
        states=states,
        seed=seed,
        rejected=samples.rejected,
        engines=tuple(reports),
        worst=_worst_state(reports, samples),
        condition=float(np.max(samples.condition)),
    )


def _engine_names(against: str | Iterable[str]) -> list[str]:
    names = [against] if isinstance(against, str) else list(against)
    if "all" in names:
        return list(ENGINES)
    if not names:
        raise VerifyError(f"no engine is named; there are {', '.join(ENGINES)}")
    return list(dict.fromkeys(names))


def _worst_state(reports: Sequence[EngineReport], samples: RandomStates) -> WorstState:
    def badness(quantity: Quantity) -> float:
        return quantity.error / quantity.tolerance if np.isfinite(quantity.error) else np.inf

    engine, quantity = max(
        ((report.engine, quantity) for report in reports for quantity in report.quantities),
        key=lambda pair: badness(pair[1]),
    )
    k = quantity.state
    return WorstState(
        engine=engine,
        quantity=quantity.name,
        number=k,
        x=samples.x[k],
        v=samples.v[k],
        a=samples.a[k],
        condition=float(samples.condition[k]),
    )


# ---------------------------------------------------------------------------------- the engine's side


@dataclass(frozen=True, eq=False)
class _EngineView:
    """A state as an engine sees it: the tree, its loops, the axes of all joints, and the projection."""

    state: TreeState
    now: TreeSnapshot
    loops: tuple[ClosureAtState, ...]
    axes: tuple[tuple[AxisMotion, ...], ...]
    projection: Projection

    def actuator_rows(self, robot: Robot) -> Array:
        """Rates of the actuators over the rates of the tree."""
        rows = [self.axes[actuator.joint][0].rows[0] for actuator in robot.actuators]
        return np.array(rows).reshape(len(rows), len(self.state.u))


def _engine_view(engine: Engine, robot: Robot, state: TreeState) -> _EngineView:
    now = engine.at(state)
    loops = tuple(
        coupling_constraint(robot, joint, state.q_tree)
        if joint.is_coupling
        else closure_constraint(robot, joint, now, state.u)
        for joint in robot.closures
    )
    in_tree = (tree_axes(robot, j, state.q_tree) for j in range(robot.tree))
    axes = (*in_tree, *(entry.axes for entry in loops))
    return _EngineView(state, now, loops, axes, closure_projection(robot, now, loops, state.u))


# ---------------------------------------------------------------------------------- the comparison


class _Errors:
    """The largest errors, collected state by state."""

    def __init__(self) -> None:
        self._quantities: dict[str, Quantity] = {}
        self.lacks_inertia = False

    def add(
        self,
        name: str,
        k: int,
        tolerance: float,
        value: object,
        reference: object,
        scale: float | None = None,
    ) -> None:
        """Compare two sets of numbers: the largest difference over the largest entry, or over a scale."""
        a, b = np.asarray(value, dtype=float), np.asarray(reference, dtype=float)
        if a.size == 0:
            return
        top = float(np.max(np.abs(b))) if scale is None else scale
        with np.errstate(all="ignore"):
            error = float(np.max(np.abs(a - b))) / (top if top > 1e-300 else 1.0)
        error = error if np.isfinite(error) else np.inf
        before = self._quantities.get(name)
        if before is None or error > before.error:
            self._quantities[name] = Quantity(name, error, tolerance, k)

    def quantities(self) -> tuple[Quantity, ...]:
        """All of them, in the order in which they came."""
        return tuple(self._quantities.values())


def _compare_kinematics(
    errors: _Errors, k: int, view: _EngineView, robot: Robot, our: ours.Kinematics, samples: RandomStates
) -> None:
    now, projected = view.now, view.projection

    def add(name: str, value: object, reference: object, scale: float | None = None) -> None:
        errors.add(name, k, KINEMATICS, value, reference, scale)

    add("pose from x", *_platform_coordinates(robot, view.state, samples.x[k]), 1.0)
    gaps = np.concatenate([np.zeros(1), *(entry.gap for entry in view.loops)])
    add("gaps of the closures", gaps, np.zeros(gaps.shape), 1.0)
    add("orientations of bodies", our.R[k], now.R)
    add("positions of bodies", our.p[k], now.p)
    add("twists of bodies", our.twist[k], now.twist)
    add("accelerations of bodies", our.acceleration[k], now.acceleration)
    add("rates from the twist", our.U[k], projected.G)
    add("rates of joints", our.u[k], projected.G @ samples.v[k])
    u_dot = projected.G @ samples.a[k] + projected.bias
    add("accelerations of joints", our.u_dot[k], u_dot)
    axes = [view.axes[actuator.joint][0] for actuator in robot.actuators]
    revolute = np.array(robot.revolute_actuators)
    apart = our.actuators[0][k] - np.array([axis.coordinate for axis in axes])
    apart = np.where(revolute, np.remainder(apart + np.pi, 2.0 * np.pi) - np.pi, apart / robot.size)
    add("coordinates of actuators", apart, np.zeros(len(axes)), 1.0)
    rows = view.actuator_rows(robot)
    add("Jacobian of actuators", our.A[k], rows @ projected.G)
    add("rates of actuators", our.actuators[1][k], rows @ projected.G @ samples.v[k])
    bias = np.array([axis.bias[0] for axis in axes])
    add("accelerations of actuators", our.actuators[2][k], rows @ u_dot + bias)


def _platform_coordinates(robot: Robot, state: TreeState, x: Array) -> tuple[Array, Array]:
    """What x says of the pose, and what the platform and the platform's joints show; lengths over the size.

    One or two rotations are left out: their convention is nacelle's own.
    """
    from scipy.spatial.transform import Rotation

    layout = layout_of(robot.motion)
    from_x: list[float] = []
    from_tree: list[float] = []
    for name in robot.motion.coordinates:
        if name in AXES[:3]:
            from_x.append(x[layout.x_index(name)] / robot.size)
            from_tree.append(state.platform.p[AXES.index(name)] / robot.size)
        elif name in robot.motion.joint_names:
            from_x.append(x[layout.x_index(name)])
            from_tree.append(state.q_tree[robot.q_slices[robot.joint(name)].start])
    if layout.quaternion is not None:
        from_x += Rotation.from_quat(x[layout.quaternion]).as_matrix().ravel().tolist()
        from_tree += state.platform.R.ravel().tolist()
    return np.array(from_x), np.array(from_tree)


def _compare_dynamics(
    errors: _Errors, k: int, view: _EngineView, robot: Robot, engine: Engine, our: ours.Dynamics
) -> None:
    now, G, state = view.now, view.projection.G, view.state
    extra = joint_efforts(robot, now, view.axes, state.u, engine.includes_rotors)

    def add(name: str, value: object, reference: object, scale: float | None = None) -> None:
        errors.add(name, k, DYNAMICS, value, reference, scale)

    A = view.actuator_rows(robot) @ G
    joint_forces = extra.friction + extra.springs + extra.rotor_bias
    force = now.force + extra.rotor_matrix @ state.u_dot + joint_forces
    tree = now.mass_matrix + extra.rotor_matrix
    M = G.T @ tree @ G
    # For more actuators than motions the forces of least norm, as in nacelle; accelerations of coordinates
    # that nothing drives are unknown as well.
    free = list(coordinate_indices(robot, undriven_coordinates(robot)))
    change = np.linalg.lstsq(np.hstack([A.T, -M[:, free]]), G.T @ force, rcond=None)[0]
    add("inverse dynamics", our.force[k], change[: len(A)])
    if free:
        prescribed = state.u_dot[independent_rates(robot)][free]
        add("free accelerations", our.acceleration[k][free], prescribed + change[len(A) :])
    add("mass matrix", our.mass_matrix[k], M)
    unit = twist_scales(robot)
    values = np.linalg.eigvalsh(M * np.outer(unit, unit))
    if values[0] > 1e-12 * values[-1]:
        h = G.T @ (now.bias + tree @ view.projection.bias + joint_forces)
        a = np.linalg.solve(M, A.T @ our.tau[k] - h)
        add("forward dynamics", our.forward[k], a)
        by_engine = engine.closed_loop(state, _applied_forces(view, robot, extra, our.tau[k]))
        if by_engine is not None:
            add("forward dynamics, own solver", our.forward[k], by_engine[independent_rates(robot)])
    else:
        errors.lacks_inertia = True
    kinetic = now.kinetic + 0.5 * float(state.u @ extra.rotor_matrix @ state.u)
    add("kinetic energy", our.kinetic[k], kinetic)
    potential = now.potential + extra.spring_energy
    scale = max(abs(potential), now.heavy, extra.spring_energy)
    add("potential energy", our.potential[k], potential, scale)
    add("power of friction", our.dissipation[k], extra.dissipation)


def _applied_forces(view: _EngineView, robot: Robot, extra: Efforts, tau: Array) -> Array:
    """Forces along the rates of the tree: actuators less friction and springs, and external wrenches."""
    outside = np.einsum("bij,bi->j", view.now.jacobian, view.state.external)
    return np.asarray(view.actuator_rows(robot).T @ tau - extra.friction - extra.springs + outside)
