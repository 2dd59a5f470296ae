"""The general form as physics functions."""

from __future__ import annotations

from functools import lru_cache

from nacelle.dynamics.compact.equilibrium import eliminate
from nacelle.dynamics.general.basis import Basis, find_basis, reduced
from nacelle.dynamics.general.core import Legs, Rates, eliminated, motion, plus_times
from nacelle.dynamics.general.forces import (
    Required,
    inertial_numbers,
    inward,
    require_closures,
    require_efforts,
    require_inertia,
    require_point_joints,
    require_rods,
    ties_on_nacelle,
)
from nacelle.dynamics.general.inertia import Numbers
from nacelle.dynamics.general.plan import Placed, Plan, active_rates, place, plan_of
from nacelle.dynamics.general.vectors import all_zero, turned
from nacelle.kinematics.shapes import of_pose, of_twist, of_unknowns
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, Scalar, pack, plus
from nacelle.spatial.solve import solve


@lru_cache(maxsize=64)
def _basis(plan: Plan) -> tuple[list[tuple[int, int]], Basis | None]:
    return find_basis(plan.known, plan)


def numbers_of(placed: Placed, plan: Plan) -> Numbers:
    """The inertial numbers in the cheapest basis."""
    numbers = inertial_numbers(placed, plan)
    ends, basis = _basis(plan)
    return numbers if basis is None else reduced(numbers, basis, ends)


def _about_pole(legs: Legs, load: Array) -> Array:
    """A force along v with its moment about the nacelle's pole."""
    nacelle, known = legs.placed.nacelle, legs.plan.known
    if nacelle.pole is None or all_zero(load):
        return load
    place = {rate: k for k, rate in enumerate(known.independent)}
    force = pack([load[place[k]] for k in range(3)])
    shift = turned(plus(nacelle.poses[PLATFORM].p, -nacelle.pole), force)
    return pack(
        [load[place[r]] + shift[r - 3] if r in (3, 4, 5) else load[place[r]] for r in known.independent]
    )


@physics(x=of_pose, y=of_unknowns, v=of_twist, a=of_twist, load=of_twist)
def inverse(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    a: Array,
    load: Array,
    *,
    friction: bool = True,
    smooth: float | None = None,
) -> dict[str, Array]:
    """Actuator forces."""
    plan = plan_of(robot)
    placed = place(robot, plan.known, plan.rods, plan.spins, x, y)
    legs = eliminated(plan, placed)
    moving = motion(legs, v, a)
    into = Required(placed)
    require_inertia(legs, moving, numbers_of(placed, plan), into)
    require_rods(legs, moving, into, friction, smooth)
    require_efforts(legs, moving, into, friction, smooth)
    require_closures(legs, moving, into, friction, smooth)
    require_point_joints(legs, moving, into, friction, smooth)
    gamma = inward(into)
    solved = [factors.forces(gamma) for factors in legs.factors]
    Q = legs.along_v(ties_on_nacelle(legs, into, [values for values, _ in solved]))
    own: Rates = {}
    for _, values in solved:
        own |= values
    keys = [(k, row) for k, factors in enumerate(legs.factors) for row, _ in factors.order.active]
    C = pack([legs.along_v(legs.felt[key]) for key in keys]).T
    right = pack([value - q for value, q in zip(_about_pole(legs, load), Q, strict=True)])
    if plan.solve is None:
        found = solve(C, right)
    else:
        found = eliminate(C.tolist(), right.tolist(), plan.solve.pivots, plan.solve.units).f
    mu = dict(zip(keys, found, strict=True))
    force: list[Scalar] = [0.0] * len(robot.actuators)
    numbers = active_rates(robot)
    for k, factors in enumerate(legs.factors):
        for _, rate in factors.order.active:
            value = own[rate]
            for row, _ in factors.order.active:
                value = plus_times(value, -factors.upper[row].get(rate, 0.0), mu[k, row])
            force[numbers[rate]] = value
    return {"force": pack(force)}
