"""Importing a robot: from a file of another engine to a description, with a report of what was lost."""

from __future__ import annotations

import math
import os
import textwrap
from collections.abc import Collection
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path

from nacelle.distribution import install_command
from nacelle.errors import DescriptionError, NacelleError, Problem
from nacelle.exchange.description import describe_graph
from nacelle.exchange.graph import Graph
from nacelle.exchange.par import read_par
from nacelle.exchange.passes.assembly import with_closed_loops
from nacelle.exchange.passes.bodies import without_fixed_joints, without_massless_ends
from nacelle.exchange.passes.groups import group_hinges, join_spherical_pairs
from nacelle.exchange.passes.motion import (
    ChosenMotion,
    choose_motion,
    with_drives,
    without_dependent_motors,
)
from nacelle.exchange.passes.platform import with_articulated_platform, with_platform
from nacelle.exchange.passes.roots import with_leg_bodies, without_floating, without_free_bodies
from nacelle.exchange.sdf.read import read_sdf
from nacelle.exchange.urdf.gepetto import NO_CLOSURE_FILE, read_closure_file
from nacelle.exchange.urdf.read import read_urdf
from nacelle.exchange.xml import read_xml
from nacelle.files import write_atomically
from nacelle.kinematics.mechanism.check import check_robot
from nacelle.model.read import read_text
from nacelle.model.robot import Robot
from nacelle.model.source.node import file_error
from nacelle.model.write import yaml_block
from nacelle.results import HasTable


