"""The robot: its data with its numbers as vectors, its modes, and its text."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any

import numpy as np

from nacelle.errors import did_you_mean
from nacelle.model.data import RobotData
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.numbers import FreeParameters, ParameterLayout, free_parameters
from nacelle.model.write import write_yaml
from nacelle.results import Plottable
from nacelle.spatial.linear_form import is_linear_form
from nacelle.spatial.pose import Pose
from nacelle.spatial.rounding import CANCELLED, Constants
from nacelle.spatial.scalar import Array


class Robot(RobotData, Plottable):
    """A parallel robot: a graph of bodies and joints, its legs and its platform.

    Its attributes are those of `RobotData`.
    """

    @cached_property
    def size(self) -> float:
        """Characteristic length, m, of the robot alone, wherever its base and the frames of bodies are.

        The largest distance between two joints of one body, or between the middle of the joints on the
        platform, at the reference pose, and that of those on the base. Where all joints of every body meet,
        it is the largest radius of gyration of a body about its joints; 1 m for points without inertia.
        """
        if self.numeric is not self:
            return self.numeric.size
        joints: dict[int, list[Array]] = {}
        ground = {BASE} if self.has_platform else {BASE, PLATFORM}
        for joint in self.joints:
            # What holds the ground of a robot without a platform is no joint of the robot.
            if not joint.is_coupling and not {joint.predecessor, joint.successor} <= ground:
                joints.setdefault(joint.predecessor, []).append(joint.frame_predecessor.p)
                joints.setdefault(joint.successor, []).append(joint.frame_successor.p)
        points = {body: np.array(body_points, dtype=float) for body, body_points in joints.items()}
        middle = {body: np.mean(body_points, axis=0) for body, body_points in points.items()}
        lengths = [0.0]
        for body_points in points.values():
            lengths += [float(np.max(np.linalg.norm(body_points - point, axis=1))) for point in body_points]
        if BASE in middle and PLATFORM in middle and self.has_platform:
            there = self.reference.R @ middle[PLATFORM] + self.reference.p
            lengths.append(float(np.linalg.norm(there - middle[BASE])))
        largest = max(lengths)
        farthest = max((float(np.max(np.abs(body_points))) for body_points in points.values()), default=0.0)
        if largest > CANCELLED * farthest:
            return largest
        return max([0.0, *(self._gyration(body, middle[body]) for body in middle)]) or 1.0

    @cached_property
    def coordinate_rounding(self) -> float:
        """What rounding of places in the base leaves of a length, over the robot's size.

        2e-16 for a robot at the origin, 2e-10 for one of 1 m a thousand kilometres away.
        """
        if self.numeric is not self:
            return self.numeric.coordinate_rounding
        positions = [self.reference.p]
        ground = (BASE,) if self.has_platform else (BASE, PLATFORM)
        joints = [joint for joint in self.joints if not joint.is_coupling]
        positions += [joint.frame_predecessor.p for joint in joints if joint.predecessor in ground]
        positions += [joint.frame_successor.p for joint in joints if joint.successor in ground]
        return float(np.finfo(float).eps * np.max(np.abs(positions)) / self.size)

    @cached_property
    def fastest_coupling(self) -> float:
        """How many times faster than another a coupling makes a joint: 1 without any, 500 of a ball screw."""
        if self.numeric is not self:
            return self.numeric.fastest_coupling
        ratios = [1.0]
        for joint in self.joints:
            unit = {j: 1.0 if self.joints[j].primitives[0].is_rotation else self.size for j, _ in joint.terms}
            factors = [abs(float(factor)) * unit[j] for j, factor in joint.terms if factor]
            ratios += [max(factors) / min(factors)] if factors else []
        return max(ratios)

    def _gyration(self, body: int, point: Array) -> float:
        """Radius of gyration of a body about a point (3,) of its frame, m; 0 without mass."""
        m, *h, xx, _, yy, _, _, zz = (float(value) for value in self.bodies[body].inertia)
        if not m > 0.0:
            return 0.0
        second = 0.5 * (xx + yy + zz) - 2.0 * float(point @ h) + m * float(point @ point)
        return float(np.sqrt(max(second, 0.0) / m))

    @cached_property
    def parameters(self) -> ParameterLayout:
        """Where each number of the robot is in its parameter vector."""
        return ParameterLayout.of(self)

    def parameter_names(self, *groups: str) -> tuple[str, ...]:
        """Names of the numbers of some groups, or of all of them."""
        return self.parameters.names(*groups)

    def parameter_vector(self, *groups: str) -> Array:
        """Numbers of some groups, or all of them, as one vector in SI units.

        Groups are "geometry" (12 numbers a joint frame: rotation by rows, translation), "inertia"
        (ten a body), "payload", "friction" (coefficients), "drive" (rotor inertias, gear ratios,
        springs) and "gravity".
        """
        return self.parameters.read(self, *groups)

    def with_parameters(self, vector: Any, *groups: str) -> Robot:
        """Give the same robot with other numbers in some groups, or in all of them.

        Raises:
            ParameterError: if the vector has the wrong length, is not finite, or holds matrices that
                are not rotations.
        """
        return self.parameters.write(self, vector, *groups)

    def with_symbols(self, symbols: Any, *groups: str) -> Robot:
        """Give the same robot with traced symbols in the place of some numbers.

        Such a robot is used to trace physics with its numbers as inputs; it has no hash and no text. The
        symbols may be any numbers, of which `numeric` tells nothing (`is_like_numeric`).
        """
        robot = self.parameters.write(self, symbols, *groups, symbolic=True)
        object.__setattr__(robot, "numeric", self.numeric)
        object.__setattr__(robot, "is_like_numeric", False)
        return robot

    @cached_property
    def numbers(self) -> FreeParameters:
        """The free numbers: those that the description declares, and may be given at run time."""
        return free_parameters(self, self.parameters)

    def with_numbers(self, vector: Any, *groups: str) -> Robot:
        """Give the same robot with other free numbers (`numbers`) in some groups, or in all of them.

        Raises:
            ParameterError: if the vector has the wrong length or is not finite.
        """
        entries, record = self.numbers.replace_free(vector, *groups)
        changed = self.parameters.write(self, entries)
        return dataclasses.replace(changed, declaration=record).without_rounding_differences

    def with_number_symbols(self, symbols: Any, *groups: str) -> Robot:
        """Give the same robot with traced symbols in the place of its free numbers.

        Its `numeric` robot has a sample of these numbers: what is decided from it holds for all of them.
        """
        entries = self.numbers.entries(symbols, *groups)
        robot = self.parameters.write(self, entries, symbolic=True)
        object.__setattr__(robot, "numeric", self.at_sample(*groups))
        return robot

    def at_sample(self, *groups: str) -> Robot:
        """Give the robot at the sample of its free numbers where programs that take these are decided."""
        return self.with_numbers(self.numbers.sample(*groups), *groups)

    @cached_property
    def numeric(self) -> Robot:
        """The robot with its own numbers, where this one has symbols in their place."""
        return self

    @cached_property
    def is_like_numeric(self) -> bool:
        """Whether what is zero, equal or at right angles in `numeric` is so in this robot, symbols or not."""
        return True

    @cached_property
    def without_rounding_differences(self) -> Robot:
        """The robot with numbers that differ by rounding alone made equal (`nacelle.spatial.rounding`).

        Lengths of equal legs that went through different rotations are equal again: programs are traced
        from these numbers. A robot of a description is so already.
        """
        if self.numeric is not self:
            return self
        constants = Constants()

        def regularise(values: Array) -> Array:
            flat = [constants.unify(float(value)) for value in np.ravel(values)]
            return np.array(flat).reshape(np.shape(values))

        vector = self.parameter_vector()
        same = regularise(vector)
        reference = Pose(regularise(self.reference.R), regularise(self.reference.p))
        if np.array_equal(vector, same) and all(
            np.array_equal(a, b) for a, b in zip(reference, self.reference, strict=True)
        ):
            return self
        return dataclasses.replace(self.with_parameters(same), reference=reference)

    def in_mode(self, name: str) -> Robot:
        """Give the robot in one of its modes: with its motion, reference pose, branches and guesses.

        Raises:
            KeyError: if it has no such mode.
        """
        modes = {mode.name: mode for mode in self.modes}
        if name not in modes:
            raise KeyError(
                f"{self.name} has no mode {name!r}; {did_you_mean(name, modes) or 'the robot has no modes'}"
            )
        mode = modes[name]
        guess = dict(mode.guess)
        return dataclasses.replace(
            self,
            joints=tuple(
                dataclasses.replace(joint, guess=guess.get(k, joint.guess))
                for k, joint in enumerate(self.joints)
            ),
            legs=tuple(
                dataclasses.replace(leg, branch=branch or leg.branch)
                for leg, branch in zip(self.legs, mode.branch, strict=True)
            ),
            motion=mode.motion,
            reference=mode.reference,
        )

    def to_yaml(self) -> str:
        """Write the robot in full, joint by joint; reading it back gives the same hash."""
        return write_yaml(self)

    def __repr__(self) -> str:
        """Give name, size and the start of the hash."""
        return (
            f"<Robot {self.name}: {len(self.legs)} legs, {len(self.bodies) - 1} bodies, "
            f"{len(self.actuators)} actuators, {self.motion.name}, {self.hash[:8]}>"
        )


# ---- inertia of bodies with the payload on them


def body_parameters(robot: Robot, body: int) -> Array:
    """Ten parameters [m, m c (3), I (6)] of a body with its payload, about its frame: kg, kg m, kg m^2."""
    total = np.asarray(robot.bodies[body].inertia)
    for load in robot.payload:
        if load.body == body:
            total = total + np.asarray(load.inertia)
    return total


def has_mass(robot: Robot, body: int) -> bool:
    """Whether a body, with the payload on it, has any inertia; decided by the robot's own numbers.

    A body whose inertia are parameters (linear forms) has.
    """
    if is_linear_form(robot.bodies[body].inertia[0]):
        return True
    return bool(np.any(body_parameters(robot.numeric, body) != 0.0))
