"""The command `reactions`: what the joints transmit along a motion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from nacelle.cli.commands import command, takes
from nacelle.cli.common import console, print_json
from nacelle.cli.outputs import deliver, last_line, leave_if_failed, reported_table
from nacelle.cli.trajectory import MotionRun

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.table import Table

    from nacelle.dynamics.reactions.peak import Peak, PeakReactions


@command("reactions")
@takes(MotionRun)
def reactions_command(robot_name: str, run: MotionRun) -> None:
    """Forces and moments in all joints along a motion: peaks, radial and axial, to size bearings."""
    robot, path, options = run.prepared(robot_name)
    from nacelle.dynamics.reactions.peak import peak_reactions

    result = peak_reactions(robot, path, **options)
    if run.csv is not None:
        deliver(_table(result), run.csv)
    _print(result, path.duration, not run.no_friction, run.csv, run.as_json)
    leave_if_failed(result.reactions.flags)


def _table(result: PeakReactions) -> Iterator[str]:
    """Wrenches of all joints at all times, as CSV."""
    from nacelle.dynamics.reactions.peak import PARTS

    names, units, columns = ["t"], ["s"], [result.times]
    for j in result.robot.written_joints:
        names += [f"{result.robot.joints[j].name}.{part}" for part in PARTS]
        units += ["N"] * 3 + ["N*m"] * 3
        columns += list(result.reactions.wrench[:, j].T)
    return reported_table([*names, "flags"], [*units, ""], [*columns, result.reactions.flags])


def _print(result: PeakReactions, duration: float, friction: bool, csv: Path | None, as_json: bool) -> None:
    robot, redundancy = result.robot, result.reactions.redundancy
    if as_json:
        from nacelle.report.plain import reactions_data

        print_json(reactions_data(result))
        return
    console().print(
        f"{robot.name}: {duration:g} s, {len(result.times)} samples"
        + ("" if friction else ", without friction")
        + "; largest loads",
        markup=False,
    )
    console().print(_peaks(result))
    if redundancy:
        console().print(
            f"open: {redundancy} superfluous closure equations leave inner stress in these components, which "
            "tolerances and stiffness decide; the least-norm share is given",
            markup=False,
        )
    last_line(result.reactions.flags, "samples", csv)


def _peaks(result: PeakReactions) -> Table:
    """The largest loads leg by leg."""
    from rich.text import Text

    from nacelle.report.table import plain_table

    force = max(peak.force for peak in result.listed)
    moment = max(force * result.robot.size, *(peak.moment for peak in result.listed))
    redundant = bool(result.reactions.redundancy)
    columns = ["joint", "kind", "force (N)>", "at (s)>", "mean>", "radial>", "axial>"]
    columns += ["moment (N m)>", "at (s)>", "tilting>", "torque>", *(["open"] if redundant else [])]
    table = plain_table(*columns)
    for peak in _leg_by_leg(result):
        row = [_shown(peak.force, force), f"{peak.force_time:.3f}"]
        row += [_shown(value, force) for value in (peak.mean_force, peak.radial, peak.axial)]
        row += [_shown(peak.moment, moment)]
        row += [f"{peak.moment_time:.3f}" if _counts(peak.moment, moment) else ""]
        row += [_shown(value, moment) for value in (peak.tilting, peak.torque)]
        table.add_row(Text(peak.name), peak.kind, *row, *([" ".join(peak.open)] if redundant else []))
    return table


def _leg_by_leg(result: PeakReactions) -> list[Peak]:
    """Peaks in the order of the legs, those of the nacelle's own joints last."""
    robot = result.robot
    order = [j for leg in robot.legs for j in (*leg.joints, *leg.closures)]
    order += [j for j in range(len(robot.joints)) if j not in order]
    return [result.peaks[j] for j in order if j in robot.written_joints]


def _counts(value: float, largest: float) -> bool:
    """Whether a load is more than rounding."""
    return math.isfinite(value) and value > 1e-12 * largest


def _shown(value: float, largest: float) -> str:
    """A load; zero where it is rounding, nothing where there is none."""
    if not math.isfinite(value):
        return ""
    return f"{value:.4g}" if _counts(value, largest) else "0"
