"""The general form: rates, accelerations and forces of any robot, each leg on its own.

    rates          M u = g(w)                          leg by leg, from the nacelle
    accelerations  M u' = g(w') + bias
    forces         M^T lambda = Gamma                  leg by leg, onto the nacelle
    nacelle        sum N^T lambda + Gamma_w = load     the only solve, for what passive joints leave free

Dependent rates of the nacelle follow from the rows that the legs leave over: w_dep = W v.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nacelle.kinematics.general.loops import NacelleLoop, nacelle_loops
from nacelle.kinematics.general.motion import NodeMotion, columns, outward
from nacelle.kinematics.general.nacelle import MovingFrame, PoleFrame
from nacelle.kinematics.general.placed import GeneralPlan, Placed
from nacelle.kinematics.general.solve import Factors, Solved, factorise, solve_in_order
from nacelle.kinematics.general.tie_motion import (
    TieMotion,
    given_accelerations,
    given_rates,
    onto_nacelle,
    tie_columns,
    weighed,
)
from nacelle.kinematics.general.ties import Tie, TieKey
from nacelle.kinematics.general.vectors import ZERO, is_zero, plus_times
from nacelle.model.leg import PLATFORM
from nacelle.spatial.scalar import Array, Scalar, dot, pack
from nacelle.spatial.solve import solve

Rates = dict[int, Scalar]


def merge(into: Rates, other: Rates) -> Rates:
    """Sum of two lists of forces by rate."""
    for rate, value in other.items():
        before = into.get(rate, 0.0)
        if not is_zero(value):
            into[rate] = value if is_zero(before) else before + value
    return into


@dataclass(frozen=True, eq=False)
class Legs:
    """All legs of a placed robot, eliminated.

    Attributes:
        placed: where it is.
        plan: the decisions.
        factors: for every leg its elimination.
    """

    placed: Placed
    plan: GeneralPlan
    factors: tuple[Factors, ...]

    def wrench(self, leg: int, multipliers: Rates, *, whole: bool = False) -> Rates:
        """What multipliers of a leg's rows are along the moving rates of the nacelle.

        Parts that do no work in motions that the legs allow are dropped, unless the `whole` is wanted.
        """
        forces: Rates = {}
        start = 0
        placed = self.placed
        for number, tie in enumerate(placed.ties[leg]):
            values = [multipliers.get(start + i) for i in range(len(tie.rows))]
            start += len(tie.rows)
            if all(value is None for value in values):
                continue
            idle = None if whole else self.plan.idle.get(TieKey(leg, number))
            force, moment = weighed(tie, values)
            if tie.foot is not None:
                tie = replace(tie, point=tie.foot, local=None)
            merge(forces, onto_nacelle(placed.trees, placed.nacelle, tie, force, moment, idle=idle))
        return forces

    @cached_property
    def loops(self) -> list[NacelleLoop]:
        """The nacelle's own loops."""
        return nacelle_loops(self.placed.robot, self.placed.nacelle)

    @cached_property
    def remaining(self) -> dict[tuple[int, int], Rates]:
        """For every leg and free row that counts, its multipliers alone."""
        return {
            (k, row): factors.remaining(row)
            for k, (factors, leg) in enumerate(zip(self.factors, self.plan.legs, strict=True))
            for row in (*(r for r, _ in factors.order.active), *leg.kept)
        }

    @cached_property
    def felt(self) -> dict[tuple[int, int], Rates]:
        """For every leg and free row that counts, the row over the moving rates of the nacelle."""
        return {
            (leg, row): self.wrench(leg, values, whole=row in self.plan.legs[leg].kept)
            for (leg, row), values in self.remaining.items()
        }

    @cached_property
    def balance_columns(self) -> list[list[Scalar]]:
        """For every actuated row what its multiplier, or a unit force of its actuator, is along v (n,)."""
        columns = []
        for k, factors in enumerate(self.factors):
            for row, _ in factors.order.active:
                column = self.along_v(self.felt[k, row])
                if (k, row) in self.plan.unit:
                    column = [value * factors.reciprocals[row] for value in column]
                columns.append(column)
        return columns

    @cached_property
    def dependent_rows(self) -> list[Rates]:
        """Rows that decide the dependent rates."""
        rows = [(loop, row) for loop in self.loops for row in loop.tie.rows]
        own = [
            loop.coefficients(self.placed.nacelle, row) for loop, row in (rows[k] for k in self.plan.own_rows)
        ]
        legs = [self.felt[k, row] for k, leg in enumerate(self.plan.legs) for row in leg.kept]
        return own + legs

    @cached_property
    def D(self) -> Array:
        """The rows over the dependent rates (dependent, dependent): D w_dep = -(the same rows) v."""
        dependent = self.plan.mechanism.dependent
        return pack([[row.get(rate, 0.0) for rate in dependent] for row in self.dependent_rows])

    @cached_property
    def dependent(self) -> Solved | None:
        """How D is eliminated, where that is in a fixed order."""
        order = self.plan.dependent
        if order is None:
            return None
        return solve_in_order(self.D.tolist(), [0.0] * len(self.D), order.pivots, order.units)

    @cached_property
    def W(self) -> Array:
        """Dependent rates of the nacelle from v (dependent, n): w_dep = W v."""
        mechanism = self.plan.mechanism
        if not mechanism.dependent:
            return np.zeros((0, len(mechanism.independent)))
        right = pack([[row.get(rate, 0.0) for rate in mechanism.independent] for row in self.dependent_rows])
        return self._solved(-right)

    def _solved(self, right: Array) -> Array:
        """The dependent rates for right-hand sides (dependent,) or (dependent, columns)."""
        order = self.plan.dependent
        if order is None:
            return solve(self.D, right)
        rows = self.D.tolist()
        if right.ndim == 1:
            return solve_in_order(rows, right.tolist(), order.pivots, order.units).f
        columns = [self._solved(right[:, k]) for k in range(right.shape[1])]
        return np.stack(columns, axis=1)

    def nacelle_rates(self, v: Array) -> Rates:
        """Rates w of the nacelle from v (n,), m/s and rad/s: v itself, and W v for the dependent ones."""
        return self._spread(v, self.W)

    def _spread(self, v: Array, W: Array, more: Array | None = None) -> Rates:
        mechanism = self.plan.mechanism
        rates: Rates = dict(zip(mechanism.independent, v.tolist(), strict=True))
        for i, rate in enumerate(mechanism.dependent):
            value: Scalar = 0.0 if more is None else more[i]
            for j in range(len(mechanism.independent)):
                value = plus_times(value, W[i, j], v[j])
            rates[rate] = value
        return rates

    def nacelle_accelerations(self, a: Array, bias: Array | None) -> Rates:
        """Their derivatives w' from a = dv/dt (n,) and the bias of the motion itself: a, W a + bias."""
        return self._spread(a, self.W, bias)

    def rates(self, frames: dict[int, MovingFrame], active: Rates | None = None) -> Rates:
        """Rates of all legs where the nacelle moves as given; active ones too, unless a leg's are given."""
        rates: Rates = {}
        for ties, factors in zip(self.placed.ties, self.factors, strict=True):
            right = [g for tie in ties for g in given_rates(self.placed.trees, tie, frames)]
            rates |= factors.rates(right, _given(factors, active))
        return rates

    def right_hand_sides(self, state: TieMotion) -> list[list[Scalar]]:
        """Right-hand sides of M u' = b for every leg, row by row, m/s^2 or rad/s^2 (`tie_motion`)."""
        return [[g for tie in ties for g in given_accelerations(tie, state)] for ties in self.placed.ties]

    def bias(self, u: Rates, frames: dict[int, MovingFrame]) -> Array | None:
        """Accelerations of the dependent rates where dv/dt = 0; `frames` have no accelerations of w."""
        if not self.plan.mechanism.dependent:
            return None
        nodes = outward(self.placed.trees, u, {}, frames)
        state = TieMotion(self.placed.trees, u, nodes, frames, nodes, frames, ZERO)
        sides = self.right_hand_sides(state)
        own = [value for loop in self.loops for value in loop.second(frames)]
        return self._solved(-self.left_over(own, dict(enumerate(sides))))

    def left_over(self, own: list[Scalar], sides: Mapping[int, list[Scalar]]) -> Array:
        """Right-hand sides of the rows that decide the dependent rates.

        Args:
            own: of all rows of the nacelle's own loops.
            sides: of all rows of legs.
        """
        right = [own[k] for k in self.plan.own_rows]
        for k, leg in enumerate(self.plan.legs):
            for row in leg.kept:
                value: Scalar = 0.0
                for i, factor in self.remaining[k, row].items():
                    value = plus_times(value, factor, sides[k][i])
                right.append(value)
        return pack(right)

    def accelerations(self, state: TieMotion, active: Rates | None = None) -> Rates:
        """Derivatives of the rates of all legs; `state` has the nacelle's full accelerations."""
        accelerations: Rates = {}
        for sides, factors in zip(self.right_hand_sides(state), self.factors, strict=True):
            accelerations |= factors.rates(sides, _given(factors, active))
        return accelerations

    def held_along_v(self, gamma: Rates, nacelle: Rates) -> list[Scalar]:
        """Forces along rates of legs and nacelle as a force (n,) along v: the legs follow the nacelle."""
        total = dict(nacelle)
        for k, factors in enumerate(self.factors):
            own = {rate: gamma[rate] for _, rate in factors.order.pivots if rate in gamma}
            if own:
                merge(total, self.wrench(k, factors.forces(own, held=True)[0]))
        return self.along_v(total)

    def along_v(self, forces: Rates) -> list[Scalar]:
        """Forces along the moving rates of the nacelle as forces (n,) along v: F_v + W^T F_dep, N or N m."""
        mechanism = self.plan.mechanism
        projected = []
        for j, rate in enumerate(mechanism.independent):
            value = forces.get(rate, 0.0)
            for i, other in enumerate(mechanism.dependent):
                value = plus_times(value, self.W[i, j], forces.get(other, 0.0))
            projected.append(value)
        return projected


