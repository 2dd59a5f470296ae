"""SDF to a graph of bodies and joints.

A model is a graph: joints may form loops, and a link has a pose of its own. The spanning tree is chosen here;
what is welded, driven, sprung or coupled is in it first. A model that no joint holds to the world floats,
with its canonical link as the platform.

Frames of an SDF model: links, joints, frames and nested models, each placed in another.

A frame says in which it is placed (`relative_to`; a link in its model, a joint in its child, a frame in what
it is attached to, if it does not) and belongs to the link to which it is attached. Names within a nested
model are looked up there first; from outside they are written as `inner::name`.

Joints of SDF: hinges, slides, balls, universal joints, screws and gearboxes.

A joint has two frames that coincide in the drawn pose, one on each link. A universal joint and a revolute2
are two hinges one after the other; a screw is a hinge with a slide that follows it by pitch / (2 pi). A
gearbox is no joint but a coupling of two hinges on its reference body: with the angles theta_1 of its parent
about its first axis and theta_2 of its child about its second, theta_2 = -ratio theta_1. Pitches:
`screw_thread_pitch` in m/turn, right-handed; the older `thread_pitch` in rad/m, left-handed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from nacelle.exchange import shape_mass
from nacelle.exchange.closing import hint_message, loop_hints
from nacelle.exchange.digits import frame_elements, last_digit
from nacelle.exchange.drake import TAGS as DRAKE_TAGS
from nacelle.exchange.drake import DrakeElements, NamesInFile
from nacelle.exchange.graph import (
    BASE,
    Axis,
    Coupling,
    Digits,
    ExchangeReport,
    Graph,
    Link,
    Motor,
    Shape,
    Solid,
    UniqueNames,
    combined_solid,
)
from nacelle.exchange.tree import massless_bodies, split_axes, with_spanning_tree
from nacelle.exchange.xml import (
    MOMENTS,
    Element,
    finite_numbers,
    require_physical,
    symmetric_matrix,
    unit_direction,
)
from nacelle.model.joint import Interval
from nacelle.scene.geometry import UnreadableMeshError, read_mesh_file
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.rotation import rotation_quat, rotation_rpy
from nacelle.spatial.scalar import Array

# ---- values in the texts of elements: numbers, vectors, poses, names of frames


def child_text(element: Element | None, tag: str, default: str = "") -> str:
    """The text of a child; the default where the child or the element is missing."""
    child = None if element is None else element.first(tag)
    return default if child is None else child.text.strip()


def is_true(element: Element | None, tag: str) -> bool:
    """Whether the text of a child says yes."""
    return child_text(element, tag) in ("1", "true", "True")


def number_child(element: Element | None, tag: str, default: float) -> float:
    """The number in a child; the default where it is missing."""
    child = None if element is None else element.first(tag)
    return default if child is None else float(finite_numbers(child, child.text, 1, f"<{tag}>")[0])


def limit_child(element: Element | None, tag: str, default: float) -> float:
    """The limit in a child; the default where it is missing. Infinite ones are written as inf or 1e16."""
    child = None if element is None else element.first(tag)
    if child is None:
        return default
    if child.text.strip().lstrip("+-") in ("inf", "Inf", "infinity"):
        return -math.inf if child.text.strip().startswith("-") else math.inf
    return float(finite_numbers(child, child.text, 1, f"<{tag}>", math.inf)[0])


def axis_direction(axis: Element) -> Array:
    """The unit vector of an axis; z where none is given."""
    child = axis.first("xyz")
    if child is None:
        return np.array([0.0, 0.0, 1.0])
    return unit_direction(child, finite_numbers(child, child.text, 3, "<xyz>"))


def pose_of(element: Element | None) -> Pose:
    """The pose in an element: x y z, then roll pitch yaw about fixed axes (rad or deg) or a quaternion."""
    if element is None or not element.text.strip():
        return identity()
    if element.get("rotation_format") == "quat_xyzw":
        values = finite_numbers(element, element.text, 7, "<pose> with a quaternion")
        long = np.linalg.norm(values[3:])
        if long < 1e-9:
            raise element.fault("a quaternion of zeros is no rotation")
        return Pose(rotation_quat(values[3:] / long), values[:3])
    values = finite_numbers(element, element.text, 6, "<pose>")
    angles = np.radians(values[3:]) if element.get("degrees") in ("1", "true") else values[3:]
    return Pose(rotation_rpy(angles), values[:3])


# ---- frames


WORLD = "world"


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame: its element, what it is placed in and attached to, in which scope, and its pose there."""

    element: Element
    relative_to: str
    attached_to: str
    scope: str
    pose: Pose


