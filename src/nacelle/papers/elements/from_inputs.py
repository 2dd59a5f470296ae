"""The element state from a pose, or from the coordinates of the actuators; and samples of it.

At a pose, by the equivalent tree: a direction x fixed to a body with angular velocity w has

    x' = w x x,      x'' = w' x x + w x x'

and lengths and angles are coordinates of joints: d = flip q + d_0.

From the coordinates of the actuators, where that needs no iteration, the platform only translates. The driven
elements follow from q: an arm has x = cos q x_0 + sin q z x x_0, with y = z x x its derivatives are
x' = q' y, x'' = q'' y - q'^2 x. The rods r_j = p - c_j then reach from c_j, their beginnings less the places
of their ends on the platform, to one point p, which is where spheres or circles meet (`solve.spheres`); their
constant lengths give v and a of p from two linear systems with the same rows r_j:

    r_j . v = r_j . c_j'          r_j . a = r_j . c_j'' - |v - c_j'|^2

so r_j' = v - c_j' and r_j'' = a - c_j''. Base axes; m, rad.

A state of the elements is consistent: directions have unit length and the loops are closed. Such relations of
the inputs are identities, recognised at samples with 50 digits, and values that are equal by them are
computed once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import islice

import numpy as np

from nacelle.kinematics.configuration import configuration, rates_at
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.samples import Decimals, PreciseStates, input_samples
from nacelle.kinematics.shapes import actuators_shape, pose_shape, twist_shape, unknowns_shape
from nacelle.kinematics.solve.spheres import (
    has_sphere_solution,
    intersect_three_spheres,
    intersect_two_circles,
    reference_side,
)
from nacelle.model.robot import Robot
from nacelle.papers.elements.jets import NO_JET, Jet, add_jets, constant_jet
from nacelle.papers.elements.layout import StateVariable
from nacelle.papers.elements.leg_points import Hinge, MeasuredLeg, leg_points
from nacelle.papers.elements.placement import element_layout
from nacelle.papers.elements.platform_pose import orientations
from nacelle.papers.elements.structure import ElementGeometry
from nacelle.program.identities.values import PreciseInputs
from nacelle.program.precise import evaluate_decimal
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, Scalar, cos, cross, divide, dot, pack, plus, product, sin
from nacelle.tree.spanning_tree import point_acceleration, point_velocity


@physics(x=pose_shape, y=unknowns_shape, v=twist_shape, a=twist_shape)
def element_arrays(robot: Robot, x: Array, y: Array, v: Array, a: Array) -> dict[str, Array]:
    """All variables of the element state by name, (3, components) or (3,), with two derivatives."""
    layout = element_layout(mechanism_of(robot.numeric))
    now = configuration(robot, x, y)
    state = rates_at(now, v)
    u_dot = state.U @ a + state.bias
    at = ElementGeometry(robot, now.motion.poses)

    def rotation_of(body: int) -> tuple[Array, Array, Array, Array]:
        """Spatial twist [v0; w] of a body and its derivative, as parts."""
        movers = now.motion.movers[body]
        twist = state.velocity.twists[body]
        rate = state.velocity.biases[body] + now.motion.columns[:, movers] @ u_dot[movers]
        return twist, rate, twist[3:], rate[3:]

    def variable(v: StateVariable) -> Array:
        twist, rate, w, w_dot = rotation_of(v.body)
        if v.kind == "direction":
            e = at.poses[v.body].R[:, v.number] if v.leg < 0 else at.lines(layout.legs[v.leg])[v.number].x
            e_dot = cross(w, e)
            rows = [e, e_dot, cross(w_dot, e) + cross(w, e_dot)]
            return layout.components(rows)
        if v.kind == "point":
            p = at.poses[v.body].p
            return np.stack([p, point_velocity(twist, p), point_acceleration(twist, rate, p)])
        index = robot.platform_nv + robot.v_slices[v.number].start
        motion = pack([state.u[index], u_dot[index]])
        if v.kind == "coordinate":
            return pack([now.q_tree[robot.q_slices[v.number]][0], *motion])
        leg = layout.legs[v.leg]
        A, B = at.ends(leg, leg.rods[0])
        return pack([dot(at.direction(leg, leg.rods[0]), B - A), *(leg.flip * motion)])

    return {v.name: variable(v) for v in layout.variables}


def element_shapes(robot: Robot) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the variables of a robot's element state."""
    return element_layout(mechanism_of(robot.numeric)).shapes


def reason_without_encoders(mechanism: Mechanism) -> str:
    """Why a robot's element state does not follow from its actuators; empty if it does."""
    if not has_sphere_solution(mechanism):
        return "its pose does not follow from the actuators in closed form"
    layout = element_layout(mechanism)
    if any(leg.driver is None or leg.form == "plane" for leg in layout.legs):
        return "its legs are not rods on driven arms or sliders"
    if any(turning.kind != "constant" for turning in orientations(mechanism).values()):
        return "its platform turns"
    return ""


