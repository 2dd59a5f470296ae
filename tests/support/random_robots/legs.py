"""Random robots of every leg type, made closed: bodies and joint axes are put into the world first.

Every leg is drawn where the robot is in its reference pose: points and axes of its joints in the base,
then bodies with frames anywhere, then coordinates for every joint, from which the two frames of each joint
follow. So the loops close in the reference pose with the joints at their guesses, legs differ from each
other, and no frame is special.

A serial singularity is kept away from: a strut is steep on the plane of its universal joint, a rod steep
on what its elbow cannot do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from nacelle.model.data import Actuator
from nacelle.model.joint import MOTION, Joint, JointKind
from nacelle.model.leg import Body, Leg, MovingPlatform
from nacelle.model.platform import Motion
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from support.random_robots.numbers import random_rotation, relative_pose, unit

Array = np.ndarray
BASE, PLATE = 0, 1
Z = np.array([0.0, 0.0, 1.0])


def bare_joint(name: str, kind: str, a: int, b: int, first: Pose, second: Pose, **more: Any) -> Joint:
    """A joint without friction, springs and limits."""
    axes = len(MOTION[JointKind(kind)])
    nothing = {"friction": ((),) * axes, "springs": (None,) * axes, "limits": ((-np.inf, np.inf),) * axes}
    return Joint(name, JointKind(kind), a, b, first, second, **nothing, **more)


@dataclass
class Draft:
    """A robot while it is drawn: where all bodies are, and the joints between them."""

    rng: np.random.Generator
    poses: list[Pose] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    closures: list[Joint] = field(default_factory=list)
    drives: list[str] = field(default_factory=list)
    legs: list[tuple[str, list[int], list[str], list[str]]] = field(default_factory=list)
    shared: list[Joint] = field(default_factory=list)

    # ---- numbers

    def near(self, direction: Array, spread: float = 0.6) -> Array:
        """A unit vector at most `spread` rad from a direction."""
        d = unit(direction)
        across = unit(np.cross(d, self.rng.normal(size=3)))
        angle = self.rng.uniform(-spread, spread)
        return np.cos(angle) * d + np.sin(angle) * across

    def across(self, direction: Array) -> Array:
        return unit(np.cross(direction, self.rng.normal(size=3)))

    def sign(self) -> float:
        return float(self.rng.choice([-1.0, 1.0]))

    def frame(self, point: Array, z: Array, shift: float = 0.2) -> Pose:
        """A frame with its z axis on a line, anywhere along it and turned anyhow about it."""
        z = unit(z)
        x = self.across(z)
        R = np.stack([x, np.cross(z, x), z], axis=1)
        return Pose(R, point + self.rng.uniform(-shift, shift) * z)

    def random_quaternion(self) -> list[float]:
        return [float(c) for c in Rotation.random(random_state=self.rng).as_quat()]

    # ---- parts

    def start(self, name: str) -> None:
        self.legs.append((name, [], [], []))

    def body(self) -> int:
        """A body of the current leg, its frame anywhere."""
        self.poses.append(Pose(random_rotation(self.rng), self.rng.uniform(-0.3, 0.3, 3)))
        self.legs[-1][1].append(len(self.poses) - 1)
        return len(self.poses) - 1

    def join(
        self,
        kind: str,
        a: int,
        b: int,
        frame: Pose,
        q: Sequence[float],
        active: bool = False,
        cut: bool = False,
    ) -> None:
        """A joint from body a to body b whose first frame is at `frame` now, at the coordinates q."""
        leg = self.legs[-1]
        name = f"{leg[0]}.j{len(leg[2]) + len(leg[3])}"
        second = frame @ relative_pose(kind, q)
        frames = (self.poses[a].inverse() @ frame, self.poses[b].inverse() @ second)
        guess = tuple(float(value) for value in q)
        joint = bare_joint(name, kind, a, b, *frames, guess=guess)
        (self.closures if cut else self.joints).append(joint)
        leg[3 if cut else 2].append(name)
        if active:
            self.drives.append(name)

    def turn(self, a: int, b: int, point: Array, axis: Array, shift: float = 0.2, **how: bool) -> None:
        self.join("revolute", a, b, self.frame(point, axis, shift), [self.rng.uniform(-2.5, 2.5)], **how)

    def slide(self, a: int, b: int, axis: Array, **how: bool) -> None:
        """A slide: it has a direction and no place."""
        frame = self.frame(self.rng.uniform(-0.3, 0.3, 3), axis)
        self.join("prismatic", a, b, frame, [self.rng.uniform(-0.3, 0.3)], **how)

    def add_spherical(self, a: int, b: int, point: Array, **how: bool) -> None:
        self.join("spherical", a, b, Pose(random_rotation(self.rng), point), self.random_quaternion(), **how)

    def cross(self, a: int, b: int, point: Array, first: Array, second: Array, **how: bool) -> None:
        """A universal joint with both axes where they are now."""
        q = self.rng.uniform(-1.2, 1.2, 2)
        R = np.stack([first, second, np.cross(first, second)], axis=1)
        back = Rotation.from_euler("x", -q[0]).as_matrix()
        self.join("universal", a, b, Pose(R @ back, point), q, **how)

    def pair(self, a: int, b: int, point: Array, strut: Array, split: bool) -> None:
        """A universal joint, or two turns that meet, with a strut steep on the plane of its axes."""
        n = self.sign() * self.near(strut)
        first = self.across(n)
        second = np.cross(n, first)
        if not split:
            self.cross(a, b, point, first, second)
            return
        middle = self.body()
        self.turn(a, middle, point, first)
        self.turn(middle, b, point, self.sign() * second)

    # ---- the whole

    def robot(self, name: str, motion: tuple[str, ...], kind: str = "rigid") -> Robot:
        """The robot; bodies have no mass."""
        joints = [*self.joints, *self.closures, *self.shared]
        index = {joint.name: k for k, joint in enumerate(joints)}
        bodies = tuple(
            Body("base" if k == 0 else "plate" if k == 1 else f"b{k}") for k in range(len(self.poses))
        )
        legs = []
        for leg, own, tree, cuts in self.legs:
            legs.append(Leg(leg, tuple(own), tuple(index[j] for j in tree), tuple(index[c] for c in cuts)))
        tree = len(self.joints)
        own_closures = tuple(index[joint.name] for joint in self.shared)
        return Robot(
            name,
            bodies,
            tuple(joints),
            tree,
            tuple(legs),
            MovingPlatform(kind, (PLATE,), (), own_closures),
            Motion(motion),
            tuple(Actuator(drive, index[drive]) for drive in self.drives),
            reference=self.poses[PLATE],
        )


def draft(rng: np.random.Generator, R: Array | None = None, p: Array | None = None) -> Draft:
    made = Draft(rng)
    made.poses.append(Pose(np.eye(3), np.zeros(3)))
    R = Rotation.from_rotvec(rng.uniform(-0.6, 0.6, 3)).as_matrix() if R is None else R
    p = np.array([*rng.uniform(-0.1, 0.1, 2), rng.uniform(0.5, 0.8)]) if p is None else p
    made.poses.append(Pose(R, p))
    return made


# ------------------------------------------------------------------- legs of hexapods, six freedoms each


def ups(d: Draft, A: Array, W: Array, *, split: bool = False, offset: bool = False) -> None:
    tube = d.body()
    strut = W - A
    d.pair(BASE, tube, A, strut, split)
    rod = d.body()
    d.slide(tube, rod, d.sign() * (d.near(strut, 0.5) if offset else unit(strut)), active=True)
    d.add_spherical(rod, PLATE, W, cut=True)


def sps(d: Draft, A: Array, W: Array) -> None:
    tube, rod = d.body(), d.body()
    d.add_spherical(BASE, tube, A)
    d.slide(tube, rod, d.sign() * (W - A), active=True)
    d.add_spherical(rod, PLATE, W, cut=True)


def _driven_elbow(d: Draft, A: Array, W: Array, root: str) -> tuple[int, Array]:
    """A driven joint and where its elbow is: the rod from there to W can be moved by it."""
    arm = d.body()
    if root == "P":
        axis = d.near(W - A)
        E = W - d.sign() * d.rng.uniform(0.4, 0.6) * d.near(axis, 0.8)
        d.slide(BASE, arm, axis, active=True)
        return arm, E
    E = W - d.rng.uniform(0.4, 0.6) * d.near(W - A, 0.8)
    # The elbow moves along the rod, more or less.
    way = d.near(W - E, 0.7)
    axis = d.across(way)
    centre = E - d.rng.uniform(0.15, 0.3) * np.cross(way, axis)
    d.turn(BASE, arm, centre, d.sign() * axis, active=True)
    return arm, E


def elbow(d: Draft, A: Array, W: Array, *, root: str, ball: bool, split: bool = False) -> None:
    arm, E = _driven_elbow(d, A, W, root)
    rod = d.body()
    if ball:
        d.add_spherical(arm, rod, E)
    else:
        d.pair(arm, rod, E, W - E, split)
    d.add_spherical(rod, PLATE, W, cut=True)


def urs(d: Draft, A: Array, W: Array, *, split: bool = False) -> None:
    """Two turns that meet, a parallel third, and a ball: two links in a plane that turns."""
    first = d.across(W - A)
    second = unit(np.cross(first, d.near(W - A, 0.5)))
    _two_links(d, A, W, first, second, split)
    d.add_spherical(d.legs[-1][1][-1], PLATE, W, cut=True)


def _two_links(d: Draft, A: Array, W: Array, first: Array, second: Array, split: bool) -> None:
    """Links from A over a knee to W that turn about parallel axes, steep on the plane of the first turn."""
    lower = d.body()
    if split:
        middle = lower
        lower = d.body()
        d.turn(BASE, middle, A, first, active=True)
        d.turn(middle, lower, A, d.sign() * second)
    else:
        d.cross(BASE, lower, A, first, second)
    knee = A + 0.5 * (W - A) + d.sign() * d.rng.uniform(0.2, 0.3) * unit(np.cross(second, W - A))
    upper = d.body()
    # The knee's axis may pass anywhere along it: links need not lie in one plane.
    d.turn(lower, upper, knee, d.sign() * second, active=not split)


def p_c5(d: Draft, A: Array, W: Array, *, on_plate: bool) -> None:
    slider = d.body()
    axis = d.near(W - A)
    d.slide(BASE, slider, axis, active=True)
    frame = Pose(d.frame(W, d.sign() * d.near(axis), 0.0).R, W)
    ends = (PLATE, slider) if on_plate else (slider, PLATE)
    d.join("planar-spherical", *ends, frame, [*d.rng.uniform(-0.1, 0.1, 2), *d.random_quaternion()], cut=True)


def cross_slide(d: Draft, A: Array, W: Array) -> None:
    """A driven slide on the base, two cross slides on the platform, a ball between them (PSPP)."""
    slider, first, second = d.body(), d.body(), d.body()
    axis = d.near(W - A)
    e = d.across(d.near(axis))
    f = d.near(np.cross(axis, e), 0.4)
    d.slide(BASE, slider, axis, active=True)
    d.slide(PLATE, first, e)
    d.slide(first, second, f)
    d.add_spherical(slider, second, W, cut=True)


def pcs(d: Draft, A: Array, W: Array) -> None:
    """No closed form: a driven slide, an arm on a shaft along which it slides, and a ball."""
    slider, arm = d.body(), d.body()
    axis = d.near(W - A)
    shaft = d.near(d.across(axis), 0.3)
    d.slide(BASE, slider, axis, active=True)
    # The end turns about the shaft across the slide.
    centre = W - d.rng.uniform(0.2, 0.3) * d.near(axis, 0.4)
    q = [d.rng.uniform(-0.3, 0.3), d.rng.uniform(-2.5, 2.5)]
    d.join("cylindrical", slider, arm, d.frame(centre, shaft), q)
    d.add_spherical(arm, PLATE, W, cut=True)


def rupu(d: Draft, A: Array, W: Array) -> None:
    """No closed form: a hinge before the universal joint of a strut, and one behind it."""
    hub, tube, rod = d.body(), d.body(), d.body()
    strut = W - A
    n, m = d.near(strut), d.near(strut)
    first, last = d.across(n), d.across(m)
    d.turn(BASE, hub, A + d.rng.uniform(0.05, 0.15) * d.across(strut), d.near(strut))
    d.cross(hub, tube, A, first, np.cross(n, first))
    d.slide(tube, rod, d.sign() * d.near(strut, 0.3), active=True)
    d.cross(rod, PLATE, W, last, np.cross(m, last), cut=True)


def rrrs(d: Draft, A: Array, W: Array) -> None:
    """No closed form: three turns about axes that neither meet nor are parallel, and a ball."""
    one, two, three = d.body(), d.body(), d.body()
    strut = W - A
    e = d.across(strut)
    f = d.near(np.cross(unit(strut), e), 0.4)
    knee = A + 0.5 * strut + 0.25 * np.cross(unit(strut), f)
    d.turn(BASE, one, A, e, active=True)
    d.turn(one, two, A + 0.08 * d.across(strut), f)
    d.turn(two, three, knee, d.near(f, 0.4))
    d.add_spherical(three, PLATE, W, cut=True)


def ups_cut(d: Draft, A: Array, W: Array) -> None:
    """A strut cut at its drive: the tube hangs on the base, the rod on the platform, the slide closes."""
    tube, rod = d.body(), d.body()
    strut = W - A
    d.pair(BASE, tube, A, strut, False)
    d.add_spherical(PLATE, rod, W)
    d.join(
        "prismatic",
        tube,
        rod,
        d.frame(A, d.sign() * strut),
        [d.rng.uniform(-0.3, 0.3)],
        active=True,
        cut=True,
    )


def rus_cut(d: Draft, A: Array, W: Array) -> None:
    """An arm and a rod cut at the drive: everything hangs on the platform."""
    E = W - d.rng.uniform(0.4, 0.6) * d.near(W - A, 0.8)
    way = d.near(W - E, 0.7)
    axis = d.across(way)
    centre = E - d.rng.uniform(0.15, 0.3) * np.cross(way, axis)
    rod = d.body()
    d.add_spherical(PLATE, rod, W)
    arm = d.body()
    d.pair(rod, arm, E, W - E, False)
    frame = d.frame(centre, axis)
    d.join("revolute", arm, BASE, frame, [d.rng.uniform(-1.0, 1.0)], active=True, cut=True)


HEXAPOD_LEGS: dict[str, tuple[Callable[..., None], dict[str, object], str | None]] = {
    "UPS": (ups, {}, "universal-prismatic"),
    "UPS with an offset slide": (ups, {"offset": True}, "universal-prismatic"),
    "RRPS": (ups, {"split": True, "offset": True}, "universal-prismatic"),
    "SPS": (sps, {}, "spherical-prismatic"),
    "PUS": (elbow, {"root": "P", "ball": False}, "elbow-universal"),
    "PRRS": (elbow, {"root": "P", "ball": False, "split": True}, "elbow-universal"),
    "PSS": (elbow, {"root": "P", "ball": True}, "elbow-spherical"),
    "RUS": (elbow, {"root": "R", "ball": False}, "elbow-universal"),
    "RRRS with axes that meet": (elbow, {"root": "R", "ball": False, "split": True}, "elbow-universal"),
    "RSS": (elbow, {"root": "R", "ball": True}, "elbow-spherical"),
    "URS": (urs, {}, "universal-revolute"),
    "RRRS with a pair first": (urs, {"split": True}, "universal-revolute"),
    "P-C5": (p_c5, {"on_plate": False}, "prismatic-planar"),
    "P-C5 on the platform": (p_c5, {"on_plate": True}, "prismatic-planar"),
    "PSPP": (cross_slide, {}, "three-prismatic"),
    "PCS": (pcs, {}, None),
    "RUPU": (rupu, {}, None),
    "RRRS": (rrrs, {}, None),
    "UPS cut at the slide": (ups_cut, {}, None),
    "RUS cut at the arm": (rus_cut, {}, None),
}
"""For each leg of a hexapod how to draw it, and the closed form that it must have."""


def hexapod(seed: int, kinds: Sequence[str]) -> Robot:
    """Six legs, of the given types in turn, with anchors anywhere around."""
    rng = np.random.default_rng(seed)
    d = draft(rng)
    for k in range(6):
        name = kinds[k % len(kinds)]
        make, how, _ = HEXAPOD_LEGS[name]
        around = np.pi / 3 * k + rng.uniform(-0.3, 0.3)
        A = np.array([0.5 * np.cos(around), 0.5 * np.sin(around), 0.0]) + rng.uniform(-0.1, 0.1, 3)
        turned = np.pi / 3 * (k + (0.7 if k % 2 == 0 else -0.7)) + rng.uniform(-0.2, 0.2)
        own = np.array([0.25 * np.cos(turned), 0.25 * np.sin(turned), 0.0]) + rng.uniform(-0.06, 0.06, 3)
        d.start(f"leg{k + 1}")
        make(d, A, d.poses[PLATE].R @ own + d.poses[PLATE].p, **how)
    return d.robot(" + ".join(dict.fromkeys(kinds)), ("x", "y", "z", "rx", "ry", "rz"))


# ------------------------------------------------------------------------------------ legs in a plane


def _planar(d: Draft, kind: str, A: Array, W: Array, end: Callable[[int], None]) -> None:
    """A leg in a plane z = constant: joints about z, slides in the plane, at any heights."""
    first, second = d.body(), d.body()
    if kind == "RRR":
        knee = 0.5 * (A + W) + d.sign() * d.rng.uniform(0.15, 0.25) * unit(np.cross(Z, W - A))
        d.turn(BASE, first, A, d.sign() * Z, active=True)
        d.turn(first, second, knee, d.sign() * Z)
    elif kind == "PRR":
        axis = unit(W - A)
        knee = W - d.sign() * 0.3 * _rotate_about_z(axis, d.rng.uniform(-0.8, 0.8))
        d.slide(BASE, first, axis, active=True)
        d.turn(first, second, knee, d.sign() * Z)
    else:
        assert kind == "RPR"
        d.turn(BASE, first, A, d.sign() * Z)
        d.slide(first, second, d.sign() * _rotate_about_z(unit(W - A), d.rng.uniform(-0.5, 0.5)), active=True)
    end(second)


def _rotate_about_z(v: Array, angle: float) -> Array:
    return Rotation.from_euler("z", angle).as_matrix() @ v


PLANAR_LEGS = {"RRR": "elbow-revolute", "PRR": "elbow-revolute", "RPR": "revolute-prismatic"}


def planar_robot(seed: int, kinds: Sequence[str]) -> Robot:
    """Three legs in a plane on a rigid platform."""
    rng = np.random.default_rng(seed)
    turned = Rotation.from_euler("z", rng.uniform(-1, 1)).as_matrix()
    # The frame of the platform is not aligned with the plane.
    d = draft(
        rng, turned @ random_rotation(rng), np.array([*rng.uniform(-0.05, 0.05, 2), rng.uniform(-0.2, 0.2)])
    )
    for k in range(3):
        around = 2 * np.pi / 3 * k + rng.uniform(-0.3, 0.3)
        A = np.array([0.5 * np.cos(around), 0.5 * np.sin(around), 0.0])
        top = around + rng.uniform(0.3, 0.6)
        W = np.array([0.15 * np.cos(top), 0.15 * np.sin(top), 0.0]) + d.poses[PLATE].p * [1, 1, 0]
        d.start(f"leg{k + 1}")
        _planar(d, kinds[k % len(kinds)], A, W, lambda body, W=W: d.turn(body, PLATE, W, Z, cut=True))
    return d.robot(" + ".join(kinds), ("x", "y", "rz"))


def planar_point(seed: int, kinds: Sequence[str]) -> Robot:
    """Two legs in a plane that carry a point, and the pin between them."""
    rng = np.random.default_rng(seed)
    d = draft(rng, np.eye(3), np.array([*rng.uniform(-0.05, 0.05, 2), 0.0]))
    W = d.poses[PLATE].p
    ends = []
    for k in range(2):
        around = np.pi * k + rng.uniform(0.4, 0.8) * (1 if k == 0 else -1)
        A = W + np.array([0.5 * np.cos(around), 0.5 * np.sin(around), 0.0])
        d.start(f"leg{k + 1}")

        def end(body: int) -> None:
            ends.append(body)
            d.join("point", body, PLATE, Pose(random_rotation(rng), W), [0.0, 0.0, 0.0, 1.0], cut=True)
            # The point has no orientation of its own: its frame is the platform's.
            last = d.closures[-1]
            frames = (d.poses[body].inverse() @ Pose(np.eye(3), W), Pose(np.eye(3), np.zeros(3)))
            d.closures[-1] = bare_joint(last.name, "point", body, PLATE, *frames)

        _planar(d, kinds[k % len(kinds)], A, W, end)
    pin = Pose(np.eye(3), W)
    frames = [d.poses[body].inverse() @ pin for body in ends]
    d.shared.append(bare_joint("pin", "revolute", *ends, *frames, at_point=True))
    return d.robot(" + ".join(kinds), ("x", "y"), "point")


# ---------------------------------------------------------------------- legs that keep the orientation


def rods(d: Draft, A: Array, W: Array, *, root: str, ball: bool) -> None:
    """An arm or slider and two equal rods side by side; the short sides lie along the arm's axis."""
    leg = d.legs[-1]
    arm, E = _driven_elbow(d, A, W, root)
    axis = (d.poses[BASE].R @ d.joints[-1].frame_predecessor.R)[:, 2]
    side = 0.1 * (axis if root == "R" else d.across(W - E))
    assert arm in leg[1]
    for step in (side, -side):
        rod = d.body()
        if ball:
            d.add_spherical(arm, rod, E + step)
        else:
            d.pair(arm, rod, E + step, W - E, False)
        d.add_spherical(rod, PLATE, W + step, cut=True)


