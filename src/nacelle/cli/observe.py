"""The command `observe`: a simulated camera that sees a robot, its calibration, and visual feedback."""

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
        Path | None,
        typer.Option("--camera", help="Camera file (YAML); by default a camera that sees all legs."),
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option("--noise", help="Standard deviation of the pixel noise, grey levels (0 to 255)."),
    ] = None,
    blur: Annotated[float | None, typer.Option("--blur", help="Standard deviation of the blur, px.")] = None,
    seed: Annotated[
        int, typer.Option("--seed", help="Seed of the noise; with --compare the first seed.")
    ] = 1,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Output figure (png, svg, pdf); an existing file needs --overwrite."),
    ] = None,
    names: Annotated[
        bool, typer.Option("--names/--no-names", help="Label the cylinders in the figure.")
    ] = True,
    compare: Annotated[
        bool,
        typer.Option("--compare", help="Compare closed loops with feedback from encoders, camera and both."),
    ] = False,
    sweeps: Annotated[
        str,
        typer.Option(
            "--sweeps",
            help="With --compare: quantities to sweep, of anchors,growth,lengths,noise,rate; by default all.",
        ),
    ] = "",
    seeds: Annotated[int, typer.Option("--seeds", help="With --compare: number of seeds per case.")] = 3,
    calibrate: Annotated[
        int,
        typer.Option(
            "--calibrate", help="Simulate a camera calibration from this number of poses; 0 for none."
        ),
    ] = 0,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Simulate a camera that sees the legs: measured edges, leg directions, pose and their errors."""
    from nacelle.control.vision.camera_file import read_camera

    check_output_file(out, PICTURES)
    for option, value in (("--noise", noise), ("--blur", blur)):
        if value is not None and not 0.0 <= value < 1e4:
            raise NacelleError(f"{option} must be between 0 and 1e4, got {value:g}")
    if seed < 0 or seeds < 1:
        raise NacelleError("--seed must be at least 0, and --seeds at least 1")
    if (sweeps or seeds != 3) and not compare:
        raise NacelleError("--sweeps and --seeds require --compare")
    if calibrate < 0 or (calibrate and (compare or out is not None)):
        raise NacelleError("--calibrate needs a positive number of poses, and excludes --compare and --out")
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
    with task("simulating the image"):
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
        f"{robot.name}: {result.edges} edges at {len(result.poses)} poses; p-value of the chi-squared test "
        f"{calibration.probability:.2g}"
    )
    print_parts([head, table, *(f"poorly determined: {reason}" for reason in calibration.weak)])


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
            raise NacelleError(f"no sweep is called {name!r}; {did_you_mean(name, SWEEPS)}")
    bench = VisualFeedbackBench(robot, camera=settings.camera(robot), pixels=pixels, shutter=settings.shutter)
    base = Circumstances(noise=pixels.read_noise, rate=settings.shutter.rate)
    result = compare_visual_feedback(
        bench, sweeps={name: SWEEPS[name] for name in sweeps}, base=base, seeds=seeds
    )
    write_picture(lambda: result.plot(shown=False), out)
    print_result(result, VisualFeedbackComparison.summary, visual_comparison_parts, as_json)
    if not as_json:
        print_notes(f"lost: {reason}" for case in result.cases for reason in case.lost)
