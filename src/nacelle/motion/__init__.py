"""Motions: the fastest one along a path within the limits of drives, joints and what a tool carries.

path = nacelle.trajectory.pick_and_place([-0.15, 0, -0.8], "25-305-25", motion="xyz")
fast = nacelle.time_optimal(robot, path)
print(fast.table())  # duration, saturated limits, and which limit to raise to save most time
run = nacelle.simulate(robot, ...)  # fast.trajectory is a trajectory as any other
"""

from nacelle.lazy import attach

attach(__name__)
