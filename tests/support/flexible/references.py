"""Reference results of robots with flexible links, computed by Exudyn once and kept beside this file.

`python -m support.flexible.references` (with `tests` on the path and Exudyn installed) writes them again:

- `frequencies.json`: natural frequencies, Hz, of the flexible robots with locked actuators and without
  gravity, at three poses each: "exudyn" extrapolated over meshes, "frame" by `frame_frequencies`, 16
  elements a beam.
- `prrrp_motion.npz`: the motion of [BK2013] section V with 15 ANCF elements a beam, extrapolated from
  steps of 1.25e-5 and 6.25e-6 s, every 0.5 ms: t, position, velocity, force (`exudyn_motion.Motion`), in
  single precision.
"""

from __future__ import annotations

import json
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import nacelle
from nacelle.model.robot import Robot

HERE = Path(__file__).parent
FREQUENCIES, MOTION = HERE / "frequencies.json", HERE / "prrrp_motion.npz"

MODES = 10
# The last pose of each robot has no symmetry.
POSES: dict[str, list[list[float]]] = {
    "fivebar-flexible": [[0.0, 0.28], [0.06, 0.25], [-0.09, 0.33]],
    "3rrr-flexible": [[0.0, 0.0, 0.0], [0.03, -0.02, 0.26], [-0.06, 0.04, -0.2]],
    "delta-flexible": [[0.0, 0.0, -0.6], [0.12, 0.0, -0.55], [0.1, -0.15, -0.65]],
    "orthoglide-flexible": [[0.0, 0.0, 0.0], [0.05, 0.05, 0.05], [0.07, -0.04, 0.02]],
}


@cache
def flexible_robot(name: str) -> Robot:
    """A robot with flexible links by its name."""
    return nacelle.load(name)


def frequencies() -> list[dict[str, Any]]:
    """The kept frequencies: robot, x, exudyn, frame."""
    return json.loads(FREQUENCIES.read_text(encoding="utf-8"))


def motion() -> dict[str, np.ndarray]:
    """The kept motion of the PRRRP."""
    with np.load(MOTION) as kept:
        return {name: kept[name].astype(float) for name in kept.files}


def write_frequencies() -> None:
    """Compute the frequencies again."""
    from support.flexible.exudyn_model import extrapolated_frequencies
    from support.flexible.frame import frame_frequencies

    rows = []
    for name, poses in POSES.items():
        robot = flexible_robot(name)
        for x in poses:
            begun = time.perf_counter()
            exact = extrapolated_frequencies(robot, x, (8, 16, 32), MODES)
            frame = frame_frequencies(robot, x, 16, MODES)
            rows.append(
                {"robot": name, "x": x, "exudyn": _rounded_list(exact), "frame": _rounded_list(frame)}
            )
            worst = float(np.max(np.abs(frame / exact - 1.0)))
            print(f"{name} {x}: they agree to {worst:.1e}, {time.perf_counter() - begun:.1f} s", flush=True)
    text = "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"
    FREQUENCIES.write_text(text, encoding="utf-8")


def write_motion() -> None:
    """Compute the motion again."""
    from support.flexible.exudyn_motion import extrapolated_motion

    run = extrapolated_motion(dt=1.25e-5)
    np.savez_compressed(
        MOTION,
        t=run.t,
        **{name: np.float32(getattr(run, name)) for name in ("position", "velocity", "force")},
    )


def _rounded_list(values: np.ndarray) -> list[float]:
    return [float(f"{value:.8g}") for value in values]


if __name__ == "__main__":
    write_frequencies()
    write_motion()
