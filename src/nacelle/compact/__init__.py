"""Rates and accelerations of every robot, each leg on its own in local axes."""