@dataclass(eq=False)
class Frames:
    """All frames of a model by their full names, with links and joints in the order of the file."""

    frames: dict[str, Frame] = field(default_factory=dict)
    links: dict[str, Element] = field(default_factory=dict)
    joints: dict[str, tuple[Element, str]] = field(default_factory=dict)
    poses: dict[str, Pose] = field(default_factory=dict)

    def full(self, name: str, scope: str, element: Element) -> str:
        """The full name of a frame that is named within a scope.

        Raises:
            DescriptionError: at the element, if there is no such frame.
        """
        if name == WORLD:
            return WORLD
        if name == "__model__":
            return _model_frame_name(scope)
        inner = f"{scope}{name}"
        for candidate in (inner, f"{inner}::__model__"):
            if candidate in self.frames:
                return candidate
        raise element.fault(f"there is no link, joint or frame {name!r}")

    def pose(self, name: str) -> Pose:
        """The pose of a frame in the world.

        Raises:
            DescriptionError: if frames are placed in each other.
        """
        chain: list[str] = []
        while name not in self.poses and name != WORLD:
            frame = self.frames[name]
            if name in chain:
                raise frame.element.fault(f"the frame {name!r} is placed in itself, over others")
            chain.append(name)
            name = self.full(frame.relative_to, frame.scope, frame.element)
        at = identity() if name == WORLD else self.poses[name]
        for inner in reversed(chain):
            at = self.poses[inner] = at @ self.frames[inner].pose
        return at

    def link(self, name: str) -> str:
        """The link to which a frame belongs; the world's name for the world."""
        visited: set[str] = set()
        while name not in self.links and name != WORLD:
            frame = self.frames[name]
            if name in visited:
                raise frame.element.fault(f"the frame {name!r} is attached to itself, over others")
            visited.add(name)
            name = self.full(frame.attached_to, frame.scope, frame.element)
        return name


def frames_of(model: Element) -> Frames:
    """All frames of a model and of those within it.

    Raises:
        DescriptionError: at what has no name or one that is there already, and at what is included.
    """
    frames = Frames()
    _add_model(frames, model, "", WORLD)
    return frames


def _model_frame_name(scope: str) -> str:
    return f"{scope}__model__"


def _add_model(frames: Frames, model: Element, scope: str, outside: str) -> None:
    """Add a model whose contents have names within a scope, placed in a frame outside."""
    pose, outer = model.first("pose"), "" if not scope else scope[:-2].rpartition("::")[0]
    outer = f"{outer}::" if outer else ""
    placed_in = _relative_to(pose) or outside
    first = next((link.get("name") for link in model.children_named("link")), "")
    canonical = (
        model.get("canonical_link")
        or first
        or next((m.get("name") for m in model.children_named("model")), "")
    )
    frames.frames[_model_frame_name(scope)] = Frame(
        model, placed_in, f"{scope[len(outer) :]}{canonical}", outer, pose_of(pose)
    )
    for element in model.children:
        if element.tag == "include":
            raise element.fault("<include> is not read", "write the included model in its place")
        if element.tag == "link":
            full = _add_frame(frames, element, scope, "__model__", "")
            frames.links[full] = element
        elif element.tag == "joint":
            child = element.first("child")
            name = child_text(element, "child") or (child.get("link") if child is not None else "")
            full = _add_frame(frames, element, scope, name, name)
            frames.joints[full] = (element, scope)
        elif element.tag == "frame":
            attached = element.get("attached_to") or "__model__"
            _add_frame(frames, element, scope, attached, attached)
        elif element.tag == "model":
            if not element.get("name"):
                raise element.fault("a <model> has no name")
            _add_model(frames, element, f"{scope}{element.get('name')}::", "__model__")


