"""Rehearsals: an identification experiment in closed loop on a simulated robot."""

from nacelle.identification.rehearsal.rehearsal import (
    Experiment,
    SimulatedExperiment,
    perturb_parameters,
    simulate_experiment,
    with_stribeck,
)
from nacelle.identification.rehearsal.settings import Effects, JointServo
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
