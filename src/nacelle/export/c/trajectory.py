"""A trajectory in a C package: its pieces as constants, and a function that gives pose, twist, acceleration.

Pieces are polynomials (`nacelle.trajectory.pieces`): the code is the same for every trajectory.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nacelle.emit.c.parts import c_constant, format_call
from nacelle.export.about import Package
from nacelle.export.c.assemble import number_lines, precision_suffix, table_text
from nacelle.export.vectors import TYPES, error_tolerance
from nacelle.trajectory import Trajectory, sample_trajectory
from nacelle.trajectory.pieces import TOLERANCE, Pieces, trajectory_pieces

_REMARK = """\
/*
 * {name}_trajectory: the pose x, the reduced twist v and its derivative a at a time t, s.
 * {about}
 * Before 0 and after {capitals}_TRAJECTORY_DURATION it rests where it begins and ends. Returns 0; 1 at rest,
 * before or after; 2 where t is not finite: x, v and a are NaN then.
 */
"""

_SOURCE = """\
/* {function}: see the header. */
#include "{name}.h"

#include <math.h>

/* Ends of the pieces, and for each of them the coefficients of T_0, T_1, ... of x, v and a. */
static const {real} ends[{pieces} + 1] = {{
{ends}
}};
static const {real} table[{pieces} * {terms} * {width}] = {{
{table}
}};

