"""Inertia and weight of all bodies in the compact form.

Every body counts with ten numbers, m, h = m c (3,) and second moments S (3, 3) about a reference point
(`InertialNumbers`). With a (3,) the acceleration of that point less gravity and T (3, 3) the matrix of
w' x r + w x (w x r) over r, the motion requires

    f = m a + T h,      n = h x a + sum over i, j of S_ij e_i x T e_j             [KI2007] (12)

- on a link of a leg in the link's own axes. The reference point of a link that holds the platform is that
  point, so that f goes straight to the platform and loads no joint of the leg;
- on a body of the platform in its own axes, or by the columns c_i of its orientation, base axes:
  f = m a + sum h_j c_j'', n = sum c_i x (sum S_ij c_j'' + h_i a);
- rods and bars as masses at their ends; rotors as i^2 J q'' along their rate (`efforts`).

Forces in N, moments in N m; gravity is taken off all accelerations, so that weight needs no term of its own.

Of a body with mass elements dm at r (3,) from a reference point, S = sum r r^T dm (3, 3), kg m^2, so that
its inertia is I = trace(S) 1 - S, and S = trace(I)/2 1 - I. A point of it accelerates with a + T r: f and n
are sums of that and of r x (a + T r) over the mass. Each second moment costs as much as the entries of T that
it meets.

What lies on the axis of a revolute joint moves as the link before it does, and so do the second moments of a
link on a prismatic joint; the point where a link holds the platform moves with the platform. Of the numbers
m, h, S of a link about its reference point

    revolute    m, h along the axis, S along the axis        count on the link before, where the joint is
    prismatic   S                                            counts on the link before: both turn alike
    spherical   m                                            counts on the link before
    at the end  m                                            counts on the platform's body, at that point

([AGH2005] (21)-(23)). What is passed on to the base does nothing. Nothing is decided by numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.compact.actuators import tree_rotors
from nacelle.compact.configured import ConfiguredRobot
from nacelle.compact.constraint_rows import PointRow
from nacelle.compact.constraints import ConstraintKey
from nacelle.compact.legs import Legs
from nacelle.compact.line_legs.rod import geared_inertia
from nacelle.compact.motion import MechanismMotion
from nacelle.compact.platform import MovingFrame
from nacelle.compact.required import ForceAccumulator
from nacelle.compact.sides import PlatformSides
from nacelle.compact.vectors import ZERO, acceleration_matrix, add, all_zero, cross_nonzero, scale
from nacelle.model.joint import Primitive
from nacelle.model.robot import body_parameters, has_mass
from nacelle.spatial.inertia import inertia_matrix
from nacelle.spatial.scalar import Array, Scalar, is_zero, pack, plus, product, sum_of_products

# Entries of S in the order of the numbers: xx, yy, zz, xy, xz, yz.
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def numbers_from_parameters(p: Array) -> Array:
    """Ten numbers m, h (3), S (6), kg, kg m, kg m^2, from ten inertial parameters: S = trace(I)/2 - I."""
    I = inertia_matrix(p)
    half = 0.5 * (I[0, 0] + I[1, 1] + I[2, 2])
    return pack([*p[:4], *((half if i == j else 0.0) - I[i, j] for i, j in PAIRS)])


def transform_inertia(numbers: Array, R: Array, t: Array) -> Array:
    """Ten numbers of the same body about another frame, r -> R r + t, R (3, 3) and t (3,), m.

    h -> R h + m t,      S -> R S R^T + (R h) t^T + t (R h)^T + m t t^T
    """
    m, h = numbers[0], product(R, numbers[1:4])
    S = product(product(R, second_moments(numbers)), R.T)
    # In order, and 0 where they cancel: what is 0 decides what is computed (`nacelle.spatial.rounding`).
    moments = (sum_of_products([1.0, h[i], t[i], m * t[i]], [S[i, j], t[j], h[j], t[j]]) for i, j in PAIRS)
    return pack([m, *plus(h, m * t), *moments])


def second_moments(numbers: Array) -> Array:
    """S (3, 3) from the numbers."""
    S: list[list[Scalar]] = [[0.0] * 3 for _ in range(3)]
    for (i, j), value in zip(PAIRS, numbers[4:], strict=True):
        S[i][j] = S[j][i] = value
    return pack(S)


def wrench_in_own_axes(numbers: Array, a: Array, w: Array, T: Array) -> tuple[Array, Array]:
    """Force f = m a + T h (N) and moment h x a + sum S_ij e_i x T e_j (N m) about the reference point."""
    m, h = numbers[0], numbers[1:4]
    f = scale(m, a)
    for k in range(3):
        f = add(f, scale(h[k], T[:, k]))
    n = cross_nonzero(h, a) if not all_zero(h) else ZERO
    for (i, j), value in zip(PAIRS, numbers[4:], strict=True):
        if is_zero(value):
            continue
        if i == j:
            part = _unit_cross(i, T[:, j])
        else:
            # Of two entries on the diagonal of T only their difference counts: w_j^2 - w_i^2.
            column = pack(
                [0.0 if k == i else w[j] * w[j] - w[i] * w[i] if k == j else T[k, j] for k in range(3)]
            )
            transposed = pack([0.0 if k in (i, j) else T[k, i] for k in range(3)])
            part = add(_unit_cross(i, column), _unit_cross(j, transposed))
        n = add(n, scale(value, part))
    return f, n


def _unit_cross(k: int, vector: Array) -> Array:
    """e_k x vector."""
    product: list[Scalar] = [0.0, 0.0, 0.0]
    i, j = (k + 1) % 3, (k + 2) % 3
    product[i], product[j] = -vector[j], vector[i]
    return pack(product)


@dataclass(frozen=True)
class InertialNumbers:
    """The inertial numbers of a robot as the compact form uses them.

    Attributes:
        nodes: for every node its ten numbers about its reference point.
        bodies: for every platform body its ten numbers about its origin, own axes.
        rates: for every rate an inertia along it.
    """

    nodes: dict[int, Array]
    bodies: dict[int, Array]
    rates: dict[int, Scalar]


def inertial_numbers(configured: ConfiguredRobot) -> InertialNumbers:
    """The numbers as the description gives them; rods are masses on what they connect."""
    robot, frame_of = configured.robot, configured.trees.node_frames
    nodes: dict[int, Array] = {}
    bodies: dict[int, Array] = {}

    def put(body: int, numbers: Array) -> None:
        if body in frame_of:
            node, frame = frame_of[body]
            if node:
                at_node = transform_inertia(numbers, frame.R, frame.p)
                at_node = transform_inertia(at_node, np.eye(3), -reference_point(configured, node))
                nodes[node] = plus(nodes[node], at_node) if node in nodes else at_node
        else:
            bodies[body] = plus(bodies[body], numbers) if body in bodies else numbers

    for body in range(1, len(robot.bodies)):
        if body not in configured.parts.omitted_bodies and has_mass(robot, body):
            put(body, numbers_from_parameters(body_parameters(robot, body)))
    for line_leg in (constraint.link for constraint in configured.legs_by_line):
        # What slides in a strut moves with B, and so may the inertia of its rotor (`struts`).
        at_B = (
            line_leg.form.rod[0] + geared_inertia(line_leg.form.drive.joint)
            if line_leg.is_strut
            else line_leg.masses[1]
        )
        for body, point, mass in (
            (line_leg.carrier, line_leg.A, line_leg.masses[0]),
            (line_leg.form.body, line_leg.form.B, at_B),
        ):
            put(body, transform_inertia(pack([mass, *(0.0,) * 9]), np.eye(3), point))
    for rod in configured.rods:
        for body, point, mass in zip(rod.bodies, rod.points, rod.masses[:2], strict=True):
            put(body, transform_inertia(pack([mass, *(0.0,) * 9]), np.eye(3), point))
    return InertialNumbers(nodes, bodies, tree_rotors(configured))


def end_constraints(configured: ConfiguredRobot) -> dict[int, tuple[ConstraintKey, PlatformSides]]:
    """For every node that a locked point joins to the platform, the first such constraint, and its sides."""
    ends: dict[int, tuple[ConstraintKey, PlatformSides]] = {}
    for constraint in configured.all_constraints:
        sides = constraint.platform
        if sides is not None and constraint.rows and isinstance(constraint.rows[0], PointRow):
            ends.setdefault(sides.node, (constraint.key, sides))
    return ends


def ends_with_inertia(configured: ConfiguredRobot, numbers: InertialNumbers) -> frozenset[int]:
    """Nodes whose inertia needs all of the acceleration where they hold the platform: m a, h x a."""
    ends = end_constraints(configured)
    return frozenset(
        node
        for node, (m, *h) in ((node, values[:4].tolist()) for node, values in numbers.nodes.items())
        if node in ends and (not is_zero(m) or sum(not is_zero(entry) for entry in h) > 1)
    )


def reference_point(configured: ConfiguredRobot, node: int) -> Array:
    """The point (3,), node axes, m, about which a node's inertia counts: at the platform, else its origin."""
    ends = end_constraints(configured)
    return ends[node][1].leg_point if node in ends else ZERO


