"""The compact form: rates, accelerations and forces of any robot, each leg on its own.

    rates          M u = g(w)                          leg by leg, from the platform
    accelerations  M u' = g(w') + bias
    forces         M^T lambda = Gamma                  leg by leg, onto the platform
    platform       sum N^T lambda + Gamma_w = load     the only solve, for what passive joints leave free

Dependent rates of the platform follow from the rows that the legs leave over: w_dep = W v.

A leg whose rows are eliminated as M = L R with pivots p_k has det M = +- product p_k. It vanishes where the
leg is singular, to first order as the smallest singular value does, so

    margin = s (product p_k)^2

with s so that the margin is the squared inverse condition of the leg's own Jacobian at sample states. The
platform's dependent rates have the same for the rows D that the legs leave over. Where a leg has more rows
than rates the determinant of those that were chosen may vanish alone: the margin is then too small, never too
large. Below `TRUSTED_MARGIN` the dense margins decide (`nacelle.kinematics.margins`).

Fixed pivots lose digits where the multipliers l_ik = m_ik / p_k are large, at most as many as these have: the
rounding of an elimination is that of a matrix whose entries are |L| |R| (Wilkinson). Their largest size, rows
counted in the robot's size, is the growth of a state, and its reciprocal the pivot figure: 1 where a pivot is
the largest entry of its column, and independent of how small the pivots are, which is the margins' part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np

from nacelle.compact.configured import CompactPlan, ConfiguredRobot
from nacelle.compact.constraints import Coupling, JointClosure, PlatformLoop, Strut, platform_loops
from nacelle.compact.motion import MechanismMotion, propagate_motion
from nacelle.compact.platform import MovingFrame, PoleFrame
from nacelle.compact.solve import Factors, determinant, eliminate_rows, product_of
from nacelle.compact.vectors import ZERO, inner
from nacelle.kinematics.margins import closed_form_margin
from nacelle.model.leg import PLATFORM
from nacelle.spatial.scalar import Array, Scalar, absolute, divide, dot, is_zero, maximum, minimum, pack
from nacelle.spatial.screw import Wrench
from nacelle.spatial.solve import solve

# ---- margins and pivot figures from the factors of the compact form, which has them already


# Scales beyond this are shared among groups of pivots of this number, none of which counts for more than the
# bound.
_LARGE, _GROUP, _BOUND = 1e24, 12, 1e3
HARMLESS_MULTIPLIER = 3.0
"""Multipliers up to this cost no digit that counts."""


def leg_determinant(legs: Legs, leg: int) -> Scalar:
    """Determinant of a leg's rows up to its sign: the product of its pivots p_k."""
    return product_of(_leg_pivots(legs, leg))


def _leg_pivots(legs: Legs, leg: int) -> list[Scalar]:
    factors = legs.factors[leg]
    return [factors.pivots[row] for row, _ in factors.order.pivots]


def platform_determinant(legs: Legs) -> Scalar:
    """Determinant of the rows that decide the dependent rates of the platform."""
    if legs.dependent is not None:
        return product_of(legs.dependent.pivots.values())
    return determinant(legs.D.tolist())


def margins(legs: Legs) -> Array:
    """The margins (legs,), or (legs + 1,) where the platform has dependent rates."""
    plan = legs.plan
    values: list[Scalar] = [closed_form_margin(roots) for roots in legs.configured.now.root_margins]
    for k in plan.mechanism.iterated_legs:
        values[k] = _margin(_leg_pivots(legs, k), plan.margins[k])
    if plan.mechanism.dependent:
        pivots = (
            legs.dependent.pivots.values() if legs.dependent is not None else [platform_determinant(legs)]
        )
        values.append(_margin(list(pivots), plan.margins[-1]))
    return pack(values)


def _margin(pivots: Sequence[Scalar], scale: float) -> Scalar:
    if scale <= _LARGE:
        value = product_of(pivots)
        return minimum(1.0, value * value * scale)
    # A product of a hundred pivots is beyond single precision: groups of them take their parts of the scale.
    # The bound of each keeps these parts from becoming one number again.
    part = scale ** (0.5 / len(pivots))
    groups = [pivots[k : k + _GROUP] for k in range(0, len(pivots), _GROUP)]
    value = product_of([minimum(_BOUND, absolute(part ** len(g) * product_of(g))) for g in groups])
    return minimum(1.0, value * value)