def _add_frame(frames: Frames, element: Element, scope: str, placed_in: str, attached_to: str) -> str:
    name = element.get("name")
    if not name:
        raise element.fault(f"a <{element.tag}> has no name")
    full = f"{scope}{name}"
    if full in frames.frames:
        first = frames.frames[full].element
        raise element.fault(f"two elements are called {name!r}", f"the first is in line {first.line}")
    pose = element.first("pose")
    frame = Frame(element, _relative_to(pose) or placed_in, attached_to, scope, pose_of(pose))
    frames.frames[full] = frame
    return full


def _relative_to(pose: Element | None) -> str:
    """In what a pose is given; `frame` is the attribute's name in old versions."""
    return "" if pose is None else pose.get("relative_to") or pose.get("frame")


# ---- joints


# Limits from here on mean that there is no limit.
_UNLIMITED = 1e15
_FIXED, _BALL, _GEARBOX = "fixed", "ball", "gearbox"
_AXES = {
    "revolute": (True,),
    "continuous": (True,),
    "prismatic": (False,),
    "universal": (True, True),
    "revolute2": (True, True),
    "screw": (True, False),
}


class Joints:
    """What joints of a file become: joints of the graph with massless bodies between, and couplings.

    Attributes:
        links: joints of the graph.
        carriers: names of massless bodies.
        couplings: of screws, gearboxes and mimic axes.
        axes: for each joint of the file the joint of the graph of each of its axes.
    """

    def __init__(self, frames: Frames, bodies: dict[str, str], names: UniqueNames, in_model: bool) -> None:
        """Read all joints.

        Args:
            frames: frames of the model.
            bodies: names in the graph of links and the world.
            names: of bodies in the graph, which massless ones join.
            in_model: whether axes are in the model's frame where they do not say, as before version 1.5.
        """
        self.frames, self.bodies, self.body_names, self.in_model = frames, bodies, names, in_model
        self.names, self.coupling_names = UniqueNames(), UniqueNames()
        self.links: list[Link] = []
        self.carriers: list[str] = []
        self.couplings: list[Coupling] = []
        self.axes: dict[str, list[Link]] = {}
        for full, (element, scope) in frames.joints.items():
            self.joint(full, element, scope)
        for full, (element, scope) in frames.joints.items():
            self.couple(full, element, scope)

    def ends(self, element: Element, scope: str) -> tuple[str, str]:
        """Full names of the links that a joint joins."""
        links = []
        for tag in ("parent", "child"):
            end = element.first(tag)
            if end is None:
                raise element.fault(f"the joint {element.get('name')!r} has no {tag}")
            links.append(self.frames.link(self.frames.full(end.text.strip() or end.get("link"), scope, end)))
        if links[0] == links[1]:
            raise element.fault(f"the joint {element.get('name')!r} joins a link to itself")
        return links[0], links[1]

    def joint(self, full: str, element: Element, scope: str) -> None:
        """Read a joint, but for what couples it to others."""
        kind = element.get("type")
        parent, child = self.ends(element, scope)
        if kind == _GEARBOX:
            return
        here = self.frames.pose(full)
        at, child_at = self.frames.pose(parent).inverse() @ here, self.frames.pose(child).inverse() @ here
        name = self.names.new(full.replace("::", "-"), "joint")
        link = Link(name, self.bodies[parent], self.bodies[child], at, child_at, line=element.line)
        if kind == _FIXED:
            self.links.append(link)
            return
        if kind == _BALL:
            self.links.append(replace(link, spherical=True))
            return
        if kind not in _AXES:
            raise element.fault(f"the joint {element.get('name')!r} has the type {kind!r}, which is not read")
        axes = self.joint_axes(element, scope, here, kind)
        names = [name] + [self.names.new(f"{name}-{k}", "joint") for k in range(2, len(axes) + 1)]
        links, carriers = split_axes(link, axes, names, self.body_names)
        self.links += links
        self.carriers += carriers
        self.axes[full] = links

    def joint_axes(self, element: Element, scope: str, here: Pose, kind: str) -> list[Axis]:
        """The axes of a joint in its frame."""
        turns = _AXES[kind]
        elements = [element.first(tag) for tag in ("axis", "axis2")[: len(turns)]]
        if kind == "screw":
            elements[1] = None
        if elements[0] is None or (kind in ("universal", "revolute2") and elements[1] is None):
            raise element.fault(f"the joint {element.get('name')!r} has no axis")
        axes = [
            _axis(axis, self.axis_direction(axis, scope, here), turns_about, kind != "continuous")
            for axis, turns_about in zip(elements, turns, strict=True)
            if axis is not None
        ]
        if kind == "screw":
            axes.append(Axis(axes[0].direction, turns=False))
        return axes

    def axis_direction(self, axis: Element, scope: str, here: Pose) -> Array:
        """The direction of an axis in the joint's frame, whatever frame it is expressed in."""
        xyz = axis.first("xyz")
        direction = axis_direction(axis)
        frame = "" if xyz is None else xyz.get("expressed_in")
        if not frame and (self.in_model or is_true(axis, "use_parent_model_frame")):
            frame = "__model__"
        if not frame:
            return direction
        R = self.frames.pose(self.frames.full(frame, scope, axis)).R
        return np.asarray(here.R.T @ R @ direction)

    # ---- couplings

    def couple(self, full: str, element: Element, scope: str) -> None:
        """Read the couplings of a joint."""
        if element.get("type") == "screw":
            hinge, slide = self.axes[full]
            self.add(hinge.name, slide, {hinge.name: _screw_pitch(element) / (2.0 * math.pi)}, 0.0)
        if element.get("type") == _GEARBOX:
            self.add_gearbox(element, scope)
        for k, tag in enumerate(("axis", "axis2")):
            axis = element.first(tag)
            mimic = None if axis is None else axis.first("mimic")
            if mimic is not None:
                self.add_mimic(full, k, mimic, scope)

    def add(self, name: str, joint: Link, follows: dict[str, float], offset: float) -> None:
        """Add a coupling."""
        ratios = {leader: ratio for leader, ratio in follows.items() if ratio}
        unique = self.coupling_names.new(f"{name}-coupling", "coupling")
        self.couplings.append(Coupling(unique, joint.name, ratios, offset))

    def add_mimic(self, full: str, k: int, mimic: Element, scope: str) -> None:
        """Position = multiplier (leader's position - reference) + offset."""
        leader = self.axes.get(self.frames.full(mimic.get("joint"), scope, mimic), [])
        axis_index = 1 if mimic.get("axis") == "axis2" else 0
        followers = self.axes.get(full, [])
        if axis_index >= len(leader) or k >= len(followers):
            raise mimic.fault(f"{mimic.get('joint')!r} has no axis to follow")
        ratio, offset = number_child(mimic, "multiplier", 1.0), number_child(mimic, "offset", 0.0)
        offset -= ratio * number_child(mimic, "reference", 0.0)
        self.add(followers[k].name, followers[k], {leader[axis_index].name: ratio}, offset)

    def add_gearbox(self, element: Element, scope: str) -> None:
        """Read a gearbox."""
        parent, child = self.ends(element, scope)
        name = child_text(element, "gearbox_reference_body")
        body = element.first("gearbox_reference_body")
        if body is None:
            raise element.fault(f"the gearbox {element.get('name')!r} has no reference body")
        reference = self.bodies[self.frames.link(self.frames.full(name, scope, body))]
        here = self.frames.pose(self.frames.full(element.get("name"), scope, element))
        hinges = []
        for tag, end in (("axis", parent), ("axis2", child)):
            axis = element.first(tag) or element.first("axis")
            if axis is None:
                raise element.fault(f"the gearbox {element.get('name')!r} has no axis")
            direction = here.R @ self.axis_direction(axis, scope, here)
            hinges.append(self.gearbox_hinge(element, reference, end, direction))
        (first, first_sign), (second, second_sign) = hinges
        ratio = -number_child(element, "gearbox_ratio", 1.0) * first_sign * second_sign
        self.add(self.names.new(element.get("name"), "gearbox"), second, {first.name: ratio}, 0.0)

    def gearbox_hinge(self, element: Element, reference: str, link: str, axis: Array) -> tuple[Link, float]:
        """The hinge between a gearbox's reference body and one of its links, and the sign of its angle."""
        for joint in self.links:
            if {joint.parent, joint.child} == {reference, self.bodies[link]} and joint.kind == "revolute":
                # The frame on the link is the joint's own, which is at zero in the drawn pose.
                frame = joint.child_at if joint.child == self.bodies[link] else joint.at
                cosine = float(axis @ (self.frames.pose(link).R @ frame.R @ joint.axes[0].direction))
                if abs(abs(cosine) - 1.0) > 1e-6:
                    raise element.fault(f"the hinge {joint.name!r} is not along the axis of the gearbox")
                return joint, math.copysign(1.0, cosine) * (1.0 if joint.parent == reference else -1.0)
        raise element.fault(
            f"the gearbox {element.get('name')!r} needs hinges between its reference body and its links"
        )


