"""The motion of [BK2013] section V: a PRRRP with flexible beams, driven from rest to rest in 0.75 s.

Runs the default model and the paper's own (one Hermite element a beam in a clamped frame), prints how much
the tip vibrates and what the sliders' drives must do, and, given the name of a picture, draws the tip's
velocity as Fig. 4 of the paper does, with the vibration below, where the two models differ.

    python examples/elastic_prrrp.py [figure.svg]
"""

from __future__ import annotations

import dataclasses
import sys

import numpy as np

import nacelle

DURATION = 0.75
STROKES = np.array([0.1, 0.2])  # m
START = [0.3, 0.264575131106459]  # both sliders at 0
STEPS = 7500
PAPER = {"frame": "clamped", "shapes": "hermite", "number": 1, "geometric": False}


def accelerations() -> np.ndarray:
    """Accelerations of the sliders, a row a step: bang, then bang back."""
    first = np.arange(STEPS)[:, None] < STEPS // 2
    return np.where(first, 1.0, -1.0) * 4.0 * STROKES / DURATION**2


def run(robot: nacelle.Robot) -> nacelle.simulation.Simulation:
    """The motion with prescribed sliders."""
    plant = nacelle.elastic.elastic_plant(robot, prescribed=True)
    return nacelle.simulate(
        plant,
        START,
        None,
        accelerations(),
        until=DURATION,
        integration=nacelle.simulation.Integration("rk4", step=DURATION / STEPS),
        samples=751,
    )


def rigid_velocity(robot: nacelle.Robot, t: np.ndarray) -> np.ndarray:
    """Velocity of the tip of the rigid robot under the same sliders: v = J_r q'."""
    a = 4.0 * STROKES / DURATION**2
    first = (t <= DURATION / 2)[:, None]
    back = DURATION - t[:, None]
    q = np.where(first, 0.5 * a * t[:, None] ** 2, STROKES - 0.5 * a * back**2)
    rates = np.where(first, a * t[:, None], a * back)
    x = nacelle.forward_kinematics(robot, q).x
    return np.linalg.solve(nacelle.jacobian(robot, x).inverse, rates[..., None])[..., 0]


def main() -> None:
    """Run both models, print and draw."""
    robot = nacelle.load("prrrp")
    bodies = tuple(dataclasses.replace(b, beam=PAPER) if b.section else b for b in robot.bodies)
    runs = {"default": run(robot), "paper": run(dataclasses.replace(robot, bodies=bodies))}
    rigid = rigid_velocity(robot, runs["default"].t)
    for name, result in runs.items():
        speed = np.linalg.norm(result.v, axis=1)
        vibration = np.linalg.norm(result.v - rigid, axis=1)
        plant = result.plant
        assert isinstance(plant, nacelle.simulation.Plant)
        forces = plant.forces(result.states, result.tau)
        print(
            f"{name}: peak speed {np.max(speed):.4f} m/s, "
            f"vibration up to {1e3 * np.max(vibration):.2f} mm/s, "
            f"drives up to {np.max(np.abs(forces)):.3f} N, energy missing "
            f"{np.max(np.abs(result.balance)) / np.max(result.energies['kinetic']):.1e} of its peak"
        )
    if len(sys.argv) > 1:
        draw(sys.argv[1], runs, rigid)


def draw(path: str, runs: dict[str, nacelle.simulation.Simulation], rigid: np.ndarray) -> None:
    """Draw speed, and vibration along x and z."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 1, sharex=True, figsize=(7.0, 7.0), layout="constrained")
    for name, result in runs.items():
        axes[0].plot(result.t, np.linalg.norm(result.v, axis=1), label=name, linewidth=1.0)
        for k, word in enumerate("xz"):
            axes[1 + k].plot(result.t, 1e3 * (result.v - rigid)[:, k], linewidth=0.8)
            axes[1 + k].set_ylabel(f"vibration {word}, mm/s")
    axes[0].set_ylabel("speed of the tip, m/s")
    axes[0].legend()
    axes[2].set_xlabel("time, s")
    figure.savefig(path)


if __name__ == "__main__":
    main()
