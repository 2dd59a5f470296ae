"""Scenarios of control: path, plant, sensors and controllers in YAML."""
