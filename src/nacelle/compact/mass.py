"""The mass matrix along the reduced twist, each leg condensed to its rates.

The kinetic energy of a body with momentum P = m v + w x h and angular momentum L = h x v + I w about its
reference point is (v . P + w . L) / 2. Over the rates u_l of a leg, with the columns (v_i, w_i) of its
bodies, that is u_l^T H_l u_l / 2,

    H_ij = sum over bodies of v_i . P_j + w_i . L_j              P_j, L_j momenta at unit rate j, local axes

and with u_l = U_l v, U_l the leg's rates at unit reduced twist v (n,), the energy is v^T M v / 2:

    M = sum over legs of U_l^T H_l U_l  +  platform              (n, n); kg, kg m, kg m^2

A leg that holds the platform by a point alone is condensed there: K = X^T H X (3, 3) over the velocity of the
point in local axes, u_l = X v_point.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nacelle.compact.actuators import rotor_rates
from nacelle.compact.constraint_rows import PointRow
from nacelle.compact.constraints import DrivenRod, Rod, SphericalRod
from nacelle.compact.inertial import PAIRS, InertialNumbers, reference_point, second_moments
from nacelle.compact.legs import Legs, Rates
from nacelle.compact.line_leg_forces import end_inertia_of_strut, residual_energy
from nacelle.compact.motion import MechanismMotion, node_twist, point_unit_twists
from nacelle.compact.platform import MovingFrame
from nacelle.compact.sides import LegSides, PlatformSides
from nacelle.compact.vectors import ZERO, add, add_product, all_zero, cross_nonzero, inner, scale
from nacelle.model.leg import PLATFORM
from nacelle.spatial.scalar import Array, Scalar, dot, is_zero, pack, product
from nacelle.spatial.screw import Twist

Square = list[list[Scalar]]


def momentum(numbers: Array, twist: Twist) -> tuple[Array, Array]:
    """Momentum m v + w x h, kg m/s, and h x v + I w, kg m^2/s, of a body about its reference point."""
    v, w = twist
    m, h = numbers[0], numbers[1:4]
    S = second_moments(numbers)
    linear = add(scale(m, v), cross_nonzero(w, h) if not all_zero(h) else ZERO)
    angular = cross_nonzero(h, v) if not all_zero(h) else ZERO
    if not all_zero(w) and not all_zero(numbers[4:]):
        trace = S[0, 0] + S[1, 1] + S[2, 2]
        I = pack([[(trace if i == j else 0.0) - S[i, j] for j in range(3)] for i in range(3)])
        angular = add(angular, product(I, w))
    return linear, angular


def leg_inertia(legs: Legs, numbers: InertialNumbers, leg: int) -> dict[tuple[int, int], Scalar]:
    """H_l over the rates of a leg, its lower triangle by pairs of rates: H_ij = v_i . P_j + w_i . L_j."""
    configured = legs.configured
    rates = [rate for _, rate in legs.plan.legs[leg].order.pivots]
    leg_rates = set(rates)
    H: dict[tuple[int, int], Scalar] = {}

    def put(i: int, j: int, value: Scalar) -> None:
        key = (max(i, j), min(i, j))
        if not is_zero(value):
            H[key] = value if key not in H else H[key] + value

    for node, values in numbers.nodes.items():
        unit_twists = point_unit_twists(configured.trees, node, reference_point(configured, node))
        if not leg_rates & set(unit_twists) or configured.trees.root(node) is not None:
            continue
        moving_rates = sorted(unit_twists)
        for count, i in enumerate(moving_rates):
            linear, angular = momentum(values, unit_twists[i])
            for j in moving_rates[: count + 1]:
                v, w = unit_twists[j]
                put(i, j, _power(v, linear, w, angular))
    for rate, inertia in numbers.rates.items():
        if rate in leg_rates:
            put(rate, rate, inertia)
    return H


def _power(v: Array, linear: Array, w: Array, angular: Array) -> Scalar:
    total: Scalar = 0.0
    for a, b in ((v, linear), (w, angular)):
        if not all_zero(a) and not all_zero(b):
            value = dot(a, b)
            total = value if is_zero(total) else total + value
    return total


def platform_point(legs: Legs, leg: int) -> tuple[int, PlatformSides] | None:
    """Where a leg holds the platform, if that is a point alone: its first row there, and the sides.

    None also where the leg has no fewer rates than v: then its rates are the shorter way.
    """
    constraints, plan, trees = legs.configured.constraints[leg], legs.plan.legs[leg], legs.configured.trees
    if len(plan.order.pivots) >= len(legs.plan.mechanism.independent):
        return None
    outer = [(constraint, sides) for constraint in constraints if (sides := constraint.platform) is not None]
    inside = [constraint.sides for constraint in constraints if isinstance(constraint.sides, LegSides)]
    if len(outer) != 1 or plan.kept or any(sides.is_on_platform(trees) for sides in inside):
        return None
    ((end, sides),) = outer
    points = {row for row, kind in zip(end.span, end.rows, strict=True) if isinstance(kind, PointRow)}
    pivots = {row for row, _ in plan.order.pivots}
    is_point = sides.local is not None and not (pivots & set(end.span)) - points
    return (end.start, sides) if is_point else None


def end_inertia(
    legs: Legs, leg: int, start: int, sides: PlatformSides, H: dict[tuple[int, int], Scalar]
) -> Array:
    """Inertia (3, 3) of a leg at the point where it holds the platform by the rows from `start`, base axes.

    K = X^T H X in the axes of the sides, X the leg's rates at unit velocities of the point.
    """
    configured, factors = legs.configured, legs.factors[leg]
    count = configured.constraints[leg][-1].span.stop
    leg_rates = [rate for _, rate in factors.order.pivots]
    X = [factors.rates([1.0 if k == start + axis else 0.0 for k in range(count)]) for axis in range(3)]
    K: Square = [[0.0] * 3 for _ in range(3)]
    for i, j, value in _congruence_entries(H, X, leg_rates):
        K[i][j] = K[j][i] = value
    return configured.trees.tensor_to_base(sides.axes, pack(K))


def _congruence_entries(
    H: dict[tuple[int, int], Scalar], X: list[Rates], leg_rates: list[int]
) -> Iterator[tuple[int, int, Scalar]]:
    """Entries (i, j <= i) of X^T H X, H by pairs of the rates `leg_rates`."""
    rows = [[H.get((max(a, b), min(a, b)), 0.0) for b in leg_rates] for a in leg_rates]
    columns = [[rates[rate] for rate in leg_rates] for rates in X]
    for i, column in enumerate(columns):
        momenta = [inner(row, column) for row in rows]
        yield from ((i, j, inner(partner, momenta)) for j, partner in enumerate(columns[: i + 1]))


def mass_matrix(legs: Legs, numbers: InertialNumbers) -> Array:
    """M (n, n) along the reduced twist."""
    total = _MassSum(legs)
    total.add_struts_and_rods(numbers)
    total.add_legs(numbers)
    total.add_platform_branches(numbers)
    total.add_spherical_rods()
    total.add_platform_bodies(numbers)
    total.add_platform_rotors(numbers)
    return total.matrix()


class _MassSum:
    """The lower triangle of M, summed over what moves; all motions at unit entries of the reduced twist."""

    def __init__(self, legs: Legs) -> None:
        self.legs, self.configured = legs, legs.configured
        self.n = len(legs.plan.mechanism.independent)
        self.total: Square = [[0.0] * self.n for _ in range(self.n)]
        self.frames: list[dict[int, MovingFrame]] = []
        self.rates: list[Rates] = []
        # Legs that are condensed with their bars.
        self.condensed: set[int] = set()
        for k in range(self.n):
            self.frames.append(self.configured.platform.frames(legs.platform_rates(_unit_twist(legs, k)), {}))
            self.rates.append(legs.rates(self.frames[k]))

    def matrix(self) -> Array:
        """M (n, n)."""
        return pack([[self.total[max(i, j)][min(i, j)] for j in range(self.n)] for i in range(self.n)])

    def put(self, i: int, j: int, value: Scalar) -> None:
        """Add to one entry."""
        if not is_zero(value):
            self.total[i][j] = value if is_zero(self.total[i][j]) else self.total[i][j] + value

    def add_body(self, numbers: Array, twists: list[Twist]) -> None:
        """A body with these twists at unit v: v_i . P_j + w_i . L_j."""
        for i, twist in enumerate(twists):
            linear, angular = momentum(numbers, twist)
            for j, (v, w) in enumerate(twists[: i + 1]):
                self.put(i, j, _power(v, linear, w, angular))

    def add_end_inertia(self, K: Array, sides: PlatformSides) -> None:
        """Inertia K (3, 3), base axes, at the platform's point of a constraint."""
        body, local = sides.transmitted
        points = [frame[body].velocity(local) for frame in self.frames]
        for i, point in enumerate(points):
            end_momentum = pack([inner(row, point.tolist()) for row in K.tolist()])
            for j in range(i + 1):
                self.put(i, j, inner(points[j].tolist(), end_momentum.tolist()))

    def add_struts_and_rods(self, numbers: InertialNumbers) -> None:
        """Legs with bars in a form of their own."""
        for line_leg in self.configured.legs_by_line:
            drive = leg_inertia(self.legs, numbers, line_leg.key.leg)
            self.add_end_inertia(
                end_inertia_of_strut(self.legs, line_leg, sum(drive.values(), start=0.0)), line_leg.sides
            )
            self.condensed.add(line_leg.key.leg)

    def add_legs(self, numbers: InertialNumbers) -> None:
        """The other legs: condensed at the point that they hold, or over their rates."""
        for leg in range(len(self.configured.constraints)):
            if leg in self.condensed:
                continue
            H = leg_inertia(self.legs, numbers, leg)
            end = platform_point(self.legs, leg)
            if end is not None:
                self.add_end_inertia(end_inertia(self.legs, leg, *end, H), end[1])
                continue
            leg_rates = [rate for _, rate in self.legs.plan.legs[leg].order.pivots]
            for i, j, value in _congruence_entries(H, self.rates, leg_rates):
                self.put(i, j, value)

    def add_platform_branches(self, numbers: InertialNumbers) -> None:
        """Nodes of legs that hang from the platform."""
        trees = self.configured.trees
        for node, values in numbers.nodes.items():
            if trees.root(node) is None:
                continue
            point = reference_point(self.configured, node)
            unit_twists = point_unit_twists(trees, node, point)
            motions = zip(self.rates, self.frames, strict=True)
            twists = [node_twist(trees, node, point, unit_twists, *motion) for motion in motions]
            self.add_body(values, twists)

    def add_spherical_rods(self) -> None:
        """What the two ends of rods have in common."""
        for rod in (rod for rod in self.configured.all_constraints if isinstance(rod, SphericalRod)):
            pairs = [
                rod.sides.end_velocities(self.configured.trees, rates, frames)
                for frames, rates in zip(self.frames, self.rates, strict=True)
            ]
            for i in range(self.n):
                for j in range(i + 1):
                    cross = dot(pairs[i][0], pairs[j][1]) + dot(pairs[j][0], pairs[i][1])
                    self.put(i, j, rod.link.masses[2] * cross)

    def add_platform_bodies(self, numbers: InertialNumbers) -> None:
        """Bodies of the platform."""
        for body, values in numbers.bodies.items():
            based = _numbers_in_base_axes(values, self.configured.platform.poses[body].R)
            self.add_body(based, [Twist(frames[body].v, frames[body].w) for frames in self.frames])

    def add_platform_rotors(self, numbers: InertialNumbers) -> None:
        """Rotors at joints of the platform."""
        for rate, inertia in numbers.rates.items():
            if rate in self.legs.plan.mechanism.platform_rates:
                row = [self.legs.platform_rates(unit).get(rate, 0.0) for unit in np.eye(self.n)]
                for i in range(self.n):
                    for j in range(i + 1):
                        self.put(i, j, inertia * row[i] * row[j])