def _screw_pitch(element: Element) -> float:
    """The stroke of a screw for a turn, m, positive for a right-handed thread."""
    if element.first("screw_thread_pitch") is not None or element.first("thread_pitch") is None:
        return number_child(element, "screw_thread_pitch", 1.0)
    old = number_child(element, "thread_pitch", 1.0)
    if old == 0.0:
        raise element.fault("a <thread_pitch> of zero radians for a metre")
    return -2.0 * math.pi / old


def _axis(element: Element, direction: Array, turns: bool, limited: bool) -> Axis:
    dynamics, limit = element.first("dynamics"), element.first("limit")
    lower, upper = limit_child(limit, "lower", -math.inf), limit_child(limit, "upper", math.inf)
    if lower > upper:
        raise element.fault(f"the lower limit {lower:g} is above the upper one {upper:g}")
    if not limited:
        lower, upper = -math.inf, math.inf
    return Axis(
        direction,
        turns,
        damping=number_child(dynamics, "damping", 0.0),
        coulomb=number_child(dynamics, "friction", 0.0),
        stiffness=number_child(dynamics, "spring_stiffness", 0.0),
        rest=number_child(dynamics, "spring_reference", 0.0),
        limits=Interval(
            lower if lower > -_UNLIMITED else -math.inf, upper if upper < _UNLIMITED else math.inf
        ),
    )


