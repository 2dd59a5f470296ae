"""What a robot is: the description in YAML or Python, and the frozen `Robot` built from it."""
