"""All rates of the tree from those of the platform: after positions everything is linear.

    u = U(x) v,    du/dt = U dv/dt + bias(x, v)

u are the rates of the tree, w those of the platform among them (`RateStructure`). Each leg l satisfies
M_l u_l + N_l w = 0 (its closures) and idle spins are zero; the dependent entries of w satisfy what the legs
and the platform's own loops leave over. Split w = G g + D z into given numbers g and dependent ones z:

    u_l = -M_l^+ N_l (G g + D z),     (1 - M_l M_l^+) N_l (G g + D z) = 0 over all l gives z

The same elimination gives the bias of the accelerations (right-hand side: second derivatives at constant
rates) and the steps of Newton's iteration (right-hand side: what is left open).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array, Scalar, dot, product, sparse_product
from nacelle.spatial.solve import least_squares, solve
from nacelle.tree.closure import ClosureState, closure_bias, closure_state
from nacelle.tree.spanning_tree import (
    TreeKinematics,
    TreeVelocity,
    coordinate_rate_indices,
    joint_rate_indices,
    tree_velocity,
)


@dataclass(frozen=True)
class InternalFreedom:
    """A body that spins idly: the axis and a point of it in the frame of the body."""

    body: int
    axis: tuple[float, ...]
    point: tuple[float, ...]


@dataclass(frozen=True)
class LegRates:
    """The rates of a leg.

    Attributes:
        rates: their places in u, in the order in which they are eliminated.
        rows: its closure equations that are not always zero.
        spins: bodies with an idle spin, which is set to zero.
    """

    rates: tuple[int, ...]
    rows: tuple[int, ...]
    spins: tuple[InternalFreedom, ...]

    @property
    def square(self) -> bool:
        """Whether the leg's rates follow from as many closure equations."""
        return len(self.rows) == len(self.rates) and not self.spins


@dataclass(frozen=True, eq=False)
class RateStructure:
    """Which rates of a robot follow from which.

    Attributes:
        robot: the robot, with its own numbers.
        legs: rates and rows of each leg.
        parasitic: whether dependent coordinates of the platform follow from the closures of the legs.
        platform_rows: closure equations of the platform's own loops that are not always zero.
        platform_internal_freedoms: bodies of the platform with an idle spin, which is set to zero.
        row_scale: for each closure equation (rows,) the robot's size (m) or 1.
    """

    robot: Robot
    legs: tuple[LegRates, ...]
    parasitic: bool
    platform_rows: tuple[int, ...]
    platform_internal_freedoms: tuple[InternalFreedom, ...]
    row_scale: Array

    @property
    def spins(self) -> tuple[tuple[InternalFreedom, ...], ...]:
        """Idle spins that are set to zero: for every leg, then those of the platform."""
        return (*(leg.spins for leg in self.legs), self.platform_internal_freedoms)

    @cached_property
    def platform_joint_rates(self) -> tuple[int, ...]:
        """Places in u of the rates of the platform's joints."""
        return joint_rate_indices(self.robot, self.robot.platform.joints)

    @cached_property
    def platform_rates(self) -> tuple[int, ...]:
        """Places in u of all rates of the platform: the platform's and those of its own joints."""
        return (*range(self.robot.platform_nv), *self.platform_joint_rates)

    @property
    def platform_rate_count(self) -> int:
        """Number of rates of the platform."""
        return len(self.platform_rates)

    @cached_property
    def independent(self) -> tuple[int, ...]:
        """Places in u of the entries of v, in the order of the motion's coordinates."""
        return tuple(coordinate_rate_indices(self.robot).values())

    @cached_property
    def dependent_joints(self) -> tuple[int, ...]:
        """Joints of the platform that are not coordinates."""
        names = self.robot.motion.joint_names
        return tuple(j for j in self.robot.platform.joints if self.robot.joints[j].name not in names)

    @cached_property
    def dependent(self) -> tuple[int, ...]:
        """Places in u of the rates of the platform that depend on v and are not zero."""
        platform = range(self.robot.platform_nv) if self.parasitic else ()
        rates = [k for k in platform if k not in self.independent]
        return (*rates, *joint_rate_indices(self.robot, self.dependent_joints))

    def basis(self, rates: Sequence[int]) -> Array:
        """(nw, k): w at unit values of k of its entries."""
        row_of = {rate: k for k, rate in enumerate(self.platform_rates)}
        columns = np.zeros((len(self.platform_rates), len(rates)))
        for column, rate in enumerate(rates):
            columns[row_of[rate], column] = 1.0
        return columns

    @property
    def selection_matrices(self) -> tuple[Array, Array]:
        """The bases of `respond` for velocities: v (nw, n) and dependent rates (nw, d) as entries of w."""
        return self.basis(self.independent), self.basis(self.dependent)


