"""Simpler robots: rods left out or lumped, and what that costs."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

import nacelle
from nacelle.dynamics import reference
from nacelle.dynamics.physics import ALL_TERMS, Physics
from nacelle.dynamics.simplify import find_rods, lump_rods, neglect_masses
from nacelle.errors import ParameterError
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import inertia_faults
from nacelle.spatial.scalar import Array
from support.compare import assert_same
from support.library import NAMES, library_robot
from support.mechanisms import rod_pairs
from support.uncompiled import run_uncompiled, solve_uncompiled

# How many rods each robot has.
RODS = {"delta": 6, "delta-codourey": 3, "delta4": 6, "h4": 8, "hexa": 6, "hexaglide": 6, "quattro": 8}
DRY = Physics(friction=False)


def actuator_forces(robot: Robot, x: Array, v: Array, a: Array, physics: Physics) -> Array:
    """Forces along a motion (N, actuators), by the tree."""
    x, v, a = map(np.atleast_2d, (x, v, a))
    inverse = partial(reference.inverse, formulation="tree", physics=physics)
    return run_uncompiled(inverse, robot, x, solve_uncompiled(robot, x), v, a, np.zeros_like(v))["force"]


class Deviation(NamedTuple):
    """Differences of actuator forces, the largest and the rms, over the same of the forces."""

    maximum: float
    rms: float


def simplification_error(
    robot: Robot, simple: Robot, x: Array, v: Array, a: Array, physics: Physics = ALL_TERMS
) -> Deviation:
    """What a simpler robot, whose actuators are of the same kind, does to the forces along a motion."""
    force, other = (actuator_forces(own, x, v, a, physics) for own in (robot, simple))
    ratios = (size(other - force) / size(force) for size in (lambda f: np.max(np.abs(f)), np.linalg.norm))
    return Deviation(*map(float, ratios))


def total_mass(robot: Robot) -> float:
    return float(sum(body.mass for body in robot.bodies))


def pick_and_place(duration: float, samples: int = 101) -> tuple[Array, Array, Array]:
    """x, v and a of the Delta's platform over 316 mm and back down 25 mm, rest to rest by a quintic."""
    t = np.linspace(0.0, 1.0, samples)[:, None]
    s = t**3 * (10.0 - 15.0 * t + 6.0 * t**2)
    ds = 30.0 * t**2 * (1.0 - t) ** 2 / duration
    dds = 60.0 * t * (1.0 - t) * (1.0 - 2.0 * t) / duration**2
    start, way, up = np.array([-0.15, -0.05, -0.62]), np.array([0.3, 0.1, 0.0]), np.array([0.0, 0.0, 0.025])
    c, h = np.cos(np.pi * s), np.sin(np.pi * s)
    x = start + way * s + up * h
    v = way * ds + up * np.pi * c * ds
    a = way * dds + up * np.pi * (c * dds - np.pi * h * ds**2)
    return x, v, a


