"""A robot with flexible links as a plant for `simulate`.

The state is s = [p; y]: positions of the platform, the joints and the elastic coordinates, and the independent
rates y = [q_a'; others]. Inputs are the actuators' forces, or, where their motion is prescribed, their
accelerations; the power is then that of the forces that the motion requires. A feedback measures what encoders
see: coordinates q and rates qd of the actuated joints, which with flexible links are not those of the rigid
robot at the platform's pose.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from nacelle.dynamics.settings import Settings
from nacelle.elastic.dynamics import positions
from nacelle.elastic.dynamics.flow import elastic_flow, state_size
from nacelle.elastic.dynamics.models import elastic_closing, elastic_energies, elastic_inverse
from nacelle.elastic.dynamics.plan import plan_of, undeformed
from nacelle.errors import KinematicsError
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import native
from nacelle.kinematics.pose_input import checked_poses, checked_rates
from nacelle.kinematics.tree.configuration import configuration
from nacelle.kinematics.tree.rates import rate_map
from nacelle.model.robot import Robot
from nacelle.simulation.feedback import CompiledLoop, LoopModel
from nacelle.simulation.flow import NativeDriver, bound, loop_driver
from nacelle.simulation.plant import RigidPlant
from nacelle.simulation.protocol import Derivative, Event, EventGroup, Feedback, Labels
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation_path import rotation_matrices
from nacelle.spatial.scalar import Array

_NO_CONSTANTS = np.zeros(1)
# A run ends where elastic coordinates are this large: beyond it the beams' theory does not hold.
_LARGEST = 0.3


def elastic_signals(robot: Robot, s: Array, constants: Array, wanted: Sequence[str]) -> dict[str, Any]:
    """Signals of a robot with flexible links: q and qd of its encoders, pose x and twist v of the platform."""
    del constants
    plan = plan_of(robot)
    size = positions.size(plan.extended)
    p, y = s[:size], s[size:]
    start = positions.platform_size(plan.extended)
    places = [start + robot.q_slices[a.joint].start for a in robot.actuators]
    signals: dict[str, Any] = {"q": p[places], "qd": y[: plan.na]}
    if set(wanted) & {"x", "v", "y"}:
        raise KinematicsError(
            "a compiled feedback of a flexible robot measures its encoders (t, q, qd, r); the platform's pose "
            "is no signal of it: give a plain function f(t, x, v) where it is needed"
        )
    return signals


ELASTIC = LoopModel(elastic_flow, elastic_signals)


class ElasticPlant:
    """A robot with flexible links under its actuators.

    Args:
        robot: the robot; some of its bodies have a `section` and a `material`.
        prescribed: whether inputs are the actuators' accelerations; else their forces.
        friction: whether friction counts.
        smooth: rate over which Coulomb friction changes its sign; needed by implicit methods.
        static: whether a run starts deformed by gravity at rest; else undeformed.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        prescribed: bool = False,
        friction: bool = True,
        smooth: float | None = None,
        static: bool = False,
    ) -> None:
        self.robot = robot
        self.plan = plan_of(robot)
        self.prescribed = bool(prescribed)
        self.static = bool(static)
        self._settings = tuple(Settings(friction, smooth).options.items())
        self.options = (*self._settings, ("prescribed", self.prescribed))

    @property
    def name(self) -> str:
        """The robot's name."""
        return self.robot.name

    @property
    def size(self) -> int:
        """Number of states."""
        return state_size(self.robot)[0]

    @property
    def inputs(self) -> int:
        """Number of actuators."""
        return len(self.robot.actuators)

    @cached_property
    def labels(self) -> Labels:
        """Names and units of pose, twist and inputs."""
        rigid = RigidPlant(self.robot).labels
        if not self.prescribed:
            return rigid
        joints = [self.robot.joints[a.joint].primitives[0] for a in self.robot.actuators]
        inputs = tuple(
            (f"{a.name}.acceleration", "rad/s^2" if primitive.turns else "m/s^2")
            for a, primitive in zip(self.robot.actuators, joints, strict=True)
        )
        return Labels(rigid.x, rigid.v, inputs)

    # ---- states

    def state(self, x: Any, v: Any) -> Array:
        """The state at a reduced pose and twist of the rigid robot: undeformed, or deformed by gravity."""
        pose = checked_poses(self.robot, x)[0]
        twist = checked_rates(self.robot, "the twist v", v)
        joints = inverse_kinematics(self.robot, pose, limits=False)
        now = configuration(self.robot, pose, joints.y)
        p = undeformed(self.plan.extended, now.motion.poses[1], np.asarray(now.q, dtype=float))
        rates = np.asarray(rate_map(now) @ twist, dtype=float)
        y = np.zeros(self.plan.n)
        y[: self.plan.na] = [rates[k] for k in self.plan.independent[: self.plan.na]]
        for k, place in enumerate(self.plan.elastic):
            if place < len(rates):  # a joint of the robot that no actuator moves
                y[self.plan.na + k] = rates[place]
        if self.static:
            p = self.settled(p)
        return np.concatenate([p, y])

    def closed_positions(self, p: Array) -> Array:
        """Positions whose dependent ones are moved until all loops close.

        Raises:
            KinematicsError: if they cannot be closed.
        """
        step = native(elastic_closing, self.robot)
        for _ in range(50):
            result = step(p)
            p = np.asarray(result["p"])
            if float(np.max(np.abs(result["step"]), initial=0.0)) < 1e-14 * max(1.0, self.robot.size):
                return p
        if float(np.max(np.abs(result["step"]), initial=0.0)) < 1e-10:
            return p
        raise KinematicsError(f"the loops of {self.name} do not close at this deformation")

    def settled(self, p: Array) -> Array:
        """Positions at rest under gravity with the actuators where they are: Newton on the elastic forces.

        Raises:
            KinematicsError: if there is no equilibrium near (a beam has buckled).
        """
        model = native(elastic_inverse, self.robot, self._settings)
        still, hold = np.zeros(self.plan.n), np.zeros(self.plan.na)
        places = self._elastic_places
        p = self.closed_positions(p)

        def accelerations(p: Array) -> Array:
            return np.asarray(model(p, still, hold)["acceleration"])

        first = None
        for _ in range(60):
            value = accelerations(p)
            change = float(np.max(np.abs(value)))
            first = change if first is None else first
            J = np.empty((len(places), len(places)))
            h = 1e-7
            for k, place in enumerate(places):
                ahead, behind = p.copy(), p.copy()
                ahead[place] += h
                behind[place] -= h
                J[:, k] = (
                    accelerations(self.closed_positions(ahead)) - accelerations(self.closed_positions(behind))
                ) / (2.0 * h)
            step = -np.linalg.solve(J, value)
            p = p.copy()
            p[places] += step
            p = self.closed_positions(p)
            if float(np.max(np.abs(step))) < 1e-12:
                if np.max(np.linalg.eigvals(J).real) > 0.0:
                    raise KinematicsError(
                        f"{self.name} is not stable at rest in this pose: a flexible link has buckled under the "
                        "load it carries"
                    )
                return p
        raise KinematicsError(
            f"{self.name} has no deformed rest pose near: flexible links buckle under the load they carry"
        )

    @cached_property
    def _elastic_places(self) -> list[int]:
        """Places in p of the independent coordinates that no actuator moves."""
        extended = self.plan.extended
        nz = len(extended.rigid_rates)
        start = positions.platform_size(extended) + self.robot.nq
        return [start + place - nz for place in self.plan.elastic if place >= nz]

    def positions(self, s: Array) -> Array:
        """Positions p (..., size of p) of states."""
        return np.asarray(s[..., : positions.size(self.plan.extended)])

    def rates(self, s: Array) -> Array:
        """Independent rates y (..., n) of states."""
        return np.asarray(s[..., positions.size(self.plan.extended) :])

    def elastic(self, s: Array) -> Array:
        """Elastic coordinates (..., ne) of states; `elastic_names` says which."""
        return self.positions(s)[..., positions.platform_size(self.plan.extended) + self.robot.nq :]

    @property
    def elastic_names(self) -> tuple[str, ...]:
        """Names of the elastic coordinates."""
        return self.plan.extended.names

    def split(self, s: Array) -> tuple[Array, Array]:
        """Reduced poses and twists of the platform at states (..., size)."""
        p, extended = self.positions(s), self.plan.extended
        mechanism = mechanism_of(self.robot)
        R = np.broadcast_to(np.eye(3), (*p.shape[:-1], 3, 3))
        if positions.platform_size(extended) == 7:
            quat = p[..., 3:7] / np.linalg.norm(p[..., 3:7], axis=-1, keepdims=True)
            R = rotation_matrices(quat)
        x, _ = mechanism.chart.coordinates(Pose(R, p[..., :3]))
        for name in self.robot.motion.joint_names:
            place = positions.platform_size(extended) + self.robot.q_slices[self.robot.joint(name)].start
            x[..., mechanism.layout.x_index(name)] = p[..., place]
        rates = np.asarray(self._energies(s)["rates"])
        return x, rates[..., list(mechanism.independent)]

    # ---- what integrators run

    def derivative(self) -> Derivative:
        """The flow as native code."""
        return bound(native(elastic_flow, self.robot, self.options), _NO_CONSTANTS)

    def derivatives(self, s: Array, u: Array) -> Array:
        """The derivatives (N, size) of states (N, size) under inputs (N, actuators), in one call."""
        return np.asarray(native(elastic_flow, self.robot, self.options)(s, u, _NO_CONSTANTS))

    def driver(self) -> NativeDriver:
        """The native loop of fixed steps."""
        return NativeDriver(loop_driver(elastic_flow, self.robot, self.options), _NO_CONSTANTS)

    def closed(self, feedback: Feedback) -> CompiledLoop:
        """The robot under a feedback that is compiled with it."""
        if self.prescribed:
            raise KinematicsError("a feedback gives forces: take a plant with prescribed=False")
        return CompiledLoop(self.robot, ELASTIC, self.options, _NO_CONSTANTS, feedback)

    def events(self) -> list[Event | EventGroup]:
        """Deflections beyond what the theory of beams holds for."""
        lengths = np.concatenate(
            [np.full(shapes.n, shapes.beam.length) for shapes in self.plan.extended.shapes]
        )
        kinds = [c.kind for shapes in self.plan.extended.shapes for c in shapes.coordinates]
        scale = np.where(np.array(kinds) == 0, lengths, np.maximum(lengths, 1e-3))

        def value(t: Array, s: Array) -> Array:
            del t
            return np.asarray(_LARGEST - np.max(np.abs(self.elastic(s)) / scale, axis=-1))

        return [Event("a flexible link deforms by more than 30 % of its length", value)]

    # ---- what results show

    def _energies(self, s: Array) -> dict[str, Array]:
        model = native(elastic_energies, self.robot, self._settings)
        result: dict[str, Array] = model(self.positions(s), self.rates(s))
        return result

    def energies(self, s: Array) -> dict[str, Array]:
        """Kinetic and potential energy (J), power of friction and damping (W) of states (..., size)."""
        result = self._energies(s)
        return {name: result[name] for name in ("kinetic", "potential", "dissipation")}

    def forces(self, s: Array, u: Array) -> Array:
        """The actuators' forces (..., actuators) at states (..., size) and inputs (..., actuators)."""
        if not self.prescribed:
            return np.asarray(u)
        model = native(elastic_inverse, self.robot, self._settings)
        return np.asarray(model(self.positions(s), self.rates(s), u)["force"])

    def power(self, s: Array, u: Array) -> Array:
        """Power of the actuators (...,), W."""
        return np.asarray(np.sum(self.forces(s, u) * self.rates(s)[..., : self.plan.na], axis=-1))
