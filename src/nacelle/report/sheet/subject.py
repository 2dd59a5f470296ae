"""What a data sheet is about: a robot, how commands name it, and its motions, by rules.

Motions are chosen for any robot by a rule: one along which its drives are sized, one that shows how it
moves. The standard motion is a circle about the reference pose in the first two translations, or, where the
robot has no two or no circle can be run, a stroke along its first coordinate. Radius and half stroke are the
largest of 1/10, 1/20, 1/50, 1/100, 1/200 of the robot's size (of a radian) along which every pose is within
limits and away from singularities; the duration is the shortest of 1, 2, 5 and 10 s that keeps drives within
their limits, 10 s if none does. The shown motion visits, from the reference pose and back to it, a spiral in
the first two translations and a swing of every other coordinate, each as wide as it can be in steps of a
half.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from nacelle import robots
from nacelle.dynamics.sizing import Sizing, size_motors
from nacelle.errors import DescriptionError, Problem, UnreachableError
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.flags import Flag, has_failed
from nacelle.kinematics.jacobian import conditioning, scaled_inverse
from nacelle.kinematics.mechanism.check import Check, check_robot
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.pose import pose
from nacelle.kinematics.pose_input import is_angle, reference_pose
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.kinematics.workspace import Workspace, workspace
from nacelle.library import check, in_mode
from nacelle.model.payload import with_payloads
from nacelle.model.platform import AXES
from nacelle.model.read import read_text
from nacelle.model.reduced import ROTATIONS, layout_of
from nacelle.model.robot import Robot
from nacelle.report.summary import sections, summary
from nacelle.report.table import Part
from nacelle.scene.slices import SliceRanges, standard_slices
from nacelle.spatial.rotation import quat_exp, quat_multiply
from nacelle.spatial.scalar import Array
from nacelle.trajectory import Circle, Line, Trajectory

# ---- the standard motion, and the shown one


_SIZES = (0.1, 0.05, 0.02, 0.01, 0.005)
_DURATIONS = (1.0, 2.0, 5.0, 10.0)
# Samples a second of the standard motion.
RATE = 500.0
# The inverse condition number below which a pose of a chosen motion counts as near a singularity.
_MIN_CONDITIONING = 1e-3


@dataclass(frozen=True, eq=False)
class StandardMotion:
    """The motion along which drives are sized.

    Attributes:
        description: what it is.
        arguments: of `nacelle dynamics`.
        sizing: what it requires of the drives.
    """

    description: str
    arguments: tuple[str, ...]
    sizing: Sizing


def standard_motion(robot: Robot) -> StandardMotion:
    """Choose the standard motion of a robot.

    Raises:
        UnreachableError: if the robot can move along none.
    """
    times = np.linspace(0.0, 1.0, 65)
    candidate = next(
        (c for c in _candidate_motions(robot) if is_usable(robot, c[2](duration=1.0)(times).x)), None
    )
    if candidate is None:
        raise UnreachableError(
            "around the reference pose there is no motion within limits and away from singularities"
        )
    description, arguments, make = candidate
    for duration in _DURATIONS:
        sizing = size_motors(robot, make(duration=duration), rate=RATE)
        if all(load.within for load in sizing.loads):
            break
    options = ("--duration", f"{duration:g}", "--rate", f"{RATE:g}")
    return StandardMotion(f"{description} in {duration:g} s", (*arguments, *options), sizing)


TrajectoryMaker = Callable[..., Trajectory]
"""Makes a motion of a `duration`, s."""


def _candidate_motions(robot: Robot) -> Iterator[tuple[str, tuple[str, ...], TrajectoryMaker]]:
    """Motions from the largest to the smallest: words, arguments of a command, and how to make it."""
    x = reference_pose(robot)
    motion, names = robot.motion, robot.motion.coordinates
    if sum(name in AXES[:3] for name in names) >= 2:
        plane = "".join([name for name in names if name in AXES[:3]][:2])
        for part in _SIZES:
            radius = float(f"{part * robot.size:.2g}")
            yield (
                f"a circle of radius {radius * 1e3:g} mm in the {plane} plane about the reference pose",
                ("--trajectory", "circle", "--radius", f"{radius:g}"),
                partial(Circle, x, radius, motion=motion),
            )
    plain = [name for name in names if name in layout_of(motion).x_names]
    for name in plain:
        angle = is_angle(robot, name)
        middle = float(x[layout_of(motion).x_names.index(name)])
        for part in _SIZES:
            half = float(f"{part * (1.0 if angle else robot.size):.2g}")
            ends = [float(f"{middle + sign * half:.6g}") for sign in (-1.0, 1.0)]
            unit = "rad" if angle else "m"
            yield (
                f"a stroke of {name} from {ends[0]:g} to {ends[1]:g} {unit}",
                ("--trajectory", "line", "--at", f"{name}={ends[0]:g}", "--to", f"{name}={ends[1]:g}"),
                partial(
                    Line, *(pose(robot, None, **dict[str, Any]({name: end})) for end in ends), motion=motion
                ),
            )
    if layout_of(motion).quaternion is not None:
        for name in ROTATIONS:
            for part in _SIZES:
                turns = [_rotation_vector(robot, x, name, sign * part) for sign in (-1.0, 1.0)]
                options = (
                    "--trajectory",
                    "line",
                    *_rotation_options("--at", turns[0]),
                    *_rotation_options("--to", turns[1]),
                )
                yield (
                    f"a rotation about {name[1]} by {2.0 * part:g} rad about the reference pose",
                    options,
                    partial(
                        Line, *(pose(robot, None, rotation_vector=vector) for vector in turns), motion=motion
                    ),
                )


def _rotation_vector(robot: Robot, x: Array, name: str, angle: float) -> list[float]:
    """The reference orientation turned about a base axis, as a rotation vector in six digits."""
    from scipy.spatial.transform import Rotation

    rotation_vector = np.zeros(3)
    rotation_vector[ROTATIONS.index(name)] = angle
    quat = quat_multiply(quat_exp(rotation_vector), x[layout_of(robot.motion).quaternion])
    return [float(f"{value:.6g}") for value in Rotation.from_quat(quat).as_rotvec()]


def _rotation_options(option: str, rotation_vector: list[float]) -> Iterator[str]:
    for name, value in zip(ROTATIONS, rotation_vector, strict=True):
        yield from (option, f"{name}={value:g}")


def is_usable(robot: Robot, x: Array) -> bool:
    """Whether all poses (N, nx) are within limits, on the reference branch, and well conditioned."""
    solution = inverse_kinematics(robot, x)
    bad = int(Flag.OUT_OF_LIMITS | Flag.OTHER_BRANCH | Flag.SINGULAR)
    if np.any(has_failed(solution.flags) | ((solution.flags & bad) != 0)):
        return False
    J = compile_native(kinematic_model.inverse_jacobian, robot)(solution.x, solution.y)["J"]
    return bool(np.all(conditioning(scaled_inverse(robot, J)) > _MIN_CONDITIONING))


# ---- the motion that is shown

_AMPLITUDE = 0.22  # of the robot's size, or a radian, at most
_HALVINGS = 6
_SAMPLES = 40  # of each part
_PART_DURATION = 2.4  # seconds of each part


def demonstration_motion(robot: Robot) -> tuple[Array, Array]:
    """Times (T,) and poses (T, nx) of a motion that shows how a robot moves; one pose if it cannot move."""
    x = reference_pose(robot)
    names = list(robot.motion.coordinates)
    s = np.linspace(0.0, 1.0, _SAMPLES + 1)[1:]
    translations = [name for name in names if name in AXES[:3]][:2]
    parts: list[dict[str, Array]] = []
    if len(translations) == 2:
        radius, angle = np.sin(np.pi * s) ** 2, 4.0 * np.pi * s
        parts.append(dict(zip(translations, (radius * np.cos(angle), radius * np.sin(angle)), strict=True)))
        names = [name for name in names if name not in translations]
    parts += [{name: np.sin(2.0 * np.pi * s)} for name in names]
    poses = [x[None]]
    for part in parts:
        for k in range(_HALVINGS):
            candidate = _displaced_poses(robot, x, part, 0.5**k * _AMPLITUDE)
            if is_usable(robot, candidate):
                poses.append(candidate)
                break
    path = np.concatenate(poses)
    return np.arange(len(path)) * (_PART_DURATION / _SAMPLES), path


def _displaced_poses(robot: Robot, x: Array, part: dict[str, Array], share: float) -> Array:
    """Poses (N, nx): coordinates moved from a pose by shares of the robot's size or of a radian."""
    layout = layout_of(robot.motion)
    count = len(next(iter(part.values())))
    poses = np.broadcast_to(x, (count, layout.nx)).copy()
    rotation_vector = np.zeros((count, 3))
    for name, values in part.items():
        step = share * values * (1.5 if is_angle(robot, name) else robot.size)
        if name in layout.x_names:
            poses[:, layout.x_names.index(name)] += step
        else:
            rotation_vector[:, ROTATIONS.index(name)] += step
    if np.any(rotation_vector):
        poses[:, layout.quaternion] = quat_multiply(quat_exp(rotation_vector), poses[:, layout.quaternion])
    return poses