def state(robot: Robot, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    v, a = rng.normal(size=(2, 3, robot.motion.n))
    return np.broadcast_to(mechanism_of(robot).reference[0], (3, mechanism_of(robot).layout.nx)), v, a


def test_which_bodies_are_rods() -> None:
    assert {name: len(find_rods(library_robot(name))) for name in NAMES} == {n: RODS.get(n, 0) for n in NAMES}
    for rod in find_rods(library_robot("delta")):
        names = [library_robot("delta").bodies[end.body].name for end in (rod.inner, rod.outer)]
        assert names[0].endswith(".arm")
        assert names[1] == "plate"


@pytest.mark.parametrize("name", RODS)
def test_lumping_keeps_the_mass_and_moves_it_to_the_ends(name: str) -> None:
    robot = library_robot(name)
    simple = lump_rods(robot)
    assert_same([total_mass(simple)], [total_mass(robot)], 1e-14, name)
    for rod in find_rods(robot):
        assert simple.bodies[rod.body].massless
    for body in simple.bodies:
        assert not inertia_faults(np.asarray(body.inertia)), body.name
    # What each end gains: mass and first moment about its own frame.
    gained = {end.body: np.zeros(4) for rod in find_rods(robot) for end in rod[1:]}
    for rod in find_rods(robot):
        mass = robot.bodies[rod.body].mass
        gained[rod.inner.body] += 2.0 / 3.0 * mass * np.array([1.0, *rod.inner.point])
        gained[rod.outer.body] += 1.0 / 3.0 * mass * np.array([1.0, *rod.outer.point])
    for k, gain in gained.items():
        before, after = (np.asarray(one.bodies[k].inertia) for one in (robot, simple))
        assert np.max(np.abs(after[:4] - before[:4] - gain)) < 1e-14 * total_mass(robot)


@pytest.mark.parametrize("name", RODS)
def test_neglected_rods_have_no_mass(name: str) -> None:
    robot = library_robot(name)
    simple = neglect_masses(robot)
    lost = sum(robot.bodies[rod.body].mass for rod in find_rods(robot))
    assert_same([total_mass(simple)], [total_mass(robot) - lost], 1e-13, name)
    assert_same(simple.parameter_vector("geometry"), robot.parameter_vector("geometry"), 0.0)


def test_neglected_bodies_by_name_and_index() -> None:
    robot = library_robot("fivebar")
    by_name, by_index = (
        neglect_masses(robot, ["left.distal"]),
        neglect_masses(robot, [robot.body("left.distal")]),
    )
    assert by_name == by_index
    assert by_name.bodies[robot.body("left.distal")].massless
    assert not by_name.bodies[robot.body("right.distal")].massless


@pytest.mark.slow
def test_a_rod_that_hangs_on_the_platform_is_lumped_the_same_way() -> None:
    """The same DELTA, its loops cut at the elbows in place of the wrists."""
    data = rod_pairs()
    ordinary = nacelle.build(data)
    guess = [0.0, float(np.sin(0.9)), 0.0, float(np.cos(0.9))]
    for leg in data["legs"]:
        for side in "ab":
            elbow, wrist = leg["joints"].pop(f"elbow-{side}"), leg["closures"].pop(f"wrist-{side}")
            ends = {
                "parent": "plate",
                "at": wrist["child_at"],
                "child": f"rod-{side}",
                "child_at": wrist["at"],
            }
            leg["joints"][f"wrist-{side}"] = {"type": "spherical", "guess": guess, **ends}
            del elbow["guess"]
            leg["closures"][f"elbow-{side}"] = elbow
    hanging = nacelle.build(data)
    for rod in find_rods(hanging):
        assert hanging.bodies[rod.inner.body].name.endswith(".arm")
        assert rod.outer.body == 1
    assert len(find_rods(hanging)) == len(find_rods(ordinary)) == 6
    x, v, a = state(ordinary)
    forces = [actuator_forces(lump_rods(robot), x, v, a, Physics()) for robot in (ordinary, hanging)]
    assert_same(forces[1], forces[0], 1e-12)


# ---------------------------------------------------------------------------- what it costs


def test_lumped_delta_is_the_delta_of_codourey() -> None:
    """Rods lumped by 2/3 and 1/3, the plate only translates: three arms and a point ([CB1997] (45))."""
    simple, codourey = lump_rods(library_robot("delta")), library_robot("delta-codourey")
    for duration in (0.3, 1.0):
        found = simplification_error(simple, codourey, *pick_and_place(duration), DRY)
        assert found.maximum < 1e-13
    # The full DELTA also has friction in its balls, which the reduced one leaves out: next to nothing.
    assert 0.0 < simplification_error(simple, codourey, *pick_and_place(0.4)).rms < 0.005


@pytest.mark.slow
def test_error_on_the_delta() -> None:
    """Of the order of 2.7 % rms of the torque for the split by thirds; without the rods ten times that."""
    robot = library_robot("delta")
    for duration, friction in ((0.4, False), (0.4, True), (1.0, False)):
        motion, settings = pick_and_place(duration), Physics(friction=friction)
        thirds = simplification_error(robot, lump_rods(robot), *motion, settings)
        none = simplification_error(robot, neglect_masses(robot), *motion, settings)
        assert 0.01 < thirds.rms < 0.03
        assert 0.01 < thirds.maximum < 0.04
        assert 0.15 < none.rms < 0.3
    # Fast motions like thirds, rest likes halves.
    fast = [
        simplification_error(robot, lump_rods(robot, s), *pick_and_place(0.2), DRY).rms for s in (2 / 3, 0.5)
    ]
    slow = [
        simplification_error(robot, lump_rods(robot, s), *pick_and_place(20.0), DRY).rms for s in (2 / 3, 0.5)
    ]
    assert fast[0] < fast[1] / 3.0
    assert slow[1] < slow[0] / 100.0


def test_halves_hold_the_weight_exactly() -> None:
    robot = library_robot("hexaglide")
    x, v, a = state(robot)
    share = 0.5
    coms = [np.asarray(robot.bodies[rod.body].inertia) for rod in find_rods(robot)]
    assert all(p[0] > 0.0 for p in coms)
    still = simplification_error(robot, lump_rods(robot, share), x, 0.0 * v, 0.0 * a, DRY)
    moving = simplification_error(robot, lump_rods(robot, share), x, v, a, DRY)
    assert still.maximum < 1e-12
    assert moving.maximum > 1e-4


# ---------------------------------------------------------------------------- errors


@pytest.mark.parametrize("name", [name for name in NAMES if name not in RODS])
def test_a_robot_without_rods_says_so(name: str) -> None:
    for simplify in (lump_rods, neglect_masses):
        with pytest.raises(
            ParameterError, match=f"no leg of {name} has a rod: a rod is a leg body between two"
        ):
            simplify(library_robot(name))


def test_errors() -> None:
    robot = library_robot("delta")
    with pytest.raises(ParameterError, match=r"between 0 and 1, got 1\.5"):
        lump_rods(robot, 1.5)
    with pytest.raises(ParameterError, match=r"no leg of delta has a body 'leg1\.arn'.*leg1\.arm"):
        neglect_masses(robot, ["leg1.arn"])
    with pytest.raises(ParameterError, match="no leg of delta has a body 'plate'"):
        neglect_masses(robot, ["plate"])
    with pytest.raises(ParameterError, match="no leg of delta has a body 99"):
        neglect_masses(robot, [99])
