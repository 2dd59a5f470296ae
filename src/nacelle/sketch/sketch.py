"""A description from leg types and a motion, as a short YAML file with comments on what to change.

All joints are at zero in the reference pose, where the frames of all bodies of a leg are parallel to the
leg's own. Links are uniform rods, so that masses and inertias agree; every number is meant to be replaced.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from nacelle.errors import DescriptionError, NacelleError, format_count
from nacelle.kinematics.mechanism.assembly import generic_poses
from nacelle.kinematics.mechanism.check import check_robot
from nacelle.model.platform import Motion, MotionError, parse_motion
from nacelle.model.read import read_text
from nacelle.sketch.legs import (
    JOINT_KINDS,
    OUTWARDS,
    TANGENTIAL,
    UPWARDS,
    LegLetters,
    Vector,
    has_leg_count,
    legs_notation,
    read_legs,
    subtract_vectors,
)
from nacelle.sketch.search import Arrangement, LegPlacement, LegScrews, find_arrangement

# ---- the YAML file of an arrangement


# Rods, kg/m and m; what has no length, kg and kg m^2; the platform, kg.
_ROD, _RADIUS = 3.0, 0.02
_BLOCK, _BLOCK_INERTIA = 0.5, 0.0005
_PLATFORM = 5.0
_LETTERS = {(1, 0, 0): "x", (0, 1, 0): "y", (0, 0, 1): "z"}
_DIRECTIONS = {OUTWARDS: "outwards", TANGENTIAL: "along the circle", UPWARDS: "upwards"}


def write_description(name: str, arrangement: Arrangement, motion: tuple[str, ...], motion_name: str) -> str:
    """The whole file."""
    legs = [screws.posture.leg for screws in arrangement.legs]
    types = list(dict.fromkeys(legs))
    shape = arrangement.shape
    counts = " + ".join(f"{legs.count(leg)}-{leg.letters}" for leg in types)
    marked = " + ".join(f"{legs.count(leg)}-{leg}" for leg in types)
    spatial = {"z", "rx", "ry"} & set(motion)
    table = "" if spatial else "    # perpendicular to the plane of motion: a table"
    lines = [
        f"# {marked}: joints from the base to the platform, actuated ones in brackets; R revolute,",
        "# P prismatic, U universal, C cylindrical, S spherical. Every number is a first guess.",
        "# Lengths and masses may be changed freely: the loops are closed again by nacelle check.",
        "",
        "format: nacelle/1",
        f'name: "{name}"',
        f"title: {counts}, {format_count(len(legs), 'leg')}, motion {motion_name.strip('[]')}",
        "",
        "# What the platform can do by itself; the check says if the legs do not allow it.",
        f"motion: {motion_name}",
        f"gravity: 0 0 -9.81 m/s^2{table}",
        "# The pose in which every joint below is at zero.",
        f"reference: {{position: 0 0 {shape.height} mm}}",
        "",
        "constants:",
        f"  base_radius: {shape.base} mm        # circle of the anchors on the base",
        *(
            []
            if shape.twist
            else [f"  platform_radius: {shape.platform} mm    # circle of the anchors on it"]
        ),
        "",
        "platform:",
        "  name: platform",
        f"  mass: {_PLATFORM:g} kg",
        f"  inertia: {_disc_inertia(_PLATFORM, shape.platform / 1e3)} kg*m^2    # a disc; about its "
        "centre of mass",
        "",
        "templates:",
    ]
    names = {leg: f"{leg.letters.lower()}{k}" for k, leg in enumerate(types, start=1)}
    names = names if len(types) > 1 else {types[0]: "leg"}
    for leg in types:
        lines += [f"  {names[leg]}:", *_template_lines(arrangement.legs[legs.index(leg)])]
    lines += ["", "# Where the legs are: turned about z, on the base and on the platform alike.", "legs:"]
    lines += _leg_lines(legs, names, arrangement.placements)
    return "\n".join(lines) + "\n"


def _template_lines(screws: LegScrews) -> Iterator[str]:
    """A leg, in its own frame."""
    leg, points = screws.posture.leg, screws.posture.points
    names = [f"{letter}{k + 1}" for k, letter in enumerate(leg.letters)]
    bodies = [f"link{k + 1}" for k in range(len(names) - 1)]
    yield "    # In the leg's own frame: x outwards to its anchor on the base, y along the circle, z up."
    if bodies:
        yield "    bodies:                     # each in the frame of the joint that carries it; uniform rods"
        # A rod that spins between two balls must be axisymmetric to more digits than people write.
        digits = 10 if screws.internal_freedoms else 4
        for body, start, end in zip(bodies, points, points[1:], strict=False):
            yield f"      {body}: {_rod_inertia(subtract_vectors(end, start), digits)}"
        yield "    joints:"
    motors = itertools.count(1)
    chain = ["base", *bodies]
    for k, name in enumerate(names):
        offset = subtract_vectors(points[k], points[k - 1]) if k else points[0]
        position = _format_vector(offset) if k else "[$base_radius, 0, 0]"
        last = k == len(names) - 1
        child = "platform" if last else bodies[k]
        if last:
            yield "    closures:                   # the joint on the platform closes the loops"
        parts = [f"type: {JOINT_KINDS[leg.letters[k]]}", f"parent: {chain[k]}", f"child: {child}"]
        parts += [f"at: {position}"] if any(offset) else []
        if last:
            anchor = subtract_vectors(points[k], screws.posture.shape.origin)
            is_twisted = bool(screws.posture.shape.twist)
            at = _format_vector(anchor) if is_twisted or anchor[1:] != (0, 0) else "[$platform_radius, 0, 0]"
            parts.append(f"child_at: {at}")
        parts += _axis_entries(screws.axes[k])
        if k not in leg.active:
            yield f"      {name}: {{{', '.join(parts)}}}{_direction_comment(screws.axes[k])}"
            continue
        number = "" if len(leg.active) == 1 else str(next(motors))
        yield f"      {name}:{_direction_comment(screws.axes[k])}"
        yield from (f"        {part}" for part in parts)
        yield from _actuator_lines(leg.letters[k], number)


def _actuator_lines(letter: str, number: str) -> Iterator[str]:
    """The actuator of a joint."""
    name = f"motor{number}"
    if letter == "P":
        yield "        friction: {viscous: 20 N*s/m, coulomb: 5 N}"
        yield f"        actuator:               # {name}; strokes count from the reference pose"
        yield f"          name: {name}"
        yield "          limits: {position: [-150 mm, 150 mm], speed: 1 m/s, force: 1000 N}"
    else:
        yield "        friction: {viscous: 0.05 N*m*s/rad, coulomb: 0.2 N*m}"
        yield f"        actuator:               # {name}; angles count from the reference pose"
        yield f"          name: {name}"
        yield "          limits: {position: [-60 deg, 60 deg], speed: 300 deg/s, force: 100 N*m}"


def _leg_lines(
    legs: list[LegLetters], names: dict[LegLetters, str], placements: tuple[LegPlacement, ...]
) -> Iterator[str]:
    """Where the legs are."""
    even = [LegPlacement(360.0 * k / len(legs)) for k in range(len(legs))]
    if len(set(legs)) == 1 and list(placements) == even:
        yield f"  - {{repeat: {names[legs[0]]}, count: {len(legs)}}}"
        return
    for k, (leg, placement) in enumerate(zip(legs, placements, strict=True)):
        mirror = "mirror: y, " if placement.mirrored else ""
        placement_text = f"{{{mirror}angle: {placement.angle:.10g} deg}}"
        yield f"  - {{name: leg{k + 1}, template: {names[leg]}, placement: {placement_text}}}"


def _axis_entries(axes: tuple[Vector, ...]) -> list[str]:
    if not axes:
        return []
    texts = [_LETTERS.get(axis) or f"[{', '.join(map(str, _smallest_integers(axis)))}]" for axis in axes]
    return [f"axis: {texts[0]}"] if len(texts) == 1 else [f"axes: [{texts[0]}, {texts[1]}]"]


def _direction_comment(axes: tuple[Vector, ...]) -> str:
    directions = [_DIRECTIONS[axis] for axis in axes[:1] if axis in _DIRECTIONS]
    return f"    # {directions[0]}" if directions else ""


def _smallest_integers(axis: Vector) -> Vector:
    """The same direction in the smallest whole numbers."""
    divisor = math.gcd(*axis)
    return (axis[0] // divisor, axis[1] // divisor, axis[2] // divisor)


def _format_vector(v: Vector) -> str:
    return f"{v[0]} {v[1]} {v[2]} mm"


def _rod_inertia(v: Vector, digits: int) -> str:
    """Mass, centre and inertia about it of a rod along v, mm; a small block if it has no length.

    I = m L^2 / 12 (1 - d d^T) + m r^2 / 4 (1 + d d^T), d the rod's direction.
    """
    length = math.sqrt(sum(x * x for x in v)) / 1e3
    if not length:
        return f"{{mass: {_BLOCK:g} kg, inertia: {' '.join([f'{_BLOCK_INERTIA:g}'] * 3)} kg*m^2}}"
    mass = float(f"{max(_ROD * length, 0.1):.2g}")
    d = [x / 1e3 / length for x in v]
    across, round_ = mass * length**2 / 12.0, mass * _RADIUS**2 / 4.0

    def entry(i: int, j: int) -> float:
        return (across + round_) * (i == j) + (round_ - across) * d[i] * d[j]

    moments = [entry(0, 0), entry(1, 1), entry(2, 2)]
    products = [entry(0, 1), entry(0, 2), entry(1, 2)]
    if any(abs(value) > 1e-15 for value in products):
        moments = [moments[0], products[0], moments[1], products[1], products[2], moments[2]]
    # All with as many decimals: a sum of two moments stays above the third.
    decimals = digits - 1 - math.floor(math.log10(max(map(abs, moments))))
    values = " ".join(
        f"{round(value, decimals) + 0.0:g}" if digits < 7 else f"{value:.10g}" for value in moments
    )
    com = " ".join(f"{x / 2:g}" for x in v)
    return f"{{mass: {mass:g} kg, com: {com} mm, inertia: {values} kg*m^2}}"


def _disc_inertia(mass: float, radius: float) -> str:
    side, polar = mass * radius**2 / 4.0, mass * radius**2 / 2.0
    return f"{side:.3g} {side:.3g} {polar:.3g}"


# ---- from leg types to a description


# Motions that are tried where none is asked for, by how many coordinates they have.
_USUAL_MOTIONS: dict[int, tuple[str, ...]] = {
    1: ("z", "rz", "x"),
    2: ("xy", "rx+ry"),
    3: ("xyz", "z+rx+ry", "xy+rz", "rx+ry+rz"),
    4: ("xyz+rz", "xyz+rx"),
    5: ("xyz+rx+ry",),
    6: ("se3",),
}


@dataclass(frozen=True)
class Sketch:
    """A robot that was sketched.

    Attributes:
        text: its YAML file.
        legs: its legs.
        motion: its motion, by name.
    """

    text: str
    legs: tuple[LegLetters, ...]
    motion: str

    @property
    def summary(self) -> str:
        """The robot in a line: "6-U[P]S, motion se3"."""
        return f"{legs_notation(self.legs)}, motion {self.motion}"


def sketch(name: str, legs: str, *, count: int | None = None, motion: str | None = None) -> Sketch:
    """Write a first description of a robot.

    Args:
        name: of the robot.
        legs: leg types, such as "6-UPS" or "RUS,RUS,PRR"; see `nacelle.sketch.legs`.
        count: how many legs, where `legs` has one type without a number; as many as the motion needs if None.
        motion: such as "se3", "xyz" or "[z, rx, ry]"; the first usual one that the legs allow if None.

    Returns:
        A description that passes the check.

    Raises:
        NacelleError: with the reason, where no such robot was found.
    """
    types = read_legs(legs, count)
    counted = count is not None or has_leg_count(legs)
    faults: list[str] = []
    for motion_name in [motion] if motion else _motions_to_try(types, counted):
        parsed = _read_motion(motion_name)
        needed = -(-len(parsed.coordinates) // len(types[0].active))
        try:
            return _sketch_motion(name, types if counted else types * needed, parsed)
        except NacelleError as error:
            faults.append(str(error))
    raise NacelleError(faults[0] if len(faults) == 1 else f"{faults[0]} (other usual motions fit no better)")


def _read_motion(name: str) -> Motion:
    try:
        value = [part.strip() for part in name.strip("[] ").split(",")] if "," in name else name.strip("[] ")
        motion = parse_motion(value)
    except MotionError as error:
        raise NacelleError(f"--motion {name}: {error}; {error.hint}") from None
    if motion.joint_names:
        raise NacelleError(
            f"--motion {name}: use x, y, z, rx, ry and rz; a sketched platform is one rigid body"
        )
    return motion


def _motions_to_try(types: list[LegLetters], counted: bool) -> tuple[str, ...]:
    """Motions to try where none is asked for."""
    flat = all(set(leg.letters) <= set("RP") and leg.freedoms == 3 for leg in types)
    actuators = min(sum(len(leg.active) for leg in types), 6)
    n = actuators if counted else 6 if types[0].freedoms >= 6 else 3
    usual = _USUAL_MOTIONS[n]
    return ("xy+rz", *usual) if flat and n == 3 else usual


def _sketch_motion(name: str, types: list[LegLetters], motion: Motion) -> Sketch:
    def text_of(arrangement: Arrangement) -> str:
        return write_description(name, arrangement, motion.coordinates, motion.name)

    def fault(arrangement: Arrangement) -> str:
        try:
            robot, source = read_text(text_of(arrangement))
        except DescriptionError as error:
            return error.problems[0].message
        check = check_robot(robot, source)
        if check.problems:
            return check.problems[0].message
        # Screws and ranks of one pose hold for mechanisms that only give a little, too.
        if not generic_poses(robot, check.assembly):
            return "the platform can move only infinitesimally from its reference pose"
        return ""

    arrangement = find_arrangement(types, motion.coordinates, fault)
    return Sketch(text_of(arrangement), tuple(types), motion.name)
