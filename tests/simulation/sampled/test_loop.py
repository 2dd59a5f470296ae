"""Runs of digital controllers against a loop that is written out by hand, natively and in Python."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import nacelle
from nacelle.errors import KinematicsError
from nacelle.simulation.plant import RigidPlant
from nacelle.simulation.sampled.law import Sampled
from nacelle.simulation.simulate import simulate
from support.library import library_robot

Array = np.ndarray
T, SAMPLES, SUBSTEPS = 2e-3, 40, 8


@nacelle.physics(z=(3,), q=(2,), r=(2,), gains=(3,))
def pi_control(robot, z, q, r, gains):
    """Errors with their integral and difference; the last number counts samples."""
    e = r - q
    force = gains[0] * e + gains[1] * z[:2] + gains[2] * np.array([1.0, -1.0])
    return {"force": force, "memory": np.array([*(z[:2] + T * e), z[2] + 1.0])}


GAINS = np.array([4.0, 20.0, 0.1])


def rows() -> Array:
    q = nacelle.inverse_kinematics(library_robot("fivebar"), pose()).actuators
    t = T * np.arange(SAMPLES)[:, None]
    return q + 0.05 * np.sin(9.0 * t + np.array([0.0, 1.0]))


def pose() -> Array:
    return nacelle.reference_pose(library_robot("fivebar"))


def controller(**changes) -> Sampled:
    first = {"memory": np.array([0.01, -0.02, 0.0]), "reference": rows(), "gains": GAINS}
    return Sampled(pi_control, T, **(first | changes))


def by_hand(delay: float, first: Array) -> tuple[Array, Array, Array]:
    """Poses, forces and memories at the begin of every step, with accelerations of the public API."""
    robot, h = library_robot("fivebar"), T / SUBSTEPS
    x, v, z, u = pose(), np.zeros(2), np.array([0.01, -0.02, 0.0]), first
    poses, forces, memories = [], [], []
    waiting: list[tuple[int, Array]] = []
    late = round(delay / h)

    def f(s: Array) -> Array:
        a = nacelle.forward_dynamics(robot, s[:2], s[2:], u, friction=False).acceleration
        return np.concatenate([s[2:], a])

    for step in range(SAMPLES * SUBSTEPS):
        poses.append(x)
        memories.append(z)
        if step % SUBSTEPS == 0:
            e = rows()[step // SUBSTEPS] - nacelle.inverse_kinematics(robot, x).actuators
            waiting.append((step + late, GAINS[0] * e + GAINS[1] * z[:2] + GAINS[2] * np.array([1.0, -1.0])))
            z = np.array([*(z[:2] + T * e), z[2] + 1.0])
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

    def __init__(self, plant: RigidPlant) -> None:
        self._plant = plant
        for name in ("robot", "name", "size", "inputs", "labels"):
            setattr(self, name, getattr(plant, name))
        for name in ("state", "split", "energies", "power", "events", "derivative"):
            setattr(self, name, getattr(plant, name))

    def signals(self, s, wanted):
        return {"q": nacelle.inverse_kinematics(self.robot, self.split(s)[0]).actuators}


def run(law: Sampled, plant=None, **options):
    driven = RigidPlant(library_robot("fivebar"), friction=False) if plant is None else plant
    return simulate(
        driven, pose(), None, law, method="rk4", **({"until": SAMPLES * T, "step": T / 8} | options)
    )


@pytest.mark.costly
@pytest.mark.parametrize("delay", [0.0, 0.5 * T, T])
def test_equals_a_loop_by_hand(delay: float) -> None:
    first = np.array([0.2, -0.1])
    x, u, z = by_hand(delay, first)
    law = controller(delay=delay, first_force=first)
    for plant in (None, InPython(RigidPlant(library_robot("fivebar"), friction=False))):
        result = run(law, plant)
        assert result.ok, result.message
        assert np.max(np.abs(result.x[:-1] - x)) < 1e-12
        assert np.max(np.abs(result.inputs[:-1] - u)) < 1e-10 * np.max(np.abs(u))
        # At a sample the memory is what that takes.
        assert np.max(np.abs(result.memory[:-1][::SUBSTEPS] - z[::SUBSTEPS])) < 1e-12
        assert abs(result.balance[-1]) < 1e-7 * np.max(result.energies["kinetic"])


@pytest.mark.parametrize("delay", [0.0, 0.5 * T, T])
def test_going_on_is_the_same_run(delay: float) -> None:
    whole = run(controller(delay=delay))
    half = run(controller(delay=delay), until=SAMPLES // 2 * T)
    both = half.resume(until=SAMPLES * T)
    assert np.array_equal(both.x, whole.x)
    assert np.array_equal(both.memory, whole.memory)
    # Another plant of the same kind goes on from the same state.
    other = half.resume(until=SAMPLES * T, plant=RigidPlant(library_robot("fivebar")))
    assert np.array_equal(other.x[: len(half.x)], half.x)
    assert np.max(np.abs(other.x[-1] - whole.x[-1])) > 1e-9


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
    half = nacelle.Event("the tip has moved", lambda t, s: 1e-4 - np.abs(s[:, 0] - pose()[0]))
    result = run(controller(), events=[half])
    assert result.status == "event"
    assert "the tip has moved" in result.message
    assert abs(abs(result.x[-1, 0] - pose()[0]) - 1e-4) < 1e-12


def test_options_that_do_not_go_with_a_controller() -> None:
    with pytest.raises(KinematicsError, match="fixed steps"):
        simulate(library_robot("fivebar"), pose(), None, controller(), until=SAMPLES * T)
    with pytest.raises(KinematicsError, match="whole number of samples"):
        run(controller(), until=2.5 * T)


def test_a_force_that_is_not_finite_is_a_failure() -> None:
    result = run(dataclasses.replace(controller(), gains=np.array([1e308, 1e308, 1e308])))
    assert result.status == "failed"
    assert "not finite" in result.message
