"""URDF to a graph of bodies and joints.

The XML is read as it is, not through an engine's model of it: an engine merges fixed joints, and with them
the frames that closures name, and keeps neither transmissions nor closures nor the lines of the file. A joint
frame is the child's own frame; its coordinate is zero in the drawn pose.

The base is the link that is nobody's child. A floating robot has it as its platform.

What drives the joints of a URDF: a closure file, transmissions, ros2_control, or limits of effort.

The first of these that says anything counts. A `SimpleTransmission` with the reduction n turns the motor n
times for a turn of the joint; Drake's rotor inertia J behind it is n^2 J at the joint.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from nacelle.exchange.closing import closing_pairs, hint_message, lone_pairs, loop_hints
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
)
from nacelle.exchange.tree import massless_bodies, split_axes, with_spanning_tree
from nacelle.exchange.urdf import gazebo
from nacelle.exchange.urdf.gepetto import NO_CLOSURE_FILE, ClosureFile
from nacelle.exchange.urdf.loops import (
    LinkNames,
    axis_of,
    planar_axes,
    pose_of,
    read_closures,
    read_couplings,
    read_mimics,
)
from nacelle.exchange.xml import (
    Element,
    finite_numbers,
    inertia_attributes,
    number_attribute,
    require_physical,
    vector_attribute,
)
from nacelle.model.joint import Interval
from nacelle.spatial.pose import Pose, identity

# ---- drives


@dataclass(frozen=True, eq=False)
class _Drive:
    """A motor at a joint of the file."""

    joint: str
    name: str
    gear: float
    rotor: float
    element: Element
    is_certain: bool = True


def add_motors(
    root: Element, joints: Sequence[Link], by_name: dict[str, Link], side: ClosureFile, report: ExchangeReport
) -> list[Link]:
    """The joints with their motors.

    Args:
        root: the document.
        joints: joints of the graph.
        by_name: the last of them for each joint of the file.
        side: what the closure file says.
        report: of what is left out.
    """
    elements = {element.get("name"): element for element in root.children if element.tag in _JOINT_TAGS}
    drives = _closure_file_drives(side, elements)
    if drives is None:
        drives = [*_transmission_drives(root, report), *_ros2_control_drives(root)]
    if not drives and side.motors is None:
        drives = _effort_drives(elements, by_name)
    motors: dict[str, Link] = {}
    names = UniqueNames()
    for drive in drives:
        link = by_name.get(drive.joint)
        if link is None:
            raise drive.element.fault(f"there is no joint {drive.joint!r} to drive")
        if len(link.axes) != 1:
            raise drive.element.fault(f"the joint {drive.joint!r} is {link.kind}, which a motor cannot drive")
        if link.name in motors:
            continue
        name = names.new(drive.name, link.name) if drive.name != drive.joint else link.name
        motors[link.name] = _add_motor(link, drive, elements[drive.joint], name)
    return [motors.get(link.name, link) for link in joints]


def _add_motor(link: Link, drive: _Drive, element: Element, name: str) -> Link:
    limit = element.first("limit")
    force = number_attribute(limit, "effort", 0.0, math.inf) or math.inf
    speed = number_attribute(limit, "velocity", 0.0, math.inf) or math.inf
    motor = Motor(name, abs(drive.gear), abs(force), abs(speed), drive.is_certain)
    return replace(link, axes=(replace(link.axes[0], motor=motor, armature=drive.gear**2 * drive.rotor),))


def _closure_file_drives(side: ClosureFile, elements: dict[str, Element]) -> list[_Drive] | None:
    if side.motors is None:
        return None
    for node in side.motors:
        if node.value not in elements:
            raise side.fault(node, f"the URDF has no joint {node.value!r} to drive")
    return [
        _Drive(str(node.value), str(node.value), 1.0, 0.0, elements[str(node.value)]) for node in side.motors
    ]


def _transmission_drives(root: Element, report: ExchangeReport) -> Iterator[_Drive]:
    for element in root.children_named("transmission"):
        joints, actuators = element.children_named("joint"), element.children_named("actuator")
        kind = element.get("type") or next(
            (child.text.strip() for child in element.children_named("type")), ""
        )
        if len(joints) != 1 or len(actuators) > 1:
            report.add_loss(
                f"the transmission {element.get('name')!r} ({kind}) left out: its joints are driven directly"
            )
        for joint in joints:
            gear = _gear_ratio([*actuators[:1], joint, element]) if len(joints) == 1 else 1.0
            inner = actuators[0].first("drake:rotor_inertia") if len(actuators) == 1 else None
            outer = actuators[0].first("drake:gear_ratio") if len(actuators) == 1 else None
            yield _Drive(
                joint.get("name"),
                (actuators[0].get("name") if len(actuators) == 1 else "") or joint.get("name"),
                number_attribute(outer, "value", gear),
                number_attribute(inner, "value", 0.0),
                joint,
            )


def _gear_ratio(elements: Sequence[Element]) -> float:
    """The reduction, wherever one of the versions of the format has it."""
    for element in elements:
        for tag in ("mechanicalReduction", "mechanical_reduction"):
            reduction = element.first(tag)
            if reduction is not None:
                value = float(finite_numbers(reduction, reduction.text, 1, f"<{tag}>")[0])
                if value == 0.0:
                    raise reduction.fault("a reduction of zero")
                return value
    return 1.0


def _ros2_control_drives(root: Element) -> Iterator[_Drive]:
    for system in root.children_named("ros2_control"):
        for joint in system.children_named("joint"):
            if joint.children_named("command_interface"):
                yield _Drive(joint.get("name"), joint.get("name"), 1.0, 0.0, joint)


def _effort_drives(elements: dict[str, Element], by_name: dict[str, Link]) -> list[_Drive]:
    """Joints with a limit of effort that neither mimic another nor are said to depend on others (URDF+)."""
    drives = []
    for name, element in elements.items():
        free = element.first("mimic") is None and element.get("independent", "true").lower() != "false"
        if (
            free
            and name in by_name
            and len(by_name[name].axes) == 1
            and number_attribute(element.first("limit"), "effort", 0.0, math.inf) > 0.0
        ):
            drives.append(_Drive(name, name, 1.0, 0.0, element, is_certain=False))
    return drives


# ---- shapes to draw: boxes, cylinders and spheres; meshes are counted


def shapes_of(link: Element, report: ExchangeReport) -> tuple[Shape, ...]:
    """What is drawn of a link, in its frame."""
    shapes = []
    for visual in link.children_named("visual"):
        at = pose_of(visual.first("origin"))
        for geometry in visual.children_named("geometry"):
            for solid in geometry.children:
                if solid.tag == "mesh":
                    report.add_loss("meshes left out: bodies are drawn by their joints")
                elif solid.tag == "box":
                    x, y, z = vector_attribute(solid, "size")
                    shapes.append(Shape("box", (float(x), float(y), float(z)), at))
                elif solid.tag in ("cylinder", "capsule"):
                    size = (number_attribute(solid, "radius", 0.0), number_attribute(solid, "length", 0.0))
                    shapes.append(Shape("cylinder", size, at))
                elif solid.tag == "sphere":
                    shapes.append(Shape("sphere", (number_attribute(solid, "radius", 0.0),), at))
                else:
                    report.add_loss(f"shapes <{solid.tag}> left out")
    return tuple(shape for shape in shapes if min(shape.size) > 0.0)


# ---- the graph


GRAVITY = np.array([0.0, 0.0, -9.81])
_TURNS = {"revolute": True, "continuous": True, "prismatic": False}
# What the root may hold: read, or left out with a word about it.
_KNOWN_TAGS = {
    "link",
    "joint",
    "transmission",
    "ros2_control",
    "loop",
    "coupling",
    "constraint",
    "loop_joint",
    "drake:joint",
    *DRAKE_TAGS,
}
_JOINT_TAGS = ("joint", "drake:joint")
_WORLD = "world"
_IGNORED_TAGS = {"material", "frame", "fixed_frame", "drake:collision_filter_group"}
# Links below this mass (kg) are frames: exporters give them a little, which some engines need.
_NO_MASS = 1e-6
# Names of types that Drake has in addition, and what they are.
_DRAKE_TYPES = {"ball": "spherical", "universal": "universal_xy"}


def read_urdf(
    root: Element, path: Path, *, floating: bool = False, side: ClosureFile = NO_CLOSURE_FILE
) -> Graph:
    """Read the tree of a document and its closures.

    Args:
        root: the element `robot`.
        path: its file.
        floating: whether the root link floats.
        side: what a file next to it says about loops and drives.

    Raises:
        DescriptionError: with the place of what is wrong.
    """
    return _Reader(root, path, floating, side).graph()


class _Reader:
    def __init__(self, root: Element, path: Path, floating: bool, side: ClosureFile) -> None:
        self.root, self.path, self.floating, self.side = root, path, floating, side
        self.report = ExchangeReport()
        _refuse_macros(root)
        self.elements = _elements_by_name(root, "link")
        self.joint_elements = _elements_by_name(root, *_JOINT_TAGS)
        self._add_world()
        if not self.elements:
            raise root.fault("the robot has no link")
        side.require_joints(self.joint_elements)
        self.base = self._find_base()
        names = UniqueNames()
        self.bodies = {
            name: BASE if name == self.base and not self.floating else names.new(name, f"body{k}")
            for k, name in enumerate(self.elements, 1)
        }
        self.body_names, self.joint_names = names, UniqueNames()
        self.links = LinkNames(self.bodies)
        self.solids: dict[str, Solid] = {}
        self.joints: list[Link] = []
        # Links of the graph by the names of joints in the file.
        self.joint_by_name: dict[str, Link] = {}
        # The body that moves freely and its pose.
        self.free_body = self.bodies[self.base] if self.floating else None
        self.free_pose = identity()

    def _add_world(self) -> None:
        """The link `world`, which Drake and Gazebo know without its element."""
        parents = [
            parent
            for joint in self.joint_elements.values()
            for parent in joint.children_named("parent")
            if parent.get("link") == _WORLD
        ]
        if parents and _WORLD not in self.elements:
            first = parents[0]
            element = Element("link", {"name": _WORLD}, first.file, first.line, first.column)
            self.elements = {_WORLD: element, **self.elements}

    def _find_base(self) -> str:
        """The link that no joint has as its child."""
        children = {
            child.get("link")
            for joint in self.joint_elements.values()
            for child in joint.children_named("child")
        }
        roots = [name for name in self.elements if name not in children]
        if not roots:
            raise self.root.fault("every link is the child of a joint: none is the base")
        joined = {
            parent.get("link")
            for joint in self.joint_elements.values()
            for parent in joint.children_named("parent")
        }
        return next((name for name in roots if name in joined), roots[0])

    def graph(self) -> Graph:
        """The whole file."""
        for name, element in self.elements.items():
            self.solids[self.bodies[name]] = self._solid(element, self.bodies[name] == BASE)
        shapes = self.solids.pop(BASE).shapes if BASE in self.solids else ()
        for name, element in self.joint_elements.items():
            self._add_joint(name, element)
        self._free_lone_root()
        couplings = self._couplings()
        self._note_losses()
        names = NamesInFile(self._frame, self._single_axis_joint, self.joint_names)
        drake = DrakeElements(names, self.report).read(self.root)
        closures = drake.closures + read_closures(self.root, self.links, self.joint_names)
        if gazebo.gazebo_joints(self.root):
            closures += gazebo.read_closures(self.root, self.links, self._zero_poses(), self.joint_names)
        frames = self._frames()
        closures += self.side.closures(frames, self.joint_names)
        if self.side.loops is None:
            closures += self._closing_frames(frames, closures)
        spread: list[Link] = []
        for closure in closures:
            spread += self._split_joint(closure)
        joints = add_motors(self.root, self.joints, self.joint_by_name, self.side, self.report)
        graph = Graph(
            name=UniqueNames().new(self.root.get("name"), self.path.stem),
            file=str(self.path),
            gravity=GRAVITY,
            bodies=self.solids,
            joints=tuple(joints),
            closures=tuple(spread),
            couplings=(*couplings, *drake.couplings),
            struts=tuple(drake.struts),
            floating=self.free_body,
            pose=self.free_pose,
            shapes=shapes,
            digits=_digits(self.root),
            report=self.report,
        )
        return with_spanning_tree(graph.with_values(self.side.values(self.joint_by_name)))

    def _solid(self, element: Element, is_base: bool) -> Solid:
        shapes = shapes_of(element, self.report)
        inertial = element.first("inertial")
        if inertial is None or is_base:
            return Solid(shapes=shapes)
        pose = pose_of(inertial.first("origin"))
        mass = number_attribute(inertial.first("mass"), "value", 0.0)
        inertia = pose.R @ inertia_attributes(inertial.first("inertia")) @ pose.R.T
        return require_physical(Solid(mass, pose.p, 0.5 * (inertia + inertia.T), shapes), inertial.fault)

    def _add_joint(self, name: str, element: Element) -> None:
        parent = self.links.body(element.first("parent"), element)
        child = self.links.body(element.first("child"), element)
        if parent == child:
            raise element.fault(f"the joint {name!r} joins a link to itself")
        origin = pose_of(element.first("origin"))
        link = Link(self.joint_names.new(name, "joint"), parent, child, origin, line=element.line)
        kind = self.side.kinds.get(name) or element.get("type")
        kind = _DRAKE_TYPES.get(kind, kind) if element.tag == "drake:joint" else kind
        if kind == "floating":
            self._add_free_body(link, element)
            return
        joints = self._joint_of_type(link, kind, element)
        self.joint_by_name[name] = joints[-1]
        self.joints += joints

    def _add_free_body(self, link: Link, element: Element) -> None:
        """The child of a floating joint, which moves freely."""
        if self.free_body is not None or link.parent != BASE:
            raise element.fault(
                f"the joint {link.name!r} is floating, which holds nothing",
                "one body may float, on the root link, and --floating frees the root link itself",
            )
        self.free_body, self.free_pose = link.child, link.at

    def _free_lone_root(self) -> None:
        """Where the base is the world, another link that no joint carries moves freely, as in Drake."""
        carried = {link.child for link in self.joints}
        roots = [name for name, body in self.bodies.items() if body not in carried and body != BASE]
        if self.base == _WORLD and len(roots) == 1 and self.free_body is None:
            self.free_body = self.bodies[roots[0]]
            self.report.add_step(f"no joint carries the link {roots[0]!r}: it moves freely")

    def _joint_of_type(self, link: Link, kind: str, element: Element) -> list[Link]:
        """Joints of the graph for one of a type."""
        if kind in _TURNS:
            return [replace(link, axes=(_axis(element, _TURNS[kind], kind != "continuous"),))]
        if kind == "fixed":
            return [link]
        if kind == "spherical":
            return [replace(link, spherical=True)]
        if kind.startswith("universal"):
            axes = [Axis(np.eye(3)["xyz".index(letter)]) for letter in kind[-2:]]
            return [replace(link, axes=tuple(axes))]
        if kind == "planar":
            return self._split_joint(replace(link, axes=planar_axes(axis_of(element.first("axis")))))
        raise element.fault(f"the joint {link.name!r} has the type {kind!r}, which URDF does not have")

    def _split_joint(self, link: Link) -> list[Link]:
        """A joint whose axes are more than a universal joint's as several with massless bodies between."""
        if len(link.axes) < 3:
            return [link]
        names = [link.name, *(self.joint_names.new(f"{link.name}-{k}", "joint") for k in range(2, 4))]
        links, carriers = split_axes(replace(link, axes=()), link.axes, names, self.body_names)
        self.solids |= massless_bodies(carriers)
        return links

    def _zero_poses(self) -> dict[str, Pose]:
        """Poses of all bodies at zero."""
        tree = Graph("", str(self.path), GRAVITY, self.solids, tuple(self.joints), floating=self.free_body)
        return with_spanning_tree(replace(tree, pose=self.free_pose)).poses()

    def _couplings(self) -> list[Coupling]:
        names = UniqueNames()
        couplings = read_mimics(self.joint_elements, self.joint_by_name, names)
        return couplings + read_couplings(self.root, self.links, self.joints, names)

    def _frames(self) -> dict[str, tuple[str, Pose]]:
        """Frames that a file next to this one may name: joints (the child's frame), then links."""
        frames = {}
        for name, element in self.elements.items():
            frames[name] = (self.bodies[element.get("name")], Pose(np.eye(3), np.zeros(3)))
        for name, link in self.joint_by_name.items():
            frames[name] = (link.child, link.child_at)
        return frames

    def _frame(self, name: str, element: Element) -> tuple[str, Pose]:
        """The body of a link or of an element `frame`, and the pose on it."""
        frame = next((f for f in self.root.children_named("frame") if f.get("name") == name), None)
        if frame is not None and name not in self.bodies:
            return self.links.body(frame, frame), pose_of(frame)
        return self.links.body_named(name, element), identity()

    def _single_axis_joint(self, name: str, element: Element) -> Link:
        link = self.joint_by_name.get(name)
        if link is None or len(link.axes) != 1:
            raise element.fault(f"there is no joint {name!r} with one axis")
        return link

    def _closing_frames(self, frames: dict[str, tuple[str, Pose]], closures: list[Link]) -> list[Link]:
        """Closures between frames whose names say so.

        Raises:
            DescriptionError: where names hint at loops in another way, which would stay open.
        """
        loops, elements = [], self.joint_elements | self.elements
        for first, second in closing_pairs(frames):
            (parent, at), (child, child_at) = frames[first], frames[second]
            if parent == child:
                raise elements[first].fault(f"the frames {first!r} and {second!r} are on one body")
            name = self.joint_names.new(re.sub("_1(_z)?$", r"\1", first), "loop")
            line = elements[first].line
            loops.append(Link(name, parent, child, at, child_at, spherical=True, line=line))
        children = Counter(link.child for link in self.joints)
        ends = {end for link in (*closures, *loops) for end in (link.parent, link.child)}
        ends |= {body for body, count in children.items() if count > 1}
        left = loop_hints(name for name, (body, _) in frames.items() if body not in ends)
        if left:
            raise elements[left[0]].fault(
                hint_message(left),
                "give a closure file (--closures) with closed_loop: [[frame, frame], ...]; [] is the tree",
            )
        self._warn_of_pairs(frames, ends)
        return loops

    def _warn_of_pairs(self, frames: dict[str, tuple[str, Pose]], ends: Collection[str]) -> None:
        """Warn of frames without mass at the ends of the tree whose names come in pairs."""
        parents = {link.parent for link in self.joints}
        leaves = [
            name
            for name, body in self.bodies.items()
            if body not in {*parents, *ends, BASE} and self.solids[body].mass < _NO_MASS
        ]
        carriers = {link.child: link.parent for link in self.joints if link.kind == "fixed"}
        pairs = [
            pair
            for pair in lone_pairs(leaves)
            if len({carriers.get(frames[name][0], BASE) for name in pair}) == 2
        ]
        if pairs:
            element = self.elements[pairs[0][0]]
            names = ", ".join(" and ".join(pair) for pair in pairs[:3]) + (", ..." if len(pairs) > 3 else "")
            self.report.warn(
                element.fault(
                    f"frames without mass come in pairs ({names}): if they close loops, these are open here",
                    "name them in a closure file (--closures), closed_loop: [[frame, frame], ...]",
                )
            )

    def _note_losses(self) -> None:
        lost = self.report.add_loss
        if any(link.children_named("collision") for link in self.elements.values()):
            lost("collision shapes left out: nothing stops bodies that meet")
        for child in self.root.children:
            if _is_left_out(child) and loop_hints([child.tag]):
                raise child.fault(
                    f"<{child.tag}> hints at a loop and is not read",
                    f"closures are {', '.join(f'<{tag}>' for tag in ('loop', 'constraint', 'loop_joint'))}, "
                    "a closure file, or frames closing_NAME_1 and closing_NAME_2",
                )
        others = sorted({child.tag for child in self.root.children if _is_left_out(child)})
        if others:
            lost(f"elements left out: {', '.join(f'<{tag}>' for tag in others)}")
        for element in self.joint_elements.values():
            properties = element.first("joint_properties")
            if any(number_attribute(properties, name, 0.0) for name in ("friction", "damping")):
                lost("<joint_properties> left out: friction and damping belong into <dynamics>")


