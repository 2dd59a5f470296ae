"""Steps of Newton's iterations as physics functions: from the unknowns and what is given to (dy, error).

    loop_closing_step  y at a pose x: legs without a closed form, loops of the platform, parasitic motion
                       (loop_gaps: what is open there)
    pose_step          x and y at actuator coordinates q, for every robot
    assembly_step      the platform's pose and all joints at q, for every robot

Each solves the linearised closures J u + g = 0 for the rates u of the tree, as in
`nacelle.kinematics.configuration`; J (rows, rates) is their Jacobian, g (rows,) what the loops, or the
actuators, leave open, m or sines of angles.
Rates of a spherical joint turn its quaternion, dq = q o [u; 0] / 2; all other unknowns change by their rate.
The error is the largest entry of g, lengths over the robot's size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from nacelle.kinematics.branch import branch_determinants, branch_of
from nacelle.kinematics.configuration import (
    Configuration,
    chart_basis,
    closure_equations_at,
    configuration,
    coordinate_selections,
)
from nacelle.kinematics.kinematic_model import (
    has_tilt_coordinates,
    iterated_distances,
    jacobian_at,
    pose_tangent,
)
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.samples import Decimals, PreciseStates, input_samples
from nacelle.kinematics.shapes import actuators_shape, pose_shape, twist_scales, unknowns_shape
from nacelle.model.joint import Primitive
from nacelle.model.reduced import ReducedLayout
from nacelle.model.robot import Robot
from nacelle.program.identities.values import PreciseInputs
from nacelle.spatial.physics import check_inputs_with, compact_form, physics
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import quat_product, rotation_quat
from nacelle.spatial.scalar import (
    Array,
    Scalar,
    absolute,
    cos,
    divide,
    dot,
    maximum,
    pack,
    sign,
    sin,
    sqrt,
)
from nacelle.spatial.solve import column_independence, determinant_of_minors, least_squares
from nacelle.tree.actuation import actuator_transforms, closure_actuators, joint_rate_row, tree_actuator_rates
from nacelle.tree.rates import ClosureEquations, RightHandSides, rate_equations, solve_rates
from nacelle.tree.spanning_tree import (
    CosineSine,
    JointTransform,
    coupled_coordinates,
    tree_kinematics_from_transforms,
    tree_transforms,
)


def _largest(values: Sequence[Scalar]) -> Scalar:
    largest: Scalar = 0.0
    for value in values:
        largest = maximum(largest, absolute(value))
    return largest


def _normalise(quat: Array) -> Array:
    return np.asarray(quat * divide(1.0, sqrt(dot(quat, quat))))


def quaternion_step(quat: Array, w: Array, *, before: bool) -> Array:
    """Change of a quaternion turned by a small rotation, in the fixed axes (before) or in its own."""
    small = pack([0.5 * w[0], 0.5 * w[1], 0.5 * w[2], 1.0])
    return np.asarray(_normalise(quat_product(small, quat) if before else quat_product(quat, small)) - quat)


def coordinate_steps(
    robot: Robot, joints: Sequence[int], q: Array, u: Array | Mapping[int, Scalar]
) -> list[Scalar]:
    """Changes of the coordinates q of some joints at steps u of all rates."""
    changes: list[Scalar] = []
    start = 0
    for j in joints:
        rate = robot.platform_nv + robot.v_slices[j].start
        for primitive in robot.joints[j].primitives:
            if primitive is Primitive.SPHERICAL:
                changes += list(
                    quaternion_step(q[start : start + 4], pack([u[rate + k] for k in range(3)]), before=False)
                )
            else:
                changes.append(u[rate])
            start, rate = start + primitive.nq, rate + primitive.nv
    return changes


@physics(y=unknowns_shape, x=pose_shape)
def loop_closing_step(robot: Robot, y: Array, x: Array) -> dict[str, Array]:
    """Newton's step "dy" (ny,) of the unknowns y towards closed loops at the pose x (nx,), and "error".

    The error is what is open: the largest gap over the robot's size. Angles that count turns go where they
    are.
    """
    dy, gaps = _step_and_gaps(robot, y, x)
    return {"dy": pack(dy), "error": _largest(gaps)}


@physics(y=unknowns_shape, x=pose_shape)
def loop_gaps(robot: Robot, y: Array, x: Array) -> dict[str, Array]:
    """What is open at the unknowns y (ny,) and the pose x (nx,): "gaps", lengths over the robot's size."""
    return {"gaps": pack(_step_and_gaps(robot, y, x)[1])}


