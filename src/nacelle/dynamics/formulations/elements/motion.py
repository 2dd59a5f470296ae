"""Motion constraints: how every element moves with the nacelle ([OAM] section 5.3).

The end B of an element is a point of the nacelle, so B' is given; r is the vector from the element's input A
(of a rod: E, on the driven bar) to B. Lengths that do not change and axes that stay perpendicular give one
rate after the other:

    r . (B' - q' e) = 0                       the driven joint, e = dE/dq               [OAM] (39)-(41), (45)
    x' = (B' - q' e) / |r|                    a rod                                     [OAM] (42), (43)
    d' = r . B' / r . x                       a telescopic element
    theta' = n . (w_before - x x x') / n . x  its spin; n = a x b for a universal joint with the axes a, b
    w = x x x' + theta' x                     its angular velocity                      [OAM] (12)

With a on the base and b perpendicular to x the spin is theta' = (a . x) ((a x x) . x') / |a x x|^2, which
[OAM] (7) leaves out. Instead of [OAM] (10) y = z x x with the joint's own axis z, so q' may have either sign,
or be zero. What the legs' equations leave over (`Solved.locks`) determines motions of the nacelle that depend
on others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from nacelle.dynamics.formulations.elements.geometry import (
    bar_direction,
    centre,
    direction,
    frame,
    part_direction,
    part_input,
    rod_ends,
    tip_point,
)
from nacelle.dynamics.formulations.elements.rates import (
    Rate,
    Rigid,
    along,
    component,
    crossed,
    dotted,
    over,
    resting,
    still,
    turned,
)
from nacelle.dynamics.formulations.elements.reading import element_legs
from nacelle.dynamics.formulations.elements.structure import ElementLeg, FrameAxis, Hold, Part
from nacelle.dynamics.state import State
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.tree.least_squares import least_squares
from nacelle.kinematics.tree.rates import selections
from nacelle.model.joint import JointKind
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, Scalar, cross, divide, dot, norm, pack


@dataclass(frozen=True)
class Solved:
    """How the elements of a leg move.

    Attributes:
        basis: for each element and each of its states that move (`Element.basis`) the rate.
        locks: rates of one number that are zero: what the leg forbids to the nacelle.
    """

    basis: tuple[tuple[Rate, ...], ...]
    locks: tuple[Rate, ...]


@dataclass(frozen=True)
class ElementMotion:
    """How all elements of a robot move, over the reduced twist.

    Attributes:
        legs: the robot as elements.
        nacelle: how the bodies of the nacelle move.
        solved: how the elements of each leg move.
    """

    legs: tuple[ElementLeg, ...]
    nacelle: Mapping[int, Rigid]
    solved: tuple[Solved, ...]


def element_motion(state: State, a: Array) -> ElementMotion:
    """All rates of the elements at the state's twist, and their derivatives at a = dv/dt (n,)."""
    mechanism = state.mechanism
    legs = element_legs(mechanism)
    solver = _Solver(state.robot, state.now.motion.poses)
    v = state.moving.u[list(mechanism.independent)]
    given, dependent = selections(mechanism)
    if not mechanism.dependent:
        w = Rate(given, given @ v, given @ a)
    else:
        # Rates first, then accelerations: both follow from the same equations.
        zero = np.zeros(mechanism.nw)
        L = _stacked(solver.locks(legs, Rate(np.eye(mechanism.nw), zero, zero)))
        G = given - dependent @ least_squares(L.M @ dependent, L.M @ given).X
        now = G @ v
        open_ = _stacked(solver.locks(legs, Rate(np.eye(mechanism.nw), now, zero))).next
        bias = dependent @ least_squares(L.M @ dependent, open_.reshape(-1, 1)).X[:, 0]
        w = Rate(G, now, G @ a - bias)
    nacelle = solver.nacelle(w)
    return ElementMotion(legs, nacelle, tuple(solver.leg(leg, nacelle) for leg in legs))


def lock_rank_rows(state: State) -> Array:
    """What the elements say of the dependent motions of the nacelle (rows, dependent), for a rank."""
    mechanism = state.mechanism
    solver = _Solver(state.robot, state.now.motion.poses)
    zero = np.zeros(mechanism.nw)
    locks = solver.locks(element_legs(mechanism), Rate(np.eye(mechanism.nw), zero, zero))
    if not locks:
        return np.zeros((0, len(mechanism.dependent)))
    return np.asarray(_stacked(locks).M @ selections(mechanism)[1])


def _stacked(locks: list[Rate]) -> Rate:
    return Rate(
        np.stack([lock.M for lock in locks]),
        pack([lock.now for lock in locks]),
        pack([lock.next for lock in locks]),
    )


