"""Forces of the actuators by virtual power: for each the robot with unit rate of that actuator alone.

With v_k the reduced twist of that motion, u_k the rates of the legs and w_k those of the nacelle,

    force_k = sum over rates of legs of Gamma_r u_rk + sum over rates of the nacelle of Gamma_r w_rk.

Of a nacelle with few rates u_rk is found from the transposed equations, once for a passive rate: it is what a
unit force along the rate requires of actuator k. Where actuators are redundant, v_k is row k of the matrix
from forces along v to forces of the actuators of least norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.actuators import least_norm_forces
from nacelle.dynamics.general.models import is_direct
from nacelle.kinematics.general.actuators import actuator_jacobian
from nacelle.kinematics.general.legs import Legs, Rates
from nacelle.kinematics.general.nacelle import MovingFrame
from nacelle.kinematics.general.placed import active_rates
from nacelle.kinematics.general.solve import determinant, solve_in_order
from nacelle.kinematics.general.vectors import ZERO, inner, plus_times
from nacelle.kinematics.jacobian import scales
from nacelle.spatial.linear_form import LinearForm
from nacelle.spatial.scalar import Array, Scalar, pack, sqrt
from nacelle.spatial.solve import solve

# Up to so many rates of the nacelle the transposed equations are the shorter way.
_FEW = 3
# A rate of a leg (or of the nacelle), its place, and a sign.
Place = tuple[bool, int, float]


class VirtualMotion(NamedTuple):
    """The robot with unit rate of one actuator: frames of the nacelle, its rates, rates of the legs."""

    frames: dict[int, MovingFrame]
    w: Rates
    u: Rates


class VirtualPower:
    """The forces of the actuators, summed up over what is required.

    Attributes:
        motions: for every actuator the virtual motion.
        pivot: the smallest pivot of what they were found with.
        force: for every actuator its force so far, a linear form in the parameters.
    """

    def __init__(self, legs: Legs) -> None:
        """Find the virtual motions of a robot."""
        direct = is_direct(legs.plan)
        twists, pivot = _direct_twists(legs) if direct else _balanced_twists(legs)
        self.pivot = pivot
        self.force: list[Scalar] = [0.0] * len(twists)
        self.motions: list[VirtualMotion] = []
        drives = {k: rate for rate, k in active_rates(legs.placed.robot).items()}
        transposed = direct and len(legs.placed.nacelle.moving) <= _FEW
        for k, twist in enumerate(twists):
            w = legs.nacelle_rates(twist)
            frames = legs.placed.nacelle.frames(w, {}, ZERO)
            active = {rate: 1.0 if other == k else 0.0 for other, rate in drives.items()} if direct else None
            u = dict(active or {}) if transposed else legs.rates(frames, active)
            self.motions.append(VirtualMotion(frames, w, u))
        if transposed:
            self._find_passive(legs, drives)

    def _find_passive(self, legs: Legs, drives: dict[int, int]) -> None:
        """Rates of passive joints by the transposed equations; `drives` has the actuators' rates."""
        for leg, factors in enumerate(legs.factors):
            for _, rate in factors.order.passive:
                multipliers, own = factors.forces({rate: 1.0})
                felt = legs.wrench(leg, multipliers)
                for k, at in enumerate(self.motions):
                    value = own.get(drives[k], 0.0)
                    for place, factor in felt.items():
                        value = plus_times(value, factor, at.w[place])
                    at.u[rate] = value

    def add(self, gamma: Rates, nacelle: Rates, weight: float = 1.0) -> None:
        """Forces along rates of legs and of the nacelle, linear forms."""
        for parameter, groups in _alike(gamma, nacelle).items():
            for value, places in groups:
                form = LinearForm({parameter: value * weight})
                for k, at in enumerate(self.motions):
                    rate: Scalar = 0.0
                    for own, place, sign in places:
                        rate = plus_times(rate, sign, (at.u if own else at.w).get(place, 0.0))
                    self.force[k] = plus_times(self.force[k], rate, form)

    def add_wrench(self, twists: Sequence[tuple[Array, Array]], f: Array, n: Array) -> None:
        """Add a wrench [f; n] of linear forms on a body with the twists [v_k; w_k] in the virtual motions.

        force_k += f . v_k + n . w_k, all in the same axes.
        """
        for k, (v, w) in enumerate(twists):
            value = wrench_power(v, w, f, n)
            self.force[k] = plus_times(self.force[k], 1.0, value)


def wrench_power(v: Array, w: Array, f: Array, n: Array) -> Scalar:
    """Power f . v + n . w (W) of a wrench [f; n] at a twist [v; w]; zeros cost nothing."""
    return inner([*v.tolist(), *w.tolist()], [*f.tolist(), *n.tolist()])


def _alike(gamma: Rates, nacelle: Rates) -> dict[int, list[tuple[Scalar, list[Place]]]]:
    """For every parameter its coefficients, each with the rates that it acts along.

    A moment in a joint acts along several rates by one and the same number: their sum comes first.
    """
    coefficients: dict[int, list[tuple[Scalar, list[Place]]]] = {}
    for own, forces in ((True, gamma), (False, nacelle)):
        for rate, form in forces.items():
            for parameter, value in form.terms.items() if isinstance(form, LinearForm) else ():
                groups = coefficients.setdefault(parameter, [])
                for other, places in groups:
                    sign = _sign_between(other, value)
                    if sign:
                        places.append((own, rate, sign))
                        break
                else:
                    groups.append((value, [(own, rate, 1.0)]))
    return coefficients


def _sign_between(a: Scalar, b: Scalar) -> float:
    """1 for two symbols of the same value, -1 for opposite ones; 0 for all others."""
    first, second = getattr(a, "index", None), getattr(b, "index", None)
    if first is None or second is None:
        return 0.0
    return 1.0 if first == second else -1.0 if (-a).index == second else 0.0


def _direct_twists(legs: Legs) -> tuple[list[Array], Scalar]:
    """The twists from the rows that are left of the legs: C v = (their coefficients of active rates)."""
    plan, robot = legs.plan, legs.placed.robot
    keys = [(k, row) for k, factors in enumerate(legs.factors) for row, _ in factors.order.active]
    C = pack(legs.balance_columns)
    numbers = active_rates(robot)
    right: list[list[Scalar]] = [[0.0] * len(keys) for _ in keys]
    for i, (k, row) in enumerate(keys):
        for rate, value in legs.factors[k].upper[row].items():
            right[numbers[rate]][i] = 1.0 if (k, row) in plan.unit else value
    if plan.solve is None:
        size = (np.ones(len(C)), np.ones(len(C)))
        pivot = determinant(C.tolist(), size) * (1.0 / plan.determinant)
        return [solve(C, pack(column)) for column in right], pivot
    # The plan's order is that of the transposed matrix.
    order = tuple((column, row) for row, column in plan.solve.pivots)
    rows, columns = plan.solve.units
    solved = [solve_in_order(C.tolist(), column, order, (columns, rows)) for column in right]
    return [each.f for each in solved], solved[0].pivot


def _balanced_twists(legs: Legs) -> tuple[list[Array], Scalar]:
    """The twists as rows of the matrix from forces along v to those of the actuators."""
    A = actuator_jacobian(legs)
    rows, units = scales(legs.placed.robot.numeric)
    weights = rows * rows if len(rows) == len(units) else None
    solved = [least_norm_forces(A, unit, weights, units=units) for unit in np.eye(len(units))]
    return list(np.stack([each.force for each in solved], axis=1)), sqrt(solved[0].parallel_margin)
