"""A rigid robot that is not its model, as a plant: anchors, lengths of legs, zeros of encoders, warmth.

Leg i is fastened to the base at A_i in the model and at A_i + d_i + c t (A_i - A_0) in truth, d_i a mistake
of assembly (m), c the growth of a base that warms (1/s), t the time since the start of a run and A_0 the mean
of the anchors. The joints that a body of leg i carries are farther from the one that carries it by l_i times
the mean of these distances, so that parallelograms stay parallelograms. Encoders read q + z, z what their
zeros are off by (rad or m).

    g(t) = [d_1 + c t (A_1 - A_0); ...; l_1; ...]           (4 legs,)    the numbers of the true robot

A leg moves as a whole with its anchor, so that it stays of its type. Not every direction is possible: a leg
of a planar robot cannot leave its plane, since the loops would not close; such parts of d_i are taken off
(`free_directions`).

The state is that of `nacelle.simulation.flow` and the time, [c; v; y; t]. What a deviation has are constants
of flow and signals (`deviating_robot` takes traced symbols too): one program, compiled once, runs every true
robot, also while its anchors move.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from nacelle.control.kind import VectorLayout
from nacelle.dynamics import model_functions
from nacelle.dynamics.physics import Physics
from nacelle.errors import KinematicsError
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.shapes import actuators_shape, pose_shape
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.kinematics.solve.newton_steps import loop_closing_step
from nacelle.model.joint import Joint
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot
from nacelle.program.identities.values import PreciseInputs
from nacelle.simulation.feedback import LoopModel
from nacelle.simulation.flow import (
    FILL_VALUE,
    coordinates_from_pose,
    flow,
    reference_orientation,
    rigid_signals,
    state_samples,
    state_size,
)
from nacelle.simulation.plant import Plant
from nacelle.simulation.rigid_plant import rigid_labels, split_rigid
from nacelle.spatial.physics import check_inputs_with, physics
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, pack
from nacelle.vision.observer.anchors import base_joints, free_directions

# How far legs of the sample robot are moved, over the robot's size: what holds there holds nearby.
_SAMPLE_DEVIATION = 0.01


@dataclass(frozen=True, eq=False)
class Deviation:
    """What the true robot has otherwise than its model.

    Attributes:
        anchors: d, where each leg is fastened less where the model has it (legs, 3), base axes, m.
        lengths: l, how much longer the bodies of each leg are (legs,), 1.
        zeros: z, what each encoder reads less what is (actuators,), rad or m.
        growth: c, of the base from the start of a run on, 1/s.
    """

    anchors: Array
    lengths: Array
    zeros: Array
    growth: float = 0.0

    @staticmethod
    def zero(robot: Robot) -> Deviation:
        """A true robot that is its model."""
        legs = len(robot.legs)
        return Deviation(np.zeros((legs, 3)), np.zeros(legs), np.zeros(len(robot.actuators)))

    @staticmethod
    def sample(
        robot: Robot,
        seed: int,
        *,
        anchors: float = 0.0,
        lengths: float = 0.0,
        zeros: float = 0.0,
        growth: float = 0.0,
    ) -> Deviation:
        """Draw one at random; equal seeds give equal directions, whatever the size.

        Args:
            robot: the model.
            seed: of the normal numbers.
            anchors: standard deviation of each coordinate of each anchor, m.
            lengths: standard deviation of the relative error of lengths, 1.
            zeros: standard deviation of the encoders' zeros, rad or m.
            growth: of the base, 1/s.

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
        )

    def numbers(self, robot: Robot, time: float = 0.0) -> Array:
        """Numbers g (4 legs,), m, at a time since the start, s: of anchors, base axes, then of lengths."""
        return np.concatenate([np.ravel(self.anchors) + time * self.anchor_rates(robot), self.lengths])

    def anchor_rates(self, robot: Robot) -> Array:
        """Rates of the anchors (3 legs,), m/s, while the base warms."""
        return (
            self.growth * np.ravel(outward_directions(robot))
            if self.growth
            else np.zeros(3 * len(robot.legs))
        )


def deviating_robot(robot: Robot, g: Any) -> Robot:
    """The true robot of numbers g (4 legs,); of traced symbols it is used to trace physics."""
    values = np.asarray(g)
    legs = len(robot.legs)
    owners = {body: k for k, leg in enumerate(robot.legs) for body in leg.bodies}
    spans = _body_spans(robot)

    def frame(body: int, pose: Pose, neighbour: int, outgoing: bool) -> Pose:
        if body in owners and outgoing:
            return Pose(pose.R, _add_scaled(pose.p, values[3 * legs + owners[body]], spans[body]))
        if body == BASE and neighbour in owners:
            k = 3 * owners[neighbour]
            return Pose(pose.R, pack([a + b for a, b in zip(pose.p, values[k : k + 3], strict=True)]))
        return pose

    def deviate_joint(j: int, joint: Joint) -> Joint:
        first, second = joint.predecessor, joint.successor
        return dataclasses.replace(
            joint,
            frame_predecessor=frame(first, joint.frame_predecessor, second, True),
            frame_successor=frame(second, joint.frame_successor, first, j >= robot.tree),
        )

    joints = tuple(deviate_joint(j, joint) for j, joint in enumerate(robot.joints))
    result = dataclasses.replace(robot, joints=joints)
    if values.dtype == object:
        object.__setattr__(result, "numeric", sample_robot(robot))
        # Traced numbers decide nothing: what would look at their values takes the plain projection.
        object.__setattr__(result, "is_like_numeric", False)
    return result


