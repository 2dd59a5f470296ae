"""The elastodynamic model of a robot with flexible links over any scalar: equations, functions, flow.

Inputs are positions p that close all loops (`positions`), independent rates y = [q_a'; others] (`plan`) and
the actuators' accelerations or forces:

    inverse   q_a'' -> tau and the others' accelerations        M_ee y_e'' = -(M_ea q_a'' + c_e)
    forward   tau -> all accelerations                          M y'' = [tau; 0] - c

At positions p and independent rates y' = [q_a'; others] (`plan`):

    r = J y'                                 all rates; J (r, n) from the closures           (34)
    r' = J y'' + b                           b from closure accelerations at constant rates   (37)
    [tau; 0] = J^T (M J y'' + M b + c)       M (r, r), c (r,) of the virtual system           (25), (26), (38)

M and c are those of the tree of frames: rigid bodies by their wrenches, beams by the generalised Newton-Euler
model; friction, springs and rotors of joints as for rigid robots. Actuator forces tau are along q_a.

The flow is the derivative of the state s = [p; y]. Positions p (size,) follow all rates, which follow the
independent ones y (n,), the actuators' first:

    p' = P(p) r,   r = J(p) y
    M y' + c = [tau; 0],   or with prescribed motion  M_ee z' = -(M_ea a + c_e)  of the other rates z

P turns rates to changes of coordinates (quaternions). Inputs u (actuators,) are the actuators' forces tau, N
or N m, or their accelerations a (prescribed motion). Loops are closed at every evaluation by one of Newton's
steps from positions that were integrated, so that what is left open is the square of the integration's error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nacelle.dynamics.physics import ALL_TERMS, Physics
from nacelle.dynamics.state import State
from nacelle.dynamics.tree_form import tree_forces
from nacelle.elastic.beam.newton_euler import ElasticMotion, FrameMotion, beam_forces, elastic_forces
from nacelle.elastic.dynamics import energy, positions
from nacelle.elastic.dynamics.plan import RatePlan, choose_independent_rates
from nacelle.elastic.frames import ElasticFrames, configured_frames, tree_in_motion
from nacelle.kinematics.configuration import Configuration
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, Scalar, pack, product
from nacelle.spatial.solve import solve
from nacelle.tree.closure import closure_bias, closure_residual
from nacelle.tree.rates import internal_freedom_biases
from nacelle.tree.spanning_tree import TreeVelocity, point_acceleration


@dataclass(frozen=True)
class ConfiguredRobot:
    """A robot with flexible links at positions p.

    Attributes:
        plan: which rates are independent.
        p: positions.
        frames: poses of all frames.
        now: the tree of frames as a configuration.
        A: closure rows that determine the dependent rates (d, r).
    """

    plan: RatePlan
    p: Array
    frames: ElasticFrames
    now: Configuration
    A: Array


def configure_robot(plan: RatePlan, p: Array) -> ConfiguredRobot:
    """The robot at positions p (size,)."""
    elastic_tree = plan.elastic_tree
    frames, now = configured_frames(elastic_tree, *positions.split_positions(elastic_tree, p))
    return ConfiguredRobot(plan, p, frames, now, frames.constraints()[list(plan.rows)])


def open_closure_rows(at: ConfiguredRobot) -> Array:
    """What the closures' chosen rows leave open (d,), lengths over the robot's size."""
    plan = at.plan
    mechanism = mechanism_of(plan.elastic_tree.robot)
    gaps = closure_residual(plan.elastic_tree.tree, at.frames.motion) / mechanism.row_scale
    spins = sum(map(len, mechanism.spins))
    return np.concatenate([gaps, np.zeros(spins)])[list(plan.rows)]


def loop_step(at: ConfiguredRobot) -> Array:
    """Step (r,) of the dependent rates towards closed loops: Newton's."""
    change = solve(at.A[:, list(at.plan.dependent)], -open_closure_rows(at))
    return _assemble_rates(at.plan, change, np.zeros(at.plan.n))