def add_inertial_forces(
    legs: Legs, motion: MechanismMotion, numbers: InertialNumbers, forces: ForceAccumulator
) -> None:
    """Inertia and weight of all bodies by f = m a + T h and n = h x a + sum S_ij e_i x T e_j.

    Args:
        legs: the robot's legs, eliminated.
        motion: of nodes and platform, gravity taken off the accelerations.
        numbers: inertial numbers.
        forces: where forces (N) and moments (N m) are gathered.
    """
    configured = legs.configured
    ends = end_constraints(configured)
    for node, values in numbers.nodes.items():
        moving = motion.nodes[node]
        if node not in ends:
            f, n = wrench_in_own_axes(values, moving.a, moving.w, moving.acceleration_matrix)
            forces.add_to_node(node, f, n)
            continue
        # What acts at the point where the leg holds the platform goes straight to the platform.
        key, sides = ends[node]
        a = sides.end_acceleration(motion)
        f, n = wrench_in_own_axes(values, a, moving.w, moving.acceleration_matrix)
        forces.add_to_constraint(key, f)
        forces.add_to_node(node, ZERO, n)
    for body, values in numbers.bodies.items():
        frame = motion.frames[body]
        f, n = (
            _columns_wrench(values, frame)
            if _prefers_columns(values, configured, body)
            else _wrench_from_body_axes(values, frame)
        )
        forces.add_to_platform(body, frame.pose.p, f, n)


