"""The error of trajectories."""

from __future__ import annotations

from nacelle.errors import NacelleError


class TrajectoryError(NacelleError):
    """A trajectory cannot be made as asked."""
