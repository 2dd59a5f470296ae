"""Loads of actuators and joints: along a motion, and held against gravity; as plain data and as tables."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from nacelle.dynamics.gravity_balance import GravityBalance
from nacelle.dynamics.reactions import Peak, PeakReactions
from nacelle.dynamics.sizing import ActuatorLoad, Sizing
from nacelle.errors import format_count
from nacelle.kinematics.flags import has_failed
from nacelle.report.flagged import flag_counts
from nacelle.report.results import names
from nacelle.report.table import Part, plain_table

# ---- actuators along a motion


def sizing_data(sizing: Sizing) -> dict[str, Any]:
    """What a motion requires of the actuators: N or N m, m/s or rad/s, W."""
    return {**_run_data(sizing, sizing.flags), "actuators": [_load_data(load) for load in sizing.loads]}


def _run_data(result: Sizing | PeakReactions, flags: Any) -> dict[str, Any]:
    return {
        "robot": result.robot.name,
        "duration": float(result.times[-1]),
        "samples": len(result.times),
        "failed": int(np.count_nonzero(has_failed(flags))),
        "reasons": flag_counts(flags),
    }


def _load_data(load: ActuatorLoad) -> dict[str, Any]:
    figures = ("peak_force", "rms_force", "peak_speed", "peak_power", "lowest_power", "range")
    limits = ("force_limit", "speed_limit", "within")
    numbers = {name: getattr(load, name) for name in (*figures, *limits)}
    return {"actuator": load.name, "unit": "N*m" if load.revolute else "N", **numbers}


def sizing_parts(sizing: Sizing) -> list[Part]:
    """Force, speed and power of all actuators against their limits, and which limits are exceeded."""
    columns = ("actuator", "peak>", "rms>", "limit>", "used>", "speed>", "limit>", "power>", "braking>")
    table = plain_table(*columns)
    for load in sizing.loads:
        force, speed = ("N m", "rad/s") if load.revolute else ("N", "m/s")
        used = max(load.peak_force / load.force_limit, load.peak_speed / load.speed_limit)
        share = f"{100.0 * used:.0f} %" if used > 0.0 else ""
        table.add_row(
            Text(load.name),
            f"{load.peak_force:.4g} {force}",
            f"{load.rms_force:.4g} {force}",
            f"{load.force_limit:.4g} {force}" if math.isfinite(load.force_limit) else "",
            share if load.within else f"[red]{share or 'position'}[/]",
            f"{load.peak_speed:.4g} {speed}",
            f"{load.speed_limit:.4g} {speed}" if math.isfinite(load.speed_limit) else "",
            f"{load.peak_power:.4g} W",
            f"{load.lowest_power:.4g} W",
        )
    beyond = [load for load in sizing.loads if load.beyond]
    return [
        table,
        *(Text(f"{load.name} exceeds its limits: {', '.join(load.beyond)}", "red") for load in beyond),
    ]


def travel_line(sizing: Sizing) -> str:
    """From where to where each actuator moves."""
    ranges = []
    for load in sizing.loads:
        low, high = (math.degrees(end) if load.revolute else end for end in load.range)
        ranges.append(f"{load.name} {low:.4g} to {high:.4g} {'deg' if load.revolute else 'm'}")
    return f"ranges: {', '.join(ranges)}"


# ---- joints along a motion


def reactions_data(result: PeakReactions) -> dict[str, Any]:
    """The largest loads of all joints along a motion, N and N m."""
    return {
        **_run_data(result, result.reactions.flags),
        "redundancy": result.reactions.redundancy,
        "joints": [
            dataclasses.asdict(peak) | {"determined": peak.determined} for peak in result.described_peaks
        ],
    }


def reaction_parts(result: PeakReactions) -> list[Part]:
    """The largest loads leg by leg, and the components that internal stress leaves undetermined."""
    redundancy = result.reactions.redundancy
    force = max(peak.force for peak in result.described_peaks)
    moment = max(force * result.robot.size, *(peak.moment for peak in result.described_peaks))
    columns = ["joint", "kind", "force (N)>", "at (s)>", "mean>", "radial>", "axial>"]
    columns += ["moment (N m)>", "at (s)>", "tilting>", "torque>", *(["undetermined"] if redundancy else [])]
    table = plain_table(*columns)
    for peak in _peaks_by_leg(result):
        row = [_format_load(peak.force, force), f"{peak.force_time:.3f}"]
        row += [_format_load(value, force) for value in (peak.mean_force, peak.radial, peak.axial)]
        row += [_format_load(peak.moment, moment)]
        row += [f"{peak.moment_time:.3f}" if _is_significant(peak.moment, moment) else ""]
        row += [_format_load(value, moment) for value in (peak.tilting, peak.torque)]
        table.add_row(Text(peak.name), peak.kind, *row, *([" ".join(peak.open)] if redundancy else []))
    if not redundancy:
        return [table]
    return [
        table,
        f"undetermined: internal stress from {format_count(redundancy, 'redundant closure constraint')}, "
        "which depends on tolerances and stiffness; the least-norm solution is given",
    ]


def _peaks_by_leg(result: PeakReactions) -> list[Peak]:
    """Peaks in the order of the legs, those of the platform's own joints last."""
    robot = result.robot
    order = [j for leg in robot.legs for j in (*leg.joints, *leg.closures)]
    order += [j for j in range(len(robot.joints)) if j not in order]
    return [result.peaks[j] for j in order if j in robot.described_joints]