def _body_spans(robot: Robot) -> dict[int, Array]:
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


def _add_scaled(p: Array, factor: Any, span: Array) -> Array:
    """P + factor span over any scalar; coordinates along which there is no span stay numbers."""
    return pack([a + factor * b if b else a for a, b in zip(p.tolist(), span.tolist(), strict=True)])


@lru_cache(maxsize=32)
def sample_robot(robot: Robot) -> Robot:
    """A true robot with numbers drawn at random, from which programs for all are made."""
    return deviating_robot(robot, sample_numbers(robot))


def sample_numbers(robot: Robot) -> Array:
    """Numbers g (4 legs,), m, of a small deviation, at which programs are traced."""
    rng = np.random.default_rng(7)
    legs = len(robot.legs)
    d = np.einsum("kij,kj->ki", anchor_projectors(robot), rng.uniform(0.3, 1.0, (legs, 3)) * robot.size)
    return np.concatenate([_SAMPLE_DEVIATION * np.ravel(d), _SAMPLE_DEVIATION * rng.uniform(0.3, 1.0, legs)])


@lru_cache(maxsize=32)
def anchor_projectors(robot: Robot) -> Array:
    """Projectors (legs, 3, 3) on the directions in which the anchor of each leg can be moved."""
    anchors = set(base_joints(robot))
    result = np.zeros((len(robot.legs), 3, 3))
    for k, leg in enumerate(robot.legs):
        for e in free_directions(robot, [j for j in leg.joints if j in anchors]):
            result[k] += np.outer(e, e)
    return result


@lru_cache(maxsize=32)
def outward_directions(robot: Robot) -> Array:
    """Anchors less their mean (legs, 3), m, of the directions in which they can be moved."""
    anchors = []
    for leg in robot.legs:
        points = [
            joint.frame_predecessor.p if joint.predecessor == BASE else joint.frame_successor.p
            for joint in (robot.joints[j] for j in (*leg.joints, *leg.closures))
            if BASE in (joint.predecessor, joint.successor)
        ]
        if not points:
            raise KinematicsError(f"leg {leg.name!r} of {robot.name} is not fastened to the base")
        anchors.append(np.mean(points, axis=0))
    out = np.array(anchors) - np.mean(anchors, axis=0)
    return np.asarray(np.einsum("kij,kj->ki", anchor_projectors(robot), out))


# ---- the true robot as a plant


# Rate over which Coulomb friction of the true robot changes its sign, rad/s or m/s.
_PHYSICS = Physics(smooth=1e-3)
# Growth of the sample robot's base, 1/s.
_WARMING = 1e-3
# Newton's steps from the sample robot to the true one: the way, and what is left at its end.
_CONTINUATION_STEPS, _CLOSURE_TOLERANCE = 8, 1e-12


def _state_shape(robot: Robot) -> tuple[int]:
    return (state_size(sample_robot(robot))[0] + 1,)


def _constant_layout(robot: Robot) -> VectorLayout:
    """Parts of the constants: the reference orientation, g at the start, rates of the anchors, zeros."""
    legs = len(robot.legs)
    return VectorLayout(
        quat_0=4, anchors=3 * legs, lengths=legs, warming=3 * legs, zeros=len(robot.actuators)
    )


def _constants_shape(robot: Robot) -> tuple[int]:
    return (_constant_layout(robot).size,)


def _state_samples(
    robot: Robot, shapes: Mapping[str, tuple[int, ...]], groups: tuple[str, ...] = ()
) -> PreciseInputs | None:
    """States at which programs are checked: of the sample robot, whose numbers come last."""
    inputs = {name: shape for name, shape in shapes.items() if name not in ("constants", "g")}
    tail = sample_numbers(robot)
    if "constants" in shapes:
        inputs["quat_0"] = (4,)
        warming = _WARMING * np.ravel(outward_directions(robot))
        # The anchors are those of the sample at the time that states have.
        tail[: warming.size] -= float(FILL_VALUE) * warming
        tail = np.concatenate([tail, warming, np.full(len(robot.actuators), 0.1)])
    states = state_samples(sample_robot(robot), inputs, groups)
    if states is None:
        return None
    numbers = tuple(map(Decimal, tail.tolist()))
    proof, check = (tuple((*row, *numbers) for row in rows) for rows in (states.proof, states.check))
    return PreciseInputs(proof, check, (*states.sizes, *(robot.size for _ in numbers)))