def _columns_wrench(values: Array, frame: MovingFrame) -> tuple[Array, Array]:
    """Wrench of a platform body about its origin from the columns of its axes, base axes.

    f = m a + sum h_j c_j'',  n = sum over i of c_i x t_i,  t_i = sum S_ij c_j'' + h_i a; and since the sum of
    c_i x c_i'' is 2 w', one of three second moments on the diagonal costs three products alone.
    """
    R, ddot, m, h = frame.pose.R, frame.columns_ddot, values[0], values[1:4]
    f = scale(m, frame.a)
    for k in range(3):
        f = add(f, scale(h[k], ddot[k]))
    S = second_moments(values)
    n: Array = ZERO
    if not any(is_zero(S[k, k]) for k in range(3)):
        n = scale(2.0 * S[0, 0], frame.w_dot)
        S = pack([[plus(S[i, j], -S[0, 0]) if i == j else S[i, j] for j in range(3)] for i in range(3)])
    for i in range(3):
        t = scale(h[i], frame.a)
        for j in range(3):
            t = add(t, scale(S[i, j], ddot[j]))
        n = add(n, cross_nonzero(R[:, i], t))
    return f, n


def _prefers_columns(values: Array, configured: ConfiguredRobot, body: int) -> bool:
    """Whether a platform body's wrench is cheaper from the columns of its axes than in its own axes.

    The columns are there already where legs hold the body at points off its origin.
    """
    sides = [constraint.platform for constraint in configured.all_constraints]
    ends = [at.local for at in sides if at is not None and at.body == body and at.local is not None]
    return any(not all_zero(local) for local in ends) or sum(not is_zero(value) for value in values[4:]) <= 1


def _wrench_from_body_axes(values: Array, frame: MovingFrame) -> tuple[Array, Array]:
    """Wrench of a platform body about its origin, found in its own axes; base axes."""
    R = frame.pose.R
    w, w_dot, a = (product(R.T, vector) for vector in (frame.w, frame.w_dot, frame.a))
    f, n = wrench_in_own_axes(values, a, w, acceleration_matrix(w, w_dot))
    return product(R, f), product(R, n)


# ---- inertial numbers that a link passes on to what moves alike


def condensed_numbers(configured: ConfiguredRobot) -> InertialNumbers:
    """The inertial numbers of a robot, with what links pass on taken to where it counts."""
    numbers, trees, ends = inertial_numbers(configured), configured.trees, end_constraints(configured)
    nodes, bodies = dict(numbers.nodes), dict(numbers.bodies)
    for index, (_, sides) in ends.items():
        if index in nodes and sides.local is not None:
            mass, nodes[index] = _split_numbers(nodes[index], (0,))
            body, local = sides.transmitted
            at_point = transform_inertia(mass, np.eye(3), local)
            bodies[body] = plus(bodies[body], at_point) if body in bodies else at_point
    # What counts about the point where a leg holds the platform stays there.
    for index in reversed(range(1, len(trees.nodes))):
        if index not in nodes or index in trees.roots or index in ends:
            continue
        node = trees.node(index)
        passed, nodes[index] = _split_numbers(nodes[index], _transferable_indices(node.primitive))
        if node.parent:
            # Second moments alone have no place.
            shift = (
                node.o - reference_point(configured, node.parent)
                if node.primitive.is_rotation
                else np.zeros(3)
            )
            there = transform_inertia(passed, node.G.R, shift)
            nodes[node.parent] = there if node.parent not in nodes else plus(nodes[node.parent], there)
    return InertialNumbers(nodes, bodies, numbers.rates)


def _split_numbers(numbers: Array, indices: tuple[int, ...]) -> tuple[Array, Array]:
    """Ten numbers as those at some places, and the others."""
    values = numbers.tolist()
    return (
        pack([value if k in indices else 0.0 for k, value in enumerate(values)]),
        pack([0.0 if k in indices else value for k, value in enumerate(values)]),
    )


def _transferable_indices(primitive: Primitive) -> tuple[int, ...]:
    """Places of the numbers that are passed on: m, h (3), S by `PAIRS`."""
    if primitive is Primitive.SPHERICAL:
        return (0,)
    if not primitive.is_rotation:
        return tuple(range(4, 10))
    axis = primitive.axis
    return (0, 1 + axis, 4 + PAIRS.index((axis, axis)))
