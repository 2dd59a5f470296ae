"""Closed loops: a controller, its sensors and a plant along a path, and what came of it."""
