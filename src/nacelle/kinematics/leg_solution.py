"""Legs in closed form: the coordinates of a leg's joints from the pose of the nacelle.

A leg from the base to the nacelle is flattened to a chain of single turns and slides about z (R, P), and
balls (S), with constant frames between them; its last joint, the closure, puts its end W on the nacelle:

    W = X_0 M_1(q_1) X_1 ... M_k(q_k) X_k

Two turns whose axes meet at right angles act as a universal joint (U). Chains with a closed form:

    U P, S P             telescopic legs: the length is a distance            UPS, SPS
    R U, P U, R S, P S   a driven elbow at a constant distance from W         RUS, PUS, RSS, PSS
    R R, P R, R P        the same in a plane                                  RRR, PRR, RPR
    U R                  a plane that turns, with two links in it             URU
    P to a plane         a ball that slides on a face                         P-C5
    P and P P            the same with cross slides on the nacelle            PSPP

and two legs that branch: an arm or slider with rods between ball joints side by side, and one with a
parallelogram. The form is recognised from numbers once; the solution runs over any scalar.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from nacelle.kinematics.chain import Chain, centred, end_frames, flatten, serial_chain
from nacelle.kinematics.parallelogram import MEET, Parallelogram, arm, arm_offset, parallelogram
from nacelle.kinematics.subproblem import (
    balance,
    ball_aim,
    circle_to_point,
    line_to_point,
    stretch,
    turn_back,
    turn_onto,
    turn_vector,
    two_turns,
)
from nacelle.kinematics.tree import Step, Turn
from nacelle.model.joint import Joint, JointKind
from nacelle.model.leg import BASE, Leg
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, Scalar, cross, divide, dot, norm, pack, plus, product
from nacelle.spatial.solve import solve

_C5 = (JointKind.PLANAR_SPHERICAL, JointKind.SPHERICAL_PLANAR)
_HOLDS_POINT = (
    JointKind.REVOLUTE,
    JointKind.UNIVERSAL,
    JointKind.SPHERICAL,
    JointKind.POINT,
)

# References of balls are rounded to multiples of its inverse.
_QUATERNION_GRID = 2.0**32


@dataclass(frozen=True)
class Recipe:
    """How a leg is solved.

    Attributes:
        form: name of the closed form, a key of `_FORMS`.
        signs: which root is taken, in the order in which roots are met.
        balls: for each ball joint of the leg its reference orientation, quat_xyzw.
    """

    form: str
    signs: tuple[int, ...]
    balls: Mapping[int, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Solution:
    """A solved leg.

    Attributes:
        steps: for each tree joint of the leg the steps of its primitives.
        gates: the gates of all roots (`subproblem`).
    """

    steps: dict[int, list[Step]]
    gates: list[Scalar]


def _meet(X: Pose, size: float) -> bool:
    """Whether the axes of two turns with X between them meet and stand square."""
    n = np.cross([0.0, 0.0, 1.0], X.R[:, 2])
    return abs(float(X.R[2, 2])) < MEET and abs(float(n @ X.p)) < MEET * size


def _parallel(X: Pose) -> bool:
    return float(np.hypot(X.R[0, 2], X.R[1, 2])) < MEET


def _square(X: Pose) -> bool:
    return abs(float(X.R[2, 2])) < MEET


# ---- the forms: each takes a chain, the target point W in the base, and iterators over signs and balls


class _Roots:
    """Signs that are left, gates that were met, and the references of balls.

    Beside the gates of roots, which are squared sines, the squares of lever arms count, over that of the
    leg's or, beside slides, of the robot's size: an axis through the leg's end does not move it.
    """

    def __init__(self, recipe: Recipe, size: float) -> None:
        self._signs = iter(recipe.signs)
        self._balls = recipe.balls
        self.size = size
        self.gates: list[Scalar] = []

    def sign(self) -> int:
        return next(self._signs)

    def ball(self, joint: int) -> Array:
        return np.array(self._balls[joint])

    def take(self, found: tuple[Scalar, Scalar]) -> Scalar:
        """Note the gate of a solution and give its value."""
        self.gates.append(found[1])
        return found[0]

    def lever(self, square: Scalar, size2: Scalar) -> None:
        """Note the square of a lever arm, and of the size that it counts in, m^2."""
        self.gates.append(divide(square, size2))


def _elbow(
    letter: str, X: Pose, e: Array, W: Array, length2: Scalar, roots: _Roots, *, lever: bool = False
) -> tuple[Step, Pose, Array]:
    """Solve the driven joint of an elbow e: its step, the frame behind it, and W from e seen from there."""
    w = (X.inverse() @ Pose(np.eye(3), W)).p
    sign = roots.sign()
    if letter == "R":
        step, gate, rod = circle_to_point(e, w, length2, sign, lever=lever)
    else:
        step, gate, rod = line_to_point(e, w, length2, sign)
    roots.gates.append(gate)
    if letter == "R":
        roots.lever(w[0] * w[0] + w[1] * w[1], dot(e, e) + length2)
    return step, X @ _moved(step), rod


def _moved(step: Step) -> Pose:
    """Motion of a turn about or a slide along z."""
    if isinstance(step, Turn):
        c, s = step
        return Pose(pack([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), np.zeros(3))
    return Pose(np.eye(3), pack([0.0, 0.0, step]))


def _seen(frame: Pose, W: Array) -> Array:
    """A point of the base, seen from a frame."""
    return np.asarray(product(frame.R.T, plus(W, -frame.p)))


def _elbow_pair(chain: Chain, W: Array, roots: _Roots) -> list[Step]:
    chain = centred(chain, 1)
    X0, X1, X2, X3 = chain.X
    step, _, rod = _elbow(chain.letters[0], X0, X1.p, W, dot(X3.p, X3.p), roots)
    first, second, gate = two_turns(X2.R, X3.p, product(X1.R.T, rod), roots.sign())
    roots.gates.append(gate)
    return [step, first, second]


def _elbow_ball(chain: Chain, W: Array, roots: _Roots) -> list[Step]:
    X0, X1, X2 = chain.X
    step, _, rod = _elbow(chain.letters[0], X0, X1.p, W, dot(X2.p, X2.p), roots)
    return [step, ball_aim(X2.p, product(X1.R.T, rod), roots.ball(chain.owners[1]))]


def _elbow_turn(chain: Chain, W: Array, roots: _Roots) -> list[Step]:
    X0, X1, X2 = chain.X
    step, _, rod = _elbow(chain.letters[0], X0, X1.p, W, dot(X2.p, X2.p), roots)
    return [step, turn_onto(X2.p, product(X1.R.T, rod))]


def _pair_slide(chain: Chain, W: Array, roots: _Roots) -> list[Step]:
    chain = centred(chain, 0)
    X0, X1, X2, X3 = chain.X
    u = _seen(X0, W)
    o, z = plus(X2.p, product(X2.R, X3.p)), X2.R[:, 2]
    square = dot(u, u)
    length = roots.take(stretch(o, z, square, roots.sign()))
    roots.lever(square, roots.size**2)
    first, second, gate = two_turns(X1.R, o + length * z, u, roots.sign())
    roots.gates.append(gate)
    return [first, second, length]


def _ball_slide(chain: Chain, W: Array, roots: _Roots) -> list[Step]:
    X0, X1, X2 = chain.X
    u = _seen(X0, W)
    o, z = plus(X1.p, product(X1.R, X2.p)), X1.R[:, 2]
    square = dot(u, u)
    length = roots.take(stretch(o, z, square, roots.sign()))
    roots.lever(square, roots.size**2)
    return [ball_aim(o + length * z, u, roots.ball(chain.owners[0])), length]


def _turn_slide(chain: Chain, W: Array, roots: _Roots) -> list[Step]:
    X0, X1, X2 = chain.X
    flat = np.array([1.0, 1.0, 0.0])
    u, o, z = _seen(X0, W) * flat, plus(X1.p, product(X1.R, X2.p)) * flat, X1.R[:, 2] * flat
    square = dot(u, u)
    length = roots.take(stretch(o, z, square, roots.sign()))
    roots.lever(square, roots.size**2)
    return [turn_onto(o + length * z, u), length]


def _pair_turn(chain: Chain, W: Array, roots: _Roots) -> list[Step]:
    chain = centred(chain, 0)
    X0, X1, X2, X3 = chain.X
    u, n = _seen(X0, W), X1.R[:, 2]
    across = X2.p[2] + X2.R[2, 2] * X3.p[2]
    first = roots.take(
        balance(
            n[0] * u[0] + n[1] * u[1],
            n[0] * u[1] - n[1] * u[0],
            across - n[2] * u[2],
            roots.sign(),
        )
    )
    u2 = product(X1.R.T, turn_back(first, u))
    h, g = product(X2.R.T, X2.p), X3.p
    h2, g2 = h[0] * h[0] + h[1] * h[1], g[0] * g[0] + g[1] * g[1]
    square = u2[0] * u2[0] + u2[1] * u2[1]
    roots.lever(u[0] * u[0] + u[1] * u[1], h2 + g2)
    roots.lever(square, h2 + g2)
    flat = square - h2 - g2
    third = roots.take(
        balance(h[0] * g[0] + h[1] * g[1], h[1] * g[0] - h[0] * g[1], 0.5 * flat, roots.sign())
    )
    return [first, turn_onto(X2.p + product(X2.R, turn_vector(third, g)), u2), third]


_FORMS = {
    "elbow-pair": (_elbow_pair, 2),
    "elbow-ball": (_elbow_ball, 1),
    "elbow-turn": (_elbow_turn, 1),
    "pair-slide": (_pair_slide, 2),
    "ball-slide": (_ball_slide, 1),
    "turn-slide": (_turn_slide, 1),
    "pair-turn": (_pair_turn, 2),
}


def _chain_form(chain: Chain, size: float) -> str:
    """Name of the closed form of a chain of floats, or nothing."""
    X, kind = chain.X, chain.target.kind
    match chain.letters:
        case "P" if kind in _C5:
            return "slide-plane"
        case _ if kind not in _HOLDS_POINT:
            return ""
        case "RRR" if _meet(X[2], size):
            return "elbow-pair"
        case "PRR" if _meet(X[2], size):
            return "elbow-pair"
        case "RRR" if _meet(X[1], size) and _parallel(X[2]):
            return "pair-turn"
        case "RRP" if _meet(X[1], size):
            return "pair-slide"
        case "RS" | "PS":
            return "elbow-ball"
        case "SP":
            return "ball-slide"
        case "RR" if _parallel(X[1]) and _planar_end(chain):
            return "elbow-turn"
        case "PR" if _square(X[1]) and _planar_end(chain):
            return "elbow-turn"
        case "RP" if _square(X[1]) and _planar_end(chain, 1):
            return "turn-slide"
    return ""


def _planar_end(chain: Chain, turn: int | None = None) -> bool:
    """Whether the end of a planar chain is a point, or turns about an axis across the plane."""
    if chain.target.kind is JointKind.POINT:
        return True
    if chain.target.kind is not JointKind.REVOLUTE:
        return False
    X = chain.X[-1] if turn is None else chain.X[-2] @ chain.X[-1]
    return _parallel(X)


# ---- legs that are not one chain


@dataclass(frozen=True)
class _Rods:
    """An arm or slider with rods side by side: the root joint, and a chain for each rod."""

    root: int
    letter: str
    X: Pose
    chains: tuple[Chain, ...]


def _rods(robot: Robot, leg: Leg) -> _Rods | None:
    """Read a leg as an arm or slider with rods; the chains begin in the frame behind the root joint."""
    roots = [j for j in leg.joints if robot.joints[j].predecessor == BASE]
    others = [j for j in leg.joints if j not in roots]
    if len(roots) != 1 or len(others) < 2 or len(leg.closures) != len(others):
        return None
    root = robot.joints[roots[0]]
    if root.kind not in (JointKind.REVOLUTE, JointKind.PRISMATIC):
        return None
    chains = []
    for j in others:
        rod = robot.joints[j]
        ends = [
            robot.joints[c]
            for c in leg.closures
            if rod.successor in (robot.joints[c].predecessor, robot.joints[c].successor)
        ]
        if rod.predecessor != root.successor or len(ends) != 1 or ends[0].kind is not JointKind.SPHERICAL:
            return None
        if rod.kind not in (JointKind.SPHERICAL, JointKind.UNIVERSAL):
            return None
        chains.append(flatten(robot, [j], ends[0], root.frame_successor.inverse()))
    letter = "R" if root.kind is JointKind.REVOLUTE else "P"
    return _Rods(roots[0], letter, root.frame_predecessor, tuple(chains))


def _solve_rods(rods: _Rods, points: Sequence[Array], roots: _Roots) -> dict[int, list[Step]]:
    """The first rod gives the root joint's coordinate, then every rod is aimed."""
    first = rods.chains[0]
    d = first.X[-1].p
    step, frame, rod = _elbow(rods.letter, rods.X, first.X[0].p, points[0], dot(d, d), roots, lever=True)
    steps: dict[int, list[Step]] = {rods.root: [step]}
    for chain, W in zip(rods.chains, points, strict=True):
        u = product(chain.X[0].R.T, rod) if chain is first else _seen(frame @ chain.X[0], W)
        owner = chain.owners[0]
        if chain.letters == "S":
            steps[owner] = [ball_aim(chain.X[1].p, u, roots.ball(owner))]
        else:
            one, two, gate = two_turns(chain.X[1].R, chain.X[2].p, u, roots.sign())
            roots.gates.append(gate)
            steps[owner] = [one, two]
    return steps