def _is_significant(value: float, largest: float) -> bool:
    """Whether a load is more than rounding."""
    return math.isfinite(value) and value > 1e-12 * largest


def _format_load(value: float, largest: float) -> str:
    """Text of a load; zero where it is rounding, empty where none acts."""
    if not math.isfinite(value):
        return ""
    return f"{value:.4g}" if _is_significant(value, largest) else "0"


# ---- forces before and after balancing


def balance_data(result: GravityBalance) -> dict[str, Any]:
    """Springs and counterweights that balance a robot, and what its actuators hold before and after."""
    figures = ("rms_before", "rms_after", "max_before", "max_after")
    return {
        "robot": result.robot.name,
        "poses": len(result.x),
        "springs": [spring._asdict() for spring in result.springs],
        "counterweights": [weight._asdict() for weight in result.counterweights],
        "actuators": [actuator.name for actuator in result.robot.actuators],
        **{name: getattr(result, name) for name in figures},
        "condition": result.condition,
        "ill_conditioned": result.ill_conditioned,
    }


def balance_parts(result: GravityBalance) -> list[Part]:
    """The same for people."""
    lines: list[Part] = [f"{result.robot.name} over {len(result.x)} poses"]
    for spring in result.springs:
        unit, rest = ("N m/rad", f"{math.degrees(spring.rest):z.4f} deg")
        if not spring.revolute:
            unit, rest = ("N/m", f"{1e3 * spring.rest:z.4f} mm")
        lines.append(f"  spring in {spring.joint}: {spring.stiffness:.5g} {unit}, unloaded at {rest}")
    for weight in result.counterweights:
        at = ", ".join(f"{1e3 * value:g}" for value in weight.position)
        lines.append(f"  counterweight on {weight.body}: {weight.mass:.5g} kg at ({at}) mm")
    if not result.springs and not result.counterweights:
        lines.append("  no improvement: the best stiffnesses and masses are zero")
    lines.append(_holding_table(result))
    if result.ill_conditioned:
        warning = "these poses do not determine the springs and counterweights uniquely"
        lines.append(Text(warning, "yellow"))
    return lines


def _holding_table(result: GravityBalance) -> Table:
    figures = (result.rms_before, result.rms_after, result.max_before, result.max_after)
    return plain_table(
        *("actuator", "rms before>", "rms after>", "peak before>", "peak after>"),
        rows=[
            [Text(name), *(f"{values[k]:.4g} {unit}" for values in figures)]
            for k, (name, unit) in enumerate(names.actuators(result.robot))
        ],
    )
