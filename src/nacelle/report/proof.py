"""Proved workspaces as plain data and as text."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nacelle.proof.workspace import CUT, INSIDE, OUTSIDE, UNDECIDED, ProvenWorkspace

_NAMES = {INSIDE: "inside", OUTSIDE: "outside", CUT: "cut", UNDECIDED: "undecided"}


def proved_data(proved: ProvenWorkspace) -> dict[str, Any]:
    """What is proved of a box of poses: shares of its volume, and boxes by kind, m and rad."""
    region, shares = proved.region, proved.shares
    _, codes = proved.leaves
    return {
        "robot": region.robot.name,
        "over": dict(zip(region.names, region.box.tolist(), strict=True)),
        "at": region.at.tolist(),
        "serial": region.margins.serial,
        "parallel": region.margins.parallel,
        "inside": shares.inside,
        "outside": shares.outside,
        "undecided": shares.undecided,
        "evaluated": proved.evaluated,
        "boxes": {name: int(np.count_nonzero(codes == code)) for code, name in _NAMES.items()},
    }


def proved_lines(proved: ProvenWorkspace) -> list[str]:
    """The same for people."""
    data = proved_data(proved)
    ranges = [
        f"{name} from {_coordinate(low, unit)} to {_coordinate(high, unit)}"
        for (name, (low, high)), unit in zip(data["over"].items(), proved.region.units, strict=True)
    ]
    kinds = ", ".join(f"{count} {name}" for name, count in data["boxes"].items())
    return [
        f"{data['robot']}: {', '.join(ranges)}",
        f"proved inside {data['inside']:.2%}, outside {data['outside']:.2%}; "
        f"undecided at most {data['undecided']:.2%}",
        f"inside: within all limits, margins of legs above {data['serial']:g}, inverse condition above "
        f"{data['parallel']:g}",
        f"{data['evaluated']} boxes evaluated; of those that were not halved {kinds}",
    ]


def _coordinate(value: float, unit: str) -> str:
    return f"{math.degrees(value):.5g} deg" if unit == "rad" else f"{value:.5g} m"