def add_motors(joints: Joints, elements: dict[str, Element], plugins: Sequence[Element]) -> list[Link]:
    """The joints with their motors: those that plugins name, otherwise those with a limit of effort.

    Args:
        joints: the joints.
        elements: those of the file, by their full names.
        plugins: elements of plugins.
    """
    joint_names = {entry.text.strip() for plugin in plugins for entry in plugin.children_named("joint_name")}
    driven_joints = {full for full in joints.axes if full in joint_names}
    sure = bool(driven_joints)
    if not sure:
        driven_joints = {full for full in joints.axes if _effort_limit(elements[full]) < math.inf}
    followers = {coupling.joint for coupling in joints.couplings}
    motors: dict[str, Link] = {}
    for full in driven_joints:
        link = joints.axes[full][0]
        if link.name in followers:
            continue
        axis = elements[full].first("axis")
        limit = None if axis is None else axis.first("limit")
        speed = limit_child(limit, "velocity", -1.0)
        motor = Motor(link.name, 1.0, _effort_limit(elements[full]), speed if speed > 0.0 else math.inf, sure)
        motors[link.name] = _add_motor(link, motor)
    return [motors.get(link.name, link) for link in joints.links]


def _effort_limit(element: Element) -> float:
    axis = element.first("axis")
    effort = limit_child(None if axis is None else axis.first("limit"), "effort", -1.0)
    return effort if 0.0 < effort < _UNLIMITED else math.inf


def _add_motor(link: Link, motor: Motor) -> Link:
    return replace(link, axes=(replace(link.axes[0], motor=motor),))


# ---- shapes to draw: boxes, cylinders, capsules and spheres


