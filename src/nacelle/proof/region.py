"""Regions of poses: what is claimed of a pose, as equations in the coordinates that vary.

A region is a box of coordinates u (n,) of the motion, m and rad; the others are those of a pose. Of a free
orientation rx, ry, rz are components of a rotation vector r in base axes, as in `nacelle.workspace`:

    quat = [sin(|r|/2) r/|r|; cos(|r|/2)] * quat_at,      both functions by their series in |r|^2/4

with what the series leave out as numbers `rest` that are known up to a bound. A pose is taken if

    signs(u) > 0        the legs' margins less the one that is asked for, and the ways to all limits
    s_min/s_max (J) > c the inverse condition number of J_r^-1, lengths in units of the robot's size

An angle q with limits m - w <= q <= m + w counts as cos(q - m) - cos(w), which needs no turns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nacelle.compile.affine import AffineFunction
from nacelle.errors import did_you_mean
from nacelle.kinematics.configuration import Configuration, configuration
from nacelle.kinematics.kinematic_model import jacobian_at
from nacelle.kinematics.margins import margin_names, margins
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.pose_input import check_poses, is_angle, reference_pose
from nacelle.kinematics.shapes import jacobian_scales, twist_scales
from nacelle.kinematics.underactuated import undriven_coordinates
from nacelle.model.joint import Interval, JointKind, Primitive
from nacelle.model.reduced import ROTATIONS, layout_of
from nacelle.model.robot import Robot
from nacelle.program.interval import ExactGraph
from nacelle.program.program import Program, variable_slices
from nacelle.program.trace import Symbol, straight_line_program, trace
from nacelle.proof.equations import ProofError, RobotEquations, robot_equations
from nacelle.spatial.physics import compact_form
from nacelle.spatial.rotation import quat_product
from nacelle.spatial.scalar import Array, Scalar, dot, pack
from nacelle.tree.spanning_tree import CosineSine

REST = 2.0**-52
"""How far the series of a rotation vector's quaternion may be from it, with the rounding of its numbers."""
_SERIES = 2.0**-58


@dataclass(frozen=True)
class Margins:
    """How far from singularities poses are to stay.

    Attributes:
        serial: lower bound of the legs' margins (`InverseKinematics.margins`), about the squared inverse
            condition of a leg's own Jacobian.
        parallel: lower bound of the inverse condition number of the scaled Jacobian
            (`Jacobian.conditioning`).
    """

    serial: float = 1e-3
    parallel: float = 1e-2

    def __post_init__(self) -> None:
        """Check.

        Raises:
            ProofError: if a margin is not a number from 0 to 1.
        """
        for name, value in (("serial", self.serial), ("parallel", self.parallel)):
            if not 0.0 <= value < 1.0:
                raise ProofError(f"the {name} margin is {value}; it is a number from 0 to below 1")


