"""The section of the consistent parameters: every body, and how far it was moved."""

from __future__ import annotations

import numpy as np

from nacelle.errors import IdentificationError
from nacelle.identification.consistency.consistent import ConsistentParameters
from nacelle.identification.identify import Identification
from nacelle.model.linear_parameters import linear_parameters
from nacelle.model.numbers.parameters import INERTIA_NAMES
from nacelle.page.markup import element, number, paragraph, percent, table, text
from nacelle.report.identification.units import parameter_unit
from nacelle.spatial.inertia import inertia_about_com
from nacelle.spatial.scalar import Array


def consistent_or_reason(identification: Identification) -> ConsistentParameters | str:
    """The consistent parameters, or why there are none."""
    try:
        return identification.consistent
    except IdentificationError as error:
        return str(error)


def body_section(consistent: ConsistentParameters | str) -> str:
    """Mass, centre and inertia of all bodies as described and as identified, then all other parameters."""
    if isinstance(consistent, str):
        return paragraph(f"There are none: {consistent}")
    parts = [
        paragraph(
            "Parameters that bodies can have: masses and moments of inertia are positive, and none of a "
            "body's principal moments exceeds the sum of the other two. Of all that fit the estimates these "
            "are closest to the description, so what the forces do not show is as described; the data "
            "determine only the combinations of the table above. They are "
            f"{number(consistent.distance, 2)} standard deviations from the ordinary estimates, all together."
        ),
        _body_table(consistent),
    ]
    others = _other_table(consistent)
    if others:
        parts += [element("h3", "Friction, rotors and springs"), others]
    return "".join(parts)


def _body_table(consistent: ConsistentParameters) -> str:
    own = linear_parameters(consistent.base.robot)
    rows, kinds = [], []
    for owner, places in _owners(own.names).items():
        old, new = own.values[places], consistent.values[places]
        if not np.any(old) and not np.any(new):
            continue
        at_boundary = owner in consistent.active
        change = consistent.changes.get(owner)
        rows.append(
            [
                text(owner),
                _both(old[:1], new[:1]),
                _both(_centre(old), _centre(new)),
                _both(_inertia(old), _inertia(new)),
                "as described" if change is None else percent(change),
                "at the boundary of what is possible" if at_boundary else "",
            ]
        )
        kinds.append("fair" if at_boundary else "")
    heads = [
        "[name]body",
        "mass kg>",
        "centre of mass m, x y z>",
        "inertia about it kg m², xx yy zz xy xz yz>",
        "change>",
        "[remark]remark",
    ]
    note = paragraph(
        "Above as described, below as identified, in the axes of the body. A change is 100 % if it is by as "
        "much as the body itself.",
        "quiet",
    )
    return note + table(heads, rows, kinds)


def _owners(names: tuple[str, ...]) -> dict[str, list[int]]:
    """Places of the ten parameters of every body and payload."""
    owners: dict[str, list[int]] = {}
    for k, name in enumerate(names):
        owner, _, part = name.rpartition(".")
        if part in INERTIA_NAMES:
            owners.setdefault(owner, []).append(k)
    return owners


def _centre(ten: Array) -> Array:
    """Centre of mass (3,), m; NaN without mass."""
    return np.asarray(ten[1:4] / ten[0] if ten[0] else np.full(3, np.nan))


def _inertia(ten: Array) -> Array:
    """Moments xx yy zz xy xz yz (6,), kg m^2, about the centre of mass, without mass the frame's origin."""
    J = inertia_about_com(ten)
    return np.asarray(J[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])


def _both(old: Array, new: Array) -> str:
    """Described numbers, and identified ones below them."""
    # What rounding leaves of zeros is none of the numbers.
    size = 1e-12 * max(float(np.max(np.abs(old))), float(np.max(np.abs(new))))
    shown = [
        text(
            " ".join(
                "-" if value != value else number(0.0 if abs(value) <= size else value, 4) for value in part
            )
        )
        for part in (old.tolist(), new.tolist())
    ]
    return element("span", shown[0], kind="more") + shown[1]


def _other_table(consistent: ConsistentParameters) -> str:
    robot = consistent.base.robot
    own = linear_parameters(robot)
    choice = consistent.base.choice
    rows, kinds = [], []
    for k, (name, column) in enumerate(zip(own.names, choice.columns, strict=True)):
        if name.rpartition(".")[2] in INERTIA_NAMES or column < 0:
            continue
        bounded = choice.names[column] in consistent.bounded
        unit, old, new = parameter_unit(robot, name), float(own.values[k]), float(consistent.values[k])
        rows.append([text(name), text(unit), number(old), number(new), "at its bound" if bounded else ""])
        kinds.append("fair" if bounded else "")
    heads = ["[name]parameter", "[unit]unit", "described>", "identified>", "[remark]remark"]
    return table(heads, rows, kinds) if rows else ""
