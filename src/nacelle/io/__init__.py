"""Files: robots from and to other formats, models as source code, measured data, motions, settings.

robot = nacelle.import_robot("robot.urdf", closures="closures.yaml").robot
nacelle.export_robot(robot, "mjcf", out="robot.xml")
nacelle.export(robot, ["inverse_dynamics"], out="package", target="c")
points = nacelle.io.read_waypoints("points.csv", robot.motion)
"""

from nacelle.lazy import attach

attach(__name__)
