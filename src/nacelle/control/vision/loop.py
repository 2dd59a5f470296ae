"""The loop with a camera: computed torque fed by what is seen, around a true robot.

The loop with a camera: samples of a law in Python around a true robot in native code.

At every sample t_k a feedback takes what its sensors have shown until then and gives forces, which act from
t_k + delay until the next ones do. Images cannot be traced, so the loop is no one program as that of
`nacelle.control.loop` is; law, observer and robot are each compiled, and the loop between them is Python.
Truth is the pose of the true platform; errors are against the desired motion.

Computed torque fed by a platform that is observed, wherever it is observed from.

The law is that of `nacelle.control.laws.computed_torque`, sample for sample and with the same gains; what
encoders and forward kinematics give there, pose x and twist v, is handed over here. It gives the forces and
the derivative a of the twist that they make by the model, which an observer takes to predict.

    z+, force, a = law(z, [x; v], [x_d; v_d; a_d], gains)

Computed torque fed by an observer that looks at the legs, alone or together with the encoders.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from nacelle.compile import Compiled
from nacelle.control.controller import STOP_REASONS, Controller
from nacelle.control.kind import desired_of_row, row_size
from nacelle.control.laws.computed_torque import ComputedTorque
from nacelle.control.loop.desired import Desired
from nacelle.control.loop.run import FramePlaces, places, rms
from nacelle.control.pieces.admissible import released
from nacelle.control.pieces.desired import closed_unknowns
from nacelle.control.pieces.pose import Platform
from nacelle.control.vision.plant import Deviation, TruePlant, numbers_size
from nacelle.control.vision.sight import EdgeSource, TrueSight
from nacelle.errors import KinematicsError
from nacelle.kinematics.inverse import BodyPoses
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import native
from nacelle.model.robot import Robot
from nacelle.simulation.sensors import Sensors, reading
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera, Shutter
from nacelle.vision.cylinders import Cylinder
from nacelle.vision.observer.observer import Estimate, Observer
from nacelle.vision.observer.settings import ObserverSettings, Start


class Command(NamedTuple):
    """What a sample gives: forces (actuators,), N or N m, and the derivative of the twist (n,) they make."""

    force: Array
    acceleration: Array


@lru_cache(maxsize=32)
def observed_law(kind: ComputedTorque) -> Callable[..., dict[str, Array]]:
    """The physics function (robot, z, x, v, r, gains) of computed torque at an observed platform."""

    @physics(
        z=lambda robot: (kind.memory(robot).size,),
        x=lambda robot: (mechanism_of(robot).layout.nx,),
        v=lambda robot: (robot.motion.n,),
        r=row_size,
        gains=lambda robot: (kind.gains(robot).size,),
    )
    def law(robot: Robot, z: Array, x: Array, v: Array, r: Array, gains: Array) -> dict[str, Array]:
        fields, n = kind.memory(robot), robot.motion.n
        memory = fields.split(z)
        platform = Platform(
            x=x,
            y=closed_unknowns(robot, memory["y"], x),
            v=v,
            unmodelled=np.zeros(n),
            missed=memory["missed"],
            stopped=memory["stopped"],
        )
        motion, k = desired_of_row(robot, r), kind.gains(robot).split(gains)
        step = released(robot, memory, kind.commanded(robot, memory, platform, motion, k), motion, k)
        return {"force": step.force, "memory": fields.join(step.memory)}

    law.__name__ = f"{kind.name}-observed"
    vars(law)["made_from"] = (type(kind).__module__, repr(kind), "observed")
    return law


class SteppedLaw:
    """A law that is run sample by sample, with its memory.

    Args:
        controller: its gains, model and sample time.
        law: its program, of (z, what is measured, r, gains).
        x: pose at the start (nx,).
    """

    def __init__(self, controller: Controller, law: Compiled, x: Any) -> None:
        self.controller, self._law = controller, law
        self._fields = controller.kind.memory(controller.robot)
        self._memory = controller.start(x)

    def force(self, *measured: Array, row: Array) -> Array:
        """Forces (actuators,) of a sample at what is measured, for a desired motion [x; v; a].

        Raises:
            KinematicsError: if the controller stops.
        """
        found = self._law(self._memory, *measured, row, self.controller.gains)
        self._memory = np.asarray(found["memory"])
        stopped = self.remembered("stopped")[0]
        if stopped > 0.0:
            raise KinematicsError(STOP_REASONS[stopped])
        return np.asarray(found["force"])

    def remembered(self, name: str) -> Array:
        """A part of the memory by name."""
        return self._memory[self._fields.place(name)].copy()


class ObservedController:
    """A controller of computed torque at an observed platform, with its memory.

    Args:
        controller: computed torque in Cartesian space, tuned.
        x: pose at the start (nx,).

    Raises:
        KinematicsError: if the controller is another one.
    """

    def __init__(self, controller: Controller, x: Any) -> None:
        kind = controller.kind
        if not isinstance(kind, ComputedTorque) or kind.space != "cartesian" or kind.observer:
            raise KinematicsError(
                f"an observed platform is controlled by 'ct-cartesian', got {controller.name!r}"
            )
        self._law = SteppedLaw(controller, native(observed_law(kind), controller.robot), x)

    def step(self, x: Array, v: Array, row: Array) -> Command:
        """One sample at a pose (nx,) and twist (n,), for a desired motion [x; v; a].

        Raises:
            KinematicsError: if the controller stops.
        """
        return Command(self._law.force(x, v, row=row), self._law.remembered("acceleration"))


# ---- the loop with a camera: samples of a law in Python around a true robot in native code


class CameraFeedback(Protocol):
    """Sensors and a law.

    Attributes:
        label: what it is called beside others.
        controller: the law's gains, model and sample time.
    """

    label: str
    controller: Controller

    def start(self, plant: TruePlant, desired: Desired) -> None:
        """Begin at rest at the start of the desired motion."""

    def force(self, k: int, row: Array) -> Array:
        """Forces (actuators,) of sample k for a desired motion [x; v; a]."""

    @property
    def pose(self) -> Array:
        """Where the platform is taken to be at the last sample (nx,)."""


@dataclass(frozen=True, eq=False)
class LookRun:
    """What came of a loop, at the samples of the path.

    Attributes:
        robot: the model.
        label: of the feedback.
        time: (N,), s; settling before 0 is left out.
        x: true poses (N, nx).
        believed: where the feedback took the platform to be (N, nx).
        desired: desired poses (N, nx).
        force: of the actuators (N, actuators), N or N m.
    """

    robot: Robot
    label: str
    time: Array
    x: Array
    believed: Array
    desired: Array
    force: Array

    @cached_property
    def _places(self) -> tuple[FramePlaces, FramePlaces, FramePlaces]:
        true, believed, desired = (places(self.robot, x, "") for x in (self.x, self.believed, self.desired))
        return true, believed, desired

    @property
    def error(self) -> Array:
        """Distances (N,) of the true platform from the desired one, m."""
        true, _, desired = self._places
        return np.asarray(np.linalg.norm(true.p - desired.p, axis=1))

    @property
    def rotation_error(self) -> Array:
        """Angles (N,) between the true platform and the desired one, rad."""
        true, _, desired = self._places
        return true.angle_to(desired)

    @property
    def estimate_error(self) -> Array:
        """Distances (N,) between where the platform is taken to be and where it is, m."""
        true, believed, _ = self._places
        return np.asarray(np.linalg.norm(true.p - believed.p, axis=1))

    def summary(self) -> dict[str, Any]:
        """Figures as plain data, SI units."""
        return {
            "label": self.label,
            "rms_error": float(rms(self.error)),
            "max_error": float(np.max(self.error)),
            "rms_turn": float(rms(self.rotation_error)),
            "rms_estimate": float(rms(self.estimate_error)),
        }


class EncoderFeedback:
    """Computed torque as it is: encoders, forward kinematics of the model in the loop.

    Args:
        controller: the law.
        sensors: encoders.
        deviation: of the true robot, whose zeros the readings have.
        seed: of the noise.
        label: what it is called.
    """

    def __init__(
        self,
        controller: Controller,
        sensors: Sensors,
        deviation: Deviation,
        *,
        seed: int = 0,
        label: str = "encoders",
    ) -> None:
        self.controller, self.label = controller, label
        self.encoders = Encoders(controller.robot, sensors, deviation, seed)

    def start(self, plant: TruePlant, desired: Desired) -> None:
        """Begin at rest at the start of the desired motion."""
        self.encoders.start(plant, desired)
        self._law = SteppedLaw(self.controller, self.controller.compiled, desired.x[0])

    def force(self, k: int, row: Array) -> Array:
        """Forces (actuators,), N or N m, of sample k; `row` is the reference then."""
        return self._law.force(self.encoders.read(k), row=row)

    @property
    def pose(self) -> Array:
        """The reduced pose (nx,) of the law's memory."""
        return self._law.remembered("x")