def iterated_distances(legs: Legs) -> list[Scalar]:
    """Squares that vanish at serial singularities alone, and smoothly, of the passive coordinates.

    One for each leg on its own, and one for all legs that the platform's dependent rates hang on, together
    with these: det of the whole, which does not depend on the rows that were chosen. Their scales make them
    the smallest of the margins concerned at the median sample. For plans that are `complete`.
    """
    values = [product_of(group) for group in iterated_determinants(legs)]
    return [value * value * scale for value, scale in zip(values, legs.plan.distances, strict=True)]


def iterated_determinants(legs: Legs) -> list[list[Scalar]]:
    """The factors of the determinants behind `iterated_distances`."""
    plan = legs.plan
    alone, coupled = legs_by_coupling(plan)
    values = [[leg_determinant(legs, k)] for k in alone]
    if plan.mechanism.dependent:
        values.append([*(leg_determinant(legs, k) for k in coupled), platform_determinant(legs)])
    return values


def legs_by_coupling(plan: CompactPlan) -> tuple[list[int], list[int]]:
    """Iterated legs on their own, and those that dependent rates of the platform hang on."""
    iterated = plan.mechanism.iterated_legs
    return [k for k in iterated if not plan.legs[k].kept], [k for k in iterated if plan.legs[k].kept]


def growth_figure(legs: Legs) -> Scalar:
    """`FREE` over the largest multiplier of the legs and of the dependent rates, at most 1.

    A strut counts by (z / l)^2, z the entry of its direction that its row is divided by.
    """
    sizes = [absolute(value) for value in _multipliers(legs)]
    figure: Scalar = minimum(1.0, divide(HARMLESS_MULTIPLIER, reduce(maximum, sizes))) if sizes else 1.0
    for constraints, factors in zip(legs.configured.constraints, legs.factors, strict=True):
        if constraints and isinstance(constraints[0], Strut):
            reciprocal = factors.reciprocals[0]
            figure = minimum(figure, reciprocal * reciprocal)
    return figure


def _multipliers(legs: Legs) -> Iterable[Scalar]:
    """Multipliers that count, rows without units."""
    for factors, leg in zip(legs.factors, legs.plan.legs, strict=True):
        rows = (*(row for row, _ in factors.order.pivots), *leg.kept)
        yield from factors.multipliers(rows, leg.units)
    if legs.dependent is not None and legs.plan.dependent is not None:
        yield from legs.dependent.multipliers(legs.dependent.lower, legs.plan.dependent.units.rows)


Rates = dict[int, Scalar]


def add_forces(total: Rates, added: Rates) -> Rates:
    """Sum of two lists of forces by rate."""
    for rate, value in added.items():
        before = total.get(rate, 0.0)
        if not is_zero(value):
            total[rate] = value if is_zero(before) else before + value
    return total