def shapes_of(link: Element, report: ExchangeReport) -> tuple[Shape, ...]:
    """What is drawn of a link, in its frame."""
    shapes = []
    for visual in link.children_named("visual"):
        at = pose_of(visual.first("pose"))
        for geometry in visual.children_named("geometry"):
            for solid in geometry.children:
                size = solid.first("size")
                if solid.tag == "box" and size is not None:
                    x, y, z = finite_numbers(size, size.text, 3, "<size>")
                    shapes.append(Shape("box", (float(x), float(y), float(z)), at))
                elif solid.tag in ("cylinder", "capsule"):
                    shapes.append(
                        Shape(
                            "cylinder",
                            (number_child(solid, "radius", 0.5), number_child(solid, "length", 1.0)),
                            at,
                        )
                    )
                elif solid.tag == "sphere":
                    shapes.append(Shape("sphere", (number_child(solid, "radius", 1.0),), at))
                elif solid.tag == "mesh":
                    report.add_loss("meshes left out: bodies are drawn by their joints")
                elif solid.tag != "empty":
                    report.add_loss(f"shapes <{solid.tag}> left out")
    return tuple(shape for shape in shapes if min(shape.size) > 0.0)


# ---- the graph


# What a world has if it does not say.
GRAVITY = (0.0, 0.0, -9.8)
# Versions whose axes are in the frame of the model.
_OLD_VERSIONS = ("1.0", "1.2", "1.3", "1.4")
_KNOWN_TAGS = {
    "link",
    "joint",
    "frame",
    "model",
    "pose",
    "plugin",
    "static",
    "self_collide",
    "allow_auto_disable",
    "drake:collision_filter_group",
    *DRAKE_TAGS,
}
_KNOWN_LINK_TAGS = {
    "pose",
    "inertial",
    "visual",
    "collision",
    "plugin",
    "gravity",
    "self_collide",
    "kinematic",
}


def read_sdf(root: Element, path: Path) -> Graph:
    """Read the model of a document.

    Args:
        root: the element `sdf`.
        path: its file.

    Raises:
        DescriptionError: with the place of what is wrong.
    """
    report = ExchangeReport()
    worlds = root.children_named("world")
    models = [model for parent in (root, *worlds) for model in parent.children_named("model")]
    for parent in (root, *worlds):
        for include in parent.children_named("include"):
            raise include.fault("<include> is not read", "write the included model in its place")
    moving = [model for model in models if not is_true(model, "static")]
    if len(moving) != 1:
        raise root.fault(
            f"the file has {len(moving)} models that move, and one is read", "leave one <model> in it"
        )
    for model in models:
        if model is not moving[0]:
            report.add_loss(f"the static model {model.get('name')!r} left out")
    return _graph(moving[0], path, _gravity(worlds), report, root.get("version") in _OLD_VERSIONS)


def _gravity(worlds: list[Element]) -> Array:
    for world in worlds:
        gravity = world.first("gravity")
        if gravity is not None:
            return finite_numbers(gravity, gravity.text, 3, "<gravity>")
    return np.array(GRAVITY)


def _graph(model: Element, path: Path, gravity: Array, report: ExchangeReport, in_model: bool) -> Graph:
    frames = frames_of(model)
    if not frames.links:
        raise model.fault("the model has no link")
    names = UniqueNames()
    bodies = {WORLD: BASE} | {full: names.new(full.replace("::", "-"), "body") for full in frames.links}
    solids = {bodies[full]: _solid(element, report) for full, element in frames.links.items()}
    joints = Joints(frames, bodies, names, in_model)
    solids |= massless_bodies(joints.carriers)
    elements = {full: element for full, (element, _) in frames.joints.items()}
    plugins = [element for element in model.all() if element.tag == "plugin"]
    links = add_motors(joints, elements, plugins)
    is_grounded = any(BASE in (link.parent, link.child) for link in links)
    floating = None if is_grounded else frames.link("__model__")
    _note_losses(model, frames, report)
    _warn_of_apart_frames(frames, report)

    def frame(name: str, element: Element) -> tuple[str, Pose]:
        full = frames.full(name, "", element)
        link = frames.link(full)
        return bodies[link], frames.pose(link).inverse() @ frames.pose(full)

    def joint(name: str, element: Element) -> Link:
        axes = joints.axes.get(frames.full(name, "", element), [])
        if len(axes) != 1:
            raise element.fault(f"there is no joint {name!r} with one axis")
        return axes[0]

    drake = DrakeElements(NamesInFile(frame, joint, joints.names), report).read(model)
    graph = Graph(
        name=UniqueNames().new(model.get("name"), path.stem),
        file=str(path),
        gravity=gravity,
        bodies=solids,
        joints=tuple(links),
        closures=tuple(drake.closures),
        couplings=(*joints.couplings, *drake.couplings),
        struts=tuple(drake.struts),
        floating=None if floating is None else bodies[floating],
        pose=identity() if floating is None else frames.pose(floating),
        digits=_digits(model),
        report=report,
    )
    graph = with_spanning_tree(graph)
    hints = loop_hints(frames.frames)
    if hints and not graph.closures:
        message = f"{hint_message(hints)}: what is read is a tree"
        report.warn(
            model.fault(
                message, "close them by a <joint>, <drake:ball_constraint> or <drake:weld_constraint>"
            )
        )
    return graph


