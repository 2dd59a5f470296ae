"""When does looking at the legs win? The same law along the same path, fed in three ways, under sweeps.

    encoders    readings q, forward kinematics of the model
    vision      edges of the legs, an observer with the anchors on the base as states
    both        the same observer, which takes the readings too

One number is swept at a time, the others stay at a working point; each case is run with several seeds, which
draw the directions of the deviations and the noise. What counts is the rms distance of the true platform from
the desired one; where the curves of vision and encoders cross, looking begins to win or to lose.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from nacelle.control.controller import Controller
from nacelle.control.loop.closed_loop import LoopOptions, closed_loop
from nacelle.control.loop.run import ControlRun, rms
from nacelle.control.named import controller
from nacelle.control.scenario.fit import round_path
from nacelle.control.vision.plant import Deviation, deviating_plant
from nacelle.control.vision.sight import EdgeSource, ModelEdges
from nacelle.control.vision.visual_feedback import VisualController, VisualFeedback
from nacelle.errors import KinematicsError, NacelleError, did_you_mean
from nacelle.model.robot import Robot
from nacelle.progress import task
from nacelle.results import Plottable
from nacelle.simulation.sensors import Sensors
from nacelle.spatial.scalar import Array
from nacelle.trajectory.base import Trajectory
from nacelle.vision.camera import Camera, Shutter
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.observer.settings import ObserverSettings
from nacelle.vision.placing import camera_for
from nacelle.vision.scene import CameraScene, RobotScenery
from nacelle.vision.views import judge_view

FEEDBACKS = ("encoders", "vision", "both")
MEASUREMENTS = ("model", "rendered")
# How far anchors may be off before anything is seen, m, and what they may gain in a second, m/sqrt(s).
_ANCHORS, _ANCHOR_WALK = 1e-3, 3e-4
# Density of what the acceleration of the true robot has in addition to that of the law, m/s^2/sqrt(Hz).
_ACCELERATION = 0.03
# How much worse than encoders a vision is that was lost, as a logarithm or in m^2.
_LOST_PENALTY = 50.0
# The least standard deviation that readings are given, rad or m: the model has errors of its own.
_MIN_READING_DEVIATION = 1e-6
# The longest step of the integration, s.
_MAX_STEP = 5e-4


@dataclass(frozen=True)
class Circumstances:
    """What a case has.

    Attributes:
        anchors: standard deviation of each coordinate of each anchor on the base, m.
        growth: of the base over the whole run, 1: 1.2e-4 are 10 K of steel.
        lengths: standard deviation of the relative error of the legs' bodies, 1.
        zeros: standard deviation of the encoders' zeros, rad or m.
        noise: standard deviation of pixels, grey levels.
        rate: of the regions, Hz.
    """

    anchors: float = 3e-5
    growth: float = 0.0
    lengths: float = 0.0
    zeros: float = 0.0
    noise: float = 2.0
    rate: float = 500.0


SWEEPS: dict[str, tuple[float, ...]] = {
    "anchors": (0.0, 3e-5, 1e-4, 3e-4, 1e-3),
    "growth": (3e-5, 1e-4, 3e-4, 1e-3),
    "lengths": (3e-5, 1e-4, 3e-4, 1e-3),
    "noise": (0.5, 2.0, 8.0, 32.0),
    "rate": (60.0, 125.0, 250.0, 500.0, 1000.0),
}
QUICK: dict[str, tuple[float, ...]] = {
    "anchors": (0.0, 3e-5, 1e-4, 1e-3),
    "growth": (1e-4, 1e-3),
    "lengths": (1e-4, 1e-3),
    "noise": (2.0, 8.0, 32.0),
    "rate": (60.0, 150.0, 500.0),
}
# Deviations of the geometry; where one is swept the others are zero.
_GEOMETRY_DEVIATIONS = ("anchors", "growth", "lengths", "zeros")


class Case(NamedTuple):
    """One case of a sweep.

    Attributes:
        sweep: what is swept.
        value: its value, SI units (grey levels for noise).
        rms: rms distance of the true platform from the desired one, m, for each feedback and seed (seeds,);
            NaN where a run was lost.
        rotation: the same of the angle, rad.
        lost: messages of the runs that were lost.
    """

    sweep: str
    value: float
    rms: dict[str, Array]
    rotation: dict[str, Array]
    lost: tuple[str, ...] = ()

    def median(self, feedback: str) -> float:
        """Median over the seeds, m; infinite if most runs were lost."""
        values = np.where(np.isnan(self.rms[feedback]), np.inf, self.rms[feedback])
        return float(np.median(values))


class Crossing(NamedTuple):
    """A value of what is swept at which vision and encoders are equally good.

    Attributes:
        sweep: what is swept.
        value: where, by interpolation of logarithms between cases; next to zero, of squares, since errors
            that are independent add up so.
        vision_wins_above: whether vision wins above it; else below.
    """

    sweep: str
    value: float
    vision_wins_above: bool


@dataclass(frozen=True, eq=False, repr=False)
class VisualFeedbackComparison(Plottable):
    """What came of all sweeps.

    Attributes:
        robot: the model.
        cases: in the order of the sweeps.
        base: the working point.
        seeds: of each case.
        measurement: "model" or "rendered".
    """

    robot: Robot
    cases: tuple[Case, ...]
    base: Circumstances
    seeds: tuple[int, ...]
    measurement: str

    @property
    def sweeps(self) -> tuple[str, ...]:
        """What was swept."""
        return tuple(dict.fromkeys(case.sweep for case in self.cases))

    def of(self, sweep: str) -> tuple[Case, ...]:
        """The cases of one sweep."""
        return tuple(case for case in self.cases if case.sweep == sweep)

    @property
    def crossings(self) -> tuple[Crossing, ...]:
        """Where looking begins to win or to lose."""
        return tuple(crossing for sweep in self.sweeps for crossing in _crossings(self.of(sweep)))

    def verdict(self, sweep: str) -> str:
        """A sentence that says when vision is better than encoders in a sweep; bounds in SI units."""
        crossings = [crossing for crossing in self.crossings if crossing.sweep == sweep]
        cases = self.of(sweep)
        if not crossings:
            better = cases[0].median("vision") < cases[0].median("encoders")
            return "vision wins throughout" if better else "encoders win throughout"
        return "; ".join(
            f"vision wins {'above' if crossing.vision_wins_above else 'below'} {crossing.value:.3g}"
            for crossing in crossings
        )

    def summary(self) -> dict[str, Any]:
        """All figures as plain data, SI units."""
        return {
            "robot": self.robot.name,
            "measurement": self.measurement,
            "seeds": list(self.seeds),
            "working_point": vars(self.base),
            "cases": [
                {
                    "sweep": case.sweep,
                    "value": case.value,
                    "rms": {name: values.tolist() for name, values in case.rms.items()},
                    "turn": {name: values.tolist() for name, values in case.rotation.items()},
                    "lost": list(case.lost),
                }
                for case in self.cases
            ],
            "crossings": [crossing._asdict() for crossing in self.crossings],
        }


def _crossings(cases: Sequence[Case]) -> Iterator[Crossing]:
    """Where the medians of vision and encoders cross."""
    for before, after in itertools.pairwise(cases):
        pairs = [(case.median("encoders"), case.median("vision")) for case in (before, after)]
        if before.value > 0.0:
            a, b = (math.log(e / v) if math.isfinite(v) else -_LOST_PENALTY for e, v in pairs)
            first, last = math.log(before.value), math.log(after.value)
        else:
            a, b = (e * e - v * v if math.isfinite(v) else -_LOST_PENALTY for e, v in pairs)
            first, last = 0.0, after.value**2
        if (a > 0.0) != (b > 0.0):
            position = first + a / (a - b) * (last - first)
            value = math.exp(position) if before.value > 0.0 else math.sqrt(position)
            yield Crossing(before.sweep, value, b > 0.0)


class VisualFeedbackBench:
    """A robot, a path and a camera, prepared for many runs.

    Args:
        robot: the model.
        camera: as it is; chosen so that it sees all legs if None.
        pixels: blur and grey levels; their noise is that of the circumstances.
        shutter: latency, exposure and kind; its rate is that of the circumstances.
        path: in time; `round_path` if None.
        period: sample time of the law, s.
        settle: how long the loop runs before the path, s.
        measurement: "model" or "rendered".

    Raises:
        UnobservableError: if the camera sees too little of the robot.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        camera: Camera | None = None,
        pixels: PixelModel | None = None,
        shutter: Shutter | None = None,
        path: Trajectory | None = None,
        period: float = 1e-3,
        settle: float = 0.3,
        measurement: str = "model",
    ) -> None:
        if measurement not in MEASUREMENTS:
            raise KinematicsError(
                f"no measurement is called {measurement!r}; {did_you_mean(measurement, MEASUREMENTS)}"
            )
        self.robot, self.measurement = robot, measurement
        self.pixels, self.shutter = pixels or PixelModel(), shutter or Shutter()
        self.camera: Camera = camera or camera_for(robot, model=self.pixels)
        scenery = RobotScenery(robot)
        seen = judge_view(scenery, self.camera, model=self.pixels).require()
        # A cylinder of which one edge is free says something too.
        self.order = tuple(dict.fromkeys(cylinder for cylinder, _ in seen.edges))
        self.scene: CameraScene = scenery.at(self.camera)
        self.cylinders = tuple(self.scene.cylinders)
        self.law: Controller = controller(robot, "ct-cartesian", period=period, friction=True)
        self.path: Trajectory = path or round_path(robot)
        self.settle, self.sensors = settle, Sensors()

    @property
    def duration(self) -> float:
        """Duration of a run, settling included, s."""
        return float(self.settle + self.path.duration)

    def deviation(self, case: Circumstances, seed: int) -> Deviation:
        """The true robot of a case."""
        return Deviation.sample(
            self.robot,
            seed,
            anchors=case.anchors,
            lengths=case.lengths,
            zeros=case.zeros,
            growth=case.growth / self.duration,
        )

    def visual_feedback(self, case: Circumstances, seed: int) -> VisualFeedback:
        """How the robot is looked at in a case."""
        pixels = replace(self.pixels, read_noise=case.noise)
        period = 1.0 / case.rate
        shutter = replace(self.shutter, rate=case.rate, exposure=min(self.shutter.exposure, 0.5 * period))
        resolution = self.sensors.resolutions(self.robot) / math.sqrt(12.0)
        settings = ObserverSettings(
            acceleration=_ACCELERATION,
            encoders=tuple(np.maximum(resolution, _MIN_READING_DEVIATION).tolist()),
            anchors=_ANCHORS,
            anchors_walk=_ANCHOR_WALK,
            stale=max(0.1, 4.0 * len(self.order) * period),
        )

        def source() -> EdgeSource:
            if self.measurement == "rendered":
                from nacelle.control.vision.sight import RenderedEdges

                return RenderedEdges(self.robot, self.camera, pixels, seed=seed)
            return ModelEdges(self.scene, pixels, seed=seed)

        return VisualFeedback(self.camera, shutter, self.cylinders, self.order, source, settings)

    def run(self, feedback: str, case: Circumstances, seed: int) -> ControlRun:
        """One run.

        Args:
            feedback: one of FEEDBACKS.
            case: the circumstances.
            seed: of deviations and noise.

        Raises:
            KinematicsError: if it cannot be run to its end.
            ObserverError: if what is seen contradicts what is estimated.
        """
        if feedback not in FEEDBACKS:
            raise KinematicsError(f"no feedback is called {feedback!r}; {did_you_mean(feedback, FEEDBACKS)}")
        plant = deviating_plant(self.robot, self.deviation(case, seed))
        law = self.law
        if feedback != "encoders":
            camera = self.visual_feedback(case, seed)
            law = VisualController.of(law, camera, plant, encoders=feedback == "both")
        run = closed_loop(
            plant,
            law,
            self.path,
            options=LoopOptions(sensors=self.sensors, seed=seed, settle=self.settle, step=_MAX_STEP),
            label=feedback,
        )
        if not run.ok:
            raise KinematicsError(f"the run of {self.robot.name} by {feedback} ended {run.message}")
        return run