def parallelogram(d: Draft, A: Array, W: Array, *, root: str, straight: bool = False) -> None:
    """Arm or slider, hub, parallelogram, wrist; the hub's axis is the arm's where the arm turns.

    With `straight` the rods start on the hub's axis and are perpendicular to their hinges.
    """
    arm, E = _driven_elbow(d, A, W, root)
    axis = (d.poses[BASE].R @ d.joints[-1].frame_predecessor.R)[:, 2]
    rod = W - E
    h = axis if root == "R" else d.across(d.near(rod, 0.5))
    # The hinges of the rods, perpendicular to the hub's axis, off it by any vector; the rod may be oblique.
    g = unit(np.cross(h, rod if straight else d.near(rod, 0.4)))
    off = np.zeros(3) if straight else d.rng.uniform(-0.05, 0.05, 3)
    hub, rod_a, rod_b, end = d.body(), d.body(), d.body(), d.body()
    widths = (0.08 * h, -0.07 * h)
    d.turn(arm, hub, E, d.sign() * h)
    for body, width in ((rod_a, widths[0]), (rod_b, widths[1])):
        d.turn(hub, body, E + off + width, d.sign() * g, 0.0)
    d.turn(rod_a, end, E + off + widths[0] + rod, d.sign() * g, 0.0)
    d.turn(rod_b, end, E + off + widths[1] + rod, d.sign() * g, 0.0, cut=True)
    d.turn(end, PLATE, W, d.sign() * h, cut=True)


