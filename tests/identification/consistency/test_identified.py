"""The robot with identified parameters, and its file."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.support.library import library_robot
from tests.support.noisy_estimates import noisy_estimate

import nacelle
from nacelle.errors import IdentificationError, ParameterError
from nacelle.identification.consistency.consistent import consistent_parameters
from nacelle.identification.consistency.identified import identified_robot, write_identified
from nacelle.model.joint import Spring
from nacelle.model.payload import with_payload


def test_a_file_that_is_read_as_the_same_robot(tmp_path):
    robot = with_payload(library_robot("delta"), 0.5, com=(0.0, 0.01, -0.02))
    data = noisy_estimate(robot, noise=0.1)
    result = consistent_parameters(data.base, data.beta, data.root)
    moved = identified_robot(robot, result, name="my-delta")
    file = tmp_path / "my-delta.yaml"
    write_identified(moved, file)
    check = nacelle.check(file)
    assert check.errors == ()
    assert check.robot.hash == moved.hash
    assert check.robot.name == "my-delta"
    assert np.allclose(nacelle.linear_parameters(check.robot).values, result.values, rtol=1e-12)
    # All but the identified numbers is as before.
    assert np.allclose(moved.payload[0].inertia, robot.payload[0].inertia, rtol=1e-14, atol=0.0)
    assert np.array_equal(moved.parameter_vector("geometry"), robot.parameter_vector("geometry"))
    assert [joint.limits for joint in moved.joints] == [joint.limits for joint in robot.joints]
    assert moved.actuators == robot.actuators
    assert nacelle.linear_parameters(moved).names == nacelle.linear_parameters(robot).names
    # Its forces are those of the base parameters.
    force = nacelle.inverse_dynamics(moved, data.x[:5]).force
    Y = nacelle.regressor(robot, data.x[:5], parameters=data.base).Y
    assert np.allclose(force, Y @ result.base_values, rtol=1e-9)
    with pytest.raises(FileExistsError):
        write_identified(moved, file, new=True)


def test_an_impossible_robot_is_refused():
    robot = library_robot("fivebar")
    values = nacelle.linear_parameters(robot).values.copy()
    values[10] = -1.0
    with pytest.raises(IdentificationError, match=r"left.proximal: the mass is negative.*Lift the estimate"):
        identified_robot(robot, values)
    with pytest.raises(ParameterError):
        identified_robot(robot, values[:5])


def test_nothing_is_written_that_the_format_refuses(tmp_path):
    robot = library_robot("fivebar")
    values = nacelle.linear_parameters(robot).values.copy()
    values[10] = -1.0
    with pytest.raises(IdentificationError, match="would be refused"):
        write_identified(nacelle.with_linear_parameters(robot, values), tmp_path / "robot.yaml")
    assert list(tmp_path.iterdir()) == []


def test_a_preload_without_stiffness():
    robot = library_robot("fivebar")
    sprung = dataclasses.replace(robot.joints[0], springs=(Spring(2.0, 0.1),))
    robot = dataclasses.replace(robot, joints=(sprung, *robot.joints[1:]))
    names = nacelle.linear_parameters(robot).names
    values = nacelle.linear_parameters(robot).values.copy()
    values[next(k for k, name in enumerate(names) if name.endswith(".stiffness"))] = 0.0
    with pytest.raises(IdentificationError, match="a spring without stiffness has no rest"):
        identified_robot(robot, values)
