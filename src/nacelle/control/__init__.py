"""Digital controllers, closed loops against any plant, and their comparison.

controller = nacelle.control.controller(robot, "ct-joint", bandwidth=20.0)
run = nacelle.control.closed_loop(robot, controller, trajectory)
run.table()

nacelle.control.compare(robot, [controller, other], trajectory).plot()
nacelle.export(robot, out="controller", target=nacelle.io.CTarget(controller=controller))  # the same law as C
"""

from nacelle.lazy import attach

attach(__name__)
