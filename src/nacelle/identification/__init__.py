"""Identification: excitation, measured data, estimation, physical consistency, validation.

motion = nacelle.identification.excite(robot)  # a motion that shows the parameters
data = nacelle.identification.read_measurement(robot, "log.csv")
fit = nacelle.identification.identify(robot, data)
print(fit.table())
better = nacelle.identification.identified_robot(robot, fit.consistent())
nacelle.identification.validate(better, other_data)
"""

from nacelle.lazy import attach

attach(__name__)
