"""Leg types: what each leg of a robot is, recognised once.

A leg is read from the base to the nacelle (`path`). Single joints that act as one, because their axes meet
within the tolerance of `axes`, count as universal, spherical or cylindrical joints. Inverse kinematics, the
formulations of dynamics and the reports read the legs from here and recognise nothing on their own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from nacelle.kinematics.legs.axes import on_axis, relation
from nacelle.kinematics.legs.chain import LegChain, serial_chain
from nacelle.kinematics.legs.forms import FORMS, askew, chain_form, is_three_prismatic
from nacelle.kinematics.legs.parallelogram import Parallelogram, arm_offset, parallelogram
from nacelle.kinematics.legs.path import Group, Route, is_planar, route
from nacelle.model.joint import LETTERS, JointKind
from nacelle.model.leg import Leg
from nacelle.model.robot import Robot
from nacelle.pictures import Shown

_SPHERICAL = (JointKind.SPHERICAL, JointKind.POINT)
_HOLDS_POINT = (*_SPHERICAL, JointKind.UNIVERSAL)


class LegLink(NamedTuple):
    """A body of a leg between two points: it has two joints, each spherical or universal.

    Attributes:
        body: its index.
        inner: the joint at the end towards the base.
        outer: the joint at the end towards the nacelle.
        spherical: whether both joints are spherical, so that the body may spin about the line between them.
    """

    body: int
    inner: int
    outer: int
    spherical: bool


@dataclass(frozen=True, eq=False)
class LegType(Shown):
    """The type of a leg.

    Attributes:
        name: letters of its joints from base to nacelle, "UPS"; branches in brackets.
        elements: its kinematic elements ([OAM]), "BB"; empty where it has none.
        form: its closed form, one of `forms.FORMS`; empty where it has none.
        reason: why it has no closed form, in words; empty where it has one.
        trunk: its joints from the base on, as far as it is one chain; empty for legs of other shapes.
        branches: the joints of its branches side by side, each to the nacelle; empty for a chain.
        planar: whether it is a chain that moves in a plane.
        parallelogram: the joints of its parallelogram, if it is a leg with one.
        links: its bodies between two points.
        askew: why a strut or rod does not lie straight on its free joint, in words; empty if it does.
    """

    name: str
    elements: str
    form: str
    reason: str
    trunk: tuple[Group, ...]
    branches: tuple[tuple[Group, ...], ...]
    planar: bool
    parallelogram: Parallelogram | None
    links: tuple[LegLink, ...]
    askew: str

    @property
    def rods(self) -> list[tuple[int, int]]:
        """Of rods side by side the first and the last joint."""
        return [(branch[0].joints[0].joint, branch[-1].joints[-1].joint) for branch in self.branches]

    @property
    def closed_form(self) -> bool:
        """Whether its inverse kinematics has a closed form."""
        return bool(self.form)

    @property
    def method(self) -> str:
        """How the leg can be solved: "closed form" or "Newton"."""
        return "closed form" if self.closed_form else "Newton"


def leg_type(robot: Robot, leg: Leg) -> LegType:
    """What a leg is, recognised from the robot's own numbers.

    Joints that act as one are one letter (two revolutes that meet are U), axes meet or are parallel within
    1e-12 of the robot's size (m) or 1e-12 rad.

    Args:
        robot: the robot.
        leg: one of its legs.

    Returns:
        Its name, such as "UPS", how inverse kinematics is solved, and its kinematic elements ([OAM]).
    """
    return _leg_types(robot.numeric)[robot.legs.index(leg)]


@lru_cache(maxsize=256)
def _leg_types(robot: Robot) -> tuple[LegType, ...]:
    return tuple(_recognised(robot, leg) for leg in robot.legs)


def robot_elements(types: list[LegType]) -> str:
    """The robot in the grammar of elements: "2BB", "3B[B|B]"; empty if a leg has none."""
    counts = Counter(kind.elements for kind in types)
    return "" if "" in counts else "+".join(f"{count}{elements}" for elements, count in counts.items())


def _recognised(robot: Robot, leg: Leg) -> LegType:
    way, folded = route(robot, leg), parallelogram(robot, leg)
    planar = not way.branches and is_planar(way.trunk)
    chain, links = serial_chain(robot, leg), _links(robot, leg)
    form, reason = _closed_form(robot, leg, way, folded, chain)
    name, elements = _name(robot, leg, way, folded, planar)
    lies = ""
    if chain is not None and form and FORMS[form].kind != "other":
        lies = askew(chain, FORMS[form], robot.size)
    return LegType(name, elements, form, reason, way.trunk, way.branches, planar, folded, links, lies)


# ---- names


_MADE_OF = {
    "BB": "RRR RUS RSS",
    "TB": "PRR PUS PSS",
    "T": "RPR RPS UPS SPS UPU PC5 PSPP",
    "S": "RCU UCS",
    "Sp": "URS",
    "BT": "RUPU",
    "BS": "RUCU",
}
_ELEMENTS = {name: elements for elements, names in _MADE_OF.items() for name in names.split()}
_DRIVERS = {"R": "B", "P": "T"}


def _name(robot: Robot, leg: Leg, way: Route, folded: Parallelogram | None, planar: bool) -> tuple[str, str]:
    """Name and kinematic elements of a leg."""
    if folded is not None:
        driver = LETTERS[robot.joints[folded.root].kind]
        return f"{driver}RPaR", f"{_DRIVERS[driver]}[B|B]"
    if not way.trunk:
        # Tree joints, then closures.
        listed = ("".join(LETTERS[robot.joints[j].kind] for j in part) for part in (leg.joints, leg.closures))
        return "-".join(listed), ""
    trunk = "".join(group.letter for group in way.trunk)
    if not way.branches:
        name = f"{trunk[:-1]}R" if planar else trunk
        return name, _ELEMENTS.get(name, "")
    names = ["".join(group.letter for group in branch) for branch in way.branches]
    bars = f"[{'|'.join('B' * len(names))}]"
    made_of_bars = trunk in _DRIVERS and all(name in ("SS", "US", "SU") for name in names)
    return f"{trunk}[{'|'.join(names)}]", f"{_DRIVERS[trunk]}{bars}" if made_of_bars else ""


# ---- closed forms


def _closed_form(
    robot: Robot, leg: Leg, way: Route, folded: Parallelogram | None, chain: LegChain | None
) -> tuple[str, str]:
    """Name of a leg's closed form, or nothing and why it has none."""
    if is_three_prismatic(robot, leg):
        return "three-prismatic", ""
    if folded is not None:
        hub = robot.joints[folded.hub].frame_successor
        if on_axis(hub.R.T @ (arm_offset(robot, folded)[1] - hub.p), robot.size):
            return "parallelogram", ""
        return "", "the arm of its parallelogram does not begin on the hub's axis"
    if way.reason:
        return "", way.reason
    if way.branches:
        return _rods_form(leg, way)
    if chain is None:
        return "", "its loop is closed inside the leg, not at the nacelle"
    form = chain_form(chain, robot.size)
    return form, "" if form else _unknown(chain, robot.size)