def _step_and_gaps(
    robot: Robot, y: Array, x: Array, platform: Array | None = None
) -> tuple[list[Scalar], list[Scalar]]:
    """Newton's step of the unknowns, with a step (nw,) of the platform's rates if given; and what is open."""
    now = configuration(robot, x, y)
    mechanism = now.mechanism
    counted = [now.coordinates[axis] for axis in mechanism.counted]
    changes = [value - old for value, old in zip(counted, y[mechanism.iterated_count :], strict=True)]
    dy, gaps = (
        ([], []) if mechanism.has_closed_form else compact_form(loop_step)(now, x, y, platform=platform)
    )
    return [*dy, *changes], [*gaps, *changes]


def loop_step(
    now: Configuration, x: Array, y: Array, *, platform: Array | None = None
) -> tuple[list[Scalar], list[Scalar]]:
    """The step of the passive coordinates while the platform steps, and what is open."""
    robot, mechanism = now.robot, now.mechanism
    basis = chart_basis(mechanism, x, y[: mechanism.dependent_count])
    system = closure_equations_at(now)
    known = np.zeros((mechanism.platform_rate_count, 0)) if platform is None else platform.reshape(-1, 1)
    response = solve_rates(
        system, known, basis, right=RightHandSides(system.closures.residual), legs=mechanism.iterated_legs
    )
    if platform is None:
        u, dependent = response.u[:, -1], response.dependent[:, -1]
    else:
        u, dependent = response.u.sum(axis=1), response.dependent.sum(axis=1)
    dy = [dependent[k] for k in range(mechanism.dependent_count)]
    dy += coordinate_steps(robot, mechanism.iterated_joints, y[mechanism.dependent_count :], u)
    residual, scale = system.closures.residual, mechanism.row_scale
    return dy, [residual[row] / scale[row] for row in mechanism.iterated_rows]


def _actuator_gaps(q: Array, steps: Sequence[JointTransform]) -> list[Scalar]:
    """How far actuators are from wanted coordinates: radians (2 tan of half the angle) or metres."""
    result: list[Scalar] = []
    for value, step in zip(q, steps, strict=True):
        if isinstance(step, CosineSine):
            c, s = cos(value), sin(value)
            result.append(2.0 * (s * step.c - c * step.s) / (1.0 + c * step.c + s * step.s))
        else:
            result.append(value - step)
    return result


def largest_actuator_gap(now: Configuration, q: Array) -> Scalar:
    """How far the actuators of a configuration are from coordinates q, rad or robot sizes."""
    gaps = _actuator_gaps(q, actuator_transforms(now.robot, now.motion, now.steps))
    return _largest(_scaled_gaps(now.robot, gaps))


def _pose_step(layout: ReducedLayout, x: Array, rates: Array) -> list[Scalar]:
    """The change of a reduced pose at a step (n,) of the rates of its coordinates."""
    dx: list[Scalar] = []
    for name in layout.x_names:
        if layout.quaternion is not None and name == "qx":
            dx += list(quaternion_step(x[layout.quaternion], rates[layout.angular], before=True))
        elif layout.quaternion is None or name not in ("qy", "qz", "qw"):
            dx.append(rates[layout.v_index(name)])
    return dx


def _scaled_gaps(robot: Robot, gaps: Sequence[Scalar]) -> list[Scalar]:
    """Gaps of the actuators as pure numbers."""
    revolute = robot.revolute_actuators
    return [gap if turns else gap / robot.numeric.size for gap, turns in zip(gaps, revolute, strict=True)]


def _pose_size(robot: Robot) -> int:
    return 3 if robot.platform_nv == 3 else 7


