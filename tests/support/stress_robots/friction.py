"""Friction of the robots' joints."""

from __future__ import annotations

from support.rigid_robots import Data

VISCOUS: Data = {"viscous": 0.12}
DRY: Data = {"viscous": 0.05, "coulomb": 0.3}
STRIBECK: Data = {"coulomb_smooth": 0.4, "stribeck": 0.2, "scale": 0.15}
POWERS: Data = {"quadratic": 0.08, "cubic": 0.03, "constant": 0.02}