@dataclass(frozen=True)
class ClosureEquations:
    """The closure equations of a robot at a configuration.

    Attributes:
        structure: which rates follow from which.
        closures: residual and Jacobian of all closures.
        rows: for each leg, then for the platform, further rows over all rates that are zero: idle spins.
    """

    structure: RateStructure
    closures: ClosureState
    rows: tuple[tuple[Array, ...], ...]


class RightHandSides(NamedTuple):
    """Right-hand sides of the equations.

    Attributes:
        closures: one number a closure equation (rows,).
        spins: the same for the further rows of each leg, then of the platform; zeros if None.
    """

    closures: Array
    spins: tuple[tuple[Scalar, ...], ...] | None = None


def rate_equations(robot: Robot, structure: RateStructure, motion: TreeKinematics) -> ClosureEquations:
    """Closure equations, and rows that set idle spins to zero: axis . w_body = 0."""
    rows = tuple(
        tuple(
            product(motion.jacobian(spin.body)[3:].T, product(motion.poses[spin.body].R, np.array(spin.axis)))
            for spin in spins
        )
        for spins in structure.spins
    )
    return ClosureEquations(structure, closure_state(robot, motion), rows)


class RateSolution(NamedTuple):
    """What the closure equations say.

    Attributes:
        u: (rates, n) or, with a right-hand side, (rates, n + 1): the rates for unit values of the given
            numbers, and the part that belongs to the right-hand side in the last column.
        dependent: the same for the d unknown numbers.
    """

    u: Array
    dependent: Array


def solve_rates(
    system: ClosureEquations,
    basis: Array,
    dependent: Array,
    *,
    right: RightHandSides | None = None,
    zero_rates: frozenset[int] = frozenset(),
    legs: Sequence[int] | None = None,
    actuators_held: bool = False,
) -> RateSolution:
    """Solve all closure equations J u + right = 0 for the rates.

    Args:
        system: the equations of the robot.
        basis: (nw, n): the platform's rates w for unit values of n given numbers.
        dependent: (nw, d): w for unit values of d unknown ones.
        right: right-hand sides; none if None.
        zero_rates: rates of legs that are zero.
        actuators_held: whether actuators are held, so that the legs decide all dependent numbers.
        legs: the legs to solve; all of them if None. The rates of the others stay zero.
    """
    structure, d = system.structure, dependent.shape[1]
    known = _PlatformTerms(system, np.concatenate([dependent, basis], axis=1), right)
    left = known.platform() if d else []
    leg_solutions = [
        _solve_leg(system, k, known, zero_rates, actuators_held)
        for k in (range(len(structure.legs)) if legs is None else legs)
    ]
    if d and (structure.parasitic or actuators_held):
        left += [leg.left for leg in leg_solutions if leg.left is not None]
    columns = basis.shape[1] + (right is not None)
    Z: Array = np.zeros((0, columns))
    if d:
        stacked = np.concatenate(left)
        Z = -least_squares(stacked[:, :d], stacked[:, d:]).X
    w = basis if right is None else np.concatenate([basis, np.zeros((len(basis), 1))], axis=1)
    rows: dict[int, Array] = dict(
        zip(structure.platform_rates, w + _product(dependent, Z) if d else w, strict=True)
    )
    for leg in leg_solutions:
        leg_rates = -(leg.X[:, d:] + _product(leg.X[:, :d], Z)) if d else -leg.X
        rows |= zip(leg.rates, leg_rates, strict=True)
    zero = np.zeros(columns)
    count = system.closures.jacobian.shape[1]
    return RateSolution(np.stack([rows.get(rate, zero) for rate in range(count)]), Z)


