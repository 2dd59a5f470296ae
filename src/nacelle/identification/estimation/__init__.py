"""Estimators of the base parameters, and what their results are worth."""
