"""Robots from the formats of other engines: MJCF, URDF with closures; what is lost on the way is reported."""
