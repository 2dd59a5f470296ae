"""Robots with motions that nothing drives: forces and accelerations together, and where they rest."""