@dataclass(frozen=True, eq=False)
class PoseRegion:
    """A box of poses and what is claimed of them.

    Attributes:
        robot: the robot.
        names: the coordinates that vary.
        box: their bounds (n, 2), m and rad.
        at: the pose (nx,) that gives the others.
        margins: from singularities.
    """

    robot: Robot
    names: tuple[str, ...]
    box: Array
    at: Array
    margins: Margins = field(default_factory=Margins)

    @cached_property
    def equations(self) -> RobotEquations:
        """The robot's equations."""
        return robot_equations(self.robot)

    @property
    def rotations(self) -> tuple[str, ...]:
        """The components of the rotation vector that vary, where the orientation is free."""
        free = layout_of(self.robot.motion).quaternion is not None
        return tuple(name for name in self.names if free and name in ROTATIONS)

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Unit of each coordinate: "m" or "rad"."""
        return tuple("rad" if is_angle(self.robot, name) else "m" for name in self.names)

    @cached_property
    def scales(self) -> Array:
        """What the coordinates count in (n,): the robot's size for lengths, 1 for angles."""
        index_of = {name: k for k, name in enumerate(self.robot.motion.coordinates)}
        return np.asarray(twist_scales(self.robot)[[index_of[name] for name in self.names]])

    # ---- equations

    def pose(self, u: Array, rest: Array) -> Array:
        """The pose (nx,) of coordinates u (n,), m, rad and quat_xyzw."""
        layout = layout_of(self.robot.motion)
        entries: list[Scalar] = [float(value) for value in self.at]
        vector: list[Scalar] = [0.0, 0.0, 0.0]
        for name, value in zip(self.names, u, strict=True):
            if name in self.rotations:
                vector[ROTATIONS.index(name)] = value
            else:
                entries[layout.x_index(name)] = value
        if self.rotations:
            assert layout.quaternion is not None
            r = pack(vector)
            square = 0.25 * dot(r, r)
            sine, cosine = (_series(square, self._terms, first) for first in (1, 0))
            half = 0.5 * (sine + rest[0])
            quat = pack([half * r[0], half * r[1], half * r[2], cosine + rest[1]])
            entries[layout.quaternion] = list(quat_product(quat, self.at[layout.quaternion]))
        return pack(entries)

    @cached_property
    def _terms(self) -> int:
        """How many terms the series need on the box."""
        largest = np.abs(self.box).max(axis=1)
        square = 0.25 * sum(
            float(value) ** 2
            for name, value in zip(self.names, largest, strict=True)
            if name in self.rotations
        )
        if square > 0.25 * math.pi**2:
            raise ProofError(
                "rotation vectors beyond half a turn (3.14 rad) say nothing new: take a smaller range"
            )
        return next(k for k in range(2, 40) if square**k / math.factorial(2 * k) < _SERIES)

    def _configuration(self, u: Array, rest: Array, z: Array) -> Configuration:
        x = self.pose(u, rest)
        if not self.equations.mechanism.unknown_count:
            # As it is: x is a pose, and need not be normalised.
            return configuration(self.robot, x, z)
        return self.equations.configuration(x, z)

    @property
    def sign_names(self) -> tuple[str, ...]:
        """What the numbers of `signs` are."""
        return self._traced[0]

    def _signs(self, now: Configuration) -> list[tuple[str, Scalar]]:
        robot, mechanism = self.robot, now.mechanism
        signs: list[tuple[str, Scalar]] = []
        dense = None
        for k, name in enumerate(margin_names(mechanism)):
            closed = k < len(mechanism.legs) and k not in mechanism.iterated_legs
            if closed:
                values = list(now.root_margins[k])
            else:
                dense = compact_form(margins)(now) if dense is None else dense
                values = [dense[k]]
            label = f"margin of {name}"
            signs += [(label, value - self.margins.serial) for value in values]
        # The limits as they are described: `kinematics.limits` allows for rounding, a proof does not.
        for actuator in robot.actuators:
            if actuator.position not in robot.joints[actuator.joint].limits:
                signs += self._limit_signs(now, actuator.joint, 0, actuator.position)
        for j, joint in enumerate(robot.joints):
            if joint.kind is JointKind.POINT or joint.is_coupling:
                continue
            for number, limits in enumerate(joint.limits):
                if joint.primitives[number] is not Primitive.SPHERICAL:
                    signs += self._limit_signs(now, j, number, limits)
                elif limits[1] < math.pi:
                    tilt = _tilt_cosine(now, j) - math.cos(limits[1])
                    signs.append((f"tilt of {joint.name!r} below its limit", tilt))
        return signs

    def _limit_signs(
        self, now: Configuration, j: int, number: int, limits: Interval
    ) -> list[tuple[str, Scalar]]:
        """The signs of one coordinate's limits."""
        low, high = limits
        joint = self.robot.joints[j]
        name = repr(joint.name) if len(joint.primitives) == 1 else f"axis {number + 1} of {joint.name!r}"
        if (j, number) not in now.coordinates and joint.primitives[number].is_rotation:
            step = now.step(j, number)
            assert isinstance(step, CosineSine)
            if high - low >= 2.0 * math.pi or not math.isfinite(high - low):
                if math.isfinite(low) or math.isfinite(high):
                    raise ProofError(
                        f"{joint.name!r} of {self.robot.name} has limits that leave room for more than one "
                        "turn: a pose does not say its turns; give it limits within a turn, or none"
                    )
                return []
            if (root := _constant_root(step.s)) is not None:
                return _signs_of_elbow(name, step.c, root, Interval(low, high))
            middle = 0.5 * (low + high)
            cosine = step.c * math.cos(middle) + step.s * math.sin(middle)
            return [(f"angle of {name} within its limits", cosine - math.cos(0.5 * (high - low)))]
        value = now.coordinate(j, number)
        signs = []
        if math.isfinite(low):
            signs.append((f"{name} above its lower limit", value - low))
        if math.isfinite(high):
            signs.append((f"{name} below its upper limit", high - value))
        return signs

    # ---- programs

    @property
    def rest_count(self) -> int:
        """How many numbers `rest` has."""
        return 2 if self.rotations else 0

    @cached_property
    def _traced(self) -> tuple[tuple[str, ...], dict[str, Program]]:
        """What the signs are, and the programs."""
        rows, columns = jacobian_scales(self.robot)
        names: list[str] = []

        def numbers(u: Array, rest: Array, z: Array) -> dict[str, Array]:
            now = self._configuration(u, rest, z)
            signs = self._signs(now)
            names[:] = [name for name, _ in signs]
            return {
                "signs": pack([value for _, value in signs]),
                "J": compact_form(jacobian_at)(now)["J"] / rows[:, None] * columns,
            }

        shapes = {"u": (len(self.names),), "rest": (self.rest_count,), "z": (self.equations.unknown_count,)}
        whole = trace(numbers, shapes, "region").program()
        return tuple(names), dict(zip(("signs", "rates"), _with_bounded_roots(whole), strict=True))

    @property
    def programs(self) -> dict[str, Program]:
        """The traced equations: "signs" (k,), and "rates" with J_r^-1 without units, "J" (actuators, n)."""
        return self._traced[1]

    @cached_property
    def functions(self) -> dict[str, AffineFunction]:
        """Linear enclosures of the programs, compiled."""
        return {name: AffineFunction(program, ("z",), ("rest",)) for name, program in self.programs.items()}


