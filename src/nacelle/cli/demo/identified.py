"""Identifies the machine's parameters from a noisy motion that it makes in closed loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nacelle.cli.demo.folder import DemoFolder
from nacelle.cli.demo.machine import TRUE, machine
from nacelle.cli.demo.words import typed
from nacelle.progress import task

if TYPE_CHECKING:
    from nacelle.control.loop.run import ControlRun
    from nacelle.identification.data.measurement import Measurement
    from nacelle.identification.identify import Identification
    from nacelle.model.robot import Robot
    from nacelle.report.demo.identified import Identified
    from nacelle.spatial.scalar import Array

DATA, MODEL = "measured.csv", "palida-identified.yaml"
FORCE_NOISE, POSITION_NOISE, RESOLUTION = 2.0, 1e-6, 1e-6  # N, m, m
_EVERY = 4  # one of so many samples of the controller is recorded
_FROM, _SHOWN = 1.0, 1.0  # s of the measured forces that the page shows


def identified(robot: Robot, folder: DemoFolder) -> Identified:
    """Measure, identify, and write data and the identified robot.

    Args:
        robot: the robot as described.
        folder: where files are written.
    """
    from nacelle.identification.consistency.identified import write_identified
    from nacelle.identification.data.read import read_measurement
    from nacelle.identification.identify import identify
    from nacelle.library import load

    with task("measuring the machine"):
        _write(measured(robot, _moved_in_closed_loop(robot, folder)), folder)
    # What is identified is what the file has, so that the command gives the same numbers.
    data = read_measurement(folder / DATA, robot)
    with task("identifying"):
        result = identify(robot, data, shared="legs", assume="zeros")
        write_identified(result.identified("palida-identified"), folder / MODEL)
    folder.add(MODEL)
    return _result(result, load(str(folder / TRUE)), folder)


def _moved_in_closed_loop(robot: Robot, folder: DemoFolder) -> ControlRun:
    """8 s of a periodic motion of all six coordinates under the described model."""
    from nacelle.control.loop.closed_loop import closed_loop
    from nacelle.kinematics.pose_input import reference_pose
    from nacelle.kinematics.trajectory import Fourier

    scenario = machine(robot, folder).changed(controllers=["cf-rb-friction"])
    ready = scenario.prepare(robot)
    (law,) = ready.controllers.values()
    harmonics = np.arange(1.0, 6.0)[:, None]
    reach = np.array([0.05, 0.05, 0.05, 0.1, 0.1, 0.1]) / harmonics  # m and rad
    amplitudes = 0.5 * reach * np.random.default_rng(5).normal(size=(2, 5, 6))
    motion = Fourier(reference_pose(robot), *amplitudes, motion=robot.motion, frequency=0.5)
    run = closed_loop(
        ready.plant,
        law,
        motion,
        sensors=ready.sensors,
        delay=scenario.spec.delay,
        seed=1,
        settle=scenario.spec.settle,
        repeat=4,
    )
    if run.status == "interrupted":
        raise KeyboardInterrupt
    return run


def measured(robot: Robot, run: ControlRun) -> Measurement:
    """What encoders and currents show of a run."""
    from nacelle.identification.data.measurement import Measurement

    rng = np.random.default_rng(2)
    q = run.actual + POSITION_NOISE * rng.normal(size=run.actual.shape)
    q = RESOLUTION * np.floor(q / RESOLUTION + 0.5)
    force = run.acting + FORCE_NOISE * rng.normal(size=q.shape)
    return Measurement(robot, run.time[::_EVERY], q[::_EVERY], force[::_EVERY])


def _write(data: Measurement, folder: DemoFolder) -> None:
    from nacelle.tables.csv import write_table

    names = [actuator.name for actuator in data.robot.actuators]
    columns = ["time", *(f"{kind}.{name}" for kind in ("q", "force") for name in names)]
    write_table(folder / DATA, columns, [""] * len(columns), np.column_stack([data.time, data.q, data.force]))
    folder.add(DATA)


def _result(result: Identification, true: Robot, folder: DemoFolder) -> Identified:
    from nacelle.identification.validation import validation
    from nacelle.report.demo.identified import Identified

    base, fit = result.base, result.fit
    values = {"described": base.values, "true": _base_values(result, true)}
    others = {name: validation(result.samples, base, own) for name, own in values.items()}
    # The actuator for which the description is worst.
    worst = int(np.argmax(others["described"].rms))
    time, forces = _curves(result, worst)
    left = {"described": others["described"], "identified": fit, "true": others["true"]}
    return Identified(
        names=base.names,
        described=base.values,
        estimates=result.estimator.coef_,
        deviations=result.estimator.std_,
        true=values["true"],
        score=fit.score,
        samples=len(result.samples[0].time),
        noise=FORCE_NOISE,
        left={name: float(np.sqrt(np.mean(np.square(own.rms)))) for name, own in left.items()},
        actuator=fit.rows[worst],
        time=time,
        forces=forces,
        commands=(
            typed("identify", "palida", folder / DATA, "--shared", "legs", "--assume", "zeros"),
            typed("validate", "palida", folder / DATA),
            typed("validate", folder / TRUE, folder / DATA),
            typed("base", folder / TRUE, "--shared", "legs", "--assume", "zeros", "--json"),
        ),
    )


def _curves(result: Identification, k: int) -> tuple[Array, dict[str, Array]]:
    """A second of the measured force of actuator k, and the same by described and estimated parameters."""
    from nacelle.dynamics.regressor import regressor

    samples, base = result.samples[0], result.base
    time = samples.time - samples.time[0]
    shown = np.flatnonzero((time >= _FROM) & (time < _FROM + _SHOWN))[::2]
    motion = samples.motion
    Y = regressor(result.robot, motion.x[shown], motion.v[shown], motion.a[shown], parameters=base).Y[:, k]
    values = {"described": base.values, "identified": result.estimator.coef_}
    forces = {"measured": samples.force[shown, k], **{name: Y @ own for name, own in values.items()}}
    return time[shown], forces


def _base_values(result: Identification, other: Robot) -> Array:
    """The same base parameters of another robot of the same structure: beta = K z, p = E z."""
    from nacelle.model.linear_parameters import linear_parameters

    choice = result.base.choice
    z = np.linalg.lstsq(choice.E, linear_parameters(other).values, rcond=None)[0]
    return np.asarray(result.base.K @ z)
