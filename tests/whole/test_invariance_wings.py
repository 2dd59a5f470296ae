"""All wings follow a robot that is moved, scaled and weighed otherwise: links, data, files, loops, views."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.elastic.flexible_tree import flexible_tree
from nacelle.elastic.linear.frequencies import NaturalFrequencies
from nacelle.elastic.linear.statics import StaticDeflection
from nacelle.identification.data.measurement import Measurement
from nacelle.identification.identify import identify
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.simulation.sensors import Sensors
from nacelle.spatial.pose import Pose
from nacelle.vision.observation import observe
from nacelle.vision.placing import camera_for
from support import round_trips
from support.exported_files import without_losses
from support.identification import library_run
from support.library import library_robot
from support.transformed import RobotTransform

FAR = RobotTransform(t=np.array([6e5, -6e5, 5e5]))
CHANGES = {
    "1 km away": RobotTransform(t=np.array([600.0, -600.0, 500.0])),
    "1000 km away": FAR,
    "in millimetres": RobotTransform(length=1e-3),
    "a thousand times as long": RobotTransform(length=1e3),
    "a million times as heavy": RobotTransform(mass=1e6),
    "a millionth of the mass": RobotTransform(mass=1e-6),
}
changes = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
# Every day a small robot that is moved a little; a larger one with all changes in the longer tiers.
small_robot_nearby = pytest.mark.parametrize(
    ("name", "change"),
    [
        pytest.param("fivebar", CHANGES["1 km away"], id="fivebar-1 km away"),
        *(
            pytest.param("delta", change, id=f"delta-{label}", marks=pytest.mark.slow)
            for label, change in CHANGES.items()
        ),
    ],
)
# Powers of length in base parameters of the five-bar, but for 2 of moments of inertia and friction.
_POWERS = {"mx": 1, "my": 1}


@pytest.mark.costly
@changes
@pytest.mark.parametrize("name", ["fivebar-flexible", "3rrr-flexible"])
def test_flexible_links(name: str, change: RobotTransform) -> None:
    """Time stays, and with it frequencies; deflections, over lengths of links, and buckling follow."""
    robot = nacelle.load(name)
    other = change.robot(robot)
    f, d = frequencies_and_deflection(other, change.mass * change.length)
    own_f, own_d = frequencies_and_deflection(robot, 1.0)
    tolerance = 1e-9 + 1e2 * other.coordinate_rounding
    assert int(f.rigid) == int(own_f.rigid)
    np.testing.assert_allclose(f.frequencies, own_f.frequencies, rtol=tolerance)
    expected = own_d.elastic / flexible_tree(robot).scales
    bound = tolerance * np.max(np.abs(expected))
    np.testing.assert_allclose(d.elastic / flexible_tree(other).scales, expected, rtol=0.0, atol=bound)
    assert float(d.factor) == pytest.approx(float(own_d.factor), rel=10.0 * tolerance)


def frequencies_and_deflection(robot: Robot, scale: float) -> tuple[NaturalFrequencies, StaticDeflection]:
    """Frequencies, and the equilibrium under gravity and a millinewton, times a scale, on the platform."""
    x, wrench = nacelle.reference_pose(robot), scale * np.array([3e-4, 8e-4, 0.0, 0.0, 0.0, 0.0])
    at_rest = nacelle.elastic.static_deflection(robot, x, external={robot.bodies[PLATFORM].name: wrench})
    return nacelle.elastic.natural_frequencies(robot, x, modes=4), at_rest


@pytest.mark.slow
@changes
def test_identification(change: RobotTransform) -> None:
    """The same measurement of the changed robot gives the changed parameters."""
    robot, run = library_robot("fivebar"), library_run("fivebar", 0.05)
    other, data = change.robot(robot), run.noisy(force=0.01, encoder=1e-6)
    own = identify(robot, data)
    found = identify(other, Measurement(other, data.time, data.q, data.tau * change.force(robot)))
    assert found.base.names == own.base.names
    assert found.essential.removed_names == own.essential.removed_names
    assert found.fit.score == pytest.approx(own.fit.score, abs=1e-6)
    powers = [_POWERS.get(name.rpartition(".")[2], 2) for name in own.base.names]
    expected = own.estimator.coef_ * change.mass * change.length ** np.array(powers)
    sigma = own.estimator.std_ * change.mass * change.length ** np.array(powers)
    assert np.max(np.abs(found.estimator.coef_ - expected) / sigma) < 1e-3


@pytest.mark.slow
@changes
@pytest.mark.parametrize("format", ["mjcf", "urdf", "sdf"])
@pytest.mark.thinned
def test_files(format: str, change: RobotTransform, tmp_path: Path) -> None:
    """What comes back from a file of the changed robot has its size and its forces."""
    robot = without_losses(library_robot("fivebar"))
    other = change.robot(robot)
    again, plain = (
        export_and_import(other, format, tmp_path / "a"),
        export_and_import(robot, format, tmp_path / "b"),
    )
    assert again.size == pytest.approx(change.length * plain.size, rel=1e-6)
    assert again.coordinate_rounding == pytest.approx(other.coordinate_rounding * other.size / again.size)
    if change is not FAR:  # where poses of bodies are compared to 1e-9 m
        drives = "actuators" if format == "mjcf" else "joints"
        ours, theirs = (
            round_trips.errors(*pair, states=2, drives=drives)["forces"]
            for pair in ((other, again), (robot, plain))
        )
        # URDF and SDF lose the same whatever the robot's size.
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12 + 1e3 * other.coordinate_rounding)


def export_and_import(robot: Robot, format: str, folder: Path) -> Robot:
    folder.mkdir()
    files = nacelle.export_robot(robot, format, out=folder).files
    return nacelle.import_robot(files[0], closures=files[1] if format == "urdf" else None).robot


@small_robot_nearby
def test_closed_loop(name: str, change: RobotTransform) -> None:
    """A controller with poles in time follows the changed path by the changed forces."""
    robot = library_robot(name)
    own, found = (run_controller(one) for one in (robot, change.robot(robot)))
    assert found.status == own.status
    tolerance = 1e-7 + 1e6 * change.robot(robot).coordinate_rounding
    np.testing.assert_allclose(found.actual_coordinates, own.actual_coordinates, rtol=0.0, atol=tolerance)
    expected = own.commanded_forces * change.force(robot)
    np.testing.assert_allclose(
        found.commanded_forces, expected, rtol=0.0, atol=10.0 * tolerance * np.max(np.abs(expected))
    )


def run_controller(robot: Robot) -> nacelle.control.ControlRun:
    """A tenth of a second of computed force on a line of a twentieth of the robot's size."""
    x = nacelle.reference_pose(robot)
    path = nacelle.Line(
        x, x + 0.05 * robot.size * np.array([1.0, 0.5, 0.2][: len(x)]), motion=robot.motion, duration=0.1
    )
    law = nacelle.control.controller(robot, "cf-rb", period=1e-3)
    return nacelle.control.closed_loop(
        robot, law, path, options=nacelle.control.LoopOptions(settle=0.01, sensors=Sensors.ideal())
    )


def without_shapes(robot: Robot) -> Robot:
    return dataclasses.replace(robot, bodies=tuple(dataclasses.replace(b, display=()) for b in robot.bodies))


@small_robot_nearby
def test_camera(name: str, change: RobotTransform) -> None:
    """A camera that stands where it stood sees the same picture, and finds the changed pose."""
    # Drawn in the shapes that follow from its size.
    robot = without_shapes(library_robot(name))
    other, camera = change.robot(robot), camera_for(robot, size=(256, 256))
    place = Pose(camera.pose.R, change.length * camera.pose.p + change.t)
    own, found = observe(robot, camera=camera), observe(other, camera=camera.at_pose(place))
    rounding = other.coordinate_rounding
    # Of the brightness: at pixels that an edge only touches, the covered share is a small difference.
    allowed = (1e-10 + 1e3 * rounding) * np.max(own.image)
    np.testing.assert_allclose(found.image, own.image, rtol=0.0, atol=allowed)
    assert [one.reason for one in found.seen] == [one.reason for one in own.seen]
    assert own.error is not None
    assert found.error is not None
    np.testing.assert_allclose(found.error / change.length, own.error, rtol=0.0, atol=1e-9 + 1e4 * rounding)
