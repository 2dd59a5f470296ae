"""SI units of experiments and estimates: rows of forces, and parameters by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nacelle.model.joint import Primitive
from nacelle.model.linear_parameters import linear_parameters
from nacelle.model.numbers import INERTIA_NAMES
from nacelle.model.robot import Robot
from nacelle.report.results import names

if TYPE_CHECKING:
    from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
    from nacelle.identification.estimation.regression import Regression

# Of a translation and of a rotation.
_AXIS_UNITS = {
    "viscous": ("N s/m", "N m s/rad"),
    "quadratic": ("N s²/m²", "N m s²/rad²"),
    "cubic": ("N s³/m³", "N m s³/rad³"),
    "stiffness": ("N/m", "N m/rad"),
}
_FORCE = ("N", "N m")
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def row_units(data: Regression) -> list[str]:
    """Units of the rows: of the actuators' forces, or of those along the reduced twist."""
    robot = data.base.robot
    if len(robot.actuators) <= robot.motion.n:
        return [unit for _, unit in names.actuators(robot)]
    return [unit for _, unit in names.twist(robot.motion, "force", robot)]


def parameter_unit(robot: Robot, name: str) -> str:
    """The unit of a linear parameter of a robot (`linear_parameters`)."""
    owner, _, part = name.rpartition(".")
    owner = owner.removesuffix(".stop")
    if part in INERTIA_NAMES:
        return "kg" if part == "m" else "kg m" if part[0] == "m" else "kg m²"
    if part == "rotor_inertia":
        joint = next(joint for joint in robot.joints if joint.name == owner)
        return "kg m²" if joint.primitives[0].is_rotation else "kg"
    if owner.startswith("dampers."):
        return "N m s/rad"
    if owner.startswith("torsion_springs."):
        degree = int(part.removeprefix("k"))
        return "N m/rad" + ("" if degree == 1 else str(degree).translate(_SUPERSCRIPTS))
    if owner.startswith("springs."):
        return {"stiffness": "N/m", "damping": "N s/m"}.get(part, "N")
    rotation = Primitive(owner.rpartition(".")[2]).is_rotation
    return _AXIS_UNITS.get(part, _FORCE)[rotation]


def base_units(base: BaseParameters) -> list[str]:
    """Units of base parameters: those of the parameters that lead them."""
    names, groups = linear_parameters(base.robot).names, base.choice.groups()
    return [parameter_unit(base.robot, names[groups[k][0]]) for k in base.kept]
