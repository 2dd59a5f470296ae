"""The data sheet of a robot with its verification: joins reports and reference engines."""

from __future__ import annotations

from typing import Any

from nacelle.report.sheet import sheet
from nacelle.verify import verify as compare_with_engines


def data_sheet(robot: Any, *, verify: bool = True, **options: Any) -> sheet.DataSheet:
    """Data sheet of a robot, a name of the library or a file.

    Args:
        robot: the robot, its name in the library, or a file.
        verify: whether other engines compute the same robot, and the sheet compares them.
        **options: as in `nacelle.report.sheet.sheet.data_sheet`.
    """
    return sheet.data_sheet(robot, verifier=compare_with_engines if verify else None, **options)