@dataclass(frozen=True, eq=False)
class Legs:
    """All legs of a placed robot, eliminated.

    Attributes:
        configured: where it is.
        plan: the decisions.
        factors: for every leg its elimination.
    """

    configured: ConfiguredRobot
    plan: CompactPlan
    factors: tuple[Factors, ...]

    def wrench(self, leg: int, multipliers: Rates, *, whole: bool = False) -> Rates:
        """What multipliers of a leg's rows are along the moving rates of the platform.

        Parts that do no work in motions that the legs allow are dropped, unless the `whole` is wanted.
        """
        forces: Rates = {}
        trees, platform = self.configured.trees, self.configured.platform
        for constraint in self.configured.constraints[leg]:
            values = [multipliers.get(row) for row in constraint.span]
            if all(value is None for value in values):
                continue
            workless = None if whole else self.plan.workless.get(constraint.key)
            wrench, sides = constraint.wrench(values), constraint.multiplier_sides
            add_forces(forces, sides.platform_forces(trees, platform, wrench, workless))
        return forces

    @cached_property
    def loops(self) -> list[PlatformLoop | Coupling]:
        """The platform's own loops."""
        return platform_loops(self.configured.robot, self.configured.platform)

    @cached_property
    def free_multipliers(self) -> dict[tuple[int, int], Rates]:
        """For every leg and free row that counts, its multipliers alone."""
        return {
            (k, row): factors.free_multipliers(row)
            for k, (factors, leg) in enumerate(zip(self.factors, self.plan.legs, strict=True))
            for row in (*(r for r, _ in factors.order.active), *leg.kept)
        }

    @cached_property
    def platform_rows(self) -> dict[tuple[int, int], Rates]:
        """For every leg and free row that counts, the row over the moving rates of the platform."""
        return {
            (leg, row): self.wrench(leg, values, whole=row in self.plan.legs[leg].kept)
            for (leg, row), values in self.free_multipliers.items()
        }

    @cached_property
    def balance_columns(self) -> list[list[Scalar]]:
        """For every actuated row what its multiplier, or a unit force of its actuator, is along v (n,)."""
        columns = []
        for k, factors in enumerate(self.factors):
            for row, _ in factors.order.active:
                column = self.project_on_twist(self.platform_rows[k, row])
                if (k, row) in self.plan.unit:
                    column = [value * factors.reciprocals[row] for value in column]
                columns.append(column)
        return columns

    @cached_property
    def dependent_rows(self) -> list[Rates]:
        """Rows that decide the dependent rates."""
        rows = [row for loop in self.loops for row in loop.rows]
        of_platform = [rows[k].coefficients for k in self.plan.loop_rows]
        legs = [self.platform_rows[k, row] for k, leg in enumerate(self.plan.legs) for row in leg.kept]
        return of_platform + legs

    @cached_property
    def D(self) -> Array:
        """The rows over the dependent rates (dependent, dependent): D w_dep = -(the same rows) v."""
        dependent = self.plan.mechanism.dependent
        return pack([[row.get(rate, 0.0) for rate in dependent] for row in self.dependent_rows])

    @cached_property
    def dependent(self) -> Factors | None:
        """D, eliminated, where that is in a fixed order."""
        order = self.plan.dependent
        return None if order is None else order.eliminate(self.D.tolist())

    @cached_property
    def W(self) -> Array:
        """Dependent rates of the platform from v (dependent, n): w_dep = W v."""
        mechanism = self.plan.mechanism
        if not mechanism.dependent:
            return np.zeros((0, len(mechanism.independent)))
        right = pack([[row.get(rate, 0.0) for rate in mechanism.independent] for row in self.dependent_rows])
        return self._solve_dependent(-right)

    def _solve_dependent(self, right: Array) -> Array:
        """The dependent rates for right-hand sides (dependent,) or (dependent, columns)."""
        if self.dependent is None:
            return solve(self.D, right)
        if right.ndim == 1:
            return self.dependent.solution(right.tolist())
        return np.stack([self.dependent.solution(column.tolist()) for column in right.T], axis=1)

    def platform_rates(self, v: Array, bias: Array | None = None) -> Rates:
        """Rates w of the platform from v (n,), m/s and rad/s: v itself, and W v for the dependent ones.

        Their derivatives follow so from a = dv/dt and the bias of the motion itself: a, W a + bias.
        """
        mechanism = self.plan.mechanism
        rates: Rates = dict(zip(mechanism.independent, v.tolist(), strict=True))
        for i, rate in enumerate(mechanism.dependent):
            rates[rate] = inner(self.W[i], v, 0.0 if bias is None else bias[i])
        return rates

    def rates(self, frames: dict[int, MovingFrame], active: Rates | None = None) -> Rates:
        """Rates of all legs where the platform moves as given; active ones too, unless a leg's are given."""
        rates: Rates = {}
        for constraints, factors in zip(self.configured.constraints, self.factors, strict=True):
            right = [g for constraint in constraints for g in constraint.rates(self.configured.trees, frames)]
            rates |= factors.rates(right, _given_active_rates(factors, active))
        return rates

    def right_hand_sides(self, motion: MechanismMotion) -> list[list[Scalar]]:
        """Right-hand sides of M u' = b for every leg, row by row, m/s^2 or rad/s^2 (`constraints`)."""
        return [
            [b for constraint in constraints for b in constraint.accelerations(motion)]
            for constraints in self.configured.constraints
        ]

    def bias(self, u: Rates, frames: dict[int, MovingFrame]) -> Array | None:
        """Accelerations of the dependent rates where dv/dt = 0; `frames` have no accelerations of w."""
        if not self.plan.mechanism.dependent:
            return None
        nodes = propagate_motion(self.configured.trees, u, {}, frames)
        motion = MechanismMotion(self.configured.trees, u, {}, nodes, frames, nodes, frames, ZERO)
        sides = self.right_hand_sides(motion)
        loop_sides = [value for loop in self.loops for value in loop.accelerations(motion)]
        return self._solve_dependent(-self.dependent_right_hand_sides(loop_sides, dict(enumerate(sides))))

    def dependent_right_hand_sides(
        self, loop_sides: list[Scalar], sides: Mapping[int, list[Scalar]]
    ) -> Array:
        """Right-hand sides of the rows that decide the dependent rates.

        Args:
            loop_sides: of all rows of the platform's own loops.
            sides: of all rows of legs.
        """
        right = [loop_sides[k] for k in self.plan.loop_rows]
        for k, leg in enumerate(self.plan.legs):
            for row in leg.kept:
                factors = self.free_multipliers[k, row]
                right.append(inner(factors.values(), (sides[k][i] for i in factors)))
        return pack(right)

    def accelerations(self, motion: MechanismMotion, active: Rates | None = None) -> Rates:
        """Derivatives of the rates of all legs; `motion` has the platform's full accelerations."""
        accelerations: Rates = {}
        for sides, factors in zip(self.right_hand_sides(motion), self.factors, strict=True):
            accelerations |= factors.rates(sides, _given_active_rates(factors, active))
        return accelerations

    def project_held_forces(self, gamma: Rates, platform: Rates) -> list[Scalar]:
        """Forces along rates of legs and platform as a force (n,) along v: the legs follow the platform."""
        total = dict(platform)
        for k, factors in enumerate(self.factors):
            leg_forces = {rate: gamma[rate] for _, rate in factors.order.pivots if rate in gamma}
            if leg_forces:
                add_forces(total, self.wrench(k, factors.forces(leg_forces, active_rates_held=True)[0]))
        return self.project_on_twist(total)

    def project_on_twist(self, forces: Rates) -> list[Scalar]:
        """Forces along the moving rates of the platform as forces (n,) along v: F_v + W^T F_dep, N or N m."""
        mechanism = self.plan.mechanism
        dependent = [forces.get(rate, 0.0) for rate in mechanism.dependent]
        return [
            inner(column, dependent, forces.get(rate, 0.0))
            for rate, column in zip(mechanism.independent, self.W.T, strict=True)
        ]


