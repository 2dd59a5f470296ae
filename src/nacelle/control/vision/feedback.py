"""Computed torque fed by an observer that looks at the legs, alone or together with the encoders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nacelle.control.controller import Controller
from nacelle.control.loop.desired import Desired
from nacelle.control.vision.deviation import numbers_size
from nacelle.control.vision.law import ObservedController
from nacelle.control.vision.loop import Encoders
from nacelle.control.vision.plant import TruePlant
from nacelle.control.vision.sight import Bodies, EdgeSource, TrueSight
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import Cylinder
from nacelle.vision.observer.observer import Estimate, Observer
from nacelle.vision.observer.settings import ObserverSettings, Start
from nacelle.vision.shutter import Shutter


@dataclass(frozen=True, eq=False)
class Looking:
    """How a robot is looked at.

    Attributes:
        camera: as it is calibrated, and as it is.
        shutter: when it looks.
        cylinders: of the legs; edges count them.
        order: which of them are looked at, in turn.
        source: makes what turns poses of bodies into edges; new for each run, so that runs are repeatable.
        settings: of the observer.
        start: standard deviation of the pose at the start, m.
    """

    camera: Camera
    shutter: Shutter
    cylinders: tuple[Cylinder, ...]
    order: tuple[int, ...]
    source: Callable[[], EdgeSource]
    settings: ObserverSettings
    start: float = 1e-3


class ObserverFeedback:
    """Computed torque at the platform that an observer sees.

    Args:
        controller: `ct-cartesian`, tuned.
        looking: camera, shutter, observer.
        encoders: whose readings the observer takes too; none if None.
        label: what it is called.
    """

    def __init__(
        self,
        controller: Controller,
        looking: Looking,
        *,
        encoders: Encoders | None = None,
        label: str = "vision",
    ) -> None:
        self.controller, self.looking, self.encoders, self.label = controller, looking, encoders, label

    def start(self, plant: TruePlant, desired: Desired) -> None:
        """Begin at rest at the start of the desired motion."""
        looking, robot = self.looking, self.controller.robot
        self._plant = plant
        self._sight = TrueSight(plant, looking.shutter, looking.source(), looking.order)
        if self.encoders is not None:
            self.encoders.start(plant, desired)
        begin = Start(
            desired.x[0],
            sigma_x=looking.start,
            time=float(desired.time[0]),
            clock=looking.shutter.clock_offset,
        )
        self.observer = Observer(robot, looking.camera, begin, looking.settings, looking.cylinders)
        self._law = ObservedController(self.controller, desired.x[0])
        self._time = desired.time
        self.estimates: list[Estimate] = []

    def force(self, k: int, row: Array) -> Array:
        """Forces (actuators,), N or N m, of sample k; `row` is the reference then."""
        now = float(self._time[k])
        self.observer.take(self._sight.arrived(now, self._predicted))
        if self.encoders is not None:
            self.observer.read(now, self.encoders.read(k))
        estimate = self.observer.estimate(now)
        self.estimates.append(estimate)
        command = self._law.step(estimate.x, estimate.v, row)
        self.observer.accelerate(now + float(self.controller.gain("delay")[0]), command.acceleration)
        return command.force

    def _predicted(self, time: float) -> Bodies:
        """Poses of all bodies that are expected at a time: the model with anchors as they are estimated."""
        at = self.observer.estimate(time)
        g = np.zeros(numbers_size(self.controller.robot))
        legs = {j: k for k, leg in enumerate(self.controller.robot.legs) for j in leg.joints}
        for (joint, direction), value in zip(self.observer.anchors, at.anchors, strict=True):
            place = 3 * legs[joint]
            g[place : place + 3] += value * np.array(direction)
        return self._plant.bodies_of(at.x, at.y, g)

    @property
    def pose(self) -> Array:
        """The observed reduced pose (nx,)."""
        return self.estimates[-1].x
