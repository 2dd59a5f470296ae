"""Kinematic elements ([OAM] section 3): bars, spindles, telescopic elements and screws, and legs of them.

An element has an input point A, a direction x (3,), a length d and a spin theta about x; those of them that
move are its motion basis ([OAM] (26)). A leg is one of

    bars           a driven bar or slider and one or more rods to the nacelle     RRR PRR RUS PUS R[SS|SS]
    strut          a telescopic element between two joints                        UPS SPS RPS RPR UPU
    shaft          the same, turned by a motor: the screw of [OAM] (8)            RUPU
    plane          a slider with a spherical joint on a face of the nacelle       PC5
    parallelogram  a driven bar or slider, a hub, and two bars side by side       PRPaR RRPaR

and its last element is its part of the nacelle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from nacelle.kinematics.elements.rates import Rate
from nacelle.kinematics.legs.parallelogram import Parallelogram
from nacelle.model.leg import Leg

# States of an element that are vectors (3,); the others are numbers.
_VECTORS = ("A", "x")


class FrameAxis(NamedTuple):
    """An axis of a joint's frame: column of the frame on the successor, or on the predecessor."""

    joint: int
    on_successor: bool
    column: int


@dataclass(frozen=True)
class Hold:
    """What holds an element at one end.

    Attributes:
        letter: "R", "U" or "S".
        joints: one joint, or two revolutes that act as a universal joint.
        cross: the body between those two; None for one joint.
        before: axis fixed to the body before; None for a spherical joint.
        behind: axis fixed to the body behind; None for a spherical joint.
    """

    letter: str
    joints: tuple[int, ...]
    cross: int | None
    before: FrameAxis | None
    behind: FrameAxis | None

    @property
    def axes(self) -> tuple[FrameAxis, FrameAxis]:
        """The axes fixed to the body before and to the body behind, which a spherical joint does not have."""
        assert self.before is not None
        assert self.behind is not None
        return self.before, self.behind


@dataclass(frozen=True)
class ElementRod:
    """A bar or strut with its two ends.

    Attributes:
        body: the body at its input; of a strut the part that does not slide.
        hold: what holds it at its input.
        end: what holds it at its output, seen from the element.
        tip: the joint at its output.
        nacelle: the body of the nacelle there.
    """

    body: int
    hold: Hold
    end: Hold
    tip: int
    nacelle: int


@dataclass(frozen=True)
class KinematicElement:
    """A kinematic element ([OAM] section 3.1).

    Attributes:
        name: its name.
        letter: "B", "Sp", "T" or "S".
        body: the body that it is, or that slides in it.
        basis: which of its states move: "x", "d", "theta", and "A" where no other element gives it.
        share: the part of the body's wrenches that it carries: 1, or 1/k of a nacelle.
    """

    name: str
    letter: str
    body: int
    basis: tuple[str, ...]
    share: float = 1.0


class NacellePart(NamedTuple):
    """A part of the nacelle that a leg carries.

    Attributes:
        element: it, last in the leg.
        joint: the joint at its input.
        neighbour: the body of the nacelle that it hangs on; None if on the leg itself.
    """

    element: KinematicElement
    joint: int
    neighbour: int | None


@dataclass(frozen=True)
class ElementLeg:
    """A leg as elements.

    Attributes:
        leg: the leg.
        form: "bars", "strut", "shaft", "plane" or "parallelogram".
        driver: the joint between the base and the first body; None for a strut.
        rods: bars, or the strut.
        prismatic: the slide of a strut; None elsewhere.
        moving: the body that slides in a strut.
        flip: -1.0 if the slide's axis points towards the strut's input, else 1.0.
        fold: the joints of a parallelogram.
        elements: its own elements, from the base on.
        parts: its parts of the nacelle.
    """

    leg: Leg
    form: str
    driver: int | None
    rods: tuple[ElementRod, ...]
    prismatic: int | None = None
    moving: int | None = None
    flip: float = 1.0
    fold: Parallelogram | None = None
    elements: tuple[KinematicElement, ...] = ()
    parts: tuple[NacellePart, ...] = ()

    @property
    def all_elements(self) -> tuple[KinematicElement, ...]:
        """Its own elements, then its parts of the nacelle."""
        return (*self.elements, *(part.element for part in self.parts))


def split_states(elements: tuple[KinematicElement, ...], u: Rate) -> list[dict[str, Rate]]:
    """The rates of elements by the names of their states, out of their motion basis u."""
    states, start = [], 0
    for element in elements:
        own = {}
        for name in element.basis:
            own[name] = u[start : start + 3] if name in _VECTORS else u[start]
            start += 3 if name in _VECTORS else 1
        states.append(own)
    return states
