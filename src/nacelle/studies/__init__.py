"""Parameter studies: sweeps, tolerances, sensitivities and optimisation of a robot's numbers.

study = nacelle.Study("delta-study.yaml")     # variables, motions, regions, quantities, a design or objectives
study.evaluate([[0.62, 0.25]])                # any variants, one program for all of them
result = study.run("results")                 # all variants, in a folder that can be resumed
print(result.table())
result.write_front("designs")
"""

from nacelle.lazy import attach

attach(__name__)
