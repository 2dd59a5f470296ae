"""The linear regression that samples make: force = Y beta, with instruments Z.

    b_t = Y_t beta + e_t,      t = 1 .. M          Y_t (rows, base parameters), b_t (rows,)

Rows are the actuators. Forces of redundant actuators are not determined by the motion, but their effect is:
there both sides are projected by J_a = J_r^-1 (actuators, n), so that rows are the forces along the reduced
twist, J_a^T Gamma = J_a^T Y beta. Y and b have passed the filter of the decimation side by side. Z is Y along
the motion of the instruments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.dynamics.jacobian import jacobian
from nacelle.dynamics.regressor import regressor
from nacelle.errors import IdentificationError
from nacelle.identification.data.filters import HALF_LENGTH, decimate, decimation_centres, repeat_lags
from nacelle.identification.data.poses import PlatformMotion
from nacelle.identification.data.preparation import Samples
from nacelle.kinematics.flags import has_failed
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.progress import task
from nacelle.spatial.scalar import Array


@dataclass(frozen=True, eq=False)
class Regression:
    """Filtered samples as a linear regression in the base parameters.

    Attributes:
        base: the base parameters beta.
        Y: (M, rows, base parameters); zero where a sample does not count.
        Z: instruments, of the same shape.
        force: b (M, rows), N or N m.
        used: whether a sample counts (M,).
        time: (M,), s.
        lengths: how many of the samples belong to each uninterrupted part.
        rows: names of the rows.
    """

    base: BaseParameters
    Y: Array
    Z: Array
    force: Array
    used: Array
    time: Array
    lengths: tuple[int, ...]
    rows: tuple[str, ...]

    @property
    def count(self) -> int:
        """How many samples count."""
        return int(np.count_nonzero(self.used))

    def count_in(self, part: slice) -> int:
        """How many samples of a part count."""
        return int(np.count_nonzero(self.used[part]))

    def parts(self) -> list[slice]:
        """Places of the uninterrupted parts."""
        ends = np.cumsum(self.lengths)
        return [slice(end - length, end) for end, length in zip(ends, self.lengths, strict=True)]

    @cached_property
    def repeats(self) -> list[list[int]]:
        """Of each part the lags, in samples, after which the motion comes again."""
        return [repeat_lags(self.force[part]) for part in self.parts()]

    def with_instruments(self, motions: Sequence[PlatformMotion], samples: Sequence[Samples]) -> Regression:
        """The same regression with instruments from other motions, one a part, where those are sound."""
        parts = [
            _decimated_regressor(self.base, part, motion)
            for part, motion in zip(samples, motions, strict=True)
        ]
        Z, ok = (np.concatenate(column) for column in zip(*parts, strict=True))
        return replace(self, Z=Z).restrict_to(self.used & ok)

    def restrict_to(self, used: Array) -> Regression:
        """The same regression where only some samples count (M,); the others are zero."""
        Y, Z = (np.where(used[:, None, None], values, 0.0) for values in (self.Y, self.Z))
        return replace(self, Y=Y, Z=Z, force=np.where(used[:, None], self.force, 0.0), used=used)


def as_parts(samples: Samples | Sequence[Samples]) -> list[Samples]:
    """Uninterrupted parts, one or several, as a list."""
    return [samples] if isinstance(samples, Samples) else list(samples)


def regression(samples: Samples | Sequence[Samples], base: BaseParameters) -> Regression:
    """Make the regression of samples in base parameters.

    Args:
        samples: one or several uninterrupted parts (`prepare`).
        base: the base parameters of the same robot.

    Raises:
        IdentificationError: if the samples are of another robot, or too few.
    """
    runs = as_parts(samples)
    robot = base.robot
    for part in runs:
        if not _has_same_geometry(part.robot, robot):
            raise IdentificationError(
                f"the samples are of {part.robot.name}, the base parameters of a robot that moves otherwise"
            )
    parts = []
    with task(f"regressor of {robot.name}") as report:
        for k, part in enumerate(runs):
            Y, ok = _decimated_regressor(base, part, part.motion)
            Z, ok_too = _decimated_regressor(base, part, part.instruments)
            factor = part.preparation.decimation or 1
            force = decimate(project_rows(part, part.motion, part.tau), factor)
            used = ok & ok_too & _valid_windows(part.used, factor)
            centres = decimation_centres(len(part), factor)
            parts.append((Y, Z, force, used, part.time[centres]))
            report((k + 1) / len(runs))
    Y, Z, force, used, time = (np.concatenate(column) for column in zip(*parts, strict=True))
    lengths = tuple(len(part[0]) for part in parts)
    result = Regression(base, Y, Z, force, used, time, lengths, row_names(runs[0])).restrict_to(used)
    if result.count * len(result.rows) <= len(base):
        raise IdentificationError(
            f"{result.count} samples of {len(result.rows)} forces remain after filtering, too few for "
            f"{len(base)} base parameters of {robot.name}; record longer, or let identical legs share theirs"
        )
    return result


def _has_same_geometry(first: Robot, second: Robot) -> bool:
    """Whether two robots differ at most in inertia, friction and drives."""
    names = first.parameter_names("geometry") == second.parameter_names("geometry")
    return names and bool(
        np.array_equal(first.parameter_vector("geometry"), second.parameter_vector("geometry"))
    )


def row_names(samples: Samples) -> tuple[str, ...]:
    """Names of the rows: the actuators, or the reduced twist's coordinates for redundant ones."""
    robot = samples.robot
    if is_redundant(samples):
        return tuple(layout_of(robot.motion).v_names)
    return tuple(actuator.name for actuator in robot.actuators)


def is_redundant(samples: Samples) -> bool:
    """Whether there are more actuators than degrees of freedom."""
    return len(samples.robot.actuators) > samples.robot.motion.n


def _decimated_regressor(
    base: BaseParameters, samples: Samples, motion: PlatformMotion
) -> tuple[Array, Array]:
    """Y along a motion through the filter (M, rows, base parameters), and where it is sound (M,)."""
    Y = np.zeros((len(samples), len(samples.robot.actuators), len(base)))
    posed = motion.part(motion.ok)
    form = regressor(base.robot, posed.x, posed.v, posed.a, parameters=base)
    ok = motion.ok.copy()
    ok[motion.ok] = ~has_failed(form.flags)
    Y[ok] = form.Y[ok[motion.ok]]
    factor = samples.preparation.decimation or 1
    return decimate(project_rows(samples, motion, Y), factor), _valid_windows(ok, factor)


def project_rows(samples: Samples, motion: PlatformMotion, values: Array) -> Array:
    """Values (N, actuators, ...) as rows: themselves, or J_a^T times them for redundant actuators."""
    if not is_redundant(samples):
        return values
    J = np.zeros((len(values), len(samples.robot.actuators), samples.robot.motion.n))
    J[motion.ok] = jacobian(samples.robot, motion.x[motion.ok]).inverse
    return np.asarray(np.einsum("tak,ta...->tk...", J, values))


def _valid_windows(ok: Array, factor: int) -> Array:
    """Whether all samples that a kept one is made from are sound (M,)."""
    half = 0 if factor == 1 else HALF_LENGTH * factor
    bad = np.concatenate([[0], np.cumsum(~ok)])
    centres = decimation_centres(len(ok), factor)
    return np.asarray(bad[centres + half + 1] == bad[centres - half])
