"""The variables of a robot's element state ([OAM] (66), (67)): directions, lengths and angles of its legs.

A leg is a chain of kinematic elements (`structure`), each with a direction x (3,), a length d and a spin
theta. What of them moves, and is not decided by the element's own joint, is a variable:

    arm       x       a driven bar on a revolute joint: perpendicular to its axis, towards the next element
    slide     d       a driven slider: the coordinate of its joint
    rod       x       a bar from the driven element to the platform; rods that stay parallel are one variable
    strut     x       a telescopic element; with its length d from the joint at its input to the one beyond
    shaft     theta   a spindle that a motor turns: the coordinate of its joint

The spin of an element between universal joints follows from its direction (`docs/vision.md`), that between
spherical joints is idle. Where the ends of the legs do not place the platform (`placement`), a point of a
body of the platform and the directions of two of its axes are variables, too: the split platform of [OAM]
figure 2, whose parts all have the same motion. Every variable comes with its first and second derivative;
base axes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.compact.line_legs.geometry import sample_motions
from nacelle.kinematics.configuration import configuration
from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.kinematics.samples import values_at_reference
from nacelle.kinematics.shapes import pose_shape, unknowns_shape
from nacelle.model.robot import Robot
from nacelle.papers.elements.structure import (
    ElementGeometry,
    ElementLeg,
    UnsupportedElementsError,
    element_legs,
)
from nacelle.spatial.physics import physics
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, pack

# Directions that differ by less at sample poses are one.
_SAME = 1e-9


class StateVariable(NamedTuple):
    """A variable of the element state.

    Attributes:
        name: as an input of models: the leg's name and what it is.
        kind: "direction", "length", "coordinate" (of a joint) or "point".
        leg: index of the leg; -1 for the platform.
        number: of a direction the element's place in the leg, of the platform the axis of its body; of others
            the joint.
        body: index of the body that moves so.
    """

    name: str
    kind: str
    leg: int
    number: int
    body: int

    @property
    def is_vector(self) -> bool:
        """Whether it has components."""
        return self.kind in ("direction", "point")


@dataclass(frozen=True, eq=False)
class ElementLayout:
    """The element state of a robot: its variables, in the order in which models take them.

    Attributes:
        mechanism: the analysed robot.
        legs: its legs as elements.
        variables: the variables.
        axes: axes of the base along which directions have components: two for a planar robot.
        directions: by leg and place of an element in it the name of its direction.
    """

    mechanism: Mechanism
    legs: tuple[ElementLeg, ...]
    variables: tuple[StateVariable, ...]
    axes: tuple[int, ...]
    directions: Mapping[tuple[int, int], str] = field(default_factory=dict)

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes: (3, components) or (3,), each row or entry a derivative."""
        sizes = {"direction": (3, len(self.axes)), "point": (3, 3)}
        return {v.name: sizes.get(v.kind, (3,)) for v in self.variables}

    def in_space(self, rows: Array) -> Array:
        """A direction (3, components) with zeros where a planar robot has no components: (3, 3)."""
        jet = np.zeros((3, 3), dtype=rows.dtype)
        jet[:, list(self.axes)] = rows
        return jet

    def components(self, jet: Iterable[Array]) -> Array:
        """A direction and its derivatives with the components that it has: (3, components)."""
        return pack([[row[k] for k in self.axes] for row in jet])


def is_length(robot: Robot, variable: StateVariable) -> bool:
    """Whether a variable is a length or a place, m."""
    if variable.kind == "coordinate":
        return not robot.joints[variable.number].primitives[0].is_rotation
    return variable.kind in ("length", "point")


def sample_geometries(mechanism: Mechanism) -> list[ElementGeometry]:
    """The robot's elements at the reference and at some poses around it.

    Constants are read at the reference: its poses are right to the last bits, where Newton's method in double
    leaves errors that are larger than rounding.
    """
    reference, *others = (motion.poses for motion in sample_motions(mechanism))
    poses = [_precise_reference(mechanism) or reference, *others]
    return [ElementGeometry(mechanism.robot, each) for each in poses]


# The poses of all bodies in double and with 50 digits differ by less, over the robot's size or in rad.
_NEAR = 1e-9


@physics(x=pose_shape, y=unknowns_shape)
def body_poses(robot: Robot, x: Array, y: Array) -> Array:
    """Poses of all bodies (bodies, 3, 4), [R p]."""
    poses = configuration(robot, x, y).motion.poses
    return np.stack([np.column_stack([pose.R, pose.p]) for pose in poses])