@physics(y=lambda robot: (_pose_size(robot) + robot.nq,), q=actuators_shape)
def assembly_step(robot: Robot, y: Array, q: Array) -> dict[str, Array]:
    """A step of the whole robot towards closed loops with its actuators held, for every robot.

    Unknowns are the platform's pose (position, quat_xyzw) and the coordinates of all tree joints; those
    of actuators are taken from q.
    """
    mechanism = mechanism_of(robot)
    size = _pose_size(robot)
    coordinates = list(y[size:])
    for value, actuator in zip(q, robot.actuators, strict=True):
        if actuator.joint < robot.tree:
            coordinates[robot.q_slices[actuator.joint].start] = value
    R = np.eye(3) if size == 3 else rotation_quat(y[3:7])
    tree = pack(coordinates)
    steps = tree_transforms(robot, tree)
    motion = tree_kinematics_from_transforms(robot, Pose(R, y[:3]), steps)
    motion = replace(motion, coordinates=coupled_coordinates(robot, tree))
    # Actuators where a loop is cut are held by further rows of their leg or of the platform.
    gaps = _actuator_gaps(q, actuator_transforms(robot, motion, steps))
    system, right = rate_equations(robot, mechanism, motion), []
    rows = []
    closures = [*(leg.closures for leg in robot.legs), robot.platform.closures]
    for indices, spins in zip(closures, system.rows, strict=True):
        held = closure_actuators(robot, indices)
        rows.append((*spins, *(joint_rate_row(robot, motion, robot.actuators[k].joint) for k in held)))
        right.append((*(0.0,) * len(spins), *(-gaps[k] for k in held)))
    system = ClosureEquations(mechanism, system.closures, tuple(rows))
    basis = np.concatenate(mechanism.selection_matrices, axis=1)
    nothing = np.zeros((mechanism.platform_rate_count, 0))
    u = solve_rates(
        system,
        nothing,
        basis,
        right=RightHandSides(system.closures.residual, tuple(right)),
        zero_rates=tree_actuator_rates(robot),
        actuators_held=True,
    ).u[:, -1]
    dy = list(u[:3])
    if size == 7:
        dy += list(quaternion_step(y[3:7], u[3:6], before=True))
    changes = coordinate_steps(robot, range(robot.tree), tree, u)
    # An actuator's unknown moves to the value that was taken for it.
    for k, (new, old) in enumerate(zip(coordinates, y[size:], strict=True)):
        changes[k] = changes[k] + (new - old)
    loop_rows = [*mechanism.platform_rows, *(row for plan in mechanism.legs for row in plan.rows)]
    open_loops = [system.closures.residual[row] / mechanism.row_scale[row] for row in loop_rows]
    return {"dy": pack([*dy, *changes]), "error": _largest([*open_loops, *_scaled_gaps(robot, gaps)])}


# ---- steps that are followed along a path (`nacelle.emit.track`): with how far singularities are


def _with_unit_quaternion(robot: Robot, x: Array) -> Array:
    """A pose whose quaternion is of unit length: one on a straight way between two is not."""
    quaternion = mechanism_of(robot).layout.quaternion
    if quaternion is None:
        return x
    return pack([*x[: quaternion.start], *_normalise(x[quaternion]), *x[quaternion.stop :]])


def _with_unit_joints(robot: Robot, y: Array) -> Array:
    """Unknowns whose quaternions of joints are of unit length: those in the middle between two are not."""
    mechanism = mechanism_of(robot)
    entries, start = list(y), mechanism.dependent_count
    for j in mechanism.iterated_joints:
        for primitive in robot.joints[j].primitives:
            if primitive is Primitive.SPHERICAL:
                entries[start : start + 4] = list(_normalise(y[start : start + 4]))
            start += primitive.nq
    return pack(entries)


@physics(y=unknowns_shape, x=pose_shape)
def closing_path_step(robot: Robot, y: Array, x: Array) -> dict[str, Array]:
    """`loop_closing_step` on a way of poses, with "distances" from singularities of what is iterated.

    The last has the sign of the determinants of the branch: beyond a singularity another one.
    """
    x, raw, y = _with_unit_quaternion(robot, x), y, _with_unit_joints(robot, y)
    dy, gaps = _step_and_gaps(robot, y, x)
    dy = [new + step - old for new, step, old in zip(y, dy, raw, strict=True)]
    now = configuration(robot, x, y)
    squares = compact_form(iterated_distances)(now)
    side = _side(branch_determinants(now, y)[: branch_of(robot).signs])
    return {"dy": pack(dy), "error": _largest(gaps), "distances": _distances(squares, side)}


def _side(numbers: Iterable[Scalar]) -> Scalar:
    """The sign of a product of numbers that change theirs at singularities: on the other side of one -1."""
    side: Scalar = 1.0
    for number in numbers:
        side = side * sign(number)
    return side


def _distances(squares: Sequence[Scalar], side: Scalar) -> Array:
    """Distances from singularities by their squares, the last with the sign of the side."""
    values = [sqrt(square) for square in squares]
    return pack([*values[:-1], *(value * side for value in values[-1:])])


