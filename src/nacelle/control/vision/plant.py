"""A rigid robot that is not its model: how it differs, and how it moves, sample by sample.

A rigid robot that is not its model, stepped sample by sample from Python.

Its state is that of `nacelle.simulation.flow`, s = [c; v; y]; its numbers g(t) (`Deviation`) are inputs of
the compiled flow, so that one program is that of every deviation and of drifting anchors. A period is some
steps of the classical Runge-Kutta method in native code, forces and g held. Between steps the state follows
by the cubic through both ends and their slopes, whose error is of the fourth order as the method's.

How a true robot differs from its model: anchors on the base, lengths of legs, zeros of encoders, warmth.

Leg i is fastened to the base at A_i in the model and at A_i + d_i + c (t - t_0) (A_i - A_0) in truth, d_i a
mistake of assembly (m), c the growth of a base that warms (1/s), A_0 the mean of the anchors. The joints that
a body of leg i carries are farther from the one that carries it by l_i times the mean of these distances, so
that parallelograms stay parallelograms. Encoders read q + z, z what their zeros are off by (rad or m).

    g(t) = [d_1 + c (t - t_0) (A_1 - A_0); ...; l_1; ...]           (4 legs,)    the numbers of the true robot

A leg moves as a whole with its anchor, so that it stays of its type. Not every direction is possible: a leg
of a planar robot cannot leave its plane, since the loops would not close. With D the derivative of the
closures' equations r by d_i and J that by all rates, d_i is possible where D d_i is in the range of J, at
the reference pose and near it; other parts of d_i are taken off.

`deviating_robot` puts the numbers, traced symbols too, into a robot: one program, compiled once, runs every
true robot, also while its anchors move.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.inverse import BodyPoses, inverse_kinematics
from nacelle.kinematics.iteration.newton_steps import closing_step
from nacelle.kinematics.mechanism.assembly import closed_near, require_assembly, row_scale
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import native
from nacelle.kinematics.shapes import of_actuators, of_pose
from nacelle.kinematics.tree.closure import closure_state
from nacelle.kinematics.tree.spanning_tree import NumberTree
from nacelle.model.joint import Joint
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot
from nacelle.program.identities.values import PreciseInputs
from nacelle.simulation.feedback import CompiledPlant, LoopModel, rigid_signals
from nacelle.simulation.flow import (
    coordinates_of,
    flow,
    pose_from_coordinates,
    reference_orientation,
    state_samples,
    state_size,
)
from nacelle.simulation.track import StepEnd, cubic
from nacelle.spatial.physics import checked_at, physics
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, pack

# A direction is possible if the closures are left open by less than this part of the way.
_POSSIBLE = 1e-6
# How far legs of the sample robot are moved, over the robot's size: what holds there holds nearby.
_SAMPLE = 0.01
# How far the platform is moved along its coordinates to look at other poses than the reference.
_REACH = (0.05, 0.02)


@dataclass(frozen=True, eq=False)
class Deviation:
    """What the true robot has otherwise than its model.

    Attributes:
        anchors: d, where each leg is fastened less where the model has it (legs, 3), base axes, m.
        lengths: l, how much longer the bodies of each leg are (legs,), 1.
        zeros: z, what each encoder reads less what is (actuators,), rad or m.
        growth: c, of the base, 1/s.
        begin: when it begins to grow, s.
    """

    anchors: Array
    lengths: Array
    zeros: Array
    growth: float = 0.0
    begin: float = 0.0

    @staticmethod
    def none(robot: Robot) -> Deviation:
        """A true robot that is its model."""
        legs = len(robot.legs)
        return Deviation(np.zeros((legs, 3)), np.zeros(legs), np.zeros(len(robot.actuators)))

    @staticmethod
    def drawn(
        robot: Robot,
        seed: int,
        *,
        anchors: float = 0.0,
        lengths: float = 0.0,
        zeros: float = 0.0,
        growth: float = 0.0,
        begin: float = 0.0,
    ) -> Deviation:
        """Draw one at random; equal seeds give equal directions, whatever the size.

        Args:
            robot: the model.
            seed: of the normal numbers.
            anchors: standard deviation of each coordinate of each anchor, m.
            lengths: standard deviation of the relative error of lengths, 1.
            zeros: standard deviation of the encoders' zeros, rad or m.
            growth: of the base, 1/s.
            begin: when it begins to grow, s.

        Raises:
            KinematicsError: if a size is negative or not finite.
        """
        sizes = {"anchors": anchors, "lengths": lengths, "zeros": zeros}
        for name, size in sizes.items():
            if not (np.isfinite(size) and size >= 0.0):
                raise KinematicsError(f"the size of the deviation of {name} is not negative, got {size:g}")
        rng = np.random.default_rng(seed)
        legs = len(robot.legs)
        d = np.einsum("kij,kj->ki", anchor_projectors(robot), rng.normal(size=(legs, 3)))
        return Deviation(
            anchors * d,
            lengths * rng.normal(size=legs),
            zeros * rng.normal(size=len(robot.actuators)),
            growth,
            begin,
        )

    def numbers(self, robot: Robot, time: float) -> Array:
        """Numbers g (4 legs,), m, at a time, s: displacements of anchors, base axes, then of lengths."""
        d = self.anchors
        if self.growth:
            d = d + (self.growth * max(0.0, time - self.begin)) * _outwards(robot)
        return np.concatenate([np.ravel(d), self.lengths])


def numbers_size(robot: Robot) -> int:
    """How many numbers g has."""
    return 4 * len(robot.legs)


def deviating_robot(robot: Robot, g: Any) -> Robot:
    """The true robot of numbers g (4 legs,); of traced symbols it is used to trace physics."""
    values = np.asarray(g)
    legs = len(robot.legs)
    owners = {body: k for k, leg in enumerate(robot.legs) for body in leg.bodies}
    spans = _spans(robot)

    def frame(body: int, own: Pose, other: int, outgoing: bool) -> Pose:
        if body in owners and outgoing:
            return Pose(own.R, _plus(own.p, values[3 * legs + owners[body]], spans[body]))
        if body == BASE and other in owners:
            k = 3 * owners[other]
            return Pose(own.R, pack([a + b for a, b in zip(own.p, values[k : k + 3], strict=True)]))
        return own

    def placed(j: int, joint: Joint) -> Joint:
        first, second = joint.predecessor, joint.successor
        return dataclasses.replace(
            joint,
            frame_predecessor=frame(first, joint.frame_predecessor, second, True),
            frame_successor=frame(second, joint.frame_successor, first, j >= robot.tree),
        )

    joints = tuple(placed(j, joint) for j, joint in enumerate(robot.joints))
    result = dataclasses.replace(robot, joints=joints)
    if values.dtype == object:
        object.__setattr__(result, "numeric", sample(robot))
        # Traced numbers decide nothing: what would look at their values takes the plain projection.
        object.__setattr__(result, "is_like_numeric", False)
    return result


def _spans(robot: Robot) -> dict[int, Array]:
    """From the joint that carries each body of a leg to the mean of the joints that it carries (3,), m."""
    carried: dict[int, list[Array]] = {}
    origin: dict[int, Array] = {}
    for j, joint in enumerate(robot.joints):
        carried.setdefault(joint.predecessor, []).append(joint.frame_predecessor.p)
        if j < robot.tree:
            origin[joint.successor] = joint.frame_successor.p
        else:
            carried.setdefault(joint.successor, []).append(joint.frame_successor.p)
    return {
        body: np.mean(carried[body], axis=0) - origin[body] if body in carried else np.zeros(3)
        for leg in robot.legs
        for body in leg.bodies
    }


def _plus(p: Array, factor: Any, span: Array) -> Array:
    """P + factor span over any scalar; coordinates along which there is no span stay numbers."""
    return pack([a + factor * b if b else a for a, b in zip(p.tolist(), span.tolist(), strict=True)])


@lru_cache(maxsize=32)
def sample(robot: Robot) -> Robot:
    """A true robot with numbers drawn at random, from which programs for all are made."""
    return deviating_robot(robot, sample_numbers(robot))


def sample_numbers(robot: Robot) -> Array:
    """Numbers g (4 legs,), m, of a small deviation, at which programs are traced."""
    rng = np.random.default_rng(7)
    legs = len(robot.legs)
    d = np.einsum("kij,kj->ki", anchor_projectors(robot), rng.uniform(0.3, 1.0, (legs, 3)) * robot.size)
    return np.concatenate([_SAMPLE * np.ravel(d), _SAMPLE * rng.uniform(0.3, 1.0, legs)])


@lru_cache(maxsize=32)
def anchor_projectors(robot: Robot) -> Array:
    """Projectors (legs, 3, 3) on the directions in which the anchor of each leg can be moved."""
    start = require_assembly(robot)
    rng = np.random.default_rng(3)
    states = [(start.platform, start.q, start.closures)]
    for reach in _REACH:
        near = closed_near(robot, start, reach, rng)
        if near is not None:
            states.append((near[0], near[1], near[3]))
    scale = row_scale(robot)[:, None]
    legs, step = len(robot.legs), 1e-2 * robot.size
    result = np.empty((legs, 3, 3))
    for k in range(legs):
        open_by = []
        for platform, q, closures in states:
            columns = []
            for axis in range(3):
                g = np.zeros(4 * legs)
                g[3 * k + axis] = step
                other = deviating_robot(robot, g)
                after = closure_state(other, NumberTree(other).motion(platform, q)).residual
                columns.append((after - closures.residual) / step)
            D, J = np.stack(columns, axis=1) / scale, closures.jacobian / scale
            open_by.append(D - J @ np.linalg.lstsq(J, D, rcond=1e-9)[0])
        result[k] = _null_space(np.concatenate(open_by) * robot.size)
    return result


def _null_space(A: Array) -> Array:
    """The projector (3, 3) on what A (rows, 3) takes to nothing."""
    _, values, rows = np.linalg.svd(np.concatenate([A, np.zeros((3, 3))]))
    null = rows[values < _POSSIBLE]
    return np.asarray(null.T @ null)


@lru_cache(maxsize=32)
def _outwards(robot: Robot) -> Array:
    """Anchors less their mean (legs, 3), m, of the directions in which they can be moved."""
    places = []
    for leg in robot.legs:
        own = [
            joint.frame_predecessor.p if joint.predecessor == BASE else joint.frame_successor.p
            for joint in (robot.joints[j] for j in (*leg.joints, *leg.closures))
            if BASE in (joint.predecessor, joint.successor)
        ]
        if not own:
            raise KinematicsError(f"leg {leg.name!r} of {robot.name} is not fastened to the base")
        places.append(np.mean(own, axis=0))
    out = np.array(places) - np.mean(places, axis=0)
    return np.asarray(np.einsum("kij,kj->ki", anchor_projectors(robot), out))


# ---- A rigid robot that is not its model, stepped sample by sample from Python


# Newton's steps from the sample robot to the true one: the way, and what is left at its end.
_WAY, _CLOSED = 8, 1e-12


def _state(robot: Robot) -> tuple[int]:
    return state_size(sample(robot))


def _constants(robot: Robot) -> tuple[int]:
    return (4 + numbers_size(robot),)


def _unknowns(robot: Robot) -> tuple[int]:
    return (mechanism_of(sample(robot)).ny,)


def _states(
    robot: Robot, shapes: Mapping[str, tuple[int, ...]], groups: tuple[str, ...] = ()
) -> PreciseInputs | None:
    """States at which programs are checked: of the sample robot, whose numbers g come last."""
    own = {
        "quat_0" if name == "constants" else name: (4,) if name == "constants" else shape
        for name, shape in shapes.items()
        if name != "g"
    }
    found = state_samples(sample(robot), own, groups)
    if found is None:
        return None
    g = tuple(map(Decimal, sample_numbers(robot).tolist()))
    proof, check = (tuple((*row, *g) for row in rows) for rows in (found.proof, found.check))
    return PreciseInputs(proof, check, (*found.sizes, *(robot.size for _ in g)))


@checked_at(_states)
@physics(s=_state, tau=of_actuators, constants=_constants)
def true_flow(robot: Robot, s: Array, tau: Array, constants: Array, *, smooth: float = 1e-3) -> Array:
    """Derivative of the state of the true robot; the constants are [quat_0; g]."""
    return flow(deviating_robot(robot, constants[4:]), s, tau, constants[:4], smooth=smooth)


def true_signals(robot: Robot, s: Array, constants: Array, wanted: Sequence[str]) -> dict[str, Any]:
    """Signals of the true robot, as `rigid_signals`; the constants are [quat_0; g]."""
    return rigid_signals(deviating_robot(robot, constants[4:]), s, constants[:4], wanted)


@checked_at(_states)
@physics(s=_state, constants=_constants)
def true_readings(robot: Robot, s: Array, constants: Array) -> dict[str, Array]:
    """Pose x (nx,), twist v (n,), and the actuators' coordinates q (actuators,) of the true robot."""
    at, true = true_signals(robot, s, constants, ()), deviating_robot(robot, constants[4:])
    q = np.asarray(kinematic_model.actuator_positions(true, at["x"], at["y"])["q"])
    return {"x": at["x"], "v": at["v"], "q": q}