def _given_active_rates(factors: Factors, active: Rates | None) -> Rates | None:
    """Active rates of a leg, if all of them are given."""
    active_rates = [rate for _, rate in factors.order.active]
    if active is None or any(rate not in active for rate in active_rates):
        return None
    return {rate: active[rate] for rate in active_rates}


def eliminate_legs(plan: CompactPlan, configured: ConfiguredRobot) -> Legs:
    """Eliminate all legs."""
    factors = tuple(
        eliminate_rows(
            [row.coefficients for constraint in group for row in constraint.rows], leg.order, leg.zeros
        )
        for group, leg in zip(configured.constraints, plan.legs, strict=True)
    )
    return Legs(configured, plan, factors)


def mechanism_motion(
    legs: Legs,
    v: Array,
    a: Array,
    heavy: frozenset[int] = frozenset(),
    *,
    friction: bool = True,
    pole_held: bool = False,
) -> MechanismMotion:
    """The motion of everything at a reduced twist v (n,) and its derivative a (n,).

    w = (v, W v), M u = g(w), w' = (a, W a + bias), M u' = g(w') + bias

    Args:
        legs: the legs.
        v: reduced twist (n,), m/s and rad/s, base axes.
        a: its derivative (n,).
        heavy: as `MechanismMotion` has it.
        friction: as `MechanismMotion` has it.
        pole_held: whether it is the platform's pole that has no acceleration; a is zero.
    """
    configured = legs.configured
    w = legs.platform_rates(v)
    still = configured.platform.frames(w, {})
    u = legs.rates(still)
    w_dot = legs.platform_rates(a, legs.bias(u, still))
    free = configured.platform.frames(w, w_dot)
    return _motion_at_rates(legs, PrescribedMotion(u, {}, w, w_dot, free), heavy, friction, pole_held)


