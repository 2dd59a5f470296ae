"""Natural frequencies over a workspace: a grid of poses, solved together.

At every pose of the grid K phi = w^2 M phi on the rates that the constraints allow (`eigen`), f = w / 2 pi in
Hz; poses out of reach have NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.elastic.linear.frequencies import NaturalFrequencies, natural_frequencies
from nacelle.kinematics.workspace import Workspace, workspace
from nacelle.model.robot import Robot
from nacelle.pictures import Drawn
from nacelle.spatial.scalar import Array


@dataclass(frozen=True, eq=False, repr=False)
class FrequencyMap(Drawn):
    """Natural frequencies on a grid of poses.

    Attributes:
        grid: the grid: its coordinates, poses, reach and limits.
        modes: the modes at all poses; NaN out of reach.
    """

    grid: Workspace
    modes: NaturalFrequencies

    @property
    def frequencies(self) -> Array:
        """Hz (..., modes), one axis for each coordinate of the grid."""
        return self.modes.frequencies

    def lowest(self, mode: int = 0) -> tuple[float, Array]:
        """The lowest frequency of a mode (Hz) within the limits of the robot, and its pose (nx,)."""
        values = np.where(self.grid.inside_limits, self.frequencies[..., mode], np.nan)
        place = np.unravel_index(int(np.nanargmin(values)), values.shape)
        return float(values[place]), self.modes.x[place]


def frequency_map(
    robot: Robot,
    over: Mapping[str, tuple[float, float] | tuple[float, float, int]],
    *,
    at: Any = None,
    modes: int = 3,
    tool: str | None = None,
    **options: Any,
) -> FrequencyMap:
    """Natural frequencies over one to three coordinates of the pose.

    Args:
        robot: the robot.
        over: the coordinates with their ranges, as in `workspace`.
        at: the pose (nx,) that gives the other coordinates; the reference pose if None.
        modes: how many, the lowest.
        tool: name of a tool whose coordinates vary.
        **options: of `natural_frequencies`: locked, gravity, external, planar.
    """
    grid = workspace(robot, over, at=at, conditioned=False, tool=tool)
    return FrequencyMap(grid, natural_frequencies(robot, grid.x, modes=modes, **options))
