"""The command `calibrate`: the geometry of a machine from measurements, poses to measure at, simulations."""

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
            help="What is estimated, such as '*.x', 'zero.*=0.5deg' with a tolerance, or "
            "'zero.*=0.5deg,-1deg..1deg' with bounds (repeatable); 'default' is a largest set that the "
            "platform's pose shows.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Corrected description (YAML); with --plan the poses (CSV).")
    ] = None,
    page: Annotated[Path | None, typer.Option("--page", help="Page of the result (HTML).")] = None,
    settings: Annotated[
        str,
        typer.Option(
            "--settings",
            help="Print settings for klipper or linuxcnc, or the numbers of a parametric model: numbers.",
        ),
    ] = "",
    plan: Annotated[int, typer.Option("--plan", help="Number of poses to plan.", min=0)] = 0,
    simulate: Annotated[
        int,
        typer.Option(
            "--simulate",
            help="Number of poses at which machines within their tolerances are simulated.",
            min=0,
        ),
    ] = 0,
    machines: Annotated[int, typer.Option("--machines", help="Machines of a simulation.", min=1)] = 10,
    seed: Annotated[int, typer.Option("--seed", help="Seed of planned poses and simulated campaigns.")] = 0,
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
    """Calibrate the geometry of a machine from measured poses; plan poses, simulate a campaign."""
    from nacelle.calibration.calibration import calibrate
    from nacelle.calibration.page import calibration_page
    from nacelle.calibration.poses import drawn_poses
    from nacelle.calibration.simulated import simulate_calibrations

    robot = load_robot(robot_name, mode, payload)
    if list_all:
        _list_parameters(robot, as_json)
        return
    campaign, patterns = _read(robot, data, noise)
    estimated = _parameters(campaign, parameter or list(patterns))
    if plan or simulate:
        results: dict[str, Any] = {}
        x = None
        if plan:
            check_output_file(out, (".csv",))
            x, results["plan"] = _plan(campaign, estimated, plan, seed, out, as_json)
        if simulate:
            at = drawn_poses(robot, simulate, seed) if x is None else x
            simulation = simulate_calibrations(campaign, at, estimated, machines=machines, seed=seed)
            results["simulation"] = simulation.to_dict()
            if not as_json:
                print_text(simulation.table())
        if as_json:
            print_json(results)
        return
    if data is None or not campaign.count:
        raise NacelleError(
            "name the data: a campaign (YAML) with samples, or a table (CSV); or give --plan or --simulate"
        )
    check_output_file(out, (".yaml", ".yml"))
    check_output_file(page, (".html",))
    result = calibrate(campaign, estimated, robust=not keep_outliers)
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
        for specification in result.write(out):
            report_written(specification)
    if settings:
        from nacelle.calibration.firmware import firmware_settings

        print_text(firmware_settings(result.robot, settings, robot).text, end="")


def _read(robot: Robot, data: Path | None, noise: list[str] | None) -> CampaignFile:
    """The campaign, and the patterns of parameters in it; without data one of a tracker of the whole pose."""
    from nacelle.calibration.campaign_file import read_campaign

    noises: dict[str, str] = {}
    for text in noise or []:
        name, equals, value = text.partition("=")
        if not equals or not value:
            raise NacelleError(f"--noise {text!r}: write DEVICE=QUANTITY, such as tracker=10um")
        noises[name] = value
    if data is None:
        position, _, rotation = noises.pop("tracker", "10um,0.001deg").partition(",")
        axes = ["x", "y", "z", *(["rx", "ry", "rz"] if robot.platform_nv == 6 and rotation else [])]
        entry: dict[str, Any] = {"measures": axes, "noise": position}
        if rotation and robot.platform_nv == 6:
            entry["rotation noise"] = rotation
        specification: dict[str, Any] = {"devices": {"tracker": entry}}
        if "encoders" in noises:
            specification["encoders"] = {"noise": noises.pop("encoders")}
        if noises:
            raise NacelleError(f"--noise {next(iter(noises))}: without data the device is called tracker")
        return read_campaign(specification, robot)
    if noises and data.suffix.lower() in (".yaml", ".yml"):
        raise NacelleError("--noise is for tables: a campaign (YAML) has the noise of each device")
    return read_campaign(data, robot, noises)


def _parameters(campaign: Campaign, patterns: list[str]) -> tuple[Parameter, ...]:
    from nacelle.calibration.parameters import DEFAULT, choose_parameters, known_parameters
    from nacelle.calibration.poses import default_parameters

    def default() -> tuple[Parameter, ...]:
        return default_parameters(campaign.robot, campaign.encoders)

    known = known_parameters(campaign.robot, campaign.encoders)
    return choose_parameters(known, patterns or [DEFAULT], default)


def _list_parameters(robot: Robot, as_json: bool) -> None:
    from nacelle.calibration.calibration import shown_unit
    from nacelle.calibration.parameters import known_parameters
    from nacelle.calibration.poses import default_parameters

    default = {item.name for item in default_parameters(robot)}
    known = known_parameters(robot)
    if as_json:
        entries = [
            {
                "name": item.name,
                "unit": item.unit,
                "tolerance": item.tolerance,
                "default": item.name in default,
            }
            for item in known
        ]
        print_json({"robot": robot.name, "parameters": entries})
        return
    for item in known:
        factor, unit = shown_unit(item.unit)
        print_text(
            f"{'*' if item.name in default else ' '} {item.name:<40} {item.tolerance * factor:.4g} {unit}"
        )


def _plan(
    campaign: Campaign,
    estimated: tuple[Parameter, ...],
    count: int,
    seed: int,
    out: Path | None,
    as_json: bool,
) -> tuple[Any, dict[str, Any]]:
    """Plan poses, show and write them; the poses (N, nx), and everything as plain data."""
    from nacelle.calibration.campaign_file import rows_of
    from nacelle.calibration.poses import plan_poses
    from nacelle.kinematics.solve.inverse import inverse_kinematics
    from nacelle.tables.csv import write_table

    plan = plan_poses(campaign, count, estimated, seed=seed)
    if not as_json:
        lines = [f"  {number:4d} poses: {value * 1e3:.4g} mm" for number, value in plan.by_count]
        head = (
            f"largest deviation of the position over the workspace: {plan.deviation * 1e3:.4g} mm; "
            f"with as many poses at random {plan.random * 1e3:.4g} mm"
        )
        last = f"{plan.enough} poses determine everything; more of them average the noise alone"
        print_text("\n".join([head, *lines, last]))
    if out is not None:
        robot = campaign.robot
        write_table(out, *rows_of(robot, plan.x, inverse_kinematics(robot, plan.x, limits=False).q))
        report_written(out)
    return plan.x, {
        "poses": plan.x.tolist(),
        "deviation": plan.deviation,
        "random": plan.random,
        "by_count": [list(pair) for pair in plan.by_count],
        "enough": plan.enough,
    }
