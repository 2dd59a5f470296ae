"""Closures of a URDF that are joints of SDF within its `<gazebo>` elements, as Gazebo's tutorials write them.

Such a joint is placed in its child; its frame on the parent is where that is in the drawn pose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nacelle.exchange.graph import BASE, Axis, Link, UniqueNames
from nacelle.exchange.sdf.read import axis_direction, pose_of
from nacelle.exchange.urdf.loops import LinkNames
from nacelle.exchange.xml import Element
from nacelle.spatial.pose import Pose

_TURNS = {"revolute": True, "continuous": True, "prismatic": False}


def gazebo_joints(root: Element) -> list[Element]:
    """Joints within `<gazebo>`."""
    return [joint for gazebo in root.children_named("gazebo") for joint in gazebo.children_named("joint")]


def read_closures(
    root: Element, links: LinkNames, poses: Mapping[str, Pose], names: UniqueNames
) -> list[Link]:
    """These joints as closures.

    Args:
        root: the document.
        links: names of its links.
        poses: of bodies in the drawn pose.
        names: of joints.

    Raises:
        DescriptionError: at a joint whose links or type are not there.
    """
    closures = []
    for element in gazebo_joints(root):
        ends = []
        for tag in ("parent", "child"):
            end = element.first(tag)
            name = "" if end is None else end.text.strip()
            if name not in links.bodies and name != "world":
                raise (end or element).fault(f"there is no link {name!r}")
            ends.append(links.bodies.get(name, BASE))
        parent, child = ends
        if parent == child:
            raise element.fault(f"the joint {element.get('name')!r} joins a link to itself")
        child_at = pose_of(element.first("pose"))
        at = poses[parent].inverse() @ poses[child] @ child_at
        link = Link(names.new(element.get("name"), "joint"), parent, child, at, child_at, line=element.line)
        closures.append(_with_type(element, link))
    return closures


def _with_type(element: Element, link: Link) -> Link:
    kind = element.get("type")
    if kind == "fixed":
        return link
    if kind == "ball":
        return replace(link, spherical=True)
    axis = element.first("axis")
    if kind not in _TURNS or axis is None:
        raise element.fault(
            f"the joint {element.get('name')!r} of the type {kind!r} has no axis or is not read"
        )
    return replace(link, axes=(Axis(axis_direction(axis), _TURNS[kind]),))