def uru(d: Draft, A: Array, W: Array) -> None:
    """First and last axis parallel, and the three between them: the orientation stays."""
    first = d.across(W - A)
    second = unit(np.cross(first, d.near(W - A, 0.5)))
    _two_links(d, A, W, first, second, False)
    d.cross(d.legs[-1][1][-1], PLATE, W, d.sign() * second, d.sign() * first, cut=True)


def upu(d: Draft, A: Array, W: Array) -> None:
    n = d.near(W - A, 0.5)
    first = d.across(n)
    second = np.cross(n, first)
    tube, rod = d.body(), d.body()
    d.cross(BASE, tube, A, first, second)
    d.slide(tube, rod, d.sign() * (W - A), active=True)
    d.cross(rod, PLATE, W, d.sign() * second, d.sign() * first, cut=True)


TRANSLATING_LEGS: dict[str, tuple[Callable[..., None], dict[str, object], str | None]] = {
    "R[SS|SS]": (rods, {"root": "R", "ball": True}, "rods"),
    "P[SS|SS]": (rods, {"root": "P", "ball": True}, "rods"),
    "R[US|US]": (rods, {"root": "R", "ball": False}, "rods"),
    "P[US|US]": (rods, {"root": "P", "ball": False}, "rods"),
    "PRPaR": (parallelogram, {"root": "P"}, "parallelogram"),
    "RRPaR": (parallelogram, {"root": "R"}, "parallelogram"),
    "URU": (uru, {}, "universal-revolute"),
    "UPU": (upu, {}, "universal-prismatic"),
}


