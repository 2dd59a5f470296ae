"""A comparison with other engines that always refuses, in a module that other processes can import."""

from __future__ import annotations

from nacelle.errors import NacelleError
from nacelle.model.robot import Robot
from nacelle.report.sheet.models import EngineComparison


def refuse_comparison(robot: Robot) -> EngineComparison:
    """Refuse to compare a robot."""
    raise NacelleError(f"{robot.name} is in no other engine")
