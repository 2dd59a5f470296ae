"""Names and SI units of what robots have: actuators, coordinates of the platform, legs, joints."""

from __future__ import annotations

from nacelle.model.platform import Motion
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot

NamesAndUnits = list[tuple[str, str]]

# Of a translation and of a rotation.
_UNITS = {
    "coordinate": ("m", "rad"),
    "rate": ("m/s", "rad/s"),
    "acceleration": ("m/s^2", "rad/s^2"),
    "force": ("N", "N m"),
}
# Of a joint of the platform whose robot is not at hand: metres or radians.
UNKNOWN_UNIT = "SI"


def actuators(robot: Robot, kind: str = "force") -> NamesAndUnits:
    """Names of the actuators with units of their "coordinate", "rate", "acceleration" or "force"."""
    return [
        (actuator.name, _UNITS[kind][revolute])
        for actuator, revolute in zip(robot.actuators, robot.revolute_actuators, strict=True)
    ]


def _unit(robot: Robot | None, kind: str, name: str, unit: str) -> str:
    """The unit of a coordinate of the platform or its rate; joints are looked up in the robot."""
    if unit:
        return _UNITS[kind][unit == "rad"]
    if robot is None:
        return UNKNOWN_UNIT
    joint = next(joint for joint in robot.joints if joint.name == name)
    return _UNITS[kind][joint.primitives[0].is_rotation]


def twist(motion: Motion, kind: str = "rate", robot: Robot | None = None) -> NamesAndUnits:
    """Coordinates of the platform with units of their rate, acceleration or force along them."""
    units = layout_of(motion).v_units
    return [
        (name, _unit(robot, kind, name, unit)) for name, unit in zip(motion.coordinates, units, strict=True)
    ]


def pose(motion: Motion, robot: Robot | None = None) -> NamesAndUnits:
    """Entries of the reduced pose with their units; those of a quaternion have none."""
    layout = layout_of(motion)
    quaternion = layout.quaternion or slice(0, 0)
    return [
        (
            name,
            "-" if quaternion.start <= k < quaternion.stop else _unit(robot, "coordinate", name, unit),
        )
        for k, (name, unit) in enumerate(zip(layout.x_names, layout.units, strict=True))
    ]


def legs(robot: Robot, count: int) -> NamesAndUnits:
    """Names of the legs, and of the platform where it counts as one more."""
    names = [leg.name for leg in robot.legs]
    names += ["platform"] if len(names) < count else []
    names += [f"part {k + 1}" for k in range(len(names), count)]
    return [(name, "-") for name in names[:count]]


def joints(robot: Robot, unit: str) -> NamesAndUnits:
    """Names of the joints that the description has."""
    return [(robot.joints[j].name, unit) for j in robot.described_joints]
