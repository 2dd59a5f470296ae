"""The command `reactions`: what the joints transmit along a motion."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from nacelle.cli.common import JsonOption, RobotArgument, app, console, fail, print_json
from nacelle.cli.motion import (
    DurationOption,
    NoFrictionOption,
    RadiusOption,
    RateOption,
    TableOption,
    ToOption,
    TrajectoryOption,
    check_rate,
    make_trajectory,
)
from nacelle.cli.pose import AtOption, ModeOption, deliver, load_robot, plain, table_text
from nacelle.errors import NacelleError

if TYPE_CHECKING:
    from nacelle.dynamics.reactions import PeakReactions

PARTS = ("fx", "fy", "fz", "nx", "ny", "nz")


@app.command("reactions")
def reactions_command(
    robot: RobotArgument,
    trajectory: TrajectoryOption = "circle",
    at: AtOption = None,
    to: ToOption = None,
    radius: RadiusOption = "",
    duration: DurationOption = 1.0,
    rate: RateOption = 1000.0,
    no_friction: NoFrictionOption = False,
    csv: TableOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Forces and moments in all joints along a motion: peaks, radial and axial, to size bearings."""
    try:
        found = load_robot(robot, mode)
        path = make_trajectory(found, trajectory, at, to, radius, duration)
        check_rate(rate)
        from nacelle.dynamics.reactions import peak_reactions

        result = peak_reactions(found, path, rate, friction=not no_friction)
        if csv is not None:
            deliver(_table(result), csv)
        _print(result, path.duration, not no_friction, as_json)
    except NacelleError as error:
        fail(error, as_json)


def _table(result: PeakReactions) -> str:
    """Wrenches of all joints at all times, as CSV."""
    names, units, columns = ["t"], ["s"], [result.times]
    for j, joint in enumerate(result.robot.joints):
        names += [f"{joint.name}.{part}" for part in PARTS]
        units += ["N"] * 3 + ["N*m"] * 3
        columns += list(result.reactions.wrench[:, j].T)
    return table_text([*names, "flags"], [*units, ""], [*columns, result.reactions.flags])


def _print(result: PeakReactions, duration: float, friction: bool, as_json: bool) -> None:
    import numpy as np

    from nacelle.kinematics.flags import failed

    robot, redundancy = result.robot, result.reactions.redundancy
    bad = int(np.count_nonzero(failed(result.reactions.flags)))
    if as_json:
        print_json(
            {
                "robot": robot.name,
                "duration": duration,
                "samples": len(result.times),
                "failed": bad,
                "redundancy": redundancy,
                "joints": [
                    {key: plain(value) for key, value in dataclasses.asdict(peak).items()}
                    for peak in result.peaks
                ],
            }
        )
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("joint", "kind", "force", "at", "radial", "axial", "moment", "at", ""):
        table.add_column(column, justify="left" if column in ("joint", "kind", "") else "right")
    for peak in result.peaks:
        table.add_row(
            Text(peak.name),
            peak.kind,
            f"{peak.force:.4g} N",
            f"{peak.force_time:.3f} s",
            f"{peak.radial:.4g} N",
            f"{peak.axial:.4g} N",
            f"{peak.moment:.4g} N m",
            f"{peak.moment_time:.3f} s",
            "" if peak.determined else "*",
        )
    console().print(
        f"{robot.name}: {duration:g} s, {len(result.times)} samples"
        + ("" if friction else ", without friction"),
        markup=False,
    )
    console().print(table)
    if redundancy:
        console().print(
            f"* holds inner stress, which {redundancy} superfluous closure equations leave open; "
            "the least-norm share is given",
            markup=False,
        )
    if bad:
        console(stderr=True).print(f"[yellow]{bad} samples are out of reach or singular[/]")
