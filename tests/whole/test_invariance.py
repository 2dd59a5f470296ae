"""Where a robot stands, how large and how heavy it is decides nothing: all results follow.

Forces, mass matrices, Jacobians, margins, modes of solution and counts of a robot that is moved by 1 mm to
1000 km, turned, mirrored, scaled and weighed otherwise are those of the robot itself, to the rounding of its
coordinates; and so are those of one whose bodies have other frames, whose parts have other names or another
order.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from ruamel.yaml import YAML

import nacelle
from nacelle.compact.plan import reason_for_tree
from nacelle.compile.specification import Specification, resolve_input_shapes
from nacelle.dynamics import model_functions, reference
from nacelle.dynamics.base_parameters.base_parameters import base_parameters
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.mechanism.mobility import mobility
from nacelle.kinematics.sample_states import sample_states
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.program.cost import count
from nacelle.spatial.inertia import transform_parameters
from nacelle.spatial.pose import Pose
from support.library import NAMES, library_robot
from support.random_robots.varied import varied_library_robot
from support.transformed import RobotTransform, random_transform

Array = np.ndarray
FILES = tuple(sorted(path.stem for path in (Path(__file__).parents[1] / "robots").glob("*.yaml")))
QUICK = ("fivebar", "delta", "palida", "quattro", "walkleg")
CHANGES = {
    "1 mm away": RobotTransform(t=np.array([6e-4, -6e-4, 5e-4])),
    "30 m away": RobotTransform(t=np.array([20.0, -20.0, 10.0])),
    "300 m away": RobotTransform(t=np.array([200.0, -200.0, 100.0])),
    "1000 km away": RobotTransform(t=np.array([6e5, -6e5, 5e5])),
    "in millimetres": RobotTransform(length=1e-3),
    "a thousand times as long": RobotTransform(length=1e3),
    "a million times as heavy": RobotTransform(mass=1e6),
    "a millionth of the mass": RobotTransform(mass=1e-6),
    "in milliseconds": RobotTransform(time=1e3),
    "in hours": RobotTransform(time=1.0 / 3600.0),
}


def loaded(name: str) -> Robot:
    if name in NAMES:
        return library_robot(name)
    return nacelle.load(Path(__file__).parents[1] / "robots" / f"{name}.yaml")


def compare(robot: Robot, change: RobotTransform, states: int = 2) -> None:
    """Models of a changed robot in its compact form, uncompiled, with those of the robot by the tree."""
    other = change.robot(robot)
    rng = np.random.default_rng(3)
    assert other.size == pytest.approx(change.length * robot.size, rel=1e-6)
    assert bool(reason_for_tree(other, direct=True)) == bool(reason_for_tree(robot, direct=True))
    assert mechanism_of(other).independent == mechanism_of(robot).independent
    assert moves(other) == moves(robot)
    T = change.twist_map(robot)
    back = np.linalg.inv(T)
    tolerance = 1e-10 + 3e3 * other.coordinate_rounding
    for x, y in sample_states(mechanism_of(robot), states)[:states]:
        v, a = rng.normal(size=(2, robot.motion.n))
        x_new, y_new = change.state(robot, other, x, y)
        none = np.zeros(robot.motion.n)
        v_new, a_new = T @ v / change.time, T @ a / change.time**2
        ours = model_functions.inverse(other, x_new, y_new, v_new, a_new, none)
        theirs = reference.inverse(robot, x, y, v, a, none)
        same(ours["force"] / change.force(robot), theirs["force"], tolerance)
        own = model_functions.inverse(robot, x, y, v, a, none)
        same(ours["margins"], own["margins"], 1e2 * tolerance)
        M = np.asarray(model_functions.inertia(other, x_new, y_new)["M"], dtype=float)
        expected = np.asarray(reference.inertia(robot, x, y)["M"], dtype=float)
        same(T.T @ M @ T / (change.mass * change.length**2), expected, tolerance)
        tau = np.asarray(theirs["force"], dtype=float) * change.force(robot)
        found = model_functions.forward(other, x_new, y_new, v_new, tau, none)["acceleration"]
        condition = np.linalg.cond(expected / np.sqrt(np.outer(np.diag(expected), np.diag(expected))))
        again = reference.forward(robot, x, y, v, np.asarray(theirs["force"], dtype=float), none)
        found = change.time**2 * (back @ np.asarray(found, dtype=float))
        same(found, again["acceleration"], 10.0 * condition * tolerance)


def moves(robot: Robot) -> tuple[object, ...]:
    m = mobility(robot)
    return (
        m.true,
        m.free,
        m.coupled,
        m.controlled,
        m.internal_motions,
        m.overconstrained,
        m.singular_reference,
    )


def same(ours: Array, theirs: Array, tolerance: float) -> None:
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    assert np.max(np.abs(ours - theirs), initial=0.0) <= tolerance * np.max(np.abs(theirs), initial=1e-300)


@pytest.mark.costly
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("name", QUICK)
@pytest.mark.thinned
def test_place_size_and_mass(name: str, change: RobotTransform) -> None:
    compare(loaded(name), change)


@pytest.mark.thinned(3)
@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("name", [name for name in (*NAMES, *FILES) if name not in QUICK])
def test_place_size_and_mass_of_all(name: str, change: RobotTransform) -> None:
    compare(loaded(name), change)


@pytest.mark.costly
@pytest.mark.parametrize("seed", range(8))
def test_random_robots(seed: int) -> None:
    robot = varied_library_robot(NAMES[(3 * seed) % len(NAMES)], seed)
    compare(robot, random_transform(robot, seed))


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [*range(8, 60), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(60, 208))]
)
@pytest.mark.thinned
def test_many_random_robots(seed: int) -> None:
    robot = varied_library_robot(NAMES[seed % len(NAMES)], seed)
    compare(robot, random_transform(robot, seed))


@pytest.mark.slow
@pytest.mark.parametrize("key", ["in millimetres", "a thousand times as long", "300 m away"])
def test_assemblies(key: str) -> None:
    """Newton's longest steps are the robot's own: seeded starts lead to the same poses."""
    robot, change = library_robot("gough-stewart"), CHANGES[key]
    q = nacelle.inverse_kinematics(robot, nacelle.reference_pose(robot)).q
    ours = nacelle.forward_kinematics(change.robot(robot), change.length * q, assemblies=True).assemblies
    theirs = nacelle.forward_kinematics(robot, q, assemblies=True).assemblies
    np.testing.assert_array_equal(ours.signs, theirs.signs)
    places = (ours.x[:, :3] - change.t) / change.length
    np.testing.assert_allclose(places, theirs.x[:, :3], rtol=0.0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fivebar", "delta"])
def test_counts_and_base_parameters(name: str) -> None:
    robot = library_robot(name)
    shapes = resolve_input_shapes(model_functions.inverse, robot)
    own = count(Specification(model_functions.inverse, robot, shapes, verify=False).program()).total
    for key in ("in millimetres", "a million times as heavy", "30 m away"):
        other = CHANGES[key].robot(robot)
        found = count(Specification(model_functions.inverse, other, shapes, verify=False).program()).total
        # Places that were zero are numbers elsewhere.
        assert abs(found - own) <= (0.15 * own if key == "30 m away" else 4), key
        assert len(base_parameters(other)) == len(base_parameters(robot))


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "delta", "palida", "walkleg"])
def test_frames_of_bodies(name: str) -> None:
    """Bodies that no coordinate belongs to may have any frame."""
    robot = loaded(name)
    other = with_other_frames(robot, seed=5)
    assert other.size == pytest.approx(robot.size, rel=1e-9)
    rng = np.random.default_rng(3)
    for x, y in sample_states(mechanism_of(robot), 2)[:2]:
        v, a = rng.normal(size=(2, robot.motion.n))
        none = np.zeros(robot.motion.n)
        ours = model_functions.inverse(other, x, y, v, a, none)["force"]
        same(ours, reference.inverse(robot, x, y, v, a, none)["force"], 1e-10)


def with_other_frames(robot: Robot, seed: int) -> Robot:
    """The robot with the frame of every body of a leg elsewhere on it."""
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(seed)
    bodies, joints = list(robot.bodies), list(robot.joints)
    for body in range(PLATFORM + 1, len(bodies)):
        if body in robot.platform.bodies:
            continue
        R = Rotation.random(random_state=rng.integers(1 << 30)).as_matrix()
        move = Pose(R, robot.size * rng.normal(size=3))
        ten = transform_parameters(move.R, move.p, np.array(bodies[body].inertia))
        bodies[body] = dataclasses.replace(bodies[body], inertia=tuple(ten.tolist()), display=())
        for k, joint in enumerate(joints):
            for side in ("predecessor", "successor"):
                if getattr(joint, side) == body and not joint.is_coupling:
                    frame = move @ getattr(joints[k], f"frame_{side}")
                    joints[k] = dataclasses.replace(joints[k], **{f"frame_{side}": frame})
    return dataclasses.replace(robot, bodies=tuple(bodies), joints=tuple(joints), declaration=None)


@pytest.mark.parametrize("name", ["fivebar", "delta"])
def test_names(name: str) -> None:
    robot = library_robot(name)
    renamed = dataclasses.replace(
        robot,
        name="another",
        bodies=tuple(dataclasses.replace(b, name=f"{b.name}_x") for b in robot.bodies),
        legs=tuple(dataclasses.replace(leg, name=f"{leg.name}_x") for leg in robot.legs),
    )
    assert renamed.hash == robot.hash
    x = nacelle.reference_pose(robot)
    v = np.ones(robot.motion.n)
    np.testing.assert_array_equal(
        nacelle.inverse_dynamics(renamed, x, v, v).tau, nacelle.inverse_dynamics(robot, x, v, v).tau
    )


@pytest.mark.slow
def test_flags_far_away() -> None:
    """A robot 30 to 300 m from the origin is as far from its singularities as at the origin."""
    robot = library_robot("gough-stewart")
    for key in ("30 m away", "300 m away"):
        other = CHANGES[key].robot(robot)
        x = nacelle.reference_pose(other)
        own = nacelle.singularities(robot, nacelle.reference_pose(robot))
        found = nacelle.singularities(other, x)
        assert int(found.flags) == int(own.flags) == 0
        assert float(found.parallel) == pytest.approx(float(own.parallel), rel=1e-9)


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "delta", "palida"])
def test_order_of_legs_and_bodies(name: str) -> None:
    """The same description with its legs, and the bodies and closures in them, the other way round."""
    robot = library_robot(name)
    data = YAML(typ="safe", pure=True).load(robot.to_yaml())
    data["legs"] = data["legs"][::-1]
    for leg in data["legs"]:
        for key in ("bodies", "closures"):
            leg[key] = dict(reversed(leg[key].items()))
    other = nacelle.build(data)
    assert [leg.name for leg in other.legs] == [leg.name for leg in robot.legs][::-1]
    order = [[a.name for a in other.actuators].index(a.name) for a in robot.actuators]
    x, v = nacelle.reference_pose(robot), np.linspace(0.3, 0.7, robot.motion.n)
    ours, theirs = (nacelle.inverse_dynamics(each, x, v, 2.0 * v) for each in (other, robot))
    same(ours.tau[order], theirs.tau, 1e-12)
    assert ours.flags == theirs.flags
    shapes = resolve_input_shapes(model_functions.inverse, robot)
    counts = [
        count(Specification(model_functions.inverse, r, shapes, verify=False).program()).total
        for r in (robot, other)
    ]
    assert abs(counts[0] - counts[1]) <= 0.03 * counts[0]


@pytest.mark.parametrize("name", ["delta", "orthoglide", "delta-codourey"])
def test_mirror_images(name: str) -> None:
    """The image of a robot on the plane x = 0, its legs by `placement`, in the image of a motion."""
    robot = library_robot(name)
    data = YAML(typ="safe", pure=True).load(robot.to_yaml())
    for leg in data["legs"]:
        leg["placement"] = {"mirror": "x"}
    flip = np.array([-1.0, 1.0, 1.0])
    x, y, z = (robot.reference.p * flip).tolist()
    data["reference"]["position"] = f"{x!r} {y!r} {z!r} m"
    bodies = [robot.bodies[b] for b in robot.platform.bodies]
    assert all(body.inertia[1] == body.inertia[5] == body.inertia[7] == 0.0 for body in bodies)
    other = nacelle.build(data)
    rng = np.random.default_rng(2)
    pose = robot.reference.p + 0.1 * robot.size * rng.uniform(-1.0, 1.0, (4, 3))
    v, a = rng.normal(size=(2, 4, 3))
    ours = nacelle.inverse_dynamics(other, pose * flip, v * flip, a * flip)
    theirs = nacelle.inverse_dynamics(robot, pose, v, a)
    same(np.abs(ours.tau), np.abs(theirs.tau), 1e-11)
    np.testing.assert_array_equal(ours.flags, theirs.flags)
