"""Simulation: integrators over any plant, events, and what comes out."""
