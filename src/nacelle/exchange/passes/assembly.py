"""The loops of a graph closed: from far poses, and with frames corrected where a file has too few digits.

Loops that share no joint are closed apart, from the pose of the file, from its keyframes and from random
starts, within the limits of joints where that is possible. Where the pose has more motions than those next
to it, one of these takes its place.

An overconstrained loop closes only where its frames are exact, and those of a file are rounded. The
gap that is left and the digits of the file say which singular values of the closures are rounding: those
below 30 times the larger of the two. What moves then, moves in the robot that was meant. Its independent
rates are held at random configurations, and the joint frames are changed by as little as closes the loops
in all of them, lengths and angles in units of their last digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from nacelle.errors import DescriptionError, Problem
from nacelle.exchange.description import DescriptionData, describe_graph, leg_pieces
from nacelle.exchange.graph import BASE, Graph, Link
from nacelle.exchange.passes.roots import with_leg_bodies
from nacelle.kinematics.mechanism.assembly import (
    Assembly,
    assemble,
    is_beyond_limits,
    rate_scale,
    row_scale,
    scaled_closures,
)
from nacelle.kinematics.mechanism.far_assembly import (
    Configuration,
    FarClosing,
    close_from_far,
    close_near,
    sample_near,
)
from nacelle.kinematics.mechanism.regularised import (
    CorrectionOptions,
    LoopClosingCorrection,
    regularise_geometry,
)
from nacelle.model.build.graph import connected_components
from nacelle.model.platform import AXES
from nacelle.model.read import read_data
from nacelle.model.robot import Robot
from nacelle.model.source.node import file_error
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array
from nacelle.tree.closure import NumberClosures
from nacelle.tree.spanning_tree import NumericTree

# Singular values below this part of the largest are digits of a file of which no digits are known.
RANK = 1e-5
# How many times the rounding of frames singular values may be that it makes; bounds of such a rank.
_ROUNDING, _EXACT_RANK, _LARGEST_RANK = 30.0, 1e-9, 1e-3
# The largest shift of a frame, over the robot's size, and the gap that a pose counts as closed with before
# it, or how many of the file's last digits.
_TOLERANCE, _CLOSED_BEFORE, _ROUNDED_GAP = 1e-3, 1e-4, 10.0
# How far a pose is from a singular one, rad or over the size.
_AWAY_FROM_SINGULARITY = 0.3
# A gap of so many times the largest correction is worth a try; corrections that a message still names.
_NEAR, _NAMED = 5.0, (3.0, 10.0)
# Weights of rotations against shifts, whatever the digits of a file are.
_WEIGHTS = 0.01, 100.0


@dataclass(frozen=True, eq=False)
class AssembledGraph:
    """A graph whose loops are closed, and the robot that its description gives.

    Attributes:
        graph: the graph, in its assembly.
        description: of the graph.
        robot: the robot.
        assembly: the robot's configuration.
    """

    graph: Graph
    description: DescriptionData
    robot: Robot
    assembly: Assembly

    def joint(self, joint: Link) -> int:
        """The index of a joint of the graph in the robot."""
        return self.robot.joint(self.description.joints[joint.name])

    def first_rate(self, joint: Link) -> int:
        """Where the rates of a joint of the tree begin in all rates of the robot."""
        return self.robot.platform_nv + int(self.robot.v_slices[self.joint(joint)].start)

    def name_in_file(self, name: str) -> str:
        """The name in the graph of a joint of the robot."""
        return next((key for key, full in self.description.joints.items() if full == name), name)

    def at(self, assembly: Assembly) -> AssembledGraph:
        """The same in another configuration."""
        robot, graph = self.robot, self.graph
        values = {
            joint.name: np.array(assembly.q_tree[robot.q_slices[self.joint(joint)]], dtype=float)
            for joint in graph.joints
        }
        pose = assembly.platform if graph.floating else graph.pose
        return replace(self, graph=replace(graph.with_values(values), pose=pose), assembly=assembly)

    def starts(self) -> list[Configuration]:
        """The configuration of the file, then others that it names."""
        reference = self.robot.reference
        result = []
        for values in ({}, *self.graph.other_starts):
            graph = self.graph.with_values(values)
            q = [
                joint.quat if joint.spherical else [axis.value for axis in joint.axes]
                for joint in graph.joints
            ]
            q_tree = np.array(self.assembly.q_tree)
            for joint, value in zip(graph.joints, q, strict=True):
                q_tree[self.robot.q_slices[self.joint(joint)]] = value
            result.append((reference, q_tree))
        return result


def describe_robot(graph: Graph) -> AssembledGraph:
    """A graph as a robot with any motion, in the nearest configuration that its assembly finds.

    Raises:
        DescriptionError: if nothing moves.
    """
    singles = [joint.name for joint in graph.joints if len(joint.axes) == 1]
    if not singles and graph.floating is None:
        raise file_error(graph.file, "nothing moves: the file has no hinge, slide or free body")
    # Any motion builds the tree; what it does not name may move to close the loops.
    coordinates = tuple(singles[:1]) if graph.floating is None else _coordinates_without_platform(graph)
    for axis in AXES:
        description = describe_graph(with_leg_bodies(graph), coordinates, (axis,), exact=True)
        robot, _ = read_data(description.data)
        assembly = assemble(robot)
        if not assembly.open or graph.floating is None:
            break
    return AssembledGraph(graph, description, robot, assembly)


def assemble_graph(graph: Graph) -> AssembledGraph:
    """Close the loops of a graph.

    Raises:
        DescriptionError: if they do not close, or nothing moves.
    """
    candidate = describe_robot(graph)
    if candidate.assembly.open:
        candidate = _close_from_far(candidate, 0.0)
        if candidate.assembly.open:
            raise _open_error(candidate, "the loops do not close near the assembly")
    return candidate.at(candidate.assembly)


def _coordinates_without_platform(graph: Graph) -> tuple[str, ...]:
    """A joint of each chain that stands on the base and does not reach the platform.

    Raises:
        DescriptionError: if one has neither a hinge nor a slide.
    """
    coordinates = []
    for leg in leg_pieces(graph):
        if leg.is_joined_to((graph.floating, *graph.parts)):
            continue
        singles = [joint.name for joint in leg.joints if len(joint.axes) == 1]
        if not singles:
            bodies = ", ".join(repr(body) for body in leg.bodies)
            raise file_error(
                graph.file,
                f"{bodies} hang on ball joints alone and are not joined to the platform {graph.floating!r}",
                "import the two mechanisms from files of their own",
                leg.joints[0].line if leg.joints else 0,
            )
        coordinates.append(singles[0])
    return tuple(coordinates)


def _open_error(candidate: AssembledGraph, what: str, hint: str = "") -> DescriptionError:
    graph = candidate.graph
    gaps = {candidate.name_in_file(name): gap for name, gap in candidate.assembly.open.items()}
    lines = [closure.line for closure in graph.closures if closure.name in gaps]
    text = ", ".join(f"{name} {gap}" for name, gap in list(gaps.items())[:6]) + (
        ", ..." if len(gaps) > 6 else ""
    )
    return file_error(graph.file, f"{what}: {text}", hint, min(lines, default=0))


# ---- loops that are closed once, with the digits of the file


def with_closed_loops(graph: Graph, tolerance: float | None = None) -> Graph:
    """The graph in an assembly, with joint frames that close all loops wherever it moves.

    Loops that share no joint are closed apart.

    Args:
        graph: the graph, as its file gives it.
        tolerance: the largest shift of a joint frame, m; a part 1e-3 of the loops' size if None. A rotation
            is as large as the shift that it makes over this size.

    Raises:
        DescriptionError: if the loops do not close, or only with a larger change.
    """
    parts: list[ClosedLoops] = []
    problems: list[Problem] = []
    for part in loop_components(graph):
        try:
            parts.append(_close_loops(part, tolerance))
        except DescriptionError as error:
            problems += error.problems
    if problems:
        raise DescriptionError(problems)
    by_name = {link.name: link for part in parts for link in part.graph.links}
    corrections = [correction for part in parts for correction in part.corrections]
    if corrections:
        shift, rotation = (max(corrections, key=key) for key in (lambda c: c.length, lambda c: c.angle))
        graph.report.add_loss(
            "loops close only to the digits of the file; joint frames changed by the least that closes them "
            f"in every pose, at most {_micro(shift.length, 'm')} ({shift.joint}) and "
            f"{_micro(rotation.angle, 'rad')} ({rotation.joint})"
        )
        graph.report.add_step(f"joint frames changed: {', '.join(str(c) for c in corrections)}")
    joints, closures = (
        tuple(_take_over(link, by_name.get(link.name)) for link in links)
        for links in (graph.joints, graph.closures)
    )
    floating = next((part.graph for part in parts if part.graph.floating is not None), graph)
    return replace(graph, joints=joints, closures=closures, pose=floating.pose)


def _take_over(link: Link, closed: Link | None) -> Link:
    """A link with the frames and coordinates that it has in the graph of its loop."""
    if closed is None:
        return link
    return replace(link, at=closed.at, child_at=closed.child_at, axes=closed.axes, quat=closed.quat)


def loop_components(graph: Graph) -> list[Graph]:
    """Graphs of the loops that share joints or couplings, each on its first common body as the base."""
    carrier = {joint.child: joint for joint in graph.joints}

    def path(body: str) -> list[str]:
        """Names of bodies from the root of the tree to a body."""
        bodies = [body]
        while bodies[0] in carrier:
            bodies.insert(0, carrier[bodies[0]].parent)
        return bodies

    children = {joint.name: joint.child for joint in graph.joints}
    loops = [set(path(closure.parent)) ^ set(path(closure.child)) for closure in graph.closures]
    coupled = [{children[name] for name in (c.joint, *c.follows)} for c in graph.couplings]
    chains = [sorted(bodies) for bodies in (*loops, *coupled)]
    pieces = connected_components(list(graph.bodies), [pair for chain in chains for pair in pairwise(chain)])
    result = []
    for piece in map(set, pieces):
        closures = tuple(c for c, bodies in zip(graph.closures, loops, strict=True) if bodies & piece)
        paths = [path(body)[:-1] for body in piece if body in carrier]
        roots = {way[0] for way in paths}
        if not closures:
            continue
        singles = any(len(carrier[body].axes) == 1 for body in piece if body in carrier)
        if len(roots) != 1 or not singles or graph.floating in piece:
            return [graph]
        root = next(body for body in reversed(paths[0]) if all(body in way for way in paths))
        bodies = {body for way in paths for body in way[way.index(root) + 1 :]} | piece
        result.append(_part_of(graph, root, bodies, closures))
    return result


def _part_of(graph: Graph, root: str, bodies: set[str], closures: tuple[Link, ...]) -> Graph:
    """The graph of some bodies, on one that is the base."""

    def on_base(link: Link) -> Link:
        parent, child = (BASE if body == root else body for body in (link.parent, link.child))
        return replace(link, parent=parent, child=child)

    joints = tuple(on_base(joint) for joint in graph.joints if joint.child in bodies)
    names = {joint.name for joint in joints}
    return replace(
        graph,
        bodies={body: graph.bodies[body] for body in graph.bodies if body in bodies},
        joints=joints,
        closures=tuple(on_base(closure) for closure in closures),
        couplings=tuple(c for c in graph.couplings if {c.joint, *c.follows} <= names),
        struts=(),
        dampers=(),
        floating=None,
        parts=(),
        shapes=(),
        marks=(),
    )


@dataclass(frozen=True)
class JointCorrection:
    """How far the frames of a joint were moved: its name, m, rad."""

    joint: str
    length: float
    angle: float

    def __str__(self) -> str:
        return f"{self.joint} {_micro(self.length, 'm')} {_micro(self.angle, 'rad')}"


@dataclass(frozen=True, eq=False)
class ClosedLoops:
    """A graph of loops in an assembly, and how its joint frames were changed."""

    graph: Graph
    corrections: tuple[JointCorrection, ...] = ()


def _close_loops(graph: Graph, tolerance: float | None) -> ClosedLoops:
    """Close the loops of a graph, and correct its frames where they are rounded."""
    loops = describe_robot(graph)
    largest = _TOLERANCE if tolerance is None else tolerance / loops.robot.size
    is_far = bool(loops.assembly.open) or _is_closed_beyond_limits(loops, largest)
    if is_far:
        loops = _close_from_far(
            loops, min(largest, max(_CLOSED_BEFORE, _ROUNDED_GAP * _relative_digits(loops)))
        )
    robot, state = loops.robot, loops.assembly.closures
    gap = float(np.max(np.abs(state.residual) / row_scale(robot), initial=0.0))
    if loops.assembly.open and gap > _NEAR * max(_NAMED) * largest:
        raise _open_error(
            loops,
            "the loops do not close, neither from the pose of the file nor from others; in the nearest one",
            "check which frames coincide, or give a nearer pose: a keyframe in MJCF, 'assembly' with a URDF",
        )
    rank = min(max(_ROUNDING * max(gap, _relative_digits(loops)), _EXACT_RANK), _LARGEST_RANK)
    near = sample_near(robot, loops.assembly, rank, _AWAY_FROM_SINGULARITY)
    regular = _regular_neighbour(loops, rank, near)
    if regular is not None:
        loops, state, is_far = replace(loops, assembly=regular), regular.closures, True
    s = np.linalg.svd(scaled_closures(robot, state), compute_uv=False)
    rounded = bool(np.any((s > _EXACT_RANK * s[0]) & (s < rank * s[0]))) if s.size else False
    if not loops.assembly.open and not rounded:
        # Where the pose of the file is near enough, coordinates are chosen first, and then hold it.
        return ClosedLoops(loops.at(loops.assembly).graph if is_far else graph)
    loops = loops.at(loops.assembly)
    options = _correction_options(loops, rank, near)
    change = regularise_geometry(robot, loops.assembly, replace(options, largest=largest))
    if change is not None:
        return _with_correction(loops, change)
    if not loops.assembly.open:
        return ClosedLoops(loops.graph)
    for factor in _NAMED:
        change = regularise_geometry(robot, loops.assembly, replace(options, largest=factor * largest))
        if change is not None:
            shift = change.largest_shift
            needed = max(shift.length, change.largest_rotation.angle * robot.size)
            raise _open_error(
                loops,
                f"the loops close only if {loops.name_in_file(change.name(shift))!r} is shifted by "
                f"{_micro(shift.length, 'm')}, more than the tolerance of "
                f"{_micro(largest * robot.size, 'm')}; now",
                f"give numbers with more digits, or accept it: --tolerance {1.1e3 * needed:.2g}mm",
            )
    raise _open_error(
        loops,
        "no small change of the joint frames closes the loops",
        "give numbers with more digits, or check which frames coincide",
    )


def _regular_neighbour(loops: AssembledGraph, rank: float, near: Sequence[Assembly]) -> Assembly | None:
    """Of configurations near a singular one the best; None where it has no more motions than they."""
    robot, here = loops.robot, loops.assembly
    mobility = null_space_of_rows(scaled_closures(robot, here.closures), rank).shape[1]
    fewer = {
        k: count
        for k, assembly in enumerate(near)
        if (count := null_space_of_rows(scaled_closures(robot, assembly.closures), rank).shape[1]) < mobility
    }
    if not fewer or min(fewer.values()) == 0:
        return None
    regular = [near[k] for k, count in fewer.items() if count == min(fewer.values())]
    names = ", ".join(repr(closure.name) for closure in loops.graph.closures[:4])
    loops.graph.report.add_step(
        f"the pose of the file is singular, with {mobility} motions of loops at {names} where others have "
        f"{min(fewer.values())}: assembled in a pose next to it"
    )
    return min(regular, key=lambda assembly: is_beyond_limits(robot, assembly.q_tree))


def _relative_digits(candidate: AssembledGraph) -> float:
    """The last digit of a file, over the robot's size or in rad."""
    return max(candidate.graph.digits.length / candidate.robot.size, candidate.graph.digits.angle)


