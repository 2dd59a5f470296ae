"""Integrators, implicit ones too: their orders, every kind of force, events where they cross zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import nacelle
from nacelle.errors import KinematicsError
from nacelle.simulation.inputs import plant_inputs
from nacelle.simulation.integration import Integration
from nacelle.simulation.integrators import ImplicitStepper, find_event, first_violation
from nacelle.simulation.protocol import Event, EventGroup
from nacelle.simulation.rigid_plant import rigid_plant
from nacelle.simulation.simulate import simulate
from support.library import library_robot
from support.sprung import random_twist, sprung_robot
from support.sprung_mass import SprungMass

Array = np.ndarray

# Method, expected order, lengths of the step, tolerance: so loose that the longest step is always taken.
METHODS = [
    ("rk4", 4, (0.02, 0.01), 1.0),
    ("irk5", 5, (0.2, 0.1), 1.0),
    ("dop853", 8, (0.25, 0.125), 1e3),
    ("radau", 5, (0.125, 0.0625), 1e-4),
]


def error(method: str, step: float, tolerance: float, **options) -> float:
    plant = SprungMass()
    force = options.pop("force", lambda t: np.array([np.cos(1.3 * t)]))
    run = simulate(
        plant, [1.0], [0.5], force, until=2.0,
        integration=Integration(method, step=step, max_step=step, rtol=tolerance, atol=tolerance, **options),
    )  # fmt: skip
    assert len(run.t) == round(2.0 / step) + 1
    exact = plant.exact(run.t[-1], 1.0, 0.5, 1.3)
    return float(np.max(np.abs(run.states[-1] - exact)))


@pytest.mark.parametrize(("method", "order", "steps", "tolerance"), METHODS)
def test_order_with_a_function_of_time(
    method: str, order: int, steps: tuple[float, float], tolerance: float
) -> None:
    first, second = (error(method, step, tolerance) for step in steps)
    assert np.log2(first / second) == pytest.approx(order, abs=0.35)
    assert second > 1e-13


def test_order_with_feedback() -> None:
    """The drive's own spring, in Python, in the place of half of the plant's."""
    soft = SprungMass(stiffness=4.5)
    ends = []
    for step in (0.02, 0.01):
        run = simulate(
            soft,
            [1.0],
            [0.5],
            lambda t, x, v: np.cos(1.3 * t) - 4.5 * x,
            until=2.0,
            integration=Integration("rk4", step=step),
        )
        ends.append(np.max(np.abs(run.states[-1] - SprungMass().exact(2.0, 1.0, 0.5, 1.3))))
    assert np.log2(ends[0] / ends[1]) == pytest.approx(4.0, abs=0.2)


def test_a_held_force_is_of_first_order() -> None:
    first, second = (error("rk4", step, 1.0, hold=True) for step in (0.02, 0.01))
    assert first / second == pytest.approx(2.0, abs=0.1)


def test_order_of_a_robot_with_a_function_of_time() -> None:
    robot, x = sprung_robot("fivebar", 20.0)
    plant = rigid_plant(robot, friction=False)

    def force(t: float) -> Array:
        return np.array([np.sin(20.0 * t), 0.5 * np.cos(15.0 * t)])

    exact = simulate(plant, x, random_twist(robot), force, until=0.2, events=[]).states[-1]
    errors = []
    for step in (2e-3, 1e-3):
        run = simulate(
            plant,
            x,
            random_twist(robot),
            force,
            until=0.2,
            integration=Integration("rk4", step=step),
            events=[],
        )
        errors.append(np.max(np.abs(run.states[-1] - exact)))
    assert 14.0 < errors[0] / errors[1] < 18.5


# ---- events: the last time before each, against SciPy's root


def states(t: np.ndarray) -> np.ndarray:
    return np.column_stack([np.cos(3.0 * t), np.sin(t) + 0.1 * t])


LOW = Event("low", lambda t, s: s[:, 0] + 0.4)
HIGH = Event("high", lambda t, s: 0.9 - s[:, 1])


@pytest.mark.parametrize(("end", "name"), [(0.7, "low"), (0.6, None), (2.5, "low")])
def test_the_first_event_within_a_step(end: float, name: str | None) -> None:
    found = find_event([HIGH, LOW], 0.0, end, states)
    if name is None:
        assert found is None
        return
    assert found is not None
    root = brentq(lambda t: np.cos(3.0 * t) + 0.4, 0.0, 1.0, xtol=1e-15)
    assert found[0] == pytest.approx(root, abs=1e-14)
    assert found[1] == name
    assert LOW.value(np.array([found[0]]), states(np.array([found[0]])))[0] > 0.0


def test_states_that_are_not_finite_and_groups() -> None:
    t, s = np.arange(4.0), np.ones((4, 2))
    group = EventGroup(("one", "two"), lambda t, s: np.column_stack([s[:, 0], 2.5 - t]))
    assert first_violation([group], t, s) == 3
    s[2, 1] = np.nan
    assert first_violation([group], t, s) == 2
    assert first_violation([], t[:2], s[:2]) is None


# ---- Implicit fixed steps of plants: every kind of force, events, stiff friction, against the other methods


@nacelle.dynamics.physics(t=(), q=(2,), qd=(2,), r=(2,))
def springs(robot: Any, t: Any, q: Array, qd: Array, r: Array) -> Array:
    return -300.0 * (q - r) - 8.0 * qd


def moving(t: float) -> Array:
    return np.array([2.2, 0.9]) + 0.1 * np.array([np.sin(9.0 * t), np.cos(7.0 * t)])


def gap(run: Any, other: Any) -> float:
    return float(np.max(np.abs(run.states[-1] - other.states[-1])) / np.max(np.abs(other.states[-1])))


@pytest.mark.costly
@pytest.mark.parametrize("kind", ["function", "feedback"])
def test_native_steps_are_of_order_five(kind: str) -> None:
    """Functions of time and a compiled feedback, evaluated at the stages."""
    robot, x = sprung_robot("fivebar", 20.0)
    plant = rigid_plant(robot, friction=False)

    def force(t: float) -> Any:
        return np.array([np.sin(20.0 * t), 0.5 * np.cos(15.0 * t)])

    steps = (0.02, 0.01)
    if kind == "feedback":
        force, steps = nacelle.simulation.feedback(springs, moving), (0.005, 0.0025)
    settings: Any = {"until": 0.2, "events": []}
    exact = simulate(plant, x, random_twist(robot), force, **settings)
    runs = [
        simulate(plant, x, random_twist(robot), force, integration=Integration("irk5", step=h), **settings)
        for h in steps
    ]
    errors = [gap(run, exact) for run in runs]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(5.0, abs=0.6)
    assert 1e-11 < errors[1] < 1e-6
    assert runs[0].method == "irk5"
    assert runs[0].evaluations < 0.5 * exact.evaluations


def test_held_forces_are_those_of_the_explicit_method() -> None:
    """With a force that is held, both methods converge to the same motion: rows, laws, laws in Python."""
    robot, x = sprung_robot("fivebar", 20.0)
    plant = rigid_plant(robot, friction=False)
    rows = np.random.default_rng(1).normal(size=(10, 2))

    def in_python(t: float, x_now: Array, v: Array) -> Array:
        return np.array([np.sin(20.0 * t), -3.0 * v[0]])

    for force, hold in (
        (rows, False),
        (nacelle.simulation.feedback(springs, moving), True),
        (in_python, True),
    ):
        settings: Any = {"until": 0.02, "events": []}
        fine = simulate(
            plant,
            x,
            None,
            force,
            integration=Integration("rk4", step=0.002, hold=hold, substeps=20),
            **settings,
        )
        run = simulate(
            plant,
            x,
            None,
            force,
            integration=Integration("irk5", step=0.002, hold=hold, substeps=2),
            **settings,
        )
        assert gap(run, fine) < 1e-8
        np.testing.assert_allclose(run.tau, fine.tau, rtol=0.0, atol=1e-6)


def test_feedback_in_python_is_part_of_the_derivative() -> None:
    """A drive's own stiff spring and damper, in Python, of a plant without a native loop."""
    soft = SprungMass(stiffness=4.5)
    assert ImplicitStepper(plant_inputs(soft, None))._driver is None
    run = simulate(
        soft,
        [1.0],
        [0.5],
        lambda t, x, v: np.cos(1.3 * t) - 4.5 * x,
        until=2.0,
        integration=Integration("irk5", step=0.05),
    )
    np.testing.assert_allclose(run.states[-1], SprungMass().exact(2.0, 1.0, 0.5, 1.3), atol=2e-8)
    stiff = simulate(
        soft, [1.0], [0.0], lambda t, x, v: -1e9 * v, until=1.0, integration=Integration("irk5", step=0.1)
    )
    assert stiff.x[-1] == pytest.approx(1.0, abs=1e-7)