@lru_cache(maxsize=64)
def _precise_reference(mechanism: Mechanism) -> tuple[Pose, ...] | None:
    """Poses of all bodies at the reference, solved with 50 digits; None if they are not found."""
    values = values_at_reference(mechanism.robot, body_poses)
    if values is None:
        return None
    poses = np.array([float(value) for value in values]).reshape(-1, 3, 4)
    known = np.stack([np.column_stack(pose) for pose in mechanism.assembly.motion.poses])
    if float(np.max(np.abs(poses - known) / [1.0, 1.0, 1.0, mechanism.robot.size])) > _NEAR:
        return None
    return tuple(Pose(pose[:, :3], pose[:, 3]) for pose in poses)


@lru_cache(maxsize=64)
def leg_layout(mechanism: Mechanism) -> ElementLayout:
    """The variables of the legs alone.

    Raises:
        UncoveredError: if the legs are not made of elements.
    """
    robot, legs = mechanism.robot, element_legs(mechanism)
    for leg in legs:
        for j in (leg.driver, leg.prismatic):
            if j is not None and j >= robot.tree:
                raise UnsupportedElementsError(
                    f"leg {leg.leg.name!r} is cut at its joint {robot.joints[j].name}; describe it "
                    "from the base to the platform"
                )
    samples = sample_geometries(mechanism)
    for leg in legs:
        if min((_shortest(at, leg) for at in samples), default=1.0) <= _SAME * robot.size:
            raise UnsupportedElementsError(f"leg {leg.leg.name!r} has an element of no length")
    variables: list[StateVariable] = []
    directions: dict[tuple[int, int], str] = {}
    for index, leg in enumerate(legs):
        variables += _driven_variables(index, leg)
        groups = _parallel_rods(leg, samples)
        for count, members in enumerate(groups, start=1):
            what = "strut" if leg.prismatic is not None else "rod" if len(groups) == 1 else f"rod{count}"
            name, body = f"{leg.leg.name}_{what}", leg.rods[members[0] - leg.first_bar].body
            variables.append(StateVariable(name, "direction", index, members[0], body))
            directions |= dict.fromkeys(((index, position) for position in members), name)
        if leg.prismatic is not None:
            name, body = f"{leg.leg.name}_length", leg.rods[0].body
            variables.append(StateVariable(name, "length", index, leg.prismatic, body))
        if leg.has_arm:
            directions[index, 0] = f"{leg.leg.name}_arm"
    sizes = [np.abs(at.lines(legs[k])[position].x) for at in samples for k, position in directions]
    largest = np.max(sizes, axis=0) if sizes else np.ones(3)
    axes = tuple(axis for axis in range(3) if largest[axis] > _SAME)
    return ElementLayout(mechanism, legs, tuple(variables), axes, directions)


def _shortest(at: ElementGeometry, leg: ElementLeg) -> float:
    """The length of the shortest element of a leg that has a direction, m; without any 1."""
    lengths = [float(np.linalg.norm(np.subtract(*at.ends(leg, rod)))) for rod in leg.bars]
    if leg.has_arm:
        lengths.append(float(np.linalg.norm(at.arm(leg))))
    return min(lengths, default=1.0)


def _driven_variables(index: int, leg: ElementLeg) -> Iterator[StateVariable]:
    """The variable of the driven bar, slider or shaft of a leg that has one."""
    if leg.driver is not None:
        body, name = leg.elements[0].body, leg.leg.name
        if leg.has_arm:
            yield StateVariable(f"{name}_arm", "direction", index, 0, body)
        else:
            what = "shaft" if leg.form == "shaft" else "slide"
            yield StateVariable(f"{name}_{what}", "coordinate", index, leg.driver, body)


def _parallel_rods(leg: ElementLeg, samples: list[ElementGeometry]) -> list[list[int]]:
    """The places of a leg's rods or of its strut among its elements, those together that stay parallel."""
    directions = np.array([[line.x for line in at.lines(leg)] for at in samples], dtype=float)
    groups: list[list[int]] = []
    for position in range(leg.first_bar, len(leg.elements)):
        apart = np.max(np.abs(directions - directions[:, [position]]), axis=(0, 2))
        group = next((group for group in groups if apart[group[0]] < _SAME), None)
        if group is None:
            groups.append([position])
        else:
            group.append(position)
    return groups
