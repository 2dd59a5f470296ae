"""Legs that share their parameters, as a description or a caller names them.

    legs                              identical legs share theirs
    mirrored                          mirror images of the first of such legs share its own, with signs
    [[a, b], [c, mirror d]]           legs that are named; d is the mirror image of c

Sharing is a statement about which numbers are one. Forces do not depend on it, so it is no part of the hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nacelle.errors import did_you_mean
from nacelle.model.data import RobotData
from nacelle.model.leg import Leg

SHARING_MODES = ("legs", "mirrored")
# Which parameters of such legs are one: all, or those of bodies and rotors alone.
SHARED_KINDS = ("all", "inertia")
_MIRROR = "mirror "


class NamedLeg(NamedTuple):
    """A leg in a list of legs that share parameters.

    Attributes:
        name: of the leg.
        mirrored: whether it is the mirror image of the first leg of the list.
    """

    name: str
    mirrored: bool


def named_leg(text: str) -> NamedLeg:
    """The leg that an entry of a list names: "right", or "mirror right"."""
    mirrored = text.startswith(_MIRROR)
    return NamedLeg(text.removeprefix(_MIRROR).strip() if mirrored else text, mirrored)


class SharingFault(NamedTuple):
    """What is wrong with lists of legs.

    Attributes:
        path: of the list, and of the leg in it where it is one leg's.
        message: what is wrong.
        hint: what may help.
    """

    path: tuple[int, ...]
    message: str
    hint: str = ""


def sharing_faults(robot: RobotData, lists: Sequence[Sequence[str]]) -> list[SharingFault]:
    """What is wrong with lists of names of legs that share parameters; values are not compared."""
    legs = {leg.name: leg for leg in robot.legs}
    faults, known = [], set()
    for i, group in enumerate(lists):
        names = [named_leg(text) for text in group]
        for k, (name, mirrored) in enumerate(names):
            if name not in legs:
                faults.append(SharingFault((i, k), f"no leg is called {name!r}", did_you_mean(name, legs)))
            elif name in known:
                faults.append(SharingFault((i, k), f"leg {name!r} is listed twice", "a leg is in one list"))
            elif k == 0 and mirrored:
                hint = "write 'mirror' before the others"
                faults.append(
                    SharingFault((i, k), "the first leg of a list is the one that is mirrored", hint)
                )
            elif k and names[0].name in legs:
                reason = structure_difference(robot, legs[names[0].name], legs[name])
                if reason:
                    faults.append(SharingFault((i, k), reason, "legs that share parameters are built alike"))
            known.add(name)
        if len(names) < 2:
            faults.append(SharingFault((i,), "a list of legs that share parameters has two legs or more"))
    return faults


def structure_difference(robot: RobotData, first: Leg, second: Leg) -> str:
    """A message that says why legs have different bodies and joints; empty if they have the same."""
    parts, other_parts = _structure(robot, first), _structure(robot, second)
    for (name, kind), (other_name, other_kind) in zip(parts, other_parts, strict=False):
        if name != other_name:
            return f"{first.name} has {name!r} where {second.name} has {other_name!r}"
        if kind != other_kind:
            return f"{name!r} is {kind} in {first.name} and {other_kind} in {second.name}"
    if len(parts) != len(other_parts):
        return f"{first.name} has {len(parts)} bodies and joints, {second.name} has {len(other_parts)}"
    return ""


def _structure(robot: RobotData, leg: Leg) -> list[tuple[str, str]]:
    """Names, less the leg's, and kinds of the bodies and joints of a leg."""
    bodies = [(robot.bodies[body].name.removeprefix(f"{leg.name}."), "a body") for body in leg.bodies]
    joints = [robot.joints[joint] for joint in (*leg.joints, *leg.closures)]
    return [*bodies, *((joint.name.removeprefix(f"{leg.name}."), str(joint.kind)) for joint in joints)]
