"""Reduction of a linear form to its independent columns."""
