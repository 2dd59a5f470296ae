"""The closed forms of inverse kinematics: which legs have one.

A leg that is a chain of revolute and prismatic joints about z (R, P) and spherical ones (S), with constant
frames X_0, X_1, ... before, between and behind them (`chain`), ends at a joint that holds a point W of the
nacelle:

    U P, S P             telescopic legs: the length is a distance            UPS, SPS
    R U, P U, R S, P S   a driven elbow at a constant distance from W         RUS, PUS, RSS, PSS
    R R, P R, R P        the same in a plane                                  RRR, PRR, RPR
    U R                  a plane that turns, with two links in it             URU

Two revolute joints whose axes cross act as a universal one (U). A strut or rod on a spherical joint whose
end is more than a point (SPU, PSU, RSR) has its spin from the closure, and no closed form here. Further forms
are a prismatic joint up to a plane (P-C5), three prismatic joints and a spherical one (PSPP), rods side by
side on an arm or slider, and the same with a parallelogram. `solution` solves them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nacelle.kinematics.legs.axes import TOLERANCE, crossing, parallel, perpendicular
from nacelle.kinematics.legs.chain import LegChain, centred
from nacelle.model.joint import JointKind
from nacelle.model.leg import Leg
from nacelle.model.robot import Robot

_C5 = (JointKind.PLANAR_SPHERICAL, JointKind.SPHERICAL_PLANAR)
_HOLDS_POINT = (JointKind.REVOLUTE, JointKind.UNIVERSAL, JointKind.SPHERICAL, JointKind.POINT)


@dataclass(frozen=True)
class ClosedForm:
    """A closed form.

    Attributes:
        kind: "strut" for a leg whose last joint sets its length, "rod" for one of constant length on a driven
            first joint, "other".
        free_joint: the joint about which a strut or rod turns freely: "U", "S" or "R"; empty for others.
        roots: number of roots, without those of rods side by side.
        fits: whether a chain of floats has this form, in a robot of a size; None if it is not one of a chain.
    """

    kind: str
    free_joint: str
    roots: int
    fits: Callable[[LegChain, float], bool] | None = None

    def centred(self, chain: LegChain) -> LegChain:
        """A chain with the frames of its universal joint moved to the centre of the joint."""
        return centred(chain, 1 if self.kind == "rod" else 0) if self.free_joint == "U" else chain


def _elbow_in_plane(chain: LegChain, size: float) -> bool:
    across = {"RR": parallel, "PR": perpendicular}.get(chain.letters)
    return across is not None and across(chain.X[1]) and _planar_end(chain)


def _prismatic_in_plane(chain: LegChain, size: float) -> bool:
    return chain.letters == "RP" and perpendicular(chain.X[1]) and _planar_end(chain)


def _planar_end(chain: LegChain) -> bool:
    """Whether the end of a planar chain is a point, or turns about an axis across the plane."""
    if chain.target.kind is JointKind.REVOLUTE:
        return parallel(chain.X[-2] @ chain.X[-1] if chain.letters[-1] == "P" else chain.X[-1])
    return chain.target.kind is JointKind.POINT


def _free_end(chain: LegChain) -> bool:
    """Whether a leg on a spherical joint is held at a point alone: no closure gives its spin."""
    return chain.target.kind in (JointKind.SPHERICAL, JointKind.POINT)


# In this order: the first form that fits is taken.
FORMS = {
    "elbow-universal": ClosedForm(
        "rod", "U", 2, lambda c, size: c.letters in ("RRR", "PRR") and crossing(c.X[2], size)
    ),
    "universal-revolute": ClosedForm(
        "other", "U", 2, lambda c, size: c.letters == "RRR" and crossing(c.X[1], size) and parallel(c.X[2])
    ),
    "universal-prismatic": ClosedForm(
        "strut", "U", 2, lambda c, size: c.letters == "RRP" and crossing(c.X[1], size)
    ),
    "elbow-spherical": ClosedForm("rod", "S", 1, lambda c, size: c.letters in ("RS", "PS") and _free_end(c)),
    "spherical-prismatic": ClosedForm("strut", "S", 1, lambda c, size: c.letters == "SP" and _free_end(c)),
    "elbow-revolute": ClosedForm("rod", "R", 1, _elbow_in_plane),
    "revolute-prismatic": ClosedForm("strut", "R", 1, _prismatic_in_plane),
    "prismatic-planar": ClosedForm("other", "", 0),
    "three-prismatic": ClosedForm("other", "", 0),
    "rods": ClosedForm("other", "", 1),
    "parallelogram": ClosedForm("other", "", 2),
}


def chain_form(chain: LegChain, size: float) -> str:
    """Name of the closed form of a chain of floats; empty if it has none."""
    if chain.target.kind in _C5:
        return "prismatic-planar" if chain.letters == "P" else ""
    if chain.target.kind not in _HOLDS_POINT:
        return ""
    return next((name for name, form in FORMS.items() if form.fits and form.fits(chain, size)), "")


def askew(chain: LegChain, form: ClosedForm, size: float) -> str:
    """Why a strut or rod (floats) does not lie straight on its free joint, in words; empty if it does."""
    X, is_pair = form.centred(chain).X, form.free_joint == "U"
    if form.kind == "strut":
        end, along = (X[-2] @ X[-1]).p * ([1.0, 1.0, 0.0] if form.free_joint == "R" else 1.0), X[-2].R[:, 2]
        if float(np.linalg.norm(np.cross(end, along))) > TOLERANCE * size:
            return "the line along its slide through its end misses the joint on the base"
    else:
        along = X[-1].p / size
        if is_pair and chain.letters[0] == "R" and not parallel(X[1]):
            return "the first axis of its universal joint turns with its arm"
    if is_pair and abs(float(along[2])) > TOLERANCE:
        return "it is not perpendicular to the second axis of its universal joint"
    return ""


def is_three_prismatic(robot: Robot, leg: Leg) -> bool:
    """Whether a leg is three prismatic joints and a spherical one: everything is linear in their lengths."""
    if len(leg.closures) != 1 or robot.joints[leg.closures[0]].kind is not JointKind.SPHERICAL:
        return False
    kinds = [robot.joints[j].kind for j in leg.joints if robot.joints[j].kind is not JointKind.FIXED]
    return kinds == [JointKind.PRISMATIC] * 3
