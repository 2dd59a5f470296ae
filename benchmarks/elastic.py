"""Benchmark of elastodynamics: the 0.75 s motion of [BK2013] section V (`make bench`).

The PRRRP with flexible beams is driven from rest to rest by bang-bang accelerations of its sliders. Compared
with each other, in one run on this machine:

- nacelle's native loop (RK4) of the default model, for several numbers of steps: time, and the error of the
  vibration (what the tip's velocity has beyond that of the rigid robot) against the same model with step
  control;
- Exudyn with 15 ANCF cables a beam and the generalised-alpha rule (with `--exudyn`): time and the error of
  the vibration against its own extrapolation, for several steps.

[BK2013] prints 100 s for its model and 20 min for ADAMS. Nothing is asserted: ratios within a run count.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import nacelle
from nacelle.elastic.forms import form_of
from nacelle.elastic.plant import elastic_plant
from support.flexible import prrrp
from support.flexible.references import motion

T, WAY = 0.75, np.array([0.1, 0.2])
ACCELERATION = 4.0 * WAY / T**2
START = [0.3, 0.264575131106459]
STEPS = (1500, 3000, 3750, 6000, 12000)
REPEATS = 7


def rigid_velocity(t: np.ndarray) -> np.ndarray:
    """Velocity of the rigid robot's tip."""
    h = 1e-6

    def tip(at: np.ndarray) -> np.ndarray:
        first = (at <= T / 2)[:, None]
        there, back = 0.5 * ACCELERATION * at[:, None] ** 2, WAY - 0.5 * ACCELERATION * (T - at[:, None]) ** 2
        return np.array([prrrp.tip_position(*pair) for pair in np.where(first, there, back)])

    return (tip(t + h) - tip(t - h)) / (2.0 * h)


def nacelle_rows() -> None:
    """Print time and error of nacelle's native loop."""
    plant = elastic_plant(nacelle.load("prrrp"), prescribed=True)
    exact = nacelle.simulate(plant, START, None, lambda t: ACCELERATION, until=T / 2)
    exact = exact.resume(until=T, tau=lambda t: -ACCELERATION)
    driver, s0 = plant.driver(), plant.state(START, np.zeros(2))
    assert driver is not None
    print(f"nacelle, form {form_of(plant.robot).name}, RK4 in native code")
    print(f"{'steps':>8} {'time, ms':>10} {'error of the vibration':>24}")
    for steps in STEPS:
        rows = np.where(np.arange(steps)[:, None] < steps // 2, 1.0, -1.0) * ACCELERATION
        best = np.inf
        for _ in range(REPEATS):
            begun = time.perf_counter()
            states = driver.integrate(s0, rows, h=T / steps, steps=steps)
            best = min(best, time.perf_counter() - begun)
        chosen = np.arange(steps - 1, 0, -max(1, steps // 750))[::-1]
        t = T / steps * (chosen + 1.0)
        velocity, reference = plant.split(states[chosen])[1], exact.at(t).v
        vibration = np.max(np.abs(reference - rigid_velocity(t)))
        print(f"{steps:>8} {1e3 * best:>10.2f} {np.max(np.abs(velocity - reference)) / vibration:>24.2e}")


def exudyn_rows() -> None:
    """Print time and error of Exudyn."""
    from support.flexible.exudyn_motion import prrrp_motion

    kept = motion()
    vibration = np.max(np.abs(kept["velocity"] - rigid_velocity(kept["t"])))
    print("Exudyn, 15 ANCF cables a beam, generalised alpha")
    print(f"{'step, s':>8} {'time, ms':>10} {'error of the vibration':>24}")
    for dt in (1e-4, 5e-5, 2.5e-5, 1.25e-5):
        begun = time.perf_counter()
        run = prrrp_motion(dt=dt)
        spent = time.perf_counter() - begun
        error = np.max(np.abs(run.velocity - kept["velocity"])) / vibration
        print(f"{dt:>8.2e} {1e3 * spent:>10.0f} {error:>24.2e}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--exudyn", action="store_true", help="run Exudyn, too (a minute)")
    chosen = parser.parse_args()
    nacelle_rows()
    if chosen.exudyn:
        exudyn_rows()