def _given(factors: Factors, active: Rates | None) -> Rates | None:
    """Active rates of a leg, if all of them are given."""
    own = [rate for _, rate in factors.order.active]
    if active is None or any(rate not in active for rate in own):
        return None
    return {rate: active[rate] for rate in own}


@dataclass(frozen=True, eq=False)
class MechanismMotion:
    """Everything that moves.

    Attributes:
        u: rates of the legs by place, rad/s or m/s.
        u_dot: their derivatives.
        nodes: motion of the nodes in their own axes, gravity taken off the accelerations.
        frames: motion of the nacelle's bodies in base axes, gravity taken off.
        w: rates of the nacelle by place, m/s and rad/s.
        w_dot: their derivatives.
        state: the same as ties know it.
    """

    u: Rates
    u_dot: Rates
    nodes: dict[int, NodeMotion]
    frames: dict[int, MovingFrame]
    w: Rates
    w_dot: Rates
    state: TieMotion


def factorised(plan: GeneralPlan, placed: Placed) -> Legs:
    """Eliminate all legs."""
    factors = tuple(
        factorise([row.coefficients for tie in ties for row in tie.rows], leg.order, leg.zeros)
        for ties, leg in zip(placed.ties, plan.legs, strict=True)
    )
    return Legs(placed, plan, factors)


