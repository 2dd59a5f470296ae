"""A leg as a strut or a driven rod, known by the line between two points.

A *strut* is joined to the base at A and changes its length; a *rod* of constant length hangs on an arm or
slider at A. Both end on the nacelle at B and lie along r = B - A. A universal joint at A has a first axis a
that is fixed in the base; the bodies on it are known in the axes

    e_1 = a x r / |a x r|,   e_2 = e_3 x e_1,   e_3 = r / |r|

and with a spherical or revolute joint at A in axes with the same e_3. Numbers may be symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from nacelle.kinematics.legs.axes import TOLERANCE
from nacelle.model.joint import FrictionTerm, Joint, JointKind
from nacelle.spatial.pose import Pose
from nacelle.spatial.rounding import CANCELLED, first_largest, first_smallest
from nacelle.spatial.scalar import (
    Array,
    Scalar,
    at_sample,
    cross,
    divide,
    norm,
    pack,
    plus,
    product,
    settled,
)

# Numbers below this part of their neighbours are rounding: sines of right angles, products of inertia.
ROUNDING = CANCELLED


class UnreadError(Exception):
    """A leg is neither a strut nor a driven rod; the message says why."""


@dataclass(frozen=True)
class ActuatedJoint:
    """The actuated joint of a leg.

    Attributes:
        number: of the actuator.
        joint: the joint: friction, rotor and spring.
        revolute: whether it is revolute.
        zero: for a strut, q = length * side + zero, m.
        side: for a strut, 1 if the joint's axis points from A to B, else -1.
    """

    number: int
    joint: Joint
    revolute: bool
    side: float = 1.0
    zero: Scalar = 0.0

    def friction(self) -> tuple[FrictionTerm, ...]:
        """Friction terms of the axis."""
        return self.joint.friction[0] if self.joint.friction else ()


@dataclass(frozen=True)
class Passive:
    """Friction of the axes at A, and of the joint at B.

    Attributes:
        first: of the first axis of a universal joint, or of a hinge.
        second: of its second axis.
        spherical: of a spherical joint at A.
        side: 1 if the second axis points along e_1, else -1.
        end: of the joint at B.
        end_kind: kind of the joint at B.
        end_side: 1 if the platform follows the leg in the joint, else -1.
        still: of joints that turn about the first axis against what does not turn (wrist of a parallelogram).
    """

    first: tuple[FrictionTerm, ...]
    second: tuple[FrictionTerm, ...]
    spherical: tuple[FrictionTerm, ...]
    side: float
    end: tuple[FrictionTerm, ...]
    end_kind: JointKind
    end_side: float
    still: tuple[FrictionTerm, ...] = ()


@dataclass(frozen=True)
class Carriage:
    """The driven body of a rod, which carries A; of a strut all is zero.

    Attributes:
        elbow: A in the frame behind the drive.
        arm: for an arm, its length from the axis to A, m; else 0.
        start: for an arm, its unit direction at q = 0 (3,); base.
        parameters: ten parameters: of a slider in its own frame; of an arm about the axis at the centre of
            the circle of A, first axis along the arm and third along the axis.
    """

    elbow: Array = field(default_factory=lambda: np.zeros(3))
    arm: Scalar = 0.0
    start: Array = field(default_factory=lambda: np.zeros(3))
    parameters: Array = field(default_factory=lambda: np.zeros(10))


@dataclass(frozen=True, kw_only=True)
class LegForm:
    """A leg as a strut or a driven rod.

    Attributes:
        name: of the leg.
        kind: "strut" or "rod".
        joint_at_a: type of the joint at A: "U", "S" or "R".
        A: the anchor of a strut; for a slider A at q = 0; for an arm the centre of the circle of A. Base.
        B: the anchor on the nacelle (3,), in the axes of its body, m.
        body: the nacelle's body that carries it.
        axis: of the drive (rods): its unit direction, prismatic or revolute (3,); base.
        first: first axis at A, or the axis of the hinge, unit vector (3,); base.
        length: of a rod, m; 0 for a strut.
        tube: ten parameters of the bodies of a strut that do not slide, about A, in e_1, e_2, e_3.
        rod: ten parameters of the rod about A, of a strut's sliding bodies about B.
        cross: inertia of bodies behind the first axis alone, about it, kg m^2.
        carriage: the driven body of a rod.
        drive: the actuator.
        passive: friction.
    """

    name: str
    kind: str
    joint_at_a: str
    A: Array
    B: Array
    body: int
    axis: Array = field(default_factory=lambda: np.zeros(3))
    first: Array
    length: Scalar = 0.0
    tube: Array = field(default_factory=lambda: np.zeros(10))
    rod: Array
    cross: Scalar
    carriage: Carriage = field(default_factory=Carriage)
    drive: ActuatedJoint
    passive: Passive


def clean(values: Array, scale: float | None = None) -> Array:
    """Set to zero what is rounding beside the largest entry (or a scale).

    Symbols of numbers that are given at run time are cleaned at their sample; others stay as they are.
    """
    if values.dtype == object:
        return _clean_symbols(values, scale)
    size = float(np.max(np.abs(values), initial=0.0)) if scale is None else scale
    rounded = np.where(np.abs(values) < ROUNDING * size, 0.0, values)
    for whole in (1.0, -1.0):
        rounded = np.where(np.abs(rounded - whole) < ROUNDING, whole, rounded)
    return np.asarray(rounded)


def _clean_symbols(values: Array, scale: float | None) -> Array:
    values = settled(values)
    if values.dtype != object:
        return clean(values, scale)
    try:
        numbers = at_sample(values)
    except TypeError:
        return values
    fixed = clean(numbers, scale)
    # What is zero or one at the sample is so for good; other numbers stay symbols.
    flat = [f if f in (0.0, 1.0, -1.0) else v for v, f in zip(values.ravel(), fixed.ravel(), strict=True)]
    return pack(flat).reshape(values.shape)


def clean_parameters(p: Array) -> Array:
    """Ten parameters [m, m c (3), I (6)] with rounding set to zero, each beside its like."""
    return pack([*settled(p[:1]), *clean(p[1:4]), *clean(p[4:])])


def leg_axes(form: LegForm) -> Array:
    """Axes (3, 3), columns in the base, in which a leg is written: the base's, or [a x u, a, u].

    a (3,) is the first axis at A, of a rod between spherical joints that of the drive; u is perpendicular to
    it.
    """
    a = form.axis if form.joint_at_a == "S" and form.kind == "rod" else form.first
    if form.joint_at_a == "S" and form.kind == "strut":
        return np.eye(3)
    number = at_sample(a)
    k = first_largest(np.abs(number))
    if abs(abs(number[k]) - 1.0) < TOLERANCE:
        return np.eye(3)
    level = [j for j in range(3) if abs(number[j]) < TOLERANCE]
    up = np.eye(3)[level[-1]] if level else cross(a, np.eye(3)[first_smallest(np.abs(number))])
    up = up / norm(up)
    return np.stack([cross(a, up), a, up], axis=1)


def alike(axes: list[Array]) -> list[Array]:
    """Axes (3, 3) with entries that differ by rounding alone made equal: legs share products with them."""
    cleaned = [clean(Q) for Q in axes]
    return cleaned if any(Q.dtype == object for Q in cleaned) else alike_entries(cleaned, 1.0)


def alike_entries(arrays: list[Array], scale: float) -> list[Array]:
    """Arrays whose entries of one size, but for rounding beside a scale, become equal to the first."""
    sizes: list[float] = []
    equalised = []
    for array in arrays:
        entries = []
        for value in np.ravel(array):
            same = next((size for size in sizes if abs(size - abs(value)) < ROUNDING * scale), None)
            if same is None:
                same = abs(float(value))
                sizes.append(same)
            entries.append(float(np.copysign(same, value)))
        equalised.append(np.array(entries).reshape(array.shape))
    return equalised


def carriage_of(
    frame: Pose, elbow: Array, revolute: bool, parameters: Callable[[Array], Array]
) -> tuple[Array, Carriage]:
    """Where a driven body carries A, base axes (`LegForm.A`), and the body.

    Args:
        frame: of the drive in the base, which moves along or about its z.
        elbow: A in the frame behind the drive.
        revolute: whether the drive is revolute.
        parameters: gives the body's ten parameters in axes behind the drive.
    """
    if not revolute:
        A = plus(frame.p, product(frame.R, elbow))
        return np.asarray(A), Carriage(elbow, parameters=parameters(np.eye(3)))
    radius = norm(elbow[:2])
    along = pack([elbow[0], elbow[1], 0.0]) * divide(1.0, radius)
    up = np.array([0.0, 0.0, 1.0])
    axes = np.stack([along, cross(up, along), up], axis=1)
    centre = frame.p + elbow[2] * frame.R[:, 2]
    return centre, Carriage(elbow, radius, product(frame.R, along), parameters(axes))
