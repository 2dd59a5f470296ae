"""The command `calibrate`: the geometry of a machine from measurements, poses to measure at, rehearsals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import (
    JsonOption,
    RobotArgument,
    check_output_file,
    print_json,
    print_text,
    report_written,
    write_output_file,
)
from nacelle.cli.inputs import ModeOption, PayloadOption, load_robot
from nacelle.errors import NacelleError

if TYPE_CHECKING:
    from nacelle.calibration.campaign_file import CampaignFile
    from nacelle.calibration.fit import Campaign
    from nacelle.calibration.parameters import Parameter
    from nacelle.model.robot import Robot

UNSOUND = 1
"""Exit status of a calibration that is not to be trusted: nothing is written."""


@command("calibrate")
def calibrate_command(
    robot_name: RobotArgument,
    data: Annotated[
        Path | None,
        typer.Argument(
            help="Campaign (YAML), or a table of samples (CSV): drives and DEVICE.x, .y, .z, .rx ..."
        ),
    ] = None,
    *,
    noise: Annotated[
        list[str] | None,
        typer.Option(
            "--noise",
            metavar="DEVICE=QUANTITY",
            help="Standard deviation of a device of a table: tracker=10um, or tracker=10um,0.001deg with "
            "rotations; encoders=2um (repeatable).",
        ),
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            metavar="PATTERN",
            help="What is estimated, such as '*.x' or 'zero.*=1e-3' with a tolerance in SI units "
            "(repeatable); by default a largest set that the platform's pose shows.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Corrected description (YAML); with --plan the poses (CSV).")
    ] = None,
    page: Annotated[Path | None, typer.Option("--page", help="Page of the result (HTML).")] = None,
    settings: Annotated[
        str, typer.Option("--settings", help="Print settings for a firmware: klipper or linuxcnc.")
    ] = "",
    plan: Annotated[int, typer.Option("--plan", help="Plan so many poses to measure at.", min=0)] = 0,
    rehearse: Annotated[
        int,
        typer.Option("--rehearse", help="Simulate so many poses of machines within their tolerances.", min=0),
    ] = 0,
    machines: Annotated[int, typer.Option("--machines", help="Machines of a rehearsal.", min=1)] = 10,
    seed: Annotated[int, typer.Option("--seed", help="Seed of planned poses and rehearsals.")] = 0,
    list_all: Annotated[
        bool, typer.Option("--list", help="List all parameters; those estimated by default have a mark.")
    ] = False,
    keep_outliers: Annotated[
        bool, typer.Option("--keep-outliers", help="Leave nothing out of the fit.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Write a result that checks say is not to be trusted.")
    ] = False,
    payload: PayloadOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Calibrate the geometry of a machine from measured poses; plan poses, rehearse a campaign."""
    from nacelle.calibration.calibration import calibrate
    from nacelle.calibration.page import calibration_page

    robot = load_robot(robot_name, mode, payload)
    if list_all:
        _list_parameters(robot, as_json)
        return
    campaign, patterns = _read(robot, data, noise)
    own = _parameters(campaign, parameter or list(patterns))
    if plan or rehearse:
        if plan:
            check_output_file(out, (".csv",))
        _plan_or_rehearse(campaign, own, plan, rehearse, machines, seed, out, as_json)
        return
    if data is None or not campaign.count:
        raise NacelleError(
            "name the data: a campaign (YAML) with samples, or a table (CSV); or give --plan or --rehearse"
        )
    check_output_file(out, (".yaml", ".yml"))
    check_output_file(page, (".html",))
    result = calibrate(campaign, own, robust=not keep_outliers)
    if as_json:
        print_json(result.to_dict())
    else:
        print_text(result.table())
    if page is not None:
        write_output_file(page, calibration_page(result))
        report_written(page)
    if not result.is_sound and not force:
        raise typer.Exit(UNSOUND)
    if out is not None:
        for written in result.write(out):
            report_written(written)
    if settings:
        from nacelle.calibration.firmware import firmware_settings

        print_text(firmware_settings(result.robot, settings).text, end="")