def _solve_parallelogram(robot: Robot, p: Parallelogram, W: Array, roots: _Roots) -> dict[int, list[Step]]:
    root, hub, rod_a, rod_b, end = (robot.joints[j] for j in (p.root, p.hub, p.rod_a, p.rod_b, p.end))
    letter = "R" if root.kind is JointKind.REVOLUTE else "P"
    R_hub_end, _ = arm_offset(robot, p)
    X_centre, d = arm(robot, p)
    X_rod = product(hub.frame_successor.R.T, rod_a.frame_predecessor.R)
    step, _, from_elbow = _elbow(letter, root.frame_predecessor, X_centre.p, W, dot(d, d), roots)
    turn_hub, turn_a, gate = two_turns(X_rod, d, product(X_centre.R.T, from_elbow), roots.sign())
    # The hub's axis lies along the short sides: where the rods do so, too, the parallelogram is flat.
    roots.gates.append(gate)
    rod = product(rod_a.frame_predecessor.R, turn_vector(turn_a, d))
    fold = robot.joints[p.fold]
    d_b = product(rod_b.frame_successor.R.T, plus(fold.frame_predecessor.p, -rod_b.frame_successor.p))
    turn_b = turn_onto(d_b, product(rod_b.frame_predecessor.R.T, rod))
    R_rod = product(product(rod_a.frame_predecessor.R, _moved(turn_a).R), rod_a.frame_successor.R.T)
    R = product(product((product(R_rod, end.frame_predecessor.R)).T, R_hub_end), end.frame_successor.R)
    turn_end = Turn(R[0, 0], R[1, 0])
    return {
        p.root: [step],
        p.hub: [turn_hub],
        p.rod_a: [turn_a],
        p.rod_b: [turn_b],
        p.end: [turn_end],
    }


