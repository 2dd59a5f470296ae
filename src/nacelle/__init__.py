"""Dynamics of parallel robots, from one description to the controller.

This is the public door: what users call is named here.
"""

from typing import Any

from nacelle.compile import Compiled, CompileError
from nacelle.compile import compile_function as compile
from nacelle.errors import (
    AssemblyError,
    DescriptionError,
    NacelleError,
    ParameterError,
    Problem,
    UnknownRobotError,
)
from nacelle.kinematics.check import Check
from nacelle.kinematics.leg_type import LegType, leg_type, robot_elements
from nacelle.kinematics.mobility import Mobility, mobility
from nacelle.library import build, check, load, loads
from nacelle.model.robot import Actuator, Robot
from nacelle.robots import names as robot_names
from nacelle.spatial.physics import physics

__version__ = "0.1.0"

__all__ = [
    "Actuator",
    "AssemblyError",
    "Check",
    "CompileError",
    "Compiled",
    "DescriptionError",
    "LegType",
    "Mobility",
    "NacelleError",
    "ParameterError",
    "Problem",
    "Robot",
    "UnknownRobotError",
    "__version__",
    "build",
    "check",
    "compile",
    "leg_type",
    "load",
    "loads",
    "mobility",
    "physics",
    "robot_elements",
    "robot_names",
    "schema",
]


def schema() -> dict[str, Any]:
    """JSON schema of the description format, for editors and other tools."""
    from nacelle.model.schema import shipped_schema

    return shipped_schema()
