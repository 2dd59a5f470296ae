"""The steps of the demonstration, in order."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from nacelle.cli.demo.folder import DemoFolder
from nacelle.cli.demo.words import typed
from nacelle.errors import NacelleError

if TYPE_CHECKING:
    from nacelle.model.robot import Robot
    from nacelle.report.demo.counted import CountedOperations
    from nacelle.report.demo.step import DemoStep, DemoTask


def tasks(robot: Robot, folder: DemoFolder) -> list[DemoTask]:
    """What is to be done, each with its title."""
    from nacelle.cli.demo.circle import controlled_circle
    from nacelle.cli.demo.exported import exported
    from nacelle.cli.demo.flexible import flexible
    from nacelle.cli.demo.identified import identified
    from nacelle.cli.demo.verified import verified
    from nacelle.report.demo.step import DemoTask

    return [
        DemoTask("verified", "The same robot in other engines", lambda: verified(robot)),
        DemoTask("counted", "Operations from the pose to the drive forces", lambda: counted(robot)),
        DemoTask("identified", "Parameters from noisy measurements", lambda: identified(robot, folder)),
        DemoTask("circle", "A fast circle under three controllers", lambda: controlled_circle(robot, folder)),
        DemoTask("exported", "The model as C for the controller", lambda: exported(robot, folder)),
        DemoTask("flexible", "Flexible links: a published table", lambda: flexible(folder)),
    ]


def counted(robot: Robot) -> CountedOperations:
    """Count the operations of the inverse dynamics with friction."""
    from nacelle.report.demo.counted import CountedOperations
    from nacelle.report.operations import operation_count

    operations = operation_count(robot, "inverse_dynamics", friction=True)
    return CountedOperations(operations, (typed("ops", robot.name, "--friction"),))


def done(task: DemoTask) -> DemoStep:
    """Do a step; what goes wrong is part of the result, and Ctrl-C too."""
    from nacelle.report.demo.step import DONE, FAILED, STOPPED, DemoStep

    start = time.perf_counter()
    result, state, message = None, DONE, ""
    try:
        result = task.compute()
    except KeyboardInterrupt:
        state, message = STOPPED, "Ctrl-C has ended this step"
    except NacelleError as error:
        state, message = FAILED, str(error)
    except Exception as error:
        # One step that breaks is said, with its kind; the others still run.
        state, message = FAILED, f"{type(error).__name__}: {error}"
    return DemoStep(task.key, task.title, state, time.perf_counter() - start, result, message)
