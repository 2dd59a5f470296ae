"""Robots from the formats of other engines: MJCF; what is lost on the way is reported."""
