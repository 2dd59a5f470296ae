"""Identification from beginning to end, on a simulated five-bar: excite, measure, identify, validate, write.

The machine is a simulation in closed loop whose parameters are up to 10 % off the description, with encoders
that count, noisy currents, cogging and Stribeck friction. On a real machine the measurements are files:
`nacelle.identification.read_measurement(robot, "run.csv", "columns.yaml")`.
"""

import tempfile
from pathlib import Path

import numpy as np

import nacelle
from nacelle.identification.experiment import Effects, Experiment

robot = nacelle.load("fivebar")

# A motion within all limits that makes the base parameters visible, and another one for validation.
motion = nacelle.identification.excite(
    robot,
    shape=nacelle.identification.MotionShape(harmonics=5, duration=2.0),
    search=nacelle.identification.MotionSearch(starts=2, iterations=20),
).trajectory
rng = np.random.default_rng(1)
amplitudes = 0.02 * rng.normal(size=(2, 3, 2))
centre = nacelle.reference_pose(robot)
other = nacelle.trajectory.Fourier(centre, *amplitudes, motion=robot.motion, frequency=0.8)

effects = Effects(stribeck=0.2, cogging=0.002)
fitted = Experiment(robot, motion, effects=effects, periods=3).run(seed=1).measurement
held_out = Experiment(robot, other, effects=effects, periods=2).run(seed=2).measurement

# Faults of the data would be named here, with column and row; then base parameters with deviations.
result = nacelle.identification.identify(robot, fitted)
print(f"{len(result.base)} base parameters, R^2 {result.fit.score:.6f}, excitation {result.excitation}")
for name, value, deviation in zip(
    result.base.names, result.estimator.coef_, result.estimator.std_, strict=True
):
    print(f"  {name:34s} {value:12.5g} +- {1.96 * deviation:.2g}")
print(*result.describe(), sep="\n")

# How well they predict a motion that they have not seen, beside the description.
for label, model in (("described", robot), ("identified", result.estimator)):
    validation = nacelle.identification.validate(model, held_out)
    print(f"{label}: {100.0 * np.max(validation.relative):.2f} % of the force is left")

# Parameters of bodies that can be built, as a description of the robot.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "fivebar-identified.yaml"
    nacelle.identification.write_identified(result.to_robot("fivebar-identified"), path)
    print(nacelle.load(path))