def _is_closed_beyond_limits(loops: AssembledGraph, largest: float) -> bool:
    """Whether the pose of the file is open, and the nearest closed one beyond limits of joints."""
    robot = loops.robot
    if not is_beyond_limits(robot, loops.assembly.q_tree):
        return False
    residual = NumberClosures(robot).state(NumericTree(robot).motion(*loops.starts()[0])).residual
    return bool(np.max(np.abs(residual) / row_scale(robot), initial=0.0) > largest)


def _close_from_far(candidate: AssembledGraph, near: float) -> AssembledGraph:
    """The nearest configuration from all starts; its gap is not zero where frames are rounded."""
    rank = min(max(_ROUNDING * _relative_digits(candidate), 1e-12), _LARGEST_RANK)
    assembly = close_from_far(candidate.robot, candidate.starts(), FarClosing(rank, near))
    if assembly.open and rank > 1e-12:
        exact = close_near(candidate.robot, (assembly.platform, assembly.q_tree))
        assembly = assembly if exact.open else exact
    return replace(candidate, assembly=assembly)


def _correction_options(
    candidate: AssembledGraph, rank: float, near: Sequence[Assembly]
) -> CorrectionOptions:
    """Which rates the closures leave independent at a generic configuration, and weights by digits."""
    from scipy.linalg import qr

    robot, digits = candidate.robot, candidate.graph.digits
    states = [assembly.closures for assembly in (candidate.assembly, *near)]
    null_spaces = [null_space_of_rows(scaled_closures(robot, state), rank) for state in states]
    N = min(null_spaces, key=lambda basis: basis.shape[1])
    held = np.zeros(len(rate_scale(robot)), dtype=bool)
    if N.shape[1]:
        held[qr(N.T, pivoting=True, mode="r")[1][: N.shape[1]]] = True
    weight = digits.angle * robot.size / digits.length if digits.length and digits.angle else 1.0
    return CorrectionOptions(angle_weight=float(np.clip(weight, *_WEIGHTS)), held=held)