def _read(robot: Robot, data: Path | None, noise: list[str] | None) -> CampaignFile:
    """The campaign, and the patterns of parameters in it; without data one of a tracker of the whole pose."""
    from nacelle.calibration.campaign_file import read_campaign

    given: dict[str, str] = {}
    for text in noise or []:
        name, equals, value = text.partition("=")
        if not equals or not value:
            raise NacelleError(f"--noise {text!r}: write DEVICE=QUANTITY, such as tracker=10um")
        given[name] = value
    if data is None:
        position, _, rotation = given.pop("tracker", "10um,0.001deg").partition(",")
        axes = ["x", "y", "z", *(["rx", "ry", "rz"] if robot.platform_nv == 6 and rotation else [])]
        entry: dict[str, Any] = {"measures": axes, "noise": position}
        if rotation and robot.platform_nv == 6:
            entry["rotation noise"] = rotation
        written: dict[str, Any] = {"devices": {"tracker": entry}}
        if "encoders" in given:
            written["encoders"] = {"noise": given.pop("encoders")}
        if given:
            raise NacelleError(f"--noise {next(iter(given))}: without data the device is called tracker")
        return read_campaign(written, robot)
    if given and data.suffix.lower() in (".yaml", ".yml"):
        raise NacelleError("--noise is for tables: a campaign (YAML) has the noise of each device")
    return read_campaign(data, robot, given)


def _parameters(campaign: Campaign, patterns: list[str]) -> tuple[Parameter, ...]:
    from nacelle.calibration.parameters import choose_parameters, known_parameters
    from nacelle.calibration.poses import default_parameters

    if not patterns:
        return default_parameters(campaign.robot, campaign.encoders)
    return choose_parameters(known_parameters(campaign.robot, campaign.encoders), patterns)


def _list_parameters(robot: Robot, as_json: bool) -> None:
    from nacelle.calibration.calibration import shown_unit
    from nacelle.calibration.parameters import known_parameters
    from nacelle.calibration.poses import default_parameters

    default = {one.name for one in default_parameters(robot)}
    known = known_parameters(robot)
    if as_json:
        entries = [
            {"name": one.name, "unit": one.unit, "tolerance": one.tolerance, "default": one.name in default}
            for one in known
        ]
        print_json({"robot": robot.name, "parameters": entries})
        return
    for one in known:
        factor, unit = shown_unit(one.unit)
        print_text(
            f"{'*' if one.name in default else ' '} {one.name:<40} {one.tolerance * factor:.4g} {unit}"
        )


def _plan_or_rehearse(
    campaign: Campaign,
    own: tuple[Parameter, ...],
    plan: int,
    rehearse: int,
    machines: int,
    seed: int,
    out: Path | None,
    as_json: bool,
) -> None:
    from nacelle.calibration.campaign_file import rows_of
    from nacelle.calibration.poses import drawn_poses, plan_poses
    from nacelle.calibration.rehearsal import rehearse as simulate
    from nacelle.kinematics.solve.inverse import inverse_kinematics
    from nacelle.tables.csv import write_table

    robot, x = campaign.robot, None
    results: dict[str, Any] = {}
    if plan:
        planned = plan_poses(campaign, plan, own, seed=seed)
        x = planned.x
        results["plan"] = {
            "poses": x.tolist(),
            "deviation": planned.deviation,
            "random": planned.random,
            "by_count": [list(pair) for pair in planned.by_count],
            "enough": planned.enough,
        }
        if not as_json:
            lines = [f"  {count:4d} poses: {value * 1e3:.4g} mm" for count, value in planned.by_count]
            print_text(
                "\n".join(
                    [
                        "largest deviation of the position over the workspace: "
                        f"{planned.deviation * 1e3:.4g} mm; "
                        f"of as many poses at random {planned.random * 1e3:.4g} mm",
                        *lines,
                        f"{planned.enough} poses determine everything; more of them average the noise alone",
                    ]
                )
            )
        if out is not None:
            write_table(out, *rows_of(robot, x, inverse_kinematics(robot, x, limits=False).q))
            report_written(out)
    if rehearse:
        at = x if x is not None else drawn_poses(robot, rehearse, seed)
        rehearsal = simulate(campaign, at, own, machines=machines, seed=seed)
        results["rehearsal"] = rehearsal.to_dict()
        if not as_json:
            print_text(rehearsal.table())
    if as_json:
        print_json(results)
