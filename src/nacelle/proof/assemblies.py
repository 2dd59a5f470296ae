"""All assemblies of a robot with its actuators held: every real solution, each certified, and no other.

With its actuators at q a leg is a rod between a point A(q) of the base and a point W = p + R b of the
platform, of a length l(q):

    |W - A(q)|^2 = l(q)^2        elbows (RUS, PUS, RRR, arms with rods) and struts (UPS, RPR)

and where the free joint at A is a single revolute joint, of the motion across its axis. These are as many
equations as the platform has freedoms, and all poses that satisfy them are assemblies: passive joints follow
from them. Rotations are those of the motion's chart; a free orientation is a quaternion [u; 1] whose largest
entry is scaled to 1, in each of four places, with

    R = R_h(u) / (1 + |u|^2),     -1 <= u_i <= 1

R_h quadratic, and the equations times 1 + |u|^2. Boxes of p and u are searched by branch and prune
(`nacelle.proof.branch_and_prune`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from nacelle.compile.interval import BoxFunction
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.legs.chain import platform_end, serial_chain
from nacelle.kinematics.legs.leg_type import FORMS, leg_type
from nacelle.kinematics.legs.parallelogram import arm_geometry
from nacelle.kinematics.legs.solution import rod_chains
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.joint import Joint
from nacelle.model.leg import PLATFORM, Leg
from nacelle.model.robot import Robot
from nacelle.program.interval import derivative_program
from nacelle.program.program import Program
from nacelle.program.trace import trace
from nacelle.proof.branch_and_prune import SquareSystem, is_single, solve_in_box
from nacelle.proof.equations import ProofError
from nacelle.proof.matrices import around, identity_less_product, middle_radius, point, product
from nacelle.results import HasTable
from nacelle.spatial.interval import round_down, round_up
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_z
from nacelle.spatial.scalar import Array, Scalar, dot, pack

_LARGER = 1.0 + 2.0**-30
# Actuators that kinematics gives for a pose are those that were held if they are so near, rad or m.
_BRANCH = 1e-6


class _Rod(NamedTuple):
    """What holds a point of the platform, with the actuators held.

    Attributes:
        actuator: index of the actuator that moves it.
        letter: "R" or "P", how the actuator's joint moves.
        root: frame (R, p) before the actuator's joint; of a strut that of its foot.
        elbow: of a rod the point behind the actuator's joint; None for a strut.
        rod: of a rod the way from its elbow to the platform, of a strut that at zero length, m.
        slide: of a strut the direction of its slide.
        normal: the axis of a single revolute joint at A, which the motion is across; None for none.
        end: the point of the platform, in its frame.
    """

    actuator: int
    letter: str
    root: Pose
    elbow: Array | None
    rod: Array
    slide: Array | None
    normal: Array | None
    end: Array


@dataclass(frozen=True, eq=False, repr=False)
class CertifiedAssemblies(HasTable):
    """All assemblies of a robot for given actuators.

    Attributes:
        robot: the robot.
        q: coordinates of the actuators, rad or m.
        x: reduced poses (S, nx), each the middle of a box that holds exactly one solution.
        radius: half the sides of these boxes (S, nx), m, rad and entries of quaternions.
        flags: of each pose (S,), by kinematics in floats: `OTHER_BRANCH` where a leg is bent or crossed
            another way than in the reference pose, `OUT_OF_LIMITS` where a joint is beyond its limits.
        undecided: how many boxes are neither excluded nor certified: with none the list is complete.
        evaluated: how many boxes were evaluated.
    """

    robot: Robot
    q: Array
    x: Array
    radius: Array
    flags: Array
    undecided: int
    evaluated: int

    @property
    def complete(self) -> bool:
        """Whether it is proved that there are no other assemblies."""
        return self.undecided == 0

    def describe(self) -> list[str]:
        """The result in sentences."""
        count = len(self.x)
        lines = [f"{count} assembl{'y' if count == 1 else 'ies'}, each certified; {self.evaluated} boxes"]
        if self.complete:
            return [*lines, "proved: there are no others"]
        return [*lines, f"{self.undecided} boxes are undecided: there may be double or further solutions"]


def certified_assemblies(robot: Robot, q: Any, *, most: int = 4_000_000) -> CertifiedAssemblies:
    """All poses of the platform at which the loops close with the actuators at q.

    Poses of every branch of the legs are among them, and those beyond limits of passive joints.

    Args:
        robot: a robot whose legs are rods or struts, as many as its platform has freedoms.
        q: coordinates of the actuators (actuators,), rad or m.
        most: boxes that are evaluated at most; what is left then counts as undecided.

    Raises:
        ProofError: if the robot is of another kind, or q does not fit.
    """
    equations = distance_equations(robot)
    values = np.asarray(q, dtype=float)
    if values.shape != (len(robot.actuators),) or not np.all(np.isfinite(values)):
        raise ProofError(f"q are {len(robot.actuators)} finite numbers, one for each actuator, got {q}")
    certified: list[tuple[int, Array]] = []
    undecided = evaluated = 0
    for chart in equations.charts:
        system = equations.system(chart, values)
        first, contract = equations.first_box(values), equations.contraction(chart, values)
        solutions = solve_in_box(system, first, most=most // len(equations.charts), contract=contract)
        evaluated += solutions.evaluated
        undecided += len(solutions.undecided)
        for box in solutions.boxes:
            # Two boxes of different charts, or a turn apart, may have one solution.
            near = [
                image
                for known, earlier in certified
                for image in equations.images(known, earlier, chart, box)
            ]
            if not near:
                certified.append((chart, box))
            elif not all(is_single(system, [box, image]) for image in near):
                undecided += 1
    poses = [equations.pose_of(chart, box) for chart, box in certified]
    x, radius = (np.array([pose[k] for pose in poses]).reshape(-1, equations.layout.nx) for k in range(2))
    return CertifiedAssemblies(robot, values, x, radius, _flags_at(robot, values, x), undecided, evaluated)


def _flags_at(robot: Robot, q: Array, x: Array) -> Array:
    """Whether poses (S, nx) are on the branch of the reference pose, and within limits (S,)."""
    if not len(x):
        return np.zeros(0, dtype=np.int64)
    joints = inverse_kinematics(robot, x)
    with np.errstate(invalid="ignore"):
        off = np.abs(joints.q - q)
        off = np.where(robot.revolute_actuators, np.minimum(off, np.abs(off - 2.0 * np.pi)), off)
        off_branch = ~(off.max(axis=1) < _BRANCH * max(1.0, robot.size))
    return np.where(off_branch, int(Flag.OTHER_BRANCH), joints.flags & int(Flag.OUT_OF_LIMITS))


@lru_cache(maxsize=16)
def distance_equations(robot: Robot) -> DistanceEquations:
    """The equations of a robot, traced once.

    Raises:
        ProofError: if its legs are no rods or struts.
    """
    return DistanceEquations(robot.numeric)


class DistanceEquations:
    """The distances that legs keep with their actuators held."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        mechanism = mechanism_of(robot)
        if mechanism.parasitic or robot.platform.joints:
            raise ProofError(
                f"certified assemblies need a rigid platform without parasitic motion: {robot.name} has not"
            )
        self.layout, self.chart = mechanism.layout, mechanism.chart
        self.rods = [rod for leg in robot.legs for rod in self._rods_of(leg)]
        self.charts = (0, 1, 2, 3) if self.layout.quaternion is not None else (0,)
        n = robot.motion.n
        if not self.layout.quaternion and not self.chart.rotations and len(self.rods) > n:
            # Rods side by side say the same of a platform that does not turn.
            self.rods = list({rod.actuator: rod for rod in reversed(self.rods)}.values())[::-1]
        if len(self.rods) != n:
            raise ProofError(
                f"{robot.name} has {len(self.rods)} distances for {n} freedoms of its platform: certified "
                "assemblies need as many"
            )

    def _rods_of(self, leg: Leg) -> list[_Rod]:
        robot = self.robot
        kind = leg_type(robot, leg)
        if kind.form == "rods":
            j, chains = rod_chains(robot, leg)
            root = robot.joints[j]
            return [
                self._elbow(leg, j, root.frame_predecessor, chain.X[0].p, chain.X[-1].p, chain.target)
                for chain in chains
            ]
        if kind.form == "parallelogram" and kind.parallelogram is not None:
            p = kind.parallelogram
            centre, d = arm_geometry(robot, p)
            root = robot.joints[p.root]
            return [self._elbow(leg, p.root, root.frame_predecessor, centre.p, d, robot.joints[p.wrist])]
        chain = serial_chain(robot, leg)
        form = FORMS.get(kind.form)
        if chain is None or form is None or form.kind not in ("rod", "strut"):
            raise ProofError(
                f"leg {leg.name!r} of {robot.name} is no rod or strut with its actuator held: certified "
                "assemblies are for legs such as RUS, PUS, UPS, RRR, RPR"
            )
        chain = form.centre(chain)
        if form.kind == "rod":
            rod = self._elbow(leg, chain.joints[0], chain.X[0], chain.X[1].p, chain.X[-1].p, chain.target)
            return [rod._replace(normal=chain.X[1].R[:, 2]) if form.free_joint == "R" else rod]
        slide = chain.X[-2]
        actuator, _ = self._actuator(leg, chain.joints[-1])
        rod = _Rod(
            actuator,
            "P",
            chain.X[0],
            None,
            slide.p + slide.R @ chain.X[-1].p,
            slide.R[:, 2],
            np.array([0.0, 0.0, 1.0]) if form.free_joint == "R" else None,
            self._end(leg, chain.target),
        )
        return [rod]

    def _actuator(self, leg: Leg, joint: int) -> tuple[int, str]:
        for k, actuator in enumerate(self.robot.actuators):
            if actuator.joint == joint:
                return k, "R" if self.robot.joints[joint].primitives[0].is_rotation else "P"
        raise ProofError(
            f"leg {leg.name!r} of {self.robot.name} is driven at another joint than its first or slide"
        )

    def _end(self, leg: Leg, target: Joint) -> Array:
        body, frame, _ = platform_end(leg, target)
        if body != PLATFORM:
            raise ProofError(f"leg {leg.name!r} of {self.robot.name} does not end on the platform itself")
        return np.asarray(frame.p)

    def _elbow(self, leg: Leg, joint: int, root: Pose, elbow: Array, rod: Array, target: Joint) -> _Rod:
        actuator, letter = self._actuator(leg, joint)
        return _Rod(actuator, letter, root, elbow, rod, None, None, self._end(leg, target))

    # ---- the equations

    def gaps(self, x: Array, q: Array, chart: int) -> Array:
        """What the distances leave open (n,), over the square of the robot's size.

        Args:
            x: coordinates of the motion; of a free orientation p and u (6,).
            q: coordinates of the actuators.
            chart: which entry of the quaternion is 1.
        """
        pose, scale = self._pose(x, chart)
        size = self.robot.size
        rod, (anchor, square, normal) = self.rods[0], _locked_leg(self.rods[0], q[self.rods[0].actuator])
        end, way = pose.R @ rod.end, pose.p - anchor
        if normal is not None:
            # Across an axis: |P (p + R b - A)|^2 - l^2, P = 1 - n n^T.
            gaps = []
            for rod in self.rods:
                anchor, square, normal = _locked_leg(rod, q[rod.actuator])
                assert normal is not None
                way = _across(pose.p + pose.R @ rod.end - anchor, normal)
                gaps.append(dot(way, way) - square)
            return pack([gap * (1.0 / (size * size)) for gap in gaps])
        first = scale * (dot(way, way) + float(rod.end @ rod.end) - square) + 2.0 * dot(way, end)
        slopes, constants = self._linear(pose.R, scale, q)
        # Less the first one, the others are linear in p.
        others = [dot(slope, pose.p) - constant for slope, constant in zip(slopes, constants, strict=True)]
        return pack([first * (1.0 / (size * size)), *others])

    def _linear(self, R: Array, scale: Scalar, q: Array) -> tuple[Array, Array]:
        """The equations, less the first, in p: slopes (n - 1, 3) p = constants (n - 1,)."""
        rod, (anchor, square, _) = self.rods[0], _locked_leg(self.rods[0], q[self.rods[0].actuator])
        first_end, factor = R @ rod.end, 1.0 / (self.robot.size * self.robot.size)
        slopes, constants = [], []
        for second in self.rods[1:]:
            second_anchor, second_square, _ = _locked_leg(second, q[second.actuator])
            second_end = R @ second.end
            fixed = float(second.end @ second.end - rod.end @ rod.end) - (second_square - square)
            fixed = scale * (fixed + dot(second_anchor, second_anchor) - dot(anchor, anchor))
            slopes.append(((second_end - first_end) - scale * (second_anchor - anchor)) * (2.0 * factor))
            constants.append(
                ((dot(second_anchor, second_end) - dot(anchor, first_end)) * 2.0 - fixed) * factor
            )
        return np.array(slopes), pack(constants)

    def _pose(self, x: Array, chart: int) -> tuple[Pose, Scalar]:
        """Position and R_h, and the scale of R_h."""
        if self.layout.quaternion is None:
            return self.chart.pose(x), 1.0
        entries: list[Scalar] = list(x[3:6])
        entries.insert(chart, 1.0)
        return Pose(_scaled_rotation(entries), x[:3]), 1.0 + dot(x[3:6], x[3:6])

    @cached_property
    def _systems(self) -> list[tuple[Program, BoxFunction, BoxFunction]]:
        n, m = self.robot.motion.n, len(self.robot.actuators)
        systems = []
        for chart in self.charts:
            program = trace(
                lambda x, q, chart=chart: {"F": self.gaps(x, q, chart)},
                {"x": (n,), "q": (m,)},
                f"gaps{chart}",
            ).program()
            systems.append((program, BoxFunction(program), BoxFunction(derivative_program(program, ["x"]))))
        return systems

    @cached_property
    def _linear_bounds(self) -> list[BoxFunction]:
        """Bounds of the linear equations for p, of each chart, from u and q."""
        functions = []
        for chart in self.charts:

            def linear(u: Array, q: Array, chart: int = chart) -> dict[str, Array]:
                pose, scale = self._pose(pack([0.0, 0.0, 0.0, *u]), chart)
                A, c = self._linear(pose.R, scale, q)
                locked = [_locked_leg(rod, q[rod.actuator]) for rod in self.rods]
                ways = [
                    pose.R @ rod.end * (1.0 / scale) - anchor
                    for rod, (anchor, _, _) in zip(self.rods, locked, strict=True)
                ]
                return {"A": A, "c": c, "ways": np.array(ways), "squares": pack([s for _, s, _ in locked])}

            shapes = {"u": (3,), "q": (len(self.robot.actuators),)}
            functions.append(BoxFunction(trace(linear, shapes, f"linear{chart}").program()))
        return functions

    def contraction(self, chart: int, q: Array) -> Callable[[Array], Array] | None:
        """Makes boxes of p and u smaller by what is linear in p, and spheres; None without free orientation.

        With C the pseudo-inverse of the middle M of A and p = p_m + d, r = c - A p_m,

            d in C r + (1 - C A) d,      0 in (1 - M C) (r - A d)
        """
        if self.layout.quaternion is None:
            return None
        bounds, fixed = self._linear_bounds[self.charts.index(chart)], point(q)

        def contract(X: Array) -> Array:
            with np.errstate(all="ignore"):
                linear = bounds(X[:, 3:], fixed)
                p, d = middle_radius(X[:, :3])
                A, c = middle_radius(linear["A"]), middle_radius(linear["c"])
                M = A.middle
                square = np.swapaxes(M, -1, -2) @ M
                # What is not known well enough is left as it is.
                loose = np.sum(A.radius**2, axis=(1, 2)) + 1e-14 * np.trace(square, axis1=1, axis2=2)
                square += loose[:, None, None] * np.eye(3)
                C = np.linalg.inv(square) @ np.swapaxes(M, -1, -2)
                Mp = (M @ p[..., None])[..., 0]
                spread = ((A.radius + 2.0**-48 * np.abs(M)) @ np.abs(p)[..., None])[..., 0]
                r = c.middle - Mp
                r_radius = (c.radius + spread + 2.0**-50 * (np.abs(Mp) + np.abs(c.middle))) * _LARGER
                r_box = around(r, r_radius)[..., None, :]
                step = product(C, r_box)
                rest = identity_less_product(C, linear["A"]).size
                size = (step.radius[..., 0] + (rest @ d[..., None])[..., 0]) * _LARGER
                P = around(p + step.middle[..., 0], size)
                P = np.stack([np.fmax(P[..., 0], X[:, :3, 0]), np.fmin(P[..., 1], X[:, :3, 1])], axis=-1)
                E = np.eye(M.shape[1]) - M @ C
                left, along = product(E, r_box), product(E, linear["A"])
                reach = (left.radius[..., 0] + (along.size @ d[..., None])[..., 0]) * _LARGER
                empty = np.any(np.abs(left.middle[..., 0]) > reach, axis=1)
                P = _shrink_to_spheres(P, linear["ways"], linear["squares"])
            P[empty] = np.nan
            return np.concatenate([P, X[:, 3:]], axis=1)

        return contract

    def system(self, chart: int, q: Array) -> SquareSystem:
        """The equations at actuators q (m,)."""
        _, values, jacobian = self._systems[chart]
        return SquareSystem(values, jacobian, point(q))

    def first_box(self, q: Array) -> Array:
        """A box (n, 2) of coordinates that holds all solutions: no point is farther than rods reach."""
        low, high = np.full(3, -np.inf), np.full(3, np.inf)
        for rod in self.rods:
            anchor, square, normal = _locked_leg(rod, q[rod.actuator])
            reach = np.sqrt(float(square)) + np.linalg.norm(rod.end)
            if normal is not None:
                # Nothing is known along the axis.
                reach = np.where(np.abs(normal) < 1e-9, reach, np.inf)
            anchor = np.asarray(anchor, dtype=float)
            low, high = np.maximum(low, anchor - reach), np.minimum(high, anchor + reach)
        margin = 1e-6 * self.robot.size
        box = []
        for axis in self.robot.motion.twist_axes if self.layout.quaternion is None else range(3):
            box.append(
                (low[axis] - margin, high[axis] + margin) if axis < 3 else (-np.pi - 1e-3, np.pi + 1e-3)
            )
        if self.layout.quaternion is not None:
            box += [(-1.0 - 1e-3, 1.0 + 1e-3)] * 3
        return np.array(box)

    def pose_of(self, chart: int, box: Array) -> tuple[Array, Array]:
        """Reduced pose x (nx,) and radii of a box of coordinates (n, 2)."""
        middle, radius = middle_radius(box)
        if self.layout.quaternion is None:
            return middle, radius
        quat = np.insert(middle[3:6], chart, 1.0)
        quat = quat / np.copysign(np.linalg.norm(quat), quat[3])
        # Divided by its length, which is at least 1, no entry moves by more than twice the sum of all.
        spread = np.full(4, 2.0 * np.sum(radius[3:6]) + 1e-15)
        return np.concatenate([middle[:3], quat]), np.concatenate([radius[:3], spread])

    def images(self, chart: int, box: Array, new_chart: int, near: Array) -> list[Array]:
        """A box of one chart as boxes of another one, where they are near a box of that."""
        middle, radius = middle_radius(box)
        if self.layout.quaternion is not None:
            quat = np.insert(middle[3:6], chart, 1.0)
            if abs(quat[new_chart]) < 0.5:
                return []
            image = np.concatenate([middle[:3], np.delete(quat / quat[new_chart], new_chart)])
            # Quotients by an entry of at least 0.5 change by at most six times the largest error.
            wide = np.concatenate([radius[:3], np.full(3, 6.0 * np.max(radius[3:6]))])
            candidates = [(image, wide + 1e-13)]
        else:
            turns = [k for k, axis in enumerate(self.robot.motion.twist_axes) if axis >= 3]
            shifts = itertools.product((-2.0 * np.pi, 0.0, 2.0 * np.pi), repeat=len(turns))
            candidates = []
            for shift in shifts:
                image = middle.copy()
                image[turns] += shift
                candidates.append((image, radius + 1e-14))
        there, size = middle_radius(near)
        room = 1e-9 * np.maximum(1.0, np.abs(there))
        return [
            around(image, wide)
            for image, wide in candidates
            if np.all(np.abs(image - there) <= wide + size + room)
        ]