def _motion_at_rates(
    legs: Legs, prescribed: PrescribedMotion, heavy: frozenset[int], friction: bool, pole_held: bool = False
) -> MechanismMotion:
    """The motion at given rates, and derivatives of those of the platform and of some joints."""
    gravity = np.asarray(legs.configured.robot.gravity)
    free = dict(prescribed.frames)
    frames = {body: frame.with_gravity(gravity) for body, frame in free.items()}
    if pole_held:
        for bodies, a_pole in ((free, ZERO), (frames, -gravity)):
            platform = bodies[PLATFORM]
            assert isinstance(platform, PoleFrame)
            bodies[PLATFORM] = platform.with_pole_at(a_pole)

    def at(u_dot: Rates) -> MechanismMotion:
        """The motion at accelerations u_dot of the legs' rates."""
        trees, u = legs.configured.trees, prescribed.u
        nodes = propagate_motion(trees, u, u_dot, frames, gravity=gravity)
        weightless = propagate_motion(trees, u, u_dot, free)
        w = (prescribed.w, prescribed.w_dot)
        return MechanismMotion(trees, u, u_dot, nodes, frames, weightless, free, gravity, *w, heavy, friction)

    return at({**legs.accelerations(at({}), prescribed.u_dot), **prescribed.u_dot})


class PrescribedMotion(NamedTuple):
    """How a robot moves, where that is given.

    Attributes:
        u: rates of legs by place, those of all active joints among them.
        u_dot: their derivatives.
        w: rates of the platform by place.
        w_dot: their derivatives.
        frames: motion of the platform's bodies, without gravity.
    """

    u: Rates
    u_dot: Rates
    w: Rates
    w_dot: Rates
    frames: dict[int, MovingFrame]


def prescribed_mechanism_motion(
    legs: Legs, prescribed: PrescribedMotion, heavy: frozenset[int] = frozenset(), *, friction: bool = True
) -> MechanismMotion:
    """The motion of everything from that of the platform and of some joints; the other joints follow.

    M u = g(w) and M u' = g(w') + bias for the rates that are not given.
    """
    u = {**legs.rates(prescribed.frames, prescribed.u), **prescribed.u}
    return _motion_at_rates(legs, prescribed._replace(u=u), heavy, friction)


@dataclass(frozen=True, eq=False)
class ClosureRate:
    """The rate of a revolute or prismatic closure: of its second body seen from the first.

    Attributes:
        closure: the closure.
        e: its axis in the closure's axes, unit vector (3,).
        revolute: whether it is revolute.
        actuator: number of its actuator; None if it is passive.
        rotor: inertia of its rotor seen from the joint, kg m^2 or kg; 0 without one.
    """

    closure: JointClosure
    e: Array
    revolute: bool
    actuator: int | None
    rotor: Scalar

    def unit_force(self, legs: Legs) -> tuple[Rates, Rates]:
        """A unit force along it, N or N m: forces along the rates of leg and platform.

        -e on the first body and +e on the second: e . v or e . w for the columns (v, w) of every rate.
        """
        configured, sides = legs.configured, self.closure.sides
        sign = 1.0 if self.closure.first else -1.0
        gamma: Rates = {}
        for side, twists in ((-sign, sides.near(configured.trees)), (sign, sides.far(configured.trees))):
            along = {rate: dot(self.e, w if self.revolute else v) for rate, (v, w) in twists.items()}
            add_forces(gamma, {rate: side * value for rate, value in along.items()})
        e = sign * self.e
        wrench = Wrench(ZERO, e) if self.revolute else Wrench(e, ZERO)
        return gamma, sides.platform_forces(configured.trees, configured.platform, wrench)
