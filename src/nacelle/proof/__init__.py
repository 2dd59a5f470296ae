"""Proofs: motions that are certain, from bounds of a robot's equations over boxes.

proof = nacelle.prove(robot, trajectory)     # reachable, within limits, on one branch, not singular
print(proof.describe())
"""

from nacelle.lazy import attach

attach(__name__)