# ---- the door


def leg_form(robot: Robot, leg: Leg) -> str:
    """Name the closed form of a leg; empty if it has none."""
    if _is_cross_slide(robot, leg):
        return "cross-slide"
    chain = serial_chain(robot, leg)
    if chain is not None:
        return _chain_form(chain, robot.size)
    if _rods(robot, leg) is not None:
        return "rods"
    found = parallelogram(robot, leg)
    if found is not None:
        _, offset = arm_offset(robot, found)
        hub = robot.joints[found.hub].frame_successor
        c = product(hub.R.T, offset - hub.p)
        if float(np.hypot(c[0], c[1])) < MEET * robot.size:
            return "parallelogram"
    return ""


def _sign_count(robot: Robot, leg: Leg, form: str) -> int:
    if form in ("slide-plane", "cross-slide"):
        return 0
    if form == "parallelogram":
        return 2
    if form == "rods":
        rods = _rods(robot, leg)
        assert rods is not None
        return 1 + sum(chain.letters != "S" for chain in rods.chains)
    return _FORMS[form][1]


def recipes(robot: Robot, leg: Leg, q: Array) -> Iterator[Recipe]:
    """List the recipes of a leg's closed form, one for each choice of roots.

    Args:
        robot: the robot, of floats.
        leg: the leg.
        q: coordinates of the tree, from which the reference orientations of balls are taken.
    """
    form = leg_form(robot, leg)
    if not form:
        return
    balls = {
        j: _rounded_quaternion(q[robot.q_slices[j]])
        for j in leg.joints
        if robot.joints[j].kind is JointKind.SPHERICAL
    }
    for signs in itertools.product((1, -1), repeat=_sign_count(robot, leg, form)):
        yield Recipe(form, signs, balls)


