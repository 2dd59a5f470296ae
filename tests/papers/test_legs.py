"""Legs and platform: against the tree, against the equations of [KI2007], over several kinds of scalars."""

from __future__ import annotations

import dataclasses
from functools import cache

import mpmath
import numpy as np
import pytest

from nacelle.dynamics import tree_form as tree
from nacelle.dynamics.actuators import least_norm_forces
from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.dynamics.physics import ALL_TERMS, Physics
from nacelle.dynamics.state import State, state_at
from nacelle.kinematics.configuration import Configuration
from nacelle.kinematics.jacobian import leg_jacobians
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import FrictionTerm, Joint, JointKind
from nacelle.model.leg import Body, Leg, MovingPlatform
from nacelle.model.platform import AXES, Motion
from nacelle.model.robot import Robot
from nacelle.papers import legs
from nacelle.papers.registration import FORMULATIONS
from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array
from nacelle.spatial.screw import Wrench
from nacelle.tree.actuation import actuator_rows
from nacelle.tree.closure import closure_frames
from nacelle.tree.rates import TreeRates
from nacelle.tree.spanning_tree import (
    point_acceleration,
    point_velocity,
    tree_kinematics_from_transforms,
    tree_transforms,
    tree_velocity,
)
from support import leg_direct_model
from support.compare import assert_same
from support.forty_digits import AGREE, DIGITS, largest_difference, precise, precise_pose, precise_robot
from support.library import NAMES
from support.random_robots.loads import random_inertia, with_random_loads
from support.random_robots.numbers import random_coordinates, random_rotation
from support.uncompiled import ALL, named_robot, poses_around, solve_uncompiled

# Which robots the formulation does not serve, and a word of the reason.
REFUSED = {
    "delta4": "joints of its own",
    "h4": "joints of its own",
    "quattro": "joints of its own",
    "c5-slides": "hangs on the platform",
}
SERVED = tuple(name for name in ALL if name not in REFUSED)
# Those with square J_i; the others have more equations than rates, or idle spins.
NOT_SQUARE = ("3rps", "delta", "delta4", "h4", "orthoglide", "quattro")


# ---------------------------------------------------------------------------- robots and states in general


@cache
def furnished_robot(name: str, seed: int = 1) -> Robot:
    """A robot with general inertias, gravity and payload, with friction, springs and rotors in its joints."""
    return with_random_loads(named_robot(name), seed)