def _assemble_rates(plan: RatePlan, dependent: Array, independent: Array) -> Array:
    entries: list[Scalar] = [0.0] * plan.elastic_tree.embedding.shape[1]
    for index, value in zip(plan.dependent, dependent, strict=True):
        entries[index] = value
    for index, value in zip(plan.independent, independent, strict=True):
        entries[index] = value
    return pack(entries)


@dataclass(frozen=True)
class MovingRobot:
    """A robot with flexible links in motion.

    Attributes:
        at: where it is.
        r: all rates.
        state: the tree of frames, for rigid bodies and joints.
    """

    at: ConfiguredRobot
    r: Array
    state: State


def moving_robot(at: ConfiguredRobot, r: Array) -> MovingRobot:
    """The robot at rates r (r,) that satisfy its closures."""
    return MovingRobot(at, r, tree_in_motion(at.plan.elastic_tree, at.now, r))


def second_rates(motion: MovingRobot) -> Array:
    """Second derivatives (d,) of the closures' chosen rows where all rates stay constant."""
    plan = motion.at.plan
    mechanism = mechanism_of(plan.elastic_tree.robot)
    tree, velocity = motion.at.frames.motion, motion.state.moving.velocity
    second = closure_bias(plan.elastic_tree.tree, tree, velocity) / mechanism.row_scale
    spins = [value for leg in internal_freedom_biases(mechanism, tree, velocity) for value in leg]
    return pack([*second, *spins])[list(plan.rows)]


class ReducedMotion(NamedTuple):
    """A robot in motion with its independent rates.

    Attributes:
        motion: the robot in motion.
        J: all rates from the independent ones (r, n).
        bias: derivatives of all rates where the independent ones stay constant.
    """

    motion: MovingRobot
    J: Array
    bias: Array


def reduced_motion(at: ConfiguredRobot, y: Array) -> ReducedMotion:
    """The robot at independent rates y (n,)."""
    plan = at.plan
    A_D, A_I = at.A[:, list(plan.dependent)], at.A[:, list(plan.independent)]
    followed = -solve(A_D, A_I) if plan.dependent else np.zeros((0, plan.n))
    rows: list[Array] = [np.zeros(plan.n)] * plan.elastic_tree.embedding.shape[1]
    for index, row in zip(plan.dependent, followed, strict=True):
        rows[index] = row
    for k, index in enumerate(plan.independent):
        rows[index] = np.eye(plan.n)[k]
    J = np.stack(rows)
    motion = moving_robot(at, product(J, y))
    return ReducedMotion(
        motion, J, _assemble_rates(plan, -solve(A_D, second_rates(motion)), np.zeros(plan.n))
    )


def frame_motion(frames: ElasticFrames, velocity: TreeVelocity, beam: int, rate: Array) -> FrameMotion:
    """Motion of a beam's floating frame in its axes, at derivatives `rate` (r,) of the rates."""
    elastic_tree, tree = frames.elastic_tree, frames.motion
    body = elastic_tree.shapes[beam].beam.body
    pose, movers = frames.floating_frame(beam), tree.movers[body]
    u_dot = product(elastic_tree.embedding, rate)
    twist = velocity.twists[body]
    change = velocity.biases[body] + product(tree.columns[:, movers], u_dot[movers])
    a = point_acceleration(twist, change, pose.p) - np.asarray(elastic_tree.robot.gravity)
    back = pose.R.T
    return FrameMotion(product(back, a), product(back, twist[3:]), product(back, change[3:]))