def translating_robot(seed: int, kinds: Sequence[str], **more: Any) -> Robot:
    """Three legs, of the given types in turn, that keep the orientation of the platform."""
    rng = np.random.default_rng(seed)
    d = draft(rng)
    for k in range(3):
        make, how, _ = TRANSLATING_LEGS[kinds[k % len(kinds)]]
        how = how | more
        around = 2 * np.pi / 3 * k + rng.uniform(-0.3, 0.3)
        A = np.array([0.5 * np.cos(around), 0.5 * np.sin(around), 0.0]) + rng.uniform(-0.1, 0.1, 3)
        own = np.array([0.1 * np.cos(around), 0.1 * np.sin(around), 0.0]) + rng.uniform(-0.03, 0.03, 3)
        d.start(f"leg{k + 1}")
        make(d, A, d.poses[PLATE].p + own, **how)
    return d.robot(" + ".join(dict.fromkeys(kinds)), ("x", "y", "z"))


def three_rps(seed: int) -> Robot:
    """3-RPS with legs that differ: x, y and rz of the platform depend on z, rx and ry."""
    rng = np.random.default_rng(seed)
    d = draft(rng, Rotation.from_rotvec([*rng.uniform(-0.2, 0.2, 2), 0.0]).as_matrix())
    for k in range(3):
        around = 2 * np.pi / 3 * k + rng.uniform(-0.2, 0.2)
        out = np.array([np.cos(around), np.sin(around), 0.0])
        A = rng.uniform(0.4, 0.5) * out
        W = d.poses[PLATE].p + d.poses[PLATE].R @ (rng.uniform(0.2, 0.3) * out)
        d.start(f"leg{k + 1}")
        tube, rod = d.body(), d.body()
        d.turn(BASE, tube, A, np.cross(W - A, d.near(np.cross(W - A, np.cross(Z, out)), 0.2)))
        d.slide(tube, rod, d.sign() * d.near(W - A, 0.2), active=True)
        d.add_spherical(rod, PLATE, W, cut=True)
    return d.robot("three-rps", ("z", "rx", "ry"))