def _shrink_to_spheres(P: Array, ways: Array, squares: Array) -> Array:
    """Boxes of p (N, 3, 2) without what |p + way|^2 = square rules out, coordinate by coordinate.

    Args:
        P: boxes.
        ways: boxes of the ways (N, rods, 3, 2), m.
        squares: bounds of the squares (N, rods, 2).
    """
    for i in range(ways.shape[1]):
        low, high = round_down(P[..., 0] + ways[:, i, :, 0]), round_up(P[..., 1] + ways[:, i, :, 1])
        near, far = np.maximum(np.maximum(low, -high), 0.0), np.maximum(np.abs(low), np.abs(high))
        for k in range(3):
            others = [j for j in range(3) if j != k]
            most = round_up(squares[:, i, 1] - np.sum(near[:, others] ** 2, axis=1) * (1.0 - 2.0**-48))
            reach = round_up(np.sqrt(np.where(most >= 0.0, most, np.nan)))
            P[:, k, 0] = np.maximum(P[:, k, 0], round_down(-reach - ways[:, i, k, 1]))
            P[:, k, 1] = np.minimum(P[:, k, 1], round_up(reach - ways[:, i, k, 0]))
            # On one side of the sphere there is a least distance, too.
            least = round_down(squares[:, i, 0] - np.sum(far[:, others] ** 2, axis=1) * (1.0 + 2.0**-48))
            height = round_down(np.sqrt(np.maximum(least, 0.0)))
            above, below = round_down(height - ways[:, i, k, 1]), round_up(-height - ways[:, i, k, 0])
            P[:, k, 0] = np.where(low[:, k] > -height, np.maximum(P[:, k, 0], above), P[:, k, 0])
            P[:, k, 1] = np.where(high[:, k] < height, np.minimum(P[:, k, 1], below), P[:, k, 1])
    return P