def beam_loads(frames: ElasticFrames, state: State, r: Array, rate: Array) -> Array:
    """Forces (r,) that beams and springs of drives require at derivatives `rate` (r,) of the rates r."""
    elastic_tree = frames.elastic_tree
    total: Array = np.zeros(len(r))
    for k, shapes in enumerate(elastic_tree.shapes):
        part = elastic_tree.rate_slices[k]
        qe, qe_rate = frames.qe[elastic_tree.slices[k]], r[part]
        elastic = ElasticMotion(qe, qe_rate, rate[part])
        f, n, s = beam_forces(shapes, frame_motion(frames, state.moving.velocity, k, rate), elastic)
        s = s + elastic_forces(shapes, qe, qe_rate)
        total = total + product(frames.beam_jacobian(k).T, np.concatenate([f, n, s]))
    for number, drive in enumerate(elastic_tree.springs, start=len(elastic_tree.shapes)):
        part = elastic_tree.rate_slices[number]
        effort = (
            drive.stiffness * frames.qe[elastic_tree.slices[number].start] + drive.damping * r[part.start]
        )
        total = total + np.eye(len(r))[part.start] * effort
    return total


def required_forces(motion: MovingRobot, rate: Array, physics: Physics) -> Array:
    """Forces (r,) along all rates that the motion requires at derivatives `rate` (r,) of the rates."""
    elastic_tree = motion.at.plan.elastic_tree
    u_dot = product(elastic_tree.embedding, rate)
    total = product(elastic_tree.embedding.T, tree_forces(motion.state, u_dot, physics))
    return np.asarray(total + beam_loads(motion.at.frames, motion.state, motion.r, rate))


def motion_equations(now: ReducedMotion, physics: Physics) -> tuple[Array, Array]:
    """M (n, n) and c (n,) of [tau; 0] = M y'' + c ([BK2013] (38))."""
    M = product(now.J.T, product(now.motion.at.frames.mass_matrix(), now.J))
    return M, product(now.J.T, required_forces(now.motion, now.bias, physics))


# ---- the elastodynamic models as physics functions: inverse, forward, energies ([BK2013] (38))


def of_positions(robot: Robot) -> tuple[int]:
    """Shape of the positions."""
    return (positions.position_count(choose_independent_rates(robot).elastic_tree),)


def of_rates(robot: Robot) -> tuple[int]:
    """Shape of the independent rates."""
    return (choose_independent_rates(robot).n,)


def of_inputs(robot: Robot) -> tuple[int]:
    """Shape of the actuators' forces or accelerations."""
    return (len(robot.actuators),)


@physics(p=of_positions, y=of_rates, a=of_inputs)
def elastic_inverse(
    robot: Robot, p: Array, y: Array, a: Array, *, physics: Physics = ALL_TERMS
) -> dict[str, Array]:
    """Forces tau (na,), N or N m, at accelerations a (na,) of the actuators, and those z of the other rates.

    M [a; z] + c = [tau; 0] at positions p (size,) and independent rates y (n,), the actuators' first: z from
    the lower rows, tau from the upper ones.
    """
    plan = choose_independent_rates(robot)
    M, c = motion_equations(reduced_motion(configure_robot(plan, p), y), physics)
    k = plan.na
    others = solve(M[k:, k:], -(product(M[k:, :k], a) + c[k:]), "spd")
    return {
        "force": product(M[:k, :k], a) + product(M[:k, k:], others) + c[:k],
        "acceleration": others,
    }


@physics(p=of_positions, y=of_rates, tau=of_inputs)
def elastic_forward(
    robot: Robot, p: Array, y: Array, tau: Array, *, physics: Physics = ALL_TERMS
) -> dict[str, Array]:
    """Accelerations y' (n,) at positions p (size,), rates y (n,), forces tau (na,): M y' + c = [tau; 0]."""
    plan = choose_independent_rates(robot)
    M, c = motion_equations(reduced_motion(configure_robot(plan, p), y), physics)
    right = pack([*tau, *np.zeros(plan.n - plan.na)]) - c
    return {"acceleration": solve(M, right, "spd")}


