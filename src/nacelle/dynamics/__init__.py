"""Rigid dynamics: inverse and forward, in several formulations that agree, with friction in every joint."""
