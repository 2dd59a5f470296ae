"""What Codourey's lumping of a DELTA's rods costs, as a picture ([CB1997], section 4.2)."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.dynamics.simplify import lumped, neglected
from nacelle.kinematics.pose import pose
from nacelle.kinematics.trajectory import Circle
from nacelle.library import load
from nacelle.report.draw.canvas import new_axes, save
from nacelle.report.draw.curves import plot_curves


def draw_lumping(path: str | os.PathLike[str]) -> Path:
    """Draw the torque of a DELTA's first motor on a circle: exact rods, lumped rods, no rods; and errors."""
    robot = load("delta")
    course = Circle(pose(robot, z=-0.62), 0.15, motion=robot.motion, duration=0.6)
    times = np.linspace(0.0, course.duration, 401)
    sample = course(times)
    exact = inverse_dynamics(robot, *sample, friction=False).force[:, 0]
    split = inverse_dynamics(lumped(robot), *sample, friction=False).force[:, 0]
    without = inverse_dynamics(neglected(robot), *sample, friction=False).force[:, 0]
    rms = float(np.sqrt(np.mean(exact**2)))
    shares = [100.0 * float(np.sqrt(np.mean((other - exact) ** 2))) / rms for other in (split, without)]
    ax = plot_curves(
        times,
        {
            "exact rods": exact,
            f"2/3 to the arm, 1/3 to the plate ({shares[0]:.1f} % rms)": split,
            f"rods left out ({shares[1]:.1f} % rms)": without,
        },
        labels=("time (s)", "torque of motor 1 (N m)"),
        title="delta: a circle of 150 mm in 0.6 s, without friction",
        ax=new_axes(flat=True, shown=False),
    )
    return save(ax.figure.figure, path, step=5)
