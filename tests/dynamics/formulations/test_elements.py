"""Kinematic elements: against the tree, against the equations of [OAM], over several kinds of scalars."""

from __future__ import annotations

import dataclasses
from functools import cache

import mpmath
import numpy as np
import pytest

from nacelle.dynamics.actuators import least_norm_forces
from nacelle.dynamics.formulations import tree
from nacelle.dynamics.formulations.elements import projection as elements
from nacelle.dynamics.formulations.elements.bodies import groups
from nacelle.dynamics.formulations.elements.forces import body_forces, dynamic_coordinates, whole_bodies
from nacelle.dynamics.formulations.elements.motion import element_motion
from nacelle.dynamics.formulations.elements.reading import element_legs
from nacelle.dynamics.settings import Settings
from nacelle.dynamics.state import State, state_at
from nacelle.dynamics.wrench import Wrench
from nacelle.kinematics.actuation import actuator_rows
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import FrictionTerm, Joint, JointKind, Primitive, Spring
from nacelle.model.platform import Payload
from nacelle.model.robot import Robot
from nacelle.program.trace import trace
from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.inertia import parameters_from_com
from support.compare import assert_same
from support.forty_digits import AGREE, DIGITS, largest_difference, precise, precise_pose, precise_robot
from support.leg_robots import CASES
from support.random_inertia import with_random_friction, with_random_inertias
from support.random_programs import evaluate
from support.uncompiled import ALL, any_robot, poses_around, solve_uncompiled

Array = np.ndarray

# The robots of the library and of the tests that are written as elements, and what they are made of.
COVERED = {
    "3rps": "3 T",
    "3rrr": "3 BB",
    "c5": "6 T",
    "delta": "3 BBB",
    "delta-codourey": "3 BB",
    "delta4": "3 BBB, 1 SpS",
    "fivebar": "2 BB",
    "gough-stewart": "6 T",
    "h4": "4 BBB",
    "hexa": "6 BB",
    "hexaglide": "6 TB",
    "orthoglide": "3 TBB",
    "palida": "6 T",
    "prrrp": "2 TB",
    "quattro": "4 BBB",
    "space": "3 T",
    "everything": "6 T",
    "fivebar-mirror": "2 BB",
    "redundant": "3 BB",
}
# The others, and a word of the reason.
REFUSED = {
    "dymo": "(URU) is not made of kinematic elements",
    "dymo/orientational": "(URU)",
    "dymo/planar": "(URU)",
    "dymo/mixed": "(URU)",
    "c5-slides": "(PSPP)",
    "shared": "is not made of kinematic elements",
}
REFUSED_LEGS = ("URS", "PSPP", "RUPU", "RRRS", "URU", "with a pair first")


def cased(name: str) -> bool:
    """Whether a random robot of some leg types is covered."""
    kinds = name.replace(" + ", " ").replace("RRRS with axes that meet", "").replace("PRRS", "").split(" ", 1)
    return not any(word in kinds[1] for word in REFUSED_LEGS)


CASED = tuple(name for name in CASES if cased(name))


@cache
def general(name: str, seed: int = 3) -> Robot:
    """A robot with general inertias, gravity, friction, rotors, springs and a payload."""
    robot = any_robot(name) if name in ALL else CASES[name](seed).robot
    robot = with_random_friction(with_random_inertias(robot, seed), seed + 1)
    rng = np.random.default_rng(seed + 2)
    active = {actuator.joint for actuator in robot.actuators}
    joints = []
    for k, joint in enumerate(robot.joints):
        springs = tuple(
            None if primitive is Primitive.BALL else Spring(float(rng.uniform(5, 20)), float(rng.normal()))
            for primitive in joint.primitives
        )
        drive = {"rotor_inertia": float(rng.uniform(0.1, 1)), "gear_ratio": float(rng.uniform(1, 3))}
        single = joint.kind in (JointKind.REVOLUTE, JointKind.PRISMATIC)
        extra = drive if k in active or (single and k % 2) else {}
        joints.append(dataclasses.replace(joint, springs=springs, **extra))
    load = parameters_from_com(0.8, rng.normal(size=3) * 0.1, np.diag([0.02, 0.03, 0.04]))
    payload = (
        () if robot.nacelle.kind == "point" else (Payload("load", robot.nacelle.bodies[-1], tuple(load)),)
    )
    return dataclasses.replace(robot, joints=tuple(joints), payload=payload)