def _digits(root: Element) -> Digits:
    lengths: list[str] = []
    angles: list[str] = []
    for element in frame_elements(root):
        (angles if "axis" in element.tag else lengths).extend(element.get("xyz").split())
        angles += element.get("rpy").split()
    return Digits(last_digit(lengths), last_digit(angles))


def _refuse_macros(root: Element) -> None:
    for element in root.all():
        if element.tag.startswith("xacro:"):
            raise element.fault(
                f"<{element.tag}> is a macro, which is not read", "run xacro on the file first"
            )


def _is_left_out(element: Element) -> bool:
    """Whether an element has more than what is read; joints of Gazebo are."""
    if element.tag == "gazebo":
        return any(child.tag != "joint" for child in element.children)
    return element.tag not in _KNOWN_TAGS | _IGNORED_TAGS


def _elements_by_name(root: Element, *tags: str) -> dict[str, Element]:
    elements: dict[str, Element] = {}
    for element in root.children:
        if element.tag not in tags:
            continue
        name = element.get("name")
        if not name:
            raise element.fault(f"a <{element.tag}> has no name")
        if name in elements:
            raise element.fault(
                f"two elements <{element.tag}> are called {name!r}",
                f"the first is in line {elements[name].line}",
            )
        elements[name] = element
    return elements


def _axis(element: Element, turns: bool, limited: bool) -> Axis:
    dynamics, limit = element.first("dynamics"), element.first("limit")
    lower = number_attribute(limit, "lower", -math.inf, math.inf) if limited else -math.inf
    upper = number_attribute(limit, "upper", math.inf, math.inf) if limited else math.inf
    if lower > upper:
        raise element.fault(f"the lower limit {lower:g} is above the upper one {upper:g}")
    return Axis(
        axis_of(element.first("axis")),
        turns,
        damping=number_attribute(dynamics, "damping", 0.0),
        coulomb=number_attribute(dynamics, "friction", 0.0),
        limits=Interval(lower, upper),
    )