class Encoders:
    """Readings of the true robot's encoders: steps, noise, and zeros that are off.

    Args:
        robot: the model.
        sensors: the encoders.
        deviation: of the true robot.
        seed: of the noise.
    """

    def __init__(self, robot: Robot, sensors: Sensors, deviation: Deviation, seed: int) -> None:
        self._robot, self._sensors, self._zeros, self._seed = robot, sensors, deviation.zeros, seed
        self.resolution = sensors.resolutions(robot)

    def start(self, plant: TruePlant, desired: Desired) -> None:
        """Draw the noise of a run."""
        self._plant = plant
        self._rows = self._sensors.rows(self._robot, desired.time, self._seed)

    def read(self, k: int) -> Array:
        """Readings (actuators,) at sample k, rad or m."""
        m = len(self._zeros)
        q = self._plant.signals()["q"] + self._zeros
        return np.asarray(reading(q, self._rows[k, :m], self._rows[k, m:], self.resolution))


def run_loop(plant: TruePlant, feedback: CameraFeedback, desired: Desired, *, delay: float = 0.0) -> LookRun:
    """Run a feedback against a true robot along a desired motion.

    Args:
        plant: the true robot.
        feedback: sensors and law.
        desired: the motion, settling included.
        delay: from a sample to the time at which its forces act, s, at most the sample time.

    Raises:
        KinematicsError: if the controller stops, or the robot leaves what it can do.
    """
    period, rows = feedback.controller.period, desired.rows
    if not 0.0 <= delay <= period:
        raise KinematicsError(f"the delay of {delay:g} s is not within the sample time of {period:g} s")
    plant.start(desired.x[0], desired.v[0], float(desired.time[0]))
    feedback.start(plant, desired)
    true, believed, forces = [], [], []
    last = None
    for k, time in enumerate(desired.time.tolist()):
        true.append(plant.signals()["x"])
        force = feedback.force(k, rows[k])
        believed.append(feedback.pose)
        forces.append(force)
        if delay:
            plant.advance(force if last is None else last, time + delay)
        plant.advance(force, time + period)
        last = force
    first = desired.first
    return LookRun(
        feedback.controller.robot,
        feedback.label,
        desired.time[first:],
        np.array(true[first:]),
        np.array(believed[first:]),
        desired.x[first:],
        np.array(forces[first:]),
    )


# ---- computed torque fed by an observer that looks at the legs, alone or together with the encoders


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

    def _predicted(self, time: float) -> BodyPoses:
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