def samples(robot: Robot, count: int = 2, seed: int = 0) -> list[tuple[State, Array, Settings]]:
    """States near the reference with an acceleration, and wrenches on all bodies."""
    rng = np.random.default_rng(seed)
    x = poses_around(robot, count, seed, 0.02, 0.04)
    y = solve_uncompiled(robot, x)
    found = []
    for k in range(count):
        v, a = rng.normal(size=(2, robot.motion.n))
        external = {body: Wrench(*rng.normal(size=(2, 3))) for body in range(1, len(robot.bodies))}
        found.append((state_at(robot, x[k], y[k], v), a, Settings(external=external)))
    return found


# ---------------------------------------------------------------------------- which robots


def test_what_is_covered() -> None:
    assert set(COVERED) | set(REFUSED) == set(ALL)
    for name, made_of in COVERED.items():
        mechanism = mechanism_of(any_robot(name))
        assert elements.reason_not(mechanism) == "", name
        words: dict[str, int] = {}
        for leg in element_legs(mechanism):
            word = "".join(element.letter for element in leg.elements)
            words[word] = words.get(word, 0) + 1
        assert ", ".join(f"{count} {word}" for word, count in words.items()) == made_of, name
    for name, reason in REFUSED.items():
        assert reason in elements.reason_not(mechanism_of(any_robot(name))), name


def test_reasons_are_sentences() -> None:
    for name in CASES:
        reason = elements.reason_not(mechanism_of(CASES[name](3).robot))
        assert bool(reason) != cased(name), (name, reason)
        assert reason.count("\n") == 0
        assert not reason.endswith(".")


@pytest.mark.parametrize(
    ("name", "parts"),
    [("gough-stewart", 6), ("h4", 8), ("quattro", 12), ("delta", 3), ("fivebar", 2), ("delta4", 4)],
)
def test_nacelle_is_split_evenly(name: str, parts: int) -> None:
    """[OAM] figure 2: six elements for the Gough-Stewart platform, eight for the H4."""
    legs = element_legs(mechanism_of(any_robot(name)))
    shares: dict[int, list[float]] = {}
    for leg in legs:
        for part in leg.parts:
            shares.setdefault(part.element.body, []).append(part.element.share)
    assert sum(len(listed) for listed in shares.values()) == parts
    assert all(abs(sum(listed) - 1.0) < 1e-15 for listed in shares.values())
    assert set(shares) == set(any_robot(name).nacelle.bodies)


# ---------------------------------------------------------------------------- against the tree


@pytest.mark.parametrize("name", [*COVERED, *CASED])
def test_equals_tree(name: str) -> None:
    robot = general(name)
    assert elements.reason_not(mechanism_of(robot)) == ""
    for state, a, settings in samples(robot):
        for chosen in (settings, dataclasses.replace(settings, friction=False), Settings(smooth=0.1)):
            A, F = elements.equation(state, a, chosen)
            assert_same(F, tree.generalised_force(state, a, chosen), 1e-11)
            assert_same(A, actuator_rows(robot, state.now.motion) @ state.moving.U, 1e-11)
            assert_same(elements.generalised_force(state, a, chosen), F, 0.0)


@pytest.mark.parametrize("name", ["fivebar", "delta", "gough-stewart", "h4", "orthoglide", "c5", "delta4"])
def test_at_rest(name: str) -> None:
    """[OAM] (10) has no y at rest; y = z x x has."""
    robot = any_robot(name)
    mechanism = mechanism_of(robot)
    x, y = mechanism.reference
    state = state_at(robot, x, y, np.zeros(robot.motion.n))
    a = np.ones(robot.motion.n)
    A, F = elements.equation(state, a, Settings())
    assert np.all(np.isfinite(A))
    assert_same(F, tree.generalised_force(state, a, Settings()), 1e-11)


