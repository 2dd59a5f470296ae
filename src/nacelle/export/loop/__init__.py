"""A controller and the robot that it moves, as functions of a package."""