def _unit_twist(legs: Legs, k: int) -> Array:
    """The twist v (n,) at a unit rate k, which is that of the pole where points are counted from it."""
    platform, independent = legs.configured.platform, legs.plan.mechanism.independent
    unit: Array = np.eye(len(independent))[k]
    if platform.pole is None or platform.pole.local is None or independent[k] < 3:
        return unit
    arm = product(platform.poses[PLATFORM].R, platform.pole.local)
    shift = cross_nonzero(np.eye(3)[independent[k] - 3], arm)
    return pack([-shift[rate] if rate < 3 else unit[i] for i, rate in enumerate(independent)])


def _numbers_in_base_axes(values: Array, R: Array) -> Array:
    """Numbers of a platform body about its origin, in base axes."""
    h = ZERO
    for k in range(3):
        h = add(h, scale(values[1 + k], R[:, k]))
    S: dict[tuple[int, int], Scalar] = dict.fromkeys(PAIRS, 0.0)
    for (i, j), value in zip(PAIRS, values[4:], strict=True):
        if is_zero(value):
            continue
        for p, q in PAIRS:
            part = R[p, i] * R[q, j] if i == j else R[p, i] * R[q, j] + R[p, j] * R[q, i]
            S[p, q] = add_product(S[p, q], value, part)
    return pack([values[0], *h, *(S[pair] for pair in PAIRS)])