class _Solver:
    """Solves the motion constraints of a robot at a configuration."""

    def __init__(self, robot: Robot, poses: tuple[Pose, ...]) -> None:
        self.robot, self.mechanism, self.poses = robot, mechanism_of(robot), poses

    # ---- the nacelle

    def nacelle(self, w: Rate) -> dict[int, Rigid]:
        """Motions of the nacelle's bodies from its rates w = [platform twist; its joints' rates]."""
        robot, m = self.robot, self.robot.platform_nv
        count = w.M.shape[1]
        turn = still(count) if m == 3 else w[3:6]
        bodies = {PLATFORM: Rigid(self.poses[PLATFORM].p, w[0:3], turn)}
        for j in robot.nacelle.joints:
            joint = robot.joints[j]
            body = bodies[joint.predecessor]
            if joint.kind is JointKind.FIXED:
                bodies[joint.successor] = body
                continue
            rate = w[m + self.mechanism.nacelle_rates.index(m + robot.v_slices[j].start)]
            F = frame(robot, self.poses, j, on_successor=False)
            z = F.R[:, 2]
            slide = along(rate, z, body.carried(z))
            if joint.kind is JointKind.REVOLUTE:
                bodies[joint.successor] = Rigid(F.p, body.at(F.p), body.w + slide)
                continue
            p = frame(robot, self.poses, j, on_successor=True).p
            d = p - F.p
            d_rate = cross(body.w.now, d) + slide.now
            bodies[joint.successor] = Rigid(p, body.at(F.p) + turned(body.w, d, d_rate) + slide, body.w)
        return bodies

    def locks(self, legs: tuple[ElementLeg, ...], w: Rate) -> list[Rate]:
        """What determines dependent motions: loops of the nacelle, and legs if the motion is parasitic."""
        nacelle = self.nacelle(w)
        locks: list[Rate] = []
        for c in self.robot.nacelle.closures:
            joint = self.robot.joints[c]
            if joint.at_point:
                continue
            first, second = (frame(self.robot, self.poses, c, on_successor=side) for side in (False, True))
            one, two = nacelle[joint.predecessor], nacelle[joint.successor]
            gap = two.at(second.p) - one.at(first.p)
            locks += [gap[k] for k in range(3)]
            axes = 2 if joint.kind is JointKind.REVOLUTE else 3
            for e in (first.R[:, k] for k in range(axes)):
                locks.append(dotted(two.w - one.w, e, one.carried(e)))
        if self.mechanism.parasitic:
            locks += [lock for leg in legs for lock in self.leg(leg, nacelle).locks]
        return locks

    # ---- a leg

    def leg(self, leg: ElementLeg, nacelle: Mapping[int, Rigid]) -> Solved:
        """Rates of a leg's elements from the motion of the nacelle."""
        forms: dict[str, Callable[[ElementLeg, Rigid], tuple[list[tuple[Rate, ...]], list[Rate]]]] = {
            "bars": self._bars,
            "parallelogram": self._bars,
            "plane": self._plane,
            "strut": self._strut,
            "shaft": self._strut,
        }
        basis, locks = forms[leg.form](leg, nacelle[leg.rods[0].nacelle])
        basis += [self._part(part, nacelle) for part in leg.parts]
        return Solved(tuple(basis), tuple(locks))

    def _part(self, part: Part, nacelle: Mapping[int, Rigid]) -> tuple[Rate, ...]:
        """A part of the nacelle: x' = w x x, theta' = w . x; its input point where no element gives it."""
        body = nacelle[part.element.body]
        rates = []
        if "A" in part.element.basis:
            rates.append(body.at(part_input(self.robot, self.poses, part)))
        if "x" in part.element.basis:
            x = part_direction(self.robot, self.poses, part)
            rates += [turned(body.w, x, body.carried(x)), dotted(body.w, x, body.carried(x))]
        return tuple(rates)

    def _drive(self, leg: ElementLeg, B: Rate, E: Array, r: Array) -> tuple[Rate, Rigid]:
        """The first element, driven so that r . (B' - q' e) = 0: x' = q' y with y = z x x, or d' = q'.

        Also the motion of its bar or slider.
        """
        assert leg.driver is not None
        F = frame(self.robot, self.poses, leg.driver, on_successor=False)
        z, zero, none = F.R[:, 2], np.zeros(3), still(B.M.shape[1])
        turns = self.robot.joints[leg.driver].kind is JointKind.REVOLUTE
        e = cross(z, E - F.p) if turns else z
        now = dot(r, B.now) * divide(1.0, dot(r, e))
        q = component(B, (r, B.now - e * now), (e, cross(z, e) * now if turns else zero))
        if not turns:
            return q, Rigid(F.p, along(q, z, zero), none)
        x = bar_direction(self.robot, self.poses, leg.driver, E)
        return along(q, cross(z, x), -x * q.now), Rigid(F.p, none, along(q, z, zero))

    def _bars(self, leg: ElementLeg, nacelle: Rigid) -> tuple[list[tuple[Rate, ...]], list[Rate]]:
        """A driven bar or slider with rods; the two of a parallelogram move alike, its end with the hub."""
        basis: list[tuple[Rate, ...]] = []
        locks: list[Rate] = []
        arm: Rigid | None = None
        for rod in leg.rods if leg.fold is None else leg.rods[:1]:
            E, B = rod_ends(self.robot, self.poses, rod.hold, rod.tip, leg)
            r = B - E
            end = nacelle.at(B)
            if arm is None:
                first, arm = self._drive(leg, end, E, r)
                basis.append((first,))
            span = end - arm.at(E)
            if len(basis) > 1:
                locks.append(dotted(span, r, span.now))
            reciprocal = divide(1.0, norm(r))
            x, x_rate = r * reciprocal, span.times(reciprocal)
            spun, own = self._spun(x, x_rate, rod.hold, arm, rod.end, nacelle)
            w = crossed(x, x_rate) + along(spun, x, x_rate.now)
            both = "U" in (rod.hold.letter, rod.end.letter)
            basis.append((x_rate, spun) if both else (x_rate,))
            last = w if leg.fold is None else cross_motion(self.robot, self.poses, rod.hold, arm.w, w)
            locks += own
            locks += self._end_locks(rod.end, last, nacelle, spin_used=rod.hold.letter == "S")
        return (basis if leg.fold is None else [*basis, basis[-1]]), locks

    def _spun(
        self, x: Array, x_rate: Rate, hold: Hold, before: Rigid, end: Hold, nacelle: Rigid
    ) -> tuple[Rate, list[Rate]]:
        """Spin of an element about its direction, from the joint at its input, or else at its output.

        Also what a hinge at the input locks: x' has nothing along its axis.
        """
        if hold.letter == "U":
            return self._spin(x, x_rate, hold.axes, before), []
        if hold.letter == "R":
            z = direction(self.robot, self.poses, hold.axes[0])
            z_rate = before.carried(z)
            height = dot(z, x)
            n = x - z * height
            n_rate = x_rate.now - z_rate * height - z * (dot(z_rate, x) + dot(z, x_rate.now))
            loose = before.w - crossed(x, x_rate)
            spun = component(loose, (n, n_rate), (x, x_rate.now))
            # w - w_before has nothing along m, which is perpendicular to z and to x.
            m, m_rate = cross(z, x), cross(z_rate, x) + cross(z, x_rate.now)
            return spun, [dotted(loose, m, m_rate)]
        if end.letter == "U":
            return self._spin(x, x_rate, end.axes[::-1], nacelle), []
        # Two spherical joints: the spin is idle, and set to zero.
        return Rate(np.zeros(x_rate.M.shape[1]), pack(0.0), pack(0.0)), []

    def _spin(self, x: Array, x_rate: Rate, axes: tuple[FrameAxis, FrameAxis], other: Rigid) -> Rate:
        """Spin that keeps a on another body perpendicular to b on the element: n . (w - w_other) = 0."""
        a, b = (direction(self.robot, self.poses, axis) for axis in axes)
        n = cross(a, b)
        loose = other.w - crossed(x, x_rate)
        spin = dot(n, loose.now) * divide(1.0, dot(n, x))
        w = cross(x, x_rate.now) + x * spin
        n_rate = cross(other.carried(a), b) + cross(a, cross(w, b))
        return component(loose, (n, n_rate), (x, x_rate.now))

    def _end_locks(self, end: Hold, w: Rate, nacelle: Rigid, *, spin_used: bool) -> list[Rate]:
        """What the joint at an element's output locks of the nacelle's rotation."""
        if end.letter == "S" or (end.letter == "U" and spin_used):
            return []
        turn = nacelle.w - w
        a, b = (direction(self.robot, self.poses, axis) for axis in end.axes)
        if end.letter == "U":
            n_rate = cross(cross(w.now, a), b) + cross(a, nacelle.carried(b))
            return [dotted(turn, cross(a, b), n_rate)]
        behind = end.axes[1]
        F = frame(self.robot, self.poses, behind.joint, on_successor=behind.on_successor)
        return [dotted(turn, F.R[:, k], nacelle.carried(F.R[:, k])) for k in range(2)]

    def _plane(self, leg: ElementLeg, nacelle: Rigid) -> tuple[list[tuple[Rate, ...]], list[Rate]]:
        """A slider whose spherical joint stays on a plane: n . (C - O) = 0, n on nacelle or slider."""
        assert leg.driver is not None
        tip = self.robot.joints[leg.rods[0].tip]
        x = frame(self.robot, self.poses, leg.driver, on_successor=False).R[:, 2]
        face, ball = (frame(self.robot, self.poses, leg.rods[0].tip, on_successor=s) for s in (False, True))
        moves = tip.predecessor in self.robot.nacelle.bodies
        C, O = (ball, face) if moves else (face, ball)
        n, d = face.R[:, 2], C.p - O.p
        end = nacelle.at(O.p)
        n_rate = nacelle.carried(n) if moves else np.zeros(3)
        # n . (q' x - O') + n' . d = 0, and once more: n'' . d comes with the product n' . d.
        swing = turned(nacelle.w, n, nacelle.carried(n)) if moves else end.times(0.0)
        divisor = dot(n, x)
        flat = dotted(end, n, n_rate)
        now = (flat.now - dot(swing.now, d)) * divide(1.0, divisor)
        total = flat - dotted(swing, d, x * now - end.now)
        return [(over(total, divisor, dot(n_rate, x)),)], []

    def _strut(self, leg: ElementLeg, nacelle: Rigid) -> tuple[list[tuple[Rate, ...]], list[Rate]]:
        assert leg.slide is not None
        rod = leg.rods[0]
        A, B = centre(self.robot, self.poses, rod.hold), tip_point(self.robot, self.poses, leg)
        s = frame(self.robot, self.poses, leg.slide, on_successor=False).R[:, 2] * leg.flip
        r, end = B - A, nacelle.at(B)
        base = resting(end.M.shape[1])
        hold = rod.hold if leg.form == "strut" else Hold("S", rod.hold.joints, None, None, None)
        reciprocal = divide(1.0, norm(r))
        c = r * reciprocal

        def solved(w_now: Array) -> tuple[Rate, Rate, Rate, list[Rate]]:
            """Length, angular velocity and locks; accelerations are right if w_now is."""
            s_rate, swing = cross(w_now, s), cross(w_now, r)
            # r'' = d'' s + 2 d' s' + w' x r + w x (w x r)
            now = dot(r, end.now) * divide(1.0, dot(r, s))
            fall = end.next - s_rate * (2.0 * now)
            num = Rate(r @ end.M, dot(r, end.now), dot(r, fall) + dot(swing, swing))
            d = over(num, dot(r, s), 0.0)
            # The direction c moves here as one fixed to the element: c' = w x c.
            c_rate = Rate(
                (end.M - np.outer(s, d.M)) * reciprocal,
                (end.now - s * d.now) * reciprocal,
                (fall - s * d.next) * reciprocal,
            )
            spun, own = self._spun(c, c_rate, hold, base, rod.end, nacelle)
            return d, crossed(c, c_rate) + along(spun, c, c_rate.now), spun, own

        w_now = solved(np.zeros(3))[1].now
        d, w, _, locks = solved(w_now)
        s_rate = cross(w_now, s)
        locks += self._end_locks(rod.end, w, nacelle, spin_used=hold.letter == "S")
        basis: list[tuple[Rate, ...]] = [(turned(w, s, s_rate), d, dotted(w, s, s_rate))]
        if leg.form == "shaft":
            basis = [(self._motor(leg, w),), *basis]
        return basis, locks

    def _motor(self, leg: ElementLeg, w: Rate) -> Rate:
        """Rate of the motor that turns a shaft: n . (w - q' z) = 0 with n = a x b of the universal joint."""
        assert leg.driver is not None
        z = frame(self.robot, self.poses, leg.driver, on_successor=False).R[:, 2]
        a, b = (direction(self.robot, self.poses, axis) for axis in leg.rods[0].hold.axes)
        n = cross(a, b)
        now = dot(n, w.now) * divide(1.0, dot(n, z))
        n_rate = cross(cross(z * now, a), b) + cross(a, cross(w.now, b))
        return component(w, (n, n_rate), (z, np.zeros(3)))


def cross_motion(robot: Robot, poses: tuple[Pose, ...], hold: Hold, before: Rate, w: Rate) -> Rate:
    """Angular velocity of the body between two revolutes: w_1 + q1' a, where q1' a + q2' b = w - w_1."""
    a, b = (direction(robot, poses, axis) for axis in hold.axes)
    k: Scalar = dot(a, b)
    g = (a - b * k) * divide(1.0, 1.0 - k * k)
    # a is fixed to the body before, b to the one behind; both to the body between.
    a_rate, b_rate = cross(before.now, a), cross(w.now, b)
    g_rate = (a_rate - b_rate * k) * divide(1.0, 1.0 - k * k)
    return before + along(dotted(w - before, g, g_rate), a, a_rate)
