"""The description of a robot: what may be written in YAML, and how it is read."""
