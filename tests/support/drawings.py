"""What tests of drawings share."""

from dataclasses import dataclass, field

import matplotlib
import numpy as np

from nacelle.kinematics.pose_input import is_angle
from nacelle.report.draw import canvas

matplotlib.use("Agg")


def figure_axes(flat):
    return canvas.new_axes(flat=flat, width=4.4, height=3.7, shown=False)


def by_gid(ax, gid):
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


@dataclass
class Grid:
    robot: object
    names: tuple
    values: tuple
    reachable: np.ndarray
    inside_limits: np.ndarray
    conditioning: np.ndarray
    title: str = "A workspace"
    other_branch: np.ndarray = field(default_factory=lambda: np.array(False))

    @property
    def units(self):
        return tuple("rad" if is_angle(self.robot, name) else "m" for name in self.names)