@physics(p=of_positions, y=of_rates)
def elastic_energies(robot: Robot, p: Array, y: Array, *, physics: Physics = ALL_TERMS) -> dict[str, Any]:
    """Kinetic and potential energy (J), power that is lost (W), and the rates of platform and joints."""
    motion = reduced_motion(configure_robot(choose_independent_rates(robot), p), y).motion
    frames, state = motion.at.frames, motion.state
    return {
        "kinetic": energy.kinetic_energy(frames, motion.r),
        "potential": energy.potential_energy(frames, state),
        "dissipation": energy.dissipated_power(frames, state, motion.r, physics),
        "rates": motion.r[: robot.platform_nv + robot.nv],
    }


def of_all_rates(robot: Robot) -> tuple[int]:
    """Shape of all rates r."""
    return (choose_independent_rates(robot).elastic_tree.embedding.shape[1],)


@physics(p=of_positions, r=of_all_rates)
def elastic_terms(robot: Robot, p: Array, r: Array, *, physics: Physics = ALL_TERMS) -> dict[str, Any]:
    """Terms of the model before the closures are solved, for large robots: M, forces h at constant rates r.

    Also A (d, r) and second derivatives of the closures' chosen rows, and energies.
    """
    at = configure_robot(choose_independent_rates(robot), p)
    motion = moving_robot(at, r)
    return {
        "M": at.frames.mass_matrix(),
        "h": required_forces(motion, np.zeros(len(r)), physics),
        "A": at.A,
        "second": second_rates(motion),
        "potential": energy.potential_energy(at.frames, motion.state),
        "dissipation": energy.dissipated_power(at.frames, motion.state, r, physics),
    }


@physics(p=of_positions)
def elastic_closure_gaps(robot: Robot, p: Array) -> dict[str, Any]:
    """A (d, r) and what the closures' chosen rows leave open (d,)."""
    at = configure_robot(choose_independent_rates(robot), p)
    return {"A": at.A, "gap": open_closure_rows(at)}


@physics(p=of_positions)
def elastic_closing_step(robot: Robot, p: Array) -> dict[str, Array]:
    """Positions "p" (size,) after one of Newton's steps towards closed loops, and the "step" (rates,)."""
    plan = choose_independent_rates(robot)
    step = loop_step(configure_robot(plan, p))
    return {"p": positions.step_positions(plan.elastic_tree, p, step), "step": step}


@physics(p=of_positions, step=of_rates)
def elastic_step(robot: Robot, p: Array, step: Array) -> Array:
    """Positions after a small step (n,) of the independent rates, loops open by its square."""
    plan = choose_independent_rates(robot)
    return positions.step_positions(
        plan.elastic_tree, p, reduced_motion(configure_robot(plan, p), step).motion.r
    )


# ---- the flow of a robot with flexible links: the derivative of its state s = [p; y]


def state_size(robot: Robot) -> tuple[int]:
    """Shape of the state."""
    plan = choose_independent_rates(robot)
    return (positions.position_count(plan.elastic_tree) + plan.n,)


@physics(s=state_size, u=of_inputs, constants=(1,))
def elastic_flow(
    robot: Robot,
    s: Array,
    u: Array,
    constants: Array,
    *,
    prescribed: bool = False,
    physics: Physics = ALL_TERMS,
) -> Array:
    """Derivative of the state at inputs u (actuators,): forces, or accelerations where `prescribed`."""
    plan = choose_independent_rates(robot)
    size = positions.position_count(plan.elastic_tree)
    p, y = s[:size], s[size:]
    p = positions.step_positions(plan.elastic_tree, p, loop_step(configure_robot(plan, p)))
    if prescribed:
        others = elastic_inverse(robot, p, y, u, physics=physics)["acceleration"]
        accelerations = [*u, *others]
    else:
        accelerations = list(elastic_forward(robot, p, y, u, physics=physics)["acceleration"])
    now = reduced_motion(configure_robot(plan, p), y)
    return pack([*positions.position_rates(plan.elastic_tree, p, now.motion.r), *accelerations])
