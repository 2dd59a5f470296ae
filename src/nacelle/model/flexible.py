"""Flexible links: straight, uniform beams between the joints of a body.

A body with a `section` and a `material` is a beam from `from` to `to` in the body's frame; by default from
the joint that carries the body to the centre of its other joints. Every joint sits at one of the two ends,
off it by a rigid piece. The beam's own frame has its origin at the start, x along the beam, and y as near
as can be to the body's y (z, where that is along the beam), or as given.

    mass = density area length      I_xx = density (Iy + Iz) length
                                    I_yy = mass length^2 / 12 + density Iy length

about the centre (I_zz likewise); rigid masses at the ends (`tips`) come on top. What the body's description
says of its mass and inertia must agree with that.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.model.leg import BASE, PLATFORM, Body
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import inertia_about_com, parameters_from_com, transform_parameters
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

# How far mass, centre and inertia of a description may be from those of the beam, relative.
MISMATCH = 0.03
# Joints sit within this part of the length from an end.
_NEAR_END = 0.1
_SQUARE_TORSION = 0.14057701495515551  # J / a^4 of a square of side a (Saint-Venant)


class BeamError(KinematicsError):
    """A flexible link that cannot be one; `body`, `key`, `message` and `hint` say where and why."""

    def __init__(self, body: Body, key: str, message: str, hint: str) -> None:
        super().__init__(f"body {body.name!r}: {message}; {hint}")
        self.key, self.message, self.hint = key, message, hint


class Section(NamedTuple):
    """A cross-section: area (m^2), second moments about y and z, torsion constant (m^4), shear factors."""

    area: float
    Iy: float
    Iz: float
    J: float
    shear_y: float
    shear_z: float


def make_section(data: dict[str, Any]) -> Section:
    """Numbers of a section from its description (SI)."""
    if "area" in data:
        ky, kz = data.get("shear", (5.0 / 6.0, 5.0 / 6.0))
        return Section(data["area"], data["Iy"], data["Iz"], data["J"], ky, kz)
    if "circle" in data or "tube" in data:
        outer, inner = data.get("tube", (data.get("circle"), 0.0))
        moment = math.pi / 64.0 * (outer**4 - inner**4)
        ky, kz = data.get("shear", (0.9, 0.9) if inner == 0.0 else (0.5, 0.5))
        return Section(math.pi / 4.0 * (outer**2 - inner**2), moment, moment, 2.0 * moment, ky, kz)
    b, h = data.get("rectangle", (data.get("square"), data.get("square")))
    ky, kz = data.get("shear", (5.0 / 6.0, 5.0 / 6.0))
    return Section(b * h, b * h**3 / 12.0, h * b**3 / 12.0, _rectangle_torsion(b, h), ky, kz)


def _rectangle_torsion(b: float, h: float) -> float:
    """Torsion constant of a rectangle (Saint-Venant's series; m^4)."""
    if b == h:
        return _SQUARE_TORSION * b**4
    long, short = max(b, h), min(b, h)
    series = sum(math.tanh(n * math.pi * long / (2.0 * short)) / n**5 for n in range(1, 40, 2))
    return long * short**3 * (1.0 / 3.0 - 64.0 / math.pi**5 * short / long * series)


@dataclass(frozen=True)
class Beam:
    """A flexible link of a robot.

    Attributes:
        body: index of its body.
        name: its name.
        frame: pose of the beam's frame in the body's frame.
        length: m.
        section: its cross-section.
        E: Young's modulus, Pa.
        G: shear modulus, Pa.
        density: kg/m^3.
        start: joints at its start; the one that carries the body is the first.
        end: joints at its end.
        tips: ten parameters (10,) of the rigid masses at start and end, in the beam's frame; None for none.
        shapes: "modes" or "hermite".
        number: of interior modes a direction, or of elements.
        pinned: whether the floating frame passes through both ends; else it is clamped at the start.
        shear: whether the section shears (Timoshenko).
        geometric: whether the axial force counts in bending (von Karman).
        ratio: damping ratio of its own modes.
        rayleigh: factors (1/s, s) of mass and stiffness in its damping.
    """

    body: int
    name: str
    frame: Pose
    length: float
    section: Section
    E: float
    G: float
    density: float
    start: tuple[int, ...]
    end: tuple[int, ...]
    tips: tuple[Array | None, Array | None]
    shapes: str = "modes"
    number: int = 2
    pinned: bool = True
    shear: bool = False
    geometric: bool = True
    ratio: float = 0.0
    rayleigh: tuple[float, float] = (0.0, 0.0)

    @cached_property
    def mass(self) -> float:
        """Mass of the beam without its tips, kg."""
        return self.density * self.section.area * self.length

    @cached_property
    def inertia(self) -> Array:
        """Ten parameters (10,) of the undeformed beam with its tips, about the body's frame, in its axes."""
        rho_l = self.density * self.length
        bend = self.mass * self.length**2 / 12.0
        I = np.diag(
            [rho_l * (self.section.Iy + self.section.Iz), rho_l * self.section.Iy, rho_l * self.section.Iz]
        )
        total = parameters_from_com(
            self.mass, np.array([self.length / 2.0, 0.0, 0.0]), I + np.diag([0.0, bend, bend])
        )
        for tip in self.tips:
            if tip is not None:
                total = total + tip
        return np.asarray(transform_parameters(self.frame.R, self.frame.p, total))


def is_flexible(body: Body) -> bool:
    """Whether a body is a flexible link."""
    return body.section is not None and body.material is not None


def robot_beams(robot: Robot) -> tuple[Beam, ...]:
    """All flexible links of a robot.

    Raises:
        BeamError: if one cannot be a straight, uniform beam.
    """
    return tuple(make_beam(robot, k) for k, body in enumerate(robot.bodies) if is_flexible(body))


def make_beam(robot: Robot, index: int) -> Beam:
    """The beam of a flexible body.

    Raises:
        BeamError: if it cannot be a straight, uniform beam.
    """
    robot = robot.numeric
    body = robot.bodies[index]
    options = body.beam or {}
    if index in (BASE, PLATFORM):
        raise BeamError(
            body, "section", "the base and the platform are rigid", "leave section and material out"
        )
    attached = {
        j: (joint.frame_predecessor if joint.predecessor == index else joint.frame_successor).p
        for j, joint in ((j, robot.joints[j]) for j in robot.joints_at(index))
    }
    inward = next(j for j, joint in enumerate(robot.tree_joints) if joint.successor == index)
    start, end = _beam_span(robot, index, attached, inward)
    length = float(np.linalg.norm(end - start))
    frame = Pose(_beam_axes(body, (end - start) / length, options.get("y")), start)
    parts = {j: float(frame.R[:, 0] @ (point - start)) / length for j, point in attached.items()}
    ends = _joints_at_ends(robot, index, parts, inward)
    material, damping = body.material or {}, options.get("damping", {})
    back = frame.inverse()
    tips = tuple(
        None if ten is None else np.asarray(transform_parameters(back.R, back.p, np.array(ten)))
        for ten in (options.get("tips", {}).get(key) for key in ("from", "to"))
    )
    return Beam(
        body=index,
        name=body.name,
        frame=frame,
        length=length,
        section=make_section(body.section or {}),
        E=material["E"],
        G=material["E"] / (2.0 * (1.0 + material.get("nu", 0.3))),
        density=material["density"],
        start=ends[0],
        end=ends[1],
        tips=(tips[0], tips[1]),
        pinned=options.get("frame", "pinned") == "pinned",
        ratio=damping.get("ratio", 0.0),
        rayleigh=(
            damping.get("rayleigh", {}).get("mass", 0.0),
            damping.get("rayleigh", {}).get("stiffness", 0.0),
        ),
        **{key: options[key] for key in ("shapes", "number", "shear", "geometric") if key in options},
    )


def _beam_span(robot: Robot, index: int, attached: dict[int, Array], inward: int) -> tuple[Array, Array]:
    """Where the beam of a body starts and ends, in its frame, m: as given, or at its joints."""
    body = robot.bodies[index]
    options = body.beam or {}
    others = [p for j, p in attached.items() if j != inward]
    if not others and "to" not in options:
        raise BeamError(
            body, "section", "it has a joint at one end only", "give the other end: 'beam: {to: ...}'"
        )
    start = np.array(options.get("from", attached[inward]), dtype=float)
    end = np.array(options.get("to", np.mean(others, axis=0) if others else None), dtype=float)
    if not float(np.linalg.norm(end - start)) > 1e-9 * robot.size:
        raise BeamError(
            body, "section", "its joints are at one point, so it has no length", "give 'from' and 'to'"
        )
    return start, end


def _joints_at_ends(
    robot: Robot, index: int, parts: dict[int, float], inward: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Joints at the start, the one that carries the body first, and at the end; `parts` is where they sit."""
    body = robot.bodies[index]
    for j, part in parts.items():
        if _NEAR_END < part < 1.0 - _NEAR_END:
            raise BeamError(
                body,
                "section",
                f"joint {robot.joints[j].name!r} sits at {part:.0%} of its length, not at an end",
                "make two bodies of it, with a fixed joint between them",
            )
    if parts[inward] > 0.5:
        raise BeamError(
            body, "beam", "its start is not where the body is carried", "exchange 'from' and 'to'"
        )
    others = [j for j in parts if j != inward]
    return (inward, *(j for j in others if parts[j] <= 0.5)), tuple(j for j in others if parts[j] > 0.5)


def _beam_axes(body: Body, x: Array, wanted_y: Any) -> Array:
    """Axes of a beam along x, in the body's frame; exact where they are the body's own."""
    candidates = [np.array(wanted_y, dtype=float)] if wanted_y is not None else [np.eye(3)[1], np.eye(3)[2]]
    for y in candidates:
        across = y - x * float(x @ y)
        size = float(np.linalg.norm(across))
        if size > 0.1 or (wanted_y is not None and size > 1e-6):
            across = across / size
            return np.round(np.stack([x, across, np.cross(x, across)], axis=1), 16) + 0.0
    raise BeamError(body, "beam", "the direction y of its section is along the beam", "give another 'y'")


class Mismatch(NamedTuple):
    """What is wrong with a flexible body.

    Attributes:
        body: its index.
        key: the key at fault.
        message: what is wrong.
        hint: what would be right.
        severity: "error", or "warning" where the rigid robot is right and only its flexible links are not.
    """

    body: int
    key: str
    message: str
    hint: str
    severity: str = "error"


def beam_mismatches(robot: Robot) -> list[Mismatch]:
    """Flexible bodies that cannot be beams, or whose mass and inertia are not those of their beams."""
    wrong = []
    for index, body in enumerate(robot.bodies):
        if not is_flexible(body):
            continue
        try:
            beam = make_beam(robot, index)
        except BeamError as error:
            message = f"body {body.name!r} cannot be a flexible link: {error.message}"
            wrong.append(Mismatch(index, error.key, message, error.hint, "warning"))
            continue
        wrong += [Mismatch(index, *mismatch) for mismatch in _inertia_mismatches(body, beam)]
    return wrong


def _inertia_mismatches(body: Body, beam: Beam) -> Iterator[tuple[str, str, str]]:
    given_ten, ten = np.array(body.inertia, dtype=float), beam.inertia
    what = f"density x area x length of body {body.name!r}"
    advice = (
        "a beam is straight and uniform, neither curved nor tapered; describe parts at its ends by "
        "'beam: {tips: ...}'"
    )
    if abs(given_ten[0] - ten[0]) > MISMATCH * ten[0]:
        yield (
            "mass",
            f"the mass is {given_ten[0]:.6g} kg, {what} is {ten[0]:.6g} kg",
            f"leave mass, com and inertia out; {advice}",
        )
        return
    shift = given_ten[1:4] / given_ten[0] - ten[1:4] / ten[0]
    if float(np.linalg.norm(shift)) > MISMATCH * beam.length:
        centre = " ".join(f"{value:.6g}" for value in ten[1:4] / ten[0])
        yield "com", f"the centre of mass of body {body.name!r} is not that of its beam, {centre} m", advice
        return
    moments, beam_moments = inertia_about_com(given_ten), inertia_about_com(ten)
    if float(np.max(np.abs(moments - beam_moments))) > MISMATCH * float(np.max(np.abs(beam_moments))):
        text = " ".join(f"{value:.6g}" for value in np.diag(beam_moments))
        yield ("inertia", f"the inertia of body {body.name!r} is not that of its beam, {text} kg m^2", advice)


def without_mismatched_beams(robot: Robot) -> Robot:
    """The robot without sections where mass or inertia are no longer those of a beam: these are rigid."""
    wrong = {mismatch.body for mismatch in beam_mismatches(robot) if mismatch.severity == "error"}
    if not wrong:
        return robot
    bodies = tuple(
        dataclasses.replace(body, section=None, material=None, beam=None) if k in wrong else body
        for k, body in enumerate(robot.bodies)
    )
    return dataclasses.replace(robot, bodies=bodies)


def with_beam_masses(robot: Robot) -> Robot:
    """The robot with the inertia of their beams for flexible bodies that give no mass."""
    bodies = []
    for index, body in enumerate(robot.bodies):
        bare = is_flexible(body) and body.massless
        if bare:
            try:
                inertia = tuple(make_beam(robot, index).inertia.tolist())
                body = dataclasses.replace(body, inertia=inertia)
            except BeamError:
                pass  # reported with its line by the checks
        bodies.append(body)
    return dataclasses.replace(robot, bodies=tuple(bodies))
