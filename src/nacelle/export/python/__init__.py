"""Packages of Python: NumPy and CasADi."""
