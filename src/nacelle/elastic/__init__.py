"""Robots with flexible links: natural frequencies, deflection, buckling, response and motion.

    modes = nacelle.elastic.natural_frequencies(robot, x)
    modes.frequencies  # Hz
    nacelle.elastic.static_deflection(robot, x, external={"platform": [0, 0, -50, 0, 0, 0]})
    run = nacelle.simulate(nacelle.elastic.elastic_plant(robot), x0, until=1.0)

Flexible links are bodies with a `section:` in the description ([BK2013]).
"""

from nacelle.lazy import attach

attach(__name__)
