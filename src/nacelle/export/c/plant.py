"""The start of a plant in C: its state at rest at a pose."""

from __future__ import annotations

from collections.abc import Sequence

from nacelle.export.about import Package
from nacelle.export.c.assemble import ending
from nacelle.export.loop.plant import STATE
from nacelle.kinematics.mechanism.mechanism import mechanism_of

_SOURCE = """\
/* {own}: see the header. */
#include "{package}.h"

{head}
{{
    const {real} v[{n}] = {{0}};
{unknown}    const int status = {assemble};
    if (status == 0) {{
        {state};
    }}
    return status;
}}
"""


def _head(package: Package, real: str) -> str:
    return f"int {package.name}_plant_start{ending(real)}(const {real} *x, {real} *state)"


def plant_declaration(package: Package, reals: Sequence[str]) -> list[str]:
    """Remark and prototypes."""
    name = package.name
    return [
        "/*",
        f" * {name}_plant_start: the state of the plant at rest at a pose x.",
        " * Returns 0, or 1 where the pose is not reached; it is then left as it was.",
        " */",
        *(f"{_head(package, real)};" for real in reals),
        "",
    ]


def plant_source(package: Package, real: str) -> tuple[str, str]:
    """File name and text of the start of a plant."""
    end, ny = ending(real), mechanism_of(package.robot).ny
    at = "x, y" if ny else "x"
    own = f"{package.name}_plant_start{end}"
    return f"{own}.c", _SOURCE.format(
        own=own,
        package=package.name,
        real=real,
        head=_head(package, real),
        n=package.robot.motion.n,
        unknown=f"    {real} y[{ny}];\n" if ny else "",
        assemble=f"{package.name}_assemble{end}({at})",
        state=f"{package.name}_{STATE}{end}({at}, v, state)",
    )
