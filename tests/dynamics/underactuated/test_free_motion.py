"""Forces and free accelerations together: the equations of motion hold, forward dynamics gives them back."""

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.inverse import EquationsOfMotion, free_motion
from support.described import mechanism

_FREE = {"cart_pole": ("slide",), "carriage": ("swing",)}


@pytest.mark.costly
@pytest.mark.parametrize("name", _FREE)
def test_forces_and_free_accelerations_satisfy_the_equations_of_motion(name: str) -> None:
    robot = mechanism(name)
    rng = np.random.default_rng(3)
    x, n = nacelle.reference_pose(robot), robot.motion.n
    v, a = rng.normal(size=(2, 4, n))
    found = nacelle.inverse_dynamics(robot, x, v, a, free=_FREE[name])
    assert found.a is not None
    M, h = nacelle.mass_matrix(robot, x), nacelle.bias_forces(robot, x, v)
    A = nacelle.jacobian(robot, x).inverse
    left = found.a @ M + h - found.tau @ A
    assert np.max(np.abs(left)) < 1e-12 * np.max(np.abs(h))
    given = [k for k, c in enumerate(robot.motion.coordinates) if c.split(".")[-1] not in _FREE[name]]
    np.testing.assert_array_equal(found.a[:, given], a[:, given])
    back = nacelle.forward_dynamics(robot, x, v, found.tau).a
    np.testing.assert_allclose(back, found.a, rtol=1e-9, atol=1e-9)


def test_what_is_not_determined_is_an_error_with_evidence() -> None:
    robot = mechanism("cart_pole")
    x = nacelle.reference_pose(robot)
    with pytest.raises(
        nacelle.errors.UnderactuatedError, match=r"nothing drives cart\.pivot .* free="
    ) as caught:
        nacelle.inverse_dynamics(robot, x)
    assert caught.value.coordinates == ("cart.pivot",)
    with pytest.raises(nacelle.errors.UnderactuatedError, match="name as many"):
        nacelle.inverse_dynamics(robot, x, free=("slide", "pivot"))
    # Where the pole is horizontal, the cart's free acceleration does not follow from the pole's.
    with pytest.raises(nacelle.SingularError, match="squared cosine") as met:
        nacelle.inverse_dynamics(robot, [0.0, np.pi / 2.0], free="slide")
    assert met.value.kind == "free"


def test_a_driven_robot_has_nothing_free() -> None:
    robot = mechanism("gripper")
    with pytest.raises(nacelle.KinematicsError, match="drive every motion"):
        nacelle.inverse_dynamics(robot, nacelle.reference_pose(robot), free="left.motor")


def test_forces_of_least_norm_where_actuators_are_redundant_and_a_motion_is_free() -> None:
    robot = mechanism("cart_pole")
    rng = np.random.default_rng(1)
    root = rng.normal(size=(2, 2))
    M, b = root @ root.T + np.eye(2), rng.normal(size=2)
    A = np.array([[1.0, 0.0], [2.0, 0.0]])
    found = free_motion(robot, EquationsOfMotion(M, b, A), np.array([0.4, 9.0]), (1,))
    np.testing.assert_allclose(M @ found.a + b, A.T @ found.tau, atol=1e-12)
    assert found.a[0] == 0.4
    assert found.tau[1] == pytest.approx(2.0 * found.tau[0])
