"""Starting at a pose in C: legs without a closed form are followed from the reference pose."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from nacelle.emit.c.parts import c_constant
from nacelle.export.about import Package
from nacelle.export.entry import CLOSING_STEP
from nacelle.export.loop import ASSEMBLY
from nacelle.kinematics.margins import NEAR_MARGIN
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.spatial.scalar import Array

# Legs are closed at the pose itself, then along 4, 16, 64 pieces of a straight line from the reference.
_PIECES = 64

_CLOSED_FORM = """\
/* {function}: see the header. */
#include "{package}.h"

int {function}(const {real} *x)
{{
    {real} margin[1];
    {assembly}(x, margin);
    return (margin[0] > {near}) ? 0 : 1;
}}
"""

_ITERATED = """\
/* {function}: see the header. */
#include "{package}.h"

#include <math.h>

/* The reference pose, and the passive coordinates there. */
static const {real} reference_x[{nx}] = {{
{x}
}};
static const {real} reference_y[{ny}] = {{
{y}
}};

/* The pose at a part of the way from the reference pose. */
static void between(const {real} *x, {real} part, {real} *at)
{{
    for (int i = 0; i < {nx}; ++i) {{
        at[i] = reference_x[i] + part * (x[i] - reference_x[i]);
    }}
{nearest}}}

int {function}(const {real} *x, {real} *y)
{{
    {real} at[{nx}];
    {real} margin[1];
    for (int pieces = 1; pieces <= {pieces}; pieces *= 4) {{
        int status = 0;
        for (int i = 0; i < {ny}; ++i) {{
            y[i] = reference_y[i];
        }}
        for (int k = 1; k < pieces && status == 0; ++k) {{
            between(x, ({real})k / ({real})pieces, at);
            status = {close}(y, at, {tolerance}, 20, NULL, 0, NULL, NULL);
        }}
        if (status == 0) {{
            status = {close}(y, x, {tolerance}, 20, NULL, 0, NULL, NULL);
        }}
        if (status == 0) {{
            {assembly}(x, y, margin);
            if (margin[0] > {near}) {{
{centred}                return 0;
            }}
        }}
    }}
    return 1;
}}
"""

_NEAREST_QUATERNION = """\
    /* Of the two quaternions of an orientation the nearer one, and of unit length. */
    {real} along = 0;
    for (int i = {first}; i < {last}; ++i) {{
        along += reference_x[i] * x[i];
    }}
    {real} square = 0;
    for (int i = {first}; i < {last}; ++i) {{
        at[i] = reference_x[i] + part * ((along < 0 ? -x[i] : x[i]) - reference_x[i]);
        square += at[i] * at[i];
    }}
    for (int i = {first}; i < {last}; ++i) {{
        at[i] /= {root}(square);
    }}
"""


@dataclass(frozen=True)
class KinematicsCheck:
    """What a self-test compares of kinematics.

    Attributes:
        tables: of the states.
        checks: in each precision the function that compares, named check_kinematics.
    """

    tables: str
    checks: Mapping[str, str]


def _centre_angle(index: int, centre: float, real: str) -> str:
    """A line that brings an angle of y within half a turn of its centre."""
    two_pi, middle = c_constant(2.0 * math.pi, real), c_constant(centre, real)
    half, ceil = c_constant(0.5, real), "ceilf" if real == "float" else "ceil"
    return f"{' ' * 16}y[{index}] -= {two_pi} * {ceil}((y[{index}] - {middle}) / {two_pi} - {half});\n"


def precision_suffix(real: str) -> str:
    """What names in a precision end in."""
    return "_f" if real == "float" else ""


def number_lines(values: Array, real: str) -> str:
    """Numbers of a table, some on a line."""
    texts = [c_constant(float(value), real) for value in values]
    return "\n".join(f"    {', '.join(texts[k : k + 4])}," for k in range(0, len(texts), 4))


def table_text(name: str, values: Array, count: str = "STATES") -> str:
    """Write a table of numbers with a row for each of `count` states."""
    rows = []
    for row in values.tolist():
        texts = [c_constant(value, "double") for value in row]
        lines = [", ".join(texts[k : k + 4]) for k in range(0, len(texts), 4)]
        rows.append("    {" + ",\n     ".join(lines) + "},")
    return "\n".join([f"static const double {name}[{count}][{values.shape[1]}] = {{", *rows, "};", ""])


def assemble_prototype(package: Package, real: str) -> str:
    """The head of the function that finds out whether a pose is reached."""
    function = f"{package.name}_assemble{precision_suffix(real)}"
    more = f", {real} *y" if mechanism_of(package.robot).unknown_count else ""
    return f"int {function}(const {real} *x{more})"


def assemble_declaration(package: Package, reals: tuple[str, ...]) -> list[str]:
    """Remark and prototypes."""
    name, ny = package.name, mechanism_of(package.robot).unknown_count
    lines = ["/*"]
    if ny:
        lines += [
            f" * {name}_assemble: closes the legs at a pose x, from the reference pose on; y is what is",
            f" * found. At most 85 calls of {name}_{CLOSING_STEP}_newton with 20 steps each: for a "
            "start, not for",
            " * a sample.",
        ]
    else:
        lines.append(f" * {name}_assemble: whether a pose x is reached.")
    lines += [
        " * Returns 0, or 1 where the pose is out of reach, at a serial singularity, or reached only when",
        " * assembled in another way than in the reference pose.",
        " */",
    ]
    return [*lines, *(f"{assemble_prototype(package, real)};" for real in reals), ""]


def assemble_source(package: Package, real: str, tolerance: float) -> tuple[str, str]:
    """File name and text of that function, which closes legs to a tolerance."""
    mechanism, end = mechanism_of(package.robot), precision_suffix(real)
    function = f"{package.name}_assemble{end}"
    common = {
        "function": function,
        "package": package.name,
        "real": real,
        "assembly": f"{package.name}_{ASSEMBLY}{end}",
        "near": c_constant(NEAR_MARGIN, real),
    }
    if not mechanism.unknown_count:
        return f"{function}.c", _CLOSED_FORM.format(**common)
    quaternion = mechanism.layout.quaternion
    nearest = ""
    if quaternion is not None:
        root = "sqrtf" if real == "float" else "sqrt"
        nearest = _NEAREST_QUATERNION.format(
            real=real, first=quaternion.start, last=quaternion.stop, root=root
        )
    x, y = mechanism.reference
    return f"{function}.c", _ITERATED.format(
        **common,
        nx=len(x),
        ny=len(y),
        x=number_lines(x, real),
        y=number_lines(y, real),
        nearest=nearest,
        centred="".join(_centre_angle(index, centre, real) for index, centre in mechanism.centred_angles),
        pieces=_PIECES,
        close=f"{package.name}_{CLOSING_STEP}{end}_newton",
        tolerance=c_constant(tolerance, real),
    )


def controller_names(package: Package, real: str) -> tuple[str, str, str]:
    """Names of the struct, of reset and of step in a precision."""
    prefix, end = f"{package.name}_controller", precision_suffix(real)
    return f"{prefix}{end}", f"{prefix}_reset{end}", f"{prefix}_step{end}"
