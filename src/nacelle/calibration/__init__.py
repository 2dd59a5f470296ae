"""Calibration: the geometry of the machine that stands there, from what was measured of it.

campaign = nacelle.calibration.read_campaign("campaign.yaml", robot).campaign
result = nacelle.calibration.calibrate(campaign)     # anchors, lengths, axes, zeros, their deviations
print(result.table())
result.write("machine.yaml")
"""

from nacelle.lazy import attach

attach(__name__)