def _unknown(chain: LegChain, size: float) -> str:
    words = list(chain.letters)
    for k in range(1, len(words)):
        if "S" not in chain.letters[k - 1 : k + 1]:
            words[k] = f"{relation(chain.X[k], size)} {words[k]}"
    return f"none is known for {', '.join(words)} before a {chain.target.kind} joint at the nacelle"


def _rods_form(leg: Leg, way: Route) -> tuple[str, str]:
    """Rods on an arm or slider, each on a universal or spherical joint, that close at spherical joints."""
    rods = [tuple(group.joints[0] for group in branch) for branch in way.branches]
    kinds = {tuple(joint.kind for joint in rod) for rod in rods}
    is_driven = [group.letter for group in way.trunk] in (["R"], ["P"]) and len(leg.joints) == 1 + len(rods)
    near, far = (JointKind.SPHERICAL, JointKind.UNIVERSAL), JointKind.SPHERICAL
    if (
        is_driven
        and kinds <= {(kind, far) for kind in near}
        and all(r[1].joint in leg.closures for r in rods)
    ):
        return "rods", ""
    return "", "its branches are not rods on a driven arm or slider, with spherical joints at the nacelle"


def _links(robot: Robot, leg: Leg) -> tuple[LegLink, ...]:
    links = []
    for body in leg.bodies:
        joints = robot.joints_at(body)
        kinds = [robot.joints[j].kind for j in joints]
        if len(joints) == 2 and all(kind in _HOLDS_POINT for kind in kinds):
            # Tree joints come first: the inner end, unless the body hangs on the nacelle.
            first = robot.joints[joints[0]]
            hangs = bool({first.predecessor, first.successor} & set(robot.nacelle.bodies))
            inner, outer = joints[::-1] if hangs else joints
            links.append(LegLink(body, inner, outer, all(kind in _SPHERICAL for kind in kinds)))
    return tuple(links)
