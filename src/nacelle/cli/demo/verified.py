"""Compares the robot with other engines, as far as they are installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nacelle.cli.demo.words import typed
from nacelle.errors import NacelleError

if TYPE_CHECKING:
    from nacelle.model.robot import Robot
    from nacelle.report.demo.verified import Verified

STATES = 20


def verified(robot: Robot) -> Verified:
    """Compare with every engine that is installed.

    Raises:
        NacelleError: if one disagrees.
    """
    from nacelle.report.demo.verified import Agreement, Verified
    from nacelle.verify import ENGINES, MissingEngineError, verify
    from nacelle.verify.engine import builder

    present, missing = [], []
    for name in ENGINES:
        try:
            builder(name)
            present.append(name)
        except MissingEngineError:
            missing.append(name)
    agreements: tuple[Agreement, ...] = ()
    if present:
        report = verify(robot, present, STATES, 0)
        if not report.ok:
            raise NacelleError(f"an engine disagrees:\n{report.text()}")
        agreements = tuple(
            Agreement(one.engine, one.version, {entry.name: entry.error for entry in one.quantities})
            for one in report.engines
        )
    command = typed("verify", robot.name, "--states", STATES)
    return Verified(robot.title or robot.name, STATES, agreements, tuple(missing), (command,))