def compare_visual_feedback(
    bench: VisualFeedbackBench,
    *,
    sweeps: Mapping[str, Sequence[float]] | None = None,
    base: Circumstances | None = None,
    seeds: Sequence[int] = (1, 2, 3),
    feedbacks: Sequence[str] = FEEDBACKS,
) -> VisualFeedbackComparison:
    """Sweep what decides between encoders and vision.

    In sweeps of deviations of the geometry all others are zero, in those of noise and rate they are those of
    the working point.

    Args:
        bench: robot, path, camera.
        sweeps: values by name; SWEEPS if None.
        base: the working point.
        seeds: of each case.
        feedbacks: what is compared, among FEEDBACKS.
    """
    point = base or Circumstances()
    values = SWEEPS if sweeps is None else sweeps
    for name in values:
        if name not in vars(point):
            raise KinematicsError(f"nothing called {name!r} is swept; {did_you_mean(name, vars(point))}")
    # A run of encoders knows nothing of noise and rate.
    kept: dict[tuple[str, Circumstances, int], tuple[float, float, str]] = {}
    total = sum(len(each) for each in values.values()) * len(seeds) * len(feedbacks)
    cases, done = [], 0
    with task("runs") as report:
        for name, swept in values.items():
            for value in swept:
                clean = dict.fromkeys(_GEOMETRY_DEVIATIONS, 0.0) if name in _GEOMETRY_DEVIATIONS else {}
                case = replace(point, **(clean | {name: value}))
                results: dict[str, list[tuple[float, float, str]]] = {}
                for feedback in feedbacks:
                    for seed in seeds:
                        blind = replace(case, noise=0.0, rate=1.0) if feedback == "encoders" else case
                        key = (feedback, blind, seed)
                        if key not in kept:
                            kept[key] = _run_case(bench, feedback, case, seed)
                        results.setdefault(feedback, []).append(kept[key])
                        done += 1
                        report(done / total)
                cases.append(_collect_case(name, float(value), results))
    return VisualFeedbackComparison(bench.robot, tuple(cases), point, tuple(seeds), bench.measurement)


def _run_case(
    bench: VisualFeedbackBench, feedback: str, case: Circumstances, seed: int
) -> tuple[float, float, str]:
    try:
        run = bench.run(feedback, case, seed)
    except NacelleError as error:
        return math.nan, math.nan, f"{feedback}, seed {seed}: {error}"
    return float(rms(run.tool_error)), float(rms(run.rotation_error)), ""


def _collect_case(
    sweep: str, value: float, results: Mapping[str, Sequence[tuple[float, float, str]]]
) -> Case:
    return Case(
        sweep,
        value,
        {name: np.array([result[0] for result in rows]) for name, rows in results.items()},
        {name: np.array([result[1] for result in rows]) for name, rows in results.items()},
        tuple(result[2] for rows in results.values() for result in rows if result[2]),
    )
