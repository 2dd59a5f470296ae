"""Base parameters: the fewest numbers that a robot's forces depend on, and what each is a sum of."""