# Frames that are nearer to a joint than this, m, are at it.
_AT_JOINT = 1e-6


def _warn_of_apart_frames(frames: Frames, report: ExchangeReport) -> None:
    """Warn of joints whose parent is a frame elsewhere: SDF joins links where the drawn pose has them."""
    for full, (element, scope) in frames.joints.items():
        end = element.first("parent")
        if end is None or not (end.text.strip() or end.get("link")):
            continue
        name = frames.full(end.text.strip() or end.get("link"), scope, end)
        if name == WORLD or name in frames.links or name.endswith("__model__"):
            continue
        apart = float(np.linalg.norm(frames.pose(name).p - frames.pose(full).p))
        if apart > _AT_JOINT:
            report.warn(
                end.fault(
                    f"the frame {name!r}, the parent of the joint {element.get('name')!r}, is "
                    f"{1e3 * apart:.3g} mm from it: SDF joins its link where the drawn pose has the joint",
                    "place the links so that both frames coincide",
                )
            )


def _digits(model: Element) -> Digits:
    elements = list(frame_elements(model))
    poses = [element.text.split() for element in elements if element.tag == "pose"]
    axes = [element.text.split() for element in elements if element.tag == "xyz"]
    return Digits(
        last_digit(text for pose in poses for text in pose[:3]),
        last_digit(text for texts in (*(pose[3:] for pose in poses), *axes) for text in texts),
    )


def _solid(element: Element, report: ExchangeReport) -> Solid:
    """A body; without `inertial` it has 1 kg and 1 kg m^2, as the format says."""
    inertial = element.first("inertial")
    shapes = shapes_of(element, report)
    if inertial is None:
        report.add_step(
            f"the link {element.get('name')!r} has no <inertial>: 1 kg and 1 kg m^2, as the format says"
        )
        return Solid(1.0, np.zeros(3), np.eye(3), shapes)
    if inertial.get("auto") in ("1", "true"):
        return replace(_solid_of_collisions(element, inertial), shapes=shapes)
    pose = pose_of(inertial.first("pose"))
    moments = inertial.first("inertia")
    entries = [number_child(moments, name, float(name in ("ixx", "iyy", "izz"))) for name in MOMENTS]
    inertia = pose.R @ symmetric_matrix(np.array(entries)) @ pose.R.T
    solid = Solid(number_child(inertial, "mass", 1.0), pose.p, 0.5 * (inertia + inertia.T), shapes)
    return require_physical(solid, inertial.fault)


# Density (kg/m^3) where a file gives none.
_DENSITY = 1000.0


def _solid_of_collisions(link: Element, inertial: Element) -> Solid:
    """A body by the shapes of its collisions and their densities, scaled to a mass that is given."""
    density = number_child(inertial, "density", _DENSITY)
    solid = Solid()
    for collision in link.children_named("collision"):
        pose = collision.first("pose")
        if pose is not None and pose.get("relative_to", link.get("name")) != link.get("name"):
            raise pose.fault("a shape with mass has its pose in another frame", "leave relative_to out")
        for geometry in collision.children_named("geometry"):
            for shape in geometry.children:
                part = _solid_of_shape(shape, number_child(collision, "density", density))
                solid = combined_solid(solid, part, pose_of(pose))
    if solid.mass == 0.0:
        raise inertial.fault(
            f"the mass of the link {link.get('name')!r} is that of its collisions, and none has a volume",
            "write mass and inertia",
        )
    scale = number_child(inertial, "mass", solid.mass) / solid.mass
    return replace(solid, mass=scale * solid.mass, inertia=scale * solid.inertia)


