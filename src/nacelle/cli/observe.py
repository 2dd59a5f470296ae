"""The command `observe`: what a camera sees of a robot, what that gives, and whether it is worth it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import PICTURES, JsonOption, RobotArgument, check_output_file, print_json
from nacelle.cli.inputs import AtOption, ModeOption, load_robot, read_pose
from nacelle.cli.outputs import FAILED_SAMPLES, print_notes, print_parts, print_result
from nacelle.cli.view import write_picture
from nacelle.errors import NacelleError, did_you_mean
from nacelle.progress import task

if TYPE_CHECKING:
    from nacelle.control.vision.camera_file import CameraFile
    from nacelle.model.robot import Robot
    from nacelle.vision.image.pixel_model import PixelModel


@command("observe")
def observe_command(
    robot_name: RobotArgument,
    *,
    at: AtOption = None,
    camera: Annotated[
        Path | None, typer.Option("--camera", help="Camera as YAML; one that sees all legs without it.")
    ] = None,
    noise: Annotated[
        float | None, typer.Option("--noise", help="Standard deviation of pixels, grey levels of 255.")
    ] = None,
    blur: Annotated[
        float | None, typer.Option("--blur", help="Standard deviation of the blur, pixels.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of noise; with --compare the first of the seeds.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Picture to write (png, svg, pdf); a new one, unless --overwrite."),
    ] = None,
    names: Annotated[bool, typer.Option("--names/--no-names", help="Write the names of cylinders.")] = True,
    compare: Annotated[
        bool, typer.Option("--compare", help="Closed loops fed by encoders, by the camera, and by both.")
    ] = False,
    sweeps: Annotated[
        str, typer.Option("--sweeps", help="With --compare what is swept: anchors,growth,lengths,noise,rate.")
    ] = "",
    seeds: Annotated[int, typer.Option("--seeds", help="With --compare how many seeds a case has.")] = 3,
    calibrate: Annotated[
        int, typer.Option("--calibrate", help="Rehearse a calibration of the camera from a number of poses.")
    ] = 0,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """What a camera sees of a robot: edges of its legs in an image, directions, pose and their errors."""
    from nacelle.control.vision.camera_file import read_camera

    check_output_file(out, PICTURES)
    for option, value in (("--noise", noise), ("--blur", blur)):
        if value is not None and not 0.0 <= value < 1e4:
            raise NacelleError(f"{option} is not negative, got {value:g}")
    if seed < 0 or seeds < 1:
        raise NacelleError("--seed is 0 or more, and --seeds 1 or more")
    if (sweeps or seeds != 3) and not compare:
        raise NacelleError("--sweeps and --seeds go with --compare")
    if calibrate < 0 or (calibrate and (compare or out is not None)):
        raise NacelleError("--calibrate takes a number of poses above zero, and neither --compare nor --out")
    robot = load_robot(robot_name, mode)
    settings = read_camera({} if camera is None else camera)
    pixels = settings.pixels
    if noise is not None:
        pixels = dataclasses.replace(pixels, read_noise=noise)
    if blur is not None:
        pixels = dataclasses.replace(pixels, blur=blur)
    if compare:
        all_seeds = range(seed, seed + seeds)
        _compare(robot, settings, pixels, sweeps, seeds=all_seeds, out=out, as_json=as_json)
        return
    if calibrate:
        _calibrate(robot, settings, pixels, calibrate, seed, as_json)
        return
    from nacelle.report.vision import observation_parts
    from nacelle.vision.observation import Observation, observe

    x = read_pose(robot, at)
    with task("looking"):
        observation = observe(
            robot, x, camera=settings.camera(robot) if camera else None, pixels=pixels, seed=seed
        )
    write_picture(lambda: observation.plot(names=names, shown=False), out, step=5)
    print_result(observation, Observation.summary, observation_parts, as_json)
    if observation.pose is None:
        print_notes([] if as_json else [observation.message])
        raise typer.Exit(FAILED_SAMPLES)


def _calibrate(
    robot: Robot, settings: CameraFile, pixels: PixelModel, poses: int, seed: int, as_json: bool
) -> None:
    from nacelle.vision.calibration.calibrate import simulate_calibration

    camera = settings.camera(robot)
    with task("calibrating"):
        result = simulate_calibration(robot, camera, pixels, poses=poses, seed=seed)
    calibration = result.calibration
    rows = [
        (name, calibration.sigma[name], error)
        for name, error in zip(calibration.names, result.error, strict=False)
    ]
    if as_json:
        parts = [{"name": name, "sigma": sigma, "error": error} for name, sigma, error in rows]
        numbers = {"poses": len(result.poses), "edges": result.edges, "probability": calibration.probability}
        print_json({"robot": robot.name, **numbers, "camera": parts, "weak": list(calibration.weak)})
        return
    from nacelle.report.table import plain_table

    table = plain_table("camera", "standard deviation>", "error>", "unit")
    for k, (name, sigma, error) in enumerate(rows):
        table.add_row(name, f"{1e6 * sigma:.3g}", f"{1e6 * error:.3g}", "um" if k < 3 else "urad")
    head = (
        f"{robot.name}: {result.edges} edges at {len(result.poses)} poses; a larger sum of squares has the "
        f"probability {calibration.probability:.2g}"
    )
    print_parts([head, table, *(f"weak: {reason}" for reason in calibration.weak)])


def _compare(
    robot: Robot,
    settings: CameraFile,
    pixels: PixelModel,
    names: str,
    *,
    seeds: range,
    out: Path | None,
    as_json: bool,
) -> None:
    from nacelle.control.vision.comparison import (
        SWEEPS,
        Circumstances,
        VisualFeedbackBench,
        VisualFeedbackComparison,
        compare_visual_feedback,
    )
    from nacelle.report.control import visual_comparison_parts

    sweeps = [name.strip() for name in names.split(",") if name.strip()] or list(SWEEPS)
    for name in sweeps:
        if name not in SWEEPS:
            raise NacelleError(f"nothing called {name!r} is swept; {did_you_mean(name, SWEEPS)}")
    bench = VisualFeedbackBench(robot, camera=settings.camera(robot), pixels=pixels, shutter=settings.shutter)
    base = Circumstances(noise=pixels.read_noise, rate=settings.shutter.rate)
    result = compare_visual_feedback(
        bench, sweeps={name: SWEEPS[name] for name in sweeps}, base=base, seeds=seeds
    )
    write_picture(lambda: result.plot(shown=False), out)
    print_result(result, VisualFeedbackComparison.summary, visual_comparison_parts, as_json)
    if not as_json:
        print_notes(f"lost: {reason}" for case in result.cases for reason in case.lost)
