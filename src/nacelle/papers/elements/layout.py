"""The variables of a robot's element state ([OAM] (66), (67)): directions, lengths and angles of its legs.

A leg is a chain of kinematic elements (`structure`), each with a direction x (3,), a length d and a spin
theta. What of them moves, and is not decided by the element's own joint, is a variable:

    arm       x       a driven bar on a revolute joint: perpendicular to its axis, towards the next element
    slide     d       a driven slider: the coordinate of its joint
    rod       x       a bar from the driven element to the nacelle; rods that stay parallel are one variable
    strut     x       a telescopic element; with its length d from the joint at its input to the one beyond
    shaft     theta   a spindle that a motor turns: the coordinate of its joint

The spin of an element between universal joints follows from its direction (`docs/vision.md`), that between
spherical joints is idle. Where the ends of the legs do not place the nacelle (`placement`), a point of a body
of the nacelle and the directions of two of its axes are variables, too: the split platform of [OAM] figure 2,
whose parts all have the same motion. Every variable comes with its first and second derivative; base axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.kinematics.mechanism.assembly import generic_poses
from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.model.joint import JointKind
from nacelle.model.robot import Robot
from nacelle.papers.elements.reading import UncoveredError, element_legs
from nacelle.papers.elements.structure import ElementGeometry, ElementLeg
from nacelle.spatial.scalar import Array

# Directions that differ by less at sample poses are one.
_SAME = 1e-9
# In place of the number of a rod: the driven bar.
ARM = -1


class StateVariable(NamedTuple):
    """A variable of the element state.

    Attributes:
        name: as an input of models: the leg's name and what it is.
        kind: "direction", "length", "coordinate" (of a joint) or "point".
        leg: index of the leg; -1 for the nacelle.
        number: of a direction the rod's number (`ARM`: the driven bar), of the nacelle the axis of its body;
            of a coordinate the joint.
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
        of_rod: by leg and number of a rod (`ARM`: the driven bar) the name of its direction.
    """

    mechanism: Mechanism
    legs: tuple[ElementLeg, ...]
    variables: tuple[StateVariable, ...]
    axes: tuple[int, ...]
    of_rod: Mapping[tuple[int, int], str] = field(default_factory=dict)

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes: (3, components) or (3,), each row or entry a derivative."""
        return {v.name: (3, self.size(v)) if v.is_vector else (3,) for v in self.variables}

    def size(self, variable: StateVariable) -> int:
        """Number of components of a vector."""
        return len(self.axes) if variable.kind == "direction" else 3

    def named(self, name: str) -> StateVariable:
        """A variable by its name."""
        return next(v for v in self.variables if v.name == name)


def sample_geometries(mechanism: Mechanism) -> list[ElementGeometry]:
    """The robot's elements at the reference and at some poses around it."""
    robot = mechanism.robot
    motions = [mechanism.assembly.motion, *(motion for motion, _ in generic_poses(robot, mechanism.assembly))]
    return [ElementGeometry(robot, motion.poses) for motion in motions]


@lru_cache(maxsize=64)
def leg_layout(mechanism: Mechanism) -> ElementLayout:
    """The variables of the legs alone.

    Raises:
        UncoveredError: if the legs are not made of elements.
    """
    legs = element_legs(mechanism)
    for leg in legs:
        for j in (leg.driver, leg.prismatic):
            if j is not None and j >= mechanism.robot.tree:
                raise UncoveredError(
                    f"leg {leg.leg.name!r} is cut at its joint {mechanism.robot.joints[j].name}; describe it "
                    "from the base to the nacelle"
                )
    samples = sample_geometries(mechanism)
    for leg in legs:
        if not _has_lengths(mechanism, leg, samples):
            raise UncoveredError(f"leg {leg.leg.name!r} has an element of no length")
    variables: list[StateVariable] = []
    of_rod: dict[tuple[int, int], str] = {}
    for k, leg in enumerate(legs):
        for variable in _leg_variables(mechanism.robot, k, leg, samples):
            if variable.kind == "direction":
                for number in _alike(leg, variable.number, samples):
                    of_rod[k, number] = variable.name
            variables.append(variable)
    directions = [v for v in variables if v.kind == "direction"]
    size = (
        [
            max(
                abs(float(bar_direction(at, legs[v.leg], v.number)[axis]))
                for at in samples
                for v in directions
            )
            for axis in range(3)
        ]
        if directions
        else [1.0] * 3
    )
    axes = tuple(axis for axis in range(3) if size[axis] > _SAME)
    return ElementLayout(mechanism, legs, tuple(variables), axes, of_rod)


def _has_lengths(mechanism: Mechanism, leg: ElementLeg, samples: list[ElementGeometry]) -> bool:
    """Whether all elements of a leg are so long that they have a direction."""
    lengths = []
    for at in samples:
        for rod in leg.rods if leg.form != "plane" else ():
            A, B = at.ends(leg, rod)
            lengths.append(float(np.linalg.norm(B - A)))
        driven = None if leg.driver is None else mechanism.robot.joints[leg.driver].kind
        if driven is JointKind.REVOLUTE and leg.form != "shaft" and leg.driver is not None:
            F = at.frame(leg.driver)
            arm = at.ends(leg, leg.rods[0])[0] - F.p
            lengths.append(float(np.linalg.norm(np.cross(F.R[:, 2], arm))))
    return min(lengths, default=1.0) > _SAME * mechanism.robot.size


def _leg_variables(
    robot: Robot, index: int, leg: ElementLeg, samples: list[ElementGeometry]
) -> Iterator[StateVariable]:
    name = leg.leg.name
    if leg.driver is not None:
        body = leg.elements[0].body
        if leg.form == "shaft":
            yield StateVariable(f"{name}_shaft", "coordinate", index, leg.driver, body)
        elif robot.joints[leg.driver].kind is JointKind.REVOLUTE:
            yield StateVariable(f"{name}_arm", "direction", index, ARM, body)
        else:
            yield StateVariable(f"{name}_slide", "coordinate", index, leg.driver, body)
    if leg.prismatic is not None:
        yield StateVariable(f"{name}_strut", "direction", index, 0, leg.rods[0].body)
        yield StateVariable(f"{name}_length", "length", index, leg.prismatic, leg.rods[0].body)
        return
    if leg.form == "plane":
        return
    own = [k for k in range(len(leg.rods)) if min(_alike(leg, k, samples)) == k]
    for count, k in enumerate(own, start=1):
        suffix = "rod" if len(own) == 1 else f"rod{count}"
        yield StateVariable(f"{name}_{suffix}", "direction", index, k, leg.rods[k].body)


def _alike(leg: ElementLeg, number: int, samples: list[ElementGeometry]) -> list[int]:
    """Rods of a leg that stay parallel to one of them, itself included."""
    if number == ARM:
        return [ARM]
    return [
        k
        for k in range(len(leg.rods))
        if all(
            float(np.max(np.abs(bar_direction(at, leg, k) - bar_direction(at, leg, number)))) < _SAME
            for at in samples
        )
    ]


def bar_direction(at: ElementGeometry, leg: ElementLeg, number: int) -> Array:
    """Unit direction (3,), base axes, of a rod by its number, or of the driven bar (`ARM`)."""
    return at.bar_direction(leg) if number == ARM else at.direction(leg, leg.rods[number])


def in_space(layout: ElementLayout, rows: Array) -> Array:
    """A direction with zeros where a planar robot has no components: (3, 3)."""
    jet = np.zeros((3, 3), dtype=rows.dtype)
    jet[:, list(layout.axes)] = rows
    return jet
