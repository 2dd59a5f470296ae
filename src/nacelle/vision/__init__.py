"""Cameras that look at the legs, and observers that follow the robot by what they see.

camera = nacelle.vision.camera_for(robot)
observation = nacelle.vision.observe(robot, x, camera=camera)
observation.x  # the pose that the image shows, with its covariance
"""

from nacelle.lazy import attach

attach(__name__)