def _rounded_quaternion(quat_xyzw: Array) -> tuple[float, ...]:
    """A unit quaternion near another one, rounded, so that it does not depend on the iteration that found it.

    A ball is aimed from its reference along the shortest turn: any reference near the assembled one is right.
    """
    rounded = np.round(quat_xyzw * _QUATERNION_GRID) / _QUATERNION_GRID
    return tuple(float(value) for value in rounded / norm(rounded))


def solve_leg(robot: Robot, leg: Leg, recipe: Recipe, poses: Mapping[int, Pose]) -> Solution:
    """Solve a leg.

    Args:
        robot: the robot; its numbers may be symbols.
        leg: the leg.
        recipe: how to solve it.
        poses: poses of the nacelle's bodies in the base.
    """
    roots = _Roots(recipe, robot.numeric.size)

    def target(closure: Joint) -> Array:
        own = {robot.joints[j].successor for j in leg.joints}
        body = closure.predecessor if closure.predecessor in own else closure.successor
        _, other, frame = end_frames(closure, body)
        return (poses[other] @ frame).p

    if recipe.form == "rods":
        rods = _rods(robot, leg)
        assert rods is not None
        points = [target(chain.target) for chain in rods.chains]
        return Solution(_solve_rods(rods, points, roots), roots.gates)
    if recipe.form == "parallelogram":
        found = parallelogram(robot.numeric, leg)
        assert found is not None
        W = target(robot.joints[found.wrist])
        return Solution(_solve_parallelogram(robot, found, W, roots), roots.gates)
    if recipe.form == "cross-slide":
        return _solve_cross_slide(robot, leg, poses)
    chain = serial_chain(robot, leg)
    assert chain is not None
    if recipe.form == "slide-plane":
        length, gate = _slide_plane(robot, chain, poses)
        return Solution({leg.joints[0]: [length]}, [gate])
    listed = _FORMS[recipe.form][0](chain, target(chain.target), roots)
    steps: dict[int, list[Step]] = {}
    for owner, step in zip(chain.owners, listed, strict=True):
        steps.setdefault(owner, []).append(step)
    for j in leg.joints:
        steps.setdefault(j, [])
    return Solution(steps, roots.gates)