@pytest.mark.parametrize("name", ["fivebar", "gough-stewart", "quattro"])
def test_reversed_motion_leaves_inertia_alone(name: str) -> None:
    robot = any_robot(name)
    mechanism = mechanism_of(robot)
    x, y = mechanism.reference
    v, a = np.random.default_rng(1).normal(size=(2, robot.motion.n))
    forces = [
        elements.generalised_force(state_at(robot, x, y, sign * v), a, Settings(friction=False))
        for sign in (1.0, -1.0)
    ]
    assert_same(forces[0], forces[1], 1e-11)


def test_virtual_work_of_the_motion_basis() -> None:
    """[OAM] (54), (56): F_u . u over all legs is F . v, with the redundant basis or the reduced one."""
    robot = general("delta")
    state, a, _ = samples(robot)[0]
    motion = element_motion(state, a)
    found = groups(robot, state.now.motion.poses, motion)
    wrenches = body_forces(state, whole_bodies(motion, found), Settings())
    power = sum(dynamic_coordinates(group, wrenches) @ group.now for group in found)
    v = state.moving.u[list(state.mechanism.independent)]
    bare = dataclasses.replace(robot, joints=tuple(_bare(joint) for joint in robot.joints))
    again = state_at(bare, *_pose(state), v)
    assert_same(power, tree.generalised_force(again, a, Settings()) @ v, 1e-11)


def _bare(joint: Joint) -> Joint:
    none = (None,) * len(joint.springs)
    return dataclasses.replace(joint, friction=((),) * len(joint.friction), springs=none, rotor_inertia=0.0)


def _pose(state: State) -> tuple[Array, Array]:
    x = poses_around(state.robot, 2, 0, 0.02, 0.04)
    return x[0], solve_uncompiled(state.robot, x)[0]


@pytest.mark.parametrize("name", ["gough-stewart", "palida", "space"])
def test_spin_of_a_strut(name: str) -> None:
    """theta' = (a . x) ((a x x) . x') / |a x x|^2, which [OAM] (7) neglects."""
    robot = any_robot(name)
    state, a, _ = samples(robot)[0]
    motion = element_motion(state, a)
    spins = []
    for leg, solved in zip(motion.legs, motion.solved, strict=True):
        x_rate, d_rate, spin = (rate.now for rate in solved.basis[0])
        first = robot.joints[leg.rods[0].hold.joints[0]]
        axis = (state.now.motion.poses[first.predecessor] @ first.frame_predecessor).R[:, 2]
        slide = robot.joints[leg.slide]
        x = leg.flip * (state.now.motion.poses[slide.predecessor] @ slide.frame_predecessor).R[:, 2]
        across = np.cross(axis, x)
        expected = (axis @ x) * (across @ x_rate) / (across @ across)
        assert abs(spin - expected) < 1e-12
        assert abs(x @ x_rate) < 1e-13
        assert np.isfinite(d_rate)
        spins.append(abs(expected))
    assert max(spins) > 1e-2


# ---------------------------------------------------------------------------- the five-bar as [OAM] writes it