# ---- the subject


# Commands that depend on what the robot carries.
_PAYLOAD_COMMANDS = (
    "dynamics",
    "reactions",
    "linearise",
    "modes",
    "balance",
    "verify",
    "simulate",
    "control",
    "base",
    "ops",
)


@dataclass(frozen=True, eq=False)
class Subject:
    """A robot and how it is named on the command line.

    Attributes:
        check: what the checks say of the robot.
        source: name of a robot of the library or a file, as a command takes it.
        mode: one of its modes of operation; empty for its own.
        payload: which payloads it carries (`nacelle.dynamics.with_payloads`); those of the description if
            none.
        problems: errors and warnings of the description, in none of its modes.
        has_source: whether `source` is there; otherwise the robot was made in Python, and has no file yet.
    """

    check: Check
    source: str
    mode: str = ""
    payload: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    has_source: bool = True

    @property
    def robot(self) -> Robot:
        """The robot, in its mode."""
        return self.check.robot

    def command(self, name: str, *arguments: str) -> str:
        """A command about the robot that a shell runs as it is: `nacelle NAME ROBOT ARGUMENTS`."""
        options = ["--mode", self.mode] if self.mode and name != "check" else []
        if name in _PAYLOAD_COMMANDS:
            options += [option for text in self.payload for option in ("--payload", text)]
        return shlex.join(["nacelle", name, self.source, *arguments, *options])

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What `nacelle show` says."""
        return summary(self.check)

    @cached_property
    def sections(self) -> dict[str, list[Part]]:
        """The sections of `nacelle show`."""
        return sections(self.summary, self.robot)

    @cached_property
    def reference(self) -> Array:
        """The reference pose (nx,)."""
        return reference_pose(self.robot)

    @cached_property
    def has_friction(self) -> bool:
        """Whether a joint has friction."""
        return any(axis for joint in self.robot.joints for axis in joint.friction)

    @cached_property
    def slices(self) -> tuple[tuple[SliceRanges, Workspace], ...]:
        """Slices through the workspace (`nacelle.scene.slices`), with their grids."""
        return tuple((cut, workspace(self.robot, cut.ranges)) for cut in standard_slices(self.robot))

    @cached_property
    def motion(self) -> StandardMotion:
        """The motion along which drives are sized, by the rule of `motion`."""
        return standard_motion(self.robot)


def subject_of(robot: Robot | str, mode: str = "", payload: Sequence[str] = ()) -> Subject:
    """Read and check what a data sheet is about.

    Args:
        robot: a robot, the name of one of the library, or a YAML file.
        mode: one of its modes of operation; empty for its own.
        payload: which payloads it carries (`nacelle.dynamics.with_payloads`); those of the description if
            none.

    Raises:
        NacelleError: if there is no such robot, mode or payload, or its description is wrong.
    """
    if isinstance(robot, Robot):
        source, has_source = _robot_source(robot)
        checked = check_robot(robot)
    else:
        source, has_source = str(robot), True
        checked = check(robot)
    problems = checked.problems
    if mode:
        checked = check_robot(in_mode(checked.robot, mode))
    if checked.errors:
        raise DescriptionError(checked.errors)
    if payload:
        checked = check_robot(with_payloads(checked.robot, *payload))
    return Subject(checked, source, mode, tuple(payload), problems, has_source)


def _robot_source(robot: Robot) -> tuple[str, bool]:
    """How a command names a robot that was made in Python: by the library, or by a file yet to be written."""
    if robot.name in robots.all_names():
        shipped, _ = read_text(robots.text(robot.name), f"{robot.name}.yaml")
        if shipped.hash == robot.hash:
            return robot.name, True
    return f"{robot.name}.yaml", False