class Sphere(NamedTuple):
    """Where the end of a leg can be at given coordinates of its driven joint.

    Attributes:
        centre: in the base, m.
        radius2: square of the radius.
        closure: the closure at the leg's end.
    """

    centre: Array
    radius2: Scalar
    closure: Joint


def driven_joint(robot: Robot, leg: Leg, form: str) -> int | None:
    """The joint whose coordinate sets the sphere of a leg's end; None if the form has no sphere."""
    if form in ("elbow-pair", "elbow-ball", "elbow-turn"):
        return leg.joints[0]
    if form in ("pair-slide", "ball-slide", "turn-slide"):
        return leg.joints[-1]
    if form in ("rods", "parallelogram"):
        return next(j for j in leg.joints if robot.joints[j].predecessor == BASE)
    return None


def leg_sphere(robot: Robot, leg: Leg, form: str, step: Step) -> Sphere:
    """The sphere on which a leg's end lies, from the step of its driven joint (`driven_joint`)."""
    if form == "rods":
        rods = _rods(robot, leg)
        assert rods is not None
        first = rods.chains[0]
        d = first.X[-1].p
        return Sphere((rods.X @ _moved(step) @ first.X[0]).p, dot(d, d), first.target)
    if form == "parallelogram":
        found = parallelogram(robot.numeric, leg)
        assert found is not None
        X_centre, d = arm(robot, found)
        root = robot.joints[found.root]
        centre = (root.frame_predecessor @ _moved(step) @ X_centre).p
        return Sphere(centre, dot(d, d), robot.joints[found.wrist])
    chain = serial_chain(robot, leg)
    assert chain is not None
    if form in ("pair-slide", "elbow-pair"):
        chain = centred(chain, 0 if form == "pair-slide" else 1)
    X = chain.X
    if form in ("pair-slide", "ball-slide", "turn-slide"):
        d = X[-2].p + product(X[-2].R, X[-1].p) + step * X[-2].R[:, 2]
        return Sphere(X[0].p, dot(d, d), chain.target)
    d = X[-1].p
    return Sphere((X[0] @ _moved(step) @ X[1]).p, dot(d, d), chain.target)


