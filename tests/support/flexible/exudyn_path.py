"""A robot with flexible links led along a trajectory in Exudyn, and how it vibrates after the stop.

The model is that of `exudyn_model`, spatial or planar, with its drives as prescribed rotations or strokes,
its weight, and without friction. It starts at rest under its weight.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import exudyn as exu
import exudyn.itemInterface as items  # noqa: N813 the package's own name is in camel case
import numpy as np

from nacelle.elastic.linear.frequencies import natural_frequencies
from nacelle.kinematics.motion import joint_motion
from nacelle.model.joint import JointKind
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.trajectory.base import Trajectory
from nacelle.trajectory.sampling import sample_trajectory
from support.flexible.beams import PlacedJoint, Structure, rigid_bodies, structure
from support.flexible.exudyn_model import _Model, _Planar, _Spatial

Array = np.ndarray

# Time in which the weight rises, until the motion begins, and the steps before it, s.
_RISE, _SETTLING, _LONG_STEP = 1.2, 1.3, 1e-3
# Samples of the drives' motion, between which it is interpolated.
_SAMPLES = 4001


def _rise(t: float) -> float:
    """The part of the weight that acts at a time: it rises smoothly, so that nothing vibrates."""
    u = min(t / _RISE, 1.0)
    return u**3 * (10.0 + u * (6.0 * u - 15.0))


def _weigh(model: _Model, gravity: Array) -> None:
    """Add the weight of bodies, which rises in time, at their centres of mass, of beams at their nodes."""
    system, at = model.system, model.at

    def add(marker: int, force: Array) -> None:
        system.AddLoad(
            items.LoadForceVector(
                markerNumber=marker,
                loadVector=force,
                loadVectorUserFunction=lambda _mbs, t, vector: _rise(t) * np.array(vector),
            )
        )

    for body in rigid_bodies(at.robot, at.beams):
        m, *h = at.robot.bodies[body].inertia[:4]
        if not m:
            continue
        carrier = model.carriers[body][0]
        point = np.zeros(3) if body in model.centres else np.array(h) / m
        if body == PLATFORM and at.robot.platform.kind == "point":
            point = np.zeros(3)
        marker = system.AddMarker(items.MarkerBodyPosition(bodyNumber=carrier, localPosition=point))
        add(marker, m * gravity)
    for nodes, mass in model.beam_nodes:
        for node, part in zip(nodes, mass, strict=True):
            marker = system.AddMarker(items.MarkerNodePosition(nodeNumber=node))
            add(marker, part * gravity)


def exudyn_residual(
    robot: Robot, trajectory: Trajectory, *, elements: int = 6, step: float = 5e-4, after: float = 0.5
) -> float:
    """Largest distance (m) of the platform from where it settles, after a motion.

    Errors of the mesh fall with the square of the elements' length: positions on two meshes are extrapolated.

    Args:
        robot: the robot.
        trajectory: of its motion, from rest to rest.
        elements: elements a beam of the coarse mesh; the fine one has twice as many.
        step: of the generalised-alpha rule, s.
        after: how long the robot is watched after the stop, s.
    """
    t, coarse = exudyn_motion(robot, trajectory, elements=elements, step=step, after=after)
    _, fine = exudyn_motion(robot, trajectory, elements=2 * elements, step=step, after=after)
    position = (4.0 * fine - coarse) / 3.0
    rest = t > trajectory.duration
    w = 2.0 * np.pi * natural_frequencies(robot, trajectory(trajectory.duration).x, modes=4).frequencies
    phase = t[rest, None] * w
    waves = np.column_stack([np.ones(len(phase)), np.cos(phase), np.sin(phase)])
    settled = np.linalg.lstsq(waves, position[rest], rcond=None)[0][0]
    return float(np.max(np.linalg.norm(position[rest] - settled, axis=1)))


def exudyn_motion(
    robot: Robot, trajectory: Trajectory, *, elements: int, step: float, after: float
) -> tuple[Array, Array]:
    """Times (N,) and positions of the platform (N, 3) along a motion and after it; arguments as above."""
    times = np.linspace(0.0, trajectory.duration, _SAMPLES)
    motion = joint_motion(robot, *sample_trajectory(robot, trajectory, times)).as_path()
    q, rate, _ = motion.actuators

    def led(number: int) -> tuple[Callable[[float], float], Callable[[float], float]]:
        def way(t: float) -> float:
            return float(np.interp(t - _SETTLING, times, q[:, number]) - q[0, number])

        def speed(t: float) -> float:
            return float(np.interp(t - _SETTLING, times, rate[:, number], left=0.0, right=0.0))

        return way, speed

    at = structure(robot, trajectory(0.0).x)
    container = exu.SystemContainer()
    system = container.AddSystem()
    drives = {actuator.joint: led(k) for k, actuator in enumerate(robot.actuators)}
    model = (_spatial_led if at.normal is None else _planar_led)(system, at, elements, drives)
    model.build()
    gravity = np.array(robot.gravity, dtype=float)
    _weigh(model, gravity if at.normal is None else np.append((model.plane @ gravity)[:2], 0.0))
    sensor = system.AddSensor(
        items.SensorBody(
            bodyNumber=model.carriers[PLATFORM][0],
            storeInternal=True,
            outputVariableType=exu.OutputVariableType.Position,
        )
    )
    system.Assemble()
    settings = exu.SimulationSettings()
    settings.solution.file.write = False
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    settings.solution.sensors.writePeriod = 1e9
    rule = settings.timeIntegration
    rule.newton.relativeTolerance, rule.newton.absoluteTolerance = 1e-5, 1e-6
    rule.startTime, rule.endTime, rule.numberOfSteps = 0.0, _SETTLING, round(_SETTLING / _LONG_STEP)
    rule.generalizedAlpha.spectralRadius = 0.5
    system.SolveDynamic(settings)
    data, kind = system.systemData, exu.ConfigurationType.Initial
    data.SetODE2Coordinates(data.GetODE2Coordinates(), configuration=kind)
    data.SetODE2Coordinates_t(0.0 * np.array(data.GetODE2Coordinates_t()), configuration=kind)
    end = trajectory.duration + after
    rule.startTime, rule.endTime, rule.numberOfSteps = _SETTLING, _SETTLING + end, round(end / step)
    rule.generalizedAlpha.spectralRadius = 0.95
    settings.solution.sensors.writePeriod = step
    system.SolveDynamic(settings)
    stored = system.GetSensorStoredData(sensor)
    keep = np.diff(stored[:, 0], prepend=-1.0) > 0.0
    position = stored[keep, 1:4]
    return stored[keep, 0] - _SETTLING, position if at.normal is None else position @ model.plane


def at_joints(at: Structure, body: int) -> list[PlacedJoint]:
    """The joints of a body."""
    return [j for j in at.joints if body in (j.joint.predecessor, j.joint.successor)]


def _led(base: type) -> type:
    """A model whose drives are led: a joint that is locked but for an offset that is a function of time."""

    class Led(base):  # type: ignore[misc]
        def __init__(self, system: Any, at: Any, elements: int, drives: dict[int, Any]) -> None:
            super().__init__(system, at, elements)
            self.drives = drives

        def beam(self, beam: Any) -> tuple[int, int]:
            # Rods between ball joints hardly bend.
            ends = [j.joint for j in at_joints(self.at, beam.body)]
            rod = all(joint.kind in (JointKind.SPHERICAL, JointKind.POINT) for joint in ends)
            fine = self.elements
            self.elements = max(2, fine // 4) if rod else fine
            ends_of_beam: tuple[int, int] = super().beam(beam)
            self.elements = fine
            return ends_of_beam

        def options(self, placed: PlacedJoint) -> dict[str, Any]:
            number = next(k for k, joint in enumerate(self.at.robot.joints) if joint is placed.joint)
            if number not in self.drives:
                return {}
            way, speed = self.drives[number]
            turns = placed.joint.primitives[0].is_rotation
            axis = np.zeros(6)
            axis[5 if turns else self.slide_axis] = 1.0
            return {
                "offsetUserFunctionParameters": [0.0] * 6,
                "offsetUserFunction": lambda _mbs, t, _item, _parameters: (axis * way(t)).tolist(),
                "offsetUserFunction_t": lambda _mbs, t, _item, _parameters: (axis * speed(t)).tolist(),
            }

    return Led


_spatial_led, _planar_led = _led(_Spatial), _led(_Planar)
