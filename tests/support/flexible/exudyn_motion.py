"""The motion of [BK2013] section V in Exudyn: the PRRRP driven from rest to rest by bang-bang accelerations.

Beams are chains of ANCF cables (`ObjectANCFCable2D`: cubic, Euler-Bernoulli, large rotations; without the
rotary inertia of the section, which is 1e-5 of a frequency here). The start of each beam is led by its
slider, q(t); both tips are at P, a mass point. No gravity, no damping, undeformed and at rest at t = 0.

A slider's own inertia is added to the force of its constraint: inside the model the jump of q'' at t = 0
would make the implicit rule's accelerations, and with them the forces, alternate from step to step.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import exudyn as exu
import exudyn.itemInterface as items  # noqa: N813 the package's own name is in camel case
import numpy as np

import nacelle
from nacelle.model.leg import PLATFORM
from support.flexible import prrrp
from support.flexible.beams import structure

Array = np.ndarray

DURATION = 0.75
STROKES = (0.1, 0.2)


@dataclass(frozen=True)
class Motion:
    """Samples of the motion.

    Attributes:
        t: times (n,), s.
        position: of P (n, 2) along x and z, m.
        velocity: of P (n, 2), m/s.
        force: of the two drives (n, 2) along z, N; NaN at the start and at the switch, where the
            acceleration jumps.
    """

    t: Array
    position: Array
    velocity: Array
    force: Array


def bang_bang(t: Array, stroke: float) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration of a slider; the acceleration is 0 at the switch."""
    a = 4.0 * stroke / DURATION**2
    first = t <= 0.5 * DURATION
    q = np.where(first, 0.5 * a * t**2, stroke - 0.5 * a * (DURATION - t) ** 2)
    rate = np.where(first, a * t, a * (DURATION - t))
    return q, rate, a * np.sign(0.5 * DURATION - t)


def prrrp_motion(elements: int = 15, dt: float = 2.5e-5, sample: float = 5e-4) -> Motion:
    """Integrate with constant steps by the generalised-alpha rule (order 2, spectral radius 0.9).

    Args:
        elements: elements a beam.
        dt: step, s; half the duration is a multiple of it.
        sample: time between samples, s; a multiple of dt.
    """
    robot = nacelle.load("prrrp")
    at = structure(robot, prrrp.tip_position(0.0, 0.0))
    sliders = [robot.bodies[robot.joints[actuator.joint].successor] for actuator in robot.actuators]
    container = exu.SystemContainer()
    system = container.AddSystem()
    ground = system.AddMarker(
        items.MarkerNodeCoordinate(nodeNumber=system.AddNode(items.NodePointGround()), coordinate=0)
    )
    P = system.AddNode(items.NodePoint2D(referenceCoordinates=at.p[PLATFORM][[0, 2]]))
    system.AddObject(items.ObjectMassPoint2D(mass=robot.bodies[PLATFORM].mass, nodeNumber=P))
    point = system.AddMarker(items.MarkerNodePosition(nodeNumber=P))
    drives = []
    for beam, stroke in zip(at.beams.values(), STROKES, strict=True):
        start, tip, s = beam.start[[0, 2]], beam.tip[[0, 2]], beam.section
        slope = (tip - start) / beam.length
        nodes = [
            system.AddNode(
                items.NodePoint2DSlope1(
                    referenceCoordinates=[*(start + (tip - start) * k / elements), *slope]
                )
            )
            for k in range(elements + 1)
        ]
        for pair in itertools.pairwise(nodes):
            system.AddObject(
                items.ObjectANCFCable2D(
                    length=beam.length / elements,
                    massPerLength=s.rho * s.A,
                    bendingStiffness=s.E * s.Iz,
                    axialStiffness=s.E * s.A,
                    nodeNumbers=list(pair),
                )
            )
        end = system.AddMarker(items.MarkerNodePosition(nodeNumber=nodes[-1]))
        system.AddObject(items.ObjectJointRevolute2D(markerNumbers=[point, end]))
        across, along = (
            system.AddMarker(items.MarkerNodeCoordinate(nodeNumber=nodes[0], coordinate=k)) for k in range(2)
        )
        system.AddObject(items.ObjectConnectorCoordinate(markerNumbers=[ground, across]))
        drives.append(
            system.AddObject(
                items.ObjectConnectorCoordinate(
                    markerNumbers=[ground, along],
                    offsetUserFunction=lambda _mbs, t, _item, _offset, s=stroke: float(bang_bang(t, s)[0]),
                    offsetUserFunction_t=lambda _mbs, t, _item, _offset, s=stroke: float(bang_bang(t, s)[1]),
                )
            )
        )
    kinds = exu.OutputVariableType
    sensors = [
        system.AddSensor(items.SensorNode(nodeNumber=P, storeInternal=True, outputVariableType=kind))
        for kind in (kinds.Position, kinds.Velocity)
    ] + [
        system.AddSensor(
            items.SensorObject(objectNumber=drive, storeInternal=True, outputVariableType=kinds.Force)
        )
        for drive in drives
    ]
    system.Assemble()
    system.SolveDynamic(_settings(dt, sample))
    position, velocity, *forces = (system.GetSensorStoredData(sensor) for sensor in sensors)
    t = position[:, 0]
    inertial = [body.mass * bang_bang(t, stroke)[2] for body, stroke in zip(sliders, STROKES, strict=True)]
    force = np.column_stack([-f[:, 1] + own for f, own in zip(forces, inertial, strict=True)])
    force[[0, np.argmin(np.abs(t - 0.5 * DURATION))]] = np.nan
    return Motion(t, position[:, 1:3], velocity[:, 1:3], force)


def _settings(dt: float, sample: float) -> exu.SimulationSettings:
    settings = exu.SimulationSettings()
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = sample
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    rule = settings.timeIntegration
    rule.endTime, rule.numberOfSteps = DURATION, round(DURATION / dt)
    rule.adaptiveStep = False
    rule.generalizedAlpha.spectralRadius = 0.9
    # The default 1e-8, 1e-10 is below the round-off of axial forces: Newton's method fails in the first step.
    rule.newton.relativeTolerance, rule.newton.absoluteTolerance = 1e-6, 1e-7
    return settings


def extrapolated_motion(elements: int = 15, dt: float = 2.5e-5, sample: float = 5e-4) -> Motion:
    """Richardson's extrapolation of steps dt and dt / 2 to none, with the rule's order 2."""
    coarse, fine = (prrrp_motion(elements, step, sample) for step in (dt, 0.5 * dt))

    def limit(name: str) -> Array:
        a, b = getattr(coarse, name), getattr(fine, name)
        return b + (b - a) / 3.0

    return Motion(fine.t, limit("position"), limit("velocity"), limit("force"))
