"""Natural modes in motion: where bodies and bent links are at a phase of the vibration.

Bodies that do not bend move by their twist in the mode times a factor times sin(phase); flexible links are
lines along their shape functions. The factor makes the largest displacement a few hundredths of the robot's
extent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nacelle.elastic.linear.frequencies import ModeShape, NaturalFrequencies, natural_frequencies
from nacelle.errors import NacelleError
from nacelle.kinematics.solve.inverse import BodyPoses
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import quat_exp, rotation_matrices
from nacelle.spatial.scalar import Array

# Largest displacement that is shown, as a part of the robot's extent, and the rate at which it is.
DISPLACEMENT, RATE = 0.06, 0.7
MODES = 6


@dataclass(frozen=True, eq=False)
class Vibration:
    """The modes of a robot at a pose.

    Attributes:
        modes: the modes; None if they could not be computed.
        message: why they could not be computed; else how the drives are held.
    """

    modes: NaturalFrequencies | None
    message: str

    @property
    def labels(self) -> tuple[str, ...]:
        """Each mode with its frequency, for a list."""
        if self.modes is None:
            return ()
        rigid = int(self.modes.rigid)
        return tuple(
            f"{k + 1}: rigid motion" if k < rigid else f"{k + 1}: {frequency:.4g} Hz"
            for k, frequency in enumerate(self.modes.frequencies)
        )


def lowest_modes(robot: Robot, x: Array) -> Vibration:
    """The lowest modes of a robot at a pose, drives locked; a sentence if they cannot be computed."""
    try:
        modes = natural_frequencies(robot, x, modes=MODES)
    except NacelleError as error:
        return Vibration(None, str(error))
    if not modes.frequencies.shape[-1]:
        return Vibration(None, f"{robot.name} has no modes here")
    return Vibration(modes, "actuators locked, not loaded; displacements are exaggerated")


class ModeAnimation:
    """A mode in motion.

    Attributes:
        shape: the mode.
        factor: by which its displacements are multiplied.
    """

    def __init__(self, modes: NaturalFrequencies, mode: int, extent: float) -> None:
        self.shape = ModeShape(modes, mode)
        self.factor = self.shape.factor(DISPLACEMENT * extent)
        bodies = range(1, len(modes.robot.bodies))
        # Displacements are linear in the factor: two shapes give all.
        self._still, deformed = (
            {name: self.shape.pieces(k, factor) for name, k in self.shape.links.items()}
            for factor in (0.0, self.factor)
        )
        self._displacements = {name: ends - self._still[name] for name, ends in deformed.items()}
        self._twists = {
            b: self.shape.twist(b) for b in bodies if modes.robot.bodies[b].name not in self.shape.links
        }

    @property
    def bent_links(self) -> tuple[str, ...]:
        """Names of the bodies that are lines while the mode is shown."""
        return tuple(self.shape.links)

    def bodies(self, bodies: BodyPoses, phase: float) -> BodyPoses:
        """Where bodies (R, p) of the robot at rest are at a phase (rad); bent ones stay."""
        R, p = np.array(bodies.R), np.array(bodies.p)
        s = self.factor * math.sin(phase)
        for b, twist in self._twists.items():
            p[b] += s * twist[:3]
            R[b] = rotation_matrices(quat_exp(s * twist[3:])) @ R[b]
        return BodyPoses(R, p)

    def lines(self, phase: float) -> dict[str, Array]:
        """For each bent link its pieces (N, 2, 3), m, base axes, at a phase."""
        return {
            name: pieces + math.sin(phase) * self._displacements[name] for name, pieces in self._still.items()
        }
