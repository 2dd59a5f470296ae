"""Simulated experiments: an identification experiment in closed loop on a simulated robot."""

from nacelle.identification.experiment.settings import Effects, JointServo
from nacelle.identification.experiment.simulated import (
    Experiment,
    SimulatedExperiment,
    perturb_parameters,
    simulate_experiment,
    with_stribeck,
)
from nacelle.simulation.sensors import Sensors

__all__ = [
    "Effects",
    "Experiment",
    "JointServo",
    "Sensors",
    "SimulatedExperiment",
    "perturb_parameters",
    "simulate_experiment",
    "with_stribeck",
]