def oam_fivebar(robot: Robot, state: State, a: Array, elbow: tuple[float, float]) -> Array:
    """Motor torques by [OAM] (27)-(65), y = z x x; friction of the elbows as in (61) and Table 2.

    Args:
        robot: the five-bar.
        state: its state.
        a: acceleration of the end point.
        elbow: viscous and Coulomb coefficients of the passive joints.
    """
    z = np.array([0.0, 0.0, 1.0])
    g = np.array(robot.gravity)
    speed, rate = np.append(state.moving.u[:2], 0.0), np.append(a, 0.0)
    A, b = np.zeros((3, 2)), np.zeros(3)
    for i, leg in enumerate(robot.legs):
        p, q = leg.bodies
        proximal, distal = state.now.motion.poses[p], state.now.motion.poses[q]
        x_p, x_a = proximal.R[:, 0], distal.R[:, 0]
        l_p = np.linalg.norm(distal.p - proximal.p)
        l_a = np.linalg.norm(state.now.motion.poses[1].p - distal.p)
        m_p, m_a = (robot.bodies[body].inertia[0] for body in (p, q))
        I_p, I_a = (
            robot.bodies[body].inertia[9] - m * l * l / 4.0 for body, m, l in ((p, m_p, l_p), (q, m_a, l_a))
        )
        y_p = np.cross(z, x_p)
        M_p = np.outer(y_p, x_a) / (l_p * (x_a @ y_p))
        M_a = (np.eye(3) - l_p * M_p) / l_a
        dx_p, dx_a = M_p @ speed, M_a @ speed
        # x_a . (X'' - l_p x_p'') = l_a |x_a'|^2, with x_p'' = q'' y_p - q'^2 x_p, and (38) differentiated.
        qd = np.cross(x_p, dx_p) @ z
        qdd = (x_a @ rate + l_a * dx_a @ dx_a + l_p * qd * qd * (x_a @ x_p)) / (l_p * (x_a @ y_p))
        ddx_p = qdd * y_p - qd * qd * x_p
        ddx_a = (rate - l_p * ddx_p) / l_a
        w_p, w_a = np.cross(x_p, dx_p), np.cross(x_a, dx_a)
        drive = robot.joints[leg.joints[0]]
        rotor = drive.rotor_inertia * drive.gear_ratio**2
        f_p = m_p * (g - l_p / 2.0 * ddx_p)
        f_a = m_a * (g - l_p * ddx_p - l_a / 2.0 * ddx_a)
        t_p = -(I_p + rotor) * np.cross(x_p, ddx_p)
        slip = (w_a - w_p) @ z
        t_a = -I_a * np.cross(x_a, ddx_a) - (elbow[0] * slip + elbow[1] * np.sign(slip)) * z
        F_p = l_p / 2.0 * f_p + np.cross(t_p, x_p) + l_p * f_a
        F_a = l_a / 2.0 * f_a + np.cross(t_a, x_a)
        A[:, i] = M_p.T @ y_p
        b += M_p.T @ F_p + M_a.T @ F_a
    return -np.linalg.lstsq(A, b, rcond=None)[0]


def fivebar(elbow: tuple[float, float]) -> Robot:
    """The five-bar with friction in its elbows alone."""
    robot = any_robot("fivebar")
    elbows = {leg.joints[1] for leg in robot.legs}
    terms = (FrictionTerm("viscous", elbow[0]), FrictionTerm("coulomb", elbow[1]))
    joints = tuple(
        dataclasses.replace(joint, friction=tuple(terms if k in elbows else () for _ in joint.friction))
        for k, joint in enumerate(robot.joints)
    )
    return dataclasses.replace(robot, joints=joints)


@pytest.mark.parametrize("elbow", [(0.0, 0.0), (0.02, 0.1)])
def test_fivebar_of_the_paper(elbow: tuple[float, float]) -> None:
    """(63) is exact without friction; (61) leaves out just the elbow's friction on the proximal bar."""
    robot = fivebar(elbow)
    for state, a, _ in samples(robot, 3):
        A, F = elements.equation(state, a, Settings())
        torque = least_norm_forces(A, F).force
        written = oam_fivebar(robot, state, a, elbow)
        slips = np.array([state.moving.u[3 + robot.v_slices[leg.joints[1]].start] for leg in robot.legs])
        friction = elbow[0] * slips + elbow[1] * np.sign(slips)
        assert_same(torque, written - friction, 1e-11)
        if any(elbow):
            assert np.all(np.abs(torque - written) > 1e-2)


def test_fivebar_equation_is_that_of_the_paper() -> None:
    """(64): the columns of [OAM]'s A are M_p^T y_p, here without the row across the plane."""
    robot = any_robot("fivebar")
    state, a, _ = samples(robot)[0]
    A, F = elements.equation(state, a, Settings())
    assert A.shape == (2, 2)
    assert F.shape == (2,)
    for i, leg in enumerate(robot.legs):
        proximal, distal = (state.now.motion.poses[body] for body in leg.bodies)
        x_p, x_a = proximal.R[:, 0], distal.R[:, 0]
        y_p = np.cross([0.0, 0.0, 1.0], x_p)
        l_p = np.linalg.norm(distal.p - proximal.p)
        assert_same(A[i], (np.outer(x_a, y_p) @ y_p / (l_p * (x_a @ y_p)))[:2], 1e-12)