def _locked_leg(rod: _Rod, q: Scalar) -> tuple[Array, Scalar, Array | None]:
    """The point A (3,), m, the square of the length, and the axis of a single revolute joint, in the base."""
    if rod.elbow is None:
        assert rod.slide is not None
        normal = None if rod.normal is None else rod.root.R @ rod.normal
        return rod.root.p, _square(rod.rod + rod.slide * q, rod.normal), normal
    if rod.letter == "R":
        elbow = rotation_z(q) @ rod.elbow
        axis = None if rod.normal is None else rotation_z(q) @ rod.normal
    else:
        elbow, axis = rod.elbow + pack([0.0, 0.0, q]), rod.normal
    normal = None if axis is None else rod.root.R @ axis
    square = _square(rod.rod, None if normal is None else np.array([0.0, 0.0, 1.0]))
    return rod.root.R @ elbow + rod.root.p, square, normal


def _across(way: Array, normal: Array) -> Array:
    """The part of a way across an axis of unit length."""
    return np.asarray(way - dot(normal, way) * normal)


def _square(way: Array, normal: Array | None) -> Scalar:
    """The square of a way, across an axis."""
    if normal is None:
        return dot(way, way)
    along = dot(normal, way)
    return dot(way, way) - along * along


def _scaled_rotation(quat: Sequence[Scalar]) -> Array:
    """|q|^2 R of a quaternion q (x, y, z, w) of any length."""
    x, y, z, w = quat
    return np.array(
        [
            [w * w + x * x - y * y - z * z, 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), w * w - x * x + y * y - z * z, 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ],
        dtype=object,
    )