class _PlatformTerms(NamedTuple):
    """What the equations say of the platform's rates: columns [basis | right], rows over their scales."""

    system: ClosureEquations
    basis: Array
    right: RightHandSides | None

    def closures(self, rows: Sequence[int]) -> Array:
        """Of some closure equations."""
        structure, J = self.system.structure, self.system.closures.jacobian
        N = _product(J[list(rows)][:, list(structure.platform_rates)], self.basis)
        if self.right is not None:
            N = np.concatenate([N, self.right.closures[list(rows)].reshape(-1, 1)], axis=1)
        return np.asarray(N / structure.row_scale[list(rows)].reshape(-1, 1))

    def spins(self, k: int) -> Array:
        """Of the further rows of a leg, or of the platform (-1)."""
        S = _product(np.stack(self.system.rows[k])[:, list(self.system.structure.platform_rates)], self.basis)
        if self.right is None:
            return np.asarray(S)
        values: Sequence[Scalar] = (0.0,) * len(S) if self.right.spins is None else self.right.spins[k]
        return np.concatenate([S, np.array(values).reshape(-1, 1)], axis=1)

    def platform(self) -> list[Array]:
        """Of the platform's own loops and spins."""
        rows = self.system.structure.platform_rows
        return [*([self.closures(rows)] if rows else []), *([self.spins(-1)] if self.system.rows[-1] else [])]


class _LegSolution(NamedTuple):
    """The rates of a leg, M^+ N of its equations, and what they leave over; None if they are as many."""

    rates: Sequence[int]
    X: Array
    left: Array | None


def _solve_leg(
    system: ClosureEquations, k: int, known: _PlatformTerms, frozen: frozenset[int], hold: bool
) -> _LegSolution:
    leg, further = system.structure.legs[k], system.rows[k]
    rates = [rate for rate in leg.rates if rate not in frozen]
    scale = system.structure.row_scale[list(leg.rows)].reshape(-1, 1)
    M = system.closures.jacobian[list(leg.rows)][:, rates] / scale
    N = known.closures(leg.rows)
    if leg.square and not hold and not further:
        return _LegSolution(rates, solve(np.asarray(M), N), None)
    if further:
        M = np.concatenate([M, np.stack(further)[:, rates]])
        N = np.concatenate([N, known.spins(k)])
    if not rates:
        return _LegSolution(rates, np.zeros((0, N.shape[1])), N)
    return _LegSolution(rates, *least_squares(np.asarray(M), N))


def _product(A: Array, B: Array) -> Array:
    """The product A B; of traced ones most entries are zero and leave no trace."""
    return sparse_product(A, B) if A.dtype == object or B.dtype == object else np.asarray(A @ B)


def platform_constraint_rows(system: ClosureEquations, dependent: Array) -> Array:
    """What the closures say of d unknown numbers of the platform (rows, d) without the legs' rates.

    Args:
        system: the equations of the robot.
        dependent: (nw, d): the platform's rates w for unit values of the numbers.
    """
    known = _PlatformTerms(system, dependent, None)
    left = known.platform()
    for k in range(len(system.structure.legs)) if system.structure.parasitic else ():
        leg = _solve_leg(system, k, known, frozenset(), hold=False)
        left += [] if leg.left is None else [leg.left]
    return np.concatenate(left)


class TreeRates(NamedTuple):
    """A robot in motion.

    Attributes:
        U: rates of the tree from the reduced twist (rates, n).
        u: rates of the tree (rates,), u = U v; m/s and rad/s.
        bias: their derivatives where dv/dt = 0 (rates,).
        velocity: twists of all bodies and their derivatives at constant rates.
    """

    U: Array
    u: Array
    bias: Array
    velocity: TreeVelocity


def tree_rates(robot: Robot, structure: RateStructure, motion: TreeKinematics, v: Array) -> TreeRates:
    """All rates at the reduced twist v, and their derivatives where dv/dt = 0."""
    independent, dependent = structure.selection_matrices
    system = rate_equations(robot, structure, motion)
    U = solve_rates(system, independent, dependent).u
    u = U @ v
    velocity = tree_velocity(robot, motion, u)
    right = RightHandSides(
        closure_bias(robot, motion, velocity), internal_freedom_biases(structure, motion, velocity)
    )
    return TreeRates(U, u, solve_rates(system, independent, dependent, right=right).u[:, -1], velocity)


def internal_freedom_biases(
    structure: RateStructure, motion: TreeKinematics, velocity: TreeVelocity
) -> tuple[tuple[Scalar, ...], ...]:
    """Derivatives of the idle spins of each leg, then of the platform, at constant rates: axis . dw/dt."""
    return tuple(
        tuple(
            dot(product(motion.poses[spin.body].R, np.array(spin.axis)), velocity.biases[spin.body][3:])
            for spin in spins
        )
        for spins in structure.spins
    )
