"""Motions that excite the parameters of a robot.

Forces are linear in the base parameters, Gamma = Y(x, v, dv/dt) beta ([AGH2005] (17)-(20)). Over a motion all
rows, each over the standard deviation of its actuator's noise, are stacked to R; least squares have the
covariance (R^T R)^-1, so the motion is chosen to make R well conditioned, or R^T R large:

    minimise over Z    condition of R, or -log det(R^T R)
    such that          every use of a limit <= 1 at all times (`limits`)

Columns are counted in units of the parameters that give them length 1 over random motions in the same limits,
so neither SI units nor the size of the robot decide (`problem`). The gradients are exact (`sample_model`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters, base_parameters
from nacelle.errors import IdentificationError
from nacelle.identification.excitation.limits import Limits, motion_limits, positive_numbers
from nacelle.identification.excitation.motions import HarmonicFunctions, motion_functions
from nacelle.identification.excitation.optimise import (
    BestMotion,
    MotionDesign,
    criterion_values,
    default_start_count,
    optimise_motions,
    random_motions,
    scale_columns,
)
from nacelle.identification.excitation.result import (
    Excitation,
    ExcitationPart,
    LimitUse,
    largest_uses,
    motion_limit_uses,
    shrink_to_limits,
    stroke_line,
)
from nacelle.identification.excitation.settings import (
    MotionLimits,
    MotionSearch,
    MotionShape,
    require_positive,
)
from nacelle.identification.excitation.strokes import (
    Stroke,
    chain_records,
    chain_uses,
    choose_strokes,
    lines_at_rest,
    reach_along,
    stroke_chain,
    stroke_rows,
)
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.pose_input import check_poses, reference_pose
from nacelle.model.robot import Robot
from nacelle.one_thread import one_blas_thread
from nacelle.progress import task
from nacelle.spatial.scalar import Array
from nacelle.trajectory import Chain, Line
from nacelle.trajectory.base import displacements

# Random motions of which the best are starts, and by which columns are scaled.
_CANDIDATES = 300
# Noise of a force, over its limit.
_NOISE = 0.01
# Rate over which Coulomb friction changes its sign, over the smallest speed limit.
_SMOOTH = 0.01
# Samples of a motion for each harmonic, and rows for each parameter, at least.
_PER_HARMONIC, _PER_PARAMETER = 24, 3
# Range of actuators that motions are thought to have, rad or part of the size; highest frequency, Hz.
_RANGE = (0.3, 0.15)
_HIGHEST = 10.0


@one_blas_thread
def excite(
    robot: Robot,
    *,
    limits: MotionLimits | None = None,
    shape: MotionShape | None = None,
    search: MotionSearch | None = None,
    center: Any = None,
    noise: Any = None,
    smooth: float | None = None,
    parameters: BaseParameters | None = None,
) -> Excitation:
    """Find a motion that excites the base parameters of a robot well, within its limits.

    Args:
        robot: the robot.
        limits: what the motion keeps to; `MotionLimits()` if None: as described.
        shape: strategy, kind, harmonics and duration of the motion; `MotionShape()` if None.
        search: criterion, starts, iterations and seed; `MotionSearch()` if None.
        center: pose (nx,) about which the robot moves, and where it must be able to rest; the reference pose
            if None.
        noise: standard deviation of the actuators' forces, one number or (actuators,), N m or N; a hundredth
            of the force limit if None. It weights the rows.
        smooth: rate (rad/s, m/s) over which Coulomb friction changes its sign; a hundredth of the smallest
            speed limit if None.
        parameters: the base parameters; `base_parameters(robot)` if None.

    Raises:
        IdentificationError: if an option or a limit cannot be used, or no motion keeps the limits.
    """
    shape, search = shape or MotionShape(), search or MotionSearch()
    pose = reference_pose(robot) if center is None else check_poses(robot, center)[0]
    with task("base parameters"):
        base = parameters or base_parameters(robot)
    if not len(base):
        raise IdentificationError(f"{robot.name} has no base parameters: there is nothing to excite")
    with task("limits"):
        bounds = motion_limits(robot, pose, limits)
    problem = excitation_problem(robot, base, bounds, center=pose, shape=shape, noise=noise, smooth=smooth)
    candidates = random_motions(problem, _CANDIDATES, search.seed)
    problem = scale_columns(problem, problem.coefficients(candidates))
    strokes: list[Stroke] = []
    if shape.strategy == "separate":
        strokes = choose_strokes(problem, search.seed)
        fixed = np.concatenate([stroke_rows(problem, stroke) for stroke in strokes])
        problem = replace(problem, fixed=fixed / np.sqrt(len(strokes)))
    values = criterion_values(problem, candidates, search.criterion)
    order = np.argsort(values, kind="stable")
    best = optimise_motions(
        problem,
        candidates[order[: default_start_count(problem) if search.starts is None else search.starts]],
        search.criterion,
        iterations=search.iterations,
        check=lambda z: shrink_to_limits(problem, z, lambda s: starts_within_reach(problem, s)),
    )
    parts, uses = _excitation_parts(problem, best, strokes)
    R, _ = problem.rows(problem.samples(problem.coefficients(best.z)))
    _, singular_values, directions = np.linalg.svd(problem.stack_rows(R), full_matrices=False)
    random = float(values[order[0]])
    stopped = "limit" in best.message.lower()
    return Excitation(
        robot,
        base,
        shape.strategy,
        shape.kind,
        search.criterion,
        parts,
        problem.limits,
        uses,
        singular_values,
        directions,
        problem.columns,
        random if search.criterion == "condition" else -2.0 * random,
        "interrupted" if best.interrupted else "stopped" if stopped else "converged",
        "the best motion so far is kept" if best.interrupted else best.message,
        best.iterations,
        search.seed,
        *_ways_home(problem, best.z),
    )


def excitation_problem(
    robot: Robot,
    base: BaseParameters,
    bounds: Limits,
    *,
    center: Any = None,
    shape: MotionShape | None = None,
    noise: Any = None,
    smooth: float | None = None,
) -> MotionDesign:
    """The problem of a motion; options as in `excite`. Columns are in SI units.

    Raises:
        IdentificationError: if an option cannot be used.
    """
    shape = shape or MotionShape()
    harmonics = shape.harmonics
    length = _default_duration(robot, bounds, harmonics) if shape.duration is None else float(shape.duration)
    usual = _SMOOTH * float(np.min(bounds.speed))
    rows = min(len(robot.actuators), robot.motion.n)
    return MotionDesign(
        robot=robot,
        base=base,
        center=reference_pose(robot) if center is None else center,
        functions=motion_functions(shape.kind, length, harmonics),
        limits=bounds,
        sigma=_NOISE * bounds.force if noise is None else positive_numbers(robot, "noise", noise),
        smooth=usual if smooth is None else require_positive(smooth, "smooth", "rad/s"),
        count=max(_PER_HARMONIC * harmonics, math.ceil(_PER_PARAMETER * len(base) / rows)),
        columns=np.ones(len(base)),
        fixed=np.zeros((0, len(base))),
    )


def starts_within_reach(problem: MotionDesign, z: Array) -> bool:
    """Whether a motion starts where the robot can go on a straight line from the centre, resting anywhere."""
    home = problem.coefficients(z).T @ problem.functions.at(np.zeros(1))[0][0]
    return not np.any(home) or bool(reach_along(problem, home[None])[0] >= 1.0)


def _ways_home(problem: MotionDesign, z: Array) -> tuple[tuple[Line, ...] | None, ...]:
    """Lines from the reference pose through the centre to the start of a motion, and from its end back."""
    robot = problem.robot
    ends = problem.functions.at(np.array([0.0, problem.functions.duration]))[0] @ problem.coefficients(z)
    poses = np.stack([problem.center, reference_pose(robot)])
    home = displacements(mechanism_of(robot).layout, poses)[0]
    centre = np.zeros_like(home)
    return (
        lines_at_rest(problem, [home, centre, ends[0]]),
        lines_at_rest(problem, [ends[1], centre, home]),
    )


def _excitation_parts(
    problem: MotionDesign, best: BestMotion, strokes: list[Stroke]
) -> tuple[tuple[ExcitationPart, ...], tuple[LimitUse, ...]]:
    """The parts of the motion, each checked once more, and the largest uses over all of them."""
    motion = problem.robot.motion
    Z = problem.coefficients(best.z)
    record = {
        "kind": "fourier" if isinstance(problem.functions, HarmonicFunctions) else "bspline",
        "harmonics": problem.functions.harmonics,
        "duration": problem.functions.duration,
        "center": problem.center.tolist(),
        "coefficients": Z.tolist(),
    }
    trajectory = problem.functions.trajectory(problem.center, Z, motion)
    t, uses = motion_limit_uses(problem, best.z)
    if not strokes:
        return (ExcitationPart("motion", trajectory, record),), largest_uses(problem, t, uses)
    home = Z.T @ problem.functions.at(np.zeros(1))[0][0]
    chain = stroke_chain(problem, strokes, home)
    first, of_strokes = chain_uses(problem, chain)
    spans = chain_records(problem, chain)
    path = Chain(*(stroke_line(line, motion) for line in spans))
    times, all_uses = np.concatenate([first, path.duration + t]), np.concatenate([of_strokes, uses])
    parts = (
        ExcitationPart("strokes", path, {"strokes": spans}),
        ExcitationPart("motion", trajectory, record),
    )
    return parts, largest_uses(problem, times, all_uses)


def _default_duration(robot: Robot, bounds: Limits, harmonics: int) -> float:
    """The duration at which a harmonic below the highest by half uses range and what limits its rate, s."""
    reach = np.where(robot.revolute_actuators, _RANGE[0], _RANGE[1] * robot.size)
    fastest = np.minimum(np.sqrt(bounds.acceleration / reach), bounds.speed / reach)
    middle = 0.5 * (harmonics + 1)
    frequency = float(np.median(fastest)) / (2.0 * np.pi * middle)
    return 1.0 / min(frequency, _HIGHEST / harmonics)
