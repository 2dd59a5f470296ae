"""The files of a controller and of a plant in a C package, and what its README says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nacelle.control.controller import Controller
from nacelle.export.about import Package
from nacelle.export.c.assemble import assemble_declaration, assemble_source, ending
from nacelle.export.c.controller import controller_header, controller_source, names_of
from nacelle.export.c.plant import plant_declaration, plant_source
from nacelle.export.loop.law import gains_of, memory_of
from nacelle.export.markdown import plain

# Numbers of a part that are listed.
_SHOWN = 8


class LoopPart(NamedTuple):
    """What a controller and a plant add to a package.

    Attributes:
        headers: texts by file name.
        sources: texts by file name.
        declared: lines of the package's header.
    """

    headers: dict[str, str]
    sources: dict[str, str]
    declared: list[str]


def loop_part(package: Package, precisions: Sequence[str], tolerances: Mapping[str, float]) -> LoopPart:
    """The files of a controller and of a plant; none if there is neither. Legs are closed to tolerances."""
    wanted, reals = package.wanted, tuple(precisions)
    if not wanted.loop:
        return LoopPart({}, {}, [])
    sources = dict(assemble_source(package, real, tolerances[real]) for real in reals)
    declared, headers = assemble_declaration(package, reals), {}
    if wanted.controller is not None:
        headers[f"{package.name}_controller.h"] = controller_header(package, wanted.controller, reals)
        sources |= dict(controller_source(package, wanted.controller, real) for real in reals)
    if wanted.plant:
        declared += plant_declaration(package, reals)
        sources |= dict(plant_source(package, real) for real in reals)
    return LoopPart(headers, sources, declared)


def loop_use(package: Package, real: str) -> list[str]:
    """Paragraphs of the README, with calls in a precision."""
    wanted = package.wanted
    lines = [] if wanted.controller is None else _controller_use(package, wanted.controller, real)
    return lines + (_plant_use(package, real) if wanted.plant else [])


def _controller_use(package: Package, controller: Controller, real: str) -> list[str]:
    struct, reset, step = names_of(package, real)
    lines = [
        "",
        "## The controller",
        "",
        f"`{controller.name}` with a sample time of {controller.period:g} s. Its memory and its gains are "
        "a struct of the caller, so there may be any number of controllers. What its model includes, "
        "friction too, is a matter of its kind.",
        "",
        f"    {struct} c;",
        f"    {real} force[{len(package.robot.actuators)}];",
        f"    if ({reset}(&c, x) != 0) {{ /* the pose x is not reached */ }}",
        "    /* at every sample: readings q, desired pose, twist and its derivative */",
        f"    switch ({step}(&c, q, x_d, v_d, a_d, force)) {{",
        "    case 0: /* all is well */ break;",
        "    case 1: /* readings are missing (NaN) and bridged */ break;",
        "    case 2: /* stopped, now for that or before; forces are zero until a reset */ break;",
        "    case 3: /* stopped now by the desired motion: see the header */ break;",
        "    case 4: /* stopped now by the measured state */ break;",
        "    }",
        "",
        "Forces are finite always. A step has no loops but over the entries of arrays: its count is the "
        "worst case and every case. In float the struct, reset and step end in `_f`.",
        "",
        f"Parts of the struct, for instance `c.memory[{package.name.upper()}_CONTROLLER_MEMORY_AT_STOPPED]`:",
        "",
        "| array | part | at | numbers | after a reset | what it is |",
        "|---|---|---|---|---|---|",
    ]
    return lines + _rows(controller)


def _rows(controller: Controller) -> list[str]:
    """Rows of the table of parts."""
    words, rows = controller.kind.words(), []
    for what, fields in (("memory", memory_of(controller)), ("gains", gains_of(controller))):
        for name, size in fields.sizes.items():
            if not size:
                continue
            first = "at rest at x"
            if what == "gains":
                values = controller.gains[fields.place(name)]
                first = ", ".join(f"{value:.6g}" for value in values[:_SHOWN])
                first += ", ..." if size > _SHOWN else ""
            said = plain(words.get(f"{what}.{name}", ""))
            rows.append(
                f"| {what} | {plain(name)} | {fields.place(name).start} | {size} | {first} | {said} |"
            )
    return rows


def _plant_use(package: Package, real: str) -> list[str]:
    own, end = f"{package.name}_plant", ending(real)
    return [
        "",
        "## The plant",
        "",
        "The robot itself, for a simulation of the loop; friction as said above. Forces are held.",
        "",
        f"    {real} state[{own.upper()}_STATE_SIZE];",
        f"    {own}_start{end}(x, state); /* at rest at a pose; 0 if it is reached */",
        f"    {own}_encoders{end}(state, q); /* what the encoders show */",
        f"    {own}{end}_rk4(state, force, 0, h, steps, 0, NULL, NULL); /* steps of h s; 0 if finite */",
        f"    {own}_pose{end}(state, x, v); /* pose and twist of the platform */",
    ]
