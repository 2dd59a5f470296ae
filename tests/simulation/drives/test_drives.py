"""Drives: their numbers, their flow, steps that suit them, stiction from a description."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import nacelle
from nacelle.compile.check import evaluate_program, split_row
from nacelle.compile.refusals import refusal_reason
from nacelle.compile.specification import Specification, resolve_input_shapes
from nacelle.model.joint import FrictionTerm
from nacelle.simulation.driven_plant import driven_model, driven_plant, rates_and_mobility, sticking_rate
from nacelle.simulation.drives import Cogging, DriveNumbers, Drives, LuGre, stiction_of
from nacelle.simulation.flow import RIGID_MODEL, flow
from nacelle.simulation.integration import SuitedSteps
from nacelle.simulation.rigid_plant import rigid_plant
from nacelle.spatial.physics import Form
from support.cart import cart
from support.library import library_robot

FRICTION = LuGre(0.1, 0.15, 0.01, 1000.0)


def test_one_for_all_or_one_for_each() -> None:
    robot = library_robot("fivebar")
    same = Drives(lag=1e-3, limits=5, cogging=(0.1, 40, 0.2), stiction=FRICTION)
    each = Drives(
        lag=[1e-3, 1e-3],
        limits=np.array([5.0, 5.0]),
        cogging=[(0.1, 40, 0.2)] * 2,
        stiction=[FRICTION, FRICTION],
    )
    assert same.numbers(robot) == each.numbers(robot)
    assert same.numbers(robot) == DriveNumbers(
        (1e-3, 1e-3), (5.0, 5.0), (Cogging(0.1, 40.0, 0.2),) * 2, (FRICTION, FRICTION)
    )
    assert hash(same.numbers(robot)) == hash(each.numbers(robot))


def test_states_are_only_where_there_is_something() -> None:
    robot = library_robot("fivebar")
    assert Drives().numbers(robot).states == 0
    numbers = Drives(lag=[0.0, 1e-3], stiction=[FRICTION, None]).numbers(robot)
    assert numbers.lagged_actuators == [1]
    assert numbers.stiction_actuators == [(0, FRICTION)]
    assert numbers.states == 2
    assert Drives(cogging=(0.0, 40.0, 0.0)).numbers(robot).cogging == ()


def test_bandwidth_is_a_lag() -> None:
    robot = library_robot("fivebar")
    assert Drives(bandwidth=[100.0, math.inf]).numbers(robot).lag == (1.0 / (200.0 * math.pi), 0.0)


def test_limits_are_those_of_the_description_unless_others_are_given() -> None:
    robot = library_robot("fivebar")
    assert Drives().numbers(robot).limit == tuple(a.force for a in robot.actuators) == (12.0, 12.0)
    assert Drives().numbers(cart()).limit == (math.inf,)
    for none in (None, math.inf):
        assert Drives(limits=none).numbers(robot).limit == (math.inf, math.inf)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"lag": -1e-3}, "the lag of the current loops is not negative"),
        ({"lag": "fast"}, "the lag of the current loops is a number, or one for each actuator"),
        ({"bandwidth": 0.0}, "is above 0 Hz"),
        ({"lag": 1e-3, "bandwidth": 100.0}, "a lag or a bandwidth"),
        ({"limits": -1.0}, "force limits are above zero"),
        ({"limits": "none"}, "the force limit is a number"),
        ({"cogging": (0.1, 40.0)}, r"cogging is \(amplitude, cycles, phase\)"),
        ({"stiction": 0.1}, r"stiction is a LuGre\("),
    ],
)
def test_mistakes(given: dict, words: str) -> None:
    with pytest.raises(nacelle.KinematicsError, match=words):
        Drives(**given)


@pytest.mark.parametrize(
    "given",
    [
        {"lag": [1e-3]},
        {"bandwidth": [1.0] * 3},
        {"limits": [1.0] * 3},
        {"cogging": [(1.0, 2.0, 3.0)]},
        {"stiction": [None]},
    ],
)
def test_numbers_that_do_not_fit_the_robot(given: dict) -> None:
    with pytest.raises(nacelle.KinematicsError, match="one for each of the 2 actuators of fivebar"):
        Drives(**given).numbers(library_robot("fivebar"))


# ---- The traced flow with drives, against one by hand

FRICTION_OF_MODEL = LuGre(0.1, 0.15, 0.01, 1000.0, 2.0)


def test_the_flow_by_hand() -> None:
    """With one motor lagged and one joint with stiction, on plain floats."""
    robot = library_robot("fivebar")
    numbers = DriveNumbers(
        (0.0, 2e-3), (0.8, np.inf), ((0.3, 40.0, 0.1), (0.2, 30.0, 0.5)), (FRICTION_OF_MODEL, None)
    )
    numbers = numbers._replace(cogging=Drives(cogging=numbers.cogging).numbers(robot).cogging)
    model = driven_model(RIGID_MODEL, numbers)
    s, u, quat = np.array([0.02, 0.3, 0.4, -0.2]), np.array([1.7, -0.6]), np.array([0.0, 0.0, 0.0, 1.0])
    g, b = 0.35, 4e-5
    whole = model.flow(robot, np.array([*s, g, b]), u, quat)
    signals = RIGID_MODEL.signals(robot, s, quat, ("q", "qd"))
    q, w = signals["q"], signals["qd"]
    b_rate = w[0] - 1000.0 * abs(w[0]) * b / FRICTION_OF_MODEL.level(w[0])
    friction = 1000.0 * b + FRICTION_OF_MODEL.damper(w[0]) * b_rate
    force = [0.8 + 0.3 * np.sin(40.0 * q[0] + 0.1) - friction, g + 0.2 * np.sin(30.0 * q[1] + 0.5)]
    np.testing.assert_allclose(whole[:4], flow(robot, s, np.array(force), quat), rtol=1e-13)
    np.testing.assert_allclose(whole[4:], [(-0.6 - g) / 2e-3, b_rate], rtol=1e-13)


@pytest.mark.parametrize(
    "name", ["prrrp", *(pytest.param(name, marks=pytest.mark.slow) for name in ("3rps", "palida"))]
)
def test_the_flow_is_checked_at_states_of_the_robot(name: str) -> None:
    """There the compact form is the tree to rounding; commands that are called u are no pose."""
    loose = stiction_of(library_robot(name), static=1.4)
    drives = Drives(bandwidth=2000.0, stiction=loose.friction, cogging=(3.0, 200.0, 0.3))
    plant = driven_plant(rigid_plant(loose.robot, smooth=1e-3), drives)
    flow, robot = plant.model.flow, plant.robot
    shapes = resolve_input_shapes(flow, robot)
    specification = Specification(flow, robot, shapes, options=dict(plant.options))
    program, check = specification.program_with_check()
    assert check is not None
    assert plant.inner is not None
    for s, u, quat in (split_row(row, shapes) for row in check.inputs):
        np.testing.assert_array_equal(quat, plant.constants)
        x, v = plant.inner.split(s[: plant.inner.size])
        np.testing.assert_allclose(plant.inner.state(x, v), s[: plant.inner.size], atol=1e-9)
        assert not np.any(np.isin(u, x))
    np.testing.assert_array_equal(
        check.outputs, [specification.evaluate(row, Form.TREE)["out"] for row in check.inputs]
    )
    error = np.abs(evaluate_program(program, check.inputs) - check.outputs)
    assert np.max(error) < 1e-12 * np.max(np.abs(check.outputs))
    assert not refusal_reason(robot)


# ---- Steps that suit drives: the limits at which the Runge-Kutta method becomes unstable

FRICTION_OF_STEPS = LuGre(1.0, 1.5, 1e-3, 1e5, 100.0, 0.4, blend=0.01)


def test_mobility_is_that_of_the_mass_matrix() -> None:
    robot = library_robot("fivebar")
    plant, x = driven_plant(robot, Drives(stiction=FRICTION_OF_STEPS)), nacelle.reference_pose(robot) + 0.03
    _, W = rates_and_mobility(plant, plant.drives.numbers(robot), plant.state(x, [0.3, 0.1]))
    np.testing.assert_allclose(
        W, np.linalg.inv(nacelle.mass_matrix(robot, x, coordinates="actuators")), rtol=1e-9
    )


def test_small_limits_do_not_hide_the_mass() -> None:
    plant = driven_plant(cart(), Drives(stiction=FRICTION_OF_STEPS, limits=1e-3))
    free = driven_plant(cart(), Drives(stiction=FRICTION_OF_STEPS, limits=None, lag=1.0))
    steps = [p.suited_steps(p.state([0.0], [0.0])).explicit for p in (plant, free)]
    assert steps[0] == pytest.approx(steps[1], rel=1e-9)


def test_steps_beyond_the_limit_are_refused_and_do_grow() -> None:
    plant = driven_plant(cart(), Drives(lag=1e-4))
    s = plant.state([0.0], [0.0])
    assert plant.suited_steps(s).explicit == pytest.approx(2.5e-5)
    assert "current loops of cart have a time constant of 0.0001 s" in plant.suited_steps(s).reason_unstable(
        2.9e-4
    )
    with pytest.raises(nacelle.KinematicsError, match="current loops"):
        nacelle.simulate(
            plant, [0.0], tau=[1.0], until=1.0, integration=nacelle.simulation.Integration("rk4", step=1e-3)
        )
    driver, u = plant.driver(), np.ones((2000, 1))
    fine, wrong = (driver.integrate(s, u, h=h, steps=2000)[-1, -1] for h in (2.6e-4, 2.9e-4))
    assert fine == pytest.approx(1.0)
    assert not abs(wrong) < 1e3


def test_the_default_step_is_stable_at_every_rate() -> None:
    plant = driven_plant(cart(), Drives(stiction=FRICTION_OF_STEPS))
    assert plant.suited_steps(plant.state([0.0], [0.0])).explicit == pytest.approx(
        min(0.25 / sticking_rate(plant.drives.numbers(cart()), np.eye(1)), 0.5 / 1000.0)
    )
    with pytest.raises(nacelle.KinematicsError, match="bristles of joints that slide"):
        nacelle.simulate(
            plant, [0.0], tau=[1.0], until=1.0, integration=nacelle.simulation.Integration("rk4", step=5e-3)
        )
    run = nacelle.simulate(
        plant,
        [0.0],
        [0.0],
        lambda t: [20.0 * math.sin(3.0 * t)],
        until=4.0,
        integration=nacelle.simulation.Integration("rk4"),
    )
    assert run.ok
    assert np.max(np.abs(run.v)) > 2.0
    assert np.max(np.abs(plant.signal(run.states, "bristles"))) < 1.6e-5


def test_without_drives_the_step_is_that_of_the_plant() -> None:
    plant = driven_plant(cart())
    suited = plant.suited_steps(plant.state([0.0], [0.0]))
    assert suited == SuitedSteps()
    assert suited.reason_unstable(1.0) == ""


# ---- Stiction from a description: friction is moved, not added


def with_friction(*terms: FrictionTerm) -> nacelle.Robot:
    """The cart with friction in its actuated joint."""
    (first, *others) = cart().joints
    return dataclasses.replace(cart(), joints=(dataclasses.replace(first, friction=(terms,)), *others))


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "delta"])
def test_fast_sliding_is_as_described(name: str) -> None:
    """At rates far above the Stribeck rate a robot accelerates as with its Coulomb friction."""
    robot = library_robot(name)
    n = robot.motion.n
    stuck = stiction_of(robot)
    plant, plain = driven_plant(stuck.robot, Drives(stiction=stuck.friction)), rigid_plant(robot)
    s = plain.state(nacelle.reference_pose(robot) + 0.02, 0.5 * np.arange(1, n + 1))
    w = plant.signal(np.append(s, np.zeros(plant.inputs)), "qd")
    assert np.min(np.abs(w)) > 0.2
    pairs = zip(stuck.friction, w, strict=True)
    b = [model.level(rate) * np.sign(rate) / model.stiffness for model, rate in pairs]
    u = np.linspace(0.1, 0.4, plant.inputs)
    rates = plant.derivative()(np.append(s, b), u)
    np.testing.assert_allclose(rates[: len(s)], plain.derivative()(s, u), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(rates[len(s) :], 0.0, atol=1e-12)


def test_numbers_are_those_of_the_paper() -> None:
    """For 1 N and 1 kg those of table 1 in Canudas de Wit et al. (1995)."""
    robot, (model,) = stiction_of(with_friction(FrictionTerm("coulomb", 1.0), FrictionTerm("viscous", 0.4)))
    assert model is not None
    assert (model.coulomb, model.static, model.rate) == (1.0, 1.5, 1e-3)
    assert model.stiffness == pytest.approx(1e5)
    assert model.damping == pytest.approx(np.sqrt(1e5))
    assert robot.joints[0].friction == ((FrictionTerm("viscous", 0.4),),)


def test_described_stribeck_friction_is_taken() -> None:
    terms = FrictionTerm("coulomb", 1.0), FrictionTerm("stribeck", 0.2, 0.03)
    robot, (model,) = stiction_of(with_friction(*terms), static=3.0)
    assert model is not None
    assert (model.static, model.rate) == (1.2, 0.03)
    assert robot.joints[0].friction == ((),)


def test_no_coulomb_friction_is_no_stiction() -> None:
    for robot in (cart(), with_friction(FrictionTerm("viscous", 0.4)), with_friction()):
        same, friction = stiction_of(robot)
        assert friction == (None,)
        assert same == robot
        plant = driven_plant(same, Drives(stiction=friction))
        assert plant.size == rigid_plant(robot).size


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"static": 0.9}, "static >= 1"),
        ({"rate": 0.0}, "rate must be above zero"),
        ({"stiffness": -1.0}, "stiffness must be above zero"),
    ],
)
def test_mistakes_of_stiction(options: dict, words: str) -> None:
    with pytest.raises(nacelle.KinematicsError, match=words):
        stiction_of(with_friction(FrictionTerm("coulomb", 1.0)), **options)


def test_friction_that_drives() -> None:
    for term in (FrictionTerm("coulomb", -1.0), FrictionTerm("stribeck", 1.0, 0.1)):
        with pytest.raises(nacelle.KinematicsError, match=r"stiction of rail\.motor needs Coulomb friction"):
            stiction_of(with_friction(term))
