"""A rigid robot under its actuators' forces, as a plant."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from nacelle.dynamics import smallest
from nacelle.dynamics.external import checked_wrenches, load_names
from nacelle.dynamics.inverse import external_load
from nacelle.dynamics.settings import Settings
from nacelle.errors import KinematicsError
from nacelle.kinematics import kinematic_model as kinematics
from nacelle.kinematics.inverse import InverseKinematics, inverse_kinematics
from nacelle.kinematics.iteration.unknowns import Start
from nacelle.kinematics.jacobian import conditioning, scaled_inverse
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.motion import JointMotion, joint_motion
from nacelle.kinematics.native import native
from nacelle.kinematics.pose_input import checked_poses, checked_rates
from nacelle.kinematics.singularity import nearest, singular_words
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.simulation.events import EventGroup
from nacelle.simulation.feedback import RigidLoop
from nacelle.simulation.flow import (
    NativeDriver,
    bound,
    compiled_flow,
    compiled_jacobian,
    flow_driver,
    pose_of,
    turn_from,
)
from nacelle.simulation.protocol import Derivative, Feedback, Labels
from nacelle.simulation.watch import SINGULAR, limits_of, watched, watched_names
from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.scalar import Array


class RigidPlant:
    """A rigid robot under its actuators' forces.

    Args:
        robot: the robot.
        friction: whether friction counts.
        smooth: rate over which Coulomb friction changes its sign; needed by implicit methods.
        external: constant wrenches [f; n] (6,) on bodies or tools, in base axes, as in `inverse_dynamics`.
        exact_jacobian: whether implicit methods take the exact Jacobian of the traced flow, which saves them
            some steps, but takes seconds to minutes to compile; else they take differences.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        friction: bool = True,
        smooth: float | None = None,
        external: Mapping[str, Any] | None = None,
        exact_jacobian: bool = False,
    ) -> None:
        self.robot = robot
        self.mechanism = mechanism_of(robot)
        options = Settings(friction, smooth).options
        self.options: tuple[tuple[str, Any], ...] = tuple(options.items())
        self.friction: bool = options["friction"]
        self.smooth: float | None = options.get("smooth")
        self.external = dict(external or {})
        given = checked_wrenches(robot, self.external)
        for k, wrench in given.items():
            if wrench.ndim != 1:
                raise KinematicsError(
                    f"a simulation takes constant wrenches (6,), that on {load_names(robot)[k]} has the "
                    f"shape {wrench.shape}"
                )
        if given:
            self.options += (("external", tuple((k, tuple(w.tolist())) for k, w in given.items())),)
        self.exact_jacobian = exact_jacobian
        place = self.mechanism.layout.quaternion
        # Orientations are counted from that of the reference pose.
        self.quat_0 = np.array([0.0, 0.0, 0.0, 1.0])
        if place is not None:
            self.quat_0 = np.array(self.mechanism.reference[0][place])

    @property
    def name(self) -> str:
        """The robot's name."""
        return self.robot.name

    @property
    def size(self) -> int:
        """Number of states."""
        return 2 * self.robot.motion.n + self.mechanism.ny

    @property
    def inputs(self) -> int:
        """Number of actuators."""
        return len(self.robot.actuators)

    @cached_property
    def labels(self) -> Labels:
        """Names and units of pose, twist and forces."""
        layout = layout_of(self.robot.motion)
        joints = [self.robot.joints[actuator.joint].primitives[0] for actuator in self.robot.actuators]
        units = ["N m" if primitive.turns else "N" for primitive in joints]
        names = [f"{actuator.name}.force" for actuator in self.robot.actuators]
        rates = [f"{unit}/s" if unit else "" for unit in layout.v_units]
        return Labels(
            tuple(zip(layout.x_names, layout.units, strict=True)),
            tuple(zip(layout.v_names, rates, strict=True)),
            tuple(zip(names, units, strict=True)),
        )

    def state(self, x: Any, v: Any) -> Array:
        """The state at a reduced pose and twist."""
        pose = checked_poses(self.robot, x)[0]
        twist = checked_rates(self.robot, "the twist v", v)
        joints = inverse_kinematics(self.robot, pose, limits=False)
        place = self.mechanism.layout.quaternion
        c = pose
        if place is not None:
            turn = turn_from(self.quat_0, pose[place])
            c = np.concatenate([pose[: place.start], turn, pose[place.stop :]])
        return np.concatenate([c, twist, joints.y])

    def split(self, s: Array) -> tuple[Array, Array]:
        """Reduced poses and twists of states (..., size)."""
        n = self.robot.motion.n
        c = s[..., :n]
        if self.mechanism.layout.quaternion is None:
            return c, s[..., n : 2 * n]
        x = to_samples(pose_of(self.mechanism, from_samples(c, 1), self.quat_0))
        return np.asarray(x), s[..., n : 2 * n]

    def unknowns(self, s: Array) -> Array:
        """What iteration found, in states (..., size)."""
        return np.asarray(s[..., 2 * self.robot.motion.n :])

    # ---- what integrators run

    def derivative(self) -> Derivative:
        """The flow as native code."""
        return bound(compiled_flow(self.robot, self.options), self.quat_0)

    def derivatives(self, s: Array, u: Array) -> Array:
        """The derivatives (N, size) of states (N, size) under forces (N, actuators), in one call."""
        return np.asarray(compiled_flow(self.robot, self.options)(s, u, self.quat_0))

    def jacobian(self) -> Derivative | None:
        """The exact Jacobian of the flow by the state, if it is wanted."""
        if not self.exact_jacobian:
            return None
        return bound(compiled_jacobian(self.robot, self.options), self.quat_0)

    def driver(self) -> NativeDriver:
        """The native loop of fixed steps."""
        return NativeDriver(flow_driver(self.robot, self.options), self.quat_0)

    def closed(self, feedback: Feedback) -> RigidLoop:
        """The robot under a feedback that is compiled with it."""
        return RigidLoop(self.robot, self.options, self.quat_0, feedback, self.exact_jacobian)

    def events(self) -> list[EventGroup]:
        """Limits of joints and actuators, legs at full stretch, and the approach to a singularity."""
        return standard_events(self)

    # ---- what results show

    def energies(self, s: Array) -> dict[str, Array]:
        """Kinetic and potential energy (J) and friction's power (W) of states (..., size)."""
        x, v = self.split(s)
        options = () if self.smooth is None else (("smooth", self.smooth),)
        energies: dict[str, Array] = native(smallest.energies, self.robot, options)(x, self.unknowns(s), v)
        lost = energies["dissipation"]
        return {
            "kinetic": energies["kinetic"],
            "potential": energies["potential"],
            "dissipation": lost if self.friction else np.zeros_like(lost),
        }

    def power(self, s: Array, u: Array) -> Array:
        """Power of the actuators' forces u (..., actuators) and of wrenches from outside, W.

        At states (..., size).
        """
        x, v = self.split(s)
        J = native(kinematics.inverse_jacobian, self.robot)(x, self.unknowns(s))["J"]
        power = np.einsum("...i,...ij,...j->...", u, J, v)
        if self.external:
            load = external_load(self.robot, x, self.unknowns(s), self.external)
            power = power + np.einsum("...i,...i->...", load, v)
        return np.asarray(power)

    def joints(self, s: Array) -> InverseKinematics:
        """All joints and bodies at states (..., size)."""
        x = self.split(s)[0]
        return inverse_kinematics(self.robot, x, guess=Start(x, self.unknowns(s)), limits=False)

    def motion(self, s: Array) -> JointMotion:
        """Rates of all joints at states (..., size)."""
        return joint_motion(self.robot, *self.split(s))

    def closure_error(self, s: Array) -> float:
        """What the loops leave open at the worst of some states, over the robot's size."""
        closures = native(kinematics.closure_equations, self.robot)(self.split(s)[0], self.unknowns(s))
        return float(np.max(np.abs(closures["residual"] / self.mechanism.row_scale), initial=0.0))


def standard_events(plant: RigidPlant, *, limits: bool = True) -> list[EventGroup]:
    """Limits of joints and actuators, legs at full stretch, and the approach to a singularity."""
    robot = plant.robot
    names = watched_names(robot)
    count = len(names) if limits else len(names) - len(limits_of(robot))

    def values(t: Array, s: Array) -> Array:
        numbers = np.asarray(native(watched, robot)(s, plant.quat_0))[:, :count]
        near = np.flatnonzero(~(numbers[:, 0] > 0.0))
        if near.size:
            numbers[near, 0] = _from_singularity(plant, s[near])
        return numbers

    def words(place: int, s: Array) -> str:
        if place:
            return names[place]
        return singular_words(*nearest(robot, plant.split(s)[0], plant.unknowns(s)), near=True)

    return [EventGroup(tuple(names[:count]), values, words)]


def _from_singularity(plant: RigidPlant, s: Array) -> Array:
    """The squared inverse condition of the scaled Jacobian, over what a run may come near to."""
    J = native(kinematics.inverse_jacobian, plant.robot)(plant.split(s)[0], plant.unknowns(s))["J"]
    return np.asarray(conditioning(scaled_inverse(plant.robot, J)) ** 2 - SINGULAR)