def pose_and_unknowns_shape(robot: Robot) -> tuple[int]:
    """Shape of a reduced pose with the passive coordinates behind it."""
    return (pose_shape(robot)[0] + unknowns_shape(robot)[0],)


def _pose_step_samples(
    robot: Robot, shapes: Mapping[str, tuple[int, ...]], groups: tuple[str, ...] = ()
) -> PreciseInputs | None:
    """Samples of inputs (u, q), at whose u = [x; y] the loops are closed."""

    def derive_inputs(states: PreciseStates, state: Decimals) -> dict[str, Decimals]:
        (size,) = pose_and_unknowns_shape(states.robot)
        return {"u": state[:size]}

    return input_samples(robot, shapes, groups, derive_inputs)


def _step_of_pose(robot: Robot, u: Array, q: Array) -> dict[str, Array]:
    """A step of the pose and the unknowns u = [x; y] towards actuator coordinates q, for every robot.

    First the unknowns close the loops at x; then the pose goes by J_r (q - q(x, y)), and the unknowns follow
    it, dy = dy_0 + (dy/dx) dx. "distances" are those of all legs and of the platform from singularities, the
    last with the sign of det J_r^-1 (where it is square) and of the determinants of the legs. "fit" is the
    error that a step can reduce: of redundant actuators J_r v for J_r (q - q(x, y)), v of least squares.
    """
    mechanism = mechanism_of(robot)
    layout = mechanism.layout
    x, y = _with_unit_quaternion(robot, u[: layout.nx]), _with_unit_joints(robot, u[layout.nx :])
    if mechanism.unknown_count:
        y = y + pack(_step_and_gaps(robot, y, x)[0])
    now = configuration(robot, x, y if mechanism.unknown_count else mechanism.reference[1])
    at = compact_form(jacobian_at)(now)
    J = at["J"]
    gap = _actuator_gaps(q, actuator_transforms(robot, now.motion, now.steps))
    v = least_squares(J, pack(gap).reshape(-1, 1)).X[:, 0]
    rates = v
    if has_tilt_coordinates(mechanism):
        changes = pose_tangent(robot, x, y)["x"] @ v
        order = [layout.v_index(name) for name in layout.x_names]
        rates = pack([changes[order.index(k)] for k in range(len(order))])
    dx = _pose_step(layout, x, rates)
    # The unknown quaternion may have lost its unit length on the way.
    dx = [new + step - old for new, step, old in zip(x, dx, u[: layout.nx], strict=True)]
    dy: list[Scalar] = []
    gaps: list[Scalar] = []
    if mechanism.unknown_count:
        basis = coordinate_selections(mechanism, x, y[: mechanism.dependent_count])[0]
        dy, gaps = _step_and_gaps(robot, y, x, np.asarray(basis @ rates))
        dy = list(y + pack(dy) - u[layout.nx :])
    squares = [*at["margins"], column_independence(J, twist_scales(robot))]
    numbers = [determinant_of_minors(J)] if len(J) == J.shape[1] else []
    numbers += list(branch_determinants(now, y)[: branch_of(robot).signs])
    return {
        "dy": pack([*dx, *dy]),
        "error": _largest([*gaps, *_scaled_gaps(robot, gap)]),
        "distances": _distances(squares, _side(numbers)),
        "fit": _largest([*gaps, *_scaled_gaps(robot, list(J @ v))]),
    }


@check_inputs_with(_pose_step_samples)
@physics(u=pose_and_unknowns_shape, q=actuators_shape)
def pose_path_step(robot: Robot, u: Array, q: Array) -> dict[str, Array]:
    """`_step_of_pose` to the coordinates of actuators, all of them."""
    step = _step_of_pose(robot, u, q)
    return {name: step[name] for name in ("dy", "error", "distances")}


@check_inputs_with(_pose_step_samples)
@physics(u=pose_and_unknowns_shape, q=actuators_shape)
def fitted_pose_path_step(robot: Robot, u: Array, q: Array) -> dict[str, Array]:
    """`_step_of_pose` to the pose that fits the coordinates of redundant actuators best."""
    step = _step_of_pose(robot, u, q)
    return {"dy": step["dy"], "error": step["fit"], "distances": step["distances"]}


@check_inputs_with(_pose_step_samples)
@physics(u=pose_and_unknowns_shape, q=actuators_shape)
def pose_step(robot: Robot, u: Array, q: Array) -> dict[str, Array]:
    """`pose_path_step` alone."""
    step = _step_of_pose(robot, u, q)
    return {name: step[name] for name in ("dy", "error")}
