"""Measured data: reading, checking, and the way from encoders and currents to motion and forces."""
