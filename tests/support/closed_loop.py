"""Experiments in closed loop over many seeds: how often intervals of estimates hold the truth.

The robot that moves differs from its model by up to 10 % in every parameter. Its encoders have noise of half
a count beside the counting, so that errors of counting differ from seed to seed; the controller answers to
both. Currents have noise of 1 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters, base_parameters
from nacelle.identification.data.preparation import prepare
from nacelle.identification.estimation.closed_loop import InstrumentalVariables
from nacelle.identification.estimation.estimator import Estimator
from nacelle.identification.estimation.least_squares import OrdinaryLeastSquares
from nacelle.identification.estimation.regression import regression
from nacelle.identification.experiment import Effects, Experiment, Sensors, perturb_parameters
from nacelle.model.robot import Robot
from support.identification import fourier, truth_of, without_coulomb
from support.library import library_robot

Array = np.ndarray
FREQUENCY = 0.2
PERIODS = 2
METHODS: dict[str, type[Estimator]] = {"iv": InstrumentalVariables, "ols": OrdinaryLeastSquares}


@dataclass(frozen=True)
class ClosedLoop:
    """A robot, a motion of some size, and sensors.

    Attributes:
        name: of a robot of the library.
        size: of the motion, m and rad.
        shared: legs that share their parameters; the legs of the true robot are alike then.
        noise: of the encoders, in counts.
        effects: outside the model.
        dry: whether joints have dry friction.
    """

    name: str
    size: float
    shared: str | None = None
    noise: float = 0.5
    effects: Effects | None = None
    dry: bool = True

    @cached_property
    def robot(self) -> Robot:
        robot = library_robot(self.name)
        return robot if self.dry else without_coulomb(robot)

    @cached_property
    def true(self) -> Robot:
        return perturb_parameters(self.robot, 10.0, alike=self.shared is not None)

    @cached_property
    def base(self) -> BaseParameters:
        return base_parameters(self.robot, assume="undescribed", shared=self.shared)

    @cached_property
    def truth(self) -> Array:
        return truth_of(self.base, self.true)

    def experiment(self, seed: int = 0) -> Experiment:
        """The experiment on the motion of a seed."""
        counts = Sensors().resolutions(self.robot)
        return Experiment(
            self.robot,
            fourier(self.robot, self.size, seed=seed, frequency=FREQUENCY),
            true=self.true,
            sensors=Sensors(noise=(self.noise * counts).tolist()),
            effects=self.effects,
            periods=PERIODS,
            settle=0.5 / FREQUENCY,
        )


# The motions of the table of intervals; PaLiDA's struts are alike, or all have parameters of their own.
FIVEBAR = ClosedLoop("fivebar", 0.05)
DELTA = ClosedLoop("delta", 0.06)
PALIDA = ClosedLoop("palida", 0.04, "legs")
PALIDA_STRUTS = ClosedLoop("palida", 0.04)


@dataclass(frozen=True, eq=False)
class Coverage:
    """How often intervals held the truth.

    Attributes:
        names: of the base parameters.
        part: of the runs, for every base parameter, by method.
        bias: mean error in standard deviations of one run, by method.
    """

    names: tuple[str, ...]
    part: dict[str, Array]
    bias: dict[str, Array]


def coverage(loop: ClosedLoop, runs: int, level: float = 0.95) -> Coverage:
    """Run an experiment with the seeds 0 .. runs - 1 and estimate from each."""
    experiment = loop.experiment()
    held: dict[str, list[Array]] = {method: [] for method in METHODS}
    errors: dict[str, list[Array]] = {method: [] for method in METHODS}
    for seed in range(runs):
        data = regression(prepare(experiment.run(seed).measurement), loop.base)
        for method, kind in METHODS.items():
            estimator = kind().fit(data)
            low, high = estimator.intervals(level).T
            held[method].append((low <= loop.truth) & (loop.truth <= high))
            errors[method].append((estimator.coef_ - loop.truth) / estimator.std_)
    return Coverage(
        loop.base.names,
        {method: np.mean(held[method], axis=0) for method in METHODS},
        {method: np.mean(errors[method], axis=0) for method in METHODS},
    )
