"""Simulation: plants, drives, events and runs.

run = nacelle.simulate(robot, x0, until=2.0)  # free motion from rest
run.t, run.x, run.energy

plant = nacelle.simulation.driven_plant(robot, nacelle.simulation.Drives(...))
run = nacelle.simulate(plant, x0, tau=torque, until=2.0)
many = nacelle.simulation.simulate_many(robot, x0, until=1.0)  # thousands of motions at once
"""

from nacelle.lazy import attach

attach(__name__)