def motions(name: str, count: int, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """x, y, v and a (count, ...) around the reference pose."""
    robot = named_robot(name)
    x = poses_around(robot, count, seed)
    v, a = np.random.default_rng(seed).normal(size=(2, count, robot.motion.n))
    return x, solve_uncompiled(robot, x), v, 3.0 * a


def with_external_wrenches(state: State, seed: int = 7) -> State:
    """The state with external wrenches on all bodies."""
    rng = np.random.default_rng(seed)
    bodies = range(1, len(state.robot.bodies))
    wrenches = {body: Wrench(*(5.0 * rng.normal(size=(2, 3)))) for body in bodies}
    return dataclasses.replace(state, external=wrenches)


def load_variants(state: State) -> list[tuple[State, Physics]]:
    """The state without friction; and with friction, sudden and smooth, under wrenches on all bodies."""
    return [
        (state, Physics(friction=False)),
        *((with_external_wrenches(state), Physics(smooth=s)) for s in (None, 0.2)),
    ]


def cases(name: str, count: int = 2) -> list[tuple[State, Array]]:
    """States of the general robot, and accelerations."""
    robot = furnished_robot(name)
    return [(state_at(robot, x, y, v), a) for x, y, v, a in zip(*motions(name, count), strict=True)]


# ---------------------------------------------------------------------------- which robots


def test_which_robots_are_served() -> None:
    for name in ALL:
        reason = legs.reason_not(mechanism_of(named_robot(name)))
        assert (REFUSED[name] in reason) if name in REFUSED else not reason, name
    reported = legs.reason_not(mechanism_of(named_robot("delta4")))
    assert (
        reported
        == "its platform has joints of its own (turn), and F_p of [KI2007] (12) is for one rigid body"
    )
    reported = legs.reason_not(mechanism_of(named_robot("c5-slides")))
    assert reported == "body leg1.outer hangs on the platform, and the legs of [KI2007] start from the base"


def test_which_legs_are_square() -> None:
    found = [n for n in NAMES if not all(plan.square for plan in mechanism_of(named_robot(n)).legs)]
    assert tuple(found) == NOT_SQUARE


# ---------------------------------------------------------------------------- against the tree


@pytest.mark.parametrize("name", ALL)
def test_forces_are_those_of_the_tree(name: str) -> None:
    """By every formulation that serves the robot; [AGH2005] serves all."""
    mechanism = mechanism_of(furnished_robot(name))
    served = {
        key: own for key, own in FORMULATIONS.items() if key != "tree" and not own.reason_not(mechanism)
    }
    assert "jourdain" in served
    assert ("legs" in served) == (name in SERVED)
    for state, a in cases(name):
        for at, physics in load_variants(state):
            expected = tree.generalised_force(at, a, physics)
            for key, formulation in served.items():
                close = 1e-11 if key == "elements" else 1e-12
                assert_same(formulation.generalised_force(at, a, physics), expected, close, f"{name} {key}")


@pytest.mark.parametrize("name", SERVED)
def test_mass_matrix_and_bias(name: str) -> None:
    for state, a in cases(name):
        state = with_external_wrenches(state)
        M, h = leg_direct_model.mass_matrix(state), leg_direct_model.bias(state, ALL_TERMS)
        assert_same(M, tree.mass_matrix(state), 1e-12, f"{name} A_robot")
        assert_same(M, M.T, 1e-13, f"{name} symmetry")
        assert np.linalg.eigvalsh(M)[0] > 0.0
        assert_same(M @ a + h, tree.generalised_force(state, a, ALL_TERMS), 1e-12, f"{name} A a + h")


@pytest.mark.parametrize("name", ["space", "gough-stewart", "fivebar", "delta", "redundant", "orthoglide"])
def test_active_forces_need_no_projection(name: str) -> None:
    """Gamma = H^a + J_r^T (the rest) ([KI2007] (22))."""
    for state, a in cases(name):
        state = with_external_wrenches(state)
        A = actuator_rows(state.robot, state.now.motion) @ state.moving.U
        F = legs.generalised_force(state, a, ALL_TERMS)
        own, rest = leg_direct_model.split_force(state, a, ALL_TERMS)
        assert_same(A.T @ own + rest, F, 1e-12, name)
        assert np.all(own != 0.0)
        if len(A) == len(F):
            assert_same(own + least_norm_forces(A, rest).tau, least_norm_forces(A, F).tau, 1e-11, name)


def chain_of_all_joints(seed: int = 3) -> tuple[State, Array]:
    """A chain with a joint of every kind, whose rates are all free (U = 1): only a tree, with no loops."""
    rng = np.random.default_rng(seed)
    kinds = [kind for kind in JointKind if kind not in (JointKind.POINT, JointKind.COUPLING)]

    def frame() -> Pose:
        return Pose(random_rotation(rng), rng.normal(size=3))

    joints, bodies_ = [], [Body("base"), Body("plate", tuple(random_inertia(rng, 1.0)))]
    for k, kind in enumerate(kinds):
        parent = 0 if k == 0 else k + 1
        joints.append(Joint(f"j{k}", kind, parent, k + 2, frame(), frame()))
        bodies_.append(Body(f"b{k}", tuple(random_inertia(rng, 1.0))))
    count = len(kinds)
    leg = Leg("leg", tuple(range(2, count + 2)), tuple(range(count)), ())
    robot = Robot(
        "chain",
        tuple(bodies_),
        tuple(joints),
        count,
        (leg,),
        MovingPlatform("rigid", (1,), (), ()),
        Motion(AXES),
        (),
        gravity=(1.0, 2.0, -9.0),
    )
    q = random_coordinates(robot, rng)
    steps = tree_transforms(robot, q)
    motion = tree_kinematics_from_transforms(robot, frame(), steps)
    rates = robot.platform_nv + robot.nv
    u, a = rng.normal(size=(2, rates))
    moving = TreeRates(np.eye(rates), u, np.zeros(rates), tree_velocity(robot, motion, u))
    state = State(Configuration(robot, tuple(steps), motion, ()), moving)
    return state, a


def test_every_kind_of_joint_in_a_leg() -> None:
    """Jacobian, motions and forces of a chain with all kinds of joints are those of the tree."""
    state, a = chain_of_all_joints()
    robot, motion, m = state.robot, state.now.motion, state.robot.platform_nv
    dq, ddq = state.moving.u[m:], a[m:]
    motions_ = legs.leg_motions(state, 0, dq, ddq)
    for body in robot.legs[0].bodies:
        pose, V = motion.poses[body], state.moving.velocity.twists[body]
        J = legs.leg_columns(state, 0, body, pose.p)
        assert_same(J, motion.jacobian(body)[:, m:], 1e-13, "J_i")
        dV = (
            state.moving.velocity.biases[body]
            + motion.columns[:, motion.movers[body]] @ a[motion.movers[body]]
        )
        found = motions_[body]
        assert_same(found.v, point_velocity(V, pose.p), 1e-12, "v")
        assert_same(found.a, point_acceleration(V, dV, pose.p), 1e-12, "a")
        assert_same(found.w, V[3:], 1e-12, "w")
        assert_same(found.dw, dV[3:], 1e-12, "dw")
    state = with_external_wrenches(state)
    H = legs.leg_dynamics(state, 0, dq, ddq, ALL_TERMS)
    assert_same(H, tree.tree_forces(state, a, ALL_TERMS)[m:], 1e-12, "H_i")


# ---------------------------------------------------------------------------- against the paper


def test_jacobians_of_the_gough_stewart_robot() -> None:
    """J_i = [a_1 x BP, a_2 x BP, a_3] (35) and J_vi = [1, -PP_i^] (49), in the axes of the ball's frame."""
    name = "gough-stewart"
    x, y, v, _ = (part[0] for part in motions(name, 1))
    state = state_at(named_robot(name), x, y, v)
    for k, expected in enumerate(leg_jacobians(state.robot, x)):
        J, Jv = legs.leg_jacobian(state, k)
        ball = state.robot.joints[state.robot.legs[k].closures[0]]
        R = closure_frames(ball, state.now.motion)[0].R
        assert_same(R @ J, expected.J[:3], 1e-13, "J_i")
        assert_same(R @ Jv, expected.Jv[:3], 1e-13, "J_vi")


def test_inverse_jacobian_of_the_space_robot() -> None:
    """J_1^-1 in the base's axes is (36), as corrected."""
    x, y, v, _ = (part[0] for part in motions("space", 1))
    state = state_at(named_robot("space"), x, y, v)
    leg = legs.leg_states(state)[0]
    ball = state.robot.joints[state.robot.legs[0].closures[0]]
    R = closure_frames(ball, state.now.motion)[0].R
    q1, q2, L = state.now.q_tree[:3]
    C1, S1, C2, S2 = np.cos(q1), np.sin(q1), np.cos(q2), np.sin(q2)
    expected = [
        [-S1 / (L * S2), 0.0, -C1 / (L * S2)],
        [C1 * C2 / L, S2 / L, -C2 * S1 / L],
        [C1 * S2, -C2, -S1 * S2],
    ]
    assert_same(leg.inverse @ R.T, expected, 1e-12, "(36)")


def test_accelerations_of_the_c5_slide_on_its_faces() -> None:
    """(64), which lacks terms, as corrected, with v_rel = a q' - v - w x PP:

    r.a q'' = r.(dv + dw x PP + w x (w x PP) + 2 w x v_rel)
    """
    for x, y, v, a in zip(*motions("c5", 2), strict=True):
        state = state_at(named_robot("c5"), x, y, v)
        robot, w, dw = state.robot, v[3:], a[3:]
        for leg in legs.leg_states(state):
            face = robot.joints[robot.legs[leg.leg].closures[0]]
            slide = robot.joints[robot.legs[leg.leg].joints[0]]
            first, second = closure_frames(face, state.now.motion)
            r, axis = first.R[:, 2], closure_frames(slide, state.now.motion)[0].R[:, 2]
            PP = second.p - state.now.motion.poses[1].p
            slip = axis * leg.dq[0] - v[:3] - np.cross(w, PP)
            right = a[:3] + np.cross(dw, PP) + np.cross(w, np.cross(w, PP)) + 2.0 * np.cross(w, slip)
            assert_same(leg.accelerations(a), [r @ right / (r @ axis)], 1e-12, "q''")


def test_friction_of_the_last_joint_counts() -> None:
    """Friction in the balls alone, which q_i does not hold: its power is what friction takes, and no less."""
    robot = named_robot("gough-stewart")
    joints = tuple(
        dataclasses.replace(
            joint,
            friction=(
                ((FrictionTerm("viscous", 2.0),),) if k >= robot.tree else ((),) * len(joint.primitives)
            ),
        )
        for k, joint in enumerate(robot.joints)
    )
    robot = dataclasses.replace(robot, joints=joints)
    x, y, v, _ = (part[0] for part in motions("gough-stewart", 1))
    state = state_at(robot, x, y, v)
    zero = np.zeros(6)
    with_it, without = (legs.generalised_force(state, zero, Physics(friction=on)) for on in (True, False))
    power = 0.0
    for joint in robot.closures:
        spins = [state.moving.velocity.twists[body][3:] for body in (joint.predecessor, joint.successor)]
        power += 2.0 * float(np.sum((spins[1] - spins[0]) ** 2))
    assert_same([(with_it - without) @ v], [power], 1e-12, "power of friction")


# ---------------------------------------------------------------------------- scalars


@pytest.mark.costly
@pytest.mark.parametrize(
    ("formulation", "name"),
    [("legs", name) for name in ("hexa", "orthoglide", "fivebar", "delta")]
    + [("jourdain", name) for name in ("palida", "h4", "3rps")]
    + [("elements", name) for name in ("fivebar", "delta", "gough-stewart", "h4", "3rps", "c5", "delta4")],
)
@pytest.mark.thinned
def test_batches_are_samples(formulation: str, name: str) -> None:
    robot, force = furnished_robot(name), FORMULATIONS[formulation].generalised_force
    x, y, v, a = motions(name, 4)
    state = with_external_wrenches(state_at(robot, *(from_samples(part, 1) for part in (x, y, v))))
    F = to_samples(force(state, from_samples(a, 1), ALL_TERMS))
    for k in range(4):
        one = with_external_wrenches(state_at(robot, x[k], y[k], v[k]))
        assert_same(F[k], force(one, a[k], ALL_TERMS), 1e-12 if formulation == "elements" else 1e-13, name)
        if formulation == "legs":
            M = to_samples(leg_direct_model.mass_matrix(state))
            assert_same(M[k], leg_direct_model.mass_matrix(one), 1e-13, name)
            h = to_samples(leg_direct_model.bias(state, ALL_TERMS))
            assert_same(h[k], leg_direct_model.bias(one, ALL_TERMS), 1e-13, name)


@pytest.mark.parametrize(
    ("formulation", "name"),
    [("legs", name) for name in ("space", "delta-codourey", "3rrr", "hexaglide", "orthoglide", "c5")]
    + [("jourdain", name) for name in ("fivebar", "palida", "hexa", "space")],
)
def test_forty_digits(formulation: str, name: str) -> None:
    """They agree with the tree to the digits that are carried, with frames that are rotations to as many."""
    robot, force = furnished_robot(name), FORMULATIONS[formulation].generalised_force
    x, y, v, a = (part[0] for part in motions(name, 1))
    with mpmath.workdps(DIGITS):
        state = with_external_wrenches(
            state_at(precise_robot(robot), precise_pose(robot, x), precise(y), precise(v))
        )
        expected = tree.generalised_force(state, precise(a), ALL_TERMS)
        found = force(state, precise(a), ALL_TERMS)
        assert largest_difference(found, expected) < AGREE
    floats = force(with_external_wrenches(state_at(robot, x, y, v)), a, ALL_TERMS)
    assert_same(floats, [float(value) for value in found], 1e-12, name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formulation", "name"),
    [
        ("legs", "delta-codourey"),
        ("legs", "c5"),
        ("jourdain", "delta-codourey"),
        ("elements", "delta-codourey"),
        ("elements", "3rps"),
    ],
)
def test_compiled(formulation: str, name: str) -> None:
    robot = named_robot(name)
    x, _, v, a = motions(name, 3)
    found = inverse_dynamics(robot, x, v, a, formulation=formulation).tau
    assert_same(found, inverse_dynamics(robot, x, v, a).tau, 1e-11, name)