def kinetic_energy(legs: Legs, motion: MechanismMotion, numbers: InertialNumbers) -> Scalar:
    """Kinetic energy (J): half of twist times momentum of all bodies, rods and rotors."""
    configured = legs.configured
    total: Scalar = 0.0
    for node, values in numbers.nodes.items():
        point = reference_point(configured, node)
        unit_twists = point_unit_twists(configured.trees, node, point)
        twist = node_twist(configured.trees, node, point, unit_twists, motion.u, motion.frames)
        if configured.trees.root(node) is None:
            # Found already, from node to node.
            twist = twist._replace(w=motion.nodes[node].w)
        linear, angular = momentum(values, twist)
        total = add_product(total, 0.5, _power(twist.v, linear, twist.w, angular))
    for body, values in numbers.bodies.items():
        frame = motion.frames[body]
        linear, angular = momentum(_numbers_in_base_axes(values, frame.pose.R), Twist(frame.v, frame.w))
        total = add_product(total, 0.5, _power(frame.v, linear, frame.w, angular))
    for rate, inertia in numbers.rates.items():
        value: Scalar = motion.u.get(rate, motion.w.get(rate, 0.0))
        total = add_product(total, 0.5 * inertia, value * value)
    for rod in (rod for rod in configured.all_constraints if isinstance(rod, Rod)):
        near, far = rod.sides.end_velocities(configured.trees, motion.u, motion.frames)
        total = add_product(total, rod.link.masses[2], dot(near, far))
    for line_leg in configured.legs_by_line:
        v = line_leg.relative_velocity(configured.trees, motion.u, motion.frames)
        if isinstance(line_leg, DrivenRod):
            total = add_product(total, 1.0, residual_energy(legs, line_leg, v, motion.u[line_leg.link.rate]))
        else:
            v = configured.trees.up(line_leg.sides.axes, v)
            K = end_inertia_of_strut(legs, line_leg, 0.0)
            total = add_product(total, 0.5, dot(v, pack([inner(row, v.tolist()) for row in K.tolist()])))
    for closing in rotor_rates(configured):
        gamma, platform = closing.unit_force(legs)
        speed: Scalar = 0.0
        for rates, factors in ((motion.u, gamma), (motion.w, platform)):
            speed = inner(factors.values(), (rates[rate] for rate in factors), speed)
        total = add_product(total, 0.5 * closing.rotor, speed * speed)
    return total
