"""Closures and couplings that are written in the URDF itself, in three dialects.

    URDF+ (grbda)      <loop type>        <predecessor link><origin/>  <successor link><origin/>  <axis/>
                       <coupling>         <predecessor link/> <successor link/> <ratio value/>
    urdfdom proposal   <constraint type>  <parent/> <parent_origin/> <parent_axis/> <child/> ... <child_axis/>
    Isaac Sim          <loop_joint type>  <link1 link xyz rpy/> <link2 link xyz rpy/>, <axis/> as in Drake

Both frames of a closure coincide but for the motion of its type. Isaac's loop joints turn about the x axis of
their frames where no axis is given. A coupling of URDF+ with the ratio n is

    n (sum of coordinates from the common ancestor to the predecessor) = (the same to the successor)

and a mimic joint is q = multiplier times the other + offset. Chignoli et al., arXiv 2411.19753; ros/urdfdom
pull request 264.

Places are those of the element `origin`, and links with their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nacelle.exchange.graph import Axis, Coupling, Link, UniqueNames
from nacelle.exchange.xml import (
    Element,
    number_attribute,
    rotation_attributes,
    unit_direction,
    vector_attribute,
)
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import frame_with_z
from nacelle.spatial.scalar import Array

# ---- places: the element `origin`, and where links with their names are


def pose_of(element: Element | None) -> Pose:
    """The pose of an element with the attributes xyz and rpy (or quat_xyzw); none where it is missing."""
    return Pose(rotation_attributes(element), vector_attribute(element, "xyz"))


def axis_of(element: Element | None) -> Array:
    """The direction of an element with the attribute xyz; x where it is missing."""
    if element is None or "xyz" not in element.attributes:
        return np.array([1.0, 0.0, 0.0])
    return unit_direction(element, vector_attribute(element, "xyz", (1.0, 0.0, 0.0)))


class LinkNames:
    """Names of links in the file, and of their bodies in the graph."""

    def __init__(self, bodies: dict[str, str]) -> None:
        """Take the names of bodies by the names of links."""
        self.bodies = bodies

    def body(self, element: Element | None, owner: Element, attribute: str = "link") -> str:
        """The body that an element names.

        Raises:
            DescriptionError: if the element or its attribute is missing, or no link has the name.
        """
        if element is None:
            raise owner.fault(f"<{owner.tag}> {owner.get('name')!r} does not say which links it joins")
        return self.body_named(element.get(attribute), element)

    def body_named(self, name: str, element: Element) -> str:
        """The body of a link that is named at an element."""
        if name not in self.bodies:
            raise element.fault(f"there is no link {name!r}", _suggestion(name, self.bodies))
        return self.bodies[name]


def _suggestion(name: str, names: dict[str, str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, names, 1)
    return f"did you mean {close[0]!r}?" if close else ""


# ---- closures and couplings


_KINDS = {"revolute", "continuous", "prismatic", "fixed", "spherical", "planar", "universal"}


def read_closures(root: Element, links: LinkNames, names: UniqueNames) -> list[Link]:
    """All closures of a document, in its order."""
    readers = {"loop": _loop, "constraint": _constraint, "loop_joint": _loop_joint}
    closures = []
    for element in root.children:
        if element.tag in readers:
            closure = readers[element.tag](element, links)
            if closure.parent == closure.child:
                raise element.fault(f"<{element.tag}> {element.get('name')!r} joins a link to itself")
            name = names.new(element.get("name"), element.tag)
            closures.append(replace(closure, name=name, line=element.line))
    return closures


def _loop(element: Element, links: LinkNames) -> Link:
    """URDF+; the word `sucessor` is how an exporter in use spells it."""
    ends = element.first("predecessor"), element.first("successor") or element.first("sucessor")
    attribute = "link" if ends[0] is not None and "link" in ends[0].attributes else "name"
    bodies = [links.body(end, element, attribute) for end in ends]
    poses = [pose_of(end.first("origin") if end is not None else None) for end in ends]
    link = Link("", bodies[0], bodies[1], poses[0], poses[1])
    return _with_type(element, link, axis_of(element.first("axis")), None)


def _constraint(element: Element, links: LinkNames) -> Link:
    """The proposal to urdfdom; its type `link` is a link that was cut, whose parts are one body."""
    bodies = [links.body(element.first(end), element) for end in ("parent", "child")]
    poses = [pose_of(element.first(end)) for end in ("parent_origin", "child_origin")]
    link = Link("", bodies[0], bodies[1], poses[0], poses[1])
    axes = [axis_of(element.first(end)) for end in ("parent_axis", "child_axis")]
    return _with_type(element, link, axes[0], axes[1])


def _loop_joint(element: Element, links: LinkNames) -> Link:
    """Isaac Sim and the older Drake."""
    ends = element.first("link1"), element.first("link2")
    bodies = [links.body(end, element) for end in ends]
    link = Link("", bodies[0], bodies[1], pose_of(ends[0]), pose_of(ends[1]))
    return _with_type(element, link, axis_of(element.first("axis")), None)


def _with_type(element: Element, link: Link, axis: Array, second: Array | None) -> Link:
    kind = element.get("type").removesuffix("_joint")
    kind = {"link": "fixed", "ball": "spherical"}.get(kind, kind)
    if kind not in _KINDS or (kind == "universal" and second is None):
        raise element.fault(
            f"the closure {element.get('name')!r} has the type {element.get('type')!r}, which is not read",
            f"types are {', '.join(sorted(_KINDS))}",
        )
    if kind == "fixed":
        return link
    if kind == "spherical":
        return replace(link, spherical=True)
    if kind == "planar":
        return replace(link, axes=planar_axes(axis))
    if kind == "universal":
        assert second is not None
        return _universal_link(link, axis, second)
    return replace(link, axes=(Axis(axis, kind != "prismatic"),))


def planar_axes(normal: Array) -> tuple[Axis, ...]:
    """Two slides in a plane and a hinge along its normal."""
    plane = frame_with_z(normal)
    return Axis(plane[:, 0], turns=False), Axis(plane[:, 1], turns=False), Axis(normal)


def _universal_link(link: Link, first: Array, second: Array) -> Link:
    """A joint with one axis fixed on the parent and one, perpendicular to it, on the child.

    Frames are turned so that these are x and y: the motion is R(x, q1) R(y, q2).
    """
    to_x, to_y = frame_with_z(first)[:, [2, 0, 1]], frame_with_z(second)[:, [1, 2, 0]]
    x, y, _ = np.eye(3)
    return replace(
        link,
        at=link.at @ Pose(to_x, np.zeros(3)),
        child_at=link.child_at @ Pose(to_y, np.zeros(3)),
        axes=(Axis(x), Axis(y)),
    )


def read_mimics(elements: dict[str, Element], links: dict[str, Link], names: UniqueNames) -> list[Coupling]:
    """Couplings of mimic joints."""
    couplings = []
    for name, element in elements.items():
        mimic = element.first("mimic")
        if mimic is None:
            continue
        leader = links.get(mimic.get("joint"))
        if leader is None:
            raise mimic.fault(f"the joint {name!r} mimics {mimic.get('joint')!r}, which is no joint")
        if len(links[name].axes) != 1 or len(leader.axes) != 1 or leader is links[name]:
            raise mimic.fault(f"{name!r} and {mimic.get('joint')!r} must be two joints of one axis each")
        ratio, offset = number_attribute(mimic, "multiplier", 1.0), number_attribute(mimic, "offset", 0.0)
        follows = {leader.name: ratio} if ratio else {}
        couplings.append(Coupling(names.new(f"{name}-mimic", "mimic"), links[name].name, follows, offset))
    return couplings


def read_couplings(
    root: Element, links: LinkNames, joints: Sequence[Link], names: UniqueNames
) -> list[Coupling]:
    """Couplings of URDF+."""
    couplings = []
    for element in root.children_named("coupling"):
        before = _path_to_base(links.body(element.first("predecessor"), element), joints)
        after = _path_to_base(links.body(element.first("successor"), element), joints)
        common = {link.name for link in before} & {link.name for link in after}
        first = [link for link in before if link.name not in common]
        second = [link for link in after if link.name not in common]
        if not second or any(len(link.axes) > 1 or link.spherical for link in (*first, *second)):
            raise element.fault("a coupling must lead over joints of one axis to another link")
        ratio = number_attribute(element.first("ratio"), "value", 1.0)
        moving = [link for link in second if link.axes]
        follows = {link.name: ratio for link in first if link.axes}
        follows |= {link.name: -1.0 for link in moving[1:]}
        couplings.append(Coupling(names.new(element.get("name"), "coupling"), moving[0].name, follows))
    return couplings


def _path_to_base(body: str, joints: Sequence[Link]) -> list[Link]:
    """Joints from a body down to the base."""
    path: list[Link] = []
    while (carrier := next((link for link in joints if link.child == body), None)) is not None:
        if carrier in path:
            break
        path.append(carrier)
        body = carrier.parent
    return path
