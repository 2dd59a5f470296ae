"""Quantities of kinematic results: joints, poses, measures of singularity, motions."""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.forward import ForwardKinematics
from nacelle.kinematics.jacobian import Jacobian, Singularities
from nacelle.kinematics.motion import BodyMotion, JointMotion
from nacelle.kinematics.solve.inverse import InverseKinematics
from nacelle.kinematics.tools import ToolPose
from nacelle.papers.elements.project import ElementProjection
from nacelle.papers.elements.state import ElementState
from nacelle.report.results import names
from nacelle.report.results.quantity import TIME, ResultQuantity, alone, quantity_of_rows
from nacelle.spatial.scalar import Array
from nacelle.trajectory import Trajectory, Waypoints

# Samples of a trajectory that are drawn, at least.
_SAMPLES = 400
# What the components of variables of the element state are called, and their units.
_COMPONENTS = ("x", "y", "z")


def inverse_kinematics(result: InverseKinematics) -> list[ResultQuantity]:
    """Coordinates of the actuators, and how far legs are from serial singularities."""
    robot = result.robot
    margins = np.asarray(result.margins)
    return [
        quantity_of_rows("actuators", names.actuators(robot, "coordinate"), result.actuators),
        quantity_of_rows("margins", names.legs(robot, margins.shape[-1]), margins, words="margin of a leg"),
    ]


def forward_kinematics(result: ForwardKinematics) -> list[ResultQuantity]:
    """The poses, and Newton's steps to them."""
    robot = result.robot
    return [
        quantity_of_rows("pose", names.pose(robot.motion, robot), result.x),
        alone("iterations", "-", result.iterations),
    ]


def jacobian(result: Jacobian) -> list[ResultQuantity]:
    """How well conditioned the poses are."""
    return [alone("inverse condition number", "-", result.conditioning)]


def singularities(result: Singularities) -> list[ResultQuantity]:
    """The measures: 0 at a singularity."""
    serial = np.asarray(result.serial, dtype=float)
    labels = names.legs(result.robot, serial.shape[-1])
    labels = [(f"serial, {name}", unit) for name, unit in labels]
    labels += [("parallel", "-"), ("constraint", "-")]
    platform_measures = [
        np.asarray(part, dtype=float)[..., None] for part in (result.parallel, result.constraint)
    ]
    values = np.concatenate([serial, *platform_measures], axis=-1)
    return [quantity_of_rows("measures", labels, values, words="distance from singularity")]


def body_motion(result: BodyMotion) -> list[ResultQuantity]:
    """Speeds of all bodies, and sizes of their accelerations."""
    bodies = [body.name for body in result.robot.bodies]
    both = []
    for key, values, units in (
        ("speeds", result.twist, ("m/s", "rad/s")),
        ("accelerations", result.acceleration, ("m/s^2", "rad/s^2")),
    ):
        parts = [np.linalg.norm(np.asarray(values)[..., part], axis=-1) for part in (slice(3), slice(3, 6))]
        labels = [(name, unit) for unit in units for name in bodies]
        both.append(quantity_of_rows(key, labels, np.concatenate(parts, axis=-1)))
    return both


def joint_motion(result: JointMotion) -> list[ResultQuantity]:
    """Coordinates, rates and accelerations of the actuators."""
    kinds = ("coordinate", "rate", "acceleration")
    return [
        quantity_of_rows(f"{kind}s", names.actuators(result.robot, kind), values)
        for kind, values in zip(kinds, result.actuators, strict=True)
    ]


def tool_pose(result: ToolPose) -> list[ResultQuantity]:
    """Where the tool is, and its orientation."""
    return [
        quantity_of_rows("position", [(name, "m") for name in "xyz"], result.p),
        quantity_of_rows("quaternion", [(f"q{name}", "-") for name in "xyzw"], result.quat_xyzw),
    ]


def trajectory(result: Trajectory) -> list[ResultQuantity]:
    """Pose, twist and acceleration over time."""
    knots = np.asarray(result.knots, dtype=float)
    times = np.unique(np.concatenate([knots, np.linspace(0.0, result.duration, _SAMPLES)]))
    sample, motion = result(times), result.motion
    over = {"across": TIME, "places": times}
    return [
        quantity_of_rows("pose", names.pose(motion), sample.x, **over),
        quantity_of_rows("twist", names.twist(motion, "rate"), sample.v, **over),
        quantity_of_rows("acceleration", names.twist(motion, "acceleration"), sample.a, **over),
    ]


def waypoints(result: Waypoints) -> list[ResultQuantity]:
    """The poses, over time where they have times."""
    over = {} if result.times is None else {"across": TIME, "places": np.asarray(result.times)}
    return [quantity_of_rows("pose", names.pose(result.motion), result.points, **over)]


def element_state(result: ElementState) -> list[ResultQuantity]:
    """Directions, lengths and angles of the elements; first and second derivatives are left out."""
    labels, columns = [], []
    for variable in result.layout.variables:
        values = np.asarray(result.values[variable.name], dtype=float)
        unit = {"direction": "-", "length": "m", "point": "m"}.get(variable.kind)
        if unit is None:
            joint = result.robot.joints[variable.number]
            unit = "rad" if joint.primitives[0].is_rotation else "m"
        if variable.is_vector:
            value = values[..., 0, :]
            parts = _COMPONENTS if value.shape[-1] == 3 else tuple(str(k) for k in range(value.shape[-1]))
            labels += [(f"{variable.name}.{part}", unit) for part in parts]
            columns.append(value)
        else:
            labels.append((variable.name, unit))
            columns.append(values[..., 0, None])
    return [quantity_of_rows("variables", labels, _joined(columns))]


def _joined(columns: list[Array]) -> Array:
    return np.concatenate(columns, axis=-1) if columns else np.zeros(0)


def element_projection(result: ElementProjection) -> list[ResultQuantity]:
    """Standard deviations of the pose."""
    robot = result.state.robot
    deviation = np.sqrt(np.maximum(np.diag(result.covariance), 0.0))
    labels = names.twist(robot.motion, "coordinate", robot)
    return [quantity_of_rows("standard deviations", labels, deviation, words="standard deviation")]
