"""A robot with flexible links as a plant for `simulate`, and where it rests.

The state is s = [p; y]: positions of the platform, the joints and the elastic coordinates, and the
independent rates y = [q_a'; others]. Inputs are the actuators' forces, or, where their motion is prescribed,
their accelerations; the power is then that of the forces that the motion requires. A feedback measures what
encoders see: coordinates q and rates qd of the actuated joints, which with flexible links are not those of
the rigid robot at the platform's pose.

At rest, where it settles, with its fastest vibration: with the actuators held, the other independent rates z
have accelerations a(p) at positions p and no velocity:

    M_zz z' = -c_z(p)          c_z: weight, springs and strain of the links

At rest a = 0, found by Newton's iteration, dz = -(da/dp)^-1 a with differences for da/dp per step of the
rates. There M_zz z'' = -K z, so that da/dp = -M^-1 K (1/s^2) has the eigenvalues -w^2 of the vibrations, w in
rad/s. A positive one means that the rest pose is not stable: a link has buckled.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from nacelle.dynamics.physics import Physics
from nacelle.elastic.flexible_tree import flexible_tree
from nacelle.elastic.forms import Assembled, ElasticForm, RigidConfiguration, form_of
from nacelle.errors import BucklingError, KinematicsError
from nacelle.kinematics.configuration import configuration, rate_map
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.pose_input import check_poses, check_rates
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.simulation.feedback import CompiledPlant, LoopModel, refuse_motor_signals
from nacelle.simulation.plant import RigidPlant
from nacelle.simulation.protocol import Derivative, Event, Labels
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_matrices
from nacelle.spatial.scalar import Array

_DIFFERENCE_STEP = 1e-6
_TOLERANCE, _STEPS = 1e-10, 60


def rest_accelerations(form: ElasticForm, p: Array, physics: Physics) -> Array:
    """Accelerations (n - na,) at rest, at positions p (size,), of the rates but the actuators', held."""
    hold = np.zeros(len(form.robot.actuators))
    return np.asarray(form.inverse(p, np.zeros(form.n), hold, physics)["acceleration"])


def rest_tangent(form: ElasticForm, p: Array, physics: Physics) -> Array:
    """Derivative (others, others) of these accelerations by steps of the rates, by central differences.

    The others are all independent rates but the actuators', which are held: -M^-1 K, 1/s^2.
    """
    na = len(form.robot.actuators)
    columns = []
    for k in range(na, form.n):
        step = np.zeros(form.n)
        step[k] = _DIFFERENCE_STEP
        predicted_state, behind = (
            rest_accelerations(form, form.step_positions(p, sign * step), physics) for sign in (1.0, -1.0)
        )
        columns.append((predicted_state - behind) / (2.0 * _DIFFERENCE_STEP))
    return np.stack(columns, axis=1)


def fastest_vibration(form: ElasticForm, p: Array, physics: Physics) -> float:
    """Angular frequency (rad/s) of the fastest vibration with the actuators held."""
    values = np.linalg.eigvals(rest_tangent(form, p, physics))
    return float(np.sqrt(np.max(np.abs(values))))


def vibrations(form: ElasticForm, p: Array, physics: Physics) -> tuple[Array, Array]:
    """Vibrations with the actuators held: angular frequencies (m,), rad/s, and how much they stretch links.

    Returns:
        The frequencies, rising, and of the strain energy of each the part (m,) in the stretch of beams; the
        rest of it is in bending, shear, torsion and the springs of drives.
    """
    whole = flexible_tree(form.robot)
    values, shapes = np.linalg.eig(rest_tangent(form, p, physics))
    order = np.argsort(np.abs(values))
    columns = []
    for mode in shapes.T[order]:
        step = np.zeros(form.n)
        # Of a pair of complex modes, which a robot that is not at rest may have, the real part counts.
        step[len(form.robot.actuators) :] = _DIFFERENCE_STEP * np.real(mode) / np.max(np.abs(mode))
        predicted_state, behind = (form.elastic(form.step_positions(p, sign * step)) for sign in (1.0, -1.0))
        columns.append((predicted_state - behind) / (2.0 * _DIFFERENCE_STEP))
    e = np.stack(columns)
    stretch, elsewhere = np.zeros(len(e)), np.zeros(len(e))
    for beam, span in zip(whole.shapes, whole.slices, strict=False):
        part = e[:, span]
        elsewhere += np.einsum("mi,ij,mj->m", part, beam.stiffness, part)
        for along in beam.stretches:
            stretch += along.stiffness * (part @ along.row) ** 2
    for spring, span in zip(whole.springs, whole.slices[len(whole.shapes) :], strict=True):
        elsewhere += spring.stiffness * e[:, span.start] ** 2
    frequencies = np.sqrt(np.abs(values[order]))
    return frequencies, stretch / np.maximum(stretch + elsewhere, np.finfo(float).tiny)