def null_space_of_rows(rows: Array, rank: float = RANK) -> Array:
    """A basis (rates, others), orthonormal, of the scaled rates that rows (rows, rates) leave free."""
    if not len(rows):
        return np.eye(rows.shape[1])
    _, s, Vt = np.linalg.svd(rows)
    return np.asarray(Vt[int(np.sum(s > rank * np.max(s, initial=0.0))) :].T)


def _with_correction(loops: AssembledGraph, change: LoopClosingCorrection) -> ClosedLoops:
    """The graph with changed frames in its assembly, and how far each joint was moved."""
    graph, robot = loops.graph, loops.robot
    links = {loops.description.joints[link.name]: link for link in graph.links}
    moves: dict[str, JointCorrection] = {}
    for frame in change.frames:
        joint = robot.joints[frame.joint]
        if joint.name not in links:
            continue
        key = f"frame_{frame.side}"
        X: Pose = getattr(change.robot.joints[frame.joint], key) @ getattr(joint, key).inverse()
        link = links[joint.name]
        is_first = frame.side == "predecessor"
        links[joint.name] = (
            replace(link, at=X @ link.at) if is_first else replace(link, child_at=X @ link.child_at)
        )
        before = moves.get(link.name, JointCorrection(link.name, 0.0, 0.0))
        moves[link.name] = JointCorrection(
            link.name, max(before.length, frame.length), max(before.angle, frame.angle)
        )
    by_name = {link.name: link for link in links.values()}
    graph = replace(
        graph,
        joints=tuple(by_name[link.name] for link in graph.joints),
        closures=tuple(by_name[link.name] for link in graph.closures),
    )
    closed = close_near(change.robot, (loops.assembly.platform, loops.assembly.q_tree))
    corrected = replace(loops, graph=graph, robot=change.robot)
    return ClosedLoops(corrected.at(closed).graph, tuple(moves.values()))


def _micro(value: float, unit: str) -> str:
    """A small length or angle in millionths of its unit."""
    return f"{1e6 * value:.2g} µ{unit}" if math.isfinite(value) else f"infinite {unit}"
