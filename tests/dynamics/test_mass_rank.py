"""Robots without inertia along some motions: forward dynamics names these instead of inventing a result."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.models import model
from nacelle.dynamics.reference import require_inertia
from nacelle.errors import SingularError
from nacelle.model.robot import Robot
from support.library import library_robot


def with_inertia(robot: Robot, *kept: str, rotor: float = 0.0) -> Robot:
    """The robot with inertia in numbers of these names alone, and these rotors."""
    inertia = robot.parameter_vector("inertia")
    names = robot.parameter_names("inertia")
    assert set(kept) <= set(names)
    inertia = np.where(np.isin(names, kept), inertia, 0.0)
    drive = robot.parameter_vector("drive")
    rotors = ["rotor" in name for name in robot.parameter_names("drive")]
    changed = robot.with_parameters(inertia, "inertia")
    return changed.with_parameters(np.where(rotors, rotor, drive), "drive")


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "delta", "3rrr", "gough-stewart"])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_without_any_inertia_every_coordinate_is_named(name: str, batch: tuple[int, ...]) -> None:
    robot = with_inertia(library_robot(name))
    x = np.zeros((*batch, 1)) + nacelle.reference_pose(robot) if batch else nacelle.reference_pose(robot)
    coordinates = ", ".join(robot.motion.coordinates)
    with pytest.raises(SingularError, match=f"along {coordinates}: its mass") as caught:
        nacelle.forward_dynamics(robot, x, None, np.full(len(robot.actuators), 100.0))
    assert caught.value.kind == "mass"


def test_a_point_mass_has_no_inertia_about_itself() -> None:
    """Platform of mass alone, its centre at the origin: three rotations are left."""
    robot = library_robot("gough-stewart")
    mass = next(
        name for name in robot.parameter_names("inertia") if name.startswith("plat") and name.endswith(".m")
    )
    with pytest.raises(SingularError, match="along rx, ry, rz: its mass matrix"):
        require_inertia(with_inertia(robot, mass))


def test_rotors_alone_are_enough() -> None:
    """M = J_r^-T I J_r^-1 of rotors I: the acceleration of the actuators is tau / I."""
    robot = with_inertia(library_robot("3rrr"), rotor=0.02)
    require_inertia(robot)
    x, tau = nacelle.reference_pose(robot), np.array([1.0, -2.0, 0.5])
    result = nacelle.forward_dynamics(robot, x, None, tau, friction=False)
    J = nacelle.jacobian(robot, x).inverse
    ratio = np.array([robot.joints[actuator.joint].gear_ratio for actuator in robot.actuators])
    np.testing.assert_allclose(J @ result.a, tau / (0.02 * ratio**2), rtol=1e-10)


def test_whatever_divides_by_the_mass_matrix_says_so() -> None:
    robot = with_inertia(library_robot("fivebar"))
    x = nacelle.reference_pose(robot)
    with pytest.raises(SingularError, match="inertia along x, y"):
        nacelle.simulate(robot, x, until=0.1)
    with pytest.raises(SingularError, match="inertia along x, y"):
        nacelle.dynamics.linearise(robot, x)
    with pytest.raises(SingularError, match="inertia along x, y"):
        nacelle.dynamics.dynamics_derivatives(robot, x, None, [0.0, 0.0], kind="forward")
    with pytest.raises(SingularError, match="inertia along x, y"):
        nacelle.control.controller(robot, "ct-cartesian")


def parallel_singularity(robot: Robot) -> np.ndarray:
    """A pose (nx,) on a line from the reference where the determinant of J_r^-1 changes its sign."""
    x = nacelle.reference_pose(robot)
    for along in np.random.default_rng(2).normal(size=(50, len(x))) * robot.size:
        way = x + np.linspace(0.0, 1.0, 200)[:, None] * along
        with np.errstate(all="ignore"):
            side = np.sign(np.linalg.det(nacelle.jacobian(robot, way).inverse))
        turned = np.flatnonzero(side[1:] * side[:-1] < 0.0)
        if len(turned):
            near, far = way[turned[0]], way[turned[0] + 1]
            for _ in range(60):
                middle = 0.5 * (near + far)
                J = nacelle.jacobian(robot, middle[None]).inverse[0]
                near, far = (middle, far) if np.sign(np.linalg.det(J)) == side[turned[0]] else (near, middle)
            return near
    raise AssertionError


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fivebar", "3rrr"])
def test_a_pose_without_inertia_is_flagged(name: str) -> None:
    """Of rotors alone, at a parallel singularity, where a motion of the platform turns no rotor."""
    robot = with_inertia(library_robot(name), rotor=0.02)
    x, tau = nacelle.reference_pose(robot), np.ones(len(robot.actuators))
    bad = parallel_singularity(robot)
    result = nacelle.forward_dynamics(robot, np.array([x, bad, bad + 1e-3 * (x - bad)]), None, tau)
    assert (result.flags & int(nacelle.Flag.SINGULAR)).astype(bool).tolist() == [False, True, False]
    assert np.isfinite(result.a).all(axis=1).tolist() == [True, False, True]
    with pytest.raises(SingularError, match=r"mass matrix is singular at the pose .* along") as caught:
        nacelle.forward_dynamics(robot, bad, None, tau)
    assert caught.value.kind == "mass"


@pytest.mark.parametrize("name", ["fivebar", "3rrr", "gough-stewart"])
def test_numbers_without_inertia_have_no_pivot(name: str) -> None:
    """Where numbers of the robot are inputs of a program they may be any."""
    robot = library_robot(name)
    groups = ("inertia", "drive")
    program = model(robot, "forward_dynamics", guarded=True).compile(parameters=groups)
    names, numbers = robot.numbers.names(*groups), robot.numbers.vector(*groups)
    x, n = nacelle.reference_pose(robot), robot.motion.n
    state = (x, np.zeros(0), np.zeros(n), np.ones(len(robot.actuators)))
    assert program(numbers, *state)["pivot"] > 1e-2
    weightless = np.where(["mass" in own or "inertia" in own for own in names], 0.0, numbers)
    assert not program(weightless, *state)["pivot"] > 1e-2