# ---------------------------------------------------------------------------- scalars


def forces(robot: Robot, x: Array, y: Array, v: Array, a: Array) -> tuple[Array, Array]:
    return elements.equation(state_at(robot, x, y, v), a, Settings())


@pytest.mark.parametrize(
    "name", ["fivebar", "delta", "gough-stewart", "h4", "3rps", "c5", "delta4", "orthoglide"]
)
def test_batches(name: str) -> None:
    robot = any_robot(name)
    x = poses_around(robot, 3, 5, 0.02, 0.04)
    y = solve_uncompiled(robot, x)
    v, a = np.random.default_rng(4).normal(size=(2, 3, robot.motion.n))
    A, F = forces(robot, *(from_samples(array, 1) for array in (x, y, v, a)))
    for k in range(3):
        one = forces(robot, x[k], y[k], v[k], a[k])
        assert_same(np.broadcast_to(to_samples(A), (3, *one[0].shape))[k], one[0], 1e-12)
        assert_same(to_samples(F)[k], one[1], 1e-12)


# A nacelle is shared among its legs in equal parts: a half is a float, a third and a sixth are rounded. So
# are the references of balls (delta).
@pytest.mark.parametrize(
    ("name", "agree"),
    [
        ("fivebar", AGREE),
        ("prrrp", AGREE),
        ("delta", 1e-15),
        ("hexaglide", 1e-15),
        ("c5", 1e-15),
        ("delta-codourey", 1e-15),
    ],
)
def test_forty_digits(name: str, agree: float) -> None:
    """Elements and tree agree to the digits that are carried, with frames that are rotations to as many."""
    robot = any_robot(name)
    x, y = mechanism_of(robot).reference
    v, a = np.random.default_rng(4).normal(size=(2, robot.motion.n))
    with mpmath.workdps(DIGITS):
        state = state_at(precise_robot(robot), precise_pose(robot, x), precise(y), precise(v))
        exact = tree.generalised_force(state, precise(a), Settings())
        found = elements.generalised_force(state, precise(a), Settings())
        assert largest_difference(found, exact) < agree


@pytest.mark.parametrize("name", ["fivebar", "delta-codourey", "3rps"])
def test_traced(name: str) -> None:
    robot = any_robot(name)
    mechanism = mechanism_of(robot)
    n = robot.motion.n
    shapes = {"x": (mechanism.layout.nx,), "y": (mechanism.ny,), "v": (n,), "a": (n,)}
    program = trace(lambda *arrays: forces(robot, *arrays), shapes).program()
    x = poses_around(robot, 2, 5, 0.02, 0.04)
    y = solve_uncompiled(robot, x)
    v, a = np.random.default_rng(4).normal(size=(2, 2, n))
    A, F = evaluate(program, [x, y, v, a])
    for k in range(2):
        one = forces(robot, x[k], y[k], v[k], a[k])
        assert_same(A[k], one[0].ravel(), 1e-11)
        assert_same(F[k], one[1], 1e-11)


def test_traced_with_parameters() -> None:
    """Masses and lengths as inputs: structure is read from the robot's own numbers."""
    robot = any_robot("fivebar")
    x, y = mechanism_of(robot).reference
    v, a = np.array([0.3, -0.2]), np.array([1.0, 2.0])
    values = robot.parameter_vector("geometry", "inertia", "friction")
    program = trace(
        lambda p: forces(robot.with_symbols(p, "geometry", "inertia", "friction"), x, y, v, a),
        {"p": values.shape},
    ).program()
    _, F = evaluate(program, [values[None]])
    assert_same(F[0], forces(robot, x, y, v, a)[1], 1e-11)