def _series(square: Scalar, terms: int, first: int) -> Scalar:
    """sin(a)/a (first 1) or cos(a) (first 0) from a^2."""
    coefficients = [(-1.0) ** k / math.factorial(2 * k + first) for k in range(terms)]
    value: Scalar = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        value = value * square + coefficient
    return value


class _Root(NamedTuple):
    """factor sqrt(square), traced, with a constant factor."""

    factor: float
    square: Symbol


def _constant_root(value: Scalar) -> _Root | None:
    """A root with a constant factor; None for anything else."""
    factor = 1.0
    while isinstance(value, Symbol):
        op, *operands = value.graph.nodes[value.index]
        terms = [Symbol(value.graph, k) for k in operands] if op in ("neg", "mul", "sqrt") else []
        if op == "sqrt":
            return _Root(factor, terms[0])
        if op == "neg":
            factor, value = -factor, terms[0]
        elif op == "mul" and terms[0].constant is not None:
            factor, value = factor * terms[0].constant, terms[1]
        elif op == "mul" and terms[1].constant is not None:
            factor, value = factor * terms[1].constant, terms[0]
        else:
            return None
    return None


def _signs_of_elbow(name: str, cosine: Scalar, root: _Root, limits: Interval) -> list[tuple[str, Scalar]]:
    """The limits of an angle whose sine is a root, by its cosine, which has none.

    The sine has the sign of the branch: the angle is within half a turn. That its square is above the
    smallest one within the limits follows from them; it is stated, a little below, for roots to be bounded.
    """
    low, high = limits if root.factor > 0.0 else (-limits[1], -limits[0])
    turns = 2.0 * math.pi * math.floor(0.5 * (low + high) / (2.0 * math.pi) + 1e-9)
    low, high = max(low - turns, 0.0), min(high - turns, math.pi)
    if high <= low:
        return [(f"angle of {name} within its limits", cosine * 0.0 - 1.0)]
    signs = []
    if low > 0.0:
        signs.append((f"angle of {name} off its limit next to 0", math.cos(low) - cosine))
    if high < math.pi:
        signs.append((f"angle of {name} off its limit next to half a turn", cosine - math.cos(high)))
    least = min(math.sin(low), math.sin(high)) ** 2 * (1.0 - 1e-9)
    if least > 1e-6:
        signs.append((f"squared sine of {name}", root.square * root.factor**2 - least))
    return signs