def rest_positions(form: ElasticForm, p: Array, physics: Physics) -> Array:
    """Positions at rest under gravity and springs, the actuators where they are.

    Raises:
        BucklingError: if there is no rest pose near, or it is not stable.
    """
    p = form.close_loops(p)
    na = len(form.robot.actuators)
    for _ in range(_STEPS):
        J = rest_tangent(form, p, physics)
        step = np.zeros(form.n)
        step[na:] = -np.linalg.solve(J, rest_accelerations(form, p, physics))
        p = form.step_positions(p, step)
        size = float(np.max(np.abs(step)))
        if not np.isfinite(size) or size > form.robot.size:
            break
        if size < _TOLERANCE * form.robot.size:
            if np.max(np.linalg.eigvals(J).real) > 0.0:
                raise BucklingError(
                    f"{form.robot.name} is not stable at rest in this pose: a flexible link buckles under "
                    "the load that it carries; make it thicker, or start undeformed",
                    float("nan"),
                )
            return p
    raise BucklingError(
        f"{form.robot.name} has no rest pose near this one: a flexible link buckles under the load that it "
        "carries",
        float("nan"),
    )


# ---- the plant


_NO_CONSTANTS = np.zeros(1)
# Steps of the Runge-Kutta method over a vibration are stable below this many radians.
_STABILITY_LIMIT = 2.7
# Ratio of the highest frequency to that of bending above which steps are implicit.
_STIFFNESS_RATIO = 5.0
# A run ends where elastic coordinates are this large: beyond it the beams' theory does not hold.
_MAX_DEFLECTION = 0.3


def elastic_signals(robot: Robot, s: Array, constants: Array, names: Sequence[str]) -> dict[str, Any]:
    """Signals of a robot with flexible links at a state s (size,): q and qd (actuators,) of its encoders."""
    del constants
    refuse_motor_signals(robot, names)
    _require_encoders(names)
    form = form_of(robot)
    return {"q": s[form.encoders], "qd": s[form.size : form.size + len(robot.actuators)]}


def _require_encoders(names: Sequence[str]) -> None:
    if set(names) & {"x", "v", "y"}:
        raise KinematicsError(
            "a compiled feedback of a flexible robot measures its encoders (t, q, qd, r); the platform's "
            "pose is no signal of it: give a plain function f(t, x, v) where it is needed"
        )


