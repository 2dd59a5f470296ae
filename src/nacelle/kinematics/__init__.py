"""Positions and velocities: the spanning tree, the closures, assembly, mobility."""
