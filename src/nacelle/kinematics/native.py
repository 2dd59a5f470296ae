"""Compiled kinematics: each physics function once for each robot, kept in memory and in the user's cache."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from nacelle.compile import Compiled, compile_function, compile_newton, compile_track
from nacelle.emit.newton import NewtonSolver
from nacelle.emit.track import TrackSolver
from nacelle.kinematics.samples import input_samples
from nacelle.model.robot import Robot


def pose_sampler(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """How a function's inputs are drawn where its programs are checked; None if it has no pose among them."""
    return input_samples if "x" in getattr(function, "physics_inputs", {}) else None


@lru_cache(maxsize=512)
def compile_native(function: Callable[..., Any], robot: Robot, **options: Any) -> Compiled:
    """A physics function, compiled for a robot; options are keyword arguments that shape the program."""
    return compile_function(function, robot, options=options, states=pose_sampler(function))


@lru_cache(maxsize=128)
def compile_native_newton(function: Callable[..., Any], robot: Robot) -> NewtonSolver:
    """Newton's iteration around a step function, compiled for a robot."""
    return compile_newton(function, robot, states=pose_sampler(function))


@lru_cache(maxsize=128)
def compile_native_track(function: Callable[..., Any], robot: Robot) -> TrackSolver:
    """The driver that follows solutions of a step function, compiled for a robot."""
    return compile_track(function, robot, states=pose_sampler(function))
