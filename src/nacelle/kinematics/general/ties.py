"""Ties: what closures and rods demand of the rates of a leg, row by row, in local axes.

    sum over rates of M_ik u_k = g_i(w)          rates u of the leg, rates w of the nacelle

A joint that closes a loop locks some components of the velocity v_rel and of the angular velocity w_rel of
its second side relative to the first: a row f . v_rel + n . w_rel = 0 for each, [f; n] its direction. What
the leg's own rates move of it is the left side, M_ik that of rate k alone, and what the nacelle moves is g_i.
Rows of a closure onto the nacelle are written in the axes of the leg's last link, those of a loop inside a
leg in the axes of the last link that both sides have in common. A multiplier of a row (N or N m) is the force
that the other side puts on the leg along it. `tie_rows` writes the rows, `tie_motion` has their right-hand
sides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import NamedTuple

import numpy as np

from nacelle.kinematics.general.bars import Bar
from nacelle.kinematics.general.leg_trees import LegTrees
from nacelle.kinematics.general.vectors import ZERO
from nacelle.spatial.scalar import Array, Scalar


class GivenLine(NamedTuple):
    """How a rod or strut moves, where that is given and not found from its ends; base axes, (3,) each.

    Attributes:
        direction: its direction x with first and second derivative (3, 3).
        r: B - A, m.
        v: its derivative, m/s.
        a: its second derivative, m/s^2.
        a_start: acceleration of A, m/s^2.
        length: of a strut, with its derivatives (3,).
    """

    direction: Array
    r: Array
    v: Array
    a: Array
    a_start: Array
    length: Array | None = None

    def through(self, change: Callable[[Array], Array]) -> GivenLine:
        """The same line with all its vectors changed, to other axes."""
        r, v, a, start = (change(vector) for vector in (self.r, self.v, self.a, self.a_start))
        return GivenLine(np.stack([change(row) for row in self.direction]), r, v, a, start, self.length)


@dataclass(frozen=True)
class MassPointRod:
    """A body between two spherical joints that is three masses: at A, at B and between them.

    Attributes:
        body: its index.
        joint: the tree joint at A.
        closure: the closure at B.
        bodies: the bodies that carry A and B.
        points: A and B in the frames of these bodies.
        masses: at A, at B, and between them, kg.
        length2: square of the distance of A and B, m^2.
        rubs: whether its joints have friction.
    """

    body: int
    joint: int
    closure: int
    bodies: tuple[int, int]
    points: tuple[Array, Array]
    masses: tuple[Scalar, Scalar, Scalar]
    length2: Scalar
    rubs: bool = False

    def resists_rotation(self, friction: bool) -> bool:
        """Whether its rotation requires something: friction at its ends, where that counts."""
        return friction and self.rubs


@dataclass(frozen=True, eq=False)
class TieRow:
    """One row.

    Attributes:
        coefficients: M_ik by rate.
        kind: "point" (along the locked point), "offset", "angular", "cross", "rod", "strut", "spin",
            "coupling".
        force: direction (3,) along which the nacelle's point is felt, in the tie's axes.
        moment: the same for the nacelle's angular velocity.
    """

    coefficients: dict[int, Scalar]
    kind: str
    force: Array = field(default_factory=lambda: ZERO)
    moment: Array = field(default_factory=lambda: ZERO)


@dataclass(frozen=True, eq=False)
class Tie:
    """The rows of a closure, a rod or an idle spin, at a configuration.

    Attributes:
        axes: node in whose axes the rows are written.
        rows: the rows.
        body: nacelle body on the other side; None if there is none.
        local: the nacelle's point in the body's frame, where it is fixed there; else None.
        point: the nacelle's point, base axes; None inside a leg.
        node: the leg's node.
        own: the leg's point (3,) in the axes of its node, m.
        other: for a loop inside a leg the other node and its point.
        joint: index of the joint, of a rod its closure; -1 for a spin.
        first: whether the leg carries the joint's first frame, or the first end of a rod.
        arms: unit vectors e (on the first) and f (on the second side) of a universal joint, tie axes.
        free: axis of the only free rotation, where it is constant in the tie's axes.
        link: the rod or bar that the row belongs to.
        foot: a constant point of a strut's line, base axes, where moments are counted from such points.
        line: how a rod or strut moves, in the tie's axes, where that is given.
    """

    axes: int
    rows: tuple[TieRow, ...]
    _: KW_ONLY
    body: int | None = None
    local: Array | None = None
    point: Array | None = None
    node: int = 0
    own: Array = field(default_factory=lambda: ZERO)
    other: tuple[int, Array] | None = None
    joint: int = -1
    first: bool = True
    arms: tuple[Array, Array] | None = None
    free: Array | None = None
    link: MassPointRod | Bar | None = None
    foot: Array | None = None
    line: GivenLine | None = None

    @property
    def is_coupling(self) -> bool:
        """Whether it couples coordinates, and joins no points."""
        return self.rows[0].kind == "coupling"

    @property
    def bar(self) -> Bar | None:
        """The bar that the row belongs to."""
        return self.link if isinstance(self.link, Bar) else None

    @property
    def held(self) -> tuple[int, Array]:
        """The nacelle body on the other side, and the point (3,), m, that is fixed in its frame."""
        assert self.body is not None
        assert self.local is not None
        return self.body, self.local

    def hangs(self, trees: LegTrees) -> bool:
        """Whether a side of it hangs on the nacelle, and the other does not hang on the same body."""
        return (
            self.other is not None
            and self.axes == 0
            and any(trees.root(node) is not None for node in (self.node, self.other[0]))
        )

    def sides(self, trees: LegTrees) -> list[tuple[int, Array, float]]:
        """Nacelle bodies that a loop's sides hang on, the point (3,), base axes, m, and the rows' sign."""
        if not self.hangs(trees):
            return []
        assert self.other is not None
        hung = []
        for (node, point), sign in (((self.node, self.own), -1.0), (self.other, 1.0)):
            body = trees.root(node)
            if body is not None:
                hung.append((body, trees.point(node, point), sign))
        return hung