@dataclass(frozen=True, eq=False)
class ImportedRobot(HasTable):
    """A robot from a file of another engine.

    Attributes:
        robot: the robot, checked.
        text: its description, YAML.
        steps: what was done to the file's mechanism without changing its dynamics, a sentence each.
        losses: what was left out or changed, a sentence each.
        warnings: what may be meant otherwise, by the file and by the check of the description.
    """

    robot: Robot
    text: str
    steps: tuple[str, ...]
    losses: tuple[str, ...]
    warnings: tuple[Problem, ...]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the description to a file, whole or not at all."""
        write_atomically(Path(path), self.text)


def import_robot(
    file: str | os.PathLike[str],
    *,
    closures: str | os.PathLike[str] | None = None,
    drive: Collection[str] | None = None,
    floating: bool = False,
    keyframe: str | None = None,
    name: str | None = None,
    platform: str | None = None,
    tolerance: float | None = None,
) -> ImportedRobot:
    """Read a robot from MJCF, URDF, SDF or a parameter file of SYMORO+.

    Args:
        file: the file.
        closures: a file next to a URDF that says which frames coincide and which joints are driven, YAML.
        drive: names of the joints or actuators that are driven; those that the file drives if None.
        floating: whether the root link of a URDF moves freely.
        keyframe: the keyframe in which the robot is assembled; the first if None, the drawn pose
            if empty.
        name: of the robot; the file's if None.
        platform: the body that is the platform; chosen if None, none if empty.
        tolerance: the largest shift (m) of a joint frame that closes loops which are rounded in the file; a
            part 1e-3 of the robot's size if None. Rotations count with the robot's size.

    Returns:
        The robot, its description and the report.

    Raises:
        DescriptionError: with the place of what is wrong; what cannot be imported says why.
        NacelleError: if the tolerance is not positive.
    """
    if tolerance is not None and not 0.0 < tolerance < math.inf:
        raise NacelleError(f"the tolerance is a length above zero, not {tolerance:g} m")
    side = None if closures is None else Path(closures)
    graph = _read_graph(Path(file), side, floating, keyframe)
    return _robot_from_graph(graph if drive is None else with_drives(graph, drive), name, platform, tolerance)


def _read_graph(path: Path, closures: Path | None, floating: bool, keyframe: str | None) -> Graph:
    """The graph of a file in any format."""
    root = None if path.suffix == ".par" else read_xml(path)
    if root is not None and root.tag == "robot":
        side = NO_CLOSURE_FILE if closures is None else read_closure_file(closures)
        return read_urdf(root, path, floating=floating, side=side)
    if closures is not None or floating:
        raise file_error(str(path), "a closure file and a floating root are for URDF alone")
    if root is None:
        return read_par(path)
    if root.tag == "sdf":
        return read_sdf(root, path)
    if root.tag != "mujoco":
        raise root.fault(
            f"<{root.tag}> is not the root of a format that is read",
            "MJCF: <mujoco>, URDF: <robot>, SDF: <sdf>",
        )
    try:
        from nacelle.exchange.mjcf.read import read_mjcf
    except ModuleNotFoundError as error:
        raise file_error(
            str(path), f"MJCF is read by {error.name}, which is not installed", install_command("verify")
        ) from None
    return read_mjcf(path, keyframe)


def _robot_from_graph(
    graph: Graph, name: str | None, platform: str | None, tolerance: float | None = None
) -> ImportedRobot:
    graph = without_massless_ends(
        without_fixed_joints(without_free_bodies(join_spherical_pairs(without_fixed_joints(graph))))
    )
    try:
        graph = with_closed_loops(graph, tolerance)
        coordinates = _choose_motion(without_dependent_motors(graph), platform)
    except DescriptionError as error:
        raise _error_in_file(graph, error) from None
    graph = group_hinges(coordinates.graph, coordinates.joints)
    description = describe_graph(with_leg_bodies(graph), coordinates.joints, coordinates.axes)
    report = graph.report
    data = description.data
    if name is not None:
        data["name"] = name
    head = {key: data.pop(key) for key in ("format", "name")}
    head["title"] = f"Imported from {Path(graph.file).name}"
    if report.losses:
        head["notes"] = "Left out or changed: " + "; ".join(report.losses) + "."
    head["sources"] = [Path(graph.file).name]
    text = "\n".join(_wrap_line(line) for line in yaml_block(head | data, 0)) + "\n"
    try:
        robot, source = read_text(text, f"{graph.name}.yaml")
        check = check_robot(robot, source).require()
    except DescriptionError as error:
        raise _error_in_file(graph, error) from None
    warnings = (*report.warnings, *check.problems)
    return ImportedRobot(check.robot, text, tuple(report.steps), tuple(report.losses), warnings)


def _choose_motion(graph: Graph, platform: str | None) -> ChosenMotion:
    """The graph with its platform and its independent coordinates.

    Legs between base and platform have no coordinates of their own. Where they move by themselves a platform
    of several bodies is looked for; without one (the spin of a rod that is not axisymmetric) all
    coordinates are joints, and no platform is chosen.
    """
    single = with_platform(_with_own_report(graph), platform)
    coordinates = None if single.floating is None else choose_motion(single)
    if coordinates is not None and not coordinates.left and (coordinates.axes or coordinates.joints):
        return coordinates
    grounded = without_floating(_with_own_report(graph))
    if platform != "" and grounded is not None:
        articulated = with_articulated_platform(grounded, platform)
        several = None if articulated is None else choose_motion(articulated)
        if several is not None and not several.left:
            return several
    if coordinates is None:
        coordinates = choose_motion(single)
    elif not platform and (grounded := without_floating(_with_own_report(graph))) is not None:
        grounded.report.add_step(
            "no platform: legs have motions that its pose does not give; joints are coordinates"
        )
        coordinates = choose_motion(grounded)
    if coordinates.left:
        raise file_error(
            graph.file, f"{coordinates.left} motions belong to no joint that could be a coordinate"
        )
    if not coordinates.axes and not coordinates.joints:
        raise file_error(graph.file, "nothing moves: the loops lock every joint")
    return coordinates


def _with_own_report(graph: Graph) -> Graph:
    """The graph with a report of its own: what is tried in vain is not reported."""
    return replace(graph, report=deepcopy(graph.report))


def _wrap_line(line: str) -> str:
    """A long line of a flow mapping, continued below its opening brace."""
    if len(line) <= 118 or "{" not in line:
        return line
    indent = " " * (line.index("{") + 1)
    pieces = textwrap.wrap(
        line,
        116,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )
    return "\n".join(pieces) if all(piece.count('"') % 2 == 0 for piece in pieces) else line


def _error_in_file(graph: Graph, error: DescriptionError) -> DescriptionError:
    """The problems of a description that an import has made, as those of the imported file."""
    return DescriptionError(
        problem
        if problem.file == graph.file
        else Problem(graph.file, 0, 0, problem.path, problem.message, problem.hint, problem.severity)
        for problem in error.problems
    )
