"""Vibrations: a linear model with its poles, and modes of flexible robots; as plain data and as tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from nacelle.dynamics.derivatives.linear import LinearModel
from nacelle.elastic.linear.frequencies import FrequencyMap, NaturalFrequencies
from nacelle.elastic.shaping import ShapedMotion
from nacelle.kinematics.flags import has_failed
from nacelle.report.table import Part, plain_table

# ---- motions shaped against residual vibration


def shaped_data(motion: ShapedMotion) -> dict[str, Any]:
    """Duration and use of the drives, and of each mode its frequencies and what remains of it, SI units."""
    return {
        "robot": motion.robot.name,
        "shaper": motion.shaper,
        "duration": motion.duration,
        "use": motion.use,
        "refined": motion.refined,
        "modes": [
            {"lowest": float(f.min()), "highest": float(f.max()), "unshaped": before, "amplitude": after}
            for f, before, after in zip(
                motion.frequencies.T, motion.unshaped.tolist(), motion.amplitude.tolist(), strict=True
            )
        ],
    }


def shaped_parts(motion: ShapedMotion) -> list[Part]:
    """Duration, and a table of the modes that are shaped."""
    table = plain_table("mode>", "frequency>", "quintic law leaves>", "shaped>")
    for k, mode in enumerate(shaped_data(motion)["modes"]):
        table.add_row(
            str(k + 1),
            f"{mode['lowest']:.4g} to {mode['highest']:.4g} Hz",
            f"{1e3 * mode['unshaped']:.4g} mm",
            f"{1e3 * mode['amplitude']:.4g} mm",
        )
    model = f"{motion.refined} corrections by the elastic plant" if motion.refined else "linear model"
    head = (
        f"{motion.robot.name}: {motion.duration:.6g} s from rest to rest, shaped by {motion.shaper} ({model})"
    )
    return [head, f"largest use of the drives: {100.0 * motion.use:.0f} % of their limits", table]


# ---- linear models


def linear_data(model: LinearModel) -> dict[str, Any]:
    """A linear model around an equilibrium: matrices, poles in rad/s and Hz."""
    return {
        "robot": model.robot.name,
        "coordinates": model.coordinates,
        "state": list(model.state_names),
        "inputs": list(model.input_names),
        "x": model.x,
        "tau": model.tau,
        "smooth": model.smooth,
        **{name: getattr(model, name) for name in ("A", "B", "C", "D", "c")},
        "poles": [
            {
                "real": pole.value.real,
                "imaginary": pole.value.imag,
                "frequency": pole.frequency,
                "damping": pole.damping,
            }
            for pole in model.poles()
        ],
        "natural_frequencies": model.natural_frequencies,
    }


def pole_table(model: LinearModel) -> Table:
    """Poles of a linear model with their frequencies and damping ratios."""
    table = plain_table("eigenvalue (rad/s)>", "frequency>", "damping>")
    for pole in model.poles():
        value = f"{pole.value.real:.6g}"
        if pole.value.imag:
            value += f" {'+' if pole.value.imag > 0.0 else '-'} {abs(pole.value.imag):.6g} i"
        damping = f"{pole.damping:.4f}" if math.isfinite(pole.damping) else ""
        table.add_row(value, f"{pole.frequency:.5g} Hz", damping)
    return table


# ---- modes


def modes_data(result: NaturalFrequencies) -> dict[str, Any]:
    """The modes at a pose: Hz, kg, parts of the energy; along a path the frequencies."""
    if result.flags.ndim:
        return {"robot": result.robot.name, "x": result.x, "frequencies": result.frequencies}
    return {
        "robot": result.robot.name,
        "x": result.x,
        "locked": result.locked,
        "frequencies": result.frequencies,
        "damping": result.damping,
        "rigid": int(result.rigid),
        "modal_mass": result.modal_mass,
        "effective_mass": result.effective_mass,
        "actuator_participation": result.actuator_participation,
        "displacement": result.displacement(),
        "strain_energy": dict(zip(result.parts, result.strain_energy.tolist(), strict=True)),
        "rank_gap": result.rank_gap,
    }


def modes_parts(result: NaturalFrequencies) -> list[Part]:
    """The modes at a pose, with what moves and deforms most; along a path the range of each frequency."""
    if result.flags.ndim:
        return _path_parts(result)
    state = "locked" if result.locked else "free"
    about = "about the equilibrium under load" if result.load is not None else "of the unloaded robot"
    energy, masses = result.strain_energy, result.effective_mass
    table = plain_table("mode", "frequency>", "damping>", "effective mass x>", "y>", "z>", "strain energy")
    total = float(np.max(masses))
    for k, frequency in enumerate(result.frequencies):
        mass_cells = [f"{mass:.4g} kg" if mass > 1e-9 * total else "." for mass in masses[:, k]]
        if k < result.rigid:
            table.add_row(str(k + 1), "0", "", *mass_cells, "rigid motion")
            continue
        ratio = result.damping[k]
        most = np.argsort(-energy[:, k])[:2]
        where = ", ".join(
            f"{result.parts[b]} {100.0 * energy[b, k]:.0f} %" for b in most if energy[b, k] > 0.05
        )
        frequency_text = f"{frequency:.5g} Hz" if np.isfinite(frequency) else "unstable"
        table.add_row(
            str(k + 1), frequency_text, f"{ratio:.4f}" if ratio > 0.0 else "", *mass_cells, escape(where)
        )
    return [f"{result.robot.name}: modes {about}, actuators {state}", table]


def _path_parts(result: NaturalFrequencies) -> list[Part]:
    lost = int(np.count_nonzero(has_failed(result.flags)))
    head = f"{result.robot.name}: {result.flags.size} poses" + (f", {lost} without result" if lost else "")
    if lost == result.flags.size:
        return [head]
    values = result.frequencies.reshape(-1, result.frequencies.shape[-1]).T
    rows = [(f"{k + 1}", f"{np.nanmin(f):.5g} Hz", f"{np.nanmax(f):.5g} Hz") for k, f in enumerate(values)]
    return [head, plain_table("mode", "lowest>", "highest>", rows=rows)]


def frequency_map_data(result: FrequencyMap) -> dict[str, Any]:
    """Frequencies over a grid, Hz."""
    axes = dict(zip(result.grid.names, result.grid.values, strict=True))
    return {"robot": result.grid.robot.name, "over": axes, "frequencies": result.frequencies}


def frequency_map_parts(result: FrequencyMap) -> list[Part]:
    """The lowest and the highest of each frequency within limits, and where the lowest is."""
    grid = result.grid
    inside = grid.inside_limits & np.isfinite(result.frequencies[..., 0])
    head = (
        f"{grid.robot.name}: {grid.flags.size} poses over {', '.join(grid.names)}, "
        f"{np.count_nonzero(inside)} within limits"
    )
    if not inside.any():
        return [head]
    table = plain_table("mode", "lowest>", "at", "highest>")
    for k in range(result.frequencies.shape[-1]):
        low, pose = result.lowest(k)
        pose_text = ", ".join(f"{value:.4g}" for value in pose)
        high = float(np.max(result.frequencies[..., k][inside]))
        table.add_row(str(k + 1), f"{low:.5g} Hz", pose_text, f"{high:.5g} Hz")
    return [head, table]