def _is_cross_slide(robot: Robot, leg: Leg) -> bool:
    """Whether a leg is three slides and a ball: everything is linear in their lengths."""
    joints = [robot.joints[j] for j in leg.joints]
    if len(leg.closures) != 1 or robot.joints[leg.closures[0]].kind is not JointKind.SPHERICAL:
        return False
    slides = [joint for joint in joints if joint.kind is JointKind.PRISMATIC]
    return len(slides) == 3 and all(joint.kind in (JointKind.PRISMATIC, JointKind.FIXED) for joint in joints)


def _solve_cross_slide(robot: Robot, leg: Leg, poses: Mapping[int, Pose]) -> Solution:
    """Three slides, some on the base and some on the nacelle, bring the two sides of a ball together.

    The gate is the square of the volume that their directions span.
    """
    placed = dict(poses)
    moved: dict[int, dict[int, Array]] = {}
    for j in leg.joints:
        joint = robot.joints[j]
        frame = placed[joint.predecessor] @ joint.frame_predecessor
        placed[joint.successor] = frame @ joint.frame_successor.inverse()
        own = {j: frame.R[:, 2]} if joint.kind is JointKind.PRISMATIC else {}
        moved[joint.successor] = moved.get(joint.predecessor, {}) | own
    closure = robot.joints[leg.closures[0]]
    first = (placed[closure.predecessor] @ closure.frame_predecessor).p
    second = (placed[closure.successor] @ closure.frame_successor).p
    before, behind = moved.get(closure.predecessor, {}), moved.get(closure.successor, {})
    slides = [j for j in leg.joints if robot.joints[j].kind is JointKind.PRISMATIC]
    none = np.zeros(3)
    A = np.stack([before.get(j, none) - behind.get(j, none) for j in slides], axis=1)
    lengths = dict(zip(slides, solve(A, second - first), strict=True))
    volume = dot(A[:, 0], cross(A[:, 1], A[:, 2]))
    steps: dict[int, list[Step]] = {j: [lengths[j]] if j in lengths else [] for j in leg.joints}
    return Solution(steps, [volume * volume])


def _slide_plane(robot: Robot, chain: Chain, poses: Mapping[int, Pose]) -> tuple[Scalar, Scalar]:
    """Slide until the two frames of a C5 joint lie in its plane: n . (W - X_0 (q z) X_1) = 0.

    The gate is the square of n . z, zero where the slide runs along the plane.
    """
    X0, X1 = chain.X
    closure = chain.target
    own = robot.joints[chain.owners[0]].successor
    _, other, frame = end_frames(closure, own)
    there, here = poses[other] @ frame, X0 @ X1
    n = here.R[:, 2] if closure.predecessor == own else there.R[:, 2]
    along = dot(n, X0.R[:, 2])
    return divide(dot(n, there.p - here.p), along), along * along