def _true_robot(robot: Robot, s: Array, k: Mapping[str, Array]) -> Robot:
    """The robot that moves, at a state and parts of the constants."""
    return deviating_robot(robot, pack([*(k["anchors"] + s[-1] * k["warming"]), *k["lengths"]]))


@check_inputs_with(_state_samples)
@physics(s=_state_shape, tau=actuators_shape, constants=_constants_shape)
def true_flow(robot: Robot, s: Array, tau: Array, constants: Array, **options: Any) -> Array:
    """Derivative of the state of the true robot; options are those of `flow`."""
    k = _constant_layout(robot).split(constants)
    return pack([*flow(_true_robot(robot, s, k), s[:-1], tau, k["quat_0"], **options), 1.0])


def true_signals(robot: Robot, s: Array, constants: Array, names: Sequence[str]) -> dict[str, Any]:
    """Signals of the true robot, as `rigid_signals`, and what a camera sees: poses R, p of all bodies."""
    k = _constant_layout(robot).split(constants)
    true = _true_robot(robot, s, k)
    signals = rigid_signals(true, s[:-1], k["quat_0"], names)
    if "q" in names:
        signals["q"] = signals["q"] + k["zeros"]
    if "R" in names or "p" in names:
        signals |= kinematic_model.body_poses(true, signals["x"], signals["y"])
    return signals


@check_inputs_with(_state_samples)
@physics(s=_state_shape, constants=_constants_shape)
def true_energies(robot: Robot, s: Array, constants: Array) -> dict[str, Array]:
    """Kinetic and potential energy, J, and the power that friction takes, W, of the true robot."""
    k = _constant_layout(robot).split(constants)
    true = _true_robot(robot, s, k)
    at = rigid_signals(true, s[:-1], k["quat_0"], ())
    return model_functions.energies(true, at["x"], at["y"], at["v"], physics=_PHYSICS)


@check_inputs_with(_state_samples)
@physics(
    y=lambda robot: (mechanism_of(sample_robot(robot)).unknown_count,),
    x=pose_shape,
    g=lambda robot: (4 * len(robot.legs),),
)
def true_closing_step(robot: Robot, y: Array, x: Array, g: Array) -> Array:
    """Newton's step towards closed loops of the true robot (ny,)."""
    return np.asarray(loop_closing_step(deviating_robot(robot, g), y, x)["dy"])


def deviating_plant(model: Robot, deviation: Deviation) -> Plant:
    """Make the plant of the true robot under its actuators' forces.

    Nothing but a state that is not finite ends a run. The state is that at the start of a run, the true
    platform at x (nx,) with a twist v (n,). It has the signals R (..., bodies, 3, 3) and p (..., bodies, 3),
    the poses of all bodies.

    Args:
        model: the robot that controllers and observers take it for.
        deviation: how it differs.
    """
    mechanism = mechanism_of(sample_robot(model))
    quat_0 = reference_orientation(mechanism)
    numbers = (deviation.numbers(model), deviation.anchor_rates(model), deviation.zeros)
    constants = np.concatenate([quat_0, *numbers])

    def state(x: Any, v: Any) -> Array:
        pose, twist = np.asarray(x, dtype=float), np.asarray(v, dtype=float)
        c = coordinates_from_pose(mechanism, pose, quat_0)
        return np.concatenate([c, twist, _solve_loops(model, deviation, pose), [0.0]])

    plant = Plant(
        model,
        LoopModel(true_flow, true_signals),
        (("physics", _PHYSICS),),
        constants,
        labels=rigid_labels(model),
        state=state,
        split=lambda s: split_rigid(model, s)[:2],
        energies=lambda s: compile_native(true_energies, model)(s[..., : plant.size], constants),
        power=lambda s, u: np.asarray(np.sum(u * plant.signal(s[..., : plant.size], "qd"), axis=-1)),
        events=lambda: [],
    )
    return plant


def _solve_loops(model: Robot, deviation: Deviation, x: Array) -> Array:
    """Passive coordinates (ny,) of the true robot at a pose, followed from those of the sample robot.

    Raises:
        UnreachableError: if the true robot does not reach it.
        KinematicsError: if its loops do not close.
    """
    y = np.asarray(inverse_kinematics(sample_robot(model), x, limits=False).y)
    if not y.size:
        return y
    closing = compile_native(true_closing_step, model)
    first, last = sample_numbers(model), deviation.numbers(model)
    for part in np.linspace(0.0, 1.0, _CONTINUATION_STEPS + 1)[1:]:
        for _ in range(3):
            dy = np.asarray(closing(y, x, first + part * (last - first)))
            y = y + dy
    if not np.max(np.abs(dy)) < _CLOSURE_TOLERANCE:
        raise KinematicsError(f"the loops of the true {model.name} do not close at its first pose")
    return y
