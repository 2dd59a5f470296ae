"""One result of every kind that the public functions return, of small robots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.identification.experiment import Experiment
from nacelle.model.robot import Robot
from nacelle.trajectory import Quintic
from nacelle.trajectory.shaping import Retimed
from nacelle.verify.comparison import EngineReport, Quantity, Report, WorstState
from support.excitation import quick_excitation
from support.flexible_robots import prrrp
from support.library import library_robot

GRAVITY = (0.0, 0.0, -9.81)


def some_poses(robot: Robot, count: int = 5) -> Any:
    """Poses near the reference, the last of them out of reach."""
    rows = np.tile(nacelle.reference_pose(robot), (count, 1))
    rows[:, 0] += np.linspace(0.0, 0.02, count) * robot.size
    rows[-1, 0] += 40.0 * robot.size
    return rows


def results(robot: Robot) -> dict[str, Callable[[], Any]]:
    """Results of kinematics and dynamics of any robot, by a name; "many" ones have a pose out of reach."""
    x, many = nacelle.reference_pose(robot), some_poses(robot)
    zero, forces = np.zeros(robot.motion.n), np.ones(len(robot.actuators))
    line = nacelle.Line(
        x, x + 0.01 * robot.size * (np.arange(len(x)) == 0), motion=robot.motion, duration=0.2
    )
    return {
        "Robot": lambda: robot,
        "InverseKinematics": lambda: nacelle.inverse_kinematics(robot, x),
        "InverseKinematics, many": lambda: nacelle.inverse_kinematics(robot, many),
        "ForwardKinematics": lambda: nacelle.forward_kinematics(
            robot, nacelle.inverse_kinematics(robot, many[:-1]).q
        ),
        "BodyPoses": lambda: nacelle.inverse_kinematics(robot, x).bodies,
        "Jacobian": lambda: nacelle.jacobian(robot, x),
        "Jacobian, many": lambda: nacelle.jacobian(robot, many),
        "Singularities": lambda: nacelle.singularities(robot, x),
        "Singularities, many": lambda: nacelle.singularities(robot, many),
        "BodyMotion": lambda: nacelle.kinematics.body_motion(robot, many, zero + 0.1),
        "JointMotion": lambda: nacelle.kinematics.joint_motion(robot, many, zero + 0.1),
        "Mobility": lambda: nacelle.kinematics.mobility(robot),
        "LegType": lambda: nacelle.kinematics.leg_type(robot, robot.legs[0]),
        "LegJacobian": lambda: nacelle.kinematics.leg_jacobians(robot, x)[0],
        "Trajectory": lambda: line,
        "Sample": lambda: nacelle.trajectory.sample_trajectory(robot, line, 0.1),
        "InverseDynamics": lambda: nacelle.inverse_dynamics(robot, x),
        "InverseDynamics, many": lambda: nacelle.inverse_dynamics(robot, many),
        "InverseDynamics, none": lambda: nacelle.inverse_dynamics(robot, many[:0]),
        "InverseDynamics, a row of one": lambda: nacelle.inverse_dynamics(robot, many[:1]),
        "ForwardDynamics": lambda: nacelle.forward_dynamics(robot, x, zero, forces),
        "ForwardDynamics, many": lambda: nacelle.forward_dynamics(robot, many, zero, forces),
        "Reactions": lambda: nacelle.joint_reactions(robot, x, zero, zero),
        "Reactions, many": lambda: nacelle.joint_reactions(robot, many, zero, zero),
        "PeakReactions": lambda: nacelle.dynamics.peak_reactions(robot, line, rate=50.0),
        "Sizing": lambda: nacelle.dynamics.size_motors(robot, line, rate=50.0),
        "Simulation": lambda: nacelle.simulate(
            robot, x, until=0.01, integration=nacelle.simulation.Integration("rk4", step=1e-3)
        ),
    }


def _fivebar() -> dict[str, Callable[[], Any]]:
    """Results that some robots alone have, or that are long to make: a five-bar."""
    robot = library_robot("fivebar")
    x = nacelle.reference_pose(robot)
    circle = nacelle.Circle(x, 0.03, motion=robot.motion, duration=0.1)
    many = some_poses(robot)

    @cache
    def experiment() -> Any:
        amplitudes = 0.02 * np.random.default_rng(1).normal(size=(2, 3, 2))
        motion = nacelle.trajectory.Fourier(x, *amplitudes, motion=robot.motion, frequency=1.0)
        return Experiment(robot, motion, periods=1).run(seed=1)

    @cache
    def identification() -> Any:
        return nacelle.identification.identify(robot, experiment().measurement)

    @cache
    def runs() -> Any:
        laws = [nacelle.control.controller(robot, name, period=1e-3) for name in ("sj", "cf-rb")]
        return nacelle.control.compare(robot, laws, circle, options=nacelle.control.LoopOptions(settle=0.02))

    return {
        "Workspace": lambda: nacelle.workspace(robot, {"x": (-0.3, 0.3, 7), "y": (0.1, 0.5, 6)}),
        "Reach": lambda: nacelle.kinematics.workspace_boundary(robot, rays=24),
        "ElementState": lambda: nacelle.papers.element_state(robot, x),
        "Regressor": lambda: nacelle.regressor(robot, many),
        "DynamicsDerivatives": lambda: nacelle.dynamics.dynamics_derivatives(robot, x),
        "LinearModel": lambda: nacelle.dynamics.linearise(robot, x),
        "LinearModel, many": lambda: nacelle.dynamics.linearise(robot, many[:3]),
        "BaseParameters": lambda: nacelle.base_parameters(robot),
        "LinearParameters": lambda: nacelle.dynamics.linear_parameters(robot),
        "Check": lambda: nacelle.check("fivebar"),
        "Excitation": quick_excitation,
        "Rehearsal": experiment,
        "Measurement": lambda: experiment().measurement,
        "Findings": lambda: nacelle.identification.check_measurement(experiment().measurement, physics=False),
        "Samples": lambda: nacelle.identification.prepare(experiment().measurement)[0],
        "Identification": identification,
        "Validation": lambda: identification().fit,
        "Estimator": lambda: identification().estimator,
        "ConsistentParameters": lambda: identification().consistent,
        "Controller": lambda: nacelle.control.controller(robot, "cf-rb", period=1e-3),
        "ControlRun": lambda: runs().runs[0],
        "Comparison": runs,
        "Observation": lambda: nacelle.vision.observe(robot, seed=1),
        "Camera": lambda: nacelle.vision.camera_for(robot),
        "Model": lambda: nacelle.model(robot, "inverse_dynamics"),
        "Operations": lambda: nacelle.operation_count(library_robot("palida")),
        "Export": lambda: nacelle.export(
            robot, models=["jacobian"], out=Path(mkdtemp()) / "c", target=nacelle.io.CTarget(self_test=False)
        ),
        "Waypoints": lambda: nacelle.Waypoints(robot.motion, many[:3], np.arange(3.0)),
        "Stiction": lambda: nacelle.simulation.stiction_of(robot),
        "Report": agreement,
    }


def _flexible() -> dict[str, Callable[[], Any]]:
    """Results about flexible robots."""
    robot = prrrp(GRAVITY)
    x = nacelle.reference_pose(robot)
    along = x + np.linspace(0.0, 0.02, 3)[:, None]
    z = float(x[1])
    line = nacelle.Line(x, along[-1], motion=robot.motion, duration=0.4)
    return {
        "NaturalFrequencies": lambda: nacelle.elastic.natural_frequencies(robot, x, modes=3),
        "NaturalFrequencies, many": lambda: nacelle.elastic.natural_frequencies(robot, along, modes=3),
        "FrequencyMap": lambda: nacelle.elastic.frequency_map(robot, {"z": (z - 0.05, z + 0.05, 3)}, modes=2),
        "FrequencyResponse": lambda: nacelle.elastic.frequency_response(
            robot, x, np.geomspace(1.0, 200.0, 9)
        ),
        "StaticDeflection": lambda: nacelle.elastic.static_deflection(
            prrrp(), x, gravity=False, external={"P": np.array([0.1, 0.0, 0.2, 0.0, 0.0, 0.0])}
        ),
        "Buckling": lambda: nacelle.elastic.buckling(robot, x),
        "ShapedMotion": lambda: nacelle.elastic.ShapedMotion(
            robot,
            "zv",
            Retimed(nacelle.trajectory.Path(line), Quintic(0.4)),
            *np.ones((2, 3, 1)),
            *np.ones((2, 1)),
            0.1,
            0,
        ),
        "ResidualVibration": lambda: nacelle.elastic.ResidualVibration(
            robot, 0.4, np.linspace(0.0, 0.1, 5), np.ones((5, 2)), 1.0
        ),
    }


def agreement() -> Report:
    """A report of other engines, as `nacelle.verify` makes them; one quantity does not agree."""
    quantities = (Quantity("forces", 3e-12, 1e-9, 2), Quantity("mass matrix", 2e-8, 1e-9, 0))
    worst = WorstState("mujoco", "mass matrix", 0, np.zeros(2), np.zeros(2), np.zeros(2), 4.0)
    engines = (
        EngineReport("pinocchio", "4.1", quantities[:1], ()),
        EngineReport("mujoco", "3.2", quantities, ()),
    )
    return Report("fivebar", "0" * 64, 20, 0, {}, engines, worst, 4.0)


def all_results() -> dict[str, Callable[[], Any]]:
    """All of them, by the name of the class and what is special."""
    return {**results(library_robot("fivebar")), **_fivebar(), **_flexible()}


def with_names(robot: Robot, names: Sequence[str]) -> Robot:
    """A robot whose robot, bodies, joints, legs and actuators are called so, each with its number before."""

    def called(k: int) -> str:
        return f"{k}{names[k % len(names)]}"

    return replace(
        robot,
        name=called(0),
        title=called(1),
        bodies=tuple(replace(body, name=called(k)) for k, body in enumerate(robot.bodies)),
        joints=tuple(replace(joint, name=called(k)) for k, joint in enumerate(robot.joints)),
        legs=tuple(replace(leg, name=called(k)) for k, leg in enumerate(robot.legs)),
        actuators=tuple(replace(one, name=called(k)) for k, one in enumerate(robot.actuators)),
    )


# The others take long together.
QUICK = (
    *("InverseKinematics, many", "InverseDynamics", "InverseDynamics, none", "InverseDynamics, a row of one"),
    *("Singularities, many", "Mobility", "Trajectory", "Workspace", "Sizing", "Waypoints", "Report"),
)


def result_names() -> list[Any]:
    """Names of all results for `parametrize`; all but the quick ones are slow."""
    return [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in all_results()]
