"""Identification: excitation, measured data, estimation, physical consistency, validation."""