def motion(
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
        heavy: as `TieMotion` has it.
        friction: as `TieMotion` has it.
        pole_held: whether it is the platform's pole that has no acceleration; a is zero.
    """
    placed = legs.placed
    w = legs.nacelle_rates(v)
    still = placed.nacelle.frames(w, {}, ZERO)
    u = legs.rates(still)
    w_dot = legs.nacelle_accelerations(a, legs.bias(u, still))
    free = placed.nacelle.frames(w, w_dot, ZERO)
    states = _States(legs, u, free, heavy, friction, pole_held)
    u_dot = legs.accelerations(states.at({}))
    moving = states.at(u_dot)
    return MechanismMotion(u, u_dot, moving.nodes, states.frames, w, w_dot, moving)


class _States:
    """The motion of everything at given rates, and at accelerations of the legs that are given later."""

    def __init__(
        self,
        legs: Legs,
        u: Rates,
        free: dict[int, MovingFrame],
        heavy: frozenset[int],
        friction: bool,
        pole_held: bool = False,
    ) -> None:
        self.trees, self.u, self.heavy, self.friction = legs.placed.trees, u, heavy, friction
        self.gravity = np.asarray(legs.placed.robot.gravity)
        self.free = dict(free)
        self.frames = {body: frame.against(self.gravity) for body, frame in free.items()}
        if pole_held:
            for listed, a_pole in ((self.free, ZERO), (self.frames, -self.gravity)):
                platform = listed[PLATFORM]
                assert isinstance(platform, PoleFrame)
                listed[PLATFORM] = platform.with_pole_at(a_pole)

    def at(self, u_dot: Rates) -> TieMotion:
        """The motion at accelerations u_dot of the legs' rates."""
        return TieMotion(
            self.trees,
            self.u,
            nodes=outward(self.trees, self.u, u_dot, self.frames, gravity=self.gravity),
            frames=self.frames,
            weightless=outward(self.trees, self.u, u_dot, self.free),
            free=self.free,
            gravity=self.gravity,
            heavy=self.heavy,
            friction=self.friction,
        )


class GivenMotion(NamedTuple):
    """How a robot moves, where that is given.

    Attributes:
        u: rates of legs by place, those of all active joints among them.
        u_dot: their derivatives.
        w: rates of the nacelle by place.
        w_dot: their derivatives.
        frames: motion of the nacelle's bodies, without gravity.
    """

    u: Rates
    u_dot: Rates
    w: Rates
    w_dot: Rates
    frames: dict[int, MovingFrame]


def motion_as_given(
    legs: Legs, given: GivenMotion, heavy: frozenset[int] = frozenset(), *, friction: bool = True
) -> MechanismMotion:
    """The motion of everything from that of the nacelle and of some joints; the other joints follow.

    M u = g(w) and M u' = g(w') + bias for the rates that are not given.
    """
    u = {**legs.rates(given.frames, given.u), **given.u}
    states = _States(legs, u, given.frames, heavy, friction)
    u_dot = {**legs.accelerations(states.at({}), given.u_dot), **given.u_dot}
    moving = states.at(u_dot)
    return MechanismMotion(u, u_dot, moving.nodes, states.frames, given.w, given.w_dot, moving)


@dataclass(frozen=True, eq=False)
class ClosureRate:
    """The rate of a revolute or prismatic closure: of its second body seen from the first.

    Attributes:
        tie: its tie.
        e: its axis in the tie's axes, unit vector (3,).
        revolute: whether it is revolute.
        actuator: number of its actuator; None if it is passive.
        rotor: inertia of its rotor seen from the joint, kg m^2 or kg; 0 without one.
    """

    tie: Tie
    e: Array
    revolute: bool
    actuator: int | None
    rotor: Scalar

    def unit_force(self, legs: Legs) -> tuple[Rates, Rates]:
        """A unit force along it, N or N m: forces along the rates of the leg, and along those of the nacelle.

        -e on the first body and +e on the second: e . v or e . w for the columns (v, w) of every rate.
        """
        placed, tie = legs.placed, self.tie
        trees = placed.trees
        sign = 1.0 if tie.first else -1.0
        if tie.other is None:
            near, far = tie_columns(trees, tie), {}
        else:
            near = columns(trees, tie.node, tie.own, tie.axes)
            far = columns(trees, *tie.other, tie.axes)
        gamma: Rates = {}
        for side, moved in ((-sign, near), (sign, far)):
            merge(
                gamma, {rate: side * dot(self.e, w if self.revolute else v) for rate, (v, w) in moved.items()}
            )
        e = sign * self.e
        force, moment = (ZERO, e) if self.revolute else (e, ZERO)
        return gamma, onto_nacelle(trees, placed.nacelle, tie, force, moment)