class ElasticPlant(CompiledPlant):
    """A robot with flexible links under its actuators.

    Args:
        robot: the robot; some of its bodies have a `section` and a `material`.
        prescribed: whether inputs are the actuators' accelerations; else their forces.
        friction: whether friction counts.
        smooth: rate over which Coulomb friction changes its sign; needed by implicit methods.
        static: whether a run starts deformed by gravity at rest; else undeformed.
        form: "condensed", "general" or "assembled" (`nacelle.elastic.forms`); the smallest that there is if
        None.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        prescribed: bool = False,
        friction: bool = True,
        smooth: float | None = None,
        static: bool = False,
        form: str | None = None,
    ) -> None:
        self.form = form_of(robot, form)
        self.prescribed = bool(prescribed)
        self.static = bool(static)
        self.physics = Physics(friction, smooth)
        options = (("physics", self.physics), ("prescribed", self.prescribed))
        flow: Any = self.form.flow
        super().__init__(robot, LoopModel(flow, elastic_signals), options, _NO_CONSTANTS)

    @property
    def size(self) -> int:
        """Number of states: positions and independent rates."""
        return self.form.size + self.form.n

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
            (f"{a.name}.acceleration", "rad/s^2" if primitive.is_rotation else "m/s^2")
            for a, primitive in zip(self.robot.actuators, joints, strict=True)
        )
        return Labels(rigid.x, rigid.v, inputs)

    # ---- states

    def state(self, x: Any, v: Any) -> Array:
        """The state [p; y] (size,) at a pose x (nx,) and twist v (n,): undeformed, or deformed by gravity."""
        pose = check_poses(self.robot, x)[0]
        twist = check_rates(self.robot, "the twist v", v)
        joints = inverse_kinematics(self.robot, pose, limits=False)
        now = configuration(self.robot, pose, joints.y)
        u = np.asarray(rate_map(now) @ twist, dtype=float)
        p, y = self.form.start(
            RigidConfiguration(now.motion.poses[1], np.asarray(now.q_tree, dtype=float), u)
        )
        return np.concatenate([rest_positions(self.form, p, self.physics) if self.static else p, y])

    def positions(self, s: Array) -> Array:
        """Positions p (..., positions) of states (..., size)."""
        return np.asarray(s[..., : self.form.size])

    def rates(self, s: Array) -> Array:
        """Independent rates y (..., n) of states (..., size), those of the actuators first."""
        return np.asarray(s[..., self.form.size :])

    def elastic(self, s: Array) -> Array:
        """Elastic coordinates (..., ne) of states; `elastic_names` says which."""
        return self.form.elastic(self.positions(s))

    @property
    def elastic_names(self) -> tuple[str, ...]:
        """Names of the elastic coordinates."""
        return flexible_tree(self.robot).names

    def encoders(self, s: Array) -> tuple[Array, Array]:
        """Coordinates (rad or m) and rates (..., actuators) of the actuated joints at states (..., size)."""
        return self.positions(s)[..., self.form.encoders], self.rates(s)[..., : self.inputs]

    def split(self, s: Array) -> tuple[Array, Array]:
        """Reduced poses (..., nx) and twists (..., n) of the platform, base axes, at states (..., size)."""
        p = self.positions(s)
        mechanism = mechanism_of(self.robot)
        R = np.broadcast_to(np.eye(3), (*p.shape[:-1], 3, 3))
        if self.robot.platform_nv == 6:
            quat = p[..., 3:7] / np.linalg.norm(p[..., 3:7], axis=-1, keepdims=True)
            R = rotation_matrices(quat)
        x, _ = mechanism.chart.coordinates(Pose(R, p[..., :3]))
        for name in self.robot.motion.joint_names:
            x[..., mechanism.layout.x_index(name)] = self.form.joint(p, name)
        rates = np.asarray(self.form.energies(p, self.rates(s), self.physics)["rates"])
        return x, rates[..., list(mechanism.independent)]

    # ---- what integrators run

    def default_step(self, s: Array) -> float:
        """A fixed step, s, that follows the fastest vibration at a state (size,): 2 pi / (40 w)."""
        return float(2.0 * np.pi / fastest_vibration(self.form, self.positions(s), self.physics) / 40.0)

    def reason_unstable(self, s: Array, step: float) -> str:
        """Why fixed steps of the Runge-Kutta method from a state would grow; empty if they do not."""
        w = fastest_vibration(self.form, self.positions(s), self.physics)
        if step * w < _STABILITY_LIMIT:
            return ""
        return (
            f"steps of {step:g} s are unstable: the fastest vibration of {self.name} has "
            f"{w / 2.0 / np.pi:.4g} Hz; "
            f"take steps of at most {_STABILITY_LIMIT / w:.2g} s (step=None chooses one), or "
            "method='irk5', which is "
            "stable with every step"
        )

    def implicit_step(self, s: Array) -> float:
        """A fixed step (s) of the implicit method: 20 a period of the fastest vibration that bends.

        Vibrations with most of their strain energy in the stretch of links do not count: they follow
        quasi-statically.
        """
        return float(2.0 * np.pi / self._relevant_frequencies(s)[0] / 20.0)

    def suited_method(self, s: Array) -> str:
        """The implicit method where links stretch far faster than they bend, else the explicit one."""
        relevant, largest = self._relevant_frequencies(s)
        return "irk5" if largest > _STIFFNESS_RATIO * relevant else "dop853"

    def _relevant_frequencies(self, s: Array) -> tuple[float, float]:
        """Angular frequencies (rad/s) of the fastest vibration that bends, and of the fastest of all."""
        frequencies, stretch = vibrations(self.form, self.positions(s), self.physics)
        bends = frequencies[stretch < 0.5]
        return float(np.max(bends if bends.size else frequencies)), float(np.max(frequencies))

    def derivative(self) -> Derivative:
        """The flow ds/dt = f(s, u): native code, or programs between which LAPACK solves."""
        return self.derivatives if self.flow is None else super().derivative()

    def derivatives(self, s: Array, u: Array) -> Array:
        """The derivatives (N, size) of states (N, size) under inputs (N, actuators), in one call."""
        if self.flow is not None:
            return super().derivatives(s, u)
        assert isinstance(self.form, Assembled)
        if s.ndim > 1:
            return np.stack([self.derivatives(*row) for row in zip(s, u, strict=True)])
        return self.form.derivative(s, u, self.physics, prescribed=self.prescribed)

    def loop_parts(self) -> CompiledPlant:
        """What is compiled with a controller.

        Raises:
            KinematicsError: if the inputs are no forces, or there is no program of the form.
        """
        self._require_forces()
        if self.form is not form_of(self.robot):
            raise KinematicsError(
                f"a compiled feedback takes the form that {self.name} has by itself: leave out form="
                f"{self.form.name!r}, or give a plain function f(t, x, v)"
            )
        if self.form.flow is None:
            raise KinematicsError(
                f"{self.name} is too large to be compiled with a feedback: give a plain function f(t, x, v)"
            )
        return self

    def signals(self, s: Array, names: Sequence[str]) -> dict[str, Array]:
        """Signals of the encoders at states (..., size).

        Raises:
            KinematicsError: if the inputs are no forces, or other signals are wanted.
        """
        self._require_forces()
        _require_encoders(names)
        q, qd = self.encoders(s)
        return {"q": q, "qd": qd}

    def _require_forces(self) -> None:
        if self.prescribed:
            raise KinematicsError("a feedback gives forces: take a plant with prescribed=False")

    def events(self) -> list[Event]:
        """Deflections beyond what the theory of beams holds for."""
        scale = flexible_tree(self.robot).scales

        def value(t: Array, s: Array) -> Array:
            del t
            return np.asarray(_MAX_DEFLECTION - np.max(np.abs(self.elastic(s)) / scale, axis=-1))

        return [Event("a flexible link deforms by more than 30 % of its length", value)]

    # ---- what results show

    def energies(self, s: Array) -> dict[str, Array]:
        """Kinetic and potential energy (J), power of friction and damping (W) of states (..., size)."""
        result = self.form.energies(self.positions(s), self.rates(s), self.physics)
        return {name: result[name] for name in ("kinetic", "potential", "dissipation")}

    def forces(self, s: Array, u: Array) -> Array:
        """Actuators' forces (..., actuators), N m or N, at states (..., size), inputs (..., actuators)."""
        if not self.prescribed:
            return np.asarray(u)
        return np.asarray(self.form.inverse(self.positions(s), self.rates(s), u, self.physics)["force"])

    def power(self, s: Array, u: Array) -> Array:
        """Power Gamma . q' of the actuators (...,) at states (..., size), W."""
        return np.asarray(np.sum(self.forces(s, u) * self.rates(s)[..., : self.inputs], axis=-1))