@physics(q=actuators_shape, q_dot=actuators_shape, q_ddot=actuators_shape)
def elements_from_encoders(robot: Robot, q: Array, q_dot: Array, q_ddot: Array) -> dict[str, Array]:
    """All variables of the element state by name, each (3, ...): value, first and second derivative.

    Args:
        robot: the robot.
        q: coordinates of the actuators (actuators,), rad or m.
        q_dot: their rates.
        q_ddot: their second derivatives.
    """
    mechanism = mechanism_of(robot.numeric)
    layout = element_layout(mechanism)
    actuator_of = {actuator.joint: k for k, actuator in enumerate(robot.actuators)}
    values: dict[str, Array] = {}
    centres: list[Jet] = []
    lengths: list[float] = []
    for index, leg in enumerate(layout.legs):
        assert leg.driver is not None
        k, arm = actuator_of[leg.driver], leg_points(mechanism, leg).arm
        motion = (q[k], q_dot[k], q_ddot[k])
        driven = next(v for v in layout.variables if v.leg == index)
        values[driven.name] = pack(motion) if arm is None else layout.components(_arm_jet(arm, *motion))
        # The direction of the rod does not count for where it begins.
        zeros = {v.name: np.zeros(layout.shapes[v.name]) for v in layout.variables if v.leg == index}
        rod = MeasuredLeg(layout, index, zeros | values).rods[0]
        R = orientations(mechanism)[rod.points.rod.platform].R
        centres.append(
            add_jets(rod.start, constant_jet(plus(rod.points.offset, -product(R, rod.points.local))))
        )
        lengths.append(rod.points.length)
    for index, line in enumerate(_lines(mechanism, centres, lengths)):
        direction = add_jets(NO_JET, line, 1.0 / lengths[index])
        values[layout.directions[index, 1]] = layout.components(direction)
    return {v.name: values[v.name] for v in layout.variables}


def _arm_jet(arm: Hinge, q: Scalar, q_dot: Scalar, q_ddot: Scalar) -> Jet:
    """The direction of an arm from its angle."""
    x = pack((cos(q) * arm.cosine + sin(q) * cross(arm.z, arm.cosine)).tolist())
    y = cross(arm.z, x)
    return pack([x.tolist(), (q_dot * y).tolist(), (q_ddot * y - (q_dot * q_dot) * x).tolist()])


def _lines(mechanism: Mechanism, centres: list[Jet], lengths: list[float]) -> list[Jet]:
    """The rods from where they begin to one point, with derivatives."""
    axes = list(mechanism.robot.motion.twist_axes)
    begins = [centre[:, axes] for centre in centres]
    spheres = [(c[0], length * length) for c, length in zip(begins, lengths, strict=True)]
    side = reference_side(mechanism)
    if len(axes) == 2:
        r = list(intersect_two_circles(spheres, side))
    else:
        p, _ = intersect_three_spheres(spheres, side)
        r = [p - c[0] for c in begins]
    solve = _row_solver(r)
    v = solve([dot(line, c[1]) for line, c in zip(r, begins, strict=True)])
    rates = [v - c[1] for c in begins]
    a = solve([dot(l, c[2]) - dot(w, w) for l, c, w in zip(r, begins, rates, strict=True)])
    lines = []
    for line, rate, c in zip(r, rates, begins, strict=True):
        jet = np.zeros((3, 3), dtype=object)
        jet[:, axes] = [line, rate, a - c[2]]
        lines.append(pack(jet.tolist()))
    return lines


def _row_solver(r: list[Array]) -> Callable[[list[Scalar]], Array]:
    """A function that solves r_j . v = b_j by Cramer's rule, with what does not depend on b done once."""
    if len(r) == 2:
        first, second = r
        normals = [pack([second[1], -second[0]]), pack([-first[1], first[0]])]
    else:
        normals = [cross(r[1], r[2]), cross(r[2], r[0]), cross(r[0], r[1])]
    reciprocal = divide(1.0, dot(r[0], normals[0]))

    def solve(b: list[Scalar]) -> Array:
        scaled = [value * reciprocal for value in b]
        return np.asarray(sum(s * n for s, n in zip(scaled, normals, strict=True)))

    return solve


def element_samples(
    robot: Robot, shapes: Mapping[str, tuple[int, ...]], groups: tuple[str, ...] = ()
) -> PreciseInputs | None:
    """Samples of the inputs of a function of the element state (`input_samples`)."""
    return input_samples(robot, shapes, groups, _element_values)


def _element_values(states: PreciseStates, state: Decimals) -> dict[str, Decimals]:
    """The variables of the elements at a state x, y, v, a."""
    flat = iter(evaluate_decimal(states.program(element_arrays), [*states.parameters, *state]))
    shapes = element_shapes(states.robot)
    return {name: list(islice(flat, math.prod(shape))) for name, shape in shapes.items()}
