"""The sphere on which the end of a leg lies while its driven joint holds still.

The passive joints of a leg turn its last link about a point, so the end W (3,) keeps its distance from it:

    rod on a driven joint     |W - c(q)| = |d|         c(q) the elbow, behind the driven joint; d the rod
    strut                     |W - A| = |o + q z|      A the foot; o + q z from it to the end, in the strut

q is the coordinate of the driven joint, rad or m; points in the base, m.
"""

from __future__ import annotations

from typing import NamedTuple

from nacelle.kinematics.legs.chain import serial_chain
from nacelle.kinematics.legs.forms import FORMS
from nacelle.kinematics.legs.leg_type import leg_type
from nacelle.kinematics.legs.parallelogram import arm
from nacelle.kinematics.legs.serial import axis_motion
from nacelle.kinematics.legs.solution import rod_chains
from nacelle.kinematics.tree.spanning_tree import Step
from nacelle.model.joint import Joint
from nacelle.model.leg import BASE, Leg
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array, Scalar, dot, product


class Sphere(NamedTuple):
    """Where the end of a leg can be at given coordinates of its driven joint.

    Attributes:
        centre: in the base, m.
        radius2: square of the radius, m^2.
        closure: the closure at the leg's end.
    """

    centre: Array
    radius2: Scalar
    closure: Joint


def driven_joint(robot: Robot, leg: Leg) -> int | None:
    """The joint whose coordinate sets the sphere of a leg's end; None if its closed form has no sphere."""
    form = leg_type(robot, leg).form
    if form in ("rods", "parallelogram"):
        return next(j for j in leg.joints if robot.joints[j].predecessor == BASE)
    return {"rod": leg.joints[0], "strut": leg.joints[-1]}.get(FORMS[form].kind) if form else None


def leg_sphere(robot: Robot, leg: Leg, step: Step) -> Sphere:
    """The sphere on which a leg's end lies, from the step of its driven joint (`driven_joint`)."""
    kind = leg_type(robot, leg)
    if kind.form == "rods":
        root, (first, *_) = rod_chains(robot, leg)
        d = first.X[-1].p
        centre = (robot.joints[root].frame_predecessor @ axis_motion(step) @ first.X[0]).p
        return Sphere(centre, dot(d, d), first.target)
    folded = kind.parallelogram
    if folded is not None:
        X_centre, d = arm(robot, folded)
        centre = (robot.joints[folded.root].frame_predecessor @ axis_motion(step) @ X_centre).p
        return Sphere(centre, dot(d, d), robot.joints[folded.wrist])
    chain, form = serial_chain(robot, leg), FORMS[kind.form]
    assert chain is not None
    X = form.centred(chain).X
    if form.kind == "strut":
        d = X[-2].p + product(X[-2].R, X[-1].p) + step * X[-2].R[:, 2]
        return Sphere(X[0].p, dot(d, d), chain.target)
    d = X[-1].p
    return Sphere((X[0] @ axis_motion(step) @ X[1]).p, dot(d, d), chain.target)
