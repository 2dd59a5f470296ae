"""Kinematic elements: against the tree, against the equations of [OAM], over several kinds of scalars."""

from __future__ import annotations

import dataclasses

import mpmath
import numpy as np
import pytest

from nacelle.dynamics import tree_form as tree
from nacelle.dynamics.actuators import least_norm_forces
from nacelle.dynamics.physics import Physics
from nacelle.dynamics.state import state_at
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.papers.elements import projection as elements
from nacelle.program.trace import trace
from nacelle.tree.actuation import actuator_rows
from support.compare import assert_same
from support.element_robots import ELEMENT_ROBOTS, Array, furnished_robot, is_element_case, samples
from support.forty_digits import AGREE, DIGITS, largest_difference, precise, precise_pose, precise_robot
from support.oam_fivebar import fivebar, oam_fivebar
from support.random_programs import evaluate
from support.random_robots.legs import CASES
from support.uncompiled import named_robot

CASED = tuple(name for name in CASES if is_element_case(name))


# ---------------------------------------------------------------------------- against the tree


@pytest.mark.costly
@pytest.mark.parametrize("name", [*ELEMENT_ROBOTS, *CASED])
def test_equals_tree(name: str) -> None:
    robot = furnished_robot(name)
    assert elements.reason_not(mechanism_of(robot)) == ""
    for state, a, external in samples(robot):
        loaded = dataclasses.replace(state, external=external)
        for at, chosen in (
            (loaded, Physics()),
            (loaded, Physics(friction=False)),
            (state, Physics(smooth=0.1)),
        ):
            A, F = elements.implicit_model(at, a, chosen)
            assert_same(F, tree.generalised_force(at, a, chosen), 1e-11)
            assert_same(A, actuator_rows(robot, at.now.motion) @ at.moving.U, 1e-11)
            assert_same(elements.generalised_force(at, a, chosen), F, 0.0)


@pytest.mark.parametrize("name", ["fivebar", "delta", "gough-stewart", "h4", "orthoglide", "c5", "delta4"])
def test_at_rest(name: str) -> None:
    """[OAM] (10) has no y at rest; y = z x x has."""
    robot = named_robot(name)
    mechanism = mechanism_of(robot)
    x, y = mechanism.reference
    state = state_at(robot, x, y, np.zeros(robot.motion.n))
    a = np.ones(robot.motion.n)
    A, F = elements.implicit_model(state, a, Physics())
    assert np.all(np.isfinite(A))
    assert_same(F, tree.generalised_force(state, a, Physics()), 1e-11)


# ---------------------------------------------------------------------------- the five-bar as [OAM] writes it


@pytest.mark.parametrize("elbow", [(0.0, 0.0), (0.02, 0.1)])
def test_fivebar_of_the_paper(elbow: tuple[float, float]) -> None:
    """(63) is exact without friction; (61) leaves out just the elbow's friction on the proximal bar."""
    robot = fivebar(elbow)
    for state, a, _ in samples(robot, 3):
        A, F = elements.implicit_model(state, a, Physics())
        torque = least_norm_forces(A, F).tau
        written = oam_fivebar(robot, state, a, elbow)
        slips = np.array([state.moving.u[3 + robot.v_slices[leg.joints[1]].start] for leg in robot.legs])
        friction = elbow[0] * slips + elbow[1] * np.sign(slips)
        assert_same(torque, written - friction, 1e-11)
        if any(elbow):
            assert np.all(np.abs(torque - written) > 1e-2)


def test_fivebar_equation_is_that_of_the_paper() -> None:
    """(64): the columns of [OAM]'s A are M_p^T y_p, here without the row across the plane."""
    robot = named_robot("fivebar")
    state, a, _ = samples(robot)[0]
    A, F = elements.implicit_model(state, a, Physics())
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
    return elements.implicit_model(state_at(robot, x, y, v), a, Physics())


# A platform is shared among its legs in equal parts: a half is a float, a third and a sixth are rounded. So
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
    robot = named_robot(name)
    x, y = mechanism_of(robot).reference
    v, a = np.random.default_rng(4).normal(size=(2, robot.motion.n))
    with mpmath.workdps(DIGITS):
        state = state_at(precise_robot(robot), precise_pose(robot, x), precise(y), precise(v))
        exact = tree.generalised_force(state, precise(a), Physics())
        found = elements.generalised_force(state, precise(a), Physics())
        assert largest_difference(found, exact) < agree


def test_traced_with_parameters() -> None:
    """Masses and lengths as inputs: structure is read from the robot's own numbers."""
    robot = named_robot("fivebar")
    x, y = mechanism_of(robot).reference
    v, a = np.array([0.3, -0.2]), np.array([1.0, 2.0])
    values = robot.parameter_vector("geometry", "inertia", "friction")
    program = trace(
        lambda p: forces(robot.with_symbols(p, "geometry", "inertia", "friction"), x, y, v, a),
        {"p": values.shape},
    ).program()
    _, F = evaluate(program, [values[None]])
    assert_same(F[0], forces(robot, x, y, v, a)[1], 1e-11)
