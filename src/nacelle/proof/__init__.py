"""Proofs: motions that are certain, from bounds of a robot's equations over boxes.

proof = nacelle.prove(robot, trajectory)     # reachable, within limits, on one branch, not singular
print(proof.describe())

proved = nacelle.proof.prove_workspace(robot, {"x": (-0.1, 0.1), "y": (-0.1, 0.1)})
print(proved.shares)                         # inside, outside, and what is open
nacelle.proof.save_proof(proved, "proof.npz")
"""

from nacelle.lazy import attach

attach(__name__)