def test_stiff_friction() -> None:
    """A robot slides to rest on friction that turns within 1e-4: as by SciPy's method with step control."""
    robot = library_robot("fivebar")
    x, v = nacelle.reference_pose(robot), np.zeros(robot.motion.n)
    v[0] = 0.2
    plant = rigid_plant(robot, smooth=1e-4)
    hold = nacelle.gravity_forces(robot, x, coordinates="actuators")
    settings: Any = {"until": 0.2, "events": []}
    exact = simulate(plant, x, v, hold, integration=Integration("radau", rtol=1e-8, atol=1e-10), **settings)
    run = simulate(plant, x, v, hold, integration=Integration("irk5", step=5e-3), **settings)
    way = np.max(np.abs(exact.x[-1] - x))
    assert np.max(np.abs(run.x[-1] - exact.x[-1])) < 1e-6 * way
    assert run.dissipated_energy[-1] == pytest.approx(run.energy[0] - run.energy[-1] + run.work[-1], rel=1e-2)


def test_events_end_a_step() -> None:
    robot = library_robot("fivebar")
    plant = rigid_plant(robot, friction=False)
    x = nacelle.reference_pose(robot)
    events = [
        nacelle.simulation.user_event(
            plant, "the platform is low", lambda t, x_now, v: x_now[1] - x[1] + 0.01
        )
    ]
    settings: Any = {"until": 1.0, "tau": [0.05, -0.02], "events": events}
    exact = simulate(plant, x, **settings)
    run = simulate(plant, x, integration=Integration("irk5", step=4e-3), **settings)
    assert run.status == "event"
    assert "the platform is low" in run.message
    assert run.t[-1] == pytest.approx(exact.t[-1], abs=1e-8)
    np.testing.assert_allclose(run.states[-1], exact.states[-1], atol=1e-7)
    # It goes on on its grid: in Python to the end of the step, then natively.
    end = exact.t[-1] + 0.02
    more, all_ = (part.resume(until=end, events=[]) for part in (run, exact))
    assert gap(more, all_) < 1e-7


def test_a_step_without_a_solution_is_said() -> None:
    class Torn(SprungMass):
        def derivative(self):
            return lambda s, u: np.array([s[1], 1.0 if s[0] < 1.05 else np.nan])

    run = simulate(Torn(), [1.0], [0.5], until=1.0, integration=Integration("irk5", step=0.05))
    assert run.status == "failed"
    assert "Newton's iteration does not converge" in run.message
    assert "shorter step" in run.message
    assert run.x[-1] == pytest.approx(1.05, abs=0.02)


def test_methods_by_name() -> None:
    plant = SprungMass()
    assert simulate(plant, [1.0], until=0.1, integration=Integration("auto")).method == "dop853"
    run = simulate(plant, [1.0], until=0.1, integration=Integration("irk5"))
    assert len(run.t) == 101
    with pytest.raises(KinematicsError, match="goes with the methods 'rk4' and 'irk5', not 'auto'"):
        simulate(plant, [1.0], until=0.1, integration=Integration("auto", hold=True))
    with pytest.raises(KinematicsError, match="longer than the run"):
        simulate(plant, [1.0], until=0.1, integration=Integration("irk5", step=0.5))