@dataclass(frozen=True)
class LegCase:
    """A random robot and the closed forms that its legs must have."""

    robot: Robot
    forms: tuple[str | None, ...]


def _hexapod_forms(kinds: Sequence[str]) -> tuple[str | None, ...]:
    return tuple(HEXAPOD_LEGS[kinds[k % len(kinds)]][2] for k in range(6))


MIXED_LEGS = (
    ("UPS", "PUS", "RUS", "SPS", "P-C5", "URS"),
    ("RSS", "PSPP", "PSS", "RRPS", "P-C5 on the platform", "RUPU"),
    ("UPS cut at the slide", "RUS cut at the arm", "RRRS", "PRRS", "UPS with an offset slide", "PSPP"),
)

CASES: dict[str, Callable[[int], LegCase]] = {}
"""Random robots by name, each a function of a seed."""


def _register() -> None:
    def add(name: str, make: Callable[[int], Robot], forms: tuple[str | None, ...]) -> None:
        CASES[name] = cache(lambda seed: LegCase(make(seed), forms))

    for kinds in [*((name,) for name in HEXAPOD_LEGS), *MIXED_LEGS]:
        add(f"6 {' + '.join(kinds)}", lambda seed, k=kinds: hexapod(seed, k), _hexapod_forms(kinds))
    for kinds in [*((name,) for name in PLANAR_LEGS), tuple(PLANAR_LEGS)]:
        forms = tuple(PLANAR_LEGS[kinds[k % len(kinds)]] for k in range(3))
        add(f"planar {' + '.join(kinds)}", lambda seed, k=kinds: planar_robot(seed, k), forms)
        add(f"point {' + '.join(kinds[:2])}", lambda seed, k=kinds: planar_point(seed, k), forms[:2])
    for kinds in [
        *((name,) for name in TRANSLATING_LEGS),
        ("R[SS|SS]", "PRPaR", "URU"),
        ("P[US|US]", "UPU", "RRPaR"),
    ]:
        translated = tuple(TRANSLATING_LEGS[kinds[k % len(kinds)]][2] for k in range(3))
        add(f"3 {' + '.join(kinds)}", lambda seed, k=kinds: translating_robot(seed, k), translated)
    add("3 RPS", three_rps, (None, None, None))


_register()
