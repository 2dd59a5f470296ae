"""DigitalController: law, loop, programs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import nacelle
from nacelle.errors import KinematicsError
from nacelle.simulation.digital_controller import DigitalController, control, delayed_law, law_alone
from nacelle.simulation.integration import Integration
from nacelle.simulation.plant import Plant
from nacelle.simulation.rigid_plant import rigid_plant
from nacelle.simulation.simulate import simulate
from support.library import library_robot

# ---- What a digital controller says of its inputs, its reference and its numbers

T = 2e-3


@nacelle.dynamics.physics(z=(3,), q=(2,), r=(2,), gains=(1,))
def held(robot, z, q, r, gains):
    return {"force": gains[0] * (r - q), "memory": z}


def rows_of(**changes) -> np.ndarray:
    robot = library_robot("fivebar")
    first = {"memory": np.zeros(3), "reference": np.arange(80.0).reshape(40, 2), "gains": np.ones(1)}
    return DigitalController(held, T, **(first | changes)).rows(rigid_plant(robot), robot, 40)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"delay": 3e-3}, "not within the sample time"),
        ({"delay": -1e-3}, "not within the sample time"),
        ({"memory": np.zeros(2)}, "takes z with the shape"),
        ({"reference": None}, "is missing: rows of 2 numbers"),
        ({"reference": np.zeros((3, 2))}, "for 40 samples"),
        ({"reference": np.full((40, 2), np.nan)}, "not finite in row 0"),
        ({"gains": np.array([np.inf])}, "finite numbers"),
        ({"robot": "delta"}, "takes q with the shape"),
    ],
)
def test_errors_say_what_is_wrong(change, words: str) -> None:
    if change == {"robot": "delta"}:
        with pytest.raises(KinematicsError, match=words):
            DigitalController(held, T, memory=np.zeros(3), gains=np.ones(1)).shapes(library_robot("delta"))
        return
    with pytest.raises(KinematicsError, match=words):
        rows_of(**change)


def test_what_a_controller_takes_is_named() -> None:
    @nacelle.dynamics.physics(z=(1,), speed=(2,))
    def law(robot, z, speed):
        return {"force": speed, "memory": z}

    with pytest.raises(KinematicsError, match="takes 'speed'"):
        DigitalController(law, T, memory=np.zeros(1)).shapes(library_robot("fivebar"))
    with pytest.raises(KinematicsError, match="does not declare its inputs"):
        DigitalController(lambda robot, z: None, T)
    with pytest.raises(KinematicsError, match="sample time is above zero"):
        DigitalController(held, 0.0)


# ---- programs
#
# Programs of digital controllers: with the plant, alone, delayed by a sample, and what they must give.


@nacelle.dynamics.physics(z=(2,), q=(2,), r=(2,), gains=(1,))
def towards(robot, z, q, r, gains):
    return {"force": gains[0] * (r - q) + z, "memory": z + r}


def law() -> DigitalController:
    return DigitalController(towards, 1e-3, memory=np.zeros(2), gains=np.ones(1))


def test_with_the_plant_and_alone() -> None:
    robot = library_robot("fivebar")
    plant = rigid_plant(robot)
    parts = plant.loop_parts()
    x = nacelle.reference_pose(robot) + 0.01
    q = nacelle.inverse_kinematics(robot, x).q
    z, r, gains = np.array([0.3, -0.2]), np.array([1.0, 2.0]), np.array([5.0])
    s = plant.state(x, np.array([0.1, 0.2]))
    both = control(law(), parts)(
        robot, np.concatenate([s, z]), np.concatenate([[0.0], r]), np.concatenate([parts.constants, gains])
    )
    expected = np.concatenate([5.0 * (r - q) + z, z + r])
    assert np.max(np.abs(both - expected)) < 1e-12
    alone = law_alone(law(), robot)(z, q, r, gains)
    assert np.max(np.abs(np.concatenate([alone["force"], alone["memory"]]) - expected)) < 1e-12
    assert np.max(np.abs(parts.signals(s, ("q",))["q"] - q)) < 1e-12


def test_forces_that_wait_for_a_sample() -> None:
    robot = library_robot("fivebar")
    waiting = delayed_law(towards, 2, 2)
    z, r, q, gains = np.array([0.3, -0.2, 7.0, 8.0]), np.array([1.0, 2.0]), np.zeros(2), np.ones(1)
    result = waiting(robot, z, q, r, gains)
    now = towards(robot, z[:2], q, r, gains)
    assert np.array_equal(result["force"], [7.0, 8.0])
    assert np.allclose(result["memory"], np.concatenate([now["memory"], now["force"]]), rtol=0, atol=1e-15)


def test_what_a_law_must_give() -> None:
    @nacelle.dynamics.physics(z=(2,), q=(2,))
    def forgets(robot, z, q):
        return {"force": q}

    @nacelle.dynamics.physics(z=(2,), q=(2,))
    def too_few(robot, z, q):
        return {"force": q[:1], "memory": z}

    robot = library_robot("fivebar")
    parts = rigid_plant(robot).loop_parts()
    s = np.zeros(rigid_plant(robot).size + 2)
    for wrong, words in ((forgets, '"memory"'), (too_few, "has 2 actuators")):
        with pytest.raises(KinematicsError, match=words):
            control(DigitalController(wrong, 1e-3, memory=np.zeros(2)), parts)(
                robot, s, np.zeros(1), parts.constants
            )


# ---- Runs of digital controllers against a loop that is written out by hand, natively and in Python

Array = np.ndarray
T_OF_LOOP, SAMPLES, SUBSTEPS = 2e-3, 40, 8


@nacelle.dynamics.physics(z=(3,), q=(2,), r=(2,), gains=(3,))
def pi_control(robot, z, q, r, gains):
    """Errors with their integral and difference; the last number counts samples."""
    e = r - q
    force = gains[0] * e + gains[1] * z[:2] + gains[2] * np.array([1.0, -1.0])
    return {"force": force, "memory": np.array([*(z[:2] + T_OF_LOOP * e), z[2] + 1.0])}


GAINS = np.array([4.0, 20.0, 0.1])


def rows() -> Array:
    q = nacelle.inverse_kinematics(library_robot("fivebar"), pose()).q
    t = T_OF_LOOP * np.arange(SAMPLES)[:, None]
    return q + 0.05 * np.sin(9.0 * t + np.array([0.0, 1.0]))


def pose() -> Array:
    return nacelle.reference_pose(library_robot("fivebar"))


def controller(**changes) -> DigitalController:
    first = {"memory": np.array([0.01, -0.02, 0.0]), "reference": rows(), "gains": GAINS}
    return DigitalController(pi_control, T_OF_LOOP, **(first | changes))


def by_hand(delay: float, first: Array) -> tuple[Array, Array, Array]:
    """Poses, forces and memories at the begin of every step, with accelerations of the public API."""
    robot, h = library_robot("fivebar"), T_OF_LOOP / SUBSTEPS
    x, v, z, u = pose(), np.zeros(2), np.array([0.01, -0.02, 0.0]), first
    poses, forces, memories = [], [], []
    waiting: list[tuple[int, Array]] = []
    late = round(delay / h)

    def f(s: Array) -> Array:
        a = nacelle.forward_dynamics(robot, s[:2], s[2:], u, friction=False).a
        return np.concatenate([s[2:], a])

    for step in range(SAMPLES * SUBSTEPS):
        poses.append(x)
        memories.append(z)
        if step % SUBSTEPS == 0:
            e = rows()[step // SUBSTEPS] - nacelle.inverse_kinematics(robot, x).q
            waiting.append((step + late, GAINS[0] * e + GAINS[1] * z[:2] + GAINS[2] * np.array([1.0, -1.0])))
            z = np.array([*(z[:2] + T_OF_LOOP * e), z[2] + 1.0])
        if waiting and waiting[0][0] == step:
            u = waiting.pop(0)[1]
        forces.append(u)
        s = np.concatenate([x, v])
        k1 = f(s)
        k2 = f(s + 0.5 * h * k1)
        k3 = f(s + 0.5 * h * k2)
        k4 = f(s + h * k3)
        s = s + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        x, v = s[:2], s[2:]
    return np.array(poses), np.array(forces), np.array(memories)


class InPython:
    """A plant that cannot be compiled with a controller, but says what its encoders read."""

    def __init__(self, plant: Plant) -> None:
        self._plant = plant
        for name in ("robot", "name", "size", "inputs", "labels"):
            setattr(self, name, getattr(plant, name))
        for name in ("state", "split", "energies", "power", "events", "derivative"):
            setattr(self, name, getattr(plant, name))

    def signals(self, s, wanted):
        return {"q": nacelle.inverse_kinematics(self.robot, self.split(s)[0]).q}


def run(law: DigitalController, plant=None, *, step=T_OF_LOOP / 8, substeps=1, **options):
    driven = rigid_plant(library_robot("fivebar"), friction=False) if plant is None else plant
    return simulate(
        driven,
        pose(),
        None,
        law,
        integration=Integration("rk4", step=step, substeps=substeps),
        **({"until": SAMPLES * T_OF_LOOP} | options),
    )


@pytest.mark.costly
@pytest.mark.parametrize("delay", [0.0, 0.5 * T_OF_LOOP, T_OF_LOOP])
def test_equals_a_loop_by_hand(delay: float) -> None:
    first = np.array([0.2, -0.1])
    x, u, z = by_hand(delay, first)
    law = controller(delay=delay, tau0=first)
    for plant in (None, InPython(rigid_plant(library_robot("fivebar"), friction=False))):
        result = run(law, plant)
        assert result.ok, result.message
        assert np.max(np.abs(result.x[:-1] - x)) < 1e-12
        assert np.max(np.abs(result.tau[:-1] - u)) < 1e-10 * np.max(np.abs(u))
        # At a sample the memory is what that takes.
        assert np.max(np.abs(result.memory[:-1][::SUBSTEPS] - z[::SUBSTEPS])) < 1e-12
        assert abs(result.balance[-1]) < 1e-7 * np.max(result.energies["kinetic"])


@pytest.mark.parametrize("delay", [0.0, 0.5 * T_OF_LOOP, T_OF_LOOP])
def test_going_on_is_the_same_run(delay: float) -> None:
    whole = run(controller(delay=delay))
    half = run(controller(delay=delay), until=SAMPLES // 2 * T_OF_LOOP)
    both = half.resume(until=SAMPLES * T_OF_LOOP)
    assert np.array_equal(both.x, whole.x)
    assert np.array_equal(both.memory, whole.memory)
    # Another plant of the same kind goes on from the same state.
    other = half.resume(until=SAMPLES * T_OF_LOOP, plant=rigid_plant(library_robot("fivebar")))
    assert np.array_equal(other.x[: len(half.x)], half.x)
    assert np.max(np.abs(other.x[-1] - whole.x[-1])) > 1e-9


@pytest.mark.parametrize("delay", [0.0, 0.5 * T_OF_LOOP])
def test_substeps_are_steps_that_are_not_kept(delay: float) -> None:
    fine = run(controller(delay=delay), step=T_OF_LOOP / 16)
    for plant in (None, InPython(rigid_plant(library_robot("fivebar"), friction=False))):
        kept = run(controller(delay=delay), plant, substeps=2)
        np.testing.assert_allclose(kept.t, fine.t[::2], rtol=0.0, atol=1e-15)
        np.testing.assert_allclose(kept.x, fine.x[::2], rtol=0.0, atol=1e-13)
        np.testing.assert_allclose(kept.tau, fine.tau[::2], rtol=1e-10)


def test_a_controller_that_stops_ends_the_run() -> None:
    law = controller(memory=np.array([0.0, 0.0, -10.5]), stop=(2, "enough was counted"))
    result = run(law)
    assert result.status == "event"
    assert "enough was counted" in result.message
    # The eleventh sample brings the count above zero.
    assert result.message.startswith(f"at {10 * T:.9g} s")
    with pytest.raises(KinematicsError, match="goes on from a sample"):
        result.resume(until=1.0)


def test_events_end_runs_between_samples() -> None:
    half = nacelle.simulation.Event("the tip has moved", lambda t, s: 1e-4 - np.abs(s[:, 0] - pose()[0]))
    result = run(controller(), events=[half])
    assert result.status == "event"
    assert "the tip has moved" in result.message
    assert abs(abs(result.x[-1, 0] - pose()[0]) - 1e-4) < 1e-12


def test_options_that_do_not_go_with_a_controller() -> None:
    with pytest.raises(KinematicsError, match="fixed steps"):
        simulate(library_robot("fivebar"), pose(), None, controller(), until=SAMPLES * T_OF_LOOP)
    with pytest.raises(KinematicsError, match="whole number of samples"):
        run(controller(), until=2.5 * T_OF_LOOP)


def test_a_force_that_is_not_finite_is_a_failure() -> None:
    result = run(dataclasses.replace(controller(), gains=np.array([1e308, 1e308, 1e308])))
    assert result.status == "failed"
    assert "not finite" in result.message
