"""Problems of excitation for tests, and the same numbers by the public API."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np

import nacelle
from nacelle.identification.excitation.limits import motion_limits
from nacelle.identification.excitation.motions import motion_functions
from nacelle.identification.excitation.optimise import MotionDesign
from nacelle.identification.excitation.settings import MotionLimits, MotionSearch, MotionShape
from support.library import library_robot

SMOOTH = 0.05
QUICK = {"starts": 1, "iterations": 25, "harmonics": 8, "duration": 1.0}
SETTINGS = {"limits": MotionLimits, "shape": MotionShape, "search": MotionSearch}


@cache
def base_of(robot: nacelle.Robot) -> nacelle.dynamics.BaseParameters:
    return nacelle.base_parameters(robot)


def problem_of(
    robot: nacelle.Robot, *, kind: str = "fourier", harmonics: int = 3, count: int = 40, duration: float = 1.0
) -> MotionDesign:
    """A problem about the reference pose, every column of length one."""
    base, center = base_of(robot), nacelle.reference_pose(robot)
    made = motion_limits(robot, center)
    ones = np.ones(len(base))
    return MotionDesign(
        robot=robot,
        base=base,
        center=center,
        functions=motion_functions(kind, duration, harmonics),
        limits=made,
        sigma=made.force * np.linspace(1.0, 2.0, len(made.force)),
        smooth=SMOOTH,
        count=max(count, 3 * len(base) // robot.motion.n),
        columns=ones,
        fixed=np.zeros((0, len(base))),
    )


def small_motion(problem: MotionDesign, seed: int = 0, size: float = 0.1) -> Any:
    """Variables of a motion in the middle of the limits."""
    return size * np.random.default_rng(seed).normal(size=len(problem.units))


def public_states(problem: MotionDesign, z: Any, t: Any) -> nacelle.trajectory.Sample:
    """The motion at times by its trajectory."""
    path = problem.functions.trajectory(problem.center, problem.coefficients(z), problem.robot.motion)
    return nacelle.trajectory.sample_trajectory(problem.robot, path, t)


def public_rows(problem: MotionDesign, z: Any, t: Any) -> Any:
    """Weighted rows (N, n, parameters): A^T Y whitened by the Cholesky factor of A^T S A."""
    robot = problem.robot
    state = public_states(problem, z, t)
    found = nacelle.regressor(robot, *state, smooth=problem.smooth, parameters=problem.base)
    A = nacelle.jacobian(robot, state.x).inverse
    A_T = np.swapaxes(A, -1, -2)
    L = np.linalg.cholesky(A_T @ (problem.sigma[:, None] ** 2 * A))
    return np.linalg.solve(L, A_T @ found.Y) * problem.columns


@cache
def quick_excitation(**options: Any) -> nacelle.identification.Excitation:
    """An excitation of the five-bar that takes a second."""
    return excite_fivebar(**(QUICK | options))


def excite_fivebar(**options: Any) -> nacelle.identification.Excitation:
    """An excitation of the five-bar, from entries of its settings and other options."""
    settings = {
        name: kind(**{entry.name: options.pop(entry.name) for entry in fields(kind) if entry.name in options})
        for name, kind in SETTINGS.items()
    }
    return nacelle.identification.excite(library_robot("fivebar"), **settings, **options)
