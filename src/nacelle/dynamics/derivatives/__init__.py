"""Exact derivatives of the dynamics, on the graph of the traced program."""
