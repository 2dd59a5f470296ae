"""Calibration: the geometry of the machine that stands there, from what was measured of it."""