def _solid_of_shape(shape: Element, density: float) -> Solid:
    def triple(tag: str) -> Array:
        child = shape.first(tag)
        return np.ones(3) if child is None else finite_numbers(child, child.text, 3, f"<{tag}>")

    radius, length = number_child(shape, "radius", 0.5), number_child(shape, "length", 1.0)
    if shape.tag == "mesh":
        return _solid_of_mesh(shape, triple("scale"), density)
    if shape.tag == "box":
        return shape_mass.box(triple("size"), density)
    if shape.tag == "sphere":
        return shape_mass.ellipsoid(np.full(3, number_child(shape, "radius", 1.0)), density)
    if shape.tag == "ellipsoid":
        return shape_mass.ellipsoid(triple("radii"), density)
    along_z = {"cylinder": shape_mass.cylinder, "capsule": shape_mass.capsule, "cone": shape_mass.cone}
    if shape.tag in along_z:
        return along_z[shape.tag](radius, length, density)
    if shape.tag in ("empty", "plane", "heightmap"):
        return Solid()
    raise shape.fault(f"the mass of a shape <{shape.tag}> is not read", "write mass and inertia")


def _solid_of_mesh(shape: Element, scale: Array, density: float) -> Solid:
    uri = child_text(shape, "uri")
    if shape.first("submesh") is not None:
        raise shape.fault("the mass of a part of a mesh (<submesh>) is not read", "write mass and inertia")
    path = _mesh_path(Path(shape.file).parent, uri)
    if not path.is_file():
        raise shape.fault(
            f"a mass comes from the mesh {uri!r}, and there is no file {str(path)!r}",
            "put the file there, or write mass and inertia",
        )
    try:
        mesh = read_mesh_file(path)
        order = [0, 2, 1] if np.prod(scale) < 0.0 else [0, 1, 2]
        return shape_mass.mesh(mesh.points * scale, mesh.triangles[:, order], density)
    except (UnreadableMeshError, ValueError) as error:
        raise shape.fault(f"a mass comes from the mesh {uri!r}: {error}", "write mass and inertia") from None


def _mesh_path(folder: Path, uri: str) -> Path:
    """The file of a mesh: below the folder of the document, or of a model or package of that name."""
    scheme, _, rest = uri.rpartition("://")
    if scheme in ("model", "package"):
        name, _, rest = rest.partition("/")
        above = next((path for path in (folder, *folder.parents) if path.name == name), folder.parent / name)
        return above / rest
    return folder / rest


def _note_losses(model: Element, frames: Frames, report: ExchangeReport) -> None:
    lost = report.add_loss
    if any(link.children_named("collision") for link in frames.links.values()):
        lost("collision shapes left out: nothing stops bodies that meet")
    if any(element.tag == "plugin" for element in model.all()):
        lost("plugins left out, but for the joints that they drive")
    inner = {child.tag for link in frames.links.values() for child in link.children}
    for child in model.children:
        if child.tag not in _KNOWN_TAGS and (child.tag == "drake:joint" or loop_hints([child.tag])):
            raise child.fault(f"<{child.tag}> may close a loop and is not read", "write it as a <joint>")
    others = sorted(({child.tag for child in model.children} - _KNOWN_TAGS) | (inner - _KNOWN_LINK_TAGS))
    if others:
        lost(f"elements left out: {', '.join(f'<{tag}>' for tag in others)}")
    for link in frames.links.values():
        inertial = link.first("inertial")
        if inertial is not None and inertial.first("fluid_added_mass") is not None:
            lost("added mass of a fluid left out")
        if link.first("gravity") is not None and not is_true(link, "gravity"):
            lost(f"the link {link.get('name')!r} has weight here: <gravity>false</gravity> left out")
