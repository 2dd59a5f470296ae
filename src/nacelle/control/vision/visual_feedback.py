"""Computed torque fed by an observer that looks at the legs, alone or together with the encoders.

The law is that of `nacelle.control.laws.computed_torque`, sample for sample and with the same gains; what
encoders and forward kinematics give there, pose x and twist v, the observer hands over here. It gives the
forces and the derivative a of the twist that they make by the model, which the observer takes to predict.

    z+, force, a = law(z, [x; v], [x_d; v_d; a_d], gains)

Images cannot be traced, so the law with its camera runs in Python (`interpreted`); law, observer and robot
are each compiled.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from nacelle.control.blocks.admissible import release_force
from nacelle.control.blocks.desired import solve_passive_coordinates
from nacelle.control.blocks.pose import PlatformEstimate
from nacelle.control.controller import Controller
from nacelle.control.kind import ControlLaw, desired_motion_from_row, desired_row_shape
from nacelle.control.laws.computed_torque import ComputedTorque
from nacelle.control.vision.sight import EdgeSource, TrueCamera
from nacelle.errors import KinematicsError
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.shapes import actuators_shape
from nacelle.model.robot import Robot
from nacelle.simulation.digital_controller import DigitalController, PastMotion, mark_interpreted
from nacelle.simulation.plant import Plant
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera, Shutter
from nacelle.vision.cylinders import Cylinder
from nacelle.vision.observer.observer import Observer
from nacelle.vision.observer.settings import ObserverSettings, Start


@lru_cache(maxsize=32)
def law_of_observed_platform(law_kind: ControlLaw) -> Callable[..., dict[str, Array]]:
    """The physics function (robot, z, x, v, r, gains) of computed torque at an observed platform.

    Raises:
        KinematicsError: if the kind of controller is another one.
    """
    if not isinstance(law_kind, ComputedTorque) or law_kind.space != "cartesian" or law_kind.observer:
        raise KinematicsError(f"an observed platform is controlled by 'ct-cartesian', got {law_kind.name!r}")
    kind: ComputedTorque = law_kind

    @physics(
        z=lambda robot: (kind.memory(robot).size,),
        x=lambda robot: (mechanism_of(robot).layout.nx,),
        v=lambda robot: (robot.motion.n,),
        r=desired_row_shape,
        gains=lambda robot: (kind.gains(robot).size,),
    )
    def law(robot: Robot, z: Array, x: Array, v: Array, r: Array, gains: Array) -> dict[str, Array]:
        fields, n = kind.memory(robot), robot.motion.n
        memory = fields.split(z)
        platform = PlatformEstimate(
            x=x,
            y=solve_passive_coordinates(robot, memory["y"], x),
            v=v,
            unmodelled=np.zeros(n),
            missed=memory["missed"],
            stopped=memory["stopped"],
        )
        motion, k = desired_motion_from_row(robot, r), kind.gains(robot).split(gains)
        step = release_force(robot, memory, kind.command(robot, memory, platform, motion, k), motion, k)
        return {"force": step.tau, "memory": fields.join(step.memory)}

    law.__name__ = f"{kind.name}-observed"
    vars(law)["made_from"] = (type(kind).__module__, repr(kind), "observed")
    return law


@dataclass(frozen=True, eq=False)
class VisualFeedback:
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


@dataclass(frozen=True, eq=False, repr=False)
class VisualController(Controller):
    """Computed torque at the platform that an observer sees.

    Attributes:
        feedback: camera, shutter, observer.
        plant: the true robot that the camera looks at.
        encoders: whether the observer takes readings of encoders, too.
    """

    feedback: VisualFeedback
    plant: Plant
    encoders: bool = False

    @staticmethod
    def of(
        controller: Controller, feedback: VisualFeedback, plant: Plant, *, encoders: bool = False
    ) -> VisualController:
        """A tuned controller, `ct-cartesian`, with a camera.

        Raises:
            KinematicsError: if the controller is another one.
        """
        parts = (controller.kind, controller.robot, controller.period, controller.gains)
        return VisualController(*parts, feedback, plant, encoders)

    def digital(
        self, x: Any, rows: Array, *, delay: float = 0.0, tau0: Array | None = None
    ) -> DigitalController:
        """The controller in its loop, with an observer that begins with it; arguments as of `Controller`."""
        law = super().digital(x, rows, delay=delay, tau0=tau0)
        return dataclasses.replace(law, function=mark_interpreted(VisualLaw(self)))


class VisualLaw:
    """Camera, observer and law of one run, as a law in Python of (t, z, q, r, gains).

    Args:
        controller: what is run.
    """

    def __init__(self, controller: VisualController) -> None:
        self._controller, self._feedback = controller, controller.feedback
        kind = controller.kind
        self.__name__ = kind.name
        self.physics_inputs = {
            "t": (),
            "z": lambda robot: (kind.memory(robot).size,),
            "q": actuators_shape,
            "r": desired_row_shape,
            "gains": lambda robot: (kind.gains(robot).size,),
        }
        self._law = compile_native(law_of_observed_platform(kind), controller.robot)
        self._acceleration = kind.memory(controller.robot).slice_of("acceleration")
        self._delay = float(controller.gain("delay")[0])
        self.observer: Observer | None = None

    def _start(self, time: float, x: Array) -> Observer:
        """Begin at rest at a pose x (nx,)."""
        feedback = self._feedback
        begin = Start(x, sigma_x=feedback.start, time=time, clock=feedback.shutter.clock_offset)
        self._sight = TrueCamera(
            self._controller.plant, feedback.shutter, feedback.source(), feedback.order, start=time
        )
        return Observer(self._controller.robot, feedback.camera, begin, feedback.settings, feedback.cylinders)

    def __call__(
        self, robot: Robot, t: Any, z: Array, q: Array, r: Array, gains: Array, *, motion: PastMotion
    ) -> dict[str, Array]:
        """Forces and memory of a sample, of what the camera has shown until then."""
        now = float(t)
        if self.observer is None:
            self.observer = self._start(now, desired_motion_from_row(robot, r).x)
        observer = self.observer
        observer.take(self._sight.arrived_edges(now, motion, observer.bodies))
        if self._controller.encoders:
            observer.read(now, q)
        seen = observer.estimate(now)
        outputs: dict[str, Array] = self._law(z, seen.x, seen.v, r, gains)
        observer.add_acceleration(now + self._delay, outputs["memory"][self._acceleration].copy())
        return outputs