def _with_bounded_roots(program: Program) -> list[Program]:
    """The programs of "signs" and of "J", with sqrt(max(v, a)) for sqrt(v) where a sign demands v > a.

    Where a pose is taken these are the same numbers, and where it is not that sign says so; but these are
    defined on all boxes that such poses share with others.
    """
    code = program.code
    constants = {k: operands[0] for k, (op, *operands) in enumerate(code) if op == "const"}
    least: dict[int, float] = {}
    for k in program.results[: program.outputs[0].size]:
        op, *operands = code[k]
        if op != "sub" or operands[1] not in constants:
            continue
        node, bound = operands[0], constants[operands[1]]
        inner, *factors = code[node]
        if inner == "mul" and factors[0] in constants:
            node, bound = factors[1], bound / constants[factors[0]]
        elif inner in ("mul", "div") and factors[1] in constants:
            scale = constants[factors[1]]
            node, bound = factors[0], bound * scale if inner == "div" else bound / scale
        if bound > 0.0:
            least[node] = max(least.get(node, 0.0), bound * (1.0 - 1e-6))
    graph, nodes = ExactGraph(), []
    for op, *operands in code:
        if op == "const":
            nodes.append(graph.const(operands[0]))
        elif op == "input":
            nodes.append(graph.input(operands[0]))
        else:
            terms = [nodes[k] for k in operands]
            if op == "sqrt" and operands[0] in least:
                terms = [graph.binary("max", terms[0], graph.const(least[operands[0]]))]
            nodes.append(graph.apply(op, *terms))
    return [
        straight_line_program(
            name, graph, program.inputs, [variable], [nodes[k] for k in program.results[span]]
        )
        for name, (variable, span) in zip(("signs", "rates"), variable_slices(program.outputs), strict=True)
    ]


def _tilt_cosine(now: Configuration, j: int) -> Scalar:
    """The cosine of a spherical joint's tilt."""
    joint, poses = now.robot.joints[j], now.motion.poses
    first = poses[joint.predecessor].R @ joint.frame_predecessor.R
    second = poses[joint.successor].R @ joint.frame_successor.R
    return dot(first[:, 2], second[:, 2])


def pose_region(
    robot: Robot, over: Mapping[str, tuple[float, float]], at: Any = None, margins: Margins | None = None
) -> PoseRegion:
    """The region of a box of coordinates, checked.

    Args:
        robot: the robot.
        over: (lowest, highest) of coordinates of the motion, m or rad.
        at: the pose (nx,) that gives the others; the reference pose if None.
        margins: from singularities.

    Raises:
        ProofError: if a coordinate is not one of the robot, a range is empty, or the robot cannot be treated.
    """
    start = check_poses(robot, reference_pose(robot) if at is None else at)[0]
    free = robot.motion.coordinates
    if not over:
        raise ProofError(f"a region varies coordinates of the motion: {', '.join(free)}; none is given")
    for name, (low, high) in over.items():
        if name not in free:
            raise ProofError(f"{robot.name} has no coordinate {name!r} to vary; {did_you_mean(name, free)}")
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ProofError(f"the range of {name} is empty: lowest {low:g}, highest {high:g}")
    if undriven_coordinates(robot):
        raise ProofError(f"{robot.name} has coordinates that no actuator drives: every pose is singular")
    box = np.array([over[name] for name in over], dtype=float)
    if mechanism_of(robot).unknown_count:
        raise ProofError(
            f"{robot.name} has legs that are solved numerically: workspaces are proved of robots whose legs "
            "all have a closed form (nacelle show says which); prove motions of it instead"
        )
    return PoseRegion(robot.numeric, tuple(over), box, start, margins or Margins())