@checked_at(_states)
@physics(s=_state, constants=_constants)
def true_bodies(robot: Robot, s: Array, constants: Array) -> dict[str, Array]:
    """Poses R (bodies, 3, 3), p (bodies, 3) of all bodies of the true robot in the base."""
    at = true_signals(robot, s, constants, ())
    return kinematic_model.body_poses(deviating_robot(robot, constants[4:]), at["x"], at["y"])


@checked_at(_states)
@physics(y=_unknowns, x=of_pose, g=lambda robot: (numbers_size(robot),))
def true_closing(robot: Robot, y: Array, x: Array, g: Array) -> Array:
    """Newton's step towards closed loops of the true robot (ny,)."""
    return np.asarray(closing_step(deviating_robot(robot, g), y, x)["dy"])


class TruePlant:
    """The true robot in motion.

    Args:
        model: the robot that controllers and observers take it for.
        deviation: how it differs.
        step: the longest step of the integration, s.

    Attributes:
        time: s.
        state: s (size,).
    """

    def __init__(self, model: Robot, deviation: Deviation, *, step: float = 5e-4) -> None:
        self.model, self.deviation, self.step = model, deviation, step
        self.quat_0 = reference_orientation(mechanism_of(sample(model)))
        self._bodies = native(true_bodies, model)
        self.time = 0.0
        self.state = np.zeros(0)
        self._times: list[float] = []
        self._states: list[Array] = []
        self._moved: list[tuple[CompiledPlant, Array]] = []

    def _constants(self, time: float) -> Array:
        return np.concatenate([self.quat_0, self.deviation.numbers(self.model, time)])

    def _robot(self, time: float) -> CompiledPlant:
        """The true robot with its numbers of a time, s."""
        return CompiledPlant(self.model, LoopModel(true_flow, true_signals), (), self._constants(time))

    def start(self, x: Any, v: Any, time: float) -> None:
        """Put the true platform at a pose x (nx,) with a twist v (n,).

        Raises:
            UnreachableError: if the true robot does not reach it.
        """
        pose = np.asarray(x, dtype=float)
        y = self._closed(pose, time)
        c = coordinates_of(mechanism_of(sample(self.model)), pose, self.quat_0)
        self.time, self.state = time, np.concatenate([c, np.asarray(v, dtype=float), y])
        self._times, self._states, self._moved = [time], [self.state], []

    def _closed(self, x: Array, time: float) -> Array:
        """What iteration finds at a pose (ny,), followed from the sample robot to the true one."""
        near = sample(self.model)
        y = np.asarray(inverse_kinematics(near, x, limits=False).y)
        if not y.size:
            return y
        closing = native(true_closing, self.model)
        last = self.deviation.numbers(self.model, time)
        first = sample_numbers(self.model)
        for part in np.linspace(0.0, 1.0, _WAY + 1)[1:]:
            g = first + part * (last - first)
            for _ in range(3):
                dy = np.asarray(closing(y, x, g))
                y = y + dy
        if not np.max(np.abs(dy)) < _CLOSED:
            raise KinematicsError(f"the loops of the true {self.model.name} do not close at its first pose")
        return y

    def advance(self, force: Array, until: float) -> None:
        """Move on under forces that are held (actuators,), to a later time, s."""
        span = until - self.time
        if span <= 0.0:
            return
        steps = max(1, int(np.ceil(span / self.step * (1.0 - 1e-9))))
        h, robot = span / steps, self._robot(self.time + 0.5 * span)
        u = np.array(force, dtype=float)[None]
        driver = robot.driver()
        assert driver is not None
        states = driver.integrate(self.state, u, h=h, steps=steps)
        if not np.isfinite(states).all():
            raise KinematicsError(
                f"the true {self.model.name} left what it can do at {self.time:.4g} s: a singularity, or "
                "a loop that does not close"
            )
        for k, state in enumerate(states):
            self._times.append(self.time + (k + 1) * h)
            self._states.append(state)
            self._moved.append((robot, u))
        self.time, self.state = until, states[-1]

    @property
    def oldest(self) -> float:
        """The first time that is kept, s."""
        return self._times[0]

    def forget(self, before: float) -> None:
        """Drop the states that are older than a time, s."""
        place = max(0, int(np.searchsorted(self._times, before)) - 1)
        if place:
            del self._times[:place], self._states[:place], self._moved[:place]

    def state_at(self, time: float) -> Array:
        """The state (size,) at a time that is kept, s: by the cubic of its step."""
        place = int(np.searchsorted(self._times, time)) - 1
        place = min(max(place, 0), len(self._moved) - 1)
        if place < 0 or time <= self._times[0]:
            return self._states[0]
        begin, end = self._times[place], self._times[place + 1]
        z = min(max((time - begin) / (end - begin), 0.0), 1.0)
        (robot, u), ends = self._moved[place], np.array(self._states[place : place + 2])
        rates = robot.derivatives(ends, np.repeat(u, 2, axis=0))
        return cubic(z, end - begin, StepEnd(ends[0], rates[0]), StepEnd(ends[1], rates[1]))

    def split(self, state: Array) -> tuple[Array, Array]:
        """Reduced pose (nx,) and twist (n,) of a state (size,)."""
        n = self.model.motion.n
        return np.asarray(pose_from_coordinates(mechanism_of(self.model), state[:n], self.quat_0)), state[
            n : 2 * n
        ]

    def signals(self, state: Array | None = None, time: float | None = None) -> dict[str, Array]:
        """Pose "x", twist "v" and the actuators' coordinates "q" at a state and time; now if None."""
        at = self._constants(self.time if time is None else time)
        result: dict[str, Array] = native(true_readings, self.model)(
            self.state if state is None else state, at
        )
        return result

    def bodies(self, state: Array, time: float) -> BodyPoses:
        """Poses of all bodies, R (..., bodies, 3, 3) and p (..., bodies, 3), at states (..., size)."""
        poses = self._bodies(state, self._constants(time))
        return BodyPoses(np.asarray(poses["R"]), np.asarray(poses["p"]))

    def bodies_of(self, x: Array, y: Array, g: Array) -> BodyPoses:
        """Poses of all bodies at a pose x (nx,) of a robot with other numbers g, from a nearby y (ny,)."""
        mechanism = mechanism_of(sample(self.model))
        if mechanism.ny != len(y):
            # The model has more in closed form than a robot with unequal legs.
            y = self.state[2 * self.model.motion.n :]
        c = coordinates_of(mechanism, x, self.quat_0)
        state = np.concatenate([c, np.zeros(self.model.motion.n), y])
        poses = self._bodies(state, np.concatenate([self.quat_0, g]))
        return BodyPoses(np.asarray(poses["R"]), np.asarray(poses["p"]))