{head}
{{
    const int resting = !(t >= 0 && t <= ends[{pieces}]);
    {real} at = (t > 0) ? t : 0;
    {real} row[{width}];
    int k = 0;
    at = (at < ends[{pieces}]) ? at : ends[{pieces}];
    for (int jump = {jump}; jump > 0; jump /= 2) {{
        if (k + jump < {pieces} && at >= ends[k + jump]) {{
            k += jump;
        }}
    }}
    const {real} u = 2 * (at - ends[k]) / (ends[k + 1] - ends[k]) - 1;
    for (int i = 0; i < {width}; ++i) {{
        const {real} *const c = table + k * {terms} * {width} + i;
        {real} last = 0;
        {real} before = 0;
        for (int j = {terms} - 1; j > 0; --j) {{
            const {real} next = 2 * u * last - before + c[j * {width}];
            before = last;
            last = next;
        }}
        row[i] = u * last - before + c[0];
        row[i] = (resting && i >= {nx}) ? 0 : row[i];
        row[i] = isfinite(t) ? row[i] : t - t;
    }}
    for (int i = 0; i < {nx}; ++i) {{
        x[i] = row[i];
    }}
    for (int i = 0; i < {n}; ++i) {{
        v[i] = row[{nx} + i];
        a[i] = row[{nx} + {n} + i];
    }}
    return isfinite(t) ? resting : 2;
}}
"""

_CHECK = """\
/* {function}: at times before, along and after it. */
static int check_trajectory{end}(void)
{{
    {real} x[{nx}];
    {real} v[{n}];
    {real} a[{n}];
    double worst[3] = {{0.0}};
    int wrong = 0;
    for (int i = 0; i < TIMES; ++i) {{
        wrong += {function}(({real})trajectory_t[i][0], x, v, a) != (int)trajectory_t[i][1];
        for (int j = 0; j < {nx}; ++j) {{
            worst[0] = worse(worst[0], (double)x[j], trajectory_row[i][j], {scale[0]!r});
        }}
        for (int j = 0; j < {n}; ++j) {{
            worst[1] = worse(worst[1], (double)v[j], trajectory_row[i][{nx} + j], {scale[1]!r});
            worst[2] = worse(worst[2], (double)a[j], trajectory_row[i][{nx} + {n} + j], {scale[2]!r});
        }}
    }}
    return report("{function}", "x", worst[0], {limit[0]!r})
        + report("{function}", "v", worst[1], {limit[1]!r})
        + report("{function}", "a", worst[2], {limit[2]!r})
        + report("{function}", "status", (double)wrong, 0.0);
}}
"""

# Times of the self-test along a trajectory.
_TIMES = 40


class TrajectoryCode:
    """The C of a trajectory of a package's robot.

    Args:
        package: the package.
        trajectory: the trajectory.

    Raises:
        TrajectoryError: if it is not smooth between its knots.
    """

    def __init__(self, package: Package, trajectory: Trajectory) -> None:
        self._package, self._trajectory = package, trajectory
        self._pieces: Pieces = trajectory_pieces(
            lambda t: sample_trajectory(package.robot, trajectory, t), trajectory.knots
        )

    def _function(self, real: str) -> str:
        return f"{self._package.name}_trajectory{precision_suffix(real)}"

    def _head(self, real: str) -> str:
        outputs = [f"{real} *{name}" for name in ("x", "v", "a")]
        return format_call(f"int {self._function(real)}", [f"{real} t", *outputs])

    def declaration(self, reals: Sequence[str]) -> list[str]:
        """Remark, duration and prototypes, for the package's header."""
        name, pieces = self._package.name, self._pieces
        about = (
            f"{len(pieces.coefficients)} pieces, polynomials of degree {pieces.coefficients.shape[1] - 1}."
        )
        return [
            *_REMARK.format(name=name, capitals=name.upper(), about=about).splitlines(),
            f"#define {name.upper()}_TRAJECTORY_DURATION {c_constant(float(pieces.times[-1]), reals[0])}",
            *(f"{self._head(real)};" for real in reals),
            "",
        ]

    def source(self, real: str) -> tuple[str, str]:
        """File name and text in a precision."""
        pieces, terms, width = self._pieces.coefficients.shape
        nx, n, _ = self._pieces.sizes
        function = self._function(real)
        return f"{function}.c", _SOURCE.format(
            function=function,
            name=self._package.name,
            real=real,
            pieces=pieces,
            terms=terms,
            width=width,
            nx=nx,
            n=n,
            jump=1 << max(0, pieces - 1).bit_length(),
            head=self._head(real),
            ends=number_lines(self._pieces.times, real),
            table=number_lines(self._pieces.coefficients.ravel(), real),
        )

    def checks(self, precisions: Sequence[str]) -> str:
        """Tables and functions of the self-test: against the trajectory itself, not against its pieces."""
        T, rng = float(self._pieces.times[-1]), np.random.default_rng(11)
        t = np.concatenate([[-1.0, 0.0, 2.0 * T + 1.0], np.sort(rng.uniform(0.0, T, _TIMES))])
        t = t.astype(np.float32).astype(float)
        at = np.concatenate(sample_trajectory(self._package.robot, self._trajectory, t), axis=-1)
        nx, n, _ = self._pieces.sizes
        parts = (slice(0, nx), slice(nx, nx + n), slice(nx + n, nx + 2 * n))
        scale = [float(np.max(np.abs(at[:, part]))) or 1.0 for part in parts]
        resting = (t < 0.0) | (t > T)
        times = np.stack([t, resting.astype(float)], axis=1)
        text = f"#define TIMES {len(t)}\n\n" + table_text("trajectory_t", times, "TIMES")
        text += table_text("trajectory_row", at, "TIMES")
        for real in precisions:
            rows = self._pieces.at(np.clip(t, 0.0, T).astype(TYPES[real]))
            off = np.where(resting[:, None], 0.0, np.abs(rows - at))
            limits = [
                max(TOLERANCE, error_tolerance(float(np.max(off[:, part])) / size, TYPES[real]))
                for part, size in zip(parts, scale, strict=True)
            ]
            text += _CHECK.format(
                function=self._function(real),
                end=precision_suffix(real),
                real=real,
                nx=nx,
                n=n,
                scale=scale,
                limit=limits,
            )
        return text

    def readme(self, real: str) -> list[str]:
        """Paragraphs of the README."""
        name, (nx, n, _) = self._package.name, self._pieces.sizes
        return [
            "",
            "## The trajectory",
            "",
            f"{self._pieces.times[-1]:.6g} s, in {len(self._pieces.coefficients)} pieces. Before and "
            "after it rests where it begins and ends.",
            "",
            f"    {real} x[{nx}], v[{n}], a[{n}];",
            f"    {self._function(real)}(t, x, v, a); /* pose, twist, its derivative at t, s */",
            "",
            f"`{name.upper()}_TRAJECTORY_DURATION` is its duration.",
        ]
